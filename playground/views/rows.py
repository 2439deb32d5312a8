"""Rows of the history: a comparison each, or a run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Count, Max
from django.urls import reverse
from django.utils import timezone

from playground.completion import RunStatus
from playground.excerpts import Parts
from playground.models import Comparison, Label, Run
from playground.views.apart import in_rows

EACH = 3  # runs of a comparison that its row names
ROOM = 80  # characters of a prompt and of an output
# What a comparison of several runs is: the first of these that one of its runs is.
URGENCY = (
    RunStatus.RUNNING,
    RunStatus.QUEUED,
    RunStatus.FAILED,
    RunStatus.INTERRUPTED,
    RunStatus.CANCELLED,
    RunStatus.COMPLETED,
)


@dataclass
class Row:
    comparison: Comparison
    runs: Sequence[Run] = ()
    single: bool = False
    beside: bool = False  # a run whose comparison has others
    count: int = 0
    status: str = RunStatus.QUEUED
    total_ms: float | None = None
    changes: Sequence[Sequence[str]] = ()
    labels: list[Label] = field(default_factory=list)
    # Of a search for words (`views/hits.py`): both lines with what was found marked.
    name: Parts = ()
    line: Parts = ()
    within: str = ""  # what `line` is of, where it is not the output

    @property
    def created_at(self) -> datetime:
        return self.comparison.created_at

    @property
    def day(self) -> Any:
        return timezone.localdate(self.comparison.created_at)

    @property
    def key(self) -> str:
        return f"run-{self.runs[0].pk}" if self.single else f"comparison-{self.comparison.pk}"

    @property
    def title(self) -> str:
        if self.single:
            return self.runs[0].title
        return self.comparison.called(self.count > 1)

    @property
    def trashed(self) -> bool:
        return self.comparison.deleted_at is not None

    @property
    def url(self) -> str:
        if self.trashed:
            return f"{reverse('trash')}#comparison-{self.comparison.pk}"
        return (self.runs[0] if self.single else self.comparison).get_absolute_url()

    @property
    def preview(self) -> str:
        return self.prompt[:ROOM]

    @property
    def prompt(self) -> str:
        """Its beginning, longer than what is shown."""
        return next((run.prompt_preview for run in self.runs if run.prompt_preview), "")

    @property
    def output(self) -> str:
        return self.runs[0].output_preview[:ROOM] if self.runs else ""

    @property
    def lettered(self) -> bool:
        return self.beside or self.count > 1

    @property
    def more(self) -> int:
        return self.count - len(self.runs)

    @property
    def starred(self) -> bool:
        return any(run.starred for run in self.runs)

    @property
    def rating(self) -> float | None:
        """The best of its runs."""
        return max((run.rating for run in self.runs if run.rating is not None), default=None)


def light(runs: Any) -> Any:
    """Runs for a list: with their labels, without any big column."""
    return runs.defer(*Run.BIG, "error_message").prefetch_related("labels")


def comparison_rows(ids: Sequence[int]) -> list[Row]:
    found = Comparison.objects.select_related("author").defer("document", "axes").in_bulk(ids)
    rows = {pk: Row(found[pk]) for pk in ids if pk in found}
    for each in rows.values():
        each.changes = each.comparison.change_list
    runs = light(Run.objects.filter(comparison__in=rows, position__lt=EACH))
    by_comparison: dict[int, list[Run]] = {}
    for run in runs.order_by("position", "pk"):
        by_comparison.setdefault(run.comparison_id, []).append(run)
    grouped = Run.objects.filter(comparison__in=rows).order_by()
    for pk, status, count, longest in grouped.values_list("comparison", "status").annotate(
        Count("pk"), Max("total_ms")
    ):
        row = rows[pk]
        row.status = status if not row.count else min(row.status, status, key=URGENCY.index)
        row.count += count
        row.total_ms = max(filter(None, (row.total_ms, longest)), default=None)
    in_rows([run for found in by_comparison.values() for run in found])
    for pk, row in rows.items():
        row.runs = by_comparison.get(pk, [])
        row.labels = distinct_labels(row.runs)
    return [row for row in rows.values() if row.runs]


def run_rows(ids: Sequence[int]) -> list[Row]:
    comparisons = Comparison.objects.select_related("author").defer("document", "axes")
    runs = light(Run.objects.filter(pk__in=ids))
    found = {run.pk: run for run in runs}
    parents = comparisons.in_bulk({run.comparison_id for run in found.values()})
    counts = Run.objects.filter(comparison__in=parents).order_by().values_list("comparison")
    several = set(
        counts.annotate(Count("pk")).filter(pk__count__gt=1).values_list("comparison", flat=True)
    )
    shown = [found[pk] for pk in ids if pk in found]
    return [run_row(run, parents[run.comparison_id], run.comparison_id in several) for run in shown]


def run_row(run: Run, comparison: Comparison, beside: bool) -> Row:
    return Row(
        comparison,
        [run],
        single=True,
        beside=beside,
        count=1,
        status=run.status,
        total_ms=run.total_ms,
        changes=comparison.change_list if run.position == 0 else (),
        labels=distinct_labels([run]),
    )


def distinct_labels(runs: Iterable[Run]) -> list[Label]:
    return list({label.pk: label for run in runs for label in run.labels.all()}.values())
