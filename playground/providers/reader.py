"""One streamed answer, from its bytes as they arrive to its events."""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from playground.completion import TEXT_KINDS, ErrorKind, StreamEvent
from playground.providers.arrivals import Pieces
from playground.providers.chunks import ChunkParser
from playground.providers.errors import ProviderError
from playground.providers.repeats import Repeats
from playground.providers.sse import BOM, EventReader, TooLong
from playground.providers.wire import parsed

LONGEST_STREAM = 256 * 1024 * 1024  # bytes of a stream, whatever it holds
BEGINNINGS = (b"data:", b"event:", b"id:", b"retry:", b":")  # of lines
BURST = 100  # events in one read from which the next one does not wait


def is_stream(body: bytes) -> bool:
    """Whether a body holds events, whatever its content type says."""
    return body.removeprefix(BOM).lstrip().startswith(BEGINNINGS)


class AnswerReader:
    """Feed it what arrives. `over`: nothing further is looked at, and `end` says why."""

    def __init__(
        self,
        parser: ChunkParser,
        error_in: Callable[[Mapping[str, Any]], str | None],
        began: float,
    ) -> None:
        self.over = False
        self.flows = False  # text has come
        self.bursts = False  # the last read had so much that there is more to come at once
        self._began = began
        self._lines = EventReader()
        self._chunks = ChunkReader(parser, error_in)
        self._length = 0  # bytes
        self._failure = ""

    def read(self, pieces: Pieces) -> list[StreamEvent]:
        """The events that are complete with these bytes."""
        payloads = []
        for received, at in pieces:
            self._length += len(received)
            try:
                payloads += [(payload, at) for payload in self._lines.feed(received)]
            except TooLong as error:
                self._failure = str(error)
                break
        if self._length > LONGEST_STREAM:
            self._failure = f"The answer was cut off at {LONGEST_STREAM // 1024 // 1024} MB."
        self.bursts = len(payloads) >= BURST
        return self._read(payloads)

    def rest(self) -> list[StreamEvent]:
        """At a clean end of the body: what was pending."""
        now = time.monotonic()
        return self._read([(payload, now) for payload in self._lines.close()])

    def whole(self, body: bytes) -> list[StreamEvent]:
        """All events of a body that came to its end."""
        events = self.read([(body, time.monotonic())])
        return events if self.over else events + self.rest()

    def end(self) -> None:
        """Nothing more comes. Raises ProviderError where the answer was not whole."""
        if self._chunks.failure is not None:
            raise ProviderError(self._chunks.failure, ErrorKind.UPSTREAM_ERROR)
        if self._failure and not self._chunks.done:
            raise ProviderError(self._failure, ErrorKind.BAD_CONTENT)
        self._chunks.end()

    def _read(self, payloads: list[tuple[bytes, float]]) -> list[StreamEvent]:
        events = self._chunks.read(payloads, self._began)
        chunks = self._chunks
        self.over = chunks.done or chunks.failure is not None or bool(self._failure)
        self.flows = self.flows or any(event.kind in TEXT_KINDS for event in events)
        return events


class ChunkReader:
    """Feed it the payloads of each read. `done`: the server said that this was all."""

    def __init__(
        self, parser: ChunkParser, error_in: Callable[[Mapping[str, Any]], str | None]
    ) -> None:
        self.done = False
        self.failure: str | None = None  # what the server reported instead of going on
        self._parser = parser
        self._error_in = error_in
        self._repeats = Repeats()
        self._broken = 0

    def read(self, payloads: Iterable[tuple[bytes, float]], began: float) -> list[StreamEvent]:
        """The events of payloads that came at a time (`time.monotonic()`), with their times in ms
        since `began`. What stands behind an end or a failure is not looked at."""
        events: list[StreamEvent] = []
        text_of, event = self._repeats.text_of, self._repeats.event
        for raw, at in payloads:
            if (text := text_of(raw)) is not None:
                self._parser.raw = raw
                events.append(event(text, (at - began) * 1000))
                continue
            if raw.strip() == b"[DONE]":
                self.done = True
                break
            events += self._parsed(raw, (at - began) * 1000)
            if self.failure is not None:
                break
        return events

    def _parsed(self, raw: bytes, ms: float) -> list[StreamEvent]:
        payload = parsed(raw)
        if not isinstance(payload, Mapping):
            self._broken += payload is not None and bool(raw.strip())
            return []
        self._parser.raw = raw
        events = list(self._parser.parse(payload, ms))
        self.failure = self._error_in(payload)
        self._repeats.learn(raw, payload, events)
        return events

    def end(self) -> None:
        """The stream has ended. Raises ProviderError where it was not whole."""
        if not self.done and not self._parser.complete:
            raise ProviderError(
                "The stream ended before the answer was complete; what had arrived is kept.",
                ErrorKind.TRUNCATED,
            )
        if self._broken:
            raise ProviderError(
                f"{self._broken} event(s) of the stream were not valid JSON objects, "
                "so words may be missing.",
                ErrorKind.BAD_JSON,
            )
