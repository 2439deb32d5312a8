"""The audit log and what is remembered of backends: to look at."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.safestring import mark_safe

from playground.models import AuditEntry, Memory


@admin.register(AuditEntry)
class AuditAdmin(admin.ModelAdmin):
    """To look at only: a log that somebody can edit proves nothing."""

    list_display = ["when", "actor_name", "action", "kind", "object_name", "what"]
    list_display_links = None
    list_filter = ["kind", "action", "at", "actor_name"]
    search_fields = ["object_name", "actor_name"]
    search_help_text = "Search for the name of a person, a connection, a team…"
    list_per_page = 50

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        return super().changelist_view(request, {"heading": "Audit log", **(extra_context or {})})

    @admin.display(description="time", ordering="at")
    def when(self, entry: AuditEntry) -> str:
        return f"{timezone.localtime(entry.at):%Y-%m-%d %H:%M:%S}"

    @admin.display(description="what")
    def what(self, entry: AuditEntry) -> str:
        return format_html_join(mark_safe("<br>"), "{}", ((line,) for line in entry.lines))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: AuditEntry | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: AuditEntry | None = None) -> bool:
        return False


@admin.register(Memory)
class MemoryAdmin(admin.ModelAdmin):
    """What backends ignored or refused: to look at, and to clear."""

    list_display = ["path", "kind", "connection", "model", "sentence", "seen_at"]
    list_filter = ["kind", "connection"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Memory | None = None) -> bool:
        return False
