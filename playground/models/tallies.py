"""The roll-up: what runs come to, for each quarter of an hour in UTC.

Triggers of the database (migration 0012) note each quarter of a team in which a run or a label of a
run has changed, in the transaction of the change, whoever made it. `Stale.roll_up` counts such
quarters again; until then they are read from the runs. So what is read is always exact, and no
code that changes runs has to know of it.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import models, transaction

from playground.completion import RunStatus
from playground.figures import Figures, bin_of, pack
from playground.models.labels import RunLabel
from playground.models.runs import Run

QUARTER = 900  # seconds
STEP = 60  # quarters of a team that one transaction counts
MOST_MARKS = 5_000  # that one transaction takes away
COUNTED = (
    "status", "prompt_tokens", "completion_tokens", "cost", "first_token_ms", "total_ms",
)  # fmt: skip
SHARED = ("author_id", "visibility")


def quarter_of(moment: datetime) -> int:
    return math.floor(moment.timestamp() / QUARTER)


def begin_of(quarter: int) -> datetime:
    return datetime.fromtimestamp(quarter * QUARTER, UTC)


def spans(quarters: Iterable[int]) -> list[tuple[int, int]]:
    """(first, after the last) of neighbours that are there."""
    found: list[tuple[int, int]] = []
    for quarter in sorted(set(quarters)):
        if found and found[-1][1] == quarter:
            found[-1] = (found[-1][0], quarter + 1)
        else:
            found.append((quarter, quarter + 1))
    return found


def parts(ids: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for start in range(0, len(ids), size):
        yield ids[start : start + size]


class Count(models.Model):
    """Sums of some runs of a quarter; nothing of the trash is in them."""

    # No foreign keys: a roll-up may be behind what is deleted.
    team_id = models.BigIntegerField()
    quarter = models.IntegerField()  # of an hour, since 1970 in UTC
    author_id = models.BigIntegerField(null=True)
    visibility = models.CharField(max_length=10)

    runs = models.IntegerField()
    completed = models.IntegerField()
    failed = models.IntegerField()
    cancelled = models.IntegerField()
    interrupted = models.IntegerField()
    tokens_in = models.BigIntegerField()
    tokens_out = models.BigIntegerField()
    cost_units = models.BigIntegerField()  # figures.UNITS of a dollar
    priced = models.IntegerField()
    first_bins = models.TextField(blank=True)  # figures.pack
    total_bins = models.TextField(blank=True)

    class Meta:
        abstract = True

    def hold(self, figures: Figures) -> None:
        self.runs = figures.runs
        for status in (
            RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.INTERRUPTED,
        ):  # fmt: skip
            setattr(self, str(status), figures.ends[status])
        self.tokens_in, self.tokens_out = figures.tokens_in, figures.tokens_out
        self.cost_units, self.priced = figures.cost_units, figures.priced
        self.first_bins, self.total_bins = _bins(figures.first), _bins(figures.total)


def _bins(values: Any) -> str:
    found: Any = type(values)()
    for ms, count in values.items():
        found[bin_of(ms)] += count
    return pack(found)


class Tally(Count):
    """Each run once."""

    connection_name = models.CharField(max_length=60)
    provider = models.CharField(max_length=30)
    model = models.CharField(max_length=300, blank=True)

    class Meta:
        indexes = [models.Index(fields=["team_id", "quarter"], name="tallies_of_a_team")]

    def __str__(self) -> str:
        return f"{self.runs} runs of team {self.team_id} in quarter {self.quarter}"


class LabelTally(Count):
    """Each run once for each of its labels; once with 0 where it has none."""

    label_id = models.BigIntegerField()

    class Meta:
        indexes = [models.Index(fields=["team_id", "quarter"], name="label_tallies_of_a_team")]

    def __str__(self) -> str:
        return f"{self.runs} runs with label {self.label_id} in quarter {self.quarter}"


class StaleQuerySet(models.QuerySet["Stale"]):
    def roll_up(self) -> int:
        """Count some quarters again; how many. 0: nothing is left, or another process was first.

        A mark is taken away only together with what was counted after it was read, and only if it
        is still there: of two processes one wins, and a change meanwhile has a mark of its own.
        """
        oldest = self.order_by("pk").first()
        if oldest is None:
            return 0
        some = self.filter(team_id=oldest.team_id).order_by("quarter").values("quarter")
        near = some.filter(quarter__gte=oldest.quarter).distinct()[:STEP]
        quarters = [row["quarter"] for row in near]
        marks = self.filter(team_id=oldest.team_id, quarter__in=quarters)
        ids = list(marks.values_list("pk", flat=True)[:MOST_MARKS])
        tallies, labelled = counted(oldest.team_id, quarters)
        with transaction.atomic():
            taken = sum(self.filter(pk__in=part).delete()[0] for part in parts(ids, 500))
            if taken != len(ids):
                transaction.set_rollback(True)
                return 0
            for model, rows in ((Tally, tallies), (LabelTally, labelled)):
                old: Any = model._default_manager
                old.filter(team_id=oldest.team_id, quarter__in=quarters).delete()
                old.bulk_create(rows, batch_size=500)
        return len(quarters)

    def mark_all(self) -> None:
        """Every quarter in which there is or was something; the roll-up is empty after it."""
        with transaction.atomic():
            Tally.objects.all().delete()
            LabelTally.objects.all().delete()
            self.all().delete()
            runs = Run.objects.order_by("team_id", "created_at").values_list("team", "created_at")
            marks: list[Any] = list(_marks(runs.iterator(chunk_size=10_000)))
            self.bulk_create(marks, batch_size=5_000)

    def among(self, team_id: int, first: int, end: int, most: int) -> list[int] | None:
        """Quarters of a team that have to be read from the runs; None: more than `most`."""
        rows = self.filter(team_id=team_id, quarter__gte=first, quarter__lt=end)
        found = list(rows.order_by().values_list("quarter", flat=True).distinct()[: most + 1])
        return None if len(found) > most else found


def _marks(runs: Iterable[tuple[int, datetime]]) -> Iterator[Any]:
    last = None
    for team_id, moment in runs:
        if (team_id, quarter_of(moment)) != last:
            last = team_id, quarter_of(moment)
            yield Stale(team_id=team_id, quarter=last[1])


class Stale(models.Model):
    """A mark: this quarter has changed. Written by triggers, never waited for, often doubled."""

    team_id = models.BigIntegerField()
    quarter = models.IntegerField()

    objects = StaleQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["team_id", "quarter"], name="stale_of_a_team")]

    def __str__(self) -> str:
        return f"quarter {self.quarter} of team {self.team_id}"


def counted(team_id: int, quarters: Sequence[int]) -> tuple[list[Tally], list[LabelTally]]:
    """What the runs of these quarters come to now; unsaved."""
    runs = Run.objects.filter(team_id=team_id, deleted_at=None).order_by()
    names = ("created_at", *SHARED, "connection_name", "provider", "model")
    whole: dict[tuple[Any, ...], Figures] = {}
    by_label: dict[tuple[Any, ...], Figures] = {}
    rows = [
        row
        for first, end in spans(quarters)
        for row in runs.filter(
            created_at__gte=begin_of(first), created_at__lt=begin_of(end)
        ).values_list("pk", *names, *COUNTED)
    ]
    labels: dict[int, list[int]] = {}
    for part in parts([row[0] for row in rows], 500):
        put = RunLabel.objects.filter(run__in=part).values_list("run_id", "label_id")
        for run, label in put:
            labels.setdefault(run, []).append(label)
    for pk, moment, author, visibility, *rest in rows:
        quarter, figures = quarter_of(moment), rest[3:]
        key = (quarter, author, visibility, *rest[:3])
        whole.setdefault(key, Figures()).count(*figures)
        for label in labels.get(pk, [0]):
            key = (quarter, author, visibility, label)
            by_label.setdefault(key, Figures()).count(*figures)
    tallies = [_row(Tally, names[1:], team_id, *each) for each in whole.items()]
    labelled = [_row(LabelTally, (*SHARED, "label_id"), team_id, *e) for e in by_label.items()]
    return tallies, labelled


def _row(
    model: type[Any], names: Sequence[str], team_id: int, key: tuple[Any, ...], figures: Figures
) -> Any:
    row = model(team_id=team_id, quarter=key[0], **dict(zip(names, key[1:], strict=True)))
    row.hold(figures)
    return row
