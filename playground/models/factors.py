"""The second step of a login: codes of an authenticator app (RFC 6238), and recovery codes."""

import base64
import hashlib
import hmac
import secrets
import time
from urllib.parse import quote, urlencode

from django.db import models, transaction
from django.utils import timezone

from playground.fields import EncryptedTextField
from playground.models.audit import audited, record
from playground.models.teams import User

STEP = 30  # seconds that a code is shown
DIGITS = 6
DRIFT = 1  # steps that a clock may be early or late
SECRET_BYTES = 20
RECOVERY_CODES = 10
RECOVERY_BYTES = 10  # of one code: 80 bits need no slow hash


def code_at(secret: bytes, step: int) -> str:
    """The code of a 30-second step: RFC 4226 with SHA-1, as every app computes it."""
    digest = hmac.digest(secret, step.to_bytes(8, "big"), "sha1")
    start = digest[-1] & 15
    number = int.from_bytes(digest[start : start + 4], "big") & 0x7FFFFFFF
    return f"{number % 10**DIGITS:0{DIGITS}}"


def plain(code: str) -> str:
    """As it is compared: people type blanks and dashes where they see them."""
    return code.replace(" ", "").replace("-", "").casefold()


def _digest(code: str) -> str:
    return hashlib.sha256(plain(code).encode("utf-8", "replace")).hexdigest()


@audited("user", "confirmed_at", secret=("secret",))
class SecondFactor(models.Model):
    """An app of one person. Without `confirmed_at` it is being set up, and asks nothing."""

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="second_factor")
    secret = EncryptedTextField()  # base32
    confirmed_at = models.DateTimeField(null=True)
    last_step = models.BigIntegerField(default=0)  # of the last code taken: each works once

    class Meta:
        verbose_name = "second factor"

    def __str__(self) -> str:
        return f"second factor of {self.user}"

    @classmethod
    def of(cls, user: User) -> "SecondFactor | None":
        """The one that a login asks for."""
        return cls.objects.filter(user=user).exclude(confirmed_at=None).first()

    @classmethod
    def begun(cls, user: User) -> "SecondFactor":
        """One to set up: the same until it is confirmed, so a reload shows the same picture."""
        fresh = base64.b32encode(secrets.token_bytes(SECRET_BYTES)).decode()
        found, _ = cls.objects.get_or_create(user=user, defaults={"secret": fresh})
        if not found.secret and found.confirmed_at is None:  # under a master key that is lost
            found.secret = fresh
            found.save(update_fields=["secret"])
        return found

    def address(self, name: str) -> str:
        """What the picture says to the app."""
        label = quote(f"{name}:{self.user.get_username()}", safe="")
        return f"otpauth://totp/{label}?" + urlencode({"secret": self.secret, "issuer": name})

    def takes(self, code: str) -> bool:
        """Whether this is a code of now. Each works once, also for two browsers at once."""
        typed = plain(code)
        if not self.secret or len(typed) != DIGITS:
            return False
        now = int(time.time()) // STEP
        secret = base64.b32decode(self.secret)
        for step in range(now - DRIFT, now + DRIFT + 1):
            if hmac.compare_digest(code_at(secret, step).encode(), typed.encode()):
                later = SecondFactor.objects.filter(pk=self.pk, last_step__lt=step)
                return bool(later.update(last_step=step))
        return False

    @transaction.atomic
    def confirm(self) -> list[str]:
        """From now on a login asks for it. The recovery codes, shown this once."""
        self.confirmed_at = timezone.now()
        self.save(update_fields=["confirmed_at"])
        return RecoveryCode.renew(self.user)

    @transaction.atomic
    def end(self) -> None:
        RecoveryCode.objects.filter(user=self.user).delete()
        self.delete()


class RecoveryCode(models.Model):
    """Works once in place of the app."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="recovery_codes")
    digest = models.CharField(max_length=64, unique=True)
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"recovery code of {self.user}"

    @classmethod
    @transaction.atomic
    def renew(cls, user: User) -> list[str]:
        """New ones in place of all earlier ones, in groups of four."""
        codes = []
        for _ in range(RECOVERY_CODES):
            raw = base64.b32encode(secrets.token_bytes(RECOVERY_BYTES)).decode().casefold()
            codes.append("-".join(raw[at : at + 4] for at in range(0, len(raw), 4)))
        cls.objects.filter(user=user).delete()
        RecoveryCode.objects.bulk_create(
            [RecoveryCode(user=user, digest=_digest(code)) for code in codes]
        )
        record("recovery codes made", user)
        return codes

    @classmethod
    def take(cls, user: User, code: str) -> bool:
        """Use one up."""
        found = cls.objects.filter(user=user, digest=_digest(code), used_at=None)
        if not found.update(used_at=timezone.now()):
            return False
        record("recovery code used", user)
        return True

    @classmethod
    def left(cls, user: User) -> int:
        return cls.objects.filter(user=user, used_at=None).count()
