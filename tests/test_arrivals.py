"""Bytes keep the time of their arrival, however late they are read; an end is not waited for."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx
import pytest

from playground.completion import CompletionRequest, ErrorKind, StreamEvent
from playground.providers import PROVIDERS, ProviderError, outbound
from playground.providers.arrivals import Arrivals, Pieces, StampedHandler
from playground.providers.flow import Flow
from playground.providers.reader import BURST
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


class Outlet:
    """A beat is a call of `beat`; `deaf` it lets nobody listen until `listen` is called."""

    def __init__(self, deaf: bool = False, room: bool = True) -> None:
        self.flows: list[Flow] = []
        self.put_here: list[list[StreamEvent]] = []
        self.deaf = deaf
        self.room = room

    def join(self, flow: Flow) -> None:
        self.flows.append(flow)
        if self.deaf:
            flow.deafen()

    def put(self, events: list[StreamEvent]) -> bool:
        self.put_here.append(events)
        return self.room

    def beat(self) -> None:
        self.flows = [flow for flow in self.flows if flow.take()]

    async def joined(self) -> None:
        while not self.flows:
            await asyncio.sleep(0.001)


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
        over = never()
        found.wake(over)
        assert over.done()  # there is nothing to wait for
        pieces: Pieces = await found.read()
        assert b"".join(data for data, _ in pieces) == b"kept"
        with pytest.raises(Exception, match=r".+"):
            await found.read()


@pytest.mark.parametrize("end", ["end of the body", "last event", "broken off", "silence"])
async def test_who_sleeps_is_woken_at_the_end_of_the_answer(end: str) -> None:
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
        over = never()
        arrivals(response).wake(over)
        await over


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


def batches(url: str, outlet: Outlet) -> AsyncIterator[list[StreamEvent]]:
    target = Target(f"{url}/v1", reaches_local=True)
    return PROVIDERS["local"].batches(target, REQUEST, outlet)


async def _collect(source: AsyncIterator[Any], found: list[Any]) -> None:
    async for each in source:
        found.append(each)


def words(events: list[StreamEvent]) -> list[str]:
    return [event.data for event in events if event.kind == "text"]


def all_words(batches: list[list[StreamEvent]]) -> list[list[str]]:
    return [words(events) for events in batches if words(events)]


def answer_of(sent: asyncio.Event, outlet: Outlet, *pieces: bytes) -> Answer:
    """The first text, and when it flows the pieces; then silence."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED + text("a"))
        await outlet.joined()
        for each in pieces:
            writer.write(each)
            await writer.drain()
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.03)
        sent.set()
        await asyncio.sleep(FOREVER)

    return answer


async def test_text_that_flows_is_taken_at_each_beat_and_the_end_is_heard_at_once() -> None:
    outlet, found = Outlet(), list[list[StreamEvent]]()
    sent, go_on = asyncio.Event(), asyncio.Event()

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED + text("a"))
        await outlet.joined()
        for word in "bcd":
            writer.write(text(word))
            await asyncio.sleep(0.01)
        sent.set()
        await go_on.wait()
        writer.write(text("e") + piece(b"data: [DONE]\n\n"))

    async with asyncio.timeout(FOREVER / 2), serving(answer) as url:
        reading = asyncio.create_task(_collect(batches(url, outlet), found))
        await sent.wait()
        await asyncio.sleep(0.02)
        assert not outlet.put_here  # it waits for the beat
        outlet.beat()
        assert all_words(outlet.put_here) == [["b", "c", "d"]]
        assert outlet.flows
        go_on.set()
        await reading  # with no further beat
    assert all_words(found) == [["a"], ["e"]]
    times = [event.at for event in outlet.put_here[0]]
    assert times == sorted(times)
    assert times[2] - times[0] >= 15


async def test_in_a_crowd_what_comes_waits_in_the_kernel_until_somebody_listens() -> None:
    outlet, sent, found = Outlet(deaf=True), asyncio.Event(), list[list[StreamEvent]]()
    end = piece(b"data: [DONE]\n\n")
    answer = answer_of(sent, outlet, text("b"), text("c"), text("d"), end)
    async with asyncio.timeout(FOREVER / 2), serving(answer) as url:
        reading = asyncio.create_task(_collect(batches(url, outlet), found))
        await sent.wait()
        outlet.beat()
        assert outlet.flows  # not even the end was heard
        outlet.flows[0].listen()
        await reading
    assert all_words(found) == [["a"], ["b", "c", "d"]]
    times = [event.at for events in found for event in events if event.kind == "text"]
    assert times[1] == times[3]  # of one read


async def test_in_a_crowd_a_connection_that_closes_is_heard_at_once() -> None:
    outlet, found = Outlet(deaf=True), list[list[StreamEvent]]()

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED + text("a"))
        await outlet.joined()
        writer.write(text("b"))

    async with asyncio.timeout(FOREVER / 2), serving(answer) as url:
        with pytest.raises(ProviderError):
            await _collect(batches(url, outlet), found)
    assert all_words(found) == [["a"], ["b"]]


async def test_where_there_is_no_room_the_reader_goes_on_and_waits() -> None:
    outlet, sent, found = Outlet(room=False), asyncio.Event(), list[list[StreamEvent]]()
    async with asyncio.timeout(FOREVER / 2), serving(answer_of(sent, outlet, text("b"))) as url:
        source = batches(url, outlet)
        found.append(await anext(source))
        rest = asyncio.create_task(_collect(source, found))
        await sent.wait()
        outlet.beat()
        assert not outlet.flows
        rest.cancel()
        with suppress(asyncio.CancelledError):
            await rest
    assert all_words(found) + all_words(outlet.put_here) == [["a"], ["b"]]


@pytest.mark.parametrize(
    "error", [ProviderError("too long", ErrorKind.BAD_CONTENT), RuntimeError("unforeseen")]
)
async def test_what_goes_wrong_in_a_beat_ends_the_answer(error: Exception) -> None:
    class Broken(Outlet):
        def put(self, events: list[StreamEvent]) -> bool:
            raise error

    outlet, sent = Broken(), asyncio.Event()
    async with asyncio.timeout(FOREVER / 2), serving(answer_of(sent, outlet, text("b"))) as url:
        reading = asyncio.create_task(_collect(batches(url, outlet), []))
        await sent.wait()
        outlet.beat()
        assert not outlet.flows
        with pytest.raises(type(error), match=str(error)):
            await reading


async def test_an_odd_answer_within_a_beat_is_said_as_without_one() -> None:
    outlet, sent, found = Outlet(), asyncio.Event(), list[list[StreamEvent]]()
    odd = piece(b'data: {"error":{"message":"the model fell over"}}\n\n')
    async with (
        asyncio.timeout(FOREVER / 2),
        serving(answer_of(sent, outlet, text("b") + odd + text("c"))) as url,
    ):
        reading = asyncio.create_task(_collect(batches(url, outlet), found))
        await sent.wait()
        outlet.beat()
        with pytest.raises(ProviderError, match="the model fell over"):
            await reading
    assert all_words(found) + all_words(outlet.put_here) == [["a"], ["b"]]


async def test_a_burst_is_read_on_without_a_beat() -> None:
    outlet, sent, found = Outlet(), asyncio.Event(), list[list[StreamEvent]]()
    many = [text(str(number)) for number in range(2 * BURST)]
    async with (
        asyncio.timeout(FOREVER / 2),
        serving(answer_of(sent, outlet, b"".join(many), text("last"))) as url,
    ):
        reading = asyncio.create_task(_collect(batches(url, outlet), found))
        while not outlet.put_here:
            await asyncio.sleep(0.01)
            outlet.beat()
        await sent.wait()
        outlet.beat()
        reading.cancel()
        with suppress(asyncio.CancelledError):
            await reading
    put = [word for events in found + outlet.put_here for word in words(events)]
    assert sorted(put) == sorted(["a", "last", *map(str, range(2 * BURST))])


async def test_a_reader_that_goes_while_nobody_listens_closes_the_connection() -> None:
    outlet, closed = Outlet(deaf=True), asyncio.Event()

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED + text("a"))
        with suppress(ConnectionError):
            while True:
                writer.write(text("b"))
                await writer.drain()
                await asyncio.sleep(0.001)
        closed.set()

    async with asyncio.timeout(FOREVER / 2), serving(answer) as url:
        reading = asyncio.create_task(_collect(batches(url, outlet), []))
        await outlet.joined()
        reading.cancel()
        with suppress(asyncio.CancelledError):
            await reading
        await closed.wait()
        outlet.flows[0].listen()  # it has gone: nothing happens
        outlet.beat()
        assert not outlet.flows


async def test_nothing_that_arrived_is_lost_when_the_server_breaks_off_while_it_flows() -> None:
    outlet, found = Outlet(), list[list[StreamEvent]]()

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED + text("a"))
        await outlet.joined()
        writer.write(text("b"))
        await writer.drain()
        await asyncio.sleep(0.01)
        writer.transport.abort()

    async with asyncio.timeout(FOREVER / 2), serving(answer) as url:
        with pytest.raises(ProviderError):
            await _collect(batches(url, outlet), found)
    assert [word for events in found for word in words(events)] == ["a", "b"]
