"""How far several outputs of one thing agree. Standard library only."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

WORD = re.compile(r"\s*\S+|\s+")


@dataclass
class Group:
    """Outputs that are the same, but perhaps for white space."""

    text: str  # of the first
    members: list[int] = field(default_factory=list)  # positions among the outputs
    spaced: bool = False  # some differ in white space

    @property
    def count(self) -> int:
        return len(self.members)


def groups(texts: Sequence[str]) -> list[Group]:
    """The largest first; of equal size, the one that came first."""
    found: dict[str, Group] = {}
    for position, text in enumerate(texts):
        group = found.setdefault(" ".join(text.split()), Group(text))
        group.members.append(position)
        group.spaced = group.spaced or text != group.text
    return sorted(found.values(), key=lambda group: -group.count)


def words(text: str) -> list[str]:
    """Each with the white space before it; together they are the text."""
    return WORD.findall(text)


def same_up_to(sequences: Sequence[Sequence[str]]) -> int:
    """How many parts all of them begin with in common."""
    if not sequences:
        return 0
    count = 0
    for parts in zip(*sequences, strict=False):
        if len(set(parts)) > 1:
            break
        count += 1
    return count


@dataclass(frozen=True)
class Spread:
    """Milliseconds."""

    low: float
    middle: float
    high: float


def spread(values: Sequence[float]) -> Spread | None:
    return Spread(min(values), median(values), max(values)) if len(values) > 1 else None
