"""A blind panel: judging. What its result shows is in `views/verdict.py`.

What a judge gets before the names are revealed holds texts and nothing that tells where they come
from: no id of a run, no name, label, time or figure (`tests/test_panels.py` reads the HTML).
"""

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from playground.models import Ballot, Judge, Membership, Panel
from playground.models.ballots import LONGEST_NOTE, last_vote
from playground.models.panels import LETTERS
from playground.views import Request, membership_of

VOTES = {"0": "tie", "-": "bad", "s": "skip"}  # and 1 to 9, the best one from the left
PLACES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


def panel_of(request: Request, pk: int) -> tuple[Panel, Membership]:
    found: Panel = get_object_or_404(
        Panel.objects.visible_to(request.user).select_related("author"), pk=pk
    )
    return found, membership_of(request)


@require_GET
def panel(request: Request, pk: int) -> HttpResponse:
    """The next round; with the names revealed, the result."""
    found, membership = panel_of(request, pk)
    judge = Judge.objects.of(found, request.user)
    if judge.revealed_at is not None:
        return redirect("panel_result", pk=pk)
    judge.deal(membership)
    return render(request, "panels/judge.html", judged(found, judge, membership))


def judged(
    found: Panel, judge: Judge, membership: Membership, ballot: Ballot | None = None
) -> dict[str, Any]:
    """The context of `panels/_ballot.html`; `ballot`: which one, else the next open one."""
    ballots = judge.ballots_seen(membership)
    open_ones = ballots.filter(value="")
    ballot = ballot or open_ones.first()
    total, left = ballots.count(), open_ones.count()
    context = {
        "longest": LONGEST_NOTE,
        "panel": found,
        "total": total,
        "done": total - left,
        "ballot": ballot,
        "aside": ballots.exclude(aside="").count(),
    }
    if ballot is not None:
        shown = ballot.shown
        aside = ballot.set_aside(judge.user) if judge.user else ""
        context |= {
            # Not which of the two reasons: over several rounds that could tell whose text is whose.
            "known": aside in (Ballot.Aside.AUTHOR, Ballot.Aside.SEEN),
            "number": ballots.filter(place__lt=ballot.place).count() + 1,
            "prompt": shown[0].run.request_value().prompt_text(),
            "outputs": [
                {"letter": LETTERS[n].upper(), "key": n + 1, "place": place, "text": entry.text()}
                for n, (entry, place) in enumerate(zip(shown, places(len(shown)), strict=True))
            ],
        }
    return context | {"judges": judges_of(found), "judge": judge}


def places(count: int) -> tuple[str, ...]:
    """What the outputs are called by where they stand."""
    return ("left", "right") if count == 2 else PLACES[:count]


def judges_of(found: Panel) -> list[dict[str, Any]]:
    judges = found.judges.select_related("user").order_by("pk")
    return [
        {"judge": each, "count": each.ballots.exclude(value="").count()}
        for each in judges
        if each.ballots.exists() or each.revealed_at
    ]


def _ballot(request: Request, judge: Judge, membership: Membership) -> Ballot:
    """The posted one, by its place in this judge's order."""
    place = request.POST.get("place", "")
    if not (place.isascii() and place.isdigit()) or len(place) > 9:
        raise Http404
    found: Ballot = get_object_or_404(judge.ballots_seen(membership), place=int(place))
    return found


@require_POST
def vote(request: Request, pk: int) -> HttpResponse:
    """`vote`: 1 the first from the left, 2 the second…; 0 a tie, - all bad, s skip, u undo the
    last, g an output names its model; `place`: of the ballot, `note`: on it."""
    found, membership = panel_of(request, pk)
    judge = Judge.objects.of(found, request.user)
    said = request.POST.get("vote", "")
    if "note" in request.POST:
        _ballot(request, judge, membership).write(request.POST["note"])
    shown = None
    if said == "u":
        shown = last_vote(judge, membership)
        kept = shown is None or shown.vote(request.user, "")
    elif said == "g":
        shown = _ballot(request, judge, membership)
        kept = shown.give_away(not shown.named)
    else:
        kept = _voted(request, _ballot(request, judge, membership), said)
    if not kept:
        return _final(request, found)
    if not request.htmx:
        return redirect("panel", pk=pk)
    context = judged(found, judge, membership, shown)
    return render(request, "panels/_ballot.html", context)


def _voted(request: Request, ballot: Ballot, said: str) -> bool:
    keys = {str(n) for n in range(1, len(ballot.order) + 1)}
    if said not in VOTES and said not in keys:
        raise Http404
    return ballot.vote(request.user, VOTES.get(said, said))


def _final(request: Request, found: Panel) -> HttpResponse:
    """The names were revealed, maybe in another tab: no vote counts any more."""
    if not request.htmx:
        return redirect("panel_result", pk=found.pk)
    response = HttpResponse()
    response["HX-Redirect"] = reverse("panel_result", args=[found.pk])
    return response


@require_POST
def reveal(request: Request, pk: int) -> HttpResponse:
    """Names and result, for this judge; their votes are final from now on."""
    found, membership = panel_of(request, pk)
    Judge.objects.of(found, request.user).reveal(request.user, membership)
    return redirect("panel_result", pk=pk)


@require_POST
def delete_panel(request: Request, pk: int) -> HttpResponse:
    """With its votes; the runs stay. By whoever made it, or an owner."""
    found, membership = panel_of(request, pk)
    if not found.may_be_deleted_by(membership):
        raise Http404
    found.delete()
    return redirect("reviews")
