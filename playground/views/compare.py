"""Any two or more past runs side by side: what differs in their settings, figures against a
baseline, and their prompts and outputs by words. All of its state is in its address.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET

from playground.completion import RunStatus
from playground.costs import dollars
from playground.models import Choice, Run
from playground.parameters import Json
from playground.templatetags.playground_tags import backend, duration, speed, status_word
from playground.views import Request, is_id
from playground.views.apart import apart, settings_of
from playground.views.difference import shown as difference_of
from playground.views.selection import ids_of, noticed, rows_of

MOST = 12  # runs side by side
LONGEST = 400  # characters of a value in the table
QUIET = ("stream", "stream_options.include_usage")


@dataclass(frozen=True)
class Cell:
    text: str  # "" where there is nothing
    delta: str = ""  # against the baseline
    best: bool = False
    base: bool = False
    note: str = ""  # what the delta means, in words


@dataclass(frozen=True)
class Line:
    name: str
    cells: list[Cell]
    path: bool = False  # the name is a parameter's

    @property
    def differs(self) -> bool:
        return len({cell.text for cell in self.cells}) > 1


@dataclass(frozen=True)
class Figure:
    """A metric of a run; `lower` says whether less is better, None where neither is."""

    name: str
    of: Callable[[Run], Any]
    say: Callable[[Any], str]
    lower: bool | None = None


def _count(value: int) -> str:
    return f"{value:,}"


def _money(value: Decimal) -> str:
    return "free" if value == 0 else dollars(value)


FIGURES = (
    Figure("First token", lambda run: run.first_token_ms, duration, lower=True),
    Figure("Total", lambda run: run.total_ms, duration, lower=True),
    Figure("Speed", lambda run: run.tokens_per_second, speed, lower=False),
    Figure("Tokens in", lambda run: run.prompt_tokens, _count),
    Figure("Tokens out", lambda run: run.completion_tokens, _count),
    Figure("Cost", lambda run: run.cost, _money, lower=True),
)


@require_GET
def compare(request: Request) -> HttpResponse:
    """`rows`: selected rows, in this order; `base`: the baseline, else the first; `only`: what
    differs. A comparison among the rows becomes its runs, in the address too."""
    rows = rows_of(request.GET)
    ids = ids_of(request.user, rows)
    if len(ids) > MOST or "row" in request.GET or any(each.startswith("comp") for each in rows):
        if not ids:
            raise Http404
        state = {"rows": _rows(ids[:MOST]), **({"of": len(ids)} if len(ids) > MOST else {})}
        return redirect(f"{request.path}?{urlencode(state, safe=',')}")
    by_id = Run.objects.select_related("author", "comparison").in_bulk(ids)
    runs = [by_id[pk] for pk in ids]
    if rows and not runs:
        raise Http404
    noticed(request.user, runs)
    typed = request.GET.get("base", "")
    base = next((run for run in runs if str(run.pk) == typed), runs[0] if runs else None)
    only = request.GET.get("only") == "1"
    context: dict[str, Any] = {"runs": runs, "base": base, "only": only, "most": MOST}
    of = request.GET.get("of", "")
    context["missing"] = len(rows) - len(runs)
    context["of"] = int(of) if is_id(of) else 0
    if base is not None and len(runs) > 1:
        context |= {
            "heads": [_head(run, runs, base, only) for run in runs],
            "tables": tables(runs, base, only),
            "texts": texts(runs, base),
            "switch": _address(runs, base, not only),
        }
    return render(request, "compare.html", context)


def _rows(ids: Sequence[int]) -> str:
    return ",".join(f"run-{pk}" for pk in ids)


def _address(runs: Sequence[Run], base: Run, only: bool) -> str:
    state = {"rows": _rows([run.pk for run in runs]), "base": str(base.pk)}
    return "?" + urlencode({**state, "only": "1"} if only else state, safe=",")


def _head(run: Run, runs: Sequence[Run], base: Run, only: bool) -> dict[str, Any]:
    """The head of a column, with the addresses that change the page."""
    at = list(runs).index(run)

    def moved(step: int) -> str:
        others = [each for each in runs if each is not run]
        others.insert(at + step, run)
        return _address(others, base, only)

    rest = [each for each in runs if each is not run]
    base_of_rest = base if run is not base else rest[0]
    return {
        "run": run,
        "is_base": run is base,
        "base": _address(runs, run, only),
        "left": moved(-1) if at else "",
        "right": moved(1) if at < len(runs) - 1 else "",
        "without": _address(rest, base_of_rest, only) if len(runs) > 2 else "",
    }


def tables(runs: Sequence[Run], base: Run, only: bool) -> list[dict[str, Any]]:
    asked = [run.request_value() for run in runs]
    values = [{**each.values, **each.extra} for each in asked]
    paths = list(dict.fromkeys(path for each in values for path in each if path not in QUIET))
    settings = [
        Line(path, [Cell(_said(each[path]) if path in each else "") for each in values], path=True)
        for path in paths
    ]
    request = [
        Line("Model", [Cell(run.model) for run in runs]),
        Line("Connection", [Cell(run.connection_name) for run in runs]),
        Line("Backend", [Cell(backend(run)) for run in runs]),
        Line(
            "Operation", [Cell("chat" if run.operation == "chat" else "completion") for run in runs]
        ),
        *settings,
    ]
    answer = [
        Line("Status", [Cell(status_word(run.status)) for run in runs]),
        Line("Finish reason", [Cell(each) for each in _finishes(runs)]),
        Line("Rating", [Cell(f"{run.rating:.1f}" if run.rating else "") for run in runs]),
    ]
    figures = [figure_line(figure, runs, base) for figure in FIGURES]
    found = [("Request", request), ("Answer", answer), ("Figures", figures)]
    return [
        {"name": name, "lines": [line for line in lines if line.differs or not only]}
        for name, lines in found
    ]


def _said(value: Any) -> str:
    text = Json("any").text(value)
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def _finishes(runs: Sequence[Run]) -> list[str]:
    rows = Choice.objects.filter(run__in=[run.pk for run in runs]).order_by("index")
    reasons: dict[int, list[str]] = {}
    for pk, reason in rows.values_list("run", "finish_reason"):
        reasons.setdefault(pk, []).append(reason or "none")
    return [", ".join(dict.fromkeys(reasons.get(run.pk, []))) for run in runs]


def figure_line(figure: Figure, runs: Sequence[Run], base: Run) -> Line:
    """With the difference from the baseline; the best one is marked where they differ.

    Only among answers that came whole: one that failed at once is not the fastest.
    """
    values = {run: figure.of(run) if run.status == RunStatus.COMPLETED else None for run in runs}
    known = [value for value in values.values() if value is not None]
    best = ""
    if figure.lower is not None and len({figure.say(value) for value in known}) > 1:
        best = figure.say(min(known) if figure.lower else max(known))
    cells = []
    for run, value in values.items():
        had = figure.of(run)
        text = figure.say(had) if had is not None else ""
        delta, note = delta_of(value, values[base], figure) if run is not base else ("", "")
        is_best = value is not None and text == best
        cells.append(Cell(text, delta, is_best, run is base, note))
    return Line(figure.name, cells)


def delta_of(value: Any, start: Any, figure: Figure) -> tuple[str, str]:
    """("+0.3 s, +12 %", "worse"); empty where one of the two is not known."""
    if value is None or start is None:
        return "", ""
    change = value - start
    if figure.say(abs(change)) == figure.say(change * 0):  # less than what is shown
        return "same", ""
    sign = "+" if change > 0 else "−"
    parts = [f"{sign}{figure.say(abs(change))}"]
    if start:
        share = abs(change) / start * 100
        parts.append(f"{sign}{share:.0f} %" if share >= 1 else f"{sign}{share:.1f} %")
    note = ""
    if figure.lower is not None:
        note = "better" if (change < 0) == figure.lower else "worse"
    return ", ".join(parts), note


def texts(runs: Sequence[Run], base: Run) -> list[dict[str, Any]]:
    """Prompt and first output of each run beside the baseline's, by words."""
    asked = {run.pk: run.request_value() for run in runs}
    prompts = {pk: each.prompt_text() for pk, each in asked.items()}
    outputs = dict.fromkeys(prompts, "")
    rows = Choice.objects.filter(run__in=outputs, index=0)
    outputs |= dict(rows.values_list("run", "text"))
    differ = apart([settings_of(asked[run.pk]) for run in runs])
    settings = dict(zip(asked, differ, strict=True))
    others = [run for run in runs if run is not base]
    same = all(prompts[run.pk] == prompts[base.pk] for run in others)
    return [
        {
            "run": run,
            "apart": settings[run.pk],
            "prompt": None if same else difference_of(prompts[base.pk], prompts[run.pk]),
            "output": difference_of(outputs[base.pk], outputs[run.pk]),
        }
        for run in others
    ]
