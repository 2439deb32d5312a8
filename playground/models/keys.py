"""API keys: sealed, replaced with an overlap, erased at their date. They never leave the server.

The life of a key: it waits as `new` until a test has passed (the first one of a connection is
`active` at once); then it is `active`, and the former one `retiring`: used only where the provider
answers the active one with 401. At its date it is `erased`, and at once if the provider rejects it
too: the secret is gone, the record of its use stays.
"""

import json
from datetime import date, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from playground.fields import EncryptedTextField, Unreadable
from playground.models.audit import audited, record

LONGEST_OVERLAP = 3650  # days that a former key stays at most
SOON, URGENT = 30, 7  # days before a key expires
STALE = timedelta(seconds=10)  # how exact "last used" is; a run should not cost a write for it


def origin(url: str) -> str:
    """Scheme, host and port: what a key is for."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    return f"{parts.scheme}://{(parts.hostname or '').lower()}:{port}"


def clean_key(key: str) -> str:
    """White space trimmed; anything that cannot stand in an HTTP header is refused."""
    key = key.strip()
    if not key.isascii() or not key.isprintable() or " " in key or key.startswith(("'", '"')):
        raise ValidationError(
            "The key contains characters that a key cannot have (spaces, quotes, accents or line "
            "breaks). Copy it again from the provider's page."
        )
    return key


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def stored(self) -> "ApiKeyQuerySet":
        """Those whose secret is still there: the newest first, waiting ones before active ones."""
        order = models.Case(
            *(models.When(state=s, then=n) for n, s in enumerate(ApiKey.State.values)), default=9
        )
        return self.exclude(state=ApiKey.State.ERASED).order_by(order, "-pk")

    def in_use(self) -> "ApiKeyQuerySet":
        """The active key, then those that stand in for it until their date."""
        now = timezone.now()
        retiring = Q(state=ApiKey.State.RETIRING, retires_at__gt=now)
        return self.stored().filter(Q(state=ApiKey.State.ACTIVE) | retiring)

    def with_usage(self) -> "ApiKeyQuerySet":
        """Newest first, with what their runs used: `run_count`, `tokens`, `cost` (US dollars)."""
        zero = models.Value(0)
        tokens = Coalesce(models.F("runs__prompt_tokens"), zero) + Coalesce(
            models.F("runs__completion_tokens"), zero
        )
        return self.annotate(
            run_count=models.Count("runs"), tokens=models.Sum(tokens), cost=models.Sum("runs__cost")
        ).order_by("-pk")

    def erase_due(self) -> int:
        """Erase every key whose date has come; how many. Of several processes one does it."""
        due = self.filter(state=ApiKey.State.RETIRING, retires_at__lte=timezone.now())
        return sum(key.erase() for key in due.defer("sealed").select_related("connection"))


@audited("state", "expires_on", "retires_at")
class ApiKey(models.Model):
    """A key of a connection, sealed together with the origin that it is for."""

    class State(models.TextChoices):
        NEW = "new", "waits for its test"
        ACTIVE = "active"
        RETIRING = "retiring"
        ERASED = "erased"

    connection = models.ForeignKey("Connection", on_delete=models.CASCADE, related_name="keys")
    sealed = EncryptedTextField(editable=False)
    last_four = models.CharField(max_length=4, editable=False)
    state = models.CharField(max_length=10, choices=State, default=State.ACTIVE)
    expires_on = models.DateField(null=True, blank=True)  # as the provider says
    retires_at = models.DateTimeField(null=True, editable=False)  # then it is erased
    erased_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, editable=False)
    rejected_at = models.DateTimeField(null=True, editable=False)  # the provider's last 401
    rejection = models.TextField(blank=True, editable=False)  # in the provider's own words

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        verbose_name = "API key"
        constraints = [
            models.UniqueConstraint(
                fields=["connection", "state"],
                condition=Q(state__in=["active", "new"]),
                name="one_active_and_one_new_key",
            )
        ]

    def __str__(self) -> str:
        return f"…{self.last_four} of {self.connection}"

    def __repr__(self) -> str:
        return f"<ApiKey {self.pk}>"

    @classmethod
    def make(
        cls, connection: Any, key: str, state: str, expires_on: date | None = None
    ) -> "ApiKey":
        """Raises ValidationError; the connection has its address already."""
        key = clean_key(key)
        sealed = json.dumps({"origin": origin(connection.base_url), "key": key})
        # Four characters of a short key would be most of it.
        last_four = key[-4:] if len(key) >= 12 else ""
        return cls.objects.create(
            connection=connection,
            sealed=sealed,
            last_four=last_four,
            state=state,
            expires_on=expires_on,
        )

    def secret_for(self, base_url: str) -> str:
        """The key, or "" where it was made for another address or cannot be decrypted."""
        if not self.sealed:
            return ""
        content: dict[str, Any] = json.loads(self.sealed)
        return str(content["key"]) if content["origin"] == origin(base_url) else ""

    @property
    def unreadable(self) -> bool:
        """None of our master keys decrypts it."""
        return isinstance(self.sealed, Unreadable)

    @transaction.atomic
    def activate(self) -> None:
        """Become the active key; the former one retires."""
        others = type(self).objects.select_for_update().filter(connection=self.connection_id)
        for former in others.filter(state=self.State.ACTIVE).exclude(pk=self.pk):
            former.retire(self.connection.overlap_days)
        self.state = self.State.ACTIVE
        self.save(update_fields=["state"])

    def retire(self, days: int) -> None:
        """Stand in for the active key for so many days; one that cannot be used is erased, and
        so is one that the provider answered with 401 when it was asked last."""
        if not days or self.rejected_at or not self.secret_for(self.connection.base_url):
            self.erase()
            return
        self.state = self.State.RETIRING
        self.retires_at = timezone.now() + timedelta(days=min(days, LONGEST_OVERLAP))
        self.save(update_fields=["state", "retires_at"])

    def erase(self) -> bool:
        """The secret is gone for good; False where somebody else has erased it already."""
        before, now = self.state, timezone.now()
        stored = type(self).objects.filter(pk=self.pk).exclude(state=self.State.ERASED)
        if not stored.update(state=self.State.ERASED, sealed="", erased_at=now):
            return False
        self.state, self.sealed, self.erased_at = self.State.ERASED, "", now
        record("erased", self, {"state": [before, self.state]})
        return True

    def touch(self) -> None:
        now = timezone.now()
        if self.last_used_at is None or now - self.last_used_at > STALE:
            type(self).objects.filter(pk=self.pk).update(last_used_at=now)

    def note_rejection(self, words: str) -> None:
        """The provider answered it with 401, in these (masked) words."""
        noted = {"rejected_at": timezone.now(), "rejection": words[:500]}
        type(self).objects.filter(pk=self.pk).update(**noted)

    def note_acceptance(self) -> None:
        if self.rejected_at is not None:
            type(self).objects.filter(pk=self.pk).update(rejected_at=None, rejection="")

    @property
    def days_left(self) -> int | None:
        """Until it expires at the provider; negative afterwards, None where nobody has said."""
        if self.expires_on is None:
            return None
        return (self.expires_on - timezone.localdate()).days

    @property
    def expiry(self) -> str:
        """A sentence from 30 days before it expires; "" before that."""
        days = self.days_left
        if days is None or days > SOON:
            return ""
        if days < 0:
            return f"expired {-days} day{'s' if days < -1 else ''} ago"
        return "expires today" if days == 0 else f"expires in {days} day{'s' if days > 1 else ''}"

    @property
    def urgent(self) -> bool:
        return self.days_left is not None and self.days_left <= URGENT
