"""History, one run, its labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Prefetch, Q
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_GET

from playground.completion import RunStatus
from playground.models import Choice, Comment, Comparison, Label, Run
from playground.views import Request, record
from playground.views.tools import snippets_of

PAGE = 50  # comparisons on a page
MOST_IDS = 100  # runs in one batch of partials
# What a comparison of several runs is: the first of these that one of its runs is.
URGENCY = (
    RunStatus.RUNNING,
    RunStatus.QUEUED,
    RunStatus.FAILED,
    RunStatus.INTERRUPTED,
    RunStatus.CANCELLED,
    RunStatus.COMPLETED,
)


def shown(runs: Any) -> list[Run]:
    """These runs with what a column shows, without logprobs and timelines."""
    choices = Choice.objects.defer("packed_logprobs", "packed_timeline")
    prefetched = runs.select_related("author", "connection", "comparison").prefetch_related(
        Prefetch("choices", queryset=choices),
        Prefetch("comments", queryset=Comment.objects.only("run_id")),
        "labels",
        "ratings",
    )
    return list(prefetched.order_by("position", "pk"))


# --- One run -------------------------------------------------------------------------------


@require_GET
def run(request: Request, pk: int) -> HttpResponse:
    """For htmx only the column; `?all=1` shows very long outputs whole."""
    found = shown(Run.objects.visible_to(request.user).filter(pk=pk))
    if not found:
        raise Http404
    context = {"run": found[0], "everything": "all" in request.GET}
    if request.htmx and not request.htmx.history_restore_request:
        return render(request, "runs/_run.html", context)
    asked = found[0].request_value()
    metadata = found[0].metadata_value
    context |= {
        "comments": Comment.objects.filter(run=found[0]).select_related("author"),
        "sent": record.sent(found[0], asked),
        "sections": record.sections(metadata),
        "raw": metadata.get("raw", ""),
        "raw_cut": metadata.get("raw_cut", False),
        "probabilities": record.probabilities(found[0], request.GET.get("tokens") == "all"),
        "snippets": snippets_of(found[0].connection, asked) if found[0].connection else [],
    }
    return render(request, "run.html", context)


@require_GET
def runs(request: Request) -> HttpResponse:
    """Several columns at once, each swapped into its own place.

    `?ids=1,2` whole columns; `?ends=3,4` head, endings and figures around a text that is right.
    """
    whole, ends = _ids(request, "ids"), _ids(request, "ends")
    visible = Run.objects.visible_to(request.user)
    context = {
        "runs": shown(visible.filter(pk__in=whole)) if whole else [],
        "ended": shown(visible.filter(pk__in=ends)) if ends else [],
    }
    return render(request, "runs/_runs.html", context)


def _ids(request: Request, name: str) -> list[int]:
    ids = [each for each in request.GET.get(name, "").split(",") if each]
    if not all(each.isascii() and each.isdigit() for each in ids) or len(ids) > MOST_IDS:
        raise Http404
    return [int(each) for each in ids]


# --- The list ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    comparison: Comparison
    runs: Sequence[Run]

    @property
    def status(self) -> str:
        found = {run.status for run in self.runs}
        return next((status for status in URGENCY if status in found), RunStatus.QUEUED)

    @property
    def day(self) -> Any:
        return timezone.localdate(self.comparison.created_at)

    @property
    def total_ms(self) -> float | None:
        """Of the run that took longest."""
        return max((run.total_ms for run in self.runs if run.total_ms is not None), default=None)

    @property
    def preview(self) -> str:
        return next((run.prompt_preview for run in self.runs if run.prompt_preview), "")

    @property
    def labels(self) -> list[Label]:
        return list({label.pk: label for run in self.runs for label in run.labels.all()}.values())


@require_GET
def history(request: Request) -> HttpResponse:
    listed = Comparison.objects.visible_to(request.user).listed()
    if before := request.GET.get("before"):
        created_at, pk = _cursor(before)
        listed = listed.filter(Q(created_at__lt=created_at) | Q(created_at=created_at, pk__lt=pk))
    found = list(listed[: PAGE + 1])
    rows = [Row(each, list(each.runs.all())) for each in found[:PAGE]]
    last = found[PAGE - 1] if len(found) > PAGE else None
    context = {"rows": rows, "older": last and f"{last.created_at.isoformat()}_{last.pk}"}
    return render(request, "history.html", {**context, "first": not before})


def _cursor(text: str) -> tuple[datetime, int]:
    """`<time>_<id>` of the last row of the page before; 404 for anything else."""
    when, _, pk = text.rpartition("_")
    try:
        created_at = parse_datetime(when)
    except ValueError:
        created_at = None
    if created_at is None or timezone.is_naive(created_at) or not (pk.isascii() and pk.isdigit()):
        raise Http404
    return created_at, int(pk)
