"""The OpenAI shapes, chunk or whole answer, as stream events; tolerant of what is left out."""

from collections.abc import Iterator, Mapping
from typing import Any

from playground.completion import StreamEvent
from playground.providers.logprobs import normal

MOST = 2**31  # a choice's index fits the column


class ChunkParser:
    """Remembers what one answer has said so far."""

    def __init__(self) -> None:
        self.open: set[int] = set()  # choices that have begun
        self.finished: set[int] = set()
        self.meta: dict[str, Any] = {}
        self._usage: Any = None
        self._finishing = -1  # the choice that the last chunk finished

    @property
    def complete(self) -> bool:
        """Every choice that has begun has a finish reason, and there is one."""
        return bool(self.open) and self.open <= self.finished

    def parse(self, payload: Mapping[str, Any], at: float) -> Iterator[StreamEvent]:
        self.meta.update(payload)
        choices = payload.get("choices")
        finishing = -1
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, Mapping):
                index, finished = yield from self._choice(choice, at)
                finishing = index if finished else finishing
        # A usage beside the finish of its only choice, or in a chunk of its own behind it, may be
        # that choice's own (llama.cpp on completions and on chat).
        owner = finishing if isinstance(choices, list) and len(choices) == 1 else -1
        owner = self._finishing if choices == [] else owner
        self._finishing = finishing
        usage = payload.get("usage")
        # Some servers repeat the same numbers (zeros) on every chunk.
        if isinstance(usage, Mapping) and usage and (usage != self._usage or owner >= 0):
            self._usage = usage
            yield StreamEvent("usage", dict(usage), owner, at)

    def _choice(self, choice: Mapping[str, Any], at: float) -> Any:
        index = choice.get("index")
        index = index if type(index) is int and 0 <= index < MOST else 0
        self.open.add(index)
        part = choice.get("delta") or choice.get("message") or {}
        if not isinstance(part, Mapping):
            part = {}
        text = choice.get("text")
        if text is None:
            text = part.get("content")
        if isinstance(text, list):  # content parts
            text = "".join(str(p.get("text", "")) for p in text if isinstance(p, Mapping))
        reasoning = part.get("reasoning_content") or part.get("reasoning")
        if reasoning and isinstance(reasoning, str):
            yield StreamEvent("reasoning", reasoning, index, at)
        if text:
            yield StreamEvent("text", str(text), index, at)
        if part.get("tool_calls"):
            yield StreamEvent("tool_call", _dicts(part["tool_calls"]), index, at)
        if choice.get("logprobs") and (tokens := normal(choice["logprobs"])):
            yield StreamEvent("logprobs", tokens, index, at)
        finish = choice.get("finish_reason")
        if finish:
            self.finished.add(index)
            yield StreamEvent("finish", str(finish), index, at)
        return index, bool(finish)

    def whole(self) -> None:
        """The answer came in one piece: nothing is open any more, finish reason or not."""
        self.finished |= self.open

    def metadata(self) -> dict[str, Any]:
        """Everything at the top of the chunks besides what has become events."""
        return {
            name: value
            for name, value in self.meta.items()
            if name not in ("choices", "usage", "error") and value is not None
        }


def _dicts(value: Any) -> list[dict[str, Any]]:
    rows = value if isinstance(value, list) else []
    return [dict(row) for row in rows if isinstance(row, Mapping)]
