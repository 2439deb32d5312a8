"""History, one run, its labels."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Prefetch, prefetch_related_objects
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from playground.models import Choice, Comment, Comparison, Rating, Run, User
from playground.timeline import merged, pace
from playground.views import Request, apart, numbers_of, record
from playground.views.selection import noticed
from playground.views.tools import snippets_of

MOST_IDS = 100  # runs in one batch of partials


def shown(runs: Any) -> list[Run]:
    """These runs with what a column shows, without logprobs and timelines."""
    related = runs.with_earlier().select_related("author", "connection", "comparison")
    prefetched = related.prefetch_related(
        Prefetch("choices", queryset=_texts()),
        Prefetch("comments", queryset=Comment.objects.only("run_id")),
        "labels",
        "ratings",
    )
    found = list(prefetched.order_by("position", "pk"))
    _count_pieces(found)
    return found


def _count_pieces(runs: Iterable[Run]) -> None:
    """Of those that have ended and whose backend did not say how many tokens."""
    silent = {
        run.pk: run
        for run in runs
        if run.streams and not run.live and run.completion_tokens is None
    }
    choices: dict[int, list[Choice]] = {pk: [] for pk in silent}
    if silent:
        for choice in Choice.objects.filter(run__in=silent).only("run_id", "packed_timeline"):
            choices[choice.run_id].append(choice)
    for pk, run in silent.items():
        arrivals = merged(choice.timeline for choice in choices[pk])
        if len(arrivals) > 1:
            run.pieces, run.pace = len(arrivals), pace(arrivals)


def _texts() -> Any:
    return Choice.objects.defer("packed_logprobs", "packed_timeline")


def fresh(user: User, comparison: Comparison) -> list[Run]:
    """As `shown`, of a comparison that this person has just begun: no run has replaced another yet,
    nobody has rated one or written about it, and what lives has no output."""
    runs = Run.objects.visible_to(user).filter(comparison=comparison).order_by("position", "pk")
    found = list(runs.prefetch_related("labels"))
    for each in found:
        each.comparison, each.author, each.earlier = comparison, user, None
        kept = each._prefetched_objects_cache
        kept |= {"comments": Comment.objects.none(), "ratings": Rating.objects.none()}
        if each.live:
            kept["choices"] = Choice.objects.none()
    ended = [each for each in found if not each.live]  # so soon
    prefetch_related_objects(ended, Prefetch("choices", queryset=_texts()))
    return found


@require_GET
def run(request: Request, pk: int) -> HttpResponse:
    """For htmx only the column; `?all=1` shows very long outputs whole."""
    visible = Run.objects.visible_to(request.user)
    found = shown(visible.filter(pk=pk))
    if not found:
        raise Http404
    apart.tell(found, visible)
    noticed(request.user, found)
    context = {"run": found[0], "everything": "all" in request.GET}
    if request.htmx and not request.htmx.history_restore_request:
        return render(request, "runs/_run.html", context)
    asked = found[0].request_value()
    metadata = found[0].metadata_value
    context |= {
        "title": found[0].comparison.title,
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
    whole, ends = (numbers_of(request, name, MOST_IDS) for name in ("ids", "ends"))
    visible = Run.objects.visible_to(request.user)
    context = {
        "runs": shown(visible.filter(pk__in=whole)) if whole else [],
        "ended": shown(visible.filter(pk__in=ends)) if ends else [],
    }
    apart.tell(context["runs"], visible)
    noticed(request.user, [*context["runs"], *context["ended"]])
    return render(request, "runs/_runs.html", context)
