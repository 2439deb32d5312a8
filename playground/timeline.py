"""When the pieces of an answer came: a strip of bars to look at, with the first one and the stalls.

Times are milliseconds since the request was sent.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

WIDTH, HEIGHT = 300, 36  # of the drawing
TOP, LOWEST = 2, 30  # where the highest and the lowest bar begin
STALL_MS = 250.0  # a shorter pause is none
STALL_TIMES = 5  # and it is at least this many times the usual pause
TICKS = 6

Arrivals = Sequence[Sequence[float]]  # [[ms, characters]…]


@dataclass(frozen=True)
class Strip:
    """A drawing `WIDTH` × `HEIGHT`: `bars` and `first` are path data, `stalls` (x, width)."""

    chunks: int
    first_ms: float | None
    last_ms: float
    first: str
    bars: str
    stalls: list[tuple[str, str]]
    stalled_ms: float


def merged(timelines: Iterable[Arrivals]) -> list[tuple[float, int]]:
    """All choices of one answer as one, in order of time."""
    return sorted((float(ms), int(count)) for each in timelines for ms, count in each)


def pace(arrivals: Sequence[tuple[float, int]]) -> float | None:
    """Pieces a second after the first one; None where it cannot be told."""
    seconds = (arrivals[-1][0] - arrivals[0][0]) / 1000 if arrivals else 0.0
    return (len(arrivals) - 1) / seconds if seconds > 0.001 else None


def stalls(arrivals: Sequence[tuple[float, int]]) -> list[tuple[float, float]]:
    """(from, to) of pauses between two pieces that are long, also beside the usual ones."""
    times = [ms for ms, _ in arrivals]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    if not gaps:
        return []
    least = max(STALL_MS, STALL_TIMES * median(gaps))
    return [
        (earlier, later) for earlier, later in itertools.pairwise(times) if later - earlier > least
    ]


def strip(arrivals: Sequence[tuple[float, int]], span: float) -> Strip:
    """Drawn so that `span` milliseconds fill the width; at most one bar for each unit of it."""
    scale = WIDTH / span if span > 0.001 else 0.0  # a span of nothing has no width
    columns: dict[int, int] = {}
    for ms, count in arrivals[1:]:
        at = min(WIDTH, round(ms * scale))
        columns[at] = columns.get(at, 0) + count
    highest = max(columns.values(), default=1)
    found = stalls(arrivals)
    return Strip(
        chunks=len(arrivals),
        first_ms=arrivals[0][0] if arrivals else None,
        last_ms=arrivals[-1][0] if arrivals else 0.0,
        first=f"M{min(WIDTH, round(arrivals[0][0] * scale))} {HEIGHT}V{TOP}" if arrivals else "",
        bars="".join(
            f"M{at} {HEIGHT}V{_top(count, highest)}" for at, count in sorted(columns.items())
        ),
        stalls=[(f"{a * scale:.1f}", f"{(b - a) * scale:.1f}") for a, b in found],
        stalled_ms=sum(b - a for a, b in found),
    )


def _top(count: int, highest: int) -> int:
    """By the root: one long piece does not flatten all others."""
    return round(LOWEST - (LOWEST - TOP - 4) * math.sqrt(count / max(highest, 1)))


def ticks(span: float) -> list[tuple[str, str]]:
    """(x in percent, seconds) at round steps."""
    if span <= 0.001:
        return []
    rough = span / TICKS
    unit = 10 ** math.floor(math.log10(rough))
    step = next(unit * each for each in (1, 2, 5, 10) if unit * each >= rough)
    digits = max(0, 3 - math.floor(math.log10(step)))
    count = math.floor(span / step * (1 + 1e-9))
    return [
        (f"{100 * n * step / span:.2f}", f"{n * step / 1000:.{min(digits, 3)}f}" if n else "0")
        for n in range(count + 1)
    ]
