"""Bytes keep the time of their arrival, however late they are read; an end is not waited for."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx
import pytest

from playground.completion import CompletionRequest, StreamEvent
from playground.providers import PROVIDERS, ProviderError, outbound
from playground.providers.arrivals import Arrivals, Pieces, StampedHandler, pause
from playground.providers.target import Target

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"
REQUEST = CompletionRequest("local", "completions", "m", values={"stream": True})
FOREVER = 60.0  # seconds: a test that waits so long has failed

Answer = Callable[[asyncio.StreamWriter], Coroutine[Any, Any, None]]


def piece(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def text(word: str) -> bytes:
    return piece(b'data: {"choices":[{"index":0,"text":"%s"}]}\n\n' % word.encode())


@asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[str]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        try:
            await answer(writer)
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        async with server:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        await outbound.close()


@asynccontextmanager
async def answered(answer: Answer, read: float = FOREVER) -> AsyncIterator[httpx.Response]:
    timeout = httpx.Timeout(FOREVER, read=read)
    async with (
        serving(answer) as url,
        outbound.client(local=True).stream("POST", url, timeout=timeout) as response,
    ):
        yield response


def arrivals(response: httpx.Response) -> Arrivals:
    found = response.extensions["arrivals"]
    assert isinstance(found, Arrivals)
    assert isinstance(found._handler, StampedHandler), "aiohttp has other insides"
    return found


def never() -> "asyncio.Future[None]":
    return asyncio.get_running_loop().create_future()


async def test_what_is_read_at_once_keeps_its_own_times() -> None:
    sent = [asyncio.Event() for _ in range(3)]

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED)
        for number, event in enumerate(sent):
            writer.write(piece(b"abc"[number : number + 1]))
            await event.wait()
        writer.write(b"0\r\n\r\n")

    async with asyncio.timeout(FOREVER / 2), answered(answer) as response:
        found = arrivals(response)
        times = []
        for number, event in enumerate(sent):
            while found._content.total_bytes <= number:
                await asyncio.sleep(0.001)
            times.append(time.monotonic())
            event.set()
        pieces = await found.read()
        assert [data for data, _ in pieces] == [b"a", b"b", b"c"]
        for (_, at), before, after in zip(pieces, [0.0, *times], times, strict=False):
            assert before <= at <= after
        assert await found.read() == []


class Pace:
    """Its beats never come; `crowded` it lets nobody listen until `listen` is called."""

    def __init__(
        self, beats: list["asyncio.Future[None]"] | None = None, crowded: bool = False
    ) -> None:
        self.beats = [] if beats is None else beats
        self.crowded = crowded
        self.deaf: list[Callable[[], None]] = []

    def next(self) -> "asyncio.Future[None]":
        self.beats.append(never())
        return self.beats[-1]

    def deafen(self, listen: Callable[[], None]) -> bool:
        if self.crowded:
            self.deaf.append(listen)
        return self.crowded


async def test_what_arrived_before_a_failure_is_read_before_it() -> None:
    open_ = asyncio.Event()

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED + piece(b"kept"))
        await open_.wait()
        writer.write(b"zz\r\nnot a chunk")

    async with asyncio.timeout(FOREVER / 2), answered(answer) as response:
        found = arrivals(response)
        open_.set()
        while found._content.exception() is None:
            await asyncio.sleep(0.001)
        await pause(response, Pace())  # not a wait: there is nothing to wait for
        pieces: Pieces = await found.read()
        assert b"".join(data for data, _ in pieces) == b"kept"
        with pytest.raises(Exception, match=r".+"):
            await found.read()


@pytest.mark.parametrize("end", ["end of the body", "last event", "broken off", "silence"])
async def test_a_pause_ends_with_the_answer(end: str) -> None:
    waiting = asyncio.Event()

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED + piece(b"a"))
        await waiting.wait()
        await asyncio.sleep(0.01)
        if end == "end of the body":
            writer.write(b"0\r\n\r\n")
        elif end == "last event":
            writer.write(piece(b"data: [DONE]\n\n"))
        if end in ("last event", "silence"):
            await asyncio.sleep(FOREVER)

    async with asyncio.timeout(FOREVER / 2), answered(answer, read=0.3) as response:
        assert await arrivals(response).read()
        waiting.set()
        await pause(response, Pace())


async def test_chunks_that_are_none_end_the_answer() -> None:
    """aiohttp alone waits for ever, without a time limit."""
    open_ = asyncio.Event()

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED + text("a"))
        await open_.wait()
        writer.write(b"zz\r\n" + text("b"))
        await asyncio.sleep(FOREVER)

    found: list[StreamEvent] = []
    async with asyncio.timeout(FOREVER / 2), serving(answer) as url:
        target = Target(f"{url}/v1", reaches_local=True)

        async def read() -> None:
            async for event in PROVIDERS["local"].stream(target, REQUEST):
                found.append(event)
                open_.set()

        with pytest.raises(ProviderError, match="broke off"):
            await read()
    assert words(found) == ["a"]


async def test_a_server_that_drips_is_not_silent() -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED)
        for _ in range(12):
            writer.write(piece(b"a"))
            await asyncio.sleep(0.05)
        await asyncio.sleep(FOREVER)

    began = time.monotonic()
    async with asyncio.timeout(FOREVER / 2), answered(answer, read=0.25) as response:
        received: list[bytes] = []
        with pytest.raises(httpx.ReadTimeout):
            await _collect(response.aiter_bytes(), received)
    assert len(b"".join(received)) == 12
    assert time.monotonic() - began > 0.7


def batches(url: str, beats: list["asyncio.Future[None]"]) -> AsyncIterator[list[StreamEvent]]:
    target = Target(f"{url}/v1", reaches_local=True)
    return PROVIDERS["local"].batches(target, REQUEST, Pace(beats))


async def _collect(source: AsyncIterator[Any], found: list[Any]) -> None:
    async for each in source:
        found.append(each)


def words(events: list[StreamEvent]) -> list[str]:
    return [event.data for event in events if event.kind == "text"]


async def test_text_that_flows_is_read_once_a_beat_and_the_end_at_once() -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED + text("a"))
        while not beats:
            await asyncio.sleep(0.001)
        for word in "bcd":
            writer.write(text(word))
            await asyncio.sleep(0.01)
        writer.write(piece(b"data: [DONE]\n\n"))

    beats: list[asyncio.Future[None]] = []
    async with asyncio.timeout(FOREVER / 2), serving(answer) as url:
        found = [events async for events in batches(url, beats)]
    assert [words(events) for events in found if words(events)] == [["a"], ["b", "c", "d"]]
    times = [event.at for events in found for event in events if event.kind == "text"]
    assert times == sorted(times)
    assert times[3] - times[1] >= 15


async def test_in_a_crowd_what_comes_waits_in_the_kernel_until_shortly_before_the_beat() -> None:
    pace = Pace(crowded=True)
    sent = asyncio.Event()

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED + text("a"))
        while not pace.deaf:
            await asyncio.sleep(0.001)
        for word in "bcd":
            writer.write(text(word))
            await writer.drain()
            await asyncio.sleep(0.01)
        writer.write(piece(b"data: [DONE]\n\n"))
        await writer.drain()
        sent.set()
        await asyncio.sleep(FOREVER)

    found: list[list[StreamEvent]] = []
    async with asyncio.timeout(FOREVER / 2), serving(answer) as url:
        target = Target(f"{url}/v1", reaches_local=True)
        batches = PROVIDERS["local"].batches(target, REQUEST, pace)
        reading = asyncio.create_task(_collect(batches, found))
        await sent.wait()
        await asyncio.sleep(0.05)
        assert not pace.beats[0].done()  # not even the end was heard
        pace.deaf[0]()
        await reading
    assert [words(events) for events in found if words(events)] == [["a"], ["b", "c", "d"]]
    times = [event.at for events in found for event in events if event.kind == "text"]
    assert times[1] == times[3]  # of one read


async def test_a_reader_that_goes_while_nobody_listens_closes_the_connection() -> None:
    pace = Pace(crowded=True)
    closed = asyncio.Event()

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED + text("a"))
        with suppress(ConnectionError):
            while True:
                writer.write(text("b"))
                await writer.drain()
                await asyncio.sleep(0.001)
        closed.set()

    async with asyncio.timeout(FOREVER / 2), serving(answer) as url:
        target = Target(f"{url}/v1", reaches_local=True)
        batches = PROVIDERS["local"].batches(target, REQUEST, pace)
        reading = asyncio.create_task(_collect(batches, []))
        while not pace.deaf:
            await asyncio.sleep(0.001)
        reading.cancel()
        with suppress(asyncio.CancelledError):
            await reading
        await closed.wait()
        pace.deaf[0]()  # it has gone: nothing happens


async def test_nothing_that_arrived_is_lost_when_the_server_breaks_off_in_a_pause() -> None:
    found: list[list[StreamEvent]] = []

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED + text("a"))
        while not beats:
            await asyncio.sleep(0.001)
        writer.write(text("b"))
        await writer.drain()
        await asyncio.sleep(0.01)
        writer.transport.abort()

    beats: list[asyncio.Future[None]] = []
    async with asyncio.timeout(FOREVER / 2), serving(answer) as url:
        with pytest.raises(ProviderError):
            await _collect(batches(url, beats), found)
    assert [word for events in found for word in words(events)] == ["a", "b"]
