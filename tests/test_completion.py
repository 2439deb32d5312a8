"""The request as it is sent."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.completion import CompletionRequest, RunStatus


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


def test_a_header_of_ones_own_stands_for_the_tables_in_any_case() -> None:
    values = {"Pulze-Labels": {"a": "b"}}
    sent = request(provider="pulze", dialect="", values=values, own_headers={"pulze-labels": "{}"})
    assert sent.headers() == {"pulze-labels": "{}"}


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
            {"operation": "chat", "messages": ({"content": [{"text": "a"}, 1, {"text": None}]},)},
            "a\n",
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


def test_a_chat_is_called_by_the_last_message_of_the_user() -> None:
    system, user = {"role": "system", "content": "Be terse"}, {"role": "user", "content": "Hi"}
    answer = {"role": "assistant", "content": "Said"}
    ask = {"operation": "chat", "model": "m", "provider": "local"}
    assert CompletionRequest(**ask, messages=(system, user, answer)).name() == "Hi"
    assert CompletionRequest(**ask, messages=(system,)).name() == "Be terse"
    assert CompletionRequest(**ask).name() == ""
    assert CompletionRequest("local", "completions", "m", prompt="A prompt").name() == "A prompt"
