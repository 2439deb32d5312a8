"""The OpenAI shapes, chunk or whole answer, as stream events; tolerant of what is left out."""

from collections.abc import Iterator, Mapping
from typing import Any

from playground.completion import StreamEvent
from playground.providers.logprobs import normal, rest

MOST = 2**31  # a choice's index fits the column
LONGEST_RAW = 64 * 1024  # bytes of the last chunk or of the whole answer that are kept as they came

# What becomes events. Everything else is kept: in the metadata, of choices under `choices_extra`.
EVENTS = frozenset(("choices", "usage", "error"))
CHOICE_EVENTS = frozenset(("index", "text", "delta", "message", "logprobs", "finish_reason"))
MESSAGE_EVENTS = frozenset(("content", "reasoning", "reasoning_content", "tool_calls"))

# Members that come in pieces, one a chunk; of any other the last value counts.
PIECEWISE = frozenset(("token_ids", "text_offset", "refusal"))


class ChunkParser:
    """Remembers what one answer has said so far."""

    def __init__(self) -> None:
        self.open: set[int] = set()  # choices that have begun
        self.finished: set[int] = set()
        self.meta: dict[str, Any] = {}
        self.extras: dict[int, dict[str, Any]] = {}  # {choice: what no event carries}
        self.raw = b""  # the last chunk, or the whole answer
        self._usage: Any = None
        self._finishing = -1  # the choice that the last chunk finished

    @property
    def complete(self) -> bool:
        """Every choice that has begun has a finish reason, and there is one."""
        return bool(self.open) and self.open <= self.finished

    def parse(self, payload: Mapping[str, Any], at: float) -> Iterator[StreamEvent]:
        _lay_over(self.meta, payload, EVENTS)
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
            counts = {name: _whole(value) for name, value in usage.items()}
            yield StreamEvent("usage", counts, owner, at)

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
            text = "".join(str(p.get("text") or "") for p in text if isinstance(p, Mapping))
        reasoning = part.get("reasoning_content") or part.get("reasoning")
        if reasoning and isinstance(reasoning, str):
            yield StreamEvent("reasoning", reasoning, index, at)
        if text:
            yield StreamEvent("text", str(text), index, at)
        if part.get("tool_calls"):
            yield StreamEvent("tool_call", _dicts(part["tool_calls"]), index, at)
        if choice.get("logprobs") and (tokens := normal(choice["logprobs"])):
            yield StreamEvent("logprobs", tokens, index, at)
        self._keep_rest(index, choice, part)
        finish = choice.get("finish_reason")
        if finish:
            self.finished.add(index)
            yield StreamEvent("finish", str(finish), index, at)
        return index, bool(finish)

    def _keep_rest(self, index: int, choice: Mapping[str, Any], part: Mapping[str, Any]) -> None:
        extra = self.extras.setdefault(index, {})
        _lay_over(extra, choice, CHOICE_EVENTS)
        for name, values in (("message", part), ("logprobs", rest(choice.get("logprobs")))):
            if not isinstance(values, Mapping):
                extra[name] = values
                continue
            if not isinstance(extra.get(name), dict):
                extra[name] = {}
            _lay_over(extra[name], values, MESSAGE_EVENTS)

    def whole(self) -> None:
        """The answer came in one piece: nothing is open any more, finish reason or not."""
        self.finished |= self.open

    def metadata(self) -> dict[str, Any]:
        """Everything that has not become events, and the last chunk or whole answer as it came.

        `choices_extra` is {index: members of the choice, of its message and of its logprobs}.
        """
        found = dict(self.meta)
        extras = {
            str(index): {name: value for name, value in extra.items() if value not in ({}, None)}
            for index, extra in self.extras.items()
        }
        if any(extras.values()):
            found["choices_extra"] = {index: extra for index, extra in extras.items() if extra}
        if self.raw:
            found["raw"] = self.raw[:LONGEST_RAW].decode("utf-8", "replace")
        if len(self.raw) > LONGEST_RAW:
            found["raw_cut"] = True
        return found


def _lay_over(known: dict[str, Any], values: Mapping[str, Any], without: frozenset[str]) -> None:
    """Values that are not null over those known so far; objects member by member."""
    for name, value in values.items():
        if value is None or name in without:
            continue
        old = known.get(name)
        if isinstance(value, Mapping):
            known[name] = merged = dict(old) if isinstance(old, Mapping) else {}
            merged.update((one, data) for one, data in value.items() if data is not None)
        elif name in PIECEWISE and isinstance(old, list) and isinstance(value, list):
            old.extend(value)
        elif name in PIECEWISE and isinstance(old, str) and isinstance(value, str):
            known[name] = old + value
        else:
            known[name] = list(value) if isinstance(value, list) else value


def _whole(value: Any) -> Any:
    """A count that is typed as a number (Pulze) without its `.0`."""
    exact = isinstance(value, float) and abs(value) < 2**53 and value.is_integer()
    return int(value) if exact else value


def _dicts(value: Any) -> list[dict[str, Any]]:
    rows = value if isinstance(value, list) else []
    return [dict(row) for row in rows if isinstance(row, Mapping)]
