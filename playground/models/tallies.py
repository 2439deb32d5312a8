"""The roll-up: what runs come to, and how it is kept up.

Triggers of the database (migration 0012) note each quarter of a team in which a run or a label of a
run has changed, in the transaction of the change, whoever made it. `Stale.roll_up` counts such
quarters again; until then they are read from the runs. So what is read is always exact, and no
code that changes runs has to know of it.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from django.db import models, transaction
from django.db.models import Max, Min

from playground.figures import Came
from playground.models.blocks import Block
from playground.models.counts import (
    COUNTED,
    Bucket,
    LabelTally,
    Sums,
    Tally,
    begin_of,
    insert,
    parts,
    quarter_of,
    spans,
)
from playground.models.labels import RunLabel
from playground.models.runs import Run
from playground.models.turns import Pace, writing

STEP = 60  # quarters of a team that one transaction counts at most
MOST_MARKS = 2_000  # that one transaction takes away

_pace = Pace(STEP)


class StaleQuerySet(models.QuerySet["Stale"]):
    def roll_up(self, step: int = 0) -> int:
        """Count some quarters again; how many. 0: nothing is left, or another process was first.

        `step`: how many at most; 0: as many as one short transaction can.

        A mark is taken away only together with what was counted after it was read, and only if it
        is still there: of two processes one wins, and a change meanwhile has a mark of its own.
        """
        oldest = self.order_by("pk").first()
        if oldest is None:
            return 0
        some = self.filter(team_id=oldest.team_id).order_by("quarter").values("quarter")
        near = some.filter(quarter__gte=oldest.quarter).distinct()[: step or _pace.size]
        quarters = [row["quarter"] for row in near]
        marks = self.filter(team_id=oldest.team_id, quarter__in=quarters)
        ids = list(marks.values_list("pk", flat=True)[:MOST_MARKS])
        found = counted(oldest.team_id, quarters)
        for model in found:  # read before others wait for it
            rows: Any = model._default_manager
            list(rows.filter(team_id=oldest.team_id, quarter__in=quarters).values_list())
        with writing(None if step else _pace, behind=True):
            taken = sum(self.filter(pk__in=part).delete()[0] for part in parts(ids, 500))
            if taken != len(ids):
                transaction.set_rollback(True)
                return 0
            for model, (names, values) in found.items():
                old: Any = model._default_manager
                old.filter(team_id=oldest.team_id, quarter__in=quarters).delete()
                insert(model, names, values)
            Block.objects.forget(oldest.team_id, quarters)
        return len(quarters)

    def mark_all(self) -> None:
        """Every quarter in which there is or was something."""
        for team_id in {row["team"] for row in Run.objects.order_by().values("team").distinct()}:
            for begin, end in _windows(team_id):
                used = _used(team_id, begin, end)
                marks: list[Any] = [self.model(team_id=team_id, quarter=q) for q in used]
                self.bulk_create(marks, batch_size=1_000)

    def among(self, team_id: int, first: int, end: int, most: int) -> list[int] | None:
        """Quarters of a team that have to be read from the runs; None: more than `most`."""
        rows = self.filter(team_id=team_id, quarter__gte=first, quarter__lt=end)
        found = list(rows.order_by().values_list("quarter", flat=True).distinct()[: most + 1])
        return None if len(found) > most else found


class Stale(models.Model):
    """A mark: this quarter has changed. Written by triggers, never waited for, often doubled."""

    team_id = models.BigIntegerField()
    quarter = models.IntegerField()

    objects = StaleQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["team_id", "quarter"], name="stale_of_a_team")]

    def __str__(self) -> str:
        return f"quarter {self.quarter} of team {self.team_id}"


WINDOW = 20 * 96  # quarters that `mark_all` looks at together


def _windows(team_id: int) -> Iterator[tuple[int, int]]:
    rows: list[Any] = [Tally, LabelTally, Block]
    ends = [
        quarter
        for each in rows
        for quarter in each.objects.filter(team_id=team_id)
        .aggregate(first=Min("quarter"), last=Max("quarter"))
        .values()
    ]
    runs = Run.objects.filter(team_id=team_id)
    moments = runs.aggregate(first=Min("created_at"), last=Max("created_at")).values()
    known = [quarter for quarter in ends if quarter is not None]
    known += [quarter_of(moment) for moment in moments if moment]
    if known:
        for begin in range(min(known), max(known) + 1, WINDOW):
            yield begin, begin + WINDOW


def _used(team_id: int, begin: int, end: int) -> list[int]:
    """Quarters with a run or with what once was counted."""
    runs = Run.objects.filter(team_id=team_id, created_at__gte=begin_of(begin))
    moments = runs.filter(created_at__lt=begin_of(end)).values_list("created_at", flat=True)
    found = set(map(quarter_of, moments))
    rows: list[Any] = [Tally, LabelTally]
    for each in rows:
        some = each.objects.filter(team_id=team_id, quarter__gte=begin, quarter__lt=end)
        found.update(some.order_by().values_list("quarter", flat=True).distinct())
    return sorted(found)


Rows = tuple[Sequence[str], list[tuple[Any, ...]]]  # fields, and values for `insert`
KEY = ("team_id", "quarter", "author_id", "visibility")


def counted(team_id: int, quarters: Sequence[int]) -> dict[type[Sums], Rows]:
    """What the runs of these quarters come to now."""
    runs = Run.objects.filter(team_id=team_id, deleted_at=None).order_by()
    names = ("connection_name", "provider", "model")
    read = ("pk", "created_at", "author_id", "visibility", *names, *COUNTED)
    whole: dict[tuple[Any, ...], Bucket] = defaultdict(Bucket)
    by_label: dict[tuple[Any, ...], Bucket] = defaultdict(Bucket)
    rows = [
        row
        for first, end in spans(quarters)
        for row in runs.filter(
            created_at__gte=begin_of(first), created_at__lt=begin_of(end)
        ).values_list(*read)
    ]
    labels = RunLabel.objects.by_run([row[0] for row in rows])
    for pk, moment, author, visibility, name, provider, model, *values in rows:
        key, run = (team_id, quarter_of(moment), author, visibility), Came(*values)
        whole[*key, name, provider, model].count(run)
        for label in labels.get(pk, (0,)):
            by_label[*key, label].count(run)
    return {
        Tally: ((*KEY, *names), _values(whole)),
        LabelTally: ((*KEY, "label_id"), _values(by_label)),
    }


def _values(found: dict[tuple[Any, ...], Bucket]) -> list[tuple[Any, ...]]:
    return [(*key, *bucket.values()) for key, bucket in found.items()]
