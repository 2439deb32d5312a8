"""Costs: what a request may take at most, and what its answer took."""

from decimal import Decimal
from typing import Any

import pytest

from playground.completion import CompletionRequest
from playground.costs import (
    Rates,
    completion_limit,
    dollars,
    own_cost,
    prompt_estimate,
    used,
)
from playground.outcome import ChoiceResult, Outcome

RATES = Rates(Decimal("2.5"), Decimal(10))


def asked(prompt: Any = "Hi", operation: str = "completions", **values: Any) -> CompletionRequest:
    extra = values.pop("extra", {})
    messages = ({"role": "user", "content": prompt},) if operation == "chat" else ()
    return CompletionRequest(
        "local", operation, "m", "llama.cpp", prompt=prompt, messages=messages, values=values,
        extra=extra,
    )  # fmt: skip


def answer(
    prompt: int | None = 100, completion: int | None = 50, choices: int = 1, **usage: Any
) -> Outcome:
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, **usage}
    found = {name: value for name, value in counts.items() if value is not None}
    texts = [ChoiceResult(index, "text", finish_reason="stop") for index in range(choices)]
    return Outcome(texts, found)


def cost_of(
    outcome: Outcome,
    status: str = "completed",
    rates: Rates | None = RATES,
    streams: bool = True,
    dialect: str = "",
) -> Decimal | None:
    return used(status, outcome, rates, streams=streams, dialect=dialect).cost


# --- Before --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "tokens"),
    [
        ("", 0),
        ("a" * 300, 100),
        ("語" * 100, 100),
        ([1, 2, 3], 3),
        ([[1, 2], [3, 4, 5]], 5),
        (["a" * 30, "b" * 30], 20),
        ("\ud800", 1),
    ],
)
def test_a_prompt_is_counted_rather_too_long(prompt: Any, tokens: int) -> None:
    assert prompt_estimate(asked(prompt)) == tokens


def test_a_chat_counts_its_messages_and_tools() -> None:
    alone = prompt_estimate(asked("a" * 300, "chat"))
    assert alone > 100
    tools = [{"type": "function", "function": {"name": "f", "description": "d" * 300}}]
    assert prompt_estimate(asked("a" * 300, "chat", tools=tools)) > alone + 100


@pytest.mark.parametrize(
    ("request_", "tokens"),
    [
        (asked(), 4096),
        (asked(max_tokens=7), 7),
        (asked(max_tokens=0), 4096),
        (asked(max_tokens=-1), 4096),
        (asked(extra={"max_tokens": 9}), 9),
        (asked(max_tokens=7, extra={"n_predict": 9}), 9),
        (asked(max_tokens=7, n=3), 21),
        (asked(max_tokens=7, extra={"n": 2, "best_of": 5}), 35),
        (asked(["a", "b"], max_tokens=7, n=3), 42),
        (asked([1, 2, 3], max_tokens=7), 7),
        (asked([[1], [2, 3]], max_tokens=7), 14),
        (asked("Hi", "chat", max_tokens=7), 7),
        (asked("Hi", "chat"), 4096),
    ],
)
def test_the_answers_are_bounded_by_what_is_set(request_: CompletionRequest, tokens: int) -> None:
    assert completion_limit(request_, 4096) == tokens


# --- After ---------------------------------------------------------------------------------


def test_a_cost_is_exact() -> None:
    assert cost_of(answer()) == Decimal("0.00075")
    assert cost_of(answer(1, 0, choices=0)) == Decimal("0.0000025")
    third = Rates(Decimal("0.333333"), Decimal(0))
    assert cost_of(answer(1, 0, choices=0), rates=third) == Decimal("0.0000003333")


def test_cached_tokens_have_their_own_price_where_one_is_set() -> None:
    outcome = answer(prompt_tokens_details={"cached_tokens": 80})
    assert cost_of(outcome) == Decimal("0.00075")
    cheaper = Rates(Decimal("2.5"), Decimal(10), Decimal("0.25"))
    assert cost_of(outcome, rates=cheaper) == Decimal("0.00057")
    odd = answer(prompt_tokens_details={"cached_tokens": 999})
    assert cost_of(odd, rates=cheaper) == Decimal("0.000525")
    assert cost_of(answer(prompt_tokens_details=None), rates=cheaper) == Decimal("0.00075")


def test_reasoning_tokens_are_not_counted_twice() -> None:
    details = {"reasoning_tokens": 40}
    assert cost_of(answer(completion_tokens_details=details)) == Decimal("0.00075")


@pytest.mark.parametrize(
    ("outcome", "more"),
    [
        (Outcome(), {}),
        (answer(completion=None), {}),
        (answer(prompt=None), {}),
        (answer(0, 0), {}),  # Ollama's chunks before the last
        (answer(choices=2), {"streams": False, "dialect": "llama.cpp"}),  # of the first only
        (Outcome([ChoiceResult(0, "cut")], {"prompt_tokens": 1, "completion_tokens": 1}),
         {"status": "cancelled"}),
        (answer(), {"rates": None}),
        (answer(completion=float("nan")), {}),  # type: ignore[arg-type]
        (answer(completion=-1), {}),
        (answer(completion=True), {}),
        (answer(completion=10**12), {}),
        (answer(completion=10**12 - 1), {"rates": Rates(Decimal(1), Decimal(1))}),
    ],
)  # fmt: skip
def test_a_usage_that_is_not_whole_gives_no_cost(outcome: Outcome, more: dict[str, Any]) -> None:
    assert cost_of(outcome, **more) is None


def test_a_run_that_was_stopped_after_its_end_has_a_cost() -> None:
    assert cost_of(answer(), "cancelled") == Decimal("0.00075")
    assert cost_of(answer(choices=2), streams=True, dialect="llama.cpp") == Decimal("0.00075")


@pytest.mark.parametrize(
    ("costs", "amount"),
    [
        ({"total_tokens": 0.00066, "prompt_tokens": 0.0001, "completion_tokens": 0.00056},
         "0.00066"),
        ({"prompt_tokens": 0.0001, "completion_tokens": 0.00056}, "0.00066"),
        ({"prompt_tokens": 1e-07}, "0.0000001"),
        ({"total_tokens": 0.0}, "0"),
        ({"total_tokens": 2}, "2"),
        ({"total_tokens": "0.5"}, "0.5"),
        ({"total_tokens": -1}, None),
        ({"total_tokens": float("nan")}, None),
        ({"total_tokens": float("inf")}, None),
        ({"total_tokens": 1e300}, None),
        ({"total_tokens": 100_000}, None),
        ({"total_tokens": True}, None),
        ({"total_tokens": "much"}, None),
        ({}, None),
        (None, None),
        ([1], None),
    ],
)  # fmt: skip
def test_a_providers_own_costs_are_dollars(costs: Any, amount: str | None) -> None:
    found = own_cost({"metadata": {"costs": costs}})
    assert found == (None if amount is None else Decimal(amount))


def test_a_providers_own_cost_goes_before_ours() -> None:
    outcome = answer()
    outcome.meta = {"metadata": {"costs": {"total_tokens": 0.5}}}
    found = used("failed", outcome, RATES, streams=True, dialect="")
    assert (found.cost, found.own, found.tokens) == (Decimal("0.5"), True, 150)


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("0", "$0"),
        ("0.0000020", "$0.000002"),
        ("0.00066", "$0.00066"),
        ("0.0031", "$0.0031"),
        ("0.1", "$0.10"),
        ("0.256", "$0.26"),
        ("3.2", "$3.20"),
        ("1234.5", "$1,234.50"),
        ("0.00012345", "$0.00012"),
    ],
)
def test_dollars_are_short(amount: str, text: str) -> None:
    assert dollars(Decimal(amount)) == text


def test_the_worst_case_is_rounded_up() -> None:
    assert RATES.most(1, 1) == Decimal("0.0000125")
    assert Rates(Decimal("0.0001"), Decimal(0)).most(1, 0) == Decimal("0.0000000001")
    assert Rates(Decimal(1), Decimal(0), Decimal(2)).most(10**6, 0) == 2
