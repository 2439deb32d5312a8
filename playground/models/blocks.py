"""Sums over the roll-up, so that a year is not put together from quarters of an hour.

A block is an hour, six hours, a day or eight days of a team in UTC. What it comes to, of the runs
that the team sees, is kept by connection, and from a day on by model, author and label too. A
reader's days are hours and larger blocks, wherever the reader lives. Counting a quarter again makes
its blocks unready in the same transaction; until they are summed up, smaller ones stand for them.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from django.db import models
from django.db.models import Count, F, Q, Sum
from django.utils import timezone

from playground.figures import repack
from playground.models.counts import (
    WHOLE,
    LabelTally,
    Sums,
    Tally,
    insert,
    quarter_of,
    spans,
    sums,
)
from playground.models.turns import writing

HOUR, SIX_HOURS, DAY, EIGHT_DAYS = 4, 24, 96, 768  # quarters
SIZES = (EIGHT_DAYS, DAY, SIX_HOURS, HOUR)
REST = timedelta(minutes=5)  # without a change, before a block is summed up
AT_ONCE = EIGHT_DAYS  # quarters whose blocks one transaction writes
TEAM = "team"  # the visibility of what blocks count


class By(models.TextChoices):
    CONNECTION = "connection"
    MODEL = "model"
    AUTHOR = "author"
    LABEL = "label"


# Of each: the rows that it is summed up from, and their fields, as `name`, `provider` or `key`.
FIELDS: dict[str, tuple[type[Sums], dict[str, str]]] = {
    By.CONNECTION: (Tally, {"connection_name": "name", "provider": "provider"}),
    By.MODEL: (Tally, {"model": "name"}),
    By.AUTHOR: (Tally, {"author_id": "key"}),
    By.LABEL: (LabelTally, {"label_id": "key"}),
}


def sizes_of(by: str) -> tuple[int, ...]:
    """The largest first. Only connections are asked for by the day of a reader."""
    return SIZES if by == By.CONNECTION else (EIGHT_DAYS, DAY)


class BlockQuerySet(models.QuerySet["Block"]):
    def forget(self, team_id: int, quarters: Sequence[int]) -> None:
        """What holds these quarters is unready; inside the transaction that counts them again."""
        now = timezone.now()
        for size in SIZES:
            starts = sorted({quarter - quarter % size for quarter in quarters})
            rows: list[Any] = [self.model(team_id=team_id, size=size, quarter=q) for q in starts]
            self.bulk_create(rows, ignore_conflicts=True)
            same = self.filter(team_id=team_id, size=size, quarter__in=starts)
            same.update(ready=False, version=F("version") + 1, changed_at=now)

    def build(self, rest: timedelta = REST) -> int:
        """Sum up some blocks that are over and were left alone; how many. 0: none is left."""
        now = timezone.now()
        due: Any = self.filter(ready=False, changed_at__lte=now - rest)
        due = due.annotate(over=F("quarter") + F("size")).filter(over__lte=quarter_of(now))
        first = due.order_by("pk").first()
        if first is None:
            return 0
        begin, end = first.quarter, first.quarter + max(AT_ONCE, first.size)
        near = due.filter(team_id=first.team_id, size=first.size)
        blocks = list(near.filter(quarter__gte=begin, quarter__lt=end).order_by("pk"))
        quarters = [block.quarter for block in blocks]
        summed = list(_summed(first.team_id, first.size, quarters))
        old = BlockTally.objects.filter(
            team_id=first.team_id, size=first.size, quarter__in=quarters
        )
        list(old.values_list())  # from a cold disk that takes long: before others wait for it
        with writing(behind=True):
            same = self.filter(pk__in=[block.pk for block in blocks]).select_for_update()
            versions = dict(same.values_list("pk", "version"))
            if versions != {block.pk: block.version for block in blocks}:
                return len(blocks)  # counted again meanwhile
            same.update(ready=True)
            old.delete()
            insert(BlockTally, NAMES, summed)
        return len(blocks)

    def state(self, team_id: int, begin: int, end: int) -> "State":
        rows = self.filter(team_id=team_id, size__in=SIZES)
        rows = rows.filter(quarter__gt=begin - EIGHT_DAYS, quarter__lt=end)
        unready = rows.filter(ready=False).values_list("size", "quarter")
        ready = rows.filter(ready=True)
        return State(
            frozenset(unready), **ready.aggregate(versions=Sum("version"), blocks=Count("pk"))
        )


class State(NamedTuple):
    """Of the blocks of some time. The same before and after: nothing changed while they were read.

    A block that is not there has never had a run.
    """

    unready: frozenset[tuple[int, int]]  # (size, first quarter)
    versions: int | None  # of the others, in sum
    blocks: int


class Block(models.Model):
    """Whether the tallies of a block are there."""

    team_id = models.BigIntegerField()
    size = models.IntegerField()  # one of SIZES
    quarter = models.IntegerField()  # its first one; a multiple of the size
    ready = models.BooleanField(default=False)
    version = models.IntegerField(default=0)
    changed_at = models.DateTimeField(default=timezone.now)

    objects = BlockQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team_id", "size", "quarter"], name="one_block")
        ]
        indexes = [
            models.Index(fields=["id"], name="unready_blocks", condition=Q(ready=False)),
        ]

    def __str__(self) -> str:
        return f"{self.size} quarters of team {self.team_id} from {self.quarter}"


class BlockTally(Sums):
    """What the team sees of a block: of a connection, model, author or label."""

    size = models.IntegerField()
    by = models.CharField(max_length=10, choices=By)
    name = models.CharField(max_length=300, blank=True)
    provider = models.CharField(max_length=30, blank=True)
    key = models.BigIntegerField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["team_id", "by", "size", "quarter"], name="tallies_of_a_block")
        ]

    def __str__(self) -> str:
        return f"{self.by} {self.name or self.key}: {self.runs} runs from {self.quarter}"


NAMES = ("team_id", "size", "quarter", "by", "name", "provider", "key")


def _summed(team_id: int, size: int, starts: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    """What these blocks come to now: values of NAMES, WHOLE and BINS."""
    for by, (model, names) in FIELDS.items():
        if size not in sizes_of(by):
            continue
        for first, end in _stretches(starts, size):
            rows: Any = model._default_manager.all()
            rows = rows.filter(team_id=team_id, visibility=TEAM)
            rows = rows.filter(quarter__gte=first, quarter__lt=end).order_by()
            rows = rows.annotate(number=(F("quarter") - first) / size)
            for (number, *key), values in sums(rows, "number", *names):
                named: dict[str, Any] = {"name": "", "provider": "", "key": None}
                named |= zip(names.values(), key, strict=True)
                whole, bins = values[: len(WHOLE)], map(repack, values[len(WHOLE) :])
                yield team_id, size, first + number * size, by, *named.values(), *whole, *bins


def _stretches(starts: Sequence[int], size: int) -> list[tuple[int, int]]:
    """(first quarter, after the last) of neighbours."""
    numbers = spans(start // size for start in starts)
    return [(first * size, end * size) for first, end in numbers]


class Cover:
    """Which blocks, and which quarters beside them, make up some stretches of time."""

    def __init__(self, sizes: Sequence[int], state: State, stale: Sequence[int]) -> None:
        self.sizes = sizes
        self.blocks: dict[int, dict[int, Any]] = {size: {} for size in sizes}  # {first: name}
        self.pieces: list[tuple[int, int, Any]] = []  # (first quarter, after the last, name)
        self._bad = {size: {q for s, q in state.unready if s == size} for size in sizes}
        for size, bad in self._bad.items():
            bad.update(quarter - quarter % size for quarter in stale)

    def add(self, first: int, end: int, name: Any) -> None:
        """All of first <= quarter < end."""
        self._cover(first, end, name, 0)

    def _cover(self, first: int, end: int, name: Any, level: int) -> None:
        if first >= end:
            return
        if level == len(self.sizes):
            self._piece(first, end, name)
            return
        size = self.sizes[level]
        begin, after = -(-first // size) * size, end // size * size
        if begin >= after:
            self._cover(first, end, name, level + 1)
            return
        self._cover(first, begin, name, level + 1)
        for start in range(begin, after, size):
            if start in self._bad[size]:
                self._cover(start, start + size, name, level + 1)
            else:
                self.blocks[size][start] = name
        self._cover(after, end, name, level + 1)

    def _piece(self, first: int, end: int, name: Any) -> None:
        """Joined to the one before where they are neighbours."""
        if self.pieces and self.pieces[-1][1:] == (first, name):
            first = self.pieces.pop()[0]
        self.pieces.append((first, end, name))
