"""A blind panel: judging, the result, the votes as CSV.

What a judge gets before the names are revealed holds two texts and nothing that tells where they
come from: no id of a run, no name, label, time or figure (`tests/test_panels.py` reads the HTML).
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from playground.models import Ballot, Judge, Membership, Pair, Panel
from playground.models.panels import last_vote, votes_of
from playground.tables import csv_of
from playground.views import Request
from playground.views.ranked import NoFigures, figures
from playground.views.reviews import membership_of
from playground.views.selection import noticed

VOTES = {"1": "left", "2": "right", "0": "tie", "-": "bad", "s": "skip"}
DIVIDED = 20  # pairs that are listed
LEVELS = ((0.8, 3), (0.65, 2), (0.0, 1))  # share of agreement from which a cell is this dark


def _panel(request: Request, pk: int) -> tuple[Panel, Membership]:
    found: Panel = get_object_or_404(
        Panel.objects.visible_to(request.user).select_related("author"), pk=pk
    )
    return found, membership_of(request)


def _knowing(request: Request, pk: int) -> tuple[Panel, Membership]:
    """For who knows the names already; others get 404 before they have asked for them."""
    found, membership = _panel(request, pk)
    judge = found.judging(request.user)
    if judge is None or judge.revealed_at is None:
        raise Http404
    return found, membership


# --- Judging -------------------------------------------------------------------------------


@require_GET
def panel(request: Request, pk: int) -> HttpResponse:
    """The next pair; with the names revealed, the result."""
    found, membership = _panel(request, pk)
    judge = found.judge(request.user)
    if judge.revealed_at is not None:
        return redirect("panel_result", pk=pk)
    judge.deal(membership)
    return render(request, "panels/judge.html", judged(found, judge, membership))


def judged(
    found: Panel, judge: Judge, membership: Membership, ballot: Ballot | None = None
) -> dict[str, Any]:
    """The context of `panels/_ballot.html`; `ballot`: which one, else the next open one."""
    ballots = judge.ballots_seen(membership)
    open_ones = ballots.filter(value="").select_related("pair__a", "pair__b")
    ballot = ballot or open_ones.first()
    total, left = ballots.count(), open_ones.count()
    context = {"panel": found, "total": total, "done": total - left, "ballot": ballot}
    if ballot is not None:
        sides = [ballot.pair.a, ballot.pair.b]
        texts = [each.text() for each in (reversed(sides) if ballot.swapped else sides)]
        context |= {
            "number": ballots.filter(place__lt=ballot.place).count() + 1,
            "prompt": ballot.pair.a.run.request_value().prompt_text(),
            "outputs": list(zip("AB", texts, strict=True)),
        }
    return context | {"judges": _judges(found), "judge": judge}


def _judges(found: Panel) -> list[dict[str, Any]]:
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
    mine = judge.ballots_seen(membership).select_related("pair__a", "pair__b")
    found: Ballot = get_object_or_404(mine, place=int(place))
    return found


@require_POST
def vote(request: Request, pk: int) -> HttpResponse:
    """`vote`: 1 the left one, 2 the right one, 0 a tie, - both bad, s skip, u undo the last,
    g an output names its model; `place`: of the ballot."""
    found, membership = _panel(request, pk)
    judge = found.judge(request.user)
    said = request.POST.get("vote", "")
    kept, shown = True, None
    if said == "u":
        shown = last_vote(judge)
        kept = shown is None or shown.vote(request.user, "")
    elif said == "g":
        shown = _ballot(request, judge, membership)
        kept = shown.give_away(not shown.named)
    elif said in VOTES:
        kept = _ballot(request, judge, membership).vote(request.user, VOTES[said])
    else:
        raise Http404
    if not kept:
        return _final(request, found)
    if not request.htmx:
        return redirect("panel", pk=pk)
    context = judged(found, judge, membership, shown)
    return render(request, "panels/_ballot.html", context)


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
    found, membership = _panel(request, pk)
    found.judge(request.user).reveal(request.user, membership)
    return redirect("panel_result", pk=pk)


@require_POST
def delete_panel(request: Request, pk: int) -> HttpResponse:
    """With its votes; the runs stay. By whoever made it, or an owner."""
    found, membership = _panel(request, pk)
    if not found.may_be_deleted_by(membership):
        raise Http404
    found.delete()
    return redirect("reviews")


# --- The result ----------------------------------------------------------------------------


@require_GET
def result(request: Request, pk: int) -> HttpResponse:
    """Before the names are revealed, only the question whether they should be."""
    found, membership = _panel(request, pk)
    judge = found.judging(request.user)
    context: dict[str, Any] = {"panel": found, "may_delete": found.may_be_deleted_by(membership)}
    if judge is None or judge.revealed_at is None:
        return render(request, "panels/hidden.html", context)
    votes = list(votes_of(found, membership, counted=True))
    pairs = Pair.objects.visible_in(membership).filter(panel=found).select_related("a", "b")
    by_position = {pair.position: pair for pair in pairs}
    noticed(request.user, sorted({e.run_id for p in by_position.values() for e in (p.a, p.b)}))
    names = list(dict.fromkeys(e.contestant for p in by_position.values() for e in (p.a, p.b)))
    context |= {"names": names, "votes": len(votes), "pairs": len(by_position)}
    context |= {"prompts": len({pair.a.prompt for pair in by_position.values()})}
    context |= {"aside": _aside(found, membership), "judges": _judges(found)}
    try:
        made = figures(len(names), [_row(vote, names) for vote in votes])
    except NoFigures:
        return render(request, "panels/result.html", {**context, "failed": True}, status=503)
    judges = {each.judge.pk: each.judge for each in votes}
    context |= {
        "ranking": ranking_of(names, made["contestants"]),
        "evened": made["evened"],
        "agreement": made["agreement"],
        "matrix": matrix_of(judges, made["agreement"]["judges"]),
        "kappas": [
            {**each, "names": [judges[j].name for j in each["judges"]]}
            for each in made["agreement"]["judges"]
        ],
        "divided": divided_of(made["divided"][:DIVIDED], by_position, votes),
    }
    return render(request, "panels/result.html", context)


def _row(vote: Ballot, names: Sequence[str]) -> list[Any]:
    pair = vote.pair
    sides = [names.index(each.contestant) for each in (pair.a, pair.b)]
    return [pair.position, vote.judge_id, *sides, vote.value]


def _aside(found: Panel, membership: Membership) -> list[dict[str, Any]]:
    """Votes that do not count, by judge and reason."""
    votes = votes_of(found, membership, counted=False).order_by("judge", "aside", "pk")
    return [
        {"judge": judge, "why": Ballot.Aside(why).label, "values": list(values)}
        for (judge, why), values in groupby(votes, key=lambda each: (each.judge, each.aside))
    ]


def ranking_of(names: Sequence[str], made: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The strongest first; those without a vote at the end, without a rank."""
    rows = [{"name": name, **each} for name, each in zip(names, made, strict=True)]
    rows.sort(key=lambda row: -row["strength"][0] if row["strength"] else 1)
    for rank, row in enumerate(rows, 1):
        row["rank"] = rank if row["strength"] else None
    return rows


def matrix_of(
    judges: dict[int, Judge], pairs: Sequence[dict[str, Any]]
) -> list[tuple[Judge, list[dict[str, Any]]]]:
    """Agreement of two judges as a table; a cell has `share` and a `level` of darkness."""
    shares: dict[tuple[int, ...], float | None] = {
        tuple(sorted(each["judges"])): each["share"] for each in pairs
    }
    order = [pk for pk in sorted(judges) if any(pk in key for key in shares)]
    rows = []
    for one in order:
        cells = []
        for other in order:
            share = shares.get(tuple(sorted((one, other)))) if one != other else None
            level = 0 if share is None else next(n for low, n in LEVELS if share >= low)
            cells.append({"share": share, "level": level})
        rows.append((judges[one], cells))
    return rows


def divided_of(
    positions: Sequence[int], pairs: dict[int, Pair], votes: Sequence[Ballot]
) -> list[dict[str, Any]]:
    found = []
    for position in positions:
        said = [vote.value for vote in votes if vote.pair.position == position]
        counts: dict[str, Any] = {str(value): said.count(value) for value in Ballot.COUNTED}
        found.append({"pair": pairs[position], **counts})
    return found


@require_GET
def pair(request: Request, pk: int, position: int) -> HttpResponse:
    """One pair with its names and what each judge said."""
    found, membership = _knowing(request, pk)
    pairs = Pair.objects.visible_in(membership).filter(panel=found)
    one = get_object_or_404(pairs.select_related("a__run", "b__run"), position=position)
    noticed(request.user, [one.a.run_id, one.b.run_id])
    ballots = one.ballots.filter(value__in=[*Ballot.COUNTED, Ballot.Value.SKIP])
    context = {
        "panel": found,
        "pair": one,
        "prompt": one.a.run.request_value().prompt_text(),
        "outputs": [("A", one.a, one.a.text()), ("B", one.b, one.b.text())],
        "ballots": ballots.select_related("judge").order_by("judge"),
    }
    return render(request, "panels/pair.html", context)


@require_GET
def votes_csv(request: Request, pk: int) -> HttpResponse:
    """Every vote, also those that do not count."""
    found, membership = _knowing(request, pk)
    head = ["pair", "prompt", "judge", "vote", "preferred", "over", "a", "b", "run_a", "run_b"]
    rows: list[list[object]] = [[*head, "shown_left", "counts", "set_aside", "voted_at"]]
    for counted in (True, False):
        for each in votes_of(found, membership, counted=counted):
            a, b = each.pair.a, each.pair.b
            won = {"a": (a, b), "b": (b, a)}.get(each.value)
            rows.append(
                [
                    each.pair.position,
                    a.prompt + 1,
                    each.judge.name,
                    each.get_value_display(),
                    won[0].contestant if won else "",
                    won[1].contestant if won else "",
                    a.contestant,
                    b.contestant,
                    a.run_id,
                    b.run_id,
                    "b" if each.swapped else "a",
                    "yes" if counted else "no",
                    each.get_aside_display(),
                    each.voted_at.isoformat() if each.voted_at else "",
                ]
            )
    response = HttpResponse(csv_of(rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="panel-{found.pk}-votes.csv"'
    return response
