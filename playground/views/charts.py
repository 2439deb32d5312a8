"""Plots as numbers for SVG attributes: a plane of 100 × 100, in which y goes down.

A series is told by its dash or the texture of its bar and by its mark, not by its colour alone.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from playground.figures import Figures, nice_ticks
from playground.models.statistics import Where
from playground.periods import Period

MOST_SERIES = 4
MOST_LABELS = 7  # below a plot
MOST_HITS = 35  # steps that say their values to the pointer
GAP = 0.7  # between two parts of a bar
OTHERS = Where("others", "other")
LOOKS = ("local", "ogx", "pulze", "octo")


@dataclass(frozen=True)
class Series:
    where: Where
    look: str  # a class of the stylesheet: colour, dash, texture
    points: Mapping[date, Figures]  # by first day of a step


def series_of(days: Mapping[tuple[date, Where], Figures], period: Period) -> list[Series]:
    """The connections with the most runs; the rest is one more."""
    runs: dict[Where, int] = {}
    for (_, where), figures in days.items():
        runs[where] = runs.get(where, 0) + figures.runs
    order = sorted(runs, key=lambda where: (-runs[where], where))
    shown = order if len(order) <= MOST_SERIES else order[: MOST_SERIES - 1]
    points: dict[Where, dict[date, Figures]] = {}
    for (day, where), figures in days.items():
        own = points.setdefault(where if where in shown else OTHERS, {})
        own.setdefault(period.step_of(day), Figures()).add(figures)
    looks = looks_of(shown)
    if OTHERS in points:
        shown, looks = [*shown, OTHERS], {**looks, OTHERS: "other"}
    return [Series(where, looks[where], points[where]) for where in shown]


def looks_of(shown: Sequence[Where]) -> dict[Where, str]:
    """Each its own; a provider has its usual one where it is free."""
    free = list(LOOKS)
    found = {}
    for where in shown:
        usual = where.provider.removesuffix("ai")
        if usual in free:
            free.remove(usual)
            found[where] = usual
    for where in shown:
        if where not in found:
            found[where] = free.pop(0)
    return found


@dataclass
class Line:
    series: Series
    path: str = ""
    dots: str = ""
    texts: list[str] = field(default_factory=list)  # of each step; "" where nothing is


@dataclass
class Chart:
    name: str
    title: str
    said: str
    kind: str  # bars or lines
    lines: list[Line]
    ticks: list[str]  # from the top
    grid: list[str]  # y of each
    labels: list[str]  # below each step; most are ""
    steps: list[str]  # as they are called
    width: str  # of a bar, in pixels
    alt: str

    @property
    def rows(self) -> list[tuple[str, list[str]]]:
        """The table beside it, the newest first."""
        rows = [
            (step, [line.texts[number] for line in self.lines])
            for number, step in enumerate(self.steps)
        ]
        return [row for row in reversed(rows) if any(row[1])]

    @property
    def hits(self) -> list[dict[str, str]]:
        """For the pointer: (left edge, width, what to say) of each step with something.

        None where they would be narrower than a pointer can tell, and heavy: the table says it.
        """
        if len(self.steps) > MOST_HITS:
            return []
        size = 100 / len(self.steps)
        return [
            {
                "x": f"{number * size:.4g}",
                "width": f"{size:.4g}",
                "said": f"{step}: "
                + ", ".join(
                    f"{line.series.where.name} {line.texts[number]}"
                    for line in self.lines
                    if line.texts[number]
                ),
            }
            for number, step in enumerate(self.steps)
            if any(line.texts[number] for line in self.lines)
        ]


Value = Callable[[Figures], float | None]


def chart(
    name: str,
    title: str,
    kind: str,
    series: Sequence[Series],
    period: Period,
    value: Value,
    said: Callable[[float], str],
    subtitle: str,
) -> Chart | None:
    """None where no run has the value."""
    steps = period.steps()
    values = [[_value(each, step, value) for step in steps] for each in series]
    kept = [(s, own) for s, own in zip(series, values, strict=True) if any(own)]
    if not kept:
        return None
    if kind == "bars":
        heights = [sum(own[n] or 0 for _, own in kept) for n in range(len(steps))]
    else:
        heights = [point for _, own in kept for point in own if point is not None]
    whole = all(isinstance(height, int) for height in heights)
    ticks = list(nice_ticks(max(heights), whole=whole))
    lines = [Line(each, texts=[_said(v, said) for v in own]) for each, own in kept]
    draw = _bars if kind == "bars" else _curves
    draw(lines, [own for _, own in kept], ticks[-1])
    most = max(heights)
    return Chart(
        name,
        title,
        subtitle,
        kind,
        lines,
        ticks=[said(tick) for tick in reversed(ticks)],
        grid=[f"{100 * n / (len(ticks) - 1):.4g}" for n in range(len(ticks))],
        labels=labels_of(steps),
        steps=[step_name(step, period) for step in steps],
        width=next(str(width) for most, width in WIDTHS if len(steps) <= most),
        alt=f"{title} by {period.unit}, at most {said(most)}; the table below says all values.",
    )


WIDTHS = ((8, 22), (16, 14), (32, 8), (64, 4), (1000, 3))  # (steps at most, pixels)


def _value(series: Series, step: date, value: Value) -> float | None:
    figures = series.points.get(step)
    return value(figures) if figures else None


def _said(value: float | None, said: Callable[[float], str]) -> str:
    return said(value) if value is not None else ""


def _x(number: int, count: int) -> float:
    return (number + 0.5) / count * 100


def _bars(lines: Sequence[Line], values: Sequence[Sequence[float | None]], top: float) -> None:
    count = len(values[0])
    below = [100.0] * count
    for line, own in zip(lines, values, strict=True):
        parts = []
        for number, value in enumerate(own):
            if not value:
                continue
            end = below[number] - 100 * value / top
            start = below[number] - (GAP if below[number] < 100 else 0)
            parts.append(f"M{_x(number, count):.4g} {max(start, end):.4g}V{end:.4g}")
            below[number] = end
        line.path = "".join(parts)


def _curves(lines: Sequence[Line], values: Sequence[Sequence[float | None]], top: float) -> None:
    """A gap where a step has no value; a dot where a point stands alone, and at the end."""
    count = len(values[0])
    for line, own in zip(lines, values, strict=True):
        path, dots = [], []
        for number, value in enumerate(own):
            if value is None:
                continue
            place = f"{_x(number, count):.4g} {100 - 100 * value / top:.4g}"
            joined = number > 0 and own[number - 1] is not None
            ends = number + 1 == count or own[number + 1] is None
            path.append(f"{'L' if joined else 'M'}{place}")
            if ends:
                dots.append(f"M{place}h0")
        line.path, line.dots = "".join(path), "".join(dots)


def labels_of(steps: Sequence[date]) -> list[str]:
    every = math.ceil(len(steps) / MOST_LABELS)
    found, month = [], 0
    for number, step in enumerate(steps):
        if number % every:
            found.append("")
            continue
        found.append(f"{step.day} {step:%b}" if step.month != month else str(step.day))
        month = step.month
    return found


def step_name(step: date, period: Period) -> str:
    if period.unit == "month":
        return f"{step:%B %Y}"
    text = f"{step:%a} {step.day} {step:%b}"
    return f"Week of {text}" if period.unit == "week" else text


def ranges(rows: Sequence[tuple[Any, Figures]], which: str) -> list[dict[str, Any]]:
    """Each with 5th percentile, median and 95th as places on a scale by powers of ten."""
    found = []
    for row, figures in rows:
        values = [getattr(figures, f"{which}_at")(share) for share in (0.05, 0.5, 0.95)]
        if values[1] is not None:
            low, middle, high = (f"{place(value):.1f}%" for value in values)
            found.append(
                {"row": row, "low": low, "middle": middle, "high": high, "ms": values[1],
                 "low_ms": values[0], "high_ms": values[2]}
            )  # fmt: skip
    return found


DECADES = ((10, "10 ms"), (100, "0.1 s"), (1_000, "1 s"), (10_000, "10 s"), (100_000, "100 s"))


def place(ms: float) -> float:
    """From 10 ms to 100 s; what is beyond stands at the end."""
    return min(100.0, max(0.0, (math.log10(max(ms, 1)) - 1) / 4 * 100))
