"""Events in batches, folded into what came back."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.completion import Batch, StreamEvent
from playground.outcome import Outcome, fold, summed


def batched(events: list[StreamEvent], *ends: int) -> list[list[Any]]:
    """The rows of the log where a tick came after each of these numbers of events."""
    rows: list[list[Any]] = []
    for start, end in zip([0, *ends], [*ends, len(events)], strict=True):
        batch = Batch()
        for event in events[start:end]:
            batch.add(event)
        rows += json.loads(json.dumps(batch.to_list()))  # as it is stored
    return rows


def folded(*events: StreamEvent) -> Outcome:
    return fold(batched(list(events)))


def text(data: str, choice: int = 0, at: float = 0.0) -> StreamEvent:
    return StreamEvent("text", data, choice, at)


def usage(completion: int, choice: int = -1, prompt: int = 3) -> StreamEvent:
    counts = {"prompt_tokens": prompt, "completion_tokens": completion}
    return StreamEvent("usage", {**counts, "total_tokens": prompt + completion}, choice)


CHOICES = st.integers(0, 2)
DELTA = st.fixed_dictionaries(
    {"index": st.integers(0, 1)},
    optional={"id": st.sampled_from(["c1", "c2"]),
              "function": st.fixed_dictionaries(
                  {}, optional={"name": st.text(max_size=3), "arguments": st.text(max_size=3)})},
)  # fmt: skip
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["text", "reasoning"]), st.text(min_size=1, max_size=4), CHOICES),
        st.tuples(st.just("tool_call"), st.lists(DELTA, max_size=2), CHOICES),
        st.tuples(st.just("logprobs"), st.lists(st.just({"token": "a"}), max_size=2), CHOICES),
        st.tuples(st.just("finish"), st.sampled_from(["stop", "length"]), CHOICES),
        st.tuples(
            st.just("usage"),
            st.fixed_dictionaries({"completion_tokens": st.integers(0, 9)}),
            st.integers(-1, 2),
        ),
        st.tuples(st.just("meta"), st.dictionaries(st.sampled_from("ab"), st.integers()),
                  st.just(-1)),
        st.tuples(st.just("warning"), st.text(), st.just(-1)),
    ),
    max_size=12,
)  # fmt: skip


@given(rows=EVENTS, data=st.data())
def test_any_batching_of_events_folds_to_the_same_choices(
    rows: list[tuple[str, Any, int]], data: st.DataObject
) -> None:
    events = [StreamEvent(*row, at=float(10 * i)) for i, row in enumerate(rows)]
    cut = st.lists(st.integers(0, len(events)), max_size=5)
    assert fold(batched(events, *sorted(data.draw(cut)))) == fold(batched(events))


def test_text_of_one_choice_joins_and_keeps_its_times() -> None:
    rows = batched([text("a", at=1), text("bc", at=2.04), text("d", 1, at=3), text("e", at=4)])
    assert rows == [
        ["text", 0, "abc", [[1, 1], [2.0, 2]]],
        ["text", 1, "d", [[3, 1]]],
        ["text", 0, "e", [[4, 1]]],
    ]
    outcome = fold(rows)
    assert [(choice.index, choice.text) for choice in outcome.choices] == [(0, "abce"), (1, "d")]
    assert outcome.choices[0].timeline == [[1, 1], [2.0, 2], [4, 1]]
    assert outcome.first_token_ms == 1


def test_what_came_in_one_read_has_one_time() -> None:
    batch = Batch()
    for event in (text("ab", at=1), text("c", at=1.04), text("d", at=2), text("e", 1, at=2)):
        batch.add(event)
    assert batch.to_list() == [
        ["text", 0, "abcd", [[1, 3], [2, 1]]],
        ["text", 1, "e", [[2, 1]]],
    ]


def test_an_empty_batch_says_so() -> None:
    batch = Batch()
    assert not batch
    batch.add(text("a"))
    assert batch
    assert batch.size > 0


def test_choices_come_in_index_order_each_with_its_own_end() -> None:
    outcome = folded(
        text("B", 1), StreamEvent("finish", "length", 1), text("A", 0),
        StreamEvent("finish", "stop", 0), StreamEvent("finish", "content_filter", 2),
    )  # fmt: skip
    found = [(choice.index, choice.text, choice.finish_reason) for choice in outcome.choices]
    assert found == [(0, "A", "stop"), (1, "B", "length"), (2, "", "content_filter")]


def test_reasoning_is_kept_apart_and_counts_as_the_first_token() -> None:
    outcome = folded(StreamEvent("reasoning", "hm", 0, 5.0), text("yes", at=9))
    [choice] = outcome.choices
    assert (choice.reasoning, choice.text) == ("hm", "yes")
    assert choice.timeline == [[9, 3]]
    assert outcome.first_token_ms == 5


def test_tool_calls_are_put_together_from_their_deltas() -> None:
    deltas = [
        [{"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}}],
        [{"index": 1, "id": "c2", "function": {"name": "g", "arguments": "{}"}}],
        [{"index": 0, "id": None, "function": {"arguments": '{"a"'}}],
        [{"index": 0, "function": {"name": None, "arguments": ":1}"}}, {"index": 1}],
    ]
    [choice] = folded(*(StreamEvent("tool_call", delta) for delta in deltas)).choices
    function = {"name": "f", "arguments": '{"a":1}'}
    assert choice.tool_calls == [
        {"index": 0, "id": "c1", "type": "function", "function": function},
        {"index": 1, "id": "c2", "function": {"name": "g", "arguments": "{}"}},
    ]


def test_whole_tool_calls_without_an_index_are_separate_calls() -> None:
    calls = [{"id": "a", "function": {"name": "f", "arguments": "{}"}},
             {"id": "b", "function": {"name": "g", "arguments": "{}"}}]  # fmt: skip
    [choice] = folded(StreamEvent("tool_call", calls)).choices
    assert [call["id"] for call in choice.tool_calls] == ["a", "b"]


def test_arguments_without_an_index_go_on_with_the_last_call() -> None:
    """Some servers number no calls, and cut their arguments all the same."""
    deltas = [
        {"id": "a", "function": {"name": "f", "arguments": "{"}},
        {"function": {"arguments": "}"}},
        {"id": "b", "function": {"name": "g", "arguments": ""}},
        {"function": {"name": None, "arguments": "[]"}},
    ]
    [choice] = folded(*(StreamEvent("tool_call", [delta]) for delta in deltas)).choices
    made = [(call["index"], call["id"], call["function"]) for call in choice.tool_calls]
    assert made == [
        (0, "a", {"name": "f", "arguments": "{}"}),
        (1, "b", {"name": "g", "arguments": "[]"}),
    ]


def test_odd_tool_calls_do_not_raise() -> None:
    odd = [{"index": "x", "function": None}, {"function": "f"}, {"index": [1], "function": {}}]
    [choice] = folded(StreamEvent("tool_call", odd)).choices
    assert len(choice.tool_calls) == 3


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], None),
        ([usage(1), usage(2)], 2),  # the last object
        ([text("a"), usage(4, 0)], 4),
        ([text("a", 0), text("b", 1), usage(4, 0), usage(5, 1)], 9),  # llama.cpp: each its own
        ([text("a", 0), text("b", 1), usage(4, 0)], 4),  # only one of two carries it
        ([text("a", 0), text("b", 1), usage(4, 0), usage(5, 1), usage(7)], 7),  # a later one counts
        ([text("a", 0), text("b", 1), usage(4, 0), usage(5, 0), usage(6, 1)], 6),  # not once each
    ],
)
def test_usage_is_the_last_one_or_the_sum_of_the_choices(
    events: list[StreamEvent], expected: int | None
) -> None:
    found = folded(*events).usage
    assert (found and found["completion_tokens"]) == expected
    if found:
        assert found["total_tokens"] == found["prompt_tokens"] + found["completion_tokens"]
        assert found["prompt_tokens"] == 3


def test_each_prompt_counts_once_however_often_it_is_answered() -> None:
    def own(prompt: int, cached: int) -> dict[str, Any]:
        details = {"cached_tokens": cached}
        return {"prompt_tokens": prompt, "completion_tokens": 2, "prompt_tokens_details": details}

    answers = [own(5, 1), own(5, 5), own(7, 3), own(7, 7)]
    found = {prompts: summed(answers, prompts) for prompts in (1, 2, 4)}
    assert [each["prompt_tokens"] for each in found.values()] == [5, 12, 24]
    assert [each["total_tokens"] for each in found.values()] == [13, 20, 32]
    cached = [each["prompt_tokens_details"]["cached_tokens"] for each in found.values()]
    assert cached == [1, 4, 16]


def test_usage_of_odd_types_does_not_raise() -> None:
    odd = {"prompt_tokens": "3", "completion_tokens": None}
    events = [
        text("a", 0),
        text("b", 1),
        StreamEvent("usage", odd, 0),
        StreamEvent("usage", odd, 1),
    ]
    found = folded(*events).usage
    assert found is not None
    assert found["total_tokens"] == 0


def test_metadata_is_laid_over_and_warnings_are_listed() -> None:
    outcome = folded(
        StreamEvent("meta", {"id": "a", "model": "x"}, -1), StreamEvent("warning", "w1", -1),
        StreamEvent("meta", {"id": "b"}, -1), StreamEvent("warning", "w2", -1),
    )  # fmt: skip
    assert outcome.meta == {"id": "b", "model": "x"}
    assert outcome.warnings == ["w1", "w2"]
    assert outcome.choices == []


def test_logprobs_are_one_list_in_order() -> None:
    a, b = {"token": "a"}, {"token": "b"}
    [choice] = folded(StreamEvent("logprobs", [a]), text("x"), StreamEvent("logprobs", [b])).choices
    assert choice.logprobs == [a, b]
