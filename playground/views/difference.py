"""The word diff of any two outputs that a person may see: of one comparison or of two."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from playground.diff import Piece, compare
from playground.models import Choice, Run
from playground.views import Request, is_id
from playground.views.selection import noticed

LONGEST = 300_000  # characters of each side that are compared
MOST_RUNS = 100
FOLD = 1_200  # characters of equal text above which its middle is folded
SHOWN = 300  # characters of it that stay before and behind the fold


@dataclass(frozen=True)
class Side:
    """An output that can be chosen; `value` is `<run>.<choice>`."""

    value: str
    label: str


@dataclass(frozen=True)
class Part:
    """What the page shows of a piece; `folded` is the middle of a long equal text."""

    old: str
    new: str
    same: bool
    head: str = ""
    folded: str = ""
    tail: str = ""


@require_GET
def difference(request: Request) -> HttpResponse:
    """`?ids=7,9`: which runs can be chosen from; `?a=7.0&b=9.0`: the two outputs."""
    chosen = [request.GET.get(name, "") for name in ("a", "b")]
    ids = [each for each in request.GET.get("ids", "").split(",") if each]
    ids = ids or [value.partition(".")[0] for value in chosen if value]
    if len(ids) > MOST_RUNS or not all(map(is_id, ids)):
        raise Http404
    sides = sides_of(request, [int(each) for each in ids])
    known = [side.value for side in sides]
    if any(value and value not in known for value in chosen):
        raise Http404
    a, b = _pair(chosen, known)
    context: dict[str, Any] = {"sides": sides, "ids": ",".join(ids), "a": a, "b": b}
    if a and b:
        context |= shown(_text(a), _text(b))
    template = "runs/_difference.html" if request.htmx else "difference.html"
    return render(request, template, context)


def sides_of(request: Request, ids: Sequence[int]) -> list[Side]:
    """The outputs of these runs, in this order; those that may not be seen are not there."""
    visible = Run.objects.visible_to(request.user).filter(pk__in=ids)
    runs = {run.pk: run for run in visible.defer(*Run.BIG)}
    noticed(request.user, list(runs))
    several = len({run.comparison_id for run in runs.values()}) > 1
    found: dict[int, list[int]] = {}
    for run, index in Choice.objects.filter(run__in=runs).values_list("run", "index"):
        found.setdefault(run, []).append(index)
    return [
        Side(f"{pk}.{index}", _label(runs[pk], several, index, len(found[pk])))
        for pk in dict.fromkeys(ids)
        for index in sorted(found.get(pk, []))
    ]


def _label(run: Run, several: bool, index: int, choices: int) -> str:
    name = f"Run {run.comparison_id}{run.letter}" if several else run.letter
    choice = f", choice {index + 1}" if choices > 1 else ""
    return f"{name} · {run.model or run.connection_name}{choice}"


def _pair(chosen: Sequence[str], known: Sequence[str]) -> tuple[str, str]:
    a = chosen[0] or next((value for value in known if value != chosen[1]), "")
    return a, chosen[1] or next((value for value in known if value != a), "")


def _text(value: str) -> str:
    run, _, index = value.partition(".")
    text = Choice.objects.filter(run=int(run), index=int(index)).values_list("text", flat=True)
    return text[0]


def shown(old: str, new: str) -> dict[str, Any]:
    """The context of `runs/_diff.html`."""
    found = compare(old[:LONGEST], new[:LONGEST])
    return {
        "parts": [_part(piece) for piece in found.pieces],
        "changes": found.changes,
        "coarse": found.coarse,
        "cut": max(len(old), len(new)) > LONGEST,
        "longest": LONGEST,
    }


def _part(piece: Piece) -> Part:
    if not piece.same:
        return Part(_seen(piece.old), _seen(piece.new), same=False)
    text = piece.old
    if len(text) <= FOLD:
        return Part(text, text, same=True)
    return Part(text, text, True, head=text[:SHOWN], folded=text[SHOWN:-SHOWN], tail=text[-SHOWN:])


def _seen(text: str) -> str:
    """A change of nothing but white space, so that it can be seen."""
    if text.strip(" \t\r\n"):
        return text
    for char, sign in ((" ", "·"), ("\t", "→"), ("\r", "␍"), ("\n", "↵\n")):
        text = text.replace(char, sign)
    return text
