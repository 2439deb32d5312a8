"""Many runs of one press as a grid: its lines and columns, and the repeats in each cell."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.conf import settings
from django.db.models import Prefetch
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from playground.agreement import Group, Spread, groups, same_up_to, spread, words
from playground.axes import Place
from playground.completion import RunStatus
from playground.models import Choice, Comparison, Run
from playground.views import Request, numbers_of
from playground.views.apart import Apart, apart_in
from playground.views.selection import noticed

MOST_IDS = 100  # cells in one batch of partials
MOST_TOKENS = 60  # outputs whose tokens are read to compare them
Pair = tuple[str, str]  # (path or variable, value)


def light(runs: Any) -> list[Run]:
    """What a grid of a thousand cells needs: no request, no logprobs, no timeline."""
    choices = Choice.objects.defer("packed_logprobs", "packed_timeline", "tool_calls")
    found = runs.select_related("connection").defer(*Run.BIG)
    return list(
        found.prefetch_related(Prefetch("choices", queryset=choices)).order_by("position", "pk")
    )


@dataclass
class Stack:
    """The repeats of one thing, usually one run; `name` says which thing."""

    runs: list[Run] = field(default_factory=list)
    name: str = ""

    @property
    def pk(self) -> int:
        return self.runs[0].pk

    @property
    def live(self) -> bool:
        return any(run.live for run in self.runs)

    @property
    def grouped(self) -> bool:
        """All repeats have ended, and there is more than one output to compare."""
        return not self.live and len(self.runs) > 1

    @cached_property
    def outputs(self) -> list[tuple[Run, Choice]]:
        """Of the runs that came to their end."""
        done = [run for run in self.runs if run.status == RunStatus.COMPLETED]
        return [(run, choice) for run in done for choice in run.choices.all()]

    @property
    def others(self) -> list[Run]:
        """The runs that did not come to their end."""
        return [run for run in self.runs if run.status != RunStatus.COMPLETED]

    @cached_property
    def groups(self) -> list[Group]:
        return groups([choice.text for _, choice in self.outputs])

    def members(self, group: Group) -> list[Run]:
        """Its runs, each once."""
        found = {
            self.outputs[position][0].pk: self.outputs[position][0] for position in group.members
        }
        return list(found.values())

    @property
    def share(self) -> float:
        """Per cent of the outputs that are in the largest group."""
        return 100 * self.groups[0].count / len(self.outputs) if self.outputs else 0.0

    @property
    def spread(self) -> Spread | None:
        return spread([run.total_ms for run, _ in self.outputs if run.total_ms is not None])

    @cached_property
    def common(self) -> tuple[int, str]:
        """How far all outputs are the same, and in what that is counted."""
        if tokens := self._tokens():
            return same_up_to(tokens), "token"
        return same_up_to([words(choice.text) for _, choice in self.outputs]), "word"

    def _tokens(self) -> list[list[str]]:
        """[] where not all outputs came with their tokens."""
        if not 1 < len(self.outputs) <= MOST_TOKENS:
            return []
        found = [[row["token"] for row in choice.logprobs] for _, choice in self.outputs]
        return found if all(found) else []


@dataclass(frozen=True)
class Top:
    """The head of a column of the grid: one of the form's columns, with a value of the sweep."""

    run: Run
    values: tuple[Pair, ...]
    apart: Apart


@dataclass(frozen=True)
class Line:
    values: tuple[Pair, ...]
    row: int | None  # from 0
    stacks: list[Stack | None]


@dataclass
class Grid:
    tops: list[Top]
    lines: list[Line]
    swept: list[str]  # the fields along its sides

    @property
    def several(self) -> bool:
        return len(self.lines) > 1 or bool(self.lines and self.lines[0].values)


def newest(runs: Sequence[Run]) -> list[Run]:
    """Of the runs of one place, the last."""
    found: dict[tuple[int, str], Run] = {}
    for run in runs:
        found[run.column, run.coordinates] = run
    return list(found.values())


def grids(comparison: Comparison, runs: Sequence[Run]) -> list[Grid]:
    """One grid; with two swept fields one for each column of the form."""
    axes = comparison.axes_value
    fields: list[str] = axes.get("fields", [])
    kept = newest(runs)
    differ = apart_in(comparison, kept)
    if len(fields) < 2:
        return [_grid(kept, axes, fields, differ)] if kept else []
    columns = sorted({run.column for run in kept})
    each = ([run for run in kept if run.column == column] for column in columns)
    return [_grid(runs, axes, fields, differ) for runs in each]


def _grid(
    runs: Sequence[Run], axes: dict[str, Any], fields: Sequence[str], differ: dict[int, Apart]
) -> Grid:
    """The first of two fields runs down, the last one across, rows of variables down."""
    down = fields[:-1]
    tops: dict[Any, Top] = {}
    lines: dict[Any, tuple[int | None, tuple[Pair, ...]]] = {}
    stacks: dict[Any, Stack] = {}
    for run in runs:
        place = run.place
        across = _pairs(place, fields[-1:])
        top, line = (run.column, across), (place.row, _pairs(place, down))
        tops.setdefault(top, Top(run, across, differ.get(run.column, Apart())))
        lines.setdefault(line, (place.row, _row_pairs(axes, place.row) + line[1]))
        stacks.setdefault((line, top), Stack(name=name_of(run))).runs.append(run)
    order = sorted(tops, key=lambda top: (top[0], list(tops).index(top)))
    keys = sorted(lines, key=lambda line: -1 if line[0] is None else line[0])
    return Grid(
        tops=[tops[top] for top in order],
        lines=[
            Line(lines[line][1], lines[line][0], [stacks.get((line, top)) for top in order])
            for line in keys
        ],
        swept=list(fields),
    )


def _pairs(place: Place, fields: Sequence[str]) -> tuple[Pair, ...]:
    return tuple((path, place.values[path]) for path in fields if path in place.values)


def _row_pairs(axes: dict[str, Any], row: int | None) -> tuple[Pair, ...]:
    rows: list[dict[str, str]] = axes.get("rows", [])
    return tuple(rows[row].items()) if row is not None and row < len(rows) else ()


def name_of(run: Run) -> str:
    """Of a cell and its repeats, for whoever hears it: `Column A, temperature 0.4, row 2`."""
    return ", ".join([f"Column {run.letter}", *run.place.without_repeat.words])


def room_of(run: Run) -> int:
    """How many runs of its connection go at once."""
    parallel = run.connection.parallel if run.connection else None
    return min(parallel or settings.RUNS_AT_ONCE, settings.RUNS_AT_ONCE)


@require_GET
def cells(request: Request) -> HttpResponse:
    """Cells of a grid, each swapped into its own place.

    `?cells=1,2` one run each; `?stacks=3` all repeats of the thing that this run is one of.
    """
    alone, piled = (numbers_of(request, name, MOST_IDS) for name in ("cells", "stacks"))
    visible = Run.objects.visible_to(request.user)
    found = list(light(visible.filter(pk__in=alone + piled).select_related("comparison")))
    noticed(request.user, found)
    context = {
        "stacks": list(_stacks([run for run in found if run.pk in piled], visible)),
        "alone": [_alone(run) for run in found if run.pk in alone],
    }
    return render(request, "runs/_cells.html", context)


def _alone(run: Run) -> tuple[Run, Stack]:
    return run, Stack([run], name_of(run))


def _stacks(runs: Sequence[Run], visible: Any) -> Iterator[Stack]:
    """Each once, with all its repeats."""
    for comparison in {run.comparison_id: run.comparison for run in runs}.values():
        mine = [run for run in runs if run.comparison_id == comparison.pk]
        spots = {run.place.spot for run in mine}
        places = visible.filter(comparison=comparison, column__in={run.column for run in mine})
        ids = [
            run.pk for run in places.only("pk", "column", "coordinates") if run.place.spot in spots
        ]
        piles: dict[Any, Stack] = {}
        for run in newest(light(visible.filter(pk__in=ids))):
            stack = piles.setdefault(run.place.spot, Stack(name=name_of(run)))
            stack.runs.append(run)
        yield from piles.values()
