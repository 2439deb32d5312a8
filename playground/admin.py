"""The admin site: connections and their keys, teams and people; runs without their text."""

from typing import Any

from asgiref.sync import async_to_sync
from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import mark_safe

from playground.models import ApiKey, AuditEntry, Connection, Membership, Memory, Price, Team, User
from playground.models.keys import clean_key
from playground.parameters import OPERATIONS
from playground.probe import probe
from playground.providers import PROVIDERS, ProviderError

admin.site.site_header = "Playground administration"
admin.site.site_title = "Playground"
admin.site.index_title = "Connections, teams and people"


class SecretArea(forms.Textarea):
    """Like a password box: what was typed is not in the page that says what was wrong."""

    def format_value(self, value: Any) -> str:
        return ""


class ConnectionForm(forms.ModelForm):
    """Secrets are write-only: they go in here and never come out."""

    provider = forms.ChoiceField(choices=lambda: [(s, p.label) for s, p in PROVIDERS.items()])
    base_url = forms.CharField(label="Address", required=False, max_length=500)
    api_key = forms.CharField(
        label="API key",
        required=False,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="Stored encrypted and never shown again. Empty: the present one stays.",
    )
    new_headers = forms.CharField(
        label="Extra headers",
        required=False,
        widget=SecretArea(attrs={"rows": 3, "autocomplete": "off"}),
        help_text="One “Name: value” a line. Stored encrypted and never shown again. "
        "Empty: the present ones stay; a single “-” removes them.",
    )

    class Meta:
        model = Connection
        fields = [
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
        ]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "base_url" in self.fields:  # not for the embedded connection
            self.fields["base_url"].help_text = addresses()
            self.fields["provider"].help_text = " ".join(p.help for p in PROVIDERS.values())

    def clean_base_url(self) -> str:
        """Empty: the documented address of the provider."""
        provider = PROVIDERS.get(self.cleaned_data.get("provider", ""))
        default = provider.default_base_url if provider else ""
        return str(self.cleaned_data["base_url"]).strip() or default

    def clean_api_key(self) -> str:
        return clean_key(self.cleaned_data["api_key"])

    def clean_new_headers(self) -> str:
        text = str(self.cleaned_data["new_headers"]).strip()
        for line in text.splitlines() if text != "-" else []:
            name, colon, _ = line.partition(":")
            if not colon or not name.strip() or not _fits(line) or " " in name.strip():
                raise ValidationError("Write one header a line, as “Name: value”.")
        return text


def addresses() -> str:
    """What an empty address stands for."""
    known = ", ".join(f"{each.label} {each.default_base_url}" for each in PROVIDERS.values())
    return f"Empty: the documented one ({known})."


def _fits(line: str) -> bool:
    """Whether it can stand in an HTTP header."""
    return line.isascii() and line.isprintable()


class PriceInline(admin.TabularInline):
    model = Price
    extra = 0
    verbose_name_plural = "Prices in US dollars for a million tokens"


@admin.register(Connection)
class ConnectionAdmin(admin.ModelAdmin):
    form = ConnectionForm
    inlines = [PriceInline]
    list_display = ["name", "provider", "dialect", "base_url", "key", "enabled"]
    filter_horizontal = ["teams"]
    actions = ["probe_parameters"]

    @admin.action(
        description="Probe what it ignores or refuses (one small request a parameter)",
        permissions=["change"],
    )
    def probe_parameters(self, request: HttpRequest, queryset: QuerySet[Connection]) -> None:
        for connection in queryset:
            try:
                learned = async_to_sync(probe)(connection, OPERATIONS[0])
            except ProviderError as error:
                messages.error(request, f"{connection}: {error.message}")
                continue
            found = ", ".join(f"{lesson.path} ({lesson.kind})" for lesson in learned)
            messages.info(request, f"{connection}: {found or 'nothing is ignored or refused'}.")

    @admin.display(description="key")
    def key(self, connection: Connection) -> str:
        """The last four characters of the active key, never more."""
        if connection.locked:
            return "enter the key again: it cannot be decrypted"
        key = connection.keys.filter(state=ApiKey.State.ACTIVE).order_by("-pk").first()
        return f"…{key.last_four}" if key else "none"

    def get_readonly_fields(self, request: HttpRequest, obj: Connection | None = None) -> Any:
        own = ["name", "provider", "dialect", "base_url", "reaches_local"]
        return own if obj is not None and obj.embedded else []

    def save_model(self, request: HttpRequest, obj: Connection, form: Any, change: bool) -> None:
        before = Connection.objects.get(pk=obj.pk) if change else None
        if before and before.base_url != obj.base_url:
            dropped = before.drop_secrets()
            obj.extra_headers = before.extra_headers
            if dropped and not form.cleaned_data.get("api_key"):
                said = f"The address has changed, so this was dropped: {', '.join(dropped)}."
                messages.warning(request, f"{said} Enter what the new address needs.")
        if headers := form.cleaned_data.get("new_headers"):
            obj.extra_headers = "" if headers == "-" else headers
        super().save_model(request, obj, form, change)
        if key := form.cleaned_data.get("api_key"):
            obj.set_key(key)

    def has_delete_permission(self, request: HttpRequest, obj: Connection | None = None) -> bool:
        return super().has_delete_permission(request, obj) and not (obj and obj.embedded)


class MembershipInline(admin.TabularInline):
    model = Membership
    extra = 1


@admin.register(Team)
class TeamAdmin(admin.ModelAdmin):
    list_display = ["name", "created_at"]
    inlines = [MembershipInline]


@admin.register(Memory)
class MemoryAdmin(admin.ModelAdmin):
    """What backends ignored or refused: to look at, and to clear."""

    list_display = ["path", "kind", "connection", "model", "sentence", "seen_at"]
    list_filter = ["kind", "connection"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Memory | None = None) -> bool:
        return False


@admin.register(AuditEntry)
class AuditAdmin(admin.ModelAdmin):
    """To look at only: a log that somebody can edit proves nothing."""

    list_display = ["at", "who", "action", "kind", "object_name", "what"]
    list_display_links = None
    list_filter = ["kind", "action", "at", "actor_name"]
    search_fields = ["object_name", "actor_name"]
    date_hierarchy = "at"
    list_per_page = 50

    @admin.display(description="who", ordering="actor_name")
    def who(self, entry: AuditEntry) -> str:
        return entry.actor_name

    @admin.display(description="what")
    def what(self, entry: AuditEntry) -> str:
        return format_html_join(mark_safe("<br>"), "{}", ((line,) for line in entry.lines))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: AuditEntry | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: AuditEntry | None = None) -> bool:
        return False


admin.site.register(User, UserAdmin)
