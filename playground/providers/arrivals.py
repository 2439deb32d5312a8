"""The bytes of an answer with the time at which each of them arrived, however seldom it is read.

A reader with many streams need not wake for each token: what arrives meanwhile waits with its time.
This stands on insides of aiohttp and httpx-aiohttp that are not promised: the connector's
`_factory` and `_socket_factory`, a protocol's `_payload`, a reader's `_protocol` and buffer. Where
a version has other ones, `tests/test_arrivals.py` says so.
"""

import asyncio
import functools
import socket
import time
import weakref
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import httpx
from aiohttp.client_proto import ResponseHandler
from httpx_aiohttp import AiohttpTransport
from httpx_aiohttp.transport import map_aiohttp_exceptions

MOST_STAMPS = 4096  # that wait to be read; beyond, the oldest bytes take a later time
DONE = b"[DONE]"  # the last event of a stream

MANY = 64 * 1024  # bytes that wake also who does not listen; below what the kernel keeps anyway

Sockets = weakref.WeakValueDictionary[int, socket.socket]  # by file number
Pieces = list[tuple[bytes, float]]  # bytes, and `time.monotonic()` at their arrival


class StampedHandler(ResponseHandler):
    """aiohttp's protocol of one connection; notes when bytes of the body arrive."""

    def __init__(self, loop: asyncio.AbstractEventLoop, sockets: Sockets) -> None:
        super().__init__(loop)
        self._sockets = sockets
        self._socket: socket.socket | None = None
        self.stamps: deque[tuple[int, float]] = deque(maxlen=MOST_STAMPS)  # (bytes so far, time)
        self.sleeper: asyncio.Future[None] | None = None  # woken when the body ends
        self._body: aiohttp.StreamReader | None = None
        self._length = 0
        self._heard = 0.0

    def data_received(self, data: bytes) -> None:
        before = self._payload
        super().data_received(data)
        body = before if self._payload is None else self._payload  # the body's end takes it away
        if body is None:
            return
        self._body = body
        if body.total_bytes != self._length:
            self._length = body.total_bytes
            self.stamps.append((self._length, time.monotonic()))
        if self.exception() is not None:
            self._fail()
        if body.is_eof() or DONE in data or body.exception() is not None:
            self.rouse()

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        self._fail()
        self.rouse()

    def _fail(self) -> None:
        """After chunks that are none aiohttp closes the connection and tells no reader: it would
        wait for ever."""
        body = self._body
        if body is not None and not body.is_eof() and body.exception() is None:
            body.set_exception(aiohttp.ClientPayloadError("The answer breaks off."))

    def rouse(self) -> None:
        if self.sleeper is not None and not self.sleeper.done():
            self.sleeper.set_result(None)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if (view := transport.get_extra_info("socket")) is not None:
            self._socket = self._sockets.get(view.fileno())

    def deafen(self) -> None:
        """Leave in the kernel what comes, until `listen` is called. An end is heard all the same:
        only few bytes are no reason to wake."""
        self._wake_from(MANY)

    def listen(self) -> None:
        self._wake_from(1)

    def _wake_from(self, size: int) -> None:
        if self._socket is None:
            return
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size)
        except OSError:  # it is closed, or a system has no such thing
            self._socket = None

    # One timer that is set again when it fires, not one for each arrival.

    def _reschedule_timeout(self) -> None:
        self._heard = self._loop.time()
        if self._read_timeout_handle is None:
            super()._reschedule_timeout()

    def _on_read_timeout(self) -> None:
        self._read_timeout_handle = None
        left = self._heard + (self._read_timeout or 0) - self._loop.time()
        if left > 0:
            self._read_timeout_handle = self._loop.call_later(left, self._on_read_timeout)
        else:
            super()._on_read_timeout()
            self.rouse()


class Arrivals:
    """What has arrived of one answer since the last look."""

    def __init__(self, content: aiohttp.StreamReader) -> None:
        self._content = content
        protocol = getattr(content, "_protocol", None)  # an empty body has none
        self._handler = protocol if isinstance(protocol, StampedHandler) else None
        self._taken = 0  # bytes

    async def read(self) -> Pieces:
        """Waits for something; [] at the end. What arrived before a failure comes before it."""
        content: Any = self._content
        if self._handler is None:
            data = await content.readany()
            return [(data, time.monotonic())] if data else []
        while not content._buffer:
            if (failure := content.exception()) is not None:
                raise failure
            if content.is_eof():
                return []
            await content._wait("read")
        return self._stamped(_all_of(content), self._handler.stamps)

    @property
    def over(self) -> bool:
        """Nothing more comes; what is there can still be read."""
        return self._content.is_eof() or self._content.exception() is not None

    def there(self) -> Pieces:
        """What has come, without a wait; [] where there is nothing."""
        content: Any = self._content
        if self._handler is None or not content._buffer:
            return []
        return self._stamped(_all_of(content), self._handler.stamps)

    def wake(self, sleeper: "asyncio.Future[None]") -> None:
        """Let this be done when the answer ends, or where it has."""
        if self._handler is not None:
            self._handler.sleeper = sleeper
        if self.over and not sleeper.done():
            sleeper.set_result(None)

    def deafen(self) -> None:
        if self._handler is not None:
            self._handler.deafen()

    def listen(self) -> None:
        if self._handler is not None:
            self._handler.listen()

    def _stamped(self, data: bytes, stamps: deque[tuple[int, float]]) -> Pieces:
        start, self._taken = self._taken, self._taken + len(data)
        pieces: Pieces = []
        at = 0
        while stamps and at < len(data):
            end = stamps[0][0] - start
            if end > at:
                pieces.append((data[at:end], stamps[0][1]))
                at = end
            if end <= len(data):
                stamps.popleft()
        return pieces if at >= len(data) else [*pieces, (data[at:], time.monotonic())]


def _all_of(content: Any) -> bytes:
    """What waits to be read, at once; the reader's own way costs a call into its protocol and its
    parser for each chunk."""
    chunks = content._buffer
    data = chunks[0] if len(chunks) == 1 else b"".join(chunks)
    if content._buffer_offset:
        data = data[content._buffer_offset :]
        content._buffer_offset = 0
    chunks.clear()
    content._size = 0
    content._cursor += len(data)
    if content._http_chunk_splits:
        content._http_chunk_splits.clear()
    if content._protocol._reading_paused:
        content._protocol.resume_reading()
    return bytes(data)


class StampedTransport(AiohttpTransport):
    """httpx over aiohttp; `response.extensions["arrivals"]` is the body with its times."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        stream: Any = response.stream
        response.extensions["arrivals"] = Arrivals(stream._aiohttp_response.content)
        return response


def stamp(connector: aiohttp.TCPConnector) -> aiohttp.TCPConnector:
    """Let its connections note arrivals, and know their sockets: what a transport gives of its own
    is a view, slow to set an option of."""
    sockets = Sockets()
    make = connector._socket_factory or (lambda address: socket.socket(*address[:3]))

    def remember(address: Any) -> socket.socket:
        made = make(address)
        sockets[made.fileno()] = made
        return made

    loop = asyncio.get_running_loop()
    handler: Any = functools.partial(StampedHandler, loop=loop, sockets=sockets)
    connector._factory = handler
    connector._socket_factory = remember
    return connector


def stamped(response: httpx.Response) -> Arrivals | None:
    """The body with its times; None where a server compressed it without being asked."""
    arrivals = response.extensions.get("arrivals")
    encoded = response.headers.get("content-encoding", "identity").lower() != "identity"
    return arrivals if isinstance(arrivals, Arrivals) and not encoded else None


async def arrivals_of(response: httpx.Response) -> AsyncIterator[Pieces]:
    """The body as it arrives, decompressed where it has to be."""
    arrivals = stamped(response)
    if arrivals is None:
        async for received in response.aiter_bytes():
            yield [(received, time.monotonic())]
        return
    with map_aiohttp_exceptions():
        while pieces := await arrivals.read():
            yield pieces
