"""Chunks that say the same as the one before but for their text: nine of ten of a stream.

Such a chunk is not parsed again. It begins and ends with the very bytes of the one before, and
what stands between is one JSON text. Whatever else a chunk may say goes the long way.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from playground.completion import TEXT_KINDS, StreamEvent
from playground.providers.chunks import PIECEWISE

MOST_MISSES = 16  # patterns that fitted no chunk beyond those that did; then no more are made
MARK = "\x01a text that stands nowhere else\x01"
_MARK = orjson.dumps(MARK)
_LITERAL = re.compile(
    rb'"(?:text|content|reasoning|reasoning_content)"\s*:\s*("(?:[^"\\]|\\.)*")', re.DOTALL
)


class Repeats:
    """Feed it each chunk that was parsed; it reads those that only differ in their text."""

    def __init__(self) -> None:
        self._head = self._tail = b""
        self._kind, self._choice = "", 0
        self._misses = 0
        self._fits = False  # there is a pattern

    def text_of(self, raw: bytes) -> str | None:
        """The text of a chunk that is like the one before; None where it has to be parsed."""
        head, tail = self._head, self._tail
        if not (self._fits and raw.startswith(head) and raw.endswith(tail)):
            return None
        try:
            text = orjson.loads(raw[len(head) : len(raw) - len(tail)])
        except orjson.JSONDecodeError:
            return None
        if type(text) is not str or not text:
            return None
        self._misses = min(self._misses, 0) - 1
        return text

    def event(self, text: str, at: float) -> StreamEvent:
        return StreamEvent(self._kind, text, self._choice, at)

    def learn(self, raw: bytes, payload: Any, events: Sequence[StreamEvent]) -> None:
        """From a chunk that was parsed, and the events that it became."""
        self._fits = False
        if len(events) != 1 or events[0].kind not in TEXT_KINDS or self._misses > MOST_MISSES:
            return
        self._misses += 1
        event = events[0]
        if not _plain(payload):
            return
        for match in _LITERAL.finditer(raw):
            head, tail = raw[: match.start(1)], raw[match.end(1) :]
            if _puts(head, tail, event, payload):
                self._head, self._tail, self._fits = head, tail, True
                self._kind, self._choice = event.kind, event.choice
                return


def _plain(payload: Mapping[str, Any]) -> bool:
    """Whether saying it once more changes nothing but the text."""
    choices = payload.get("choices")
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
        return False
    choice = choices[0]
    holders = (payload, choice, choice.get("delta"), choice.get("message"), choice.get("logprobs"))
    return not any(isinstance(each, dict) and PIECEWISE & each.keys() for each in holders)


def _puts(head: bytes, tail: bytes, event: StreamEvent, payload: Any) -> bool:
    """Whether a text between them is the event's, and nothing else of the payload."""
    try:
        marked = orjson.loads(head + _MARK + tail)
    except orjson.JSONDecodeError:
        return False
    choice = marked["choices"][0]
    names = ("text",) if event.kind == "text" else ()
    part = choice.get("delta") or choice.get("message")
    part_names = ("content",) if event.kind == "text" else ("reasoning_content", "reasoning")
    for holder, tried in ((choice, names), (part, part_names)):
        for name in tried if isinstance(holder, dict) else ():
            if holder.get(name) == MARK:
                holder[name] = event.data
                return bool(marked == payload)
    return False
