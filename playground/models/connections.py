"""Connections to providers: where requests go, with what, and who may use them."""

import re
from datetime import date
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models, transaction
from django.db.models import Q

from playground import embedded
from playground.fields import EncryptedTextField, Unreadable
from playground.models.audit import audited
from playground.models.keys import ApiKey, clean_key

SECRET_NAME = re.compile("auth|key|token|secret|cookie|pass|credential|session|signature", re.I)


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


def clean_models(text: str) -> str:
    """One name or pattern a line, without blanks and doubles."""
    return "\n".join(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))


def looks_secret(name: str, value: str) -> bool:
    """Whether a header may let somebody in: by its name, or as one long word."""
    return bool(SECRET_NAME.search(name) or re.fullmatch(r"[\w\-+/=.:]{20,}", value))


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
    "allowed_models",
    "overlap_days",
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
    allowed_models = models.TextField(
        blank=True,
        help_text="One a line; * stands for any characters. Empty: every model of the provider.",
    )
    overlap_days = models.PositiveIntegerField(
        "days that a former key stays",
        default=7,
        help_text="After a change of key the former one is used where the provider rejects the "
        "new one, and is then erased. 0: it is erased at once.",
    )
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
    tested_at = models.DateTimeField(null=True, editable=False)
    test_report = models.TextField(blank=True, editable=False)  # `playground.checkup`, as JSON

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
        self.allowed_models = clean_models(self.allowed_models)
        if self.default_model and not self.allows(self.default_model):
            raise ValidationError(
                {"default_model": "The default model is not one of the allowed models."}
            )

    def address(self) -> str | None:
        """The base URL; None while the embedded backend is not running."""
        return embedded.address(settings.DATA_DIR) if self.embedded else self.base_url

    @property
    def allowed(self) -> list[str]:
        """Names and patterns; [] where every model may be used."""
        return self.allowed_models.splitlines()

    def allows(self, model: str) -> bool:
        return not self.allowed or any(fnmatchcase(model, each) for each in self.allowed)

    def model_refusal(self, model: str) -> str:
        """Why this model cannot be used here; "" where it can."""
        if self.allows(model):
            return ""
        only = ", ".join(self.allowed[:10]) + (" …" if len(self.allowed) > 10 else "")
        if not model:
            return f"Choose a model; an admin allows only these on {self.name}: {only}."
        return f"“{model}” is not allowed on {self.name}. An admin allows only: {only}."

    def offered(self, listed: list[str]) -> list[str]:
        """What the picker shows: the allowed ones of those listed, and the names allowed."""
        named = [each for each in self.allowed if not set(each) & set("*?[")]
        return list(dict.fromkeys([*(m for m in listed if self.allows(m)), *named]))

    def key(self) -> ApiKey | None:
        """The active key that is for this address and can be decrypted, if there is one."""
        for key in self.keys.filter(state=ApiKey.State.ACTIVE):
            if key.secret_for(self.base_url):
                return key
        return None

    def other_key(self, rejected: ApiKey) -> ApiKey | None:
        """What to use instead of a key that the provider rejected: a newer one, or the former."""
        for key in self.keys.in_use().exclude(pk=rejected.pk):
            if key.secret_for(self.base_url):
                return key
        return None

    def headers(self) -> dict[str, str]:
        """The admin's extra headers, {name: value}."""
        lines = (line.partition(":") for line in (self.extra_headers or "").splitlines())
        return {name.strip(): value.strip() for name, colon, value in lines if colon}

    @transaction.atomic
    def set_key(self, key: str, expires_on: date | None = None) -> ApiKey:
        """Make this the active key at once; the former one retires."""
        if same := self._same_key(key):
            made = same
        else:
            self._erase(ApiKey.State.NEW)
            made = ApiKey.make(self, key, ApiKey.State.NEW, expires_on)
        made.activate()
        return made

    @transaction.atomic
    def add_key(self, key: str, expires_on: date | None = None) -> ApiKey:
        """The first key is active at once; one that replaces another waits for its test."""
        if self.key() is None:
            return self.set_key(key, expires_on)
        if same := self._same_key(key):
            return same
        self._erase(ApiKey.State.NEW)
        return ApiKey.make(self, key, ApiKey.State.NEW, expires_on)

    def _same_key(self, key: str) -> ApiKey | None:
        """The same secret, stored already."""
        stored = self.keys.filter(state__in=[ApiKey.State.NEW, ApiKey.State.ACTIVE])
        wanted = clean_key(key)
        return next((each for each in stored if each.secret_for(self.base_url) == wanted), None)

    def _erase(self, state: str) -> None:
        for key in self.keys.filter(state=state):
            key.erase()

    def drop_secrets(self) -> list[str]:
        """After a change of address: erase the keys, and the extra headers that look secret.

        What was dropped, in words; [] where there was nothing. Saves the headers.
        """
        keys = sum(key.erase() for key in self.keys.stored())
        dropped = ["the stored key" if keys == 1 else f"{keys} stored keys"] if keys else []
        if isinstance(self.extra_headers, Unreadable):
            secret, self.extra_headers = ["extra headers"], ""
        else:
            headers = self.headers()
            secret = [name for name, value in headers.items() if looks_secret(name, value)]
            kept = (f"{name}: {value}" for name, value in headers.items() if name not in secret)
            self.extra_headers = "\n".join(kept)
        if secret:
            self.save(update_fields=["extra_headers"])
            dropped.append(f"the header{'s' if len(secret) > 1 else ''} {', '.join(secret)}")
        return dropped

    @property
    def locked(self) -> bool:
        """A key is stored that cannot be decrypted: it has to be entered again."""
        return any(key.unreadable for key in self.keys.all())

    @property
    def headers_locked(self) -> bool:
        return isinstance(self.extra_headers, Unreadable)
