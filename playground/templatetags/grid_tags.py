"""What the templates of a grid need."""

from collections.abc import Sequence

from django import template

from playground import probabilities
from playground.agreement import Group
from playground.models import Comparison, Run
from playground.views import grid

register = template.Library()

SHOWN = 600  # characters of an output in a cell


@register.simple_tag
def grids_of(comparison: Comparison, runs: Sequence[Run]) -> list[grid.Grid]:
    return grid.grids(comparison, runs)


@register.filter
def room(run: Run) -> int:
    return grid.room_of(run)


@register.filter
def members(stack: grid.Stack, group: Group) -> list[Run]:
    return stack.members(group)


@register.filter
def shortened(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


@register.filter
def repeat_number(run: Run) -> int | None:
    """From 1; None for a run that is not repeated."""
    repeat = run.place.repeat
    return None if repeat is None else repeat + 1


@register.filter
def percent(part: int, whole: int) -> int:
    return round(100 * part / whole) if whole else 0


@register.filter
def share_of(tokens: dict[str, float], token: str) -> float | None:
    return tokens.get(token)


@register.filter
def bar(share: float) -> str:
    """The width of a bar, as an SVG attribute."""
    return f"{100 * min(share, 1):.1f}"


@register.filter
def share_text(share: float) -> str:
    value = 100 * share
    return f"{value:.1f} %" if value >= 0.05 or not value else f"{value:.1g} %"


@register.filter(name="visible")
def _visible(text: str) -> str:
    return probabilities.visible(text)


@register.filter
def place_name(run: Run) -> str:
    """`Column A, temperature 0.4, row 2, repeat 3`."""
    return ", ".join([f"Column {run.letter}", *run.place.words])
