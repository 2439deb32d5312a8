"""Statistics of a search over some days: from the roll-up where nothing is filtered, else from the
runs that the list of the search shows. Both count the same runs, those that the reader may see.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any, NamedTuple

from django.db.models import F, Q
from django.utils import timezone

from playground.figures import Came, Figures, near, together
from playground.models.blocks import Block, BlockTally, By, Cover, State, sizes_of
from playground.models.counts import (
    BINS,
    COUNTED,
    QUARTER,
    WHOLE,
    LabelTally,
    Tally,
    begin_of,
    figures_of,
    quarter_of,
    spans,
    sums,
)
from playground.models.finder import Finder
from playground.models.labels import RunLabel
from playground.models.runs import Run
from playground.models.tallies import Stale
from playground.models.visible import Visibility
from playground.periods import Period

FEW = 10_000  # runs that are read one by one in any case
EXACT = 10_000  # of them; the latencies of what comes after are put into bins, to save memory
MOST_STALE = 200  # quarters beside the roll-up that are read from the runs
A_DAY = 96  # quarters, but where clocks change
ONE = timedelta(days=1)
TRIES = 3  # to read blocks while nothing changes
SPARSE = 400  # blocks of a size that are named one by one


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

    def by(self, by: By) -> Any:
        return {By.MODEL: self.models, By.AUTHOR: self.members, By.LABEL: self.labels}[by]

    def join(self, other: "Groups") -> None:
        for name in ("days", "models", "members", "labels"):
            mine = getattr(self, name)
            for key, figures in getattr(other, name).items():
                mine[key].add(figures)

    @property
    def whole(self) -> Figures:
        return together(self.days.values())

    def connections(self) -> dict[Where, Figures]:
        found: dict[Where, Figures] = defaultdict(Figures)
        for (_, where), figures in self.days.items():
            found[where].add(figures)
        return found


def groups_of(finder: Finder, period: Period, lean: bool = False, daily: bool = False) -> Groups:
    """Of the runs of a search in these days of the current time zone.

    `lean`: models, members and labels may be without latencies. `daily`: each day is asked for,
    not only each step of a plot.
    """
    begin, end = midnight(period.first), midnight(period.end)
    groups = Groups()
    stale = _stale(finder, begin, end)
    if stale is not None:
        groups.rolled_up = True
        _Reading(finder, period, stale, lean, daily).into(groups)
        for first, after in spans(stale):
            _read_runs(groups, finder, begin_of(first), begin_of(after))
        if groups.whole.runs > FEW:
            return groups
        groups = Groups()  # there are more, but few that this reader may see
    groups.walked = _read_runs(groups, finder, begin, end)
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
    # Whoever may see them: that is in the index, and counted in no time.
    rows = Run.objects.filter(team_id=finder.team_id, created_at__gte=begin, created_at__lt=end)
    rows = rows.filter(author_id=finder.user.pk) if finder.mine else rows
    if rows.order_by().values("pk")[: FEW + 1].count() <= FEW:
        return None
    return Stale.objects.among(finder.team_id, quarter_of(begin), quarter_of(end), MOST_STALE)


def _read_runs(groups: Groups, finder: Finder, begin: datetime, end: datetime) -> int:
    names = ("created_at", "author", "connection_name", "provider", "model")
    zone = timezone.get_current_timezone()
    found = finder.everything(begin, end, *names, *COUNTED)
    seen = 0
    for rows in found:
        seen += len(rows)
        labels = RunLabel.objects.by_run([row[0] for row in rows])
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
            run = Came(*values)
            for figures in every:
                figures.count(run)
    return finder.looked_through


class _Reading:
    """What the roll-up knows of a search without filters, in some days, but for stale quarters."""

    def __init__(
        self, finder: Finder, period: Period, stale: list[int], lean: bool, daily: bool
    ) -> None:
        self.finder, self.period, self.stale, self.lean = finder, period, stale, lean
        self.begin, self.end = (quarter_of(midnight(day)) for day in (period.first, period.end))
        self.steps = list(period.each_day()) if daily else period.steps()
        self.groups = Groups()

    def into(self, groups: Groups) -> None:
        """Add it all. Blocks are read by several queries: again, where one of them has changed."""
        whole = self.finder.team_id, self.begin, self.end
        state = Block.objects.state(*whole)
        for _ in range(TRIES):
            self.groups = Groups()
            self._read(state)
            before, state = state, Block.objects.state(*whole)
            if before == state:
                break
        groups.join(self.groups)

    def _read(self, state: State) -> None:
        own = Q(author_id=self.finder.user.pk)
        if self.finder.mine:
            self._own(own)
        else:
            self._own(own & Q(visibility=Visibility.PRIVATE))
            self._team(state)

    def _rows(self, model: Any, first: int, end: int, whose: Q) -> Any:
        rows = model.objects.filter(whose, team_id=self.finder.team_id)
        rows = rows.filter(quarter__gte=first, quarter__lt=end).order_by()
        return rows.exclude(quarter__in=self.stale) if self.stale else rows

    def _own(self, whose: Q) -> None:
        """Straight from the quarters: of one author there are few."""
        for first_day, first, count in _stretches(self.period):
            day = (F("quarter") - first) / A_DAY if count > 1 else F("quarter") * 0
            end = first + count * A_DAY if count > 1 else quarter_of(midnight(first_day + ONE))
            rows = self._rows(Tally, first, end, whose).annotate(day=day)
            for (number, *where), values in sums(rows, "day", "connection_name", "provider"):
                day = first_day + number * ONE
                self.groups.days[day, Where(*where)].add(figures_of(values))
        whole = self.begin, self.end, whose
        self._others(Tally, whole, {By.MODEL: "model", By.AUTHOR: "author_id"})
        self._others(LabelTally, whole, {By.LABEL: "label_id"})

    def _others(self, model: Any, of: tuple[int, int, Q], names: dict[By, str]) -> None:
        for key, values in sums(self._rows(model, *of), *names.values(), lean=self.lean):
            figures = figures_of(values)
            for by, one in zip(names, key, strict=True):
                self.groups.by(by)[one].add(figures)

    def _team(self, state: State) -> None:
        team = Q(visibility=Visibility.TEAM)
        cover = Cover(sizes_of(By.CONNECTION), state, self.stale)
        starts = [quarter_of(midnight(day)) for day in self.steps]
        for step, first, end in zip(self.steps, starts, [*starts[1:], self.end], strict=True):
            cover.add(first, end, step)
        names = "name", "provider"
        for step, where, values in self._blocks(cover, By.CONNECTION, names):
            self.groups.days[step, Where(*where)].add(figures_of(values))
        for first, end, step in cover.pieces:
            rows = self._rows(Tally, first, end, team)
            for where, values in sums(rows, "connection_name", "provider"):
                self.groups.days[step, Where(*where)].add(figures_of(values))
        cover = Cover(sizes_of(By.MODEL), state, self.stale)
        cover.add(self.begin, self.end, None)
        for by, name in ((By.MODEL, "name"), (By.AUTHOR, "key"), (By.LABEL, "key")):
            for _, [one], values in self._blocks(cover, by, (name,), self.lean):
                self.groups.by(by)[one].add(figures_of(values))
        for first, end, _ in cover.pieces:
            self._others(Tally, (first, end, team), {By.MODEL: "model", By.AUTHOR: "author_id"})
            self._others(LabelTally, (first, end, team), {By.LABEL: "label_id"})

    def _blocks(
        self, cover: Cover, by: By, names: Sequence[str], lean: bool = False
    ) -> Iterator[tuple[Any, Any, list[Any]]]:
        """(name of the stretch, values of `names`, WHOLE and BINS)"""
        for size, wanted in cover.blocks.items():
            if not wanted:
                continue
            rows = BlockTally.objects.filter(team_id=self.finder.team_id, by=by, size=size)
            rows = rows.filter(quarter__gte=min(wanted), quarter__lte=max(wanted))
            if len(wanted) < SPARSE:
                rows = rows.filter(quarter__in=list(wanted))
            read = ("quarter", *names, *WHOLE, *(() if lean else BINS))
            for row in rows.order_by().values_list(*read):
                if row[0] in wanted:
                    values = [*row[1 + len(names) :], *(("", "") if lean else ())]
                    yield wanted[row[0]], row[1 : 1 + len(names)], values


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
        yield period.first + number * ONE, starts[number], max(count, 1)
        number += max(count, 1)
