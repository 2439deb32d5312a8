"""Pairs of values that servers dislike, said before the run; and one setting with two meanings."""

from collections.abc import Mapping
from typing import Any

from playground.parameters import Api, parameter


def logprobs_as_switch(api: Api, raw_values: Mapping[str, Any]) -> Mapping[str, Any]:
    """An integer `logprobs` where this API has a switch and `top_logprobs` instead."""
    raw = raw_values.get("logprobs")
    support = parameter("logprobs").support(api)
    number = type(raw) is int or (isinstance(raw, str) and raw.strip().isdecimal())
    if not number or support is None or support.kind.widget != "flag":
        return raw_values
    return {"top_logprobs": raw, **raw_values, "logprobs": True}


def doubts(api: Api, values: Mapping[str, Any]) -> list[tuple[bool, str]]:
    """(whether it is so, the sentence)…; such a request is sent all the same."""

    def over_one(path: str) -> bool:
        value = values.get(path)
        return isinstance(value, int) and value > 1

    streams = values.get("stream") is True
    greedy = values.get("temperature") == 0 and over_one("n")
    return [
        (
            streams and over_one("best_of"),
            "best_of: OpenAI's API cannot stream with best_of above 1.",
        ),
        (
            "top_logprobs" in values and not values.get("logprobs") and api.operation == "chat",
            "top_logprobs: servers refuse it without logprobs.",
        ),
        (
            greedy and api.dialect == "vllm",
            "n: vLLM refuses n above 1 at temperature 0.",
        ),
        (
            bool(values.get("tool_choice")) and not values.get("tools"),
            "tool_choice: servers refuse it without tools.",
        ),
        (
            "stream_options.include_usage" in values and not streams,
            "stream_options: servers refuse it without stream.",
        ),
    ]
