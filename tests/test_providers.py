"""A provider against real HTTP: what it sends, what it makes of answers, and how it fails."""

import asyncio
import dataclasses
import json
import re
import socket
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from playground.completion import Batch, CompletionRequest, ErrorKind, StreamEvent
from playground.outcome import fold
from playground.providers import PROVIDERS, Provider, ProviderError, Target, base
from playground.providers.chunks import ChunkParser
from playground.providers.errors import masked
from playground.providers.logprobs import normal
from playground.providers.outbound import is_public
from tests.fake_provider import (
    DONE,
    FIN,
    FakeProvider,
    Reply,
    error_reply,
    json_reply,
    text_event,
    words,
)

KEY = "a-Key.of/ours+1234=="
LOCAL = PROVIDERS["local"]
REQUEST = CompletionRequest("local", "completions", "m", "llama.cpp", "Hi", values={"stream": True})


@pytest.fixture
async def target(provider: FakeProvider) -> AsyncIterator[Target]:
    yield Target(provider.url, KEY, reaches_local=True, connect_timeout=2, read_timeout=5)
    await base.close()


async def events_of(target: Target, request: CompletionRequest = REQUEST) -> list[StreamEvent]:
    return [event async for event in LOCAL.stream(target, request)]


async def text_of(target: Target, request: CompletionRequest = REQUEST) -> str:
    batch = Batch()
    async for event in LOCAL.stream(target, request):
        batch.add(event)
    return fold(batch.to_list()).choices[0].text


async def failure(target: Target, request: CompletionRequest = REQUEST) -> ProviderError:
    with pytest.raises(ProviderError) as raised:
        await events_of(target, request)
    return raised.value


def sentence(error: ProviderError) -> str:
    """The message, after what holds for each of them."""
    assert error.message.strip()
    assert len(error.message) <= 2000
    assert KEY not in error.message
    assert not re.search(r"<\w+|</", error.message)
    return error.message


# --- What is sent --------------------------------------------------------------------------


async def test_it_posts_the_body_with_the_key_and_the_extra_headers(
    provider: FakeProvider, target: Target
) -> None:
    with_header = dataclasses.replace(target, headers={"X-Team": "evals"})
    assert (await text_of(with_header)).startswith("w0 w1 ")
    [post] = provider.posts
    assert post.path == "/v1/completions"
    assert post.json == REQUEST.body()
    assert post.headers["authorization"] == f"Bearer {KEY}"
    assert post.headers["x-team"] == "evals"
    assert post.headers["accept-encoding"] == "identity"
    assert "cookie" not in post.headers


async def test_of_headers_that_differ_in_case_only_the_last_is_sent(
    provider: FakeProvider, target: Target
) -> None:
    own = dataclasses.replace(REQUEST, own_headers={"X-Team": "mine", "x-own": "1", "X-Own": "2"})
    both = dataclasses.replace(
        target, headers={"x-team": "theirs", "Authorization": "Basic x", "Accept": "*/*"}
    )
    await events_of(both, own)
    await LOCAL.ask(both, f"{provider.url}/models")
    sent, asked = provider.requests
    assert (sent.headers["x-team"], sent.headers["x-own"]) == ("theirs", "2")
    assert sent.headers["accept"] == "*/*"
    assert sent.headers["authorization"] == f"Bearer {KEY}" == asked.headers["authorization"]


async def test_without_a_key_there_is_no_authorization(
    provider: FakeProvider, target: Target
) -> None:
    await events_of(dataclasses.replace(target, key=""))
    assert "authorization" not in provider.posts[0].headers


async def test_a_hosted_provider_without_a_key_sends_nothing(
    provider: FakeProvider, target: Target
) -> None:
    class Hosted(Provider):
        label = "Hosted"

    with pytest.raises(ProviderError, match="No key is set") as raised:
        async for _ in Hosted().stream(dataclasses.replace(target, key=""), REQUEST):
            pass
    assert raised.value.kind == ErrorKind.AUTH
    assert provider.requests == []


async def test_a_lone_surrogate_in_the_prompt_can_be_sent(
    provider: FakeProvider, target: Target
) -> None:
    await events_of(target, dataclasses.replace(REQUEST, prompt="é\ud83d"))
    assert provider.posts[0].json["prompt"] == "é\ud83d"


def test_a_target_does_not_show_its_secrets() -> None:
    shown = repr(Target("http://h/v1", KEY, headers={"X": "secret"}, proxy="http://u:p@proxy"))
    assert KEY not in shown
    assert "secret" not in shown
    assert "u:p" not in shown


# --- Errors with a status ------------------------------------------------------------------

VALIDATION = {"loc": ["body", "n"], "msg": "Extra inputs are not permitted", "type": "x"}
BODIES: list[tuple[int, Any, str, str]] = [
    (400, {"error": {"message": "bad n", "type": "t", "code": 400}}, "bad n", "bad_request"),
    (400, {"error": {"message": "bad n", "code": "bad"}}, "bad n", "bad_request"),
    (400, {"error": {"message": "bad n", "code": None}}, "bad n", "bad_request"),
    (400, {"error": {"message": "max_tokens must be in 1..8192", "param": "max_tokens"}},
     "max_tokens must be in 1..8192", "bad_request"),
    (401, {"error": "Unauthorized"}, "Unauthorized", "auth"),
    (403, {"error": {"message": "not yours"}}, "not yours", "auth"),
    (402, {"error": {"message": "no money"}}, "no money", "bad_request"),
    (404, {"detail": "Not Found"}, "Not Found", "not_found"),
    (404, {"error": {"message": "model nope"}}, "model nope", "not_found"),
    (422, {"detail": [VALIDATION]}, "body.n: Extra inputs are not permitted", "bad_request"),
    (422, {"detail": [VALIDATION, {**VALIDATION, "loc": ["body", "m"]}]},
     "body.n: Extra inputs are not permitted; body.m: Extra inputs are not permitted",
     "bad_request"),
    (400, {"error": {"message": repr([VALIDATION])}},
     "body.n: Extra inputs are not permitted", "bad_request"),
    (500, {"object": "error", "message": "broken", "type": "t", "code": 500, "param": None,
           "validation_errors": {"n": "too big"}}, "broken (n: too big)", "unavailable"),
    (400, {"object": "error", "message": "broken", "code": 400}, "broken", "bad_request"),
    (500, {"message": "broken"}, "broken", "unavailable"),
    (500, b"Internal Server Error", "Internal Server Error", "unavailable"),
    (502, b"<html><body><h1>Bad Gateway</h1></body></html>", "web page", "unavailable"),
    (503, b"", "no reason", "unavailable"),
    (400, b'\xef\xbb\xbf{"error": {"message": "marked"}}', "marked", "bad_request"),
    (500, {}, "no reason", "unavailable"),
    (500, {"error": {"code": 7}}, 'no reason, only {"error": {"code": 7}}', "unavailable"),
    (500, b'data: {"error": {"message": "framed"}}\n\n', "framed", "unavailable"),
    (400, [VALIDATION], "body.n: Extra inputs are not permitted", "bad_request"),
    (500, {"error": {"message": "line one\nline two"}}, "line one\nline two", "unavailable"),
    (502, {"error": {"message": "<!DOCTYPE html>\n<h1>Bad</h1>"}}, "web page", "unavailable"),
    (400, {"error": {"error": {"error": {"message": "deep"}}}}, "deep", "bad_request"),
    (400, b'{"error":' * 900 + b"1" + b"}" * 900, "no reason", "bad_request"),
    (500, b"\x00\xff\xfe", "", "unavailable"),
    (400, {"error": {"message": "x" * 5000}}, "x" * 100, "bad_request"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "words", "kind"), BODIES)
async def test_an_error_body_becomes_one_readable_sentence(
    provider: FakeProvider, target: Target, status: int, body: Any, words: str, kind: str
) -> None:
    provider.reply_with(error_reply(status, body))
    error = await failure(target)
    assert words in sentence(error)
    assert (error.status, error.kind) == (status, kind)


async def test_a_400_event_stream_is_read_as_an_error(
    provider: FakeProvider, target: Target
) -> None:
    provider.reply_with(Reply(429, pieces=[b'data: {"error": {"message": "slow down"}}\n\n']))
    error = await failure(target)
    assert (error.message, error.kind) == ("slow down", "rate_limit")


@pytest.mark.parametrize(
    "said",
    [
        f"Incorrect API key provided: {KEY}.",
        f"Authorization: Bearer {KEY}",
        "you sent Bearer abcdef123456",
        "Incorrect API key provided: sk-test-SECRET02.",
        "key sk-proj-SECRET02abc is revoked",
        "gsk_SECRET02abcdef and hf_SECRET02abcdef",
        "api_key=SECRET02abcdef",
        "x-api-key: SECRET02abcdef",
    ],
)
@pytest.mark.parametrize("status", [401, 200])
async def test_a_key_in_the_providers_words_is_masked(
    provider: FakeProvider, target: Target, said: str, status: int
) -> None:
    body = {"error": {"message": said}}
    in_stream = Reply(pieces=[b"data: " + json.dumps(body).encode() + b"\n\n"])
    provider.reply_with(error_reply(status, body) if status >= 400 else in_stream)
    message = sentence(await failure(target))
    assert "[key]" in message
    assert "SECRET02" not in message
    assert "abcdef123456" not in message


def test_a_key_cut_at_the_end_of_a_long_message_is_masked_first() -> None:
    assert "SECRET" not in masked("x" * 1990 + " sk-test-SECRET02")[:2000]


def http_date(seconds: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(
    ("headers", "low", "high"),
    [
        ({"retry-after": "7"}, 7, 7),
        ({"retry-after": "1.5"}, 1.5, 1.5),
        ({"retry-after-ms": "2500", "retry-after": "9"}, 2.5, 2.5),
        ({"retry-after": http_date(86_400)}, 1, 86_400),
        ({"retry-after": http_date(-60)}, 0, 0),
    ],
)
async def test_429_says_when_to_try_again(
    provider: FakeProvider, target: Target, headers: dict[str, str], low: float, high: float
) -> None:
    provider.reply_with(error_reply(429, {"error": {"message": "slow down"}}, headers))
    error = await failure(target)
    assert error.kind == "rate_limit"
    assert error.retry_after is not None
    assert low <= error.retry_after <= high
    assert re.fullmatch(r"slow down \(try again in \d+ s\)", error.message)


@pytest.mark.parametrize("value", ["", "soon", "-5", "nan", "inf", "Mon, 99 Foo", "9" * 400])
async def test_429_with_an_odd_retry_after_is_still_a_429(
    provider: FakeProvider, target: Target, value: str
) -> None:
    provider.reply_with(error_reply(429, {"error": "slow down"}, {"retry-after": value}))
    error = await failure(target)
    assert (error.kind, error.status) == ("rate_limit", 429)
    assert error.message.startswith("slow down")
    assert error.retry_after in (None, 0)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("scheme", ["http:", ""])
async def test_a_redirect_is_named_and_never_followed(
    provider: FakeProvider, target: Target, status: int, scheme: str
) -> None:
    with FakeProvider() as second:
        address = scheme + second.url.removeprefix("http:") + "/x"
        provider.reply_with(Reply(status, "text/plain", {"location": address}))
        error = await failure(target)
        assert second.requests == []
    assert (error.kind, error.status) == ("redirected", status)
    assert address in sentence(error)
    assert [request.method for request in provider.requests] == ["POST"]


# --- Answers that are none -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(content_type="text/html", pieces=[b"<html>Log in</html>"]), "bad_content"),
        (Reply(pieces=[]), "truncated"),
        (Reply(pieces=[text_event("Half")]), "truncated"),
        (Reply(pieces=[text_event("Half")], end="abort"), "truncated"),
        (Reply(pieces=[text_event("Half")], end="cut"), "truncated"),
        (Reply(pieces=[b"data: {x\n\n", text_event("a"), FIN, DONE]), "bad_json"),
        (Reply(pieces=[b"data: [1]\n\n", text_event("a"), FIN, DONE]), "bad_json"),
        (Reply(pieces=[b'data: {"error": "boom"}\n\n']), "upstream_error"),
        (Reply(content_type="application/json", pieces=[b"[1]"]), "bad_json"),
        (Reply(content_type="application/json", pieces=[b'{"error": "boom"}']), "upstream_error"),
        (Reply(content_type="application/json", pieces=[b"{}"]), "bad_content"),
    ],
)
async def test_it_says_what_is_wrong_with_the_answer(
    provider: FakeProvider, target: Target, reply: Reply, kind: str
) -> None:
    provider.reply_with(reply)
    error = await failure(target)
    assert error.kind == kind
    sentence(error)


async def test_a_byte_order_mark_before_json_is_no_matter(
    provider: FakeProvider, target: Target
) -> None:
    body = b'\xef\xbb\xbf{"choices": [{"index": 0, "text": "whole"}]}'
    provider.reply_with(Reply(content_type="application/json", pieces=[body]))
    assert await text_of(target) == "whole"


@pytest.mark.parametrize(
    "flat",
    [
        {"message": "overloaded now", "code": 503},
        {"message": "overloaded now", "type": "server_error", "param": None},
        {"message": "overloaded now", "code": "429", "type": None},
    ],
)
async def test_a_flat_error_within_an_answer_is_said(
    provider: FakeProvider, target: Target, flat: dict[str, Any]
) -> None:
    data = f"data: {json.dumps(flat)}\n\n".encode()
    for pieces in ([data, DONE], [text_event("Hi"), data], [json.dumps(flat).encode()]):
        provider.reply_with(Reply(pieces=pieces))
        error = await failure(target)
        assert error.kind == ErrorKind.UPSTREAM_ERROR
        assert error.message.startswith("overloaded now")


@pytest.mark.parametrize("content_type", ["application/json", "application/x-ndjson"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b": ping\n\n"])
async def test_a_stream_that_calls_itself_json_is_a_stream(
    provider: FakeProvider, target: Target, content_type: str, start: bytes
) -> None:
    pieces = [start, text_event("Hi"), text_event(" there"), FIN, DONE]
    provider.reply_with(Reply(content_type=content_type, pieces=[each for each in pieces if each]))
    assert await text_of(target) == "Hi there"
    provider.reply_with(Reply(content_type=content_type, pieces=[text_event("Hi")]))
    assert (await failure(target)).kind == ErrorKind.TRUNCATED


async def test_what_came_before_a_failure_was_yielded(
    provider: FakeProvider, target: Target
) -> None:
    provider.reply_with(Reply(pieces=[text_event("Par"), b'data: {"error": "quota"}\n\n']))
    found: list[tuple[str, Any]] = []

    async def collect() -> None:
        async for event in LOCAL.stream(target, REQUEST):
            found.append((event.kind, event.data))

    with pytest.raises(ProviderError, match="quota"):
        await collect()
    assert found[0] == ("text", "Par")
    assert found[-1][0] == "meta"


async def test_a_line_that_is_too_long_is_an_error_of_the_content(
    provider: FakeProvider, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "LONGEST_ANSWER", 1000)
    provider.reply_with(Reply(content_type="application/json", pieces=[b"[" * 2000]))
    assert (await failure(target)).kind == "bad_content"


SCRAPS = st.sampled_from(
    [b"data: ", b"\n\n", b"{", b"}", b'"choices":', b"[", b"]", b'"text":"a"', b"null", b",",
     b'{"choices":[{"index":', b"1e999", b"-1", b"true", b'"x"', b"[{}]", b"{}", b":",
     b'"delta":{"content":', b'"logprobs":', b'"usage":', b'"error":', b'"finish_reason":',
     b'"tool_calls":', b'{"tokens":', b'"top_logprobs":', b"NaN", b"\xff"]
)  # fmt: skip
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 10**20) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["choices", "index", "text", "delta", "message", "content", "logprobs", "tokens",
             "token_logprobs", "top_logprobs", "usage", "error", "finish_reason", "tool_calls",
             "function", "arguments", "name", "detail", "msg", "loc", "validation_errors"]),
        inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


def framed(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


BODY = (
    st.lists(SCRAPS, max_size=12).map(b"".join)
    | st.lists(VALUE.map(framed), max_size=3).map(b"".join)
    | st.binary(max_size=40)
    | VALUE.map(lambda value: json.dumps(value).encode())
    | st.sampled_from([b"[" * 100_000, b"data: " + b'{"a":' * 5000 + b"\n\n"])
)


@given(
    body=BODY,
    status=st.sampled_from([200, 200, 200, 400, 500]),
    content_type=st.sampled_from(["text/event-stream", "application/json", "text/plain", ""]),
)
@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_garbage_raises_nothing_but_provider_errors(
    provider: FakeProvider, body: bytes, status: int, content_type: str
) -> None:
    provider.reply_with(Reply(status, content_type, pieces=[body]))
    target = Target(provider.url, reaches_local=True)
    said: list[str] = []

    async def run() -> None:
        batch = Batch()
        try:
            async for event in LOCAL.stream(target, REQUEST):
                batch.add(event)
        except ProviderError as error:
            said.append(error.message)
        finally:
            await base.close()
        fold(batch.to_list())

    asyncio.run(run())
    assert all(message.strip() for message in said)


# --- Time and the network ------------------------------------------------------------------


async def test_a_slow_first_byte_is_no_connect_timeout(
    provider: FakeProvider, target: Target
) -> None:
    provider.reply_with(words(3, delay=0.4))
    assert await text_of(dataclasses.replace(target, connect_timeout=0.2)) == "w0 w1 w2 "


@pytest.mark.parametrize(
    "reply", [Reply(delay=30), Reply(pieces=[text_event("a"), 30]), Reply(end="hold")]
)
async def test_silence_beyond_the_read_timeout_is_a_timeout(
    provider: FakeProvider, target: Target, reply: Reply
) -> None:
    provider.reply_with(reply)
    error = await failure(dataclasses.replace(target, read_timeout=0.2))
    assert error.kind == "timeout"
    assert sentence(error) == "The server sent nothing for 0.2 s."


async def test_a_refused_connection_says_that_nothing_listens_there(target: Target) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        error = await failure(dataclasses.replace(target, base_url=f"http://127.0.0.1:{port}/v1"))
    assert error.kind == "connection"
    assert "nothing is listening there" in sentence(error)
    assert str(port) in error.message


@pytest.mark.parametrize(
    "url", ["http://no-such-host.invalid/v1", "http://[", "http://h:port/v1", "nonsense", "http:/"]
)
async def test_an_impossible_address_is_a_connection_error(target: Target, url: str) -> None:
    error = await failure(dataclasses.replace(target, base_url=url))
    assert error.kind == "connection"
    sentence(error)
    with pytest.raises(ProviderError):
        await LOCAL.models(dataclasses.replace(target, base_url=url))


PRIVATE = ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "10.0.0.1", "[::ffff:127.0.0.1]"]


@pytest.mark.parametrize("host", PRIVATE)
async def test_a_private_address_is_refused_where_it_is_not_allowed(
    provider: FakeProvider, target: Target, host: str
) -> None:
    url = provider.url.replace("127.0.0.1", host)
    public_only = dataclasses.replace(target, base_url=url, reaches_local=False)
    error = await failure(public_only)
    assert error.kind == "connection"
    assert "is a private address" in sentence(error)
    assert "An admin can set" in error.message
    with pytest.raises(ProviderError, match="is a private address"):
        await LOCAL.models(public_only)
    assert provider.requests == []


@pytest.mark.parametrize(
    ("address", "public"),
    [
        *[(address, True) for address in ("93.184.216.34", "2606:2800:220:1::1", "8.8.8.8")],
        *[(address, False) for address in (
            "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0",
            "100.64.0.1", "::1", "::", "fe80::1%eth0", "fc00::1", "::ffff:127.0.0.1",
            "::ffff:10.0.0.1", "224.0.0.1", "ff02::1", "64:ff9b::7f00:1", "2002:7f00:1::",
        )],
    ],
)  # fmt: skip
def test_it_knows_public_addresses(address: str, public: bool) -> None:
    assert is_public(address) is public


@pytest.mark.parametrize("answer", [b"garbage\r\n\r\n", b"SSH-2.0-OpenSSH_9\r\n", b""])
async def test_a_server_of_another_kind_is_no_mystery(target: Target, answer: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        error = await failure(dataclasses.replace(target, base_url=f"http://127.0.0.1:{port}"))
    assert error.kind in ("bad_content", "connection")
    assert f"127.0.0.1:{port}" in sentence(error)


async def gone(provider: FakeProvider) -> bool:
    """Whether no reply is open any more, soon."""
    for _ in range(100):
        if provider.open == 0:
            return True
        await asyncio.sleep(0.02)
    return False


async def test_cancelled_runs_leak_no_connection(provider: FakeProvider, target: Target) -> None:
    for _ in range(10):
        provider.clear()
        provider.reply_with(Reply(pieces=[text_event("a")], end="hold"))
        tasks = [asyncio.create_task(events_of(target)) for _ in range(20)]
        await asyncio.to_thread(provider.wait_for_request, 20)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert await gone(provider)
    provider.clear()
    assert (await text_of(target)).startswith("w0 ")


async def test_more_than_a_hundred_streams_run_at_once(
    provider: FakeProvider, target: Target
) -> None:
    release = asyncio.Event()

    async def wait(_: object) -> None:
        while not release.is_set():
            await asyncio.sleep(0.01)

    provider.reply_with(Reply(pieces=[text_event("a"), wait, FIN, DONE]))
    tasks = [asyncio.create_task(text_of(target)) for _ in range(130)]
    await asyncio.to_thread(provider.wait_for_request, 130, 20)
    assert provider.open == 130
    release.set()
    assert await asyncio.gather(*tasks) == ["a"] * 130


# --- Models --------------------------------------------------------------------------------


async def test_it_lists_the_models(provider: FakeProvider, target: Target) -> None:
    provider.models = ["b", "a", {"id": "c", "meta": {}}]
    assert await LOCAL.models(target) == ["b", "a", "c"]
    assert provider.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("dialect", "answer", "tokens"),
    [
        ("llama.cpp", {"tokens": [7, 8]}, [(7, ""), (8, "")]),  # a build without pieces
        ("llama.cpp", {"tokens": [{"id": 7, "piece": None}, None]}, [(7, ""), (0, "")]),
        ("llama.cpp", {"tokens": [{"id": None, "piece": [300, "x"]}]}, [(0, "")]),
        ("vllm", {"tokens": [7, None], "token_strs": ["a", None]}, [(7, "a"), (0, "")]),
    ],
)
async def test_odd_tokens_are_counted_all_the_same(
    provider: FakeProvider, target: Target, dialect: str, answer: Any, tokens: list[Any]
) -> None:
    provider.on_path("/tokenize", json_reply(answer))
    assert await LOCAL.tokens(target, "m", "x", dialect) == tokens


@pytest.mark.parametrize(
    "reply",
    [json_reply(body) for body in ({}, [], {"data": None}, {"data": [1, {}, {"id": None}]}, "x")]
    + [Reply(pieces=[])],
)
async def test_an_odd_models_list_is_empty(
    provider: FakeProvider, target: Target, reply: Reply
) -> None:
    provider.on_path("/v1/models", reply)
    assert await LOCAL.models(target) == []


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (error_reply(401, {"error": f"bad key {KEY}"}), "auth"),
        (error_reply(502, b"<html>"), "unavailable"),
        (Reply(307, "text/plain", {"location": "http://127.0.0.1:9/"}), "redirected"),
        (json_reply({"error": "Unexpected endpoint or method. (GET /models)"}), "not_found"),
        (Reply(content_type="text/html", pieces=[b"<html>"]), "bad_content"),
        (Reply(delay=30), "timeout"),
    ],
)
async def test_a_models_list_can_fail(
    provider: FakeProvider, target: Target, reply: Reply, kind: str
) -> None:
    provider.on_path("/v1/models", reply)
    with pytest.raises(ProviderError) as raised:
        await LOCAL.models(dataclasses.replace(target, connect_timeout=0.3))
    assert raised.value.kind == kind
    sentence(raised.value)


# --- Shapes --------------------------------------------------------------------------------


def token(text: str, logprob: float | None, *top: tuple[str, float]) -> dict[str, Any]:
    candidates = [{"token": one, "logprob": value, "bytes": None} for one, value in top]
    return {"token": text, "logprob": logprob, "bytes": None, "top": candidates}


LEGACY = {
    "tokens": ["a", "b"],
    "token_logprobs": [None, -0.5],
    "top_logprobs": [None, {"c": -2.0, "b": -0.5}],
    "text_offset": [0, 1],
}
CONTENT = {
    "content": [
        {
            "token": "a",
            "bytes": [97],
            "logprob": -1,
            "top_logprobs": [{"token": "b", "logprob": -2, "bytes": None}],
        }
    ]
}


@pytest.mark.parametrize(
    ("logprobs", "tokens"),
    [
        (LEGACY, [token("a", None), token("b", -0.5, ("b", -0.5), ("c", -2.0))]),
        (CONTENT, [{**token("a", -1, ("b", -2)), "bytes": [97]}]),
        ({**LEGACY, **CONTENT}, [{**token("a", -1, ("b", -2)), "bytes": [97]}]),  # both: the newer
        ({"content": None, **LEGACY}, [token("a", None), token("b", -0.5, ("b", -0.5), ("c", -2))]),
        ({"tokens": ["a"]}, [token("a", None)]),
        ({"tokens": ["a"], "token_logprobs": 1, "top_logprobs": "x"}, [token("a", None)]),
        ({"tokens": ["a"], "token_logprobs": {"a": 1}, "top_logprobs": {"a": {}}},
         [token("a", None)]),
        (5, []), (0, []), (None, []), ([], []), ({}, []), ({"content": "x"}, []), (True, []),
        ({"content": [{}]}, [token("", None)]),
        ({"content": [{"token": None, "logprob": -1}]}, [token("", -1)]),
        ({"tokens": [None, "a"], "token_logprobs": [-1, -2]}, [token("", -1), token("a", -2)]),
        ({"content": [{"token": "a", "logprob": -(10**400)}]}, [token("a", None)]),
    ],
)  # fmt: skip
def test_logprobs_of_any_shape_have_one_normal_form(
    logprobs: Any, tokens: list[dict[str, Any]]
) -> None:
    assert normal(logprobs) == tokens


def parsed(*payloads: dict[str, Any]) -> list[tuple[str, int, Any]]:
    parser = ChunkParser()
    return [
        (event.kind, event.choice, event.data)
        for payload in payloads
        for event in parser.parse(payload, 0.0)
    ]


@pytest.mark.parametrize(
    ("choice", "events"),
    [
        ({"text": "a"}, [("text", 0, "a")]),
        ({"delta": {"content": "a"}, "index": 1}, [("text", 1, "a")]),
        ({"message": {"content": "a"}}, [("text", 0, "a")]),
        ({"delta": {"content": [{"type": "text", "text": "a"}, 1]}}, [("text", 0, "a")]),
        ({"delta": {"content": [{"text": None}, {"text": "a"}]}}, [("text", 0, "a")]),
        ({"delta": {"reasoning_content": "r"}}, [("reasoning", 0, "r")]),
        ({"delta": {"reasoning": "r", "content": ""}}, [("reasoning", 0, "r")]),
        ({"delta": None, "text": None}, []),
        ({"delta": "x"}, []),
        ({"text": "a", "finish_reason": ""}, [("text", 0, "a")]),
        ({"finish_reason": "stop"}, [("finish", 0, "stop")]),
        ({"text": "a", "index": -1}, [("text", 0, "a")]),
        ({"text": "a", "index": True}, [("text", 0, "a")]),
        ({"text": "a", "index": 10**30}, [("text", 0, "a")]),
        ({"delta": {"tool_calls": [{"index": 0}, 7]}}, [("tool_call", 0, [{"index": 0}])]),
    ],
)
def test_a_choice_of_any_shape_becomes_events(
    choice: dict[str, Any], events: list[tuple[str, int, Any]]
) -> None:
    assert parsed({"choices": [choice]}) == events


def test_usage_repeated_on_every_chunk_is_one_event() -> None:
    zero, final = {"completion_tokens": 0}, {"completion_tokens": 2}
    chunk = {"choices": [{"text": "a"}], "usage": zero}
    assert [row for row in parsed(chunk, chunk, {"choices": [], "usage": final})
            if row[0] == "usage"] == [("usage", -1, zero), ("usage", -1, final)]  # fmt: skip


def test_an_answer_is_complete_when_every_choice_has_finished() -> None:
    parser = ChunkParser()
    list(parser.parse({"choices": [{"index": 0, "text": "a"}, {"index": 1, "text": "b"}]}, 0))
    list(parser.parse({"choices": [{"index": 0, "finish_reason": "stop"}]}, 0))
    assert not parser.complete
    list(parser.parse({"choices": [{"index": 1, "finish_reason": "stop"}]}, 0))
    assert parser.complete
