"""OGX: streams without an end mark, its errors made readable, its models.

The real OGX is in `services/test_ogx.py`; what it does that no test can provoke is here.
"""

import asyncio
import contextlib
import dataclasses
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from playground.completion import CompletionRequest, StreamEvent
from playground.outcome import Outcome
from playground.providers import PROVIDERS, Provider, ProviderError, Target, base
from playground.providers.chunks import LONGEST_RAW, ChunkParser
from playground.providers.logprobs import rest
from tests.asking import collect, outcome
from tests.fake_provider import (
    DONE,
    FIN,
    FakeProvider,
    Reply,
    chat_event,
    error_reply,
    json_reply,
    text_event,
)
from tests.test_providers import BODIES, BODY, sentence

OGX = PROVIDERS["ogx"]
ASK = CompletionRequest("ogx", "completions", "local/m", prompt="Hi", values={"stream": True})


@pytest.fixture
async def target(provider: FakeProvider) -> AsyncIterator[Target]:
    yield Target(provider.url, reaches_local=True, connect_timeout=2, read_timeout=5)
    await base.close()


async def ask(
    target: Target, request: CompletionRequest = ASK, provider: Provider = OGX
) -> Outcome:
    return await outcome(provider, target, request)


async def failure(target: Target, provider: Provider = OGX) -> ProviderError:
    with pytest.raises(ProviderError) as raised:
        await ask(target, dataclasses.replace(ASK, provider=provider.slug), provider)
    return raised.value


async def test_it_needs_no_key_and_no_end_mark(provider: FakeProvider, target: Target) -> None:
    provider.reply_with(Reply(pieces=[text_event(" a"), text_event(" b", finish="stop")]))
    assert (await ask(target)).choices[0].text == " a b"
    assert provider.posts[0].json["model"] == "local/m"
    assert "authorization" not in provider.posts[0].headers
    assert OGX.default_base_url == "http://127.0.0.1:8321/v1"
    assert OGX.help


async def test_a_connection_is_not_used_again(target: Target) -> None:
    """OGX closes it after most errors, without a word before; the next run must not meet that."""
    answer = b'HTTP/1.1 400 Bad Request\r\ncontent-length: 16\r\n\r\n{"error": "odd"}'

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await reader.readuntil(b"\r\n\r\n")  # a second request on it
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        here = dataclasses.replace(target, base_url=f"http://127.0.0.1:{port}/v1")
        for _ in range(3):
            assert (await failure(here)).message == "odd"


# --- Errors --------------------------------------------------------------------------------

FAULT = {"loc": ["body", "logprobs"], "msg": "Input should be a valid integer", "type": "int_type"}


@pytest.mark.parametrize(
    ("status", "message", "words"),
    [
        (400, repr({"errors": [FAULT]}), "body.logprobs: Input should be a valid integer"),
        (400, repr({"errors": [{**FAULT, "msg": "it's \"odd\""}]}), "body.logprobs: it's \"odd\""),
        (400, "{'errors': [", "{'errors': ["),
        (400, "{'not': 'known'}", "{'not': 'known'}"),
        (400, "Error code: 400 - " + repr({"error": {"message": "n must be 1"}}),
         "Error code: 400 - n must be 1"),
        (400, "Error code: 400 - " + repr([{"error": {"message": "n must be 1"}}]),
         "Error code: 400 - n must be 1"),
        (429, "Error code: 429 - Rate limit reached",
         "Error code: 429 - Rate limit reached "
         "(OGX has tried three times, and does not pass on when to try again)"),
        (502, "Error code: 502", "Error code: 502 (from the model server behind OGX, "
         "without a reason)"),
        (401, "Invalid or missing API key", "Invalid or missing API key"),
        (426, "Client version mismatch", "Client version mismatch"),
        (413, "Too large", "Too large"),
    ],
)  # fmt: skip
async def test_its_errors_are_readable(
    provider: FakeProvider, target: Target, status: int, message: str, words: str
) -> None:
    provider.reply_with(error_reply(status, {"error": {"message": message}}))
    error = await failure(target)
    assert (error.message, error.status) == (words, status)


async def test_a_429_of_a_proxy_before_it_keeps_its_time(
    provider: FakeProvider, target: Target
) -> None:
    provider.reply_with(error_reply(429, {"error": "slow down"}, {"retry-after": "7"}))
    assert (await failure(target)).message == "slow down (try again in 7 s)"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ({"message": "Broken", "code": "500"}, "Broken (status 500)"),
        ({"message": "Broken", "code": 503}, "Broken (status 503)"),
        ({"message": "Error code: 429 - slow", "code": "429"}, "Error code: 429 - slow"),
        ({"message": "Broken", "code": None}, "Broken"),
        ({"message": "Broken", "code": "invalid"}, "Broken"),
        ({"message": "Broken", "code": 10**30}, "Broken"),
        ("Broken", "Broken"),
        ({"code": "500"}, "The provider reported an error without a reason. (status 500)"),
    ],
)
async def test_an_error_in_mid_stream_says_its_status(
    provider: FakeProvider, target: Target, error: Any, words: str
) -> None:
    provider.reply_with(Reply(pieces=[text_event("a"), json_event({"error": error})]))
    assert (await failure(target)).message == words


def json_event(value: Any) -> bytes:
    body = next(iter(json_reply(value).pieces))  # type: ignore[arg-type]
    return b"data: " + body + b"\n\n"  # type: ignore[operator]


OTHERS = [PROVIDERS[slug] for slug in ("pulze", "octoai", "ogx")]


@pytest.mark.parametrize("one", OTHERS, ids=lambda one: one.slug)
@pytest.mark.parametrize(("status", "body", "words", "kind"), BODIES)
async def test_any_error_body_is_readable_with_every_provider(
    provider: FakeProvider, target: Target, one: Provider,
    status: int, body: Any, words: str, kind: str,
) -> None:  # fmt: skip
    provider.reply_with(error_reply(status, body))
    error = await failure(dataclasses.replace(target, key="a-Key.of/ours+1234=="), one)
    assert words in sentence(error)
    assert (error.status, error.kind) == (status, kind)


@pytest.mark.parametrize("one", OTHERS, ids=lambda one: one.slug)
@pytest.mark.parametrize("headers", [{"retry-after": "7"}, {"retry-after-ms": "7000"}])
async def test_a_429_says_when_to_try_again(
    provider: FakeProvider, target: Target, one: Provider, headers: dict[str, str]
) -> None:
    provider.reply_with(error_reply(429, {"detail": "slow down"}, headers))
    error = await failure(dataclasses.replace(target, key="k-1234567"), one)
    assert re.fullmatch(r"slow down \(try again in 7 s\)", error.message)
    assert error.retry_after == 7


@given(
    body=BODY,
    one=st.sampled_from(OTHERS),
    status=st.sampled_from([200, 200, 200, 400, 429, 500]),
    content_type=st.sampled_from(["text/event-stream", "application/json", "text/plain", ""]),
)
@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_garbage_raises_nothing_but_provider_errors(
    provider: FakeProvider, body: bytes, one: Provider, status: int, content_type: str
) -> None:
    provider.reply_with(Reply(status, content_type, pieces=[body]))
    provider.on_path("/v1/models", Reply(status, content_type, pieces=[body]))
    provider.on_path("/v1/models/active", Reply(status, content_type, pieces=[body]))
    target = Target(provider.url, "k-1234567", reaches_local=True)

    async def run() -> None:
        for call in (ask(target, dataclasses.replace(ASK, provider=one.slug), one),
                     one.models(target)):  # fmt: skip
            with contextlib.suppress(ProviderError):
                await call
        await base.close()

    asyncio.run(run())


# --- Models --------------------------------------------------------------------------------


async def test_it_lists_models_that_complete_text(provider: FakeProvider, target: Target) -> None:
    llm, embedding = ({"model_type": kind} for kind in ("llm", "embedding"))
    provider.models = [
        {"id": "local/a", "custom_metadata": llm},
        {"id": "local/e", "custom_metadata": embedding},
        {"id": "local/b", "custom_metadata": None},
        {"id": "local/c", "custom_metadata": {}},
        "d",
    ]
    assert await OGX.models(target) == ["local/a", "local/b", "local/c", "d"]


@pytest.mark.parametrize("models", [{}, [], None, {"data": 5}, {"data": [5, None, {}]}, "no"])
async def test_an_odd_list_of_models_is_empty(
    provider: FakeProvider, target: Target, models: Any
) -> None:
    provider.on_path("/v1/models", json_reply(models))
    assert await OGX.models(target) == []


# --- The record: what all providers keep ---------------------------------------------------


async def test_every_field_at_the_top_is_kept(provider: FakeProvider, target: Target) -> None:
    first = text_event("a", system_fingerprint="fp", x_note={"a": 1, "b": None})
    last = text_event("", finish="stop", system_fingerprint=None, x_note={"b": 2}, usage=None)
    provider.reply_with(Reply(pieces=[first, last, DONE]))
    meta = (await ask(target)).meta
    assert meta.pop("raw").encode() == last.removeprefix(b"data: ").strip()
    assert meta == {
        "id": "cmpl-f",
        "object": "text_completion",
        "created": 1_700_000_000,
        "model": "fake-1",
        "system_fingerprint": "fp",
        "x_note": {"a": 1, "b": 2},
    }


def fields_of(*choices: dict[str, Any]) -> Any:
    """The further fields that are kept of one chunk for each of these."""
    parser = ChunkParser()
    for choice in choices:
        list(parser.parse({"choices": [choice]}, 0.0))
    return parser.metadata().get("choices_extra")


@pytest.mark.parametrize(
    ("choices", "kept"),
    [
        ([{"text": "a", "stop_reason": None}, {"text": "b", "stop_reason": 7}],
         {"0": {"stop_reason": 7}}),
        ([{"index": 1, "token_ids": [1, 2]}, {"index": 1, "token_ids": [3]}],
         {"1": {"token_ids": [1, 2, 3]}}),
        ([{"prompt_logprobs": [None, {"5": {"logprob": -1}}]}],
         {"0": {"prompt_logprobs": [None, {"5": {"logprob": -1}}]}}),
        ([{"delta": {"role": "assistant", "content": "a", "refusal": None}}] * 2,
         {"0": {"message": {"role": "assistant"}}}),
        ([{"delta": {"refusal": "I "}}, {"delta": {"refusal": "won't"}}],
         {"0": {"message": {"refusal": "I won't"}}}),
        ([{"message": {"role": "assistant", "content": "a", "function_call": {"name": "f"}}}],
         {"0": {"message": {"role": "assistant", "function_call": {"name": "f"}}}}),
        ([{"logprobs": {"tokens": ["a"], "text_offset": [0]}},
          {"logprobs": {"tokens": ["b"], "text_offset": [1]}}],
         {"0": {"logprobs": {"text_offset": [0, 1]}}}),
        ([{"logprobs": {"content": [], "refusal": [{"token": "a", "logprob": -1}]}}],
         {"0": {"logprobs": {"refusal": [{"token": "a", "logprob": -1}]}}}),
        ([{"logprobs": 5}, {"logprobs": {"content": [], "x": 1}}],
         {"0": {"logprobs": {"x": 1}}}),
        ([{"logprobs": {"content": [], "x": 1}}, {"logprobs": 5}], {"0": {"logprobs": 5}}),
        ([{"text": "a", "logprobs": None, "finish_reason": None, "index": 0}], None),
    ],
)  # fmt: skip
def test_further_fields_of_a_choice_are_kept(choices: list[dict[str, Any]], kept: Any) -> None:
    assert fields_of(*choices) == kept


@pytest.mark.parametrize(
    ("logprobs", "left"),
    [(None, {}), (False, {}), (True, True), (0, 0), (2, 2), ("x", {}), ({"tokens": []}, {})],
)
def test_what_is_left_of_logprobs(logprobs: Any, left: Any) -> None:
    assert rest(logprobs) == left


async def test_a_whole_answer_is_kept_as_it_came(provider: FakeProvider, target: Target) -> None:
    body = b'{ "choices": [{"index": 0, "text": "\\u00e9",  "finish_reason": "stop"}] }\n'
    provider.reply_with(Reply(content_type="application/json", pieces=[body]))
    assert (await ask(target)).meta == {"raw": body.decode()}


async def test_a_long_answer_is_cut_in_the_record(provider: FakeProvider, target: Target) -> None:
    provider.reply_with(json_reply({"choices": [{"text": "é" * LONGEST_RAW}]}))
    outcome = await ask(target)
    assert len(outcome.choices[0].text) == LONGEST_RAW
    assert outcome.meta["raw_cut"] is True
    assert len(outcome.meta["raw"]) == LONGEST_RAW


async def test_the_key_is_masked_in_what_is_kept_of_a_failure(
    provider: FakeProvider, target: Target
) -> None:
    error = {"error": {"message": "Incorrect API key provided: sk-test-SECRET02"},
             "detail": ["Bearer my-own-key-77"]}  # fmt: skip
    provider.reply_with(Reply(pieces=[text_event("a"), json_event(error), FIN]))
    events: list[StreamEvent] = []
    with pytest.raises(ProviderError):
        await collect(OGX.stream(dataclasses.replace(target, key="my-own-key-77"), ASK), events)
    assert events[-1].kind == "meta"
    assert "[key]" in events[-1].data["raw"]
    assert "SECRET02" not in repr(events)
    assert "my-own-key-77" not in repr(events)


async def test_a_stream_of_chat_keeps_the_role(provider: FakeProvider, target: Target) -> None:
    first = chat_event(None, delta={"role": "assistant", "audio": None})
    provider.reply_with(Reply(pieces=[first, chat_event("a"), chat_event(None, finish="stop")]))
    chat = dataclasses.replace(
        ASK, operation="chat", messages=({"role": "user", "content": "Hi"},), prompt=""
    )
    outcome = await ask(target, chat)
    assert outcome.choices[0].text == "a"
    assert outcome.meta["choices_extra"] == {"0": {"message": {"role": "assistant"}}}
