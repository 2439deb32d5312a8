"""What a completion came to: the events of its answer, assembled.

Standard library only, besides `completion`.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from playground.completion import TEXT_KINDS, Json


@dataclass
class ChoiceResult:
    """One output, as `fold` assembles it."""

    index: int
    text: str = ""
    reasoning: str = ""
    tool_calls: list[Json] = field(default_factory=list)
    finish_reason: str | None = None
    logprobs: list[Json] = field(default_factory=list)
    timeline: list[list[float]] = field(default_factory=list)  # [[ms, characters]…] of the text


@dataclass
class Outcome:
    """Everything that came back: choices in index order, usage, metadata, warnings."""

    choices: list[ChoiceResult] = field(default_factory=list)
    usage: dict[str, Json] | None = None
    meta: dict[str, Json] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    first_token_ms: float | None = None


def fold(rows: Iterable[list[Json]]) -> Outcome:
    """Rows of `Batch.to_list()` in order → what they say. The only assembler."""
    outcome = Outcome()
    choices: dict[int, ChoiceResult] = {}
    texts: dict[tuple[int, str], list[str]] = {}
    finish_usages: dict[int, list[dict[str, Json]]] = {}
    later_usage = False
    for kind, index, data, at in rows:
        if kind in TEXT_KINDS:
            choice = choices.setdefault(index, ChoiceResult(index))
            texts.setdefault((index, kind), []).append(data)
            if kind == "text":
                choice.timeline += at
            first = at[0][0]
            if outcome.first_token_ms is None or first < outcome.first_token_ms:
                outcome.first_token_ms = first
        elif kind == "usage":
            outcome.usage = data
            if index < 0:
                later_usage = True
            else:
                finish_usages.setdefault(index, []).append(data)
        elif kind == "meta":
            outcome.meta.update(data)
        elif kind == "warning":
            outcome.warnings.append(data)
        else:
            _apply(choices.setdefault(index, ChoiceResult(index)), kind, data)
    for (index, kind), pieces in texts.items():
        setattr(choices[index], kind, "".join(pieces))
    outcome.choices = [choices[index] for index in sorted(choices)]
    if not later_usage:
        outcome.usage = _summed(finish_usages, outcome.usage, len(choices))
    return outcome


def _apply(choice: ChoiceResult, kind: str, data: Json) -> None:
    if kind == "finish":
        choice.finish_reason = data
    elif kind == "logprobs":
        choice.logprobs += data
    elif kind == "tool_call":
        for delta in data:
            _merge_tool_call(choice.tool_calls, delta)


def _merge_tool_call(calls: list[Json], delta: Mapping[str, Json]) -> None:
    """Deltas of one call share an index; names and arguments come in pieces."""
    position = delta.get("index")
    if position is None:
        position = len(calls)
    found = next((call for call in calls if call["index"] == position), None)
    if found is None:
        found = {"index": position, "function": {"name": "", "arguments": ""}}
        calls.append(found)
    for name in ("id", "type"):
        if delta.get(name):
            found[name] = delta[name]
    function = delta.get("function")
    if isinstance(function, Mapping):
        for name in ("name", "arguments"):
            found["function"][name] += str(function.get(name) or "")


def _summed(
    per_choice: dict[int, list[dict[str, Json]]], last: dict[str, Json] | None, choices: int
) -> dict[str, Json] | None:
    """The last usage; where each choice carries its own exactly once (llama.cpp), summed."""
    if len(per_choice) < 2 or len(per_choice) != choices:
        return last
    if any(len(found) != 1 for found in per_choice.values()):
        return last
    usages = [found[0] for found in per_choice.values()]
    completion = sum(_count(usage, "completion_tokens") for usage in usages)
    prompt = _count(usages[0], "prompt_tokens")
    return {
        **usages[-1],
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }


def _count(usage: Mapping[str, Json], name: str) -> int:
    value = usage.get(name)
    return int(value) if isinstance(value, int | float) and math.isfinite(value) else 0
