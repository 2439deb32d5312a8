"""The list of the history, its unfolded comparisons and its preview."""

from collections.abc import Sequence
from typing import Any

from django.db.models.functions import Left
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from playground import query
from playground.models import Choice, Comparison, Run
from playground.views import Request, hits, instead
from playground.views.apart import in_rows
from playground.views.asked import Asked
from playground.views.rows import comparison_rows, light, run_row, run_rows
from playground.views.saved import views_of
from playground.views.selection import noticed

PAGE = 17  # rows of one answer: it stays below 60 kB
UNFOLDED = 100  # runs of a comparison that unfold below its row
TRY = ("is:starred", "has:error", "rating:>=4", "after:7d")
FIRST_LINES = 600  # characters of prompt and output in a preview
PREVIEWED = 4  # runs of a comparison in a preview
QUIET = ("stream", "stream_options.include_usage")
# What htmx asks for by the element that it replaces: the list anew, or what comes below it.
PARTS = {"found": "history/_found.html", "more": "history/_days.html"}


@require_GET
def history(request: Request) -> HttpResponse:
    asked = Asked.of(request)
    parsed = asked.query
    context: dict[str, Any] = {"asked": asked, "problems": parsed.problems, "rows": []}
    if not parsed.problems:
        context |= page_of(asked)
    if not context["rows"] and not context.get("walked"):
        context["instead"] = instead.offers(asked)
    context["trashed"] = asked.finder.trashed
    context |= {
        "terms": asked.terms(),
        "tries": [{"term": term, "url": asked.added(term)} for term in TRY],
        "switches": switches(asked),
        "stats_url": reverse("stats") + asked.address(show=""),
        "export_address": asked.address(show=""),
        "facets_url": reverse("history_facets") + asked.address(),
        "at_top": asked.older is None and asked.newer is None,
        "unfiltered": parsed.empty,
        **views_of(request.user, asked),
    }
    part = PARTS.get(str(request.htmx.target)) if request.htmx else None
    return render(request, part or "history/history.html", context)


@require_GET
def filters(request: Request) -> HttpResponse:
    return render(request, "history/_filters.html", {"filters": query.FILTERS.items()})


def page_of(asked: Asked) -> dict[str, Any]:
    found = asked.finder.page(PAGE, asked.older, asked.newer)
    if asked.single:
        rows = run_rows([key.run for key in found.keys])
    else:
        rows = comparison_rows([key.comparison for key in found.keys])
    hits.mark(rows, asked.query, asked.finder.hits)
    noticed(asked.user, [run for row in rows for run in row.runs])
    return {
        "rows": rows,
        "older": found.older and asked.address(older=str(found.older)),
        "newer": found.newer and asked.address(newer=str(found.newer)),
        "top": asked.address(),
        "walked": found.walked,
    }


def switches(asked: Asked) -> dict[str, str]:
    return {
        "mine": asked.address(whose="mine"),
        "team": asked.address(whose="team"),
        "comparisons": asked.address(show=""),
        "runs": asked.address(show="runs"),
    }


@require_GET
def unfold(request: Request, pk: int) -> HttpResponse:
    """The runs of a comparison, each a row of its own. `q`: the search that has found it."""
    parent = get_object_or_404(
        Comparison.objects.visible_to(request.user).select_related("author").defer("document"),
        pk=pk,
    )
    runs = light(Run.objects.visible_to(request.user).filter(comparison=parent))
    listed = list(runs.order_by("position", "pk")[:UNFOLDED])
    rows = [run_row(run, parent, beside=len(listed) > 1) for run in listed]
    in_rows([row.runs[0] for row in rows])
    for row in rows:
        row.changes = ()
    hits.mark(rows, Asked.of(request).query)
    noticed(request.user, [run for row in rows for run in row.runs])
    context = {"rows": rows, "comparison": parent, "more": parent.runs.count() - len(rows)}
    return render(request, "history/_unfolded.html", context)


@require_GET
def preview(request: Request, pk: int) -> HttpResponse:
    """Settings and first lines of a run, and of those beside it."""
    found = get_object_or_404(
        Run.objects.visible_to(request.user).select_related("comparison__author"), pk=pk
    )
    beside = Run.objects.visible_to(request.user).filter(comparison=found.comparison_id)
    runs = list(beside.defer(*Run.BIG).order_by("position", "pk")[:PREVIEWED])
    if request.GET.get("single"):
        runs = [found]
    asked = found.request_value()
    values = {**asked.values, **asked.extra}
    noticed(request.user, runs)
    in_rows(runs)
    starts = first_outputs([run.pk for run in runs])
    context = {
        "run": found,
        "runs": runs,
        "single": bool(request.GET.get("single")),
        "prompt": asked.prompt_text()[:FIRST_LINES],
        "settings": [(path, value) for path, value in values.items() if path not in QUIET],
        "outputs": [(run, starts.get(run.pk, "")) for run in runs],
        "more": beside.count() - len(runs) if not request.GET.get("single") else 0,
        "labels": list(found.labels.all()),
        "comments": found.comments.count(),
    }
    return render(request, "history/_preview.html", context)


def first_outputs(runs: Sequence[int]) -> dict[int, str]:
    starts = Choice.objects.filter(run__in=runs, index=0).annotate(start=Left("text", FIRST_LINES))
    return dict(starts.values_list("run", "start"))
