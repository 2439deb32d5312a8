"""Runs, for whoever answers for the bill: who, where, when, what it cost; never a text of them."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from playground.models import Run


@admin.register(Run)
class RunAdmin(admin.ModelAdmin):
    """To look at only. Prompts, outputs, labels and errors, which may repeat them, are not read."""

    list_display = [
        "when", "team", "who", "connection_name", "model", "status", "tokens", "cost", "key",
    ]  # fmt: skip
    list_display_links = None
    list_filter = ["status", "connection", "team"]
    list_select_related = ["team"]
    list_per_page = 50
    show_full_result_count = False
    ordering = ["-pk"]
    readonly_fields = [
        "when", "team", "who", "visibility", "connection_name", "provider", "model", "operation",
        "status", "error_kind", "tokens", "cost", "key", "started_at", "finished_at",
    ]  # fmt: skip
    fields = list(readonly_fields)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        unread = ("prompt_preview", "output_preview", "error_message", "coordinates", *Run.BIG)
        return super().get_queryset(request).defer(*unread)

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Django lets an address ask for any column of the table: a prompt could be guessed."""
        known = lookup.partition("__")[0] in self.list_filter
        return known and super().lookup_allowed(lookup, value, request)

    @admin.display(description="time", ordering="pk")
    def when(self, run: Run) -> str:
        return f"{timezone.localtime(run.created_at):%Y-%m-%d %H:%M:%S}"

    @admin.display(description="who")
    def who(self, run: Run) -> str:
        return run.author_name or "–"

    @admin.display(description="tokens")
    def tokens(self, run: Run) -> str:
        parts = (run.prompt_tokens, run.completion_tokens)
        if parts == (None, None):
            return "–"
        return " + ".join("?" if each is None else f"{each:,}" for each in parts)

    @admin.display(description="key")
    def key(self, run: Run) -> str:
        return f"…{run.key_last_four}" if run.key_last_four else "–"

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
