"""Connections to providers and their API keys. The keys never leave the server."""

import json
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone

from playground import embedded
from playground.fields import EncryptedTextField, Unreadable
from playground.models.audit import audited


def origin(url: str) -> str:
    """Scheme, host and port: what a key is for."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    return f"{parts.scheme}://{(parts.hostname or '').lower()}:{port}"


def clean_base_url(url: str) -> str:
    """Trimmed, without a slash at the end; ValidationError with what to type."""
    url = url.strip().rstrip("/")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1) > 0
        usable = usable and len(url.split()) == 1
        (parts.hostname or "").encode("idna")  # no empty and no overlong part
    except ValueError:
        usable = False
    if not usable or parts.username or parts.query or parts.fragment:
        raise ValidationError(
            "Enter an address such as https://api.example.com/v1, "
            "without a user name, query or fragment."
        )
    return url


def clean_key(key: str) -> str:
    """White space trimmed; anything that cannot stand in an HTTP header is refused."""
    key = key.strip()
    if not key.isascii() or not key.isprintable() or " " in key or key.startswith(("'", '"')):
        raise ValidationError(
            "The key contains characters that a key cannot have (spaces, quotes, accents or line "
            "breaks). Copy it again from the provider's page."
        )
    return key


class ConnectionQuerySet(models.QuerySet["Connection"]):
    def usable_by(self, team_id: int | None) -> "ConnectionQuerySet":
        """Enabled, for all teams or for this one; the embedded one only where it is switched on."""
        here = self if settings.EMBEDDED else self.exclude(embedded=True)
        own = Q() if team_id is None else Q(teams=team_id)  # NULL would match "no team at all"
        return here.filter(enabled=True).filter(Q(all_teams=True) | own).distinct()

    def ensure_embedded(self) -> "Connection":
        """The embedded llama.cpp server's row, under the name `embedded`."""
        found = self.filter(embedded=True).first()
        return found or self.create(
            name="embedded",
            provider="local",
            dialect="llama.cpp",
            embedded=True,
            reaches_local=True,
            default_model=embedded.MODEL,
            parallel=embedded.SLOTS,
        )


@audited(
    "name",
    "provider",
    "dialect",
    "base_url",
    "reaches_local",
    "default_model",
    "parallel",
    "assumed_tokens",
    "read_timeout",
    "all_teams",
    "teams",
    "enabled",
    secret=("extra_headers",),
)
class Connection(models.Model):
    class Dialect(models.TextChoices):
        NONE = "", "none"
        LLAMA_CPP = "llama.cpp", "llama.cpp"
        VLLM = "vllm", "vLLM"
        OLLAMA = "ollama", "Ollama"
        LM_STUDIO = "lmstudio", "LM Studio"
        OTHER = "other", "other"

    name = models.CharField(max_length=60, unique=True)
    provider = models.SlugField(max_length=30)
    dialect = models.CharField(
        max_length=20, choices=Dialect, blank=True, help_text="Which server, for local backends."
    )
    base_url = models.CharField(
        max_length=500, blank=True, help_text="For example https://api.example.com/v1"
    )
    embedded = models.BooleanField(default=False, editable=False)
    reaches_local = models.BooleanField(
        "may reach private addresses",
        default=False,
        help_text="Loopback, private and link-local addresses are refused unless this is set.",
    )
    extra_headers = EncryptedTextField(
        blank=True, default="", help_text="One “Name: value” a line; encrypted, never shown again."
    )
    default_model = models.CharField(max_length=300, blank=True)
    parallel = models.PositiveIntegerField(
        "parallel requests",
        null=True,
        blank=True,
        help_text="Further requests wait. Empty: no limit.",
    )
    assumed_tokens = models.PositiveIntegerField(
        "assumed longest answer",
        default=4096,
        validators=[MinValueValidator(1)],
        help_text="Tokens. Limits and worst-case costs count with it where a request sets no "
        "max_tokens.",
    )
    read_timeout = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Seconds without a byte before a request fails. Empty: 300.",
    )
    all_teams = models.BooleanField(default=True)
    teams: "models.ManyToManyField[Any, Any]" = models.ManyToManyField(
        "Team", blank=True, related_name="connections"
    )
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ConnectionQuerySet.as_manager()

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        if not self.embedded:
            self.base_url = clean_base_url(self.base_url)
        if self.provider != "local":
            self.dialect = ""
        elif not self.dialect:
            self.dialect = self.Dialect.OTHER

    def address(self) -> str | None:
        """The base URL; None while the embedded backend is not running."""
        return embedded.address(settings.DATA_DIR) if self.embedded else self.base_url

    def key(self) -> "ApiKey | None":
        """The active key that is for this address and can be decrypted, if there is one."""
        for key in self.keys.filter(state=ApiKey.State.ACTIVE).order_by("-pk"):
            if key.secret_for(self.base_url):
                return key
        return None

    def headers(self) -> dict[str, str]:
        """The admin's extra headers, {name: value}."""
        lines = (line.partition(":") for line in (self.extra_headers or "").splitlines())
        return {name.strip(): value.strip() for name, colon, value in lines if colon}

    @transaction.atomic
    def set_key(self, key: str) -> "ApiKey":
        """Make this the one active key; the ones before are erased."""
        self.keys.all().delete()
        return ApiKey.make(self, key)

    @property
    def locked(self) -> bool:
        """A key is stored that cannot be decrypted: it has to be entered again."""
        return any(isinstance(key.sealed, Unreadable) for key in self.keys.all())


@audited("last_four", "state", "expires_at", secret=("sealed",))
class ApiKey(models.Model):
    """A key of a connection, sealed together with the origin that it is for."""

    class State(models.TextChoices):
        ACTIVE = "active"
        RETIRING = "retiring"
        REVOKED = "revoked"

    connection = models.ForeignKey(Connection, on_delete=models.CASCADE, related_name="keys")
    sealed = EncryptedTextField(editable=False)
    last_four = models.CharField(max_length=4, editable=False)
    state = models.CharField(max_length=10, choices=State, default=State.ACTIVE)
    expires_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, editable=False)

    def __str__(self) -> str:
        return f"…{self.last_four} of {self.connection}"

    def __repr__(self) -> str:
        return f"<ApiKey {self.pk}>"

    @classmethod
    def make(cls, connection: Connection, key: str) -> "ApiKey":
        key = clean_key(key)
        sealed = json.dumps({"origin": origin(connection.base_url), "key": key})
        # Four characters of a short key would be most of it.
        last_four = key[-4:] if len(key) >= 12 else ""
        return cls.objects.create(connection=connection, sealed=sealed, last_four=last_four)

    def secret_for(self, base_url: str) -> str:
        """The key, or "" where it was made for another address or cannot be decrypted."""
        if not self.sealed:
            return ""
        content: dict[str, Any] = json.loads(self.sealed)
        return str(content["key"]) if content["origin"] == origin(base_url) else ""

    def touch(self) -> None:
        type(self).objects.filter(pk=self.pk).update(last_used_at=timezone.now())
