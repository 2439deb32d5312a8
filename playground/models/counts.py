"""What some runs come to, as rows: each quarter of an hour in UTC, by everything that is asked for.

A tally is of one author, visibility and connection and model, or label. `Figures` are put together
from such rows by `sums`.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import connection, models
from django.db.models import Aggregate, Sum, TextField

from playground.completion import RunStatus
from playground.figures import ENDS, UNITS, Came, Figures, Latencies, bin_of, pack

QUARTER = 900  # seconds
COUNTED = (
    "status", "prompt_tokens", "completion_tokens", "cost", "first_token_ms", "total_ms",
)  # fmt: skip
WHOLE = (
    "runs", "completed", "failed", "cancelled", "interrupted", "tokens_in", "tokens_out",
    "cost_units", "priced",
)  # fmt: skip
BINS = ("first_bins", "total_bins")


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


class Sums(models.Model):
    """Sums of some runs; nothing of the trash is in them."""

    # No foreign keys: a roll-up may be behind what is deleted.
    team_id = models.BigIntegerField()
    quarter = models.IntegerField()  # of an hour, since 1970 in UTC

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


class Tally(Sums):
    """Each run once."""

    author_id = models.BigIntegerField(null=True)
    visibility = models.CharField(max_length=10)
    connection_name = models.CharField(max_length=60)
    provider = models.CharField(max_length=30)
    model = models.CharField(max_length=300, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["team_id", "quarter"], name="tallies_of_a_team"),
            models.Index(
                fields=["team_id", "author_id", "quarter", "visibility"],
                name="tallies_of_an_author",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.runs} runs of team {self.team_id} in quarter {self.quarter}"


class LabelTally(Sums):
    """Each run once for each of its labels; once with 0 where it has none."""

    author_id = models.BigIntegerField(null=True)
    visibility = models.CharField(max_length=10)
    label_id = models.BigIntegerField()

    class Meta:
        indexes = [
            models.Index(fields=["team_id", "quarter"], name="label_tallies_of_a_team"),
            models.Index(
                fields=["team_id", "author_id", "quarter", "visibility"],
                name="label_tallies_of_an_author",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.runs} runs with label {self.label_id} in quarter {self.quarter}"


class Bucket:
    """Some runs while they are counted; not `Figures`, as there are many with one run each."""

    __slots__ = ("first", "numbers", "total")

    def __init__(self) -> None:
        self.numbers = [0] * len(WHOLE)
        self.first: list[int] = []
        self.total: list[int] = []

    def count(self, run: Came) -> None:
        numbers = self.numbers
        numbers[0] += 1
        if run.status in ENDS:
            numbers[1 + ENDS.index(RunStatus(run.status))] += 1
        numbers[5] += run.tokens_in or 0
        numbers[6] += run.tokens_out or 0
        if run.cost is not None:
            numbers[7] += int(run.cost * UNITS)
            numbers[8] += 1
        if run.first_ms is not None:
            self.first.append(bin_of(run.first_ms))
        if (whole := run.whole_ms) is not None:
            self.total.append(bin_of(whole))

    def values(self) -> tuple[Any, ...]:
        """Of WHOLE and BINS."""
        first = pack(Counter(self.first)) if self.first else ""
        return *self.numbers, first, pack(Counter(self.total)) if self.total else ""


def insert(model: type[Sums], names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    """Rows of `names`, WHOLE and BINS. Without objects: there are too many for `bulk_create`."""
    columns = [*names, *WHOLE, *BINS]
    marks = ", ".join(["%s"] * len(columns))
    with connection.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO {model._meta.db_table} ({', '.join(columns)}) VALUES ({marks})",  # noqa: S608 (names of ours)
            rows,
        )


class Joined(Aggregate):
    """Texts with a blank between."""

    function = "STRING_AGG"
    template = "%(function)s(%(expressions)s, ' ')"
    output_field = TextField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return super().as_sql(compiler, connection, function="GROUP_CONCAT", **context)


ASKED = {
    **{f"sum_{name}": Sum(name) for name in WHOLE},
    **{f"all_{name}": Joined(name) for name in BINS},
}


def sums(rows: Any, *names: str, lean: bool = False) -> Iterator[tuple[tuple[Any, ...], list[Any]]]:
    """(values of `names`, sums of WHOLE and texts of BINS) of rows; lean: BINS are empty."""
    asked = {name: each for name, each in ASKED.items() if not (lean and name.startswith("all_"))}
    for row in rows.values(*names).annotate(**asked).values_list(*names, *asked):
        values = list(row[len(names) :])
        values[: len(WHOLE)] = map(int, values[: len(WHOLE)])
        yield row[: len(names)], values + ["", ""] * lean


def figures_of(values: Sequence[Any]) -> Figures:
    """From WHOLE and BINS, in this order."""
    runs, completed, failed, cancelled, interrupted, *rest, first, total = values
    figures = Figures(runs, first=Latencies(first), total=Latencies(total))
    figures.ends.update(
        completed=completed, failed=failed, cancelled=cancelled, interrupted=interrupted
    )
    if live := runs - completed - failed - cancelled - interrupted:
        figures.ends["running"] = live
    figures.tokens_in, figures.tokens_out, figures.cost_units, figures.priced = rest
    return figures
