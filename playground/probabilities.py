"""The tokens of one choice, in their places, with what might have stood there instead.

Offsets are UTF-16 units: of the choice's text, for tokens of the prompt of the prompt. A log
probability of −9999 is vLLM's minus infinity and stays as it is; None is unknown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from playground import branch
from playground.alignment import Alternative, Piece, Span, align, alternative, begun, head, piece
from playground.completion import CompletionRequest, storable
from playground.outcome import ChoiceResult
from playground.providers.logprobs import of_prompt

Json = Any
LONGEST_GAP = 2_000  # characters without a token that are shown


class Text:
    """A text by characters, by bytes and by UTF-16 units."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.data = text.encode("utf-8", "replace")
        self._units = text.encode("utf-16-le", "replace")

    def __len__(self) -> int:
        return len(self._units) // 2

    def part(self, start: int, end: int) -> str:
        return self._units[2 * start : 2 * end].decode("utf-16-le", "replace")


@dataclass(frozen=True)
class Token:
    """`raw` is the normal form; `span` None: it is not in the text; `before`: text that came
    without a token."""

    raw: Mapping[str, Json]
    span: Span | None
    text: Text  # that its offsets are of
    of_prompt: bool = False
    before: str = ""

    @property
    def shown(self) -> str:
        """The characters that begin in it; its own text where it has no place."""
        if self.span is None:
            return str(self.raw.get("token", ""))
        return self.text.part(self.span.start, self.span.end)

    @property
    def said_before(self) -> str:
        """The text up to the character that it begins in."""
        byte = begun(self.text.data, self.span.byte) if self.span else 0
        return self.text.data[:byte].decode()

    @cached_property
    def alternatives(self) -> list[tuple[Alternative, float | None]]:
        """Most likely first; its own is always among them, behind all where nothing ranks it."""
        data, joined = self.text.data, head(self.raw)
        byte = self.span.byte if self.span else 0
        there = data[begun(data, byte) : byte] if self.span else b""
        top = self.raw.get("top") or ()
        found = [(alternative(each, there + joined), each.get("logprob")) for each in top]
        if self._ranked is None:
            found.append((alternative(self.raw, there), self.raw.get("logprob")))
        return found

    @property
    def taken(self) -> int:
        """Its own place among the alternatives."""
        return len(self.alternatives) - 1 if self._ranked is None else self._ranked

    @cached_property
    def _ranked(self) -> int | None:
        for position, each in enumerate(self.raw.get("top") or ()):
            ids = self.raw.get("id"), each.get("id")
            same = ids[0] == ids[1] if None not in ids else piece(self.raw) == piece(each)
            if same:
                return position
        return None

    def as_json(self) -> dict[str, Json]:
        found: dict[str, Json] = {
            "text": self.shown,
            "logprob": self.raw.get("logprob"),
            "start": self.span.start if self.span else None,
            "end": self.span.end if self.span else None,
            "top": [_alternative(*each) for each in self.alternatives],
            "taken": self.taken,
        }
        if self.span and self.span.inside:
            found["inside"] = True
        if self.of_prompt:
            found["prompt"] = True
        if self.before:
            found["before"] = self.before
        if not self.shown:
            found["bytes"] = list(piece(self.raw).raw)
        return found


def _alternative(one: Alternative, logprob: float | None) -> dict[str, Json]:
    if one.whole is not None:
        return {"text": one.whole, "logprob": logprob}
    return {"text": "", "bytes": list(one.raw), "logprob": logprob, "why": one.why}


@dataclass
class Probabilities:
    """All tokens of a choice: first those of the prompt, where they came."""

    tokens: list[Token] = field(default_factory=list)
    of_prompt: int = 0  # how many
    base: int = 0  # units of the choice's text that repeat the prompt, or the prefill of a chat
    after: str = ""  # text behind the last token

    @property
    def unplaced(self) -> int:
        """Tokens that are not in the text."""
        return sum(token.span is None for token in self.tokens)


def probabilities(
    asked: CompletionRequest, choice: ChoiceResult, extras: Mapping[str, Json]
) -> Probabilities:
    """`extras`: what else came with the choice, as the metadata keeps it."""
    prompt = branch.prompt_of(asked, choice.index) or ""
    begins = branch.repeated(asked, choice.index)
    text, echoed = Text(choice.text), bool(begins) and choice.text.startswith(begins)
    base = len(Text(begins)) if echoed else 0
    pieces = [piece(each) for each in choice.logprobs]
    spans = align(choice.text, pieces)
    lead = 0 if echoed else _of_prompt_before(spans, pieces, prompt)
    found = Probabilities(base=base)
    source = Text(prompt)
    asked_for = of_prompt(extras.get("prompt_logprobs"))
    if asked_for:
        own = _matched(asked_for, prompt)
        found.tokens += _placed(own, align(prompt, [piece(each) for each in own]), source, True)
    elif lead:
        places = align(prompt, pieces[:lead])
        found.tokens += _placed(choice.logprobs[:lead], places, source, True)
    rest = _placed(choice.logprobs[lead:], spans[lead:], text, False)
    if echoed and asked.operation != "chat":
        rest = [_in_prompt(token, base) for token in rest]
    found.tokens += rest
    found.of_prompt = sum(token.of_prompt for token in found.tokens)
    ends = [token.span.end for token in rest if token.span]
    found.after = text.part(ends[-1], len(text))[:LONGEST_GAP] if ends else ""
    return found


def _of_prompt_before(spans: Sequence[Span | None], pieces: Sequence[Piece], prompt: str) -> int:
    """Leading tokens that repeat the end of the prompt, though the text does not (OctoAI)."""
    lead = next((i for i, span in enumerate(spans) if span), len(spans))
    said = b"".join(each.raw for each in pieces[:lead])
    return lead if said and prompt.encode().endswith(said) else 0


def _matched(tokens: list[dict[str, Json]], prompt: str) -> list[dict[str, Json]]:
    """Where a server orders a map by rank, the candidate that the prompt goes on with."""
    found: list[dict[str, Json]] = []
    at = 0
    for token in tokens:
        for each in (token, *token["top"]):
            place = prompt.find(each["token"], at) if each["token"] else -1
            if place >= 0 and (place == at or not found):
                token = {**token, **each}
                at = place + len(each["token"])
                break
        found.append(token)
    return found


def _placed(
    raws: Sequence[Mapping[str, Json]], spans: Sequence[Span | None], text: Text, of_prompt: bool
) -> list[Token]:
    found: list[Token] = []
    at = 0
    for raw, span in zip(raws, spans, strict=True):
        gap = text.part(at, span.start)[-LONGEST_GAP:] if span and span.start > at else ""
        found.append(Token(raw, span, text, of_prompt, gap))
        at = span.end if span else at
    return found


def _in_prompt(token: Token, base: int) -> Token:
    """An echo: the tokens that end within the prompt are the prompt's."""
    mine = token.span is not None and token.span.end <= base and token.span.start < base
    return Token(token.raw, token.span, token.text, mine, token.before)


SIGNS = str.maketrans({" ": "␣", "\n": "↵", "\r": "␍", "\t": "⇥"})


def visible(text: str, signs: dict[int, str] = SIGNS) -> str:
    """Blanks and line ends as signs; an imported token may be half of a character."""
    return storable(text).translate(signs)
