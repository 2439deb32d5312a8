"""The page of a connection in the admin site: the form, the test, the life of the keys."""

from datetime import date
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html

from playground.admin.connection_form import ConnectionForm, PriceForm
from playground.admin.connection_list import ConnectionList
from playground.checkup import Report, check_up
from playground.database import wait_for
from playground.models import ApiKey, AuditEntry, Connection, Price
from playground.models.notices import notices


class PriceInline(admin.TabularInline):
    model = Price
    form = PriceForm
    extra = 0
    verbose_name_plural = "Prices in US dollars for a million tokens"


@admin.register(Connection)
class ConnectionAdmin(ConnectionList):
    form = ConnectionForm
    inlines = [PriceInline]

    def get_fieldsets(self, request: HttpRequest, obj: Connection | None = None) -> Any:
        where = ["name", "provider", "base_url", "dialect", "reaches_local", "enabled"]
        own = obj is not None and obj.embedded
        key = ["api_key", "key_expires", "overlap_days"]
        found: list[tuple[str, dict[str, Any]]] = [
            ("Where requests go", {"fields": where}),
            ("Key", {"fields": key, "description": KEY_HELP}),
            ("Extra headers", {"fields": ["new_headers"], "description": _header_names(obj)}),
            ("Models", {"fields": ["default_model", "allowed_models"]}),
            ("Who may use it", {"fields": ["all_teams", "teams"]}),
            ("Requests", {"fields": ["parallel", "assumed_tokens", "read_timeout"]}),
        ]
        return [each for each in found if not own or each[0] not in ("Key", "Extra headers")]

    def get_readonly_fields(self, request: HttpRequest, obj: Connection | None = None) -> Any:
        own = ["name", "provider", "dialect", "base_url", "reaches_local"]
        return own if obj is not None and obj.embedded else []

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        context = dict(extra_context or {})
        found = Connection.objects.filter(pk=_id(object_id)).first()
        if found is not None:
            report = Report.from_json(found.test_report)
            context |= {
                "report": report,
                "dialect_label": _dialect_label(found, report),
                "keys": found.keys.with_usage(),
                "notices": notices([found]),
                "changes": AuditEntry.objects.about(found, *found.keys.all())[:8],
            }
        answer = super().changeform_view(request, object_id, form_url, context)
        # After its transaction: the test writes too, in a thread of its own.
        if "_test" in request.POST and (saved := getattr(request, "saved_connection", None)):
            self.run_test(request, saved)
        return answer

    def save_model(self, request: HttpRequest, obj: Connection, form: Any, change: bool) -> None:
        before = Connection.objects.get(pk=obj.pk) if change else None
        key = form.cleaned_data.get("api_key")
        if before and before.base_url != obj.base_url:
            dropped = before.drop_secrets()
            obj.extra_headers = before.extra_headers
            if dropped and not key:
                said = f"The address has changed, so this was dropped: {', '.join(dropped)}."
                messages.warning(request, f"{said} Enter what the new address needs.")
        if headers := form.cleaned_data.get("new_headers"):
            obj.extra_headers = "" if headers == "-" else headers
        super().save_model(request, obj, form, change)
        if key:
            self.take_key(request, obj, key, form.cleaned_data.get("key_expires"))
        elif "key_expires" in form.changed_data and (newest := form.newest_key()):
            newest.expires_on = form.cleaned_data["key_expires"]
            newest.save(update_fields=["expires_on"])

    def take_key(
        self, request: HttpRequest, connection: Connection, key: str, expires_on: date | None
    ) -> None:
        stored = connection.add_key(key, expires_on)
        if expires_on and stored.expires_on != expires_on:
            stored.expires_on = expires_on
            stored.save(update_fields=["expires_on"])
        if stored.state == ApiKey.State.NEW and "_test" not in request.POST:
            sentence = f"The new key …{stored.last_four} waits. It is used once a test has passed."
            messages.warning(request, sentence)

    def has_delete_permission(self, request: HttpRequest, obj: Connection | None = None) -> bool:
        return super().has_delete_permission(request, obj) and not (obj and obj.embedded)

    def response_add(
        self, request: HttpRequest, obj: Connection, post_url_continue: Any = None
    ) -> HttpResponse:
        return self.tested(request, obj) or super().response_add(request, obj, post_url_continue)

    def response_change(self, request: HttpRequest, obj: Connection) -> HttpResponse:
        return self.tested(request, obj) or super().response_change(request, obj)

    def tested(self, request: HttpRequest, obj: Connection) -> HttpResponse | None:
        """After “Save and test”: the saved connection is tested, with the stored secrets."""
        if "_test" not in request.POST:
            return None
        request.saved_connection = obj  # type: ignore[attr-defined]
        return _page_of(obj)

    def run_test(self, request: HttpRequest, connection: Connection) -> None:
        fresh = Connection.objects.get(pk=connection.pk)
        report = wait_for(check_up, fresh)
        if report.activated:
            sentence = f"The key …{report.activated} has passed and is in use from now on."
            messages.success(request, sentence)

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        own = [
            path("<int:pk>/test/", wrap(self.test_view), name="connection_test"),
            path("<int:pk>/dialect/", wrap(self.dialect_view), name="connection_dialect"),
            path("<int:pk>/keys/<int:key>/erase/", wrap(self.erase_view), name="key_erase"),
        ]
        return own + super().get_urls()

    def test_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        connection = self.posted_to(request, pk)
        if isinstance(connection, HttpResponse):
            return connection
        self.run_test(request, connection)
        return _page_of(connection)

    def dialect_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Take over the dialect that the test has found."""
        connection = self.posted_to(request, pk)
        if isinstance(connection, HttpResponse):
            return connection
        report = Report.from_json(connection.test_report)
        if report and report.dialect in Connection.Dialect.values and not connection.embedded:
            connection.dialect = report.dialect
            connection.save(update_fields=["dialect"])
            label = connection.get_dialect_display()
            messages.success(request, f"{connection} is treated as {label} from now on.")
        return _page_of(connection)

    def erase_view(self, request: HttpRequest, pk: int, key: int) -> HttpResponse:
        connection = self.posted_to(request, pk)
        if isinstance(connection, HttpResponse):
            return connection
        found = get_object_or_404(connection.keys.stored(), pk=key)
        found.erase()
        messages.success(request, f"The key …{found.last_four} is erased.")
        return _page_of(connection)

    def posted_to(self, request: HttpRequest, pk: int) -> Connection | HttpResponse:
        """The connection, or why not; the request has to be a POST of somebody who may."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        connection = get_object_or_404(Connection, pk=pk)
        if not self.has_change_permission(request, connection):
            raise PermissionDenied
        return connection


KEY_HELP = (
    "The first key is used at once. A key that replaces another waits until a test has passed; "
    "the former one then stands in for a while, and is erased."
)


def _id(text: str | None) -> int:
    """0, which no row has, for what is no number."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else 0


def _page_of(connection: Connection) -> HttpResponse:
    page = reverse("admin:playground_connection_change", args=[connection.pk])
    return HttpResponseRedirect(f"{page}#test")


def _header_names(connection: Connection | None) -> str:
    names = list(connection.headers()) if connection else []
    return format_html("Stored now: {}.", ", ".join(names)) if names else ""


def _dialect_label(connection: Connection, report: Report | None) -> str:
    """What the test found, where the connection says something else."""
    if report is None or not report.dialect or report.dialect == connection.dialect:
        return ""
    return str(dict(Connection.Dialect.choices).get(report.dialect, ""))
