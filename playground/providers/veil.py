"""What a server repeats of a connection's secrets, taken out before anything is kept or shown.

A key may come back in an error, in metadata or in the answer itself, whole, cut into several
chunks, or written otherwise: in base64, for a URL, in hexadecimal, with JSON's escapes.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from playground.completion import TEXT_KINDS, StreamEvent
from playground.providers.errors import masked
from playground.providers.spelling import SUSPECT
from playground.providers.target import Target

DEEPEST = 100  # levels of JSON that are kept


class Veil:
    """The secrets of one target, and how far each text of an answer has come."""

    def __init__(self, target: Target) -> None:
        secrets = target.secrets
        self._key = target.key
        self._names, self._pattern, self._starts = secrets.names, secrets.pattern, secrets.starts
        self._longest, self._beginnings = secrets.longest, secrets.beginnings
        self._strands: dict[tuple[Any, ...], Strand] = {}
        self._hit = False  # something was taken out that came in pieces

    def text(self, text: str) -> str:
        if not self._names:
            return text
        return self._pattern.sub(lambda match: self._names[match.group()], text)

    def error(self, words: str) -> str:
        """Of an error, also whatever looks like a key, and a key however short."""
        return masked(self.text(words), self._key)

    def value(self, value: Any, levels: int = DEEPEST) -> Any:
        """JSON with every text in it, names too; what is nested deeper is left out."""
        if isinstance(value, str):
            return self.text(value)
        if not levels:
            return None
        if isinstance(value, Mapping):
            return {
                self.text(str(name)): self.value(one, levels - 1) for name, one in value.items()
            }
        if isinstance(value, list):
            return [self.value(one, levels - 1) for one in value]
        return value

    def meta(self, meta: Mapping[str, Any]) -> dict[str, Any]:
        """Metadata; the chunk in it as it came goes where an escape may hide something in it."""
        found: dict[str, Any] = self.value(meta)
        raw = meta.get("raw")
        if isinstance(raw, str) and (self._hit or self._hides(raw)):
            del found["raw"]
        return found

    def _hides(self, raw: str) -> bool:
        if "\\u" not in raw or not self._names:
            return False
        try:
            plain = json.dumps(json.loads(raw), ensure_ascii=False)
        except (ValueError, RecursionError):
            plain = re.sub(r"\\u00([0-7][0-9a-fA-F])", lambda code: chr(int(code[1], 16)), raw)
        return bool(self._pattern.search(plain))

    def batch(self, events: list[StreamEvent]) -> list[StreamEvent]:
        """As `events` of each, one after the other; a text is looked through as a whole."""
        if not self._names or not events or self._passes(events):
            return events
        return [shown for event in events for shown in self.events(event)]

    def _passes(self, events: list[StreamEvent]) -> bool:
        """Pieces of one text in which nothing begins, goes on or ends that may be a secret."""
        kind, _, choice, _ = events[0]
        if kind not in TEXT_KINDS:
            return False
        for event in events:
            if event.kind != kind or event.choice != choice:
                return False
        return self._strand(kind, choice).pass_on("".join([event.data for event in events]))

    def events(self, event: StreamEvent) -> Iterator[StreamEvent]:
        """The event without the secrets; what may begin one waits for what follows."""
        if not self._names:
            yield event
        elif event.kind in TEXT_KINDS:
            if text := self._strand(event.kind, event.choice).feed(event.data):
                yield event._replace(data=text)
        elif event.kind == "tool_call":
            calls = [self._call(event.choice, call) for call in event.data]
            yield event._replace(data=calls)
        elif event.kind == "logprobs":
            if tokens := self._strand("logprobs", event.choice).tokens(self.value(event.data)):
                yield event._replace(data=tokens)
        elif event.kind == "finish":
            yield from self._rest([key for key in self._strands if key[1] == event.choice], event)
            yield event._replace(data=self.text(event.data))
        else:
            yield event._replace(data=self.value(event.data))

    def rest(self, at: float) -> Iterator[StreamEvent]:
        """What was held back when nothing more comes."""
        yield from self._rest(list(self._strands), StreamEvent("", None, 0, at))

    def _rest(self, keys: Iterable[tuple[Any, ...]], after: StreamEvent) -> Iterator[StreamEvent]:
        for key in keys:
            strand = self._strands.pop(key)
            data: Any = strand.rest_of_tokens() if key[0] == "logprobs" else strand.rest()
            if key[0] == "tool_call":
                data = data and [{"index": key[2], "function": {"arguments": data}}]
            if data:
                yield StreamEvent(key[0], data, key[1], after.at)

    def _call(self, choice: int, call: Mapping[str, Any]) -> dict[str, Any]:
        """A call's arguments come in pieces as text does."""
        function = call.get("function")
        clean: dict[str, Any] = self.value({**call, "function": None})
        arguments = function.get("arguments") if isinstance(function, Mapping) else None
        if isinstance(function, Mapping) and isinstance(arguments, str):
            number = call.get("index") if type(call.get("index")) is int else 0
            shown = self._strand("tool_call", choice, number).feed(arguments)
            clean["function"] = self.value({**function, "arguments": ""}) | {"arguments": shown}
        elif "function" in call:
            clean["function"] = self.value(function)
        else:
            del clean["function"]
        return clean

    def _strand(self, *key: Any) -> "Strand":
        if key not in self._strands:
            self._strands[key] = Strand(self)
        return self._strands[key]

    def take_out(self, text: str, shown: int) -> tuple[str, str, bool]:
        """(what may go out, what has to wait, whether a secret was in it) of a text whose first
        `shown` characters are out already."""
        out: list[str] = []
        hit = False
        while match := self._pattern.search(text):
            out += [text[shown : match.start()], self._names[match.group()]]
            text, shown, hit = text[match.end() :], 0, True
        self._hit = self._hit or hit
        end = max(len(text) - self._suspect(text), shown)
        out.append(text[shown:end])
        return "".join(out), text[end:], hit

    def is_clean(self, text: str) -> bool:
        """Whether no secret is in the text, and its end begins none."""
        if not self._starts.search(text):
            return True
        return not self._pattern.search(text) and not self._suspect(text)

    def _suspect(self, text: str) -> int:
        """How many characters at the end of the text may begin a secret."""
        longest = min(len(text), self._longest - 1)
        for n in range(longest, SUSPECT - 1, -1):
            if text[-n:] in self._beginnings:
                return n
        return 0


class Strand:
    """One text that comes in pieces."""

    def __init__(self, veil: Veil) -> None:
        self._veil = veil
        self._shown = ""  # the last characters that went out: a secret may begin in them
        self._held = ""
        self.hits = False  # the last piece completed a secret
        self.waiting: list[Any] = []  # tokens whose text is held back
        self._words = ""  # of the tokens that wait, without a secret
        self._known: dict[str, Any] = {}  # of the one token that those that wait have become

    def feed(self, piece: str) -> str:
        before = self._shown + self._held
        out, self._held, self.hits = self._veil.take_out(before + piece, len(self._shown))
        self._shown = (out if self.hits else self._shown + out)[-(SUSPECT - 1) :]
        return out

    def pass_on(self, piece: str) -> bool:
        """Whether the piece can go out as it is; then it counts as fed."""
        if self._held or not self._veil.is_clean(self._shown + piece):
            return False
        self._shown = (self._shown + piece)[-(SUSPECT - 1) :]
        self.hits = False
        return True

    def rest(self) -> str:
        held, self._held = self._held, ""
        return held

    def tokens(self, tokens: list[Any]) -> list[Any]:
        """Tokens with their probabilities; those of a secret become one, without alternatives."""
        out: list[Any] = []
        for token in tokens:
            out_now, hits = self.feed(str(token.get("token") or "")), self.hits
            self._words += out_now
            self.waiting.append(token)
            if hits:
                self._known = {"logprob": token.get("logprob"), "bytes": None, "top": []}
            if self._known:  # also where it ends in what may begin another secret
                self.waiting = [{"token": self._words, **self._known}]
            if not self._held:
                out += self.waiting
                self.waiting, self._words, self._known = [], "", {}
        return out

    def rest_of_tokens(self) -> list[Any]:
        held = self.rest()
        if self._known:
            self.waiting = [{"token": self._words + held, **self._known}]
        return self.waiting
