"""Tests of the fake provider itself, by raw sockets, so that no HTTP library smooths its bytes."""

import base64
import http.client
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit

import pytest

from tests.fake_provider import (
    DONE,
    FIN,
    FakeProvider,
    Received,
    Reply,
    cases,
    chat_event,
    error_reply,
    from_case,
    json_reply,
    text_event,
    until,
    words,
)

CASES = cases()


@pytest.fixture(scope="module")
def server() -> Iterator[FakeProvider]:
    with FakeProvider() as provider:
        yield provider


@pytest.fixture
def provider(server: FakeProvider) -> FakeProvider:
    server.clear()
    return server


def connect(provider: FakeProvider) -> socket.socket:
    url = urlsplit(provider.url)
    return socket.create_connection((url.hostname or "", url.port or 0), timeout=5)


def post(sock: socket.socket, body: bytes = b"{}", path: str = "/v1/completions") -> BinaryIO:
    head = f"POST {path} HTTP/1.1\r\nHost: fake\r\nContent-Length: {len(body)}\r\n\r\n"
    sock.sendall(head.encode() + body)
    return sock.makefile("rb")


def read_head(stream: BinaryIO) -> tuple[int, dict[str, str]]:
    status = int(stream.readline().split()[1])
    lines = iter(lambda: stream.readline().decode().strip(), "")
    return status, dict(line.split(": ", 1) for line in lines)


def read_chunks(stream: BinaryIO) -> Iterator[bytes]:
    while size := int(stream.readline(), 16):
        yield stream.read(size + 2)[:-2]
    assert stream.readline() == b"\r\n"


def ask(provider: FakeProvider, path: str = "/v1/completions", **fields: Any) -> list[bytes]:
    """The chunks of one whole reply."""
    with connect(provider) as sock, post(sock, json.dumps(fields).encode(), path) as stream:
        read_head(stream)
        return list(read_chunks(stream))


def texts(chunks: list[bytes], index: int = 0) -> str:
    """The text of one choice, of either API."""
    events = [json.loads(chunk[6:]) for chunk in chunks if chunk != DONE]
    choices = [c for event in events for c in event["choices"] if c["index"] == index]
    return "".join(c["text"] if "text" in c else c["delta"]["content"] for c in choices)


def test_pieces_arrive_separately(provider: FakeProvider) -> None:
    go = threading.Event()
    provider.queue(Reply(pieces=[b"one", b"", b"two", until(go), b"three"]))
    with connect(provider) as sock, post(sock) as stream:
        assert read_head(stream)[1]["transfer-encoding"] == "chunked"
        chunks = read_chunks(stream)
        assert [next(chunks), next(chunks)] == [b"one", b"two"]
        assert provider.open == 1
        go.set()
        assert list(chunks) == [b"three"]


def test_each_piece_is_a_write_of_its_own(provider: FakeProvider) -> None:
    provider.queue(Reply(pieces=[b"a", 0.03, b"b"], delay=0.03))
    start = time.monotonic()
    with connect(provider) as sock, post(sock) as stream:
        read_head(stream)
        assert time.monotonic() - start >= 0.03
        chunks = read_chunks(stream)
        first, between = next(chunks), time.monotonic()
        assert (first, next(chunks)) == (b"a", b"b")
        assert time.monotonic() - between >= 0.01


def test_abort_resets_after_the_last_byte(provider: FakeProvider) -> None:
    provider.queue(Reply(pieces=[b"x" * 100_000], end="abort"))
    with connect(provider) as sock, post(sock) as stream:
        read_head(stream)
        chunks = read_chunks(stream)
        assert len(next(chunks)) == 100_000
        with pytest.raises(ConnectionResetError):
            next(chunks)
    assert not provider.posts[0].dropped


def test_cut_closes_without_the_last_chunk(provider: FakeProvider) -> None:
    provider.queue(Reply(pieces=[b"x"], end="cut"))
    with connect(provider) as sock, post(sock) as stream:
        read_head(stream)
        assert stream.read() == b"1\r\nx\r\n"


def test_hold_holds_until_the_client_leaves(provider: FakeProvider) -> None:
    provider.queue(Reply(pieces=[b"x"], end="hold"))
    with connect(provider) as sock, post(sock) as stream:
        read_head(stream)
        assert next(read_chunks(stream)) == b"x"
        request = provider.wait_for_request()
        sock.settimeout(0.05)
        with pytest.raises(TimeoutError):
            sock.recv(1)
        assert (provider.open, request.closed.is_set()) == (1, False)
    assert request.closed.wait(5)
    assert request.dropped
    assert provider.open == 0


def test_it_notices_a_client_that_leaves_during_the_delay(provider: FakeProvider) -> None:
    provider.queue(Reply(delay=60))
    with connect(provider) as sock, post(sock):
        request = provider.wait_for_request()
    assert request.closed.wait(5)
    assert request.dropped


def test_it_notices_a_client_that_leaves_an_endless_stream(provider: FakeProvider) -> None:
    async def endless(request: Received) -> AsyncIterator[bytes]:
        while True:
            yield text_event("again ")

    provider.queue(Reply(pieces=endless))
    with connect(provider) as sock, post(sock) as stream:
        read_head(stream)
        assert next(read_chunks(stream)) == text_event("again ")
    assert provider.posts[0].closed.wait(5)
    assert provider.posts[0].dropped


def test_a_client_that_leaves_at_done_has_not_dropped_the_reply(provider: FakeProvider) -> None:
    for n in range(20):
        with connect(provider) as sock, post(sock) as stream:
            while stream.readline() != b"data: [DONE]\n":
                pass
        assert provider.posts[n].closed.wait(5)
        assert not provider.posts[n].dropped


def test_one_connection_serves_several_requests(provider: FakeProvider) -> None:
    provider.queue(words(2), json_reply({"a": 1}), error_reply(503, b"<p>busy", {"x-a": "b"}))
    connection = http.client.HTTPConnection(urlsplit(provider.url).netloc, timeout=5)
    seen = []
    for _ in range(3):
        connection.request("POST", "/v1/completions", b"{}")
        response = connection.getresponse()
        seen.append((response.status, response.getheader("content-type"), response.read()[-7:]))
    connection.close()
    assert seen == [
        (200, "text/event-stream", b"DONE]\n\n"),
        (200, "application/json", b'"a": 1}'[-7:]),
        (503, "text/html", b"<p>busy"),
    ]


def test_a_request_sent_early_is_answered_in_turn(provider: FakeProvider) -> None:
    go = threading.Event()
    provider.queue(Reply(pieces=[until(go), b"1"]), Reply(pieces=[b"2"]))
    with connect(provider) as sock, post(sock), post(sock) as stream:
        provider.wait_for_request()
        go.set()
        for chunk in (b"1", b"2"):
            read_head(stream)
            assert list(read_chunks(stream)) == [chunk]


@pytest.mark.parametrize("chunked", [False, True])
def test_it_takes_large_bodies(provider: FakeProvider, chunked: bool) -> None:
    body = b'"' + b"x" * 2**24 + b'"'
    connection = http.client.HTTPConnection(urlsplit(provider.url).netloc, timeout=20)
    provider.queue(json_reply({}))
    parts = iter([body[:999], body[999:]]) if chunked else body
    connection.request("POST", "/v1/completions", parts, {"X-Mixed": "Y"}, encode_chunked=chunked)
    assert connection.getresponse().read() == b"{}"
    connection.close()
    assert provider.posts[0].body == body
    assert provider.posts[0].headers["x-mixed"] == "Y"


def test_it_holds_300_connections(provider: FakeProvider) -> None:
    provider.reply_with(Reply(pieces=[b"x"], end="hold"))
    sockets = [connect(provider) for _ in range(300)]
    streams = [post(sock) for sock in sockets]
    provider.wait_for_request(300)
    assert [next(read_chunks(s)) for s in streams if read_head(s)] == [b"x"] * 300
    assert provider.open == 300
    for sock, stream in zip(sockets, streams, strict=True):
        stream.close()
        sock.close()
    assert all(request.closed.wait(5) and request.dropped for request in provider.posts)
    assert provider.open == 0


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_case_replays_its_bytes_as_cut(provider: FakeProvider, case: dict[str, Any]) -> None:
    raw = base64.b64decode(case["raw_b64"])
    lengths = {"listed": case["chunking"], "whole": [len(raw)], "bytes": [1] * len(raw)}
    for chunking in ("listed", "whole", "bytes"):
        provider.queue(from_case(case, chunking))
        with connect(provider) as sock, post(sock) as stream:
            status, headers = read_head(stream)
            got: list[bytes] = []
            try:
                for chunk in read_chunks(stream):
                    got.append(chunk)
            except ConnectionResetError:
                assert case["end"] == "abort"
            else:
                assert case["end"] == "clean"
        assert (status, headers["content-type"]) == (case["status"], case["content_type"])
        assert case["headers"].items() <= headers.items()
        assert b"".join(got) == raw
        assert [len(chunk) for chunk in got] == [n for n in lengths[chunking] if n]


def test_there_are_63_cases() -> None:
    assert len({case["id"] for case in CASES}) == 63


def test_words_are_exactly_the_words(provider: FakeProvider) -> None:
    provider.reply_with(words(3, prefix="t"))
    completion = ask(provider, prompt="a b", n=2)
    assert texts(completion, 0) == texts(completion, 1) == "t0 t1 t2 "
    assert completion[-1] == DONE
    usage = {"prompt_tokens": 2, "completion_tokens": 6, "total_tokens": 8}
    assert json.loads(completion[-2][6:])["usage"] == usage
    assert json.loads(completion[-3][6:])["choices"][0]["finish_reason"] == "stop"
    chat = ask(provider, "/v1/chat/completions", messages=[{"role": "user", "content": "a"}])
    assert texts(chat) == "t0 t1 t2 "
    assert json.loads(chat[0][6:])["object"] == "chat.completion.chunk"


def test_words_keep_their_rate(provider: FakeProvider) -> None:
    provider.reply_with(words(100, rate=500))
    start = time.monotonic()
    assert texts(ask(provider)).endswith("w99 ")
    assert 0.18 < time.monotonic() - start < 1


def test_the_prompt_can_ask_for_words(provider: FakeProvider) -> None:
    assert texts(ask(provider, prompt="please rate=500 n=5")) == "w0 w1 w2 w3 w4 "


def test_fin_fits_both_routes() -> None:
    assert texts([text_event("a"), FIN, DONE]) == "a"
    assert texts([chat_event("a"), FIN, DONE]) == "a"


def test_the_reply_is_chosen_by_path_queue_model_and_default(provider: FakeProvider) -> None:
    provider.reply_with(Reply(pieces=[b"default"]))
    provider.on("m", lambda request: Reply(pieces=[request.json["model"].encode()]))
    provider.on_path("/v1/special", Reply(pieces=[b"path"]))
    provider.queue(Reply(pieces=[b"queue"]))
    assert ask(provider, "/v1/special", model="m") == [b"path"]
    got = [ask(provider, model=model) for model in ("m", "m", "other")]
    assert got == [[b"queue"], [b"m"], [b"default"]]


def test_it_lists_models_and_health(provider: FakeProvider) -> None:
    provider.models = ["a", {"id": "b", "owned_by": "me"}]
    connection = http.client.HTTPConnection(urlsplit(provider.url).netloc, timeout=5)
    answers = []
    for path in ("/v1/models", "/health", "/v1/none"):
        connection.request("GET", path)
        response = connection.getresponse()
        answers.append((response.status, json.loads(response.read())))
    connection.close()
    assert [model["id"] for model in answers[0][1]["data"]] == ["a", "b"]
    assert answers[0][1]["object"] == "list"
    assert answers[1] == (200, {"status": "ok"})
    assert answers[2][0] == 404
    assert [request.path for request in provider.requests] == ["/v1/models", "/health", "/v1/none"]
    assert provider.posts == []


def test_waiting_for_a_request_ends(provider: FakeProvider) -> None:
    with pytest.raises(TimeoutError, match="0 of 1"):
        provider.wait_for_request(timeout=0.01)


def test_a_mistake_in_a_reply_is_raised_at_the_end() -> None:
    def mistaken(request: Received) -> Reply:
        raise LookupError("mistaken")

    provider = FakeProvider().__enter__()
    provider.reply_with(mistaken)
    with connect(provider) as sock, post(sock) as stream:
        assert stream.read() == b""
    with pytest.raises(LookupError, match="mistaken"):
        provider.__exit__(None, None, None)


def test_leaving_closes_open_replies() -> None:
    with FakeProvider() as provider:
        provider.reply_with(Reply(end="hold"))
        sock = connect(provider)
        stream = post(sock)
        request = provider.wait_for_request()
    assert request.closed.is_set()
    assert not request.dropped
    stream.read()
    stream.close()
    sock.close()


def test_a_taken_port_is_an_error(provider: FakeProvider) -> None:
    port = urlsplit(provider.url).port or 0
    with pytest.raises(OSError, match="in use"), FakeProvider(port):
        pass


def test_it_runs_as_a_program() -> None:
    command = [sys.executable, "-m", "tests.fake_provider", "--port", "0", "--models", "a,b"]
    root = Path(__file__).parent.parent
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        url = urlsplit(process.stdout.readline().strip())
        connection = http.client.HTTPConnection(url.netloc, timeout=5)
        connection.request("POST", url.path + "/completions", json.dumps({"prompt": "n=2"}))
        assert b"w1 " in connection.getresponse().read()
        connection.close()
        process.terminate()


def test_its_end_closes_what_clients_left_open() -> None:
    with FakeProvider() as provider:
        provider.reply_with(Reply(pieces=[b"x"], end="hold"))
        idle, held = connect(provider), connect(provider)
        with post(held) as stream:
            read_head(stream)
            provider.wait_for_request()
    with idle, held:
        assert is_over(idle)
        assert is_over(held)


def is_over(sock: socket.socket) -> bool:
    """Wait for the end, clean or by a reset; a socket that stays open is a timeout."""
    try:
        while sock.recv(1024):
            pass
    except ConnectionResetError:
        pass
    return True
