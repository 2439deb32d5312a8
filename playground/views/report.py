"""What a search's runs came to in a period and in the one before it, in groups: the tables of the
statistics."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from playground import query
from playground.figures import Figures
from playground.models import Label, Membership, User
from playground.models.statistics import Groups, groups_of
from playground.periods import Period
from playground.views.charts import Series, series_of
from playground.views.span import Span


@dataclass(frozen=True)
class Row:
    """A line of a table: one connection, model, label or member."""

    name: str
    now: Figures
    before: Figures
    term: str = ""  # of the search
    provider: str = ""
    url: str = ""

    @property
    def failed_percent(self) -> str:
        return percent(self.now.failure_rate)

    @property
    def first_median(self) -> float | None:
        return self.now.first_at(0.5)

    @property
    def first_slow(self) -> float | None:
        return self.now.first_at(0.95)

    @property
    def total_median(self) -> float | None:
        return self.now.total_at(0.5)

    @property
    def total_slow(self) -> float | None:
        return self.now.total_at(0.95)


def percent(share: float | None) -> str:
    if share is None:
        return ""
    return f"{100 * share:.1f} %" if 0 < share < 0.1 else f"{100 * share:.0f} %"


class Report:
    """Everything about one period and the one before it, in groups."""

    def __init__(self, span: Span, membership: Membership, daily: bool = False) -> None:
        self.span, self.membership = span, membership
        self.period: Period = span.period
        self.now: Groups = groups_of(span.asked.finder, self.period, daily=daily)
        before = self.period.before
        self.before: Groups = (
            groups_of(span.asked.finder, before, lean=True) if before else Groups()
        )

    def rows(self, name: str) -> list[Row]:
        """By `connection`, `model`, `label` or `member`; the most runs first."""
        rows: list[Row] = getattr(self, f"_{name}s")()
        for number, row in enumerate(rows):
            if row.term:
                rows[number] = replace(row, url=self.span.added(row.term))
        return sorted(rows, key=lambda row: (-row.now.runs, -row.before.runs, row.name))

    def _pairs(self, now: Mapping[Any, Figures], before: Mapping[Any, Figures]) -> Iterable[Any]:
        for key in {**now, **before}:
            yield key, now.get(key, Figures()), before.get(key, Figures())

    def _connections(self) -> list[Row]:
        pairs = self._pairs(self.now.connections(), self.before.connections())
        return [
            Row(where.name, now, before, plain_term("connection", where.name), where.provider)
            for where, now, before in pairs
        ]

    def _models(self) -> list[Row]:
        return [
            Row(model or "no model named", now, before, plain_term("model", model))
            for model, now, before in self._pairs(self.now.models, self.before.models)
        ]

    def _labels(self) -> list[Row]:
        names = Label.objects.in_bulk([*self.now.labels, *self.before.labels])
        return [
            Row(names[pk].name, now, before, plain_term("label", names[pk].name))
            if pk
            else Row("no label", now, before, "-has:label")
            for pk, now, before in self._pairs(self.now.labels, self.before.labels)
            if not pk or pk in names
        ]

    def _members(self) -> list[Row]:
        people = User.objects.in_bulk([pk for pk in self.now.members | self.before.members if pk])
        return [
            Row(people[pk].username, now, before, plain_term("user", people[pk].username))
            if pk in people
            else Row("people who are gone", now, before)
            for pk, now, before in self._pairs(self.now.members, self.before.members)
        ]

    @cached_property
    def series(self) -> list[Series]:
        return series_of(self.now.days, self.period)


def plain_term(name: str, value: str) -> str:
    """ "" where the search has no words for it: an asterisk at the end means the rest."""
    return query.term(name, value) if value and not value.endswith("*") else ""
