"""A fake LLM provider: a real HTTP/1.1 server on loopback whose every byte a test decides.

It is written on plain asyncio streams, so that chunk boundaries, pauses and resets are ours, and
runs in a thread with a loop of its own, so that sync tests, async tests, browsers and other
processes can all talk to it. It knows nothing of the application under test. Methods that wait
block the calling thread: an async test calls them through `asyncio.to_thread`.

    with FakeProvider() as provider:
        provider.queue(Reply(pieces=[text_event("Hi"), 0.05, FIN, DONE]))
        ...                                    # let the application call provider.url
        assert provider.posts[0].json["prompt"] == "Hello"

By hand, or for servers in other processes: `python -m tests.fake_provider --port 8099`; the prompt
decides the reply, see `prompted`.
"""

import argparse
import asyncio
import base64
import http.client
import inspect
import itertools
import json
import re
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

CASES = Path(__file__).parent / "data" / "sse_cases.jsonl"
HEAD_LIMIT = 2**20  # bytes; also how much of a request's body is buffered ahead
SLACK = 0.02  # seconds of lateness that a wait makes up for, so that a rate does not drift
RESET_AFTER = 0.02  # seconds; lets the client read the last bytes before the reset
CREATED = 1_700_000_000
TOKENS = ("/tokenize", "/detokenize")  # what the form asks while somebody types


@dataclass(eq=False)
class Received:
    """One request; its last three fields change while the reply goes out."""

    method: str
    path: str  # as sent, with the query string
    headers: dict[str, str]  # names in lower case
    body: bytes
    at: float = field(default_factory=time.monotonic)
    closed: threading.Event = field(default_factory=threading.Event)  # set when the reply is over
    dropped: bool = False  # the client left before the reply was complete

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def prompt(self) -> str:
        """The prompt, or the text of all messages, one a line; "" if there is neither."""
        fields = self.json if self.body else {}
        messages = [str(message.get("content")) for message in fields.get("messages", [])]
        return str(fields.get("prompt") or "\n".join(messages))


Step = bytes | float | None  # bytes are sent as one chunk, a number is a wait in seconds
Piece = Step | Callable[[Received], Step | Awaitable[Step]]
Pieces = Iterable[Piece] | AsyncIterable[Piece]
End = Literal["clean", "abort", "cut", "hold"]


@dataclass(frozen=True)
class Reply:
    """What to answer.

    `pieces` go out one by one, each flushed as an HTTP chunk of its own. A function that makes
    them from the request lets one endless generator serve many requests. With a `content-length`
    in `headers` the body is sent as it is, without chunks. `end`: "abort" resets the connection
    after the last byte, "cut" closes it without the last chunk, "hold" keeps it open and sends
    nothing more. `delay` is seconds before the status line.
    """

    status: int = 200
    content_type: str = "text/event-stream"
    headers: dict[str, str] = field(default_factory=dict)
    pieces: Pieces | Callable[[Received], Pieces] = ()
    end: End = "clean"
    delay: float = 0.0

    @property
    def chunked(self) -> bool:
        return "content-length" not in {name.lower() for name in self.headers}

    def head(self) -> bytes:
        phrase = http.client.responses.get(self.status, "Unknown")
        fields = {"content-type": self.content_type, **self.headers}
        if self.chunked:
            fields["transfer-encoding"] = "chunked"
        lines = [f"HTTP/1.1 {self.status} {phrase}", *(f"{k}: {v}" for k, v in fields.items())]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    async def each(self, request: Received) -> AsyncIterator[Step]:
        """The pieces in order, the callable ones called."""
        pieces = self.pieces(request) if callable(self.pieces) else self.pieces
        async for piece in pieces if isinstance(pieces, AsyncIterable) else _async(pieces):
            step = piece(request) if callable(piece) else piece
            yield await step if inspect.isawaitable(step) else step


ReplySource = Reply | Callable[[Received], Reply]


async def _async(pieces: Iterable[Piece]) -> AsyncIterator[Piece]:
    for piece in pieces:
        yield piece


# Builders


def _event(kind: str, choice: dict[str, Any] | None, extra: dict[str, Any]) -> bytes:
    choices = [] if choice is None else [choice]
    chunk = {"id": "cmpl-f", "object": kind, "created": CREATED, "model": "fake-1"}
    return _data(json.dumps({**chunk, "choices": choices, **extra}, ensure_ascii=False))


def _data(text: str) -> bytes:
    return f"data: {text}\n\n".encode()


def text_event(
    text: str | None, index: int = 0, finish: str | None = None, logprobs: Any = None, **extra: Any
) -> bytes:
    """One chunk of a completion; `extra` are fields beside `choices`."""
    choice = {"index": index, "text": text, "logprobs": logprobs, "finish_reason": finish}
    return _event("text_completion", choice, extra)


def chat_event(
    text: str | None,
    index: int = 0,
    finish: str | None = None,
    delta: dict[str, Any] | None = None,
    **extra: Any,
) -> bytes:
    """One chunk of a chat completion; `delta` adds to its delta, `extra` are fields beside it."""
    message = {"content": text, **(delta or {})}
    choice = {"index": index, "delta": message, "finish_reason": finish}
    return _event("chat.completion.chunk", choice, extra)


FIN = _data('{"choices":[{"index":0,"text":"","delta":{},"finish_reason":"stop"}]}')  # any route
DONE = _data("[DONE]")


def until(event: threading.Event) -> Piece:
    """A piece that holds the reply back until the test sets the event."""

    async def wait(request: Received) -> None:
        while not event.is_set():
            await asyncio.sleep(0.002)

    return wait


def word_pieces(
    n: int,
    rate: float | None = None,
    prefix: str = "w",
    api: str = "completions",
    usage: bool = True,
    choices: int = 1,
    prompt_tokens: int = 3,
) -> Iterator[Piece]:
    """`w0 w1 w2 … ` for each choice at `rate` tokens a second, finish reason, usage, DONE."""
    build = chat_event if api == "chat" else text_event
    for index in range(choices if api == "chat" else 0):
        yield chat_event("", index, delta={"role": "assistant"})
    for token in range(n):
        if rate:
            yield 1 / rate
        for index in range(choices):
            yield build(f"{prefix}{token} ", index)
    for index in range(choices):
        yield build("", index, "stop")
    if usage:
        yield _usage(prompt_tokens, n * choices, api)
    yield DONE


def _usage(prompt_tokens: int, completion_tokens: int, api: str = "completions") -> bytes:
    counts = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    kind = "chat.completion.chunk" if api == "chat" else "text_completion"
    return _event(kind, None, {"usage": {**counts, "total_tokens": sum(counts.values())}})


def spoken(text: str, rate: float | None = None, prompt_tokens: int = 3) -> Reply:
    """A completion of this text, word by word at `rate` words a second; the usage counts them."""
    pieces: list[Piece] = []
    words = re.findall(r"\s*\S+\s*$|\s*\S+", text)
    for word in words:
        pieces += [*([1 / rate] if rate else []), text_event(word)]
    end = [text_event("", 0, "stop"), _usage(prompt_tokens, len(words)), DONE]
    return Reply(pieces=[*pieces, *end])


def by(model: str, reply: Reply) -> Reply:
    """The reply as that model's own: a backend that answers with another one is warned of."""
    name = f'\\1"{model}"'.encode()
    pieces = [
        each if isinstance(each, float) else re.sub(rb'("model":\s*)"[^"]*"', name, each)
        for each in reply.pieces  # type: ignore[union-attr]
    ]
    headers = {each: reply.headers[each] for each in reply.headers if each != "content-length"}
    return replace(reply, headers=headers, pieces=pieces)


def words(
    n: int,
    rate: float | None = None,
    prefix: str = "w",
    api: str = "completions",
    usage: bool = True,
    **reply: Any,
) -> Reply:
    """A stream of `w0 w1 w2 … `, as many choices as the request's `n`; `reply`: other fields.

    The shape follows the request's path; `api` decides where that names neither route. The usage
    counts the blank-separated words of the prompt.
    """

    def pieces(request: Received) -> Iterator[Piece]:
        path = request.path.split("?")[0]
        route = "chat" if path.endswith("/chat/completions") else "completions"
        shape = route if path.endswith("/completions") else api
        choices = int(request.json.get("n") or 1) if request.body else 1
        return word_pieces(n, rate, prefix, shape, usage, choices, len(request.prompt.split()))

    return Reply(pieces=pieces, **reply)


def prompted(request: Received) -> Reply:
    """The words that the prompt asks for, as in `rate=50 n=200 delay=1 end=abort status=500`.

    Without them: 20 words at once.
    """
    asked = dict(re.findall(r"\b(rate|n|delay|end|status)=([a-z]+|[\d.]+)", request.prompt))
    if "status" in asked:
        return error_reply(int(asked["status"]), {"error": {"message": "as the prompt asked"}})
    rate, delay = float(asked.get("rate", 0)) or None, float(asked.get("delay", 0))
    return words(int(asked.get("n", 20)), rate, delay=delay, end=asked.get("end", "clean"))


def _whole(status: int, kind: str, body: bytes, headers: dict[str, str] | None = None) -> Reply:
    sized = {"content-length": str(len(body)), **(headers or {})}
    return Reply(status, kind, sized, [body])


def json_reply(obj: Any, status: int = 200, headers: dict[str, str] | None = None) -> Reply:
    """One JSON body with its length, not chunked."""
    return _whole(status, "application/json", json.dumps(obj).encode(), headers)


def error_reply(status: int, body: Any, headers: dict[str, str] | None = None) -> Reply:
    """Bytes are sent as they are (HTML when they begin with `<`), anything else as JSON."""
    if not isinstance(body, bytes):
        return json_reply(body, status, headers)
    kind = "text/html" if body.lstrip().startswith(b"<") else "text/plain"
    return _whole(status, kind, body, headers)


def cases() -> list[dict[str, Any]]:
    """The rows of `sse_cases.jsonl`."""
    return [json.loads(line) for line in CASES.read_bytes().splitlines()]


def from_case(
    case: dict[str, Any], chunking: Literal["listed", "whole", "bytes"] = "listed"
) -> Reply:
    """Replay a row's bytes, cut as the row says, in one piece, or byte by byte."""
    raw = base64.b64decode(case["raw_b64"])
    lengths = {"listed": case["chunking"], "whole": [len(raw)], "bytes": [1] * len(raw)}[chunking]
    ends = itertools.accumulate(lengths, initial=0)
    pieces = [raw[start:end] for start, end in itertools.pairwise(ends)]
    return Reply(case["status"], case["content_type"], case["headers"], pieces, case["end"])


# The server


class FakeProvider:
    """The server, as a context manager.

    A request is answered by the first that applies: `on_path`, the models list, /health and a 404
    for tokens, the queue, `on` its model, the reply set by `reply_with` (at first `prompted`). An
    exception in a reply's function closes the connection and is raised again where the `with`
    block ends.
    """

    def __init__(self, port: int = 0, host: str = "127.0.0.1") -> None:
        self._address = (host, port)
        self._changed = threading.Condition()
        self._started: Future[int] = Future()
        self._thread = threading.Thread(target=self._run, name="fake-provider", daemon=True)
        self._failure: BaseException | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self.open = 0  # replies that have begun and are not over
        self.models: list[str | dict[str, Any]]
        self.requests: list[Received] = []
        self.clear()

    def __enter__(self) -> Self:
        self._thread.start()
        self._address = (self._address[0], self._started.result())
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        if self._failure and not error:
            raise self._failure

    @property
    def url(self) -> str:
        return "http://{}:{}/v1".format(*self._address)

    @property
    def posts(self) -> list[Received]:
        """The requests without the look-ups of models, health and tokens."""
        with self._changed:
            posts = [request for request in self.requests if request.method == "POST"]
            return [request for request in posts if not request.path.endswith(TOKENS)]

    def clear(self) -> None:
        """Forget all requests, replies and models set so far; open replies go on."""
        with self._changed:
            self.models = ["fake-1"]
            self.requests.clear()
            self._queue: deque[ReplySource] = deque()
            self._by_model: dict[str, ReplySource] = {}
            self._by_path: dict[str, ReplySource] = {}
            self._default: ReplySource = prompted

    def reply_with(self, reply: ReplySource) -> None:
        self._default = reply

    def on(self, model: str, reply: ReplySource) -> None:
        """Answer requests whose JSON says this model."""
        self._by_model[model] = reply

    def on_path(self, path: str, reply: ReplySource) -> None:
        """Answer requests of any method to this path, such as "/v1/models"."""
        self._by_path[path] = reply

    def queue(self, *replies: ReplySource) -> None:
        """Answer the next POST requests, one each."""
        with self._changed:
            self._queue.extend(replies)

    def wait_for_request(self, n: int = 1, timeout: float = 5) -> Received:
        """The n-th POST, once it is there; `TimeoutError` if it is not within `timeout` seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.posts) >= n, timeout):
                raise TimeoutError(f"{len(self.posts)} of {n} requests after {timeout} s")
            return self.posts[n - 1]

    # From here on: called in the server's thread.

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except OSError as error:
            self._started.set_exception(error)  # the port is taken

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        host, port = self._address
        server = await asyncio.start_server(
            self._connected, host, port, limit=HEAD_LIMIT, backlog=1024
        )
        self._started.set_result(server.sockets[0].getsockname()[1])
        await self._stop.wait()
        server.close()
        for serving in self._serving:
            serving.cancel()
        await asyncio.gather(*self._serving)
        await asyncio.sleep(0)  # only now are the sockets closed: none is left to the collector

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving = asyncio.current_task()
        assert serving
        self._serving.add(serving)
        try:
            await _Connection(self, reader, writer).serve()
        finally:
            self._serving.discard(serving)
            if self._stop.is_set():
                writer.transport.abort()  # what is not yet sent will not be

    def begin(self, request: Received) -> None:
        with self._changed:
            self.open += 1
            self.requests.append(request)
            self._changed.notify_all()

    def finish(self, request: Received, dropped: bool) -> None:
        request.dropped = dropped
        self.open -= 1
        request.closed.set()

    def fail(self, error: BaseException) -> None:
        self._failure = self._failure or error

    def reply_to(self, request: Received) -> Reply:
        with self._changed:
            source = self._source(request)
        return source if isinstance(source, Reply) else source(request)

    def _source(self, request: Received) -> ReplySource:
        path = request.path.split("?")[0]
        if path in self._by_path:
            return self._by_path[path]
        if request.method != "POST" or path.endswith(TOKENS):
            return self._look_up(path)
        if self._queue:
            return self._queue.popleft()
        if not self._by_model:
            return self._default
        return self._by_model.get(request.json.get("model"), self._default)

    def _look_up(self, path: str) -> Reply:
        if path.endswith("/models"):
            return json_reply({"object": "list", "data": [_model(model) for model in self.models]})
        if path.endswith("/health"):
            return json_reply({"status": "ok"})
        return error_reply(404, {"error": {"message": f"no such page: {path}"}})


def _model(model: str | dict[str, Any]) -> dict[str, Any]:
    fields = {"id": model} if isinstance(model, str) else model
    return {"object": "model", "created": CREATED, "owned_by": "fake", **fields}


class _Connection:
    """One client's connection: reads requests and replies to them in turn."""

    def __init__(
        self, provider: FakeProvider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._provider, self._reader, self._writer = provider, reader, writer
        self._ahead = b""  # a byte of the next request, read while the client was watched
        self._over = False  # nothing more is to be sent for the present reply
        self._keep = False  # the connection may serve another request
        # asyncio sets TCP_NODELAY itself. With no buffer of ours, draining means "the kernel has
        # taken it", so that a client that does not read really holds the reply back.
        writer.transport.set_write_buffer_limits(high=0)

    async def serve(self) -> None:
        try:
            while await self._answer(await self._read_request()):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has left between two requests
        except asyncio.CancelledError:
            pass  # the server stops; asyncio 3.11 would log a cancelled connection
        finally:
            self._writer.close()

    async def _read_request(self) -> Received:
        head = self._ahead + await self._reader.readuntil(b"\r\n\r\n")
        self._ahead = b""
        first, *lines = head.decode("latin-1").strip().split("\r\n")
        method, path, _ = first.split(" ")
        pairs = (line.split(":", 1) for line in lines)
        headers = {name.lower(): value.strip() for name, value in pairs}
        if headers.get("expect", "").lower() == "100-continue":
            self._writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return Received(method, path, headers, await self._read_body(headers))

    async def _read_body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() != "chunked":
            return await self._reader.readexactly(int(headers.get("content-length", 0)))
        chunks = []
        while size := int((await self._reader.readuntil(b"\r\n")).split(b";")[0], 16):
            chunks.append((await self._reader.readexactly(size + 2))[:-2])
        await self._reader.readuntil(b"\r\n")
        return b"".join(chunks)

    async def _answer(self, request: Received) -> bool:
        """Reply while watching whether the client leaves; is the connection still of use?"""
        self._over = self._keep = False
        self._provider.begin(request)
        send = asyncio.create_task(self._send(request))
        watch = asyncio.create_task(self._watch())
        dropped = False
        try:
            await asyncio.wait({send, watch}, return_when=asyncio.FIRST_COMPLETED)
            dropped = not self._over
        finally:
            send.cancel()
            watch.cancel()
            await asyncio.gather(send, watch, return_exceptions=True)
            self._provider.finish(request, dropped)
        return self._keep

    async def _watch(self) -> None:
        """Return when the client has left, by a close or a reset."""
        try:
            self._ahead = await self._reader.read(1)
        except ConnectionError:
            return
        if self._ahead:  # It has sent its next request early: it is there, and stays unwatched.
            await asyncio.Event().wait()

    async def _send(self, request: Received) -> None:
        try:
            reply = self._provider.reply_to(request)
            await asyncio.sleep(reply.delay)
            self._writer.write(reply.head())
            await self._send_pieces(request, reply)
            await self._end(request, reply)
        except ConnectionError:
            pass  # the client has left
        except Exception as error:  # a mistake in the test's own pieces
            self._over = True
            self._provider.fail(error)

    async def _send_pieces(self, request: Received, reply: Reply) -> None:
        due = time.monotonic()
        async for step in reply.each(request):
            if isinstance(step, bytes):
                await self._flush()
                self._write(step, reply.chunked)
            elif step is not None:
                due = max(due, time.monotonic() - SLACK) + step
                await asyncio.sleep(due - time.monotonic())

    def _write(self, piece: bytes, chunked: bool) -> None:
        if piece and chunked:  # An empty chunk would end the body.
            self._writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        else:
            self._writer.write(piece)

    async def _flush(self) -> None:
        await self._writer.drain()
        await asyncio.sleep(0)

    async def _end(self, request: Received, reply: Reply) -> None:
        """End the reply as it says.

        The last piece and the end go out without a pause between them, so that a client that
        leaves at `[DONE]` has not dropped the reply.
        """
        if reply.end == "hold":
            await asyncio.Event().wait()
        self._over = True
        if reply.end == "clean":
            self._writer.write(b"0\r\n\r\n" if reply.chunked else b"")
            wish = request.headers.get("connection", "") + reply.headers.get("connection", "")
            self._keep = "close" not in wish.lower()
        await self._flush()
        if reply.end == "abort":
            await self._reset()

    async def _reset(self) -> None:
        await asyncio.sleep(RESET_AFTER)
        linger = struct.pack("ii", 1, 0)
        self._writer.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, linger
        )
        self._writer.transport.abort()


def main() -> None:
    """Serve until the process is stopped; the first line of output is the URL."""
    parser = argparse.ArgumentParser(description="A fake LLM provider; the prompt decides.")
    parser.add_argument("--port", type=int, default=8099, help="0: any free port")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--models", default="fake-1", help="names, with commas between")
    options = parser.parse_args()
    with FakeProvider(options.port, options.host) as provider:
        provider.models = options.models.split(",")
        print(provider.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
