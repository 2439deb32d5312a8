"""What a blind panel has come to: ranking, agreement, what divides the judges, votes as CSV."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from playground.models import Ballot, Judge, Membership, Panel, Round
from playground.models.ballots import votes_of
from playground.models.panels import LETTERS
from playground.tables import csv_of
from playground.views import Request
from playground.views.panels import judges_of, panel_of
from playground.views.ranked import NoFigures, figures
from playground.views.selection import noticed

DIVIDED = 20  # rounds that are listed
LEVELS = ((0.8, 3), (0.65, 2), (0.0, 1))  # share of agreement from which a cell is this dark


def _knowing(request: Request, pk: int) -> tuple[Panel, Membership]:
    """For who knows the names already; others get 404 before they have asked for them."""
    found, membership = panel_of(request, pk)
    judge = Judge.objects.known(found, request.user)
    if judge is None or judge.revealed_at is None:
        raise Http404
    return found, membership


@require_GET
def result(request: Request, pk: int) -> HttpResponse:
    """Before the names are revealed, only the question whether they should be."""
    found, membership = panel_of(request, pk)
    judge = Judge.objects.known(found, request.user)
    context: dict[str, Any] = {"panel": found, "may_delete": found.may_be_deleted_by(membership)}
    if judge is None or judge.revealed_at is None:
        return render(request, "panels/hidden.html", context)
    votes = list(votes_of(found, membership, counted=True))
    rounds = {each.position: each for each in _rounds(found, membership)}
    noticed(request.user, sorted({pk for each in rounds.values() for pk in each.run_ids}))
    names = list(dict.fromkeys(e.contestant for r in rounds.values() for e in r.entries))
    context |= {"names": names, "votes": len(votes), "rounds": len(rounds)}
    context |= {"prompts": len({each.entries[0].prompt for each in rounds.values()})}
    context |= {"aside": _aside(found, membership, rounds), "judges": judges_of(found)}
    rows = [row_of(vote, rounds[vote.round.position], names) for vote in votes]
    try:
        made = figures(len(names), rows)
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
        "divided": divided_of(made["divided"][:DIVIDED], rounds, votes),
    }
    return render(request, "panels/result.html", context)


def _rounds(found: Panel, membership: Membership) -> Any:
    return Round.objects.visible_in(membership).filter(panel=found).with_seats()


def row_of(vote: Ballot, one: Round, names: Sequence[str]) -> list[Any]:
    """A vote as `playground.ranking` reads it."""
    value = LETTERS.index(vote.value) if vote.value in LETTERS else vote.value
    return [one.position, vote.judge_id, [names.index(e.contestant) for e in one.entries], value]


def _aside(found: Panel, membership: Membership, rounds: dict[int, Round]) -> list[dict[str, Any]]:
    """Votes that do not count, by judge and reason: how many, and what they said."""
    votes = votes_of(found, membership, counted=False).order_by("judge", "aside", "pk")
    rows = []
    for (judge, why), group in groupby(votes, key=lambda each: (each.judge, each.aside)):
        said = Counter(preferred_of(each, rounds[each.round.position]) for each in group)
        rows.append(
            {
                "judge": judge,
                "why": Ballot.Aside(why).label,
                "count": said.total(),
                "ties": said.pop(Ballot.Value.TIE, 0),
                "bad": said.pop(Ballot.Value.BAD, 0),
                "preferred": said.most_common(),
            }
        )
    return rows


def preferred_of(vote: Ballot, one: Round) -> str:
    """The contestant that was voted for, or what was said instead of one."""
    if vote.value in LETTERS:
        return one.entries[LETTERS.index(vote.value)].contestant
    return vote.value


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
    positions: Sequence[int], rounds: dict[int, Round], votes: Sequence[Ballot]
) -> list[dict[str, Any]]:
    """Each with its outputs and how often each was preferred."""
    found = []
    for position in positions:
        said = Counter(vote.value for vote in votes if vote.round.position == position)
        entries = zip(LETTERS, rounds[position].entries, strict=False)
        found.append(
            {
                "position": position,
                "outputs": [(entry.contestant, said[letter]) for letter, entry in entries],
                "tie": said["tie"],
                "bad": said["bad"],
            }
        )
    return found


@require_GET
def panel_round(request: Request, pk: int, position: int) -> HttpResponse:
    """One round with its names and what each judge said."""
    found, membership = _knowing(request, pk)
    one = get_object_or_404(_rounds(found, membership), position=position)
    entries = one.entries
    noticed(request.user, one.run_ids)
    context = {
        "panel": found,
        "round": one,
        "prompt": entries[0].run.request_value().prompt_text(),
        "outputs": [
            {"letter": letter.upper(), "entry": entry, "text": entry.text()}
            for letter, entry in zip(LETTERS, entries, strict=False)
        ],
        "ballots": one.ballots.exclude(value="").select_related("judge").order_by("judge"),
    }
    return render(request, "panels/round.html", context)


@require_GET
def votes_csv(request: Request, pk: int) -> HttpResponse:
    """Every vote, also those that do not count; a column for each letter of a round."""
    found, membership = _knowing(request, pk)
    rounds = {each.position: each for each in _rounds(found, membership)}
    letters = LETTERS[: max((each.size for each in rounds.values()), default=2)]
    head = [found.noun, "prompt", "judge", "vote", "preferred", "over", *letters]
    head += [f"run_{letter}" for letter in letters]
    rows: list[list[object]] = [[*head, "shown", "counts", "set_aside", "voted_at", "note"]]
    for counted in (True, False):
        for vote in votes_of(found, membership, counted=counted):
            one = rounds[vote.round.position]
            rows.append([*_cells(vote, one, len(letters)), "yes" if counted else "no", *_why(vote)])
    response = HttpResponse(csv_of(rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="panel-{found.pk}-votes.csv"'
    return response


def _cells(vote: Ballot, one: Round, width: int) -> list[object]:
    names = [entry.contestant for entry in one.entries]
    best = LETTERS.index(vote.value) if vote.value in LETTERS else None
    over = [] if best is None else [name for n, name in enumerate(names) if n != best]
    gap = [""] * (width - len(names))
    said = [vote.said, "" if best is None else names[best], "; ".join(over)]
    seats = [*names, *gap, *one.run_ids, *gap]
    return [one.position, one.entries[0].prompt + 1, vote.judge.name, *said, *seats, vote.order]


def _why(vote: Ballot) -> list[object]:
    when = vote.voted_at.isoformat() if vote.voted_at else ""
    return [vote.get_aside_display(), when, vote.note]
