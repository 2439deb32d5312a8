"""Where the words of a search stand in a text: the text in parts, found or not.

What is looked for is folded (`words.py`), and the text is not: places in the one are told in the
other, since folding may make a text longer or shorter.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from playground.words import BEGINS, UNSPACED, fold

BEFORE = 24  # characters of an excerpt before what was found, at most
# What folding may change: characters beyond ASCII, with one before that they may belong to.
_CHANGED = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]+")
_SPACED = f"[^\\W_{UNSPACED}]"  # of words that blanks part


class Part(NamedTuple):
    text: str
    found: bool


Parts = Sequence[Part]


def pattern(words: Sequence[str], literals: Sequence[str]) -> re.Pattern[str] | None:
    """Of the words and literal texts of a query; None where it has none. For folded text."""
    alone = [word for word in words if not any(word in literal for literal in literals)]
    sought = [*map(re.escape, literals), *map(_word, alone)]
    return re.compile("|".join(sorted(sought, key=len, reverse=True))) if sought else None


def _word(word: str) -> str:
    whole = re.escape(word.removesuffix(BEGINS))
    if re.search(f"[{UNSPACED}]", word):
        return whole
    end = f"{_SPACED}*" if word.endswith(BEGINS) else f"(?!{_SPACED})"
    return f"(?<!{_SPACED}){whole}{end}"


def opening(text: str, sought: re.Pattern[str], room: int) -> Parts:
    """The first characters of the text, marked."""
    return _cut(text, _places(text, sought), 0, room)


def excerpt(text: str, sought: re.Pattern[str], room: int) -> Parts:
    """What stands around the first place, marked; () where there is none."""
    places = _places(text, sought)
    if not places:
        return ()
    first, end = places[0]
    start = 0 if end <= room else max(0, first - BEFORE)
    if start:  # not within a word
        blank = text.find(" ", start, first)
        start = blank + 1 if blank >= 0 else start
    before = [Part("…", False)] if start else []
    return [*before, *_cut(text, places, start, start + room)]


def _places(text: str, sought: re.Pattern[str]) -> list[tuple[int, int]]:
    """(start, end) of each in the text itself."""
    folded = fold(text)
    places = [match.span() for match in sought.finditer(folded)]
    if not places or len(folded) == len(text):
        return places
    steps = _steps(text)
    return [(_origin(steps, start), _origin(steps, end)) for start, end in places]


def _steps(text: str) -> list[tuple[int, int]]:
    """(place in the folded text, place in the text) around all that folding may change."""
    steps, folded, done = [(0, 0)], 0, 0
    for match in _CHANGED.finditer(text):
        folded += match.start() - done
        steps.append((folded, match.start()))
        folded, done = folded + len(fold(match.group())), match.end()
        steps.append((folded, done))
    return [*steps, (folded + len(text) - done, len(text))]


def _origin(steps: Sequence[tuple[int, int]], place: int) -> int:
    at = bisect_right(steps, place, key=lambda step: step[0]) - 1
    folded, start = steps[at]
    after = steps[at + 1][1] if at + 1 < len(steps) else start
    return min(start + place - folded, after)


def _cut(text: str, places: Sequence[tuple[int, int]], start: int, end: int) -> Parts:
    """From start to end, in parts; white space is one blank."""
    end, at, parts = min(end, len(text)), start, []
    for first, last in places:
        if first < end and last > at:
            first, last = max(first, at), min(last, end)
            parts += [Part(text[at:first], False), Part(text[first:last], True)]
            at = last
    parts.append(Part(text[at:end], False))
    return [Part(re.sub(r"\s+", " ", part), found) for part, found in parts if part]
