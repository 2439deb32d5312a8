"""What is counted of runs, and how counts are put together. Knows no database.

Latencies are counted by value: of runs read one by one that is the value itself, of a roll-up the
middle of a bin. Bins grow by 2 %, so that a percentile is off by 1 % at most.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import NamedTuple

from playground.completion import RunStatus

GROWTH = math.log(1.02)  # of a bin against the one before
SHORTEST_MS = 0.01  # what is quicker is counted as this
UNITS = 10**10  # of a dollar: sums are of whole numbers, and so exact in every order
FAILED = (RunStatus.FAILED, RunStatus.INTERRUPTED)
ENDS = (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.INTERRUPTED)


def bin_of(ms: float) -> int:
    return round(math.log(max(ms, SHORTEST_MS)) / GROWTH)


@cache
def middle(number: int) -> float:
    """In ms, of a bin."""
    return math.exp(number * GROWTH)


def near(ms: float | None) -> float | None:
    return None if ms is None else middle(bin_of(ms))


def pack(bins: Counter[int]) -> str:
    """`12 15*3`: texts of several rows joined by a blank are again such a text."""
    return " ".join(
        str(each) if count == 1 else f"{each}*{count}" for each, count in sorted(bins.items())
    )


def _parsed(text: str) -> Iterator[tuple[int, int]]:
    """(bin, count), a bin perhaps several times."""
    for part, times in Counter(text.split()).items():
        number, _, count = part.partition("*")
        yield int(number), int(count) * times if count else times


def repack(text: str) -> str:
    """The same, shorter: each bin once."""
    found: Counter[int] = Counter()
    for number, count in _parsed(text):
        found[number] += count
    return pack(found)


def percentile(values: Counter[float], share: float) -> float | None:
    """Of all values, each as often as it is counted; between two values in proportion."""
    total = values.total()
    if not total:
        return None
    place = share * (total - 1)
    low, part = int(place), place - int(place)
    seen, below = 0, None
    for value in sorted(values):
        seen += values[value]
        if below is None and seen > low:
            below = value
        if below is not None and (part == 0 or seen > low + 1):
            return below + (value - below) * part
    return below


class Came(NamedTuple):
    """What one run came to; None is what it does not say."""

    status: str
    tokens_in: int | None
    tokens_out: int | None
    cost: Decimal | None  # US dollars
    first_ms: float | None
    total_ms: float | None

    @property
    def whole_ms(self) -> float | None:
        """To the end of a whole answer. What failed or was stopped has come to none, and how soon
        it ended says nothing of the backend's speed; a first token is one in any run."""
        return self.total_ms if self.status == RunStatus.COMPLETED else None


class Latencies:
    """How often each was, in ms.

    Those of the roll-up stay the text that they are kept as, until someone asks: most are only
    added to others.
    """

    __slots__ = ("_counts", "_texts")

    def __init__(self, text: str = "") -> None:
        self._counts: Counter[float] = Counter()
        self._texts = [text] if text else []

    def count(self, ms: float) -> None:
        self._counts[ms] += 1

    def add(self, other: "Latencies") -> None:
        if other._counts:
            self._counts.update(other._counts)
        self._texts += other._texts

    def counted(self) -> Counter[float]:
        if self._texts:
            for number, count in _parsed(" ".join(self._texts)):
                self._counts[middle(number)] += count
            self._texts = []
        return self._counts


@dataclass
class Figures:
    """Of some runs. Tokens and cost only of the runs that say them."""

    runs: int = 0
    ends: Counter[str] = field(default_factory=Counter)  # {status: runs}
    tokens_in: int = 0
    tokens_out: int = 0
    cost_units: int = 0
    priced: int = 0  # runs whose cost is known
    first: Latencies = field(default_factory=Latencies)  # to the first token
    total: Latencies = field(default_factory=Latencies)  # of whole answers

    def count(self, run: Came) -> None:
        """One run more."""
        self.runs += 1
        self.ends[run.status] += 1
        self.tokens_in += run.tokens_in or 0
        self.tokens_out += run.tokens_out or 0
        if run.cost is not None:
            self.priced += 1
            self.cost_units += int(run.cost * UNITS)
        if run.first_ms is not None:
            self.first.count(run.first_ms)
        if (whole := run.whole_ms) is not None:
            self.total.count(whole)

    def add(self, other: "Figures") -> None:
        self.runs += other.runs
        self.ends.update(other.ends)
        self.tokens_in += other.tokens_in
        self.tokens_out += other.tokens_out
        self.cost_units += other.cost_units
        self.priced += other.priced
        self.first.add(other.first)
        self.total.add(other.total)

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out

    @property
    def cost(self) -> Decimal | None:
        """US dollars; None where no run says what it cost."""
        return Decimal(self.cost_units) / UNITS if self.priced else None

    @property
    def failed(self) -> int:
        return sum(self.ends[status] for status in FAILED)

    @property
    def ended(self) -> int:
        return sum(self.ends[status] for status in ENDS)

    @property
    def failure_rate(self) -> float | None:
        """0 to 1, of the runs that have ended."""
        return self.failed / self.ended if self.ended else None

    def first_at(self, share: float) -> float | None:
        return percentile(self.first.counted(), share)

    def total_at(self, share: float) -> float | None:
        return percentile(self.total.counted(), share)


def together(figures: Iterable[Figures]) -> Figures:
    found = Figures()
    for each in figures:
        found.add(each)
    return found


def nice_ticks(most: float, count: int = 4, whole: bool = False) -> Sequence[float]:
    """From 0 to at least `most` in equal steps of 1, 2, 2.5 or 5 times a power of ten.

    `whole`: of what there are no halves of.
    """
    if most <= 0:
        return [0.0, 1.0]
    rough = most / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in (1, 2, 2.5, 5, 10) if s * power >= rough * (1 - 1e-9))
    if whole:
        step = math.ceil(step)
    return [step * number for number in range(math.ceil(most / step - 1e-9) + 1)]
