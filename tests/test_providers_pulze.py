"""Pulze: its models, its metadata, failures inside a 200, both of its operations."""

import dataclasses
from collections.abc import AsyncIterator
from typing import Any

import pytest

from playground.completion import CompletionRequest, ErrorKind, StreamEvent
from playground.outcome import Outcome
from playground.providers import PROVIDERS, ProviderError, Target, base
from tests.asking import collect, outcome
from tests.fake_provider import DONE, FakeProvider, Reply, chat_event, json_reply, text_event
from tests.fake_services import WORDS, serve_pulze

PULZE = PROVIDERS["pulze"]
TEXT = "".join(WORDS)
ASK = CompletionRequest("pulze", "completions", "pulze", prompt="Hi", values={"stream": True})
CHAT = CompletionRequest(
    "pulze", "chat", "pulze", messages=({"role": "user", "content": "Hi"},), values={"stream": True}
)
WHOLE = {"choices": [{"index": 0, "text": "a", "finish_reason": None}]}


@pytest.fixture
async def target(provider: FakeProvider) -> AsyncIterator[Target]:
    serve_pulze(provider)
    yield Target(provider.url, "a-key", reaches_local=True, connect_timeout=2, read_timeout=5)
    await base.close()


async def ask(target: Target, request: CompletionRequest = ASK) -> Outcome:
    return await outcome(PULZE, target, request)


def without_stream(request: CompletionRequest, **values: Any) -> CompletionRequest:
    return dataclasses.replace(request, values={**request.values, "stream": False, **values})


@pytest.mark.parametrize("request_", [ASK, CHAT, without_stream(ASK), without_stream(CHAT)])
async def test_it_completes(target: Target, request_: CompletionRequest) -> None:
    outcome = await ask(target, request_)
    assert [(one.text, one.finish_reason) for one in outcome.choices] == [(TEXT, "stop")]
    assert outcome.usage is not None
    assert outcome.usage["completion_tokens"] == 5
    assert outcome.meta["model"] == "openai/gpt-4"  # what answered, not the alias asked for
    assert outcome.meta["created"] == 1700000000.546
    assert outcome.meta["created_ms"] == 1700000000546


async def test_headers_reach_it_and_come_back(target: Target) -> None:
    labels = without_stream(ASK, **{"Pulze-Labels": {"Team": "évals"}})
    outcome = await ask(target, labels)
    assert outcome.meta["metadata"]["labels"] == {"team": "évals"}


async def test_a_list_of_prompts_gives_a_choice_each(target: Target) -> None:
    outcome = await ask(target, dataclasses.replace(ASK, prompt=["One", "Two"]))
    assert [one.index for one in outcome.choices] == [0, 1]


async def test_it_names_the_field_that_is_refused(target: Target) -> None:
    with pytest.raises(ProviderError, match=r"^body\.temperature: value is out of range$"):
        await ask(target, without_stream(ASK, temperature=3))


async def test_without_a_key_nothing_is_sent(provider: FakeProvider, target: Target) -> None:
    with pytest.raises(ProviderError, match="No key is set for this Pulze connection"):
        await ask(dataclasses.replace(target, key=""))
    assert provider.posts == []


@pytest.mark.parametrize("shape", [text_event, chat_event])
async def test_both_shapes_of_chunks_are_read_on_completions(
    provider: FakeProvider, target: Target, shape: Any
) -> None:
    # Which of them the service sends there is not established.
    metadata = {"costs": {"total_tokens": 0.5}, "warning": "deprecated"}
    pieces = [shape("Hi"), shape(" you", metadata=metadata), shape("", metadata=metadata), DONE]
    provider.reply_with(Reply(pieces=pieces))
    outcome = await ask(target)
    assert outcome.choices[0].text == "Hi you"
    assert outcome.meta["metadata"] == metadata
    assert outcome.warnings == ["deprecated"]


async def test_metadata_that_comes_in_parts_is_laid_together(
    provider: FakeProvider, target: Target
) -> None:
    parts = [{"app_id": "a", "score": 1}, {"score": 2, "app_id": None, "latency": 0.5}, None]
    chunks = [text_event("a", metadata=part) for part in parts]
    provider.reply_with(Reply(pieces=[*chunks, DONE]))
    outcome = await ask(target)
    assert outcome.meta["metadata"] == {"app_id": "a", "score": 2, "latency": 0.5}


@pytest.mark.parametrize(
    ("created", "found"),
    [
        (1701483003546, {"created": 1701483003.546, "created_ms": 1701483003546}),
        (1701483003, {"created": 1701483003}),
        (0, {"created": 0}),
        (None, {}),
        ("soon", {"created": "soon"}),
        (10**400, {"created": 10**400}),
    ],
)
async def test_milliseconds_are_told_from_seconds(
    provider: FakeProvider, target: Target, created: Any, found: dict[str, Any]
) -> None:
    provider.reply_with(json_reply({**WHOLE, "created": created}))
    meta = (await ask(target)).meta
    assert {name: meta[name] for name in meta if name.startswith("created")} == found


@pytest.mark.parametrize(
    ("usage", "found"),
    [
        ({"prompt_tokens": 5.0, "completion_tokens": 28}, {"prompt_tokens": 5,
                                                           "completion_tokens": 28}),
        ({"prompt_tokens": 5.5}, {"prompt_tokens": 5.5}),
        ({"prompt_tokens": 1e300, "details": None}, {"prompt_tokens": 1e300, "details": None}),
    ],
)  # fmt: skip
async def test_whole_counts_are_integers(
    provider: FakeProvider, target: Target, usage: dict[str, Any], found: dict[str, Any]
) -> None:
    provider.reply_with(json_reply({**WHOLE, "usage": usage}))
    outcome = await ask(target)
    assert outcome.usage is not None
    assert repr(outcome.usage) == repr(found)


async def test_logprobs_that_are_a_number_are_kept(provider: FakeProvider, target: Target) -> None:
    provider.reply_with(json_reply({"choices": [{"index": 0, "text": "a", "logprobs": 3}]}))
    outcome = await ask(target)
    assert outcome.choices[0].logprobs == []
    assert outcome.meta["choices_extra"] == {"0": {"logprobs": 3}}


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"error": "no model left", "status_code": 503}, "no model left (status 503)"),
        ({"error": "no model left", "status_code": 200}, "no model left"),
        ({"error": "no model left"}, "no model left"),
        ({"status_code": 429}, "Pulze reported an error without a reason. (status 429)"),
        ({"error": "bad key a-key here", "status_code": 401}, "bad key [key] here (status 401)"),
    ],
)
@pytest.mark.parametrize("streamed", [True, False])
async def test_a_failure_inside_a_200_is_one(
    provider: FakeProvider, target: Target, metadata: Any, words: str, streamed: bool
) -> None:
    whole = json_reply({"choices": [], "metadata": metadata})
    stream = Reply(pieces=[text_event("Par"), text_event("", metadata=metadata), DONE])
    provider.reply_with(stream if streamed else whole)
    events: list[StreamEvent] = []
    with pytest.raises(ProviderError) as raised:
        await collect(PULZE.stream(target, ASK), events)
    assert (raised.value.message, raised.value.kind) == (words, ErrorKind.UPSTREAM_ERROR)
    assert ("text" in [event.kind for event in events]) is streamed
    assert events[-1].kind == "meta"
    assert "a-key" not in repr(events)


@pytest.mark.parametrize("metadata", [None, 5, [], {}, {"error": None, "status_code": 200},
                                      {"error": "", "status_code": "200"}])  # fmt: skip
async def test_metadata_without_a_failure_is_none(
    provider: FakeProvider, target: Target, metadata: Any
) -> None:
    provider.reply_with(json_reply({**WHOLE, "metadata": metadata}))
    assert (await ask(target)).choices[0].text == "a"


async def test_it_lists_the_active_models(provider: FakeProvider, target: Target) -> None:
    assert await PULZE.models(target) == ["anthropic/claude-2", "openai/gpt-4"]
    assert provider.requests[0].headers["authorization"] == "Bearer a-key"


@pytest.mark.parametrize("models", [{}, [], None, {"x": 1}, {"x": {"namespace": None}}, "no"])
async def test_an_odd_list_of_models_is_empty(
    provider: FakeProvider, target: Target, models: Any
) -> None:
    provider.on_path("/v1/models/active", json_reply(models))
    assert await PULZE.models(target) == []


def test_it_knows_its_address() -> None:
    assert PULZE.default_base_url == "https://api.pulze.ai/v1"
    assert PULZE.help
