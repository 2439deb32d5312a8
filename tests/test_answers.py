"""The first token of an answer as a distribution."""

import math
from typing import Any

import pytest

from playground.answers import first_token, in_order


def row(token: str, share: float | None, **top: float) -> dict[str, Any]:
    def log(value: float | None) -> float | None:
        return None if value is None else math.log(value)

    return {
        "token": token,
        "logprob": log(share),
        "top": [{"token": name, "logprob": log(value)} for name, value in top.items()],
    }


def test_only_the_first_token_counts_the_likeliest_first() -> None:
    found = first_token([row("no", 0.2, yes=0.7, no=0.2), row("!", 1.0)])
    assert list(found) == ["yes", "no"]
    assert found["yes"] == pytest.approx(0.7)


def test_a_token_that_was_taken_from_outside_the_list_is_there() -> None:
    assert list(first_token([row("maybe", 0.1, yes=0.7)])) == ["yes", "maybe"]


def test_white_space_and_case_can_be_merged() -> None:
    rows = [row(" Yes", 0.5, **{" Yes": 0.5, "yes": 0.25, "no": 0.1})]
    assert first_token(rows, merge=True) == {
        "yes": pytest.approx(0.75),
        "no": pytest.approx(0.1),
    }
    assert len(first_token(rows)) == 3


def test_what_has_no_probability_is_left_out() -> None:
    assert first_token([]) == {}
    assert first_token([row("a", None)]) == {}
    assert first_token([{"token": "a", "logprob": -9999.0, "top": None}]) == {"a": 0.0}


def test_tokens_are_ordered_over_all_answers() -> None:
    assert in_order([{"a": 0.6, "b": 0.4}, {"b": 0.9}]) == ["b", "a"]
