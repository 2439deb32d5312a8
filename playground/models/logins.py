"""Where somebody is logged in: a row beside each session, for its owner to see and to end."""

import re
import time
from datetime import timedelta

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import IntegrityError, models, transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from playground.models.audit import record
from playground.models.teams import User
from playground.sessions import end_of

NOTICED = 60.0  # seconds in which a session is written down once, not at every page
MOST_REMEMBERED = 10_000  # sessions that this process knows of as noticed
LONGEST_AGENT = 100  # characters kept of a browser's name

# In the order in which they are looked for: most browsers also call themselves another.
BROWSERS = (("Edg", "Edge"), ("OPR", "Opera"), ("Firefox", "Firefox"), ("Chrom", "Chrome"),
            ("Safari", "Safari"))  # fmt: skip
SYSTEMS = (("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows"),
           ("Mac OS", "macOS"), ("CrOS", "ChromeOS"), ("Linux", "Linux"))  # fmt: skip

_noticed: dict[str, float] = {}  # session key → when, by the monotonic clock


def browser_name(agent: str) -> str:
    """`Firefox on Linux` of a User-Agent header; its beginning where it says neither."""
    browser = next((name for sign, name in BROWSERS if sign in agent), "")
    system = next((name for sign, name in SYSTEMS if sign in agent), "")
    if browser:
        return f"{browser} on {system}" if system else browser
    return re.sub(r"[^ -~]", "", agent)[:LONGEST_AGENT].strip() or "An unnamed browser"


class LoginQuerySet(models.QuerySet["Login"]):
    def open_of(self, user: User) -> "LoginQuerySet":
        """Those that have not ended, the one used last first."""
        session = Session.objects.filter(
            session_key=OuterRef("session_key"), expire_date__gt=timezone.now()
        )
        return self.filter(Exists(session), user=user).order_by("-seen_at", "-pk")

    def noticed(
        self, user: User, key: str, since: float | None, address: str, agent: str, how: str = ""
    ) -> None:
        """This session is in use: keep it, and move its end on. Once a minute, else free."""
        now = time.monotonic()
        if not how and now - _noticed.get(key, -NOTICED) < NOTICED:
            return
        if len(_noticed) >= MOST_REMEMBERED:
            _noticed.clear()
        _noticed[key] = now
        seen = {"seen_at": timezone.now(), "address": address[:45]}
        if not self.filter(session_key=key, user=user).update(**seen):
            self._begin(user, key, address[:45], agent, how)
        Session.objects.filter(session_key=key).update(expire_date=end_of(since))

    def _begin(self, user: User, key: str, address: str, agent: str, how: str) -> None:
        self._forget_old()
        try:
            with transaction.atomic():
                self.create(
                    user=user, session_key=key, how=how, address=address,
                    browser=browser_name(agent),
                )  # fmt: skip
        except IntegrityError:  # two pages of it at once
            return

    def _forget_old(self) -> None:
        now = timezone.now()
        Session.objects.filter(expire_date__lt=now).delete()
        self.filter(seen_at__lt=now - timedelta(days=settings.SESSION_DAYS)).delete()

    @transaction.atomic
    def end(self) -> int:
        """Log these out: their next request, and their sockets within a second. How many."""
        found = list(self.select_related("user"))
        for each in found:
            Session.objects.filter(session_key=each.session_key).delete()
            record("logged out elsewhere", each.user, {"of": each.browser, "from": each.address})
        self.filter(pk__in=[each.pk for each in found]).delete()
        return len(found)


class Login(models.Model):
    """One session of a person. It opens nothing: the session itself does."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="logins")
    session_key = models.CharField(max_length=40, unique=True)
    how = models.CharField(max_length=60, blank=True)  # password, login link, …
    browser = models.CharField(max_length=LONGEST_AGENT)
    address = models.CharField(max_length=45, blank=True)
    began_at = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(default=timezone.now)  # to the minute

    objects = LoginQuerySet.as_manager()

    def __str__(self) -> str:
        return f"login of {self.user}"

    @property
    def fresh(self) -> bool:
        """In use just now, as far as we know."""
        return timezone.now() - self.seen_at < timedelta(seconds=5 * NOTICED)
