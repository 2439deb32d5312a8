"""Where the words of a search stand in the rows that it has found."""

import re
from collections.abc import Iterable, Mapping, Sequence

from django.db.models.functions import Left

from playground.completion import CompletionRequest
from playground.excerpts import excerpt, opening, pattern
from playground.models import Choice, Run
from playground.models.entries import MOST_BYTES, MOST_CHOICES
from playground.models.runs import letter
from playground.query import Query
from playground.views.rows import ROOM, Row

PROMPT = "Prompt"


def mark(rows: Sequence[Row], query: Query, hits: Mapping[int, int] | None = None) -> None:
    """Mark what was found: in what rows show anyway, else in a piece of the text that has it.

    `hits`: {run or comparison of a row: the run that was found}; without it the runs that the row
    names are looked through. Whole texts are read only for rows that show nothing of it.
    """
    sought = pattern(query.words, query.literals)
    if sought is None:
        return
    elsewhere: list[tuple[Row, list[int]]] = []  # with the runs to look through
    for row in rows:
        row.name = opening(row.prompt, sought, ROOM)
        row.line = opening(row.runs[0].output_preview, sought, ROOM)
        if not any(part.found for part in (*row.name, *row.line)):
            hit = (hits or {}).get(row.runs[0].pk if row.single else row.comparison.pk)
            elsewhere.append((row, [hit] if hit else [run.pk for run in row.runs]))
    texts = _texts([run for _, runs in elsewhere for run in runs])
    for row, runs in elsewhere:
        _quote(row, [each for run in runs for each in texts.get(run, ())], sought)


def _quote(row: Row, texts: Iterable[tuple[str, str]], sought: re.Pattern[str]) -> None:
    """The first of these texts that has it takes the place of the output."""
    for what, text in texts:
        if found := excerpt(text, sought, ROOM):
            row.line = found
            row.within = what if what == PROMPT or row.count > 1 else ""
            return


def _texts(runs: Sequence[int]) -> dict[int, list[tuple[str, str]]]:
    """{run: (what it is, text) of its prompt and its outputs}, as far as the search reads them."""
    found: dict[int, list[tuple[str, str]]] = {}
    if not runs:
        return found
    columns = {}
    rows = Run.objects.filter(pk__in=runs).values_list("pk", "column", "request")
    for pk, column, request in rows:
        columns[pk] = f"Output {letter(column)}"
        prompt = CompletionRequest.from_json(request).prompt_text()
        found[pk] = [(PROMPT, prompt[:MOST_BYTES])]
    choices = Choice.objects.filter(run__in=found, index__lt=MOST_CHOICES).order_by("index")
    texts = (Left("text", MOST_BYTES), Left("tool_calls", MOST_BYTES))
    for pk, *outputs in choices.values_list("run", *texts):
        found[pk] += [(columns[pk], text) for text in outputs]
    return found
