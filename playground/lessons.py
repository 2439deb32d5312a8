"""What a backend did with what it was asked: differences between a request and its answer.

Pure: a request and its outcome in, lessons out. What is remembered of them is in `models/lessons`.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from playground.completion import CompletionRequest, ErrorKind
from playground.outcome import ChoiceResult, Outcome
from playground.parameters import for_api

IGNORED = "ignored"
REFUSED = "refused"
REFUSALS = (ErrorKind.BAD_REQUEST, ErrorKind.UPSTREAM_ERROR)


class Lesson(NamedTuple):
    """One thing that was asked for and did not happen. `path`: of the table, or "model"."""

    path: str
    kind: str  # ignored or refused
    sentence: str


def lessons_of(request: CompletionRequest, outcome: Outcome) -> list[Lesson]:
    """From an answer that completed."""
    values = request.values
    found = [
        _fewer_choices(request, outcome.choices),
        _no_echo(request, outcome.choices),
        _no_logprobs(request, outcome.choices),
        _other_model(request, outcome.meta),
        _too_long(request, outcome),
        _not_stopped(values, outcome.choices),
        _no_usage(values, outcome.usage),
    ]
    return [Lesson(path, IGNORED, sentence) for path, sentence in filter(None, found)]


def lessons_of_refusal(request: CompletionRequest, kind: str, message: str) -> list[Lesson]:
    """From an error that names parameters that were set."""
    if kind not in REFUSALS:
        return []
    wire = {row.path: support.name for row, support in for_api(request.api)}
    named = [
        path
        for path in request.values
        if len(path) > 1 and any(_names(message, name) for name in (path, wire.get(path, path)))
    ]
    return [Lesson(path, REFUSED, message[:300]) for path in named if path != "stream"]


def _names(message: str, path: str) -> bool:
    last = re.escape(path.rpartition(".")[2])
    return bool(re.search(rf"(?<![\w]){last}(?![\w])", message))


Found = tuple[str, str] | None


def _fewer_choices(request: CompletionRequest, choices: Sequence[ChoiceResult]) -> Found:
    prompts = len(request.prompt) if _is_batch(request.prompt) else 1
    for path in ("n", "n_cmpl"):
        asked = request.values.get(path)
        if isinstance(asked, int) and len(choices) < asked * prompts:
            return path, f"{asked * prompts} choices were asked for, {len(choices)} came back."
    return None


def _is_batch(prompt: Any) -> bool:
    return isinstance(prompt, list) and not all(isinstance(each, int) for each in prompt)


def _no_echo(request: CompletionRequest, choices: Sequence[ChoiceResult]) -> Found:
    prompt = request.prompt
    if request.values.get("echo") is not True or not isinstance(prompt, str) or not choices:
        return None
    if prompt and not choices[0].text.startswith(prompt):
        return "echo", "The prompt did not come back in front of the text."
    return None


def _no_logprobs(request: CompletionRequest, choices: Sequence[ChoiceResult]) -> Found:
    asked = request.values.get("logprobs")
    if asked is None or asked is False or not any(choice.text for choice in choices):
        return None
    if request.dialect == "llama.cpp" and isinstance(asked, int) and asked <= 0:
        return None  # there it means none; elsewhere the tokens without alternatives
    if any(choice.logprobs for choice in choices):
        return None
    return "logprobs", "No token probabilities came back."


def _other_model(request: CompletionRequest, meta: Mapping[str, Any]) -> Found:
    answered = meta.get("model")
    if not request.model or not isinstance(answered, str) or answered == request.model:
        return None
    if request.provider == "pulze" and _routed(request.model, answered):
        return None
    return "model", f"{request.model} was asked for, {answered} answered."


def _routed(asked: str, answered: str) -> bool:
    """Pulze picks among all models (its own name), or among those that a part of a name fits."""
    return bool(re.fullmatch(r"pulze(-v[0-9.]+)?", asked)) or asked in answered


def _too_long(request: CompletionRequest, outcome: Outcome) -> Found:
    limit = request.values.get("max_tokens")
    tokens = (outcome.usage or {}).get("completion_tokens")
    if not isinstance(limit, int) or limit <= 0 or not isinstance(tokens, int):
        return None
    written = (1, len(outcome.choices), request.values.get("best_of"))  # all are counted
    if tokens <= limit * max(each for each in written if isinstance(each, int)):
        return None
    return "max_tokens", f"At most {limit} tokens were asked for, {tokens} came back."


def _not_stopped(values: Mapping[str, Any], choices: Sequence[ChoiceResult]) -> Found:
    # Before the least number of tokens no stop sequence counts.
    if any(values.get(name) for name in ("include_stop_str_in_output", "echo", "min_tokens")):
        return None
    stops = values.get("stop") if isinstance(values.get("stop"), list) else []
    for stop in stops or ():
        if any(stop and stop in choice.text for choice in choices):
            return "stop", f"The text goes on after {stop!r}."
    return None


def _no_usage(values: Mapping[str, Any], usage: Mapping[str, Any] | None) -> Found:
    if values.get("stream_options.include_usage") is True and usage is None:
        return "stream_options.include_usage", "No usage came back."
    return None
