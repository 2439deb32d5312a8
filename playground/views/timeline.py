"""When the outputs of some runs came: strips to look at, and the times for a replay."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from playground.models import Run
from playground.timeline import HEIGHT, WIDTH, Strip, merged, strip, ticks
from playground.views import Request, numbers_of

MOST_RUNS = 32  # in one picture


@dataclass(frozen=True)
class Line:
    run: Run
    strip: Strip


@require_GET
def timeline(request: Request) -> HttpResponse:
    """`?ids=7,9`: one strip for each, on one axis; runs without text leave it out."""
    runs = _runs(request)
    arrivals = {run.pk: merged(each.timeline for each in run.choices.all()) for run in runs}
    runs = [run for run in runs if arrivals[run.pk]]
    span = max((_end(run, arrivals[run.pk]) for run in runs), default=0.0)
    context = {
        "lines": [Line(run, strip(arrivals[run.pk], span)) for run in runs],
        "span": span,
        "ticks": ticks(span),
        "width": WIDTH,
        "height": HEIGHT,
    }
    return render(request, "runs/_timeline.html", context)


@require_GET
def arrivals(request: Request) -> JsonResponse:
    """{"runs": {id: {"end": ms, "choices": {index: [[ms, characters]…]}}}}"""
    found: dict[str, Any] = {}
    for run in _runs(request):
        choices = {str(each.index): each.timeline for each in run.choices.all()}
        end = _end(run, merged(choices.values()))
        found[str(run.pk)] = {"end": end, "choices": choices}
    return JsonResponse({"runs": found})


def _runs(request: Request) -> list[Run]:
    ids = numbers_of(request, "ids", MOST_RUNS)
    visible = Run.objects.visible_to(request.user).filter(pk__in=ids)
    found = visible.defer(*Run.BIG).prefetch_related("choices").order_by("position", "pk")
    return [run for run in found if not run.live]


def _end(run: Run, arrivals: list[tuple[float, int]]) -> float:
    last = arrivals[-1][0] if arrivals else 0.0
    return max(last, run.total_ms or 0.0)
