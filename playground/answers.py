"""The first token of an answer as a distribution, and several of them in one order.

Standard library only. A distribution is {token: probability from 0 to 1}.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

NEVER = -9000  # a log probability below: how vLLM writes minus infinity


def first_token(logprobs: Sequence[Mapping[str, Any]], merge: bool = False) -> dict[str, float]:
    """Of the candidates for the first token, the likeliest first; {} where none came.

    `merge` takes tokens for the same that differ in white space around them or in case.
    """
    if not logprobs:
        return {}
    first = logprobs[0]
    # The token that was taken may be missing among the candidates.
    taken = {first["token"]: first.get("logprob")}
    listed = {each["token"]: each.get("logprob") for each in first.get("top") or ()}
    found: dict[str, float] = {}
    for token, logprob in {**taken, **listed}.items():
        if logprob is not None:
            name = token.strip().casefold() or token if merge else token
            found[name] = found.get(name, 0.0) + probability(logprob)
    return dict(sorted(found.items(), key=lambda each: -each[1]))


def probability(logprob: float) -> float:
    return 0.0 if logprob < NEVER else math.exp(min(logprob, 0.0))


def in_order(distributions: Iterable[Mapping[str, float]]) -> list[str]:
    """All tokens, those first that are likeliest taken together."""
    total: dict[str, float] = {}
    for each in distributions:
        for token, share in each.items():
            total[token] = total.get(token, 0.0) + share
    return sorted(total, key=lambda token: -total[token])
