"""What a completion came to: the events of its answer, assembled.

Standard library only, besides `completion`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
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
    usages: list[Mapping[str, Json]] = field(default_factory=list)  # of choices, each its own


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
        outcome.usages = _each_its_own(finish_usages, len(choices))
    if outcome.usages:
        outcome.usage = summed(outcome.usages)
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
    function = delta.get("function")
    if position is None:  # a whole call, or more of the arguments of the last one
        named = delta.get("id") or not isinstance(function, Mapping) or function.get("name")
        position = calls[-1]["index"] if calls and not named else len(calls)
    found = next((call for call in calls if call["index"] == position), None)
    if found is None:
        found = {"index": position, "function": {"name": "", "arguments": ""}}
        calls.append(found)
    for name in ("id", "type"):
        if delta.get(name):
            found[name] = delta[name]
    if isinstance(function, Mapping):
        for name in ("name", "arguments"):
            found["function"][name] += str(function.get(name) or "")


def _each_its_own(
    per_choice: Mapping[int, list[dict[str, Json]]], choices: int
) -> list[Mapping[str, Json]]:
    """In index order, where each of several choices carries a usage exactly once (llama.cpp)."""
    if len(per_choice) < 2 or len(per_choice) != choices:
        return []
    found = [per_choice[index] for index in sorted(per_choice)]
    return [each[0] for each in found] if all(len(each) == 1 for each in found) else []


def summed(usages: Sequence[Mapping[str, Json]], prompts: int = 1) -> dict[str, Json]:
    """One usage of those of all choices: each prompt counts once, however often it is answered."""
    first = usages[:: max(1, len(usages) // max(1, prompts))]
    completion = sum(_count(usage, "completion_tokens") for usage in usages)
    prompt = sum(_count(usage, "prompt_tokens") for usage in first)
    found = {
        **usages[-1],
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    details = [usage.get("prompt_tokens_details") for usage in first]
    if any(isinstance(each, Mapping) and "cached_tokens" in each for each in details):
        cached = sum(_count(each, "cached_tokens") for each in details if isinstance(each, Mapping))
        found["prompt_tokens_details"] = {"cached_tokens": cached}
    return found


def _count(usage: Mapping[str, Json], name: str) -> int:
    value = usage.get(name)
    return int(value) if isinstance(value, int | float) and math.isfinite(value) else 0
