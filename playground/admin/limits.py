"""Limits with their use at this moment, and who is near one."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html, format_html_join

from playground.models import Limit, Run, User
from playground.models.ledger import NEAR, Ledger, Standing, standing

MOST_PEOPLE = 5  # of a limit for each member: who is nearest to it
SCOPE = ("kind", "connection", "team", "member", "each_member")


def people(limit: Limit) -> list[User]:
    """For whom a limit for each member counts."""
    found = User.objects.filter(is_active=True).order_by("username")
    return list(found.filter(memberships__team=limit.team_id) if limit.team_id else found)


def use(limit: Limit) -> list[tuple[str, Standing]]:
    """[(whose, how far)], the nearest first; one row of a limit that all share."""
    ledger = Ledger(Run.objects.all(), timezone.now())
    if not limit.each_member:
        return [("", standing(ledger, limit))]
    found = [(user.get_username(), standing(ledger, limit, user.pk)) for user in people(limit)]
    return sorted(found, key=lambda row: (-row[1].share, row[0]))


class NearFilter(admin.SimpleListFilter):
    title = "use"
    parameter_name = "use"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("near", f"Near the limit ({NEAR:.0%} or more)")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Limit]) -> QuerySet[Limit]:
        if self.value() != "near":
            return queryset
        near = [limit.pk for limit in queryset if any(s.share >= NEAR for _, s in use(limit))]
        return queryset.filter(pk__in=near)


@admin.register(Limit)
class LimitAdmin(admin.ModelAdmin):
    """Whom a limit is for and what it counts cannot be changed: its meters would be wrong."""

    list_display = ["amount_text", "whom", "used"]
    list_filter = [NearFilter, "kind", "connection", "team"]
    list_select_related = ["connection", "team", "member"]
    fieldsets = [
        ("How much", {"fields": ["kind", "amount"]}),
        (
            "For whom",
            {
                "fields": ["connection", "team", "member", "each_member"],
                "description": "All that is chosen has to fit. Nothing chosen: every request.",
            },
        ),
    ]

    def get_readonly_fields(self, request: HttpRequest, obj: Limit | None = None) -> Any:
        return SCOPE if obj else ()

    @admin.display(description="limit", ordering="amount")
    def amount_text(self, limit: Limit) -> str:
        return limit.amount_text

    @admin.display(description="for whom")
    def whom(self, limit: Limit) -> str:
        return limit.scope.removeprefix("for ")

    @admin.display(description="used now")
    def used(self, limit: Limit) -> str:
        rows = use(limit)
        if not rows:
            return "nobody yet"
        shown = [_bar(name, found) for name, found in rows[:MOST_PEOPLE]]
        more = len(rows) - len(shown)
        rest = format_html('<span class="use__more">and {} more</span>', more) if more else ""
        return format_html("{}{}", format_html_join("", "{}", ((bar,) for bar in shown)), rest)


def _bar(name: str, found: Standing) -> str:
    level = "none" if not found.left else "low" if found.share >= NEAR else ""
    words = {"none": "used up", "low": "near the limit"}.get(level, "")
    text = f"{found.limit.text(found.used)} of {found.limit.text(found.limit.most)}"
    return format_html(
        '<span class="use" data-level="{}"><span class="use__name">{}</span>'
        '<progress max="100" value="{}" aria-label="{}"></progress><span>{}</span>'
        '<strong class="use__level">{}</strong></span>',
        level,
        name,
        min(100, round(100 * found.share)),
        f"{name or 'All'}: {text}",
        text,
        words,
    )
