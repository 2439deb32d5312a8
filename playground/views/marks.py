"""Star and rating of a row, set in the list."""

import re

from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from playground.models import Comparison, Rating, Run
from playground.models.annotations import clean_rating
from playground.views import Request
from playground.views.rows import Row, comparison_rows, run_rows

ROW = re.compile(r"(run|comparison)-([0-9]{1,18})", re.ASCII)
SEVERAL = "This row has several runs. Unfold it, or show a row for each run, to rate one."


def named(request: Request, key: str) -> tuple[Comparison | Run, list[int]]:
    """What a row `comparison-5` or `run-7` stands for, and its runs, the newest of each column."""
    matched = ROW.fullmatch(key)
    if matched is None:
        raise Http404
    pk = int(matched[2])
    visible = Run.objects.visible_to(request.user).select_related("comparison")
    if matched[1] == "run":
        run: Run | None = visible.filter(pk=pk).first()
        if run is None:
            raise Http404
        return run, [run.pk]
    runs = list(visible.filter(comparison=pk).newest().order_by("position", "pk"))
    if not runs:
        raise Http404
    return runs[0].comparison, [each.pk for each in runs]


@require_POST
def mark(request: Request) -> HttpResponse:
    """`star`: "1" or ""; or `rate`: 1 to 5, "" takes one's own rating back. Of the row `row`."""
    key = request.POST.get("row", "")
    found, runs = named(request, key)
    if "star" in request.POST:
        Run.objects.filter(pk__in=runs).update(starred=request.POST["star"] == "1")
    elif len(runs) > 1:
        return _refused(request, SEVERAL)
    else:
        [run] = Run.objects.filter(pk__in=runs)
        try:
            Rating.objects.give(run, request.user, clean_rating(request.POST.get("rate", "0")))
        except ValidationError as error:
            return _refused(request, " ".join(error.messages))
    return render(request, "history/_rate.html", {"row": _row(found)})


def _row(found: Comparison | Run) -> Row:
    rows = run_rows([found.pk]) if isinstance(found, Run) else comparison_rows([found.pk])
    return rows[0]


def _refused(request: Request, said: str) -> HttpResponse:
    response = render(request, "labels/_job.html", {"error": said}, status=422)
    response["HX-Retarget"], response["HX-Reswap"] = "#bulk-said", "innerHTML"
    return response
