"""What the search keeps of one run: the beginning of its texts, their words, and facts about it."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from django.db import connection

from playground.completion import CompletionRequest, storable
from playground.models.facts import RunFact
from playground.models.runs import Run
from playground.words import fold, words_of

MOST_BYTES = 100_000  # of the folded prompt, and of the folded output
MOST_CHOICES = 20  # outputs of one run that are searched
MOST_FACTS = 60  # of one run and source
DEEPEST = 4  # levels of an answer's metadata
# In plain SQL: for each run that ends, the ORM takes longer than the database.
OUTPUTS = """
SELECT substr(text, 1, %s), substr(tool_calls, 1, %s), finish_reason, substr(reasoning, 1, 1),
       length(packed_logprobs)
FROM playground_choice WHERE run_id = %s ORDER BY "index" LIMIT %s
"""


class Entry(NamedTuple):
    """What the search keeps of one run."""

    run: int
    text: str
    words: str
    facts: list[RunFact]

    @classmethod
    def of(cls, run: Run) -> "Entry":
        """Reads its request, answer and outputs. ValueError and RecursionError of its own data."""
        request = run.request_value()
        outputs = _outputs(run)
        parts = (part for output in outputs for part in (output.text, output.tool_calls) if part)
        text = searched_text(request.prompt_text(), "\n".join(parts))
        facts = [*_asked(request), *_answered(run, outputs)]
        words = stored_words(run.team_id, text)
        return cls(run.pk, text, words, [fact.of(run.pk) for fact in facts])


class Output(NamedTuple):
    """The start of an output; a long one is not read whole."""

    text: str
    tool_calls: str
    finish_reason: str | None
    reasoning: str
    logprobs: int  # bytes


def _outputs(run: Run) -> list[Output]:
    with connection.cursor() as cursor:
        cursor.execute(OUTPUTS, [MOST_BYTES, MOST_BYTES, run.pk, MOST_CHOICES])
        return [Output(*row) for row in cursor.fetchall()]


def searched_text(prompt: str, output: str) -> str:
    """Folded, the first 100 kB of each."""
    return f"{_start(fold(storable(prompt)))}\n{_start(fold(output))}"


def stored_words(team_id: int, text: str) -> str:
    return " ".join([f"_t{team_id}", *words_of(text)])


def _start(text: str) -> str:
    if len(text) * 4 <= MOST_BYTES:
        return text
    return text.encode()[:MOST_BYTES].decode(errors="ignore")


def _asked(request: CompletionRequest) -> list[RunFact]:
    found = {**request.values, **request.extra}
    unsent = set(request.not_sent())
    said = [(path, value) for path, value in found.items() if path not in unsent]
    inner = [each for path, value in said if isinstance(value, dict) for each in _flat(path, value)]
    return [RunFact.said(RunFact.Source.PARAMETER, *each) for each in [*said, *inner][:MOST_FACTS]]


def _answered(run: Run, outputs: Sequence[Output]) -> list[RunFact]:
    metadata = {k: v for k, v in run.metadata_value.items() if k not in ("raw", "raw_cut")}
    found = [*_flat("", metadata), *_flat("usage", run.usage_value or {})]
    reasons = {output.finish_reason for output in outputs}
    found += [("finish_reason", reason) for reason in reasons if reason]
    found += [("has", what) for what in _has(run, outputs)]
    return [RunFact.said(RunFact.Source.ANSWER, *each) for each in found[:MOST_FACTS]]


def _has(run: Run, outputs: Sequence[Output]) -> Iterator[str]:
    """What `has:` looks for."""
    if run.error_kind:
        yield "error"
    if run.warnings:
        yield "warning"
    if any(output.reasoning for output in outputs):
        yield "reasoning"
    if any(output.tool_calls for output in outputs):
        yield "tools"
    if any(output.logprobs for output in outputs):
        yield "logprobs"


def _flat(prefix: str, value: Any, level: int = 0) -> Iterator[tuple[str, Any]]:
    """`a.b` and its value, of every plain value."""
    if isinstance(value, dict) and level < DEEPEST:
        for key, inner in value.items():
            yield from _flat(f"{prefix}.{key}" if prefix else str(key), inner, level + 1)
    elif value is not None and not isinstance(value, dict | list):
        yield prefix, value
