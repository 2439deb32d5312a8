"""The request as it is sent, and events folded into what came back."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.completion import (
    Batch,
    CompletionRequest,
    Outcome,
    RunStatus,
    StreamEvent,
    fold,
)


def request(operation: str = "completions", **changes: Any) -> CompletionRequest:
    fields = {
        "provider": "local",
        "dialect": "llama.cpp",
        "operation": operation,
        "model": "m",
        "prompt": "Hi",
        "messages": ({"role": "user", "content": "Hi"},),
        **changes,
    }
    return CompletionRequest(**fields)


# --- The request ---------------------------------------------------------------------------


def test_it_sends_only_what_is_set() -> None:
    assert request().body() == {"model": "m", "prompt": "Hi"}
    assert request().headers() == {}


def test_it_leaves_an_empty_model_out() -> None:
    assert request(model="").body() == {"prompt": "Hi"}


def test_a_chat_sends_messages_and_no_prompt() -> None:
    assert request("chat").body() == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
    }


@pytest.mark.parametrize(
    ("path", "value"),
    [("temperature", 0), ("seed", 0), ("stream", False), ("grammar", ""), ("stop", [])],
)
def test_an_empty_value_is_a_value(path: str, value: Any) -> None:
    body = request(values={path: value}).body()
    assert body[path] == value
    assert type(body[path]) is type(value)


def test_a_number_goes_out_as_typed() -> None:
    assert json.dumps(request(values={"temperature": 0}).body()["temperature"]) == "0"
    assert json.dumps(request(values={"temperature": 0.0}).body()["temperature"]) == "0.0"


@pytest.mark.parametrize("operation", ["completions", "chat"])
def test_it_renames_what_a_backend_calls_otherwise(operation: str) -> None:
    values = {"repetition_penalty": 1.1}
    body = request(operation, values=values).body()
    assert body["repeat_penalty"] == 1.1
    assert "repetition_penalty" not in body
    assert request(operation, dialect="vllm", values=values).body()["repetition_penalty"] == 1.1


def test_a_dotted_path_is_a_nested_object() -> None:
    values = {
        "stream_options.include_usage": True,
        "stream_options.continuous_usage_stats": False,
    }
    body = request("chat", dialect="vllm", values=values).body()
    assert body["stream_options"] == {"include_usage": True, "continuous_usage_stats": False}


def test_rows_that_are_headers_travel_as_json_in_ascii() -> None:
    values = {"Pulze-Weights.cost": 0, "Pulze-Weights.quality": 1, "Pulze-Labels": {"a": "é"}}
    sent = request(provider="pulze", dialect="", values=values)
    assert sent.headers() == {
        "Pulze-Weights": '{"cost": 0, "quality": 1}',
        "Pulze-Labels": '{"a": "\\u00e9"}',
    }
    assert sent.body() == {"model": "m", "prompt": "Hi"}


def test_further_keys_are_laid_over_the_body() -> None:
    body = request(values={"temperature": 1}, extra={"temperature": 2, "mine": [1]}).body()
    assert body == {"model": "m", "prompt": "Hi", "temperature": 2, "mine": [1]}


def test_it_names_what_this_api_has_no_row_for() -> None:
    values = {"temperature": 1, "Pulze-Weights.cost": 1}
    assert request(values=values).not_sent() == ["Pulze-Weights.cost"]
    assert "Pulze-Weights" not in request(values=values).body()


def test_a_body_can_be_changed_without_changing_the_request() -> None:
    sent = request(values={"stop": ["a"]}, extra={"mine": {"b": 1}})
    before = json.dumps(sent.body())
    sent.body()["stop"].append("x")
    sent.body()["mine"]["b"] = 2
    assert json.dumps(sent.body()) == before


@pytest.mark.parametrize(
    ("changes", "streams"),
    [({}, False), ({"values": {"stream": True}}, True), ({"values": {"stream": False}}, False),
     ({"values": {"stream": True}, "extra": {"stream": False}}, False)],
)  # fmt: skip
def test_it_knows_whether_it_streams(changes: dict[str, Any], streams: bool) -> None:
    assert request(**changes).streams is streams


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"prompt": "Hi"}, "Hi"),
        ({"prompt": ["a", "b"]}, "a\nb"),
        ({"prompt": [[1, 2], [3]]}, "[1, 2]\n[3]"),
        ({"operation": "chat"}, "Hi"),
        ({"operation": "chat", "messages": ({"role": "user", "content": None},)}, ""),
        (
            {"operation": "chat", "messages": ({"content": [{"type": "text", "text": "a"}, 1]},)},
            "a",
        ),
    ],
)
def test_it_is_known_by_what_was_asked(changes: dict[str, Any], text: str) -> None:
    assert request(**changes).prompt_text() == text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(
    operation=st.sampled_from(["completions", "chat"]),
    prompt=st.text() | st.lists(st.text()) | st.lists(st.integers(0, 9)),
    temperature=st.integers() | st.floats(allow_nan=False),
    stop=st.lists(st.text()),
    extra=st.dictionaries(st.text(), JSON, max_size=3),
    labels=st.lists(st.text()),
)
def test_it_comes_back_from_json_as_the_very_same_request(
    operation: str,
    prompt: Any,
    temperature: float,
    stop: list[str],
    extra: dict[str, Any],
    labels: list[str],
) -> None:
    values = {"temperature": temperature, "stop": stop, "stream": False}
    sent = request(operation, prompt=prompt, values=values, extra=extra, labels=tuple(labels))
    again = CompletionRequest.from_json(sent.to_json())
    assert again == sent
    assert json.dumps(again.body()) == json.dumps(sent.body())
    assert again.to_json() == sent.to_json()


def test_a_run_is_live_until_it_has_ended() -> None:
    assert {status for status in RunStatus if status.live} == {"queued", "running"}


# --- Batches and their fold ----------------------------------------------------------------


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


@given(rows=EVENTS, position=st.integers(0, 12))
def test_a_batch_that_was_not_saved_goes_before_what_came_since(
    rows: list[tuple[str, Any, int]], position: int
) -> None:
    first, later = Batch(), Batch()
    for i, row in enumerate(rows):
        (first if i < position else later).add(StreamEvent(*row, at=float(i)))
    events = [StreamEvent(*row, at=float(i)) for i, row in enumerate(rows)]
    size = first.size + later.size
    joined = first.followed_by(later)
    assert joined.size == size
    assert bool(joined) == bool(rows)
    assert fold(joined.to_list()) == fold(batched(events))


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
