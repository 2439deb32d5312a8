"""The chunks of one streamed answer, from the bytes of each to its events."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from playground.completion import ErrorKind, StreamEvent
from playground.providers.chunks import ChunkParser
from playground.providers.errors import ProviderError
from playground.providers.repeats import Repeats
from playground.providers.wire import parsed


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
