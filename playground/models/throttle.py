"""Slows down guessing: counters in the database, so that they hold across server processes.

An attempt is counted before it is judged, so that many at once cannot slip through. After the free
ones each further one has to wait twice as long as the last, up to a most; success gives it back.
Nobody can be locked out for ever: a browser that has logged in before is counted apart from
strangers, and a login link (`manage.py login_link`) asks none of these.
"""

import ipaddress
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import models, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.crypto import salted_hmac

FIRST_PAUSE = 5.0  # seconds
FORGOTTEN = timedelta(days=1)  # after which a counter begins anew
QUARTER = 15 * 60.0  # seconds


class Gate(NamedTuple):
    """One thing that attempts are counted by."""

    kind: str
    value: str
    free: int  # attempts without a pause
    most: float  # seconds of the longest pause
    forgiving: bool = True  # success clears it; else it takes back only its own attempt

    @property
    def key(self) -> str:
        """Keyed, so that the table does not say who was guessed, or from where."""
        return salted_hmac(f"throttle {self.kind}", self.value, algorithm="sha256").hexdigest()

    def pause(self, failures: int) -> float:
        """Seconds after that many failures."""
        over = failures - self.free
        return 0.0 if over < 0 else min(self.most, FIRST_PAUSE * 2 ** min(over, 30))


def password_gates(account: str, address: str, device: str = "") -> list[Gate]:
    """For an attempt at a password. `device` names a browser in which this account has been."""
    account = account.casefold()
    gates = []
    if network := network_of(address):
        gates.append(Gate("address", network, 30, QUARTER, forgiving=False))
    if device:
        return [*gates, Gate("device", f"{account} {device}", 5, QUARTER)]
    # From everywhere together: a minute at most, so that strangers cannot keep a person out.
    everywhere = Gate("account", account, 100, 60.0)
    return [*gates, Gate("account and address", f"{account} {network}", 5, QUARTER), everywhere]


def code_gates(user: int) -> list[Gate]:
    """For a code of a second factor: whoever asks knows the password already."""
    return [Gate("code", str(user), 5, QUARTER)]


def old_password_gates(user: int) -> list[Gate]:
    return [Gate("old password", str(user), 5, QUARTER)]


def network_of(address: str) -> str:
    """What is counted together: an IPv4 address, or the /64 of an IPv6 one.

    "" for what is no address, and for this machine itself: that is you, or a proxy before us whose
    address is everybody's (see CLIENT_ADDRESS_HEADER).
    """
    try:
        found = ipaddress.ip_address(address.strip())
    except ValueError:
        return ""
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is None:
            return "" if found.is_loopback else str(ipaddress.ip_network((found, 64), strict=False))
        found = found.ipv4_mapped
    return "" if found.is_loopback else str(found)


class AttemptsQuerySet(models.QuerySet["Attempts"]):
    def attempt(self, gates: Sequence[Gate]) -> float:
        """Count an attempt at every gate; the seconds to wait, or 0.0 where it may be made."""
        now = timezone.now()
        for gate in gates:
            if wait := self._pass(gate, now):
                return wait
        return 0.0

    @transaction.atomic
    def _pass(self, gate: Gate, now: datetime) -> float:
        row, new = self.select_for_update().get_or_create(key=gate.key, defaults={"last_at": now})
        if new:
            self.filter(last_at__lt=now - FORGOTTEN).delete()
        elif now - row.last_at > FORGOTTEN:
            row.failures = 0
        elif row.last_at > now:  # the clock was set back: the pause counts from now
            self.filter(pk=row.pk).update(last_at=now)
        since = (now - row.last_at).total_seconds()
        wait = gate.pause(row.failures) - max(since, 0.0)
        if row.failures and wait > 0:
            return wait
        row.failures += 1
        row.last_at = now
        row.save(update_fields=["failures", "last_at"])
        return 0.0

    def forgive(self, gates: Sequence[Gate]) -> None:
        """The attempt was right."""
        for gate in gates:
            row = self.filter(key=gate.key)
            if gate.forgiving:
                row.delete()
            else:
                row.filter(failures__gt=0).update(failures=F("failures") - 1)


class Attempts(models.Model):
    """How often something was tried of late without success."""

    key = models.CharField(max_length=64, unique=True)
    failures = models.PositiveIntegerField(default=0)
    last_at = models.DateTimeField(db_index=True)

    objects = AttemptsQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.failures} attempts"


def wait_sentence(seconds: float) -> str:
    whole = max(1, round(seconds + 0.49))
    if whole < 60:
        said = f"{whole} second{'' if whole == 1 else 's'}"
    else:
        minutes = -(-whole // 60)
        said = f"{minutes} minute{'' if minutes == 1 else 's'}"
    return f"Too many attempts. Please wait {said}, then try again."
