"""A comparison as a table: a line for each row of values or prompt, a column for each answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Prefetch
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from playground.answers import first_token, in_order
from playground.completion import CompletionRequest, RunStatus
from playground.models import Choice, Comparison, Run
from playground.plan import prompts_of
from playground.probabilities import visible
from playground.tables import csv_of
from playground.views import Request
from playground.views.apart import apart_in
from playground.views.grid import Pair, newest
from playground.views.selection import noticed

MOST_LINES = 200  # that a page shows; the CSV has all
MOST_TOKENS = 6  # of a distribution that a cell shows


@dataclass
class Answer:
    """One output; or a run that gave none, with its status as the text."""

    run: Run
    text: str
    ended: bool = True
    tokens: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Head:
    letter: str
    values: tuple[Pair, ...] = ()
    number: int | None = None  # from 1, of a repeat or of one of several outputs

    @property
    def name(self) -> str:
        parts = [self.letter, *(f"{path} {text}" for path, text in self.values)]
        return " ".join(parts + ([f"#{self.number}"] if self.number else []))


@dataclass
class Line:
    number: int
    values: tuple[str, ...]  # in the order of the table's names
    answers: dict[Head, Answer] = field(default_factory=dict)


@dataclass
class Table:
    names: list[str]
    heads: list[Head]
    lines: list[Line]
    tokens: list[str]  # of all answers, the likeliest first

    def cells(self, line: Line) -> list[Answer | None]:
        return [line.answers.get(head) for head in self.heads]


def table_of(
    comparison: Comparison, runs: Sequence[Run], tokens: bool = True, merge: bool = False
) -> Table:
    """`tokens`: read the probabilities too."""
    axes = comparison.axes_value
    rows: list[dict[str, str]] = axes.get("rows", [])
    listed = False
    lines: dict[Any, Line] = {}
    heads: dict[Head, None] = {}
    names: list[str] = list(axes.get("names", [])) if rows else []
    kept = newest(runs)
    differ = apart_in(comparison, kept)
    for run in kept:
        place = run.place
        asked = run.request_value()
        prompts = asked.prompt if prompts_of(asked) > 1 else None
        listed = listed or prompts is not None
        values = rows[place.row] if place.row is not None and place.row < len(rows) else {}
        for at, number, answer in _answers(run, asked, tokens, merge):
            key = (place.row or 0, at)
            if key not in lines:
                given = tuple(values.get(name, "") for name in names)
                said = (str(prompts[at]),) if prompts else ()
                lines[key] = Line(0, given + said)
            own = differ[run.column].words if run.column in differ else []
            head = Head(run.letter, (*own, *place.values.items()), number)
            heads[head] = None
            lines[key].answers[head] = answer
    ordered = [lines[key] for key in sorted(lines)]
    for number, line in enumerate(ordered, 1):
        line.number = number
    names = [*names, "prompt"] if listed else names
    found = [answer.tokens for line in ordered for answer in line.answers.values()]
    # Columns in the order of their letters; within one as they were asked.
    order = sorted(heads, key=lambda head: (len(head.letter), head.letter))
    return Table(names, order, ordered, in_order(found))


def _answers(
    run: Run, asked: CompletionRequest, with_tokens: bool, merge: bool
) -> Iterator[tuple[int, int | None, Answer]]:
    """(index of the prompt, number among several, answer) of each output."""
    choices = list(run.choices.all())
    prompts = prompts_of(asked)
    each = max(1, -(-len(choices) // prompts))  # outputs of one prompt
    repeat = run.place.repeat
    if not choices:
        text = "" if run.live else run.error_message or str(RunStatus(run.status))
        for at in range(prompts):
            yield at, None if repeat is None else repeat + 1, Answer(run, text, ended=False)
    for choice in choices:
        at, k = divmod(choice.index, each)
        # With echo the first token is the prompt's.
        wanted = with_tokens and not asked.values.get("echo")
        tokens = first_token(choice.logprobs, merge) if wanted else {}
        number = None if repeat is None and each == 1 else (repeat or 0) * each + k + 1
        yield min(at, prompts - 1), number, Answer(run, choice.text, True, tokens)


@require_GET
def table(request: Request, pk: int) -> HttpResponse:
    """`?what=tokens` the first tokens of the answers; `?merge=1` " Yes" and "yes" as one."""
    found = get_object_or_404(Comparison.objects.visible_to(request.user), pk=pk)
    made, tokens, merge = _made(request, found)
    context = {
        "comparison": found,
        "title": found.title,
        "table": made,
        "lines": [(line, made.cells(line)) for line in made.lines[:MOST_LINES]],
        "tokens": tokens,
        "merge": merge,
        "shown": made.tokens[:MOST_TOKENS],
        "live": any(answer.run.live for line in made.lines for answer in line.answers.values()),
    }
    return render(request, "table.html", context)


@require_GET
def export(request: Request, pk: int) -> HttpResponse:
    """The same as CSV; no cell begins as a formula."""
    found = get_object_or_404(Comparison.objects.visible_to(request.user), pk=pk)
    made, tokens, _ = _made(request, found)
    rows = _token_rows(made) if tokens else _text_rows(made)
    response = HttpResponse(csv_of(rows), content_type="text/csv; charset=utf-8")
    name = f"run-{found.pk}-{'tokens' if tokens else 'outputs'}.csv"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _made(request: Request, found: Comparison) -> tuple[Table, bool, bool]:
    tokens, merge = request.GET.get("what") == "tokens", request.GET.get("merge") == "1"
    choices = Choice.objects.defer("packed_timeline", "tool_calls")
    if not tokens:
        choices = choices.defer("packed_logprobs")
    runs = Run.objects.visible_to(request.user).filter(comparison=found)
    runs = runs.prefetch_related(Prefetch("choices", queryset=choices)).order_by("position", "pk")
    noticed(request.user, list(runs))
    return table_of(found, list(runs), tokens, merge), tokens, merge


def _text_rows(made: Table) -> Iterator[list[object]]:
    yield ["row", *made.names, *(head.name for head in made.heads)]
    for line in made.lines:
        yield [line.number, *line.values, *(each.text if each else "" for each in made.cells(line))]


def _token_rows(made: Table) -> Iterator[list[object]]:
    """A column for each token of each answer, with its probability."""
    pairs = [
        (head, token)
        for head in made.heads
        for token in made.tokens
        if any(token in line.answers[head].tokens for line in made.lines if head in line.answers)
    ]
    yield ["row", *made.names, *(f"{head.name}: {visible(token)}" for head, token in pairs)]
    for line in made.lines:
        yield [line.number, *line.values, *(_share(line, head, token) for head, token in pairs)]


def _share(line: Line, head: Head, token: str) -> object:
    answer = line.answers.get(head)
    return round(answer.tokens[token], 6) if answer and token in answer.tokens else ""
