"""What statistics are asked for: a search and some days, all of it in the address.

`q` and `whose` as in the history; `period` one of `periods.NAMES`, or `from` and `to`. Days that
the search names (`after:`, `before:`, `on:`) become the period, so that both pages have one
language.
"""

from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cached_property
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_date

from playground import query
from playground.models.statistics import oldest_day
from playground.periods import DAY, NAMES, Period, named
from playground.views import Request
from playground.views.asked import Asked

USUAL = "30d"
LONGEST = timedelta(days=20_000)


@dataclass(frozen=True)
class Span:
    """The state of the page, as its address says it."""

    asked: Asked
    typed: str  # the search, with its days
    name: str  # of the period; "" where days were given
    first: date | None = None
    last: date | None = None

    @classmethod
    def of(cls, request: Request) -> "Span":
        get = request.GET
        mine = get.get("whose") == "mine"
        asked = replace(Asked.of(request), mine=mine, single=True, older=None, newer=None)
        name = get.get("period", "")
        first, last = day_of(get.get("from", "")), day_of(get.get("to", ""))
        rest, after, before = days_in(asked)
        if after is not None or before is not None:
            plain = replace(asked, typed=rest)
            return cls(plain, asked.typed, "", after, before)
        if first is None and last is None:
            return cls(asked, asked.typed, name if name in NAMES else USUAL)
        return cls(asked, asked.typed, "", first, last)

    @cached_property
    def period(self) -> Period:
        today = timezone.localdate()
        if self.name:
            oldest = oldest_day(self.asked.finder) if self.name == "all" else None
            return named(self.name, today, oldest)
        last = min(self.last or today, today)
        if self.first is None:  # nothing where all is later
            first = min(oldest_day(self.asked.finder) or last, last)
        else:
            first, last = min(self.first, last), max(self.first, last)
        return Period(max(first, last - LONGEST), last)

    def address(self, **changes: str) -> str:
        """Of this page with another search, switch or period."""
        state = {"q": self.asked.typed, "whose": "mine" if self.asked.mine else ""}
        if self.name:
            state["period"] = self.name
        else:
            state["from"], state["to"] = str(self.period.first), str(self.period.last)
        if "period" in changes:
            state["from"] = state["to"] = ""
        state |= changes
        return "?" + urlencode({name: value for name, value in state.items() if value})

    def added(self, term: str) -> str:
        return self.address(q=query.with_term(self.asked.typed, term))

    @property
    def list_address(self) -> str:
        """Of the same runs in the history."""
        days = f"after:{self.period.first} before:{self.period.end}"
        typed = query.with_term(self.asked.typed, days)
        return reverse("history") + self.asked.address(q=typed, show="runs")

    def terms(self) -> list[dict[str, str]]:
        """The filters as chips, each with the address of the page without it."""
        return [
            {**term, "url": self.address(q=query.without(self.asked.typed, each.text))}
            for term, each in zip(self.asked.terms(), self.asked.query.filters, strict=True)
        ]


def day_of(text: str) -> date | None:
    try:
        found = parse_date(text) if text.isascii() and len(text) == 10 else None
    except ValueError:
        return None
    return found if found and 1 < found.year < 9999 else None


def days_in(asked: Asked) -> tuple[str, date | None, date | None]:
    """(the search without its days, first, last); as it is where no day can be both."""
    first: date | None = None
    last: date | None = None
    rest = asked.typed
    for each in asked.query.filters:
        if each.day is None or each.minus:
            continue
        rest = query.without(rest, each.text)
        if each.name in ("after", "on"):
            first = max(first or each.day, each.day)
        if each.name in ("before", "on"):
            end = each.day - DAY if each.name == "before" else each.day
            last = min(last or end, end)
    today = timezone.localdate()
    if first is not None and first > min(last or today, today):
        return asked.typed, None, None
    return rest, first, last
