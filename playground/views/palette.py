"""What the command palette finds on the server: presets, models and runs."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from playground import keymap
from playground.completion import RunStatus
from playground.listed import known
from playground.models import Comparison, Connection, Preset, Run, User
from playground.views import Request
from playground.views.asked import Asked

MOST = 5  # of each kind
HOUR = 3600  # seconds
REMEMBERED = 200  # newest runs whose models are offered
DONE = RunStatus.COMPLETED
Found = TypeVar("Found")


@require_GET
def palette(request: Request) -> HttpResponse:
    """Options for `q`; of runs their number and first words only, so that no name is given away."""
    asked = Asked.of(request)
    wanted = keymap.words(asked.typed)
    presets = Preset.objects.visible_to(request.user).listed()
    context = {
        "presets": _best(presets, wanted, lambda each: f"preset {each.name}")[:MOST],
        "models": _models(request.user, wanted) if wanted else [],
        "comparisons": _comparisons(asked),
    }
    return render(request, "palette/_found.html", context)


def _best(offered: Iterable[Found], wanted: list[str], text: Callable[[Found], str]) -> list[Found]:
    """Those that the most words find, so that a word that finds nothing hides nothing."""
    ranked = [(_count(wanted, text(each).casefold()), each) for each in offered]
    most = max((count for count, _ in ranked), default=0)
    return [each for count, each in ranked if count == most and (most or not wanted)]


def _count(wanted: list[str], text: str) -> int:
    return sum(word in text for word in wanted)


def _models(user: User, wanted: list[str]) -> list[tuple[Connection, str]]:
    """Of usable connections: the default, what they list or allow, and what answered lately."""
    membership = user.membership()
    if membership is None or not membership.may_run:
        return []
    usable = {each.pk: each for each in Connection.objects.usable_by(membership.team_id)}
    own = Run.objects.visible_to(user).filter(author=user).order_by("-pk")
    lately = own.values_list("connection_id", "model", "status")[:REMEMBERED]
    pairs = [
        (pk, name)
        for pk, names in known(usable.values()).items()
        for name in (usable[pk].default_model, *names)
    ]
    pairs += [(pk, name) for pk, name, status in lately if pk in usable and status == DONE]
    found = [(usable[pk], name) for pk, name in dict.fromkeys(pairs) if name]
    return _best(found, wanted, lambda each: f"model {each[1]} {each[0].name}")[:MOST]


def _comparisons(asked: Asked) -> list[dict[str, Any]]:
    if asked.query.problems:
        return []
    ids = [key.comparison for key in asked.finder.page(MOST).keys]
    runs = Run.objects.visible_to(asked.user).filter(comparison__in=ids)
    words = dict(runs.filter(position=0).values_list("comparison", "prompt_preview"))
    several = set(runs.filter(position__gt=0).values_list("comparison", flat=True))
    found = Comparison.objects.visible_to(asked.user).defer("document", "axes").in_bulk(ids)
    return [
        {
            "comparison": found[pk],
            "title": found[pk].called(pk in several),
            "words": words.get(pk, ""),
        }
        for pk in ids
        if pk in found
    ]


@require_GET
def keys(request: Request) -> HttpResponse:
    """The sheet of shortcuts, the same for everybody: a browser asks once an hour."""
    response = render(request, "_keys.html", {"sections": keymap.SECTIONS})
    response["Cache-Control"] = f"private, max-age={HOUR}"
    return response
