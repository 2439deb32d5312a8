"""Where tokens stand in the text that they make, also tokens that hold only a part of a character.

Pure: tokens in the normal form of `providers/logprobs.py` in, offsets out. All offsets are UTF-16
code units, as a browser counts.

Servers differ in what they tell: exact bytes (llama.cpp, OctoAI), `bytes:\\xf0\\x9f` (OpenAI),
U+FFFD or nothing for a part of a character (vLLM). llama.cpp joins the tokens of one character into
one entry, but its alternatives hold the bytes of the last of these tokens only.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Json = Any

ESCAPED = re.compile(r"bytes:((?:\\x[0-9a-fA-F]{2})+)")
WINDOW = 12  # tokens that may be skipped to find the thread again
ANCHOR = 4  # tokens that have to follow there
REACH = 4_000  # bytes of text that may be skipped
LONGEST_CHARACTER = 4  # bytes


@dataclass(frozen=True)
class Piece:
    """The bytes of one token; `wild` where the server could not write them down."""

    raw: bytes
    wild: bool = False


def piece(token: Mapping[str, Json]) -> Piece:
    """Of a token or of an alternative."""
    text, given = str(token.get("token", "")), token.get("bytes")
    if isinstance(given, list) and all(type(each) is int and 0 <= each < 256 for each in given):
        return Piece(bytes(given))
    if found := ESCAPED.fullmatch(text):
        return Piece(bytes.fromhex(found[1].replace("\\x", "")))
    return Piece(text.encode("utf-8", "replace"), wild="\ufffd" in text)


@dataclass(frozen=True)
class Span:
    """Characters that begin in a token: `start` to `end`; `inside` where its first byte is within
    a character that an earlier token began. `byte` is where it begins in the text's UTF-8."""

    start: int
    end: int
    byte: int
    inside: bool = False


Place = tuple[int, int, bool]  # first byte, byte behind, whether inside of a character


def align(text: str, pieces: Sequence[Piece]) -> list[Span | None]:
    """The place of each token; None for one that is not in the text."""
    data = text.encode()
    found = _places(data, pieces)
    ends = sorted({each for place in found if place for each in place[:2]})
    units = dict(zip(ends, _units(data, ends), strict=True))
    return [place and Span(units[place[0]], units[place[1]], place[0], place[2]) for place in found]


def _places(data: bytes, pieces: Sequence[Piece]) -> list[Place | None]:
    joined = b"".join(each.raw for each in pieces)
    # The whole text in one go: behind tokens of the prompt or of reasoning that are not in it.
    whole = joined.rfind(data) if data else -1
    if whole >= 0:
        return _from(data, pieces, whole)
    found: list[Place | None] = []
    at = position = 0
    while position < len(pieces):
        raw = pieces[position].raw
        if data.startswith(raw, at):
            found.append((at, at + len(raw), _within(data, at)))
            at, position = at + len(raw), position + 1
        elif thread := _thread(data, at, pieces, position):
            found += _skipped(at, thread[1], pieces[position : thread[0]])
            position, at = thread
        else:
            rest = pieces[position:]
            near = at < len(data) <= at + LONGEST_CHARACTER * len(rest)
            found += _skipped(at, len(data) if near else at, rest if near else rest[:1])
            position = len(found)
    return found


def _from(data: bytes, pieces: Sequence[Piece], offset: int) -> list[Place | None]:
    """Tokens of a joined text in which `data` begins at `offset`."""
    found: list[Place | None] = []
    at = -offset
    for each in pieces:
        end = at + len(each.raw)
        first, behind = max(at, 0), min(end, len(data))
        there = first < behind or (first == behind and not each.raw and at >= 0)
        found.append((first, behind, _within(data, first)) if there else None)
        at = end
    return found


def _skipped(at: int, end: int, skipped: Sequence[Piece]) -> list[Place | None]:
    """Tokens between two that fit: those whose bytes nobody told share the text there, the first
    begins it; the others are not in the text."""
    found: list[Place | None] = []
    for each in skipped:
        if not each.wild or (at == end and not any(found)):
            found.append(None)
        else:
            first = not any(found)
            found.append((at if first else end, end, not first))
    return found


def _thread(data: bytes, at: int, pieces: Sequence[Piece], position: int) -> tuple[int, int] | None:
    """(position, byte) where tokens and text agree again, with the least skipped."""
    best: tuple[int, int, int] | None = None
    skipped = 0
    for candidate in range(position, min(position + WINDOW, len(pieces))):
        first = pieces[candidate]
        if first.raw and not first.wild:
            anchor = b"".join(each.raw for each in _known(pieces, candidate))
            place = data.find(anchor, at, at + REACH + len(anchor))
            cost = skipped + place - at
            if place >= 0 and (best is None or cost < best[0]):
                best = cost, candidate, place
        skipped += len(first.raw)
    return best and best[1:]


def _known(pieces: Sequence[Piece], position: int) -> list[Piece]:
    found = []
    for each in pieces[position : position + ANCHOR]:
        if each.wild:
            break
        found.append(each)
    return found


def _within(data: bytes, at: int) -> bool:
    return at < len(data) and data[at] & 0xC0 == 0x80


def _units(data: bytes, ends: Sequence[int]) -> list[int]:
    """UTF-16 units before the first character that begins at or after each of these bytes."""
    found = []
    at = units = 0
    for end in ends:
        while end < len(data) and _within(data, end):
            end += 1
        if end > at:
            units += len(data[at:end].decode().encode("utf-16-le")) // 2
            at = end
        found.append(units)
    return found


@dataclass(frozen=True)
class Alternative:
    """`whole` is what the text would have there, from the character on in which the token begins;
    None where that is no text: `why` is `end` (nothing to write) or `half` (of a character)."""

    raw: bytes
    whole: str | None
    why: str = ""


def head(token: Mapping[str, Json]) -> bytes:
    """What llama.cpp has joined in front of the token that the alternatives are for."""
    raw = piece(token).raw
    for each in token.get("top") or ():
        mine = each.get("id") is not None and each.get("id") == token.get("id")
        last = piece(each).raw
        if mine and last and raw != last and raw.endswith(last):
            return raw[: -len(last)]
    return b""


def alternative(each: Mapping[str, Json], before: bytes) -> Alternative:
    """`before`: the bytes of the same character that are there already, and `head`."""
    own = piece(each)
    if not own.raw:
        return Alternative(b"", None, "end")
    if own.wild:
        return Alternative(own.raw, None, "half")
    try:
        return Alternative(own.raw, (before + own.raw).decode())
    except UnicodeDecodeError:
        return Alternative(own.raw, None, "half")


def begun(data: bytes, byte: int) -> int:
    """The byte where the character begins that `byte` is within."""
    while byte > 0 and _within(data, byte):
        byte -= 1
    return byte
