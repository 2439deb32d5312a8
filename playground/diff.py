"""The difference of two texts by words.

Bounded: the common beginning and end are taken off first, a middle that is long is compared by
lines, and only what still differs by words, while there is budget left; beyond it a part counts as
replaced as a whole.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

MOST_WORDS = 2_000  # of both sides of one part that is compared by words
MOST_LINES = 4_000  # of both sides that are compared by lines
BUDGET = 12_000  # words of all parts of one comparison
# A word with its blanks stays one: a run of letters and digits, one sign, a run of blanks, a break.
_WORD = re.compile(r"\n|[^\S\n]+|\w+|[^\w\s]")


@dataclass(frozen=True)
class Piece:
    """`old` and `new` are equal where nothing changed; an empty one: added or removed."""

    old: str
    new: str

    @property
    def same(self) -> bool:
        return self.old == self.new


@dataclass(frozen=True)
class Difference:
    pieces: list[Piece]
    coarse: bool  # parts were too long to be compared by words

    @property
    def changes(self) -> int:
        return sum(not piece.same for piece in self.pieces)

    @property
    def same(self) -> bool:
        return not self.changes


def compare(old: str, new: str) -> Difference:
    """Pieces that join to both texts exactly."""
    a, b = _WORD.findall(old), _WORD.findall(new)
    work = _Work()
    return Difference(_joined(work.words(a, b)), work.coarse)


class _Work:
    def __init__(self) -> None:
        self.left = BUDGET
        self.coarse = False

    def words(self, a: Sequence[str], b: Sequence[str], by_lines: bool = True) -> Iterator[Piece]:
        head = _common(a, b)
        tail = _common(a[head:][::-1], b[head:][::-1])
        middle_a, middle_b = a[head : len(a) - tail], b[head : len(b) - tail]
        yield Piece("".join(a[:head]), "".join(b[:head]))
        yield from self._middle(middle_a, middle_b, by_lines)
        yield Piece("".join(a[len(a) - tail :]), "".join(b[len(b) - tail :]))

    def _middle(self, a: Sequence[str], b: Sequence[str], by_lines: bool) -> Iterator[Piece]:
        size = len(a) + len(b)
        if not a or not b:
            yield Piece("".join(a), "".join(b))
        elif size <= min(MOST_WORDS, self.left):
            self.left -= size
            for piece_a, piece_b in _matched(a, b):
                yield Piece("".join(piece_a), "".join(piece_b))
        elif by_lines:
            yield from self._lines(a, b)
        else:
            self.coarse = True
            yield Piece("".join(a), "".join(b))

    def _lines(self, a: Sequence[str], b: Sequence[str]) -> Iterator[Piece]:
        lines_a, lines_b = _lines_of(a), _lines_of(b)
        if len(lines_a) + len(lines_b) > MOST_LINES:
            self.coarse = True
            yield Piece("".join(a), "".join(b))
            return
        for part_a, part_b in _matched(lines_a, lines_b):
            yield from self.words(_flat(part_a), _flat(part_b), by_lines=False)


def _matched(
    a: Sequence[str] | Sequence[tuple[str, ...]], b: Sequence[str] | Sequence[tuple[str, ...]]
) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Pairs of slices, equal and unequal in turn. What is very frequent begins no match: else the
    time would grow with the square of it."""
    for tag, a1, a2, b1, b2 in SequenceMatcher(None, a, b, autojunk=True).get_opcodes():
        del tag
        yield a[a1:a2], b[b1:b2]  # type: ignore[misc]


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    length = 0
    for one, other in zip(a, b, strict=False):
        if one != other:
            break
        length += 1
    return length


def _lines_of(words: Sequence[str]) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = []
    start = 0
    for position, word in enumerate(words, 1):
        if word == "\n":
            lines.append(tuple(words[start:position]))
            start = position
    return [*lines, tuple(words[start:])] if start < len(words) else lines


def _flat(lines: Sequence[Sequence[str]]) -> list[str]:
    return [word for line in lines for word in line]


def _joined(pieces: Iterator[Piece]) -> list[Piece]:
    """Neighbours of one kind as one; a blank between two changes belongs to them."""
    found: list[Piece] = []
    for piece in pieces:
        if not piece.old and not piece.new:
            continue
        if found and found[-1].same == piece.same:
            last = found.pop()
            piece = Piece(last.old + piece.old, last.new + piece.new)
        elif len(found) > 1 and not piece.same and _is_gap(found[-1]):
            gap, last = found.pop(), found.pop()
            piece = Piece(last.old + gap.old + piece.old, last.new + gap.new + piece.new)
        found.append(piece)
    return found


def _is_gap(piece: Piece) -> bool:
    return piece.same and len(piece.old) <= 2 and piece.old.isspace() and "\n" not in piece.old
