"""The list of connections in the admin site: what state each one and its key are in."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

from playground.checkup import Report
from playground.database import wait_for
from playground.models import ApiKey, Connection
from playground.models.notices import notices
from playground.panel import title
from playground.parameters import OPERATIONS
from playground.probe import probe
from playground.providers import PROVIDERS, ProviderError
from playground.templatetags.playground_tags import icon

State = ApiKey.State


class ConnectionList(admin.ModelAdmin):
    list_display = ["name", "service", "address", "key", "expires", "last_used", "test", "state"]
    list_display_links = ["name"]
    actions = ["probe_parameters"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Connection]:
        return super().get_queryset(request).prefetch_related("keys")

    @admin.display(description="service", ordering="provider")
    def service(self, connection: Connection) -> str:
        return title(connection.provider, connection.dialect)

    @admin.display(description="address", ordering="base_url")
    def address(self, connection: Connection) -> str:
        return connection.base_url or "comes with the playground"

    @admin.display(description="key")
    def key(self, connection: Connection) -> str:
        """The last four characters, never more; what else is stored beside the active one."""
        if connection.locked:
            return "enter the key again: it cannot be decrypted"
        shown = [(f"…{key.last_four}", _beside(key)) for key in _stored(connection)]
        if not shown:
            needs = PROVIDERS[connection.provider].needs_key and not connection.embedded
            return "none" if needs else "none needed"
        return format_html_join(SafeString("<br>"), '<span class="mono">{}</span>{}', shown)

    @admin.display(description="key expires")
    def expires(self, connection: Connection) -> str:
        for key in _stored(connection):
            if key.state != State.RETIRING and key.expires_on:
                if key.expiry:
                    return _badge("failed" if key.urgent else "interrupted", "alert", key.expiry)
                return f"{key.expires_on:%Y-%m-%d}"
        return "–"

    @admin.display(description="key last used")
    def last_used(self, connection: Connection) -> str:
        used = [key.last_used_at for key in connection.keys.all() if key.last_used_at]
        return f"{timesince(max(used), depth=1)} ago" if used else "–"

    @admin.display(description="last test", ordering="tested_at")
    def test(self, connection: Connection) -> str:
        report = Report.from_json(connection.test_report)
        if report is None or connection.tested_at is None:
            return "not tested"
        when = f"{timesince(connection.tested_at, depth=1)} ago"
        if report.passed:
            return _badge("completed", "check", f"passed {when}")
        return _badge("failed", "alert", f"failed {when}")

    @admin.display(description="state")
    def state(self, connection: Connection) -> str:
        if not connection.enabled:
            return _badge("queued", "stop", "switched off")
        found = notices([connection])
        if not found:
            return _badge("completed", "check", "in use")
        grave = found[0].level == "err"
        return _badge("failed" if grave else "interrupted", "alert", "needs attention")

    @admin.action(
        description="Probe what it ignores or refuses (one small request a parameter)",
        permissions=["change"],
    )
    def probe_parameters(self, request: HttpRequest, queryset: QuerySet[Connection]) -> None:
        for connection in queryset:
            try:
                learned = wait_for(probe, connection, OPERATIONS[0])
            except ProviderError as error:
                messages.error(request, f"{connection}: {error.message}")
                continue
            found = ", ".join(f"{lesson.path} ({lesson.kind})" for lesson in learned)
            messages.info(request, f"{connection}: {found or 'nothing is ignored or refused'}.")


def _stored(connection: Connection) -> list[ApiKey]:
    """Active first, for the list; from what was prefetched."""
    order = [State.ACTIVE, State.NEW, State.RETIRING]
    found = [key for key in connection.keys.all() if key.state in order]
    return sorted(found, key=lambda key: order.index(State(key.state)))


def _beside(key: ApiKey) -> str:
    if key.state == State.ACTIVE:
        return ""
    if key.state == State.NEW:
        return " waits for its test"
    return f" until {key.retires_at:%Y-%m-%d}"


def _badge(status: str, name: str, text: str) -> SafeString:
    return format_html(
        '<span class="badge" data-status="{}">{}<span>{}</span></span>', status, icon(name), text
    )
