"""Statistics of a search over some days: from the roll-up where nothing is filtered, else from the
runs that the list of the search shows. Both count the same runs, those that the reader may see.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any, NamedTuple

from django.db.models import Aggregate, F, Q, Sum, TextField
from django.utils import timezone

from playground.figures import Figures, near, together, unpack
from playground.models.finder import Finder
from playground.models.labels import RunLabel
from playground.models.runs import Visibility
from playground.models.tallies import (
    COUNTED,
    QUARTER,
    LabelTally,
    Stale,
    Tally,
    begin_of,
    parts,
    quarter_of,
    spans,
)
from playground.periods import Period

FEW = 10_000  # runs that are read one by one in any case
EXACT = 10_000  # of them; the latencies of what comes after are put into bins, to save memory
MOST_STALE = 200  # quarters beside the roll-up that are read from the runs
A_DAY = 96  # quarters, but where clocks change


class Where(NamedTuple):
    """A connection, as runs name it."""

    name: str
    provider: str


@dataclass
class Groups:
    """The same runs, grouped in several ways; each run once in all but `labels`."""

    days: dict[tuple[date, Where], Figures] = field(default_factory=lambda: defaultdict(Figures))
    models: dict[str, Figures] = field(default_factory=lambda: defaultdict(Figures))
    members: dict[int | None, Figures] = field(default_factory=lambda: defaultdict(Figures))
    labels: dict[int, Figures] = field(default_factory=lambda: defaultdict(Figures))  # 0: none
    rolled_up: bool = False
    walked: int = 0  # runs looked through where the search ended early; 0 where it did not

    @property
    def whole(self) -> Figures:
        return together(self.days.values())

    def connections(self) -> dict[Where, Figures]:
        found: dict[Where, Figures] = defaultdict(Figures)
        for (_, where), figures in self.days.items():
            found[where].add(figures)
        return found


def groups_of(finder: Finder, period: Period, lean: bool = False) -> Groups:
    """Of the runs of a search in these days of the current time zone.

    `lean`: models, members and labels may be without latencies.
    """
    begin, end = midnight(period.first), midnight(period.end)
    groups = Groups()
    stale = _stale(finder, begin, end)
    if stale is None:
        groups.walked = _read_runs(groups, finder, begin, end)
        return groups
    groups.rolled_up = True
    _read_tallies(groups, finder, period, stale, lean)
    for first, after in spans(stale):
        _read_runs(groups, finder, begin_of(first), begin_of(after))
    return groups


def midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))


def oldest_day(finder: Finder) -> date | None:
    """Of the runs that the search's conditions let through."""
    first = finder.rows.order_by("created_at").values_list("created_at", flat=True).first()
    return timezone.localtime(first).date() if first else None


def _stale(finder: Finder, begin: datetime, end: datetime) -> list[int] | None:
    """Quarters that the roll-up does not know yet; None: it cannot be used."""
    if not finder.query.empty or begin.timestamp() % QUARTER or end.timestamp() % QUARTER:
        return None
    rows = finder.rows.filter(created_at__gte=begin, created_at__lt=end).order_by()
    if rows[: FEW + 1].count() <= FEW:
        return None
    return Stale.objects.among(finder.team_id, quarter_of(begin), quarter_of(end), MOST_STALE)


# --- From the runs ---------------------------------------------------------------------------


def _read_runs(groups: Groups, finder: Finder, begin: datetime, end: datetime) -> int:
    names = ("created_at", "author", "connection_name", "provider", "model")
    zone = timezone.get_current_timezone()
    found = finder.everything(begin, end, *names, *COUNTED)
    seen = 0
    for rows in found:
        seen += len(rows)
        labels = _labels([row[0] for row in rows])
        for pk, moment, author, connection, provider, model, *values in rows:
            where = Where(connection, provider)
            if seen > EXACT:
                values[-2:] = map(near, values[-2:])
            every = [
                groups.days[moment.astimezone(zone).date(), where],
                groups.models[model],
                groups.members[author],
                *(groups.labels[label] for label in labels.get(pk, (0,))),
            ]
            for figures in every:
                figures.count(*values)
    return finder.looked_through


def _labels(runs: list[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for part in parts(runs, 500):
        put = RunLabel.objects.filter(run__in=part).values_list("run_id", "label_id")
        for run, label in put:
            found.setdefault(run, []).append(label)
    return found


# --- From the roll-up ------------------------------------------------------------------------


class Joined(Aggregate):
    """Texts with a blank between."""

    function = "STRING_AGG"
    template = "%(function)s(%(expressions)s, ' ')"
    output_field = TextField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return super().as_sql(compiler, connection, function="GROUP_CONCAT", **context)


SUMS = {
    **{
        f"sum_{name}": Sum(name)
        for name in (
            "runs", "completed", "failed", "cancelled", "interrupted", "tokens_in", "tokens_out",
            "cost_units", "priced",
        )
    },
    "all_first": Joined("first_bins"),
    "all_total": Joined("total_bins"),
}  # fmt: skip


def _read_tallies(
    groups: Groups, finder: Finder, period: Period, stale: list[int], lean: bool
) -> None:
    begin, end = quarter_of(midnight(period.first)), quarter_of(midnight(period.end))

    def rows(model: Any, first: int, after: int) -> Any:
        found = model.objects.filter(team_id=finder.team_id, quarter__gte=first, quarter__lt=after)
        own = Q(author_id=finder.user.pk)
        found = found.filter(own if finder.mine else own | Q(visibility=Visibility.TEAM))
        return found.exclude(quarter__in=stale).order_by() if stale else found.order_by()

    for first_day, first, count in _stretches(period):
        day = (F("quarter") - first) / A_DAY if count > 1 else F("quarter") * 0
        after = first + count * A_DAY if count > 1 else quarter_of(midnight(first_day + DAY))
        found = rows(Tally, first, after).annotate(day=day)
        for (number, *where), figures in _sums(found, "day", "connection_name", "provider"):
            groups.days[first_day + number * DAY, Where(*where)].add(figures)
    for (model, author), figures in _sums(rows(Tally, begin, end), "model", "author_id", lean=lean):
        groups.models[model].add(figures)
        groups.members[author].add(figures)
    for (label,), figures in _sums(rows(LabelTally, begin, end), "label_id", lean=lean):
        groups.labels[label].add(figures)


DAY = timedelta(days=1)


def _stretches(period: Period) -> Iterator[tuple[date, int, int]]:
    """(first day, its first quarter, days): of 24 hours each, or one day of another length."""
    starts = [quarter_of(midnight(day)) for day in [*period.each_day(), period.end]]
    number = 0
    while number < period.days:
        count = 0
        while number + count < period.days:
            if starts[number + count + 1] - starts[number + count] != A_DAY:
                break
            count += 1
        yield period.first + number * DAY, starts[number], max(count, 1)
        number += max(count, 1)


def _sums(rows: Any, *names: str, lean: bool = False) -> Iterator[tuple[tuple[Any, ...], Figures]]:
    sums = {name: each for name, each in SUMS.items() if not (lean and name.startswith("all_"))}
    for row in rows.values(*names).annotate(**sums).values_list(*names, *sums):
        key, values = row[: len(names)], [*row[len(names) :], *(("", "") if lean else ())]
        runs, completed, failed, cancelled, interrupted, *rest, first, total = values
        figures = Figures(runs, first=unpack(first), total=unpack(total))
        figures.ends.update(
            completed=completed, failed=failed, cancelled=cancelled, interrupted=interrupted
        )
        live = runs - completed - failed - cancelled - interrupted
        if live:
            figures.ends["running"] = live
        figures.tokens_in, figures.tokens_out, figures.cost_units, figures.priced = map(int, rest)
        yield key, figures
