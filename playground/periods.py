"""The time that statistics are of, in whole days; what it is held against; how it is cut.

Days are those of the reader: the caller says what today is, and where a day begins.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

DAY = timedelta(days=1)
MOST_DAYS = 95  # in a plot; what is longer is cut into weeks, then into months
MOST_WEEKS = 60
NAMES = {
    "7d": "7 days",
    "30d": "30 days",
    "90d": "90 days",
    "month": "This month",
    "last-month": "Last month",
    "year": "12 months",
    "all": "All",
}


@dataclass(frozen=True)
class Period:
    """From the start of `first` to the end of `last`."""

    first: date
    last: date
    name: str = ""  # of NAMES; "" for days that were typed

    @property
    def days(self) -> int:
        return (self.last - self.first).days + 1

    @property
    def end(self) -> date:
        """The day after."""
        return self.last + DAY

    @property
    def before(self) -> "Period | None":
        """As long, right before; of a month as many days of the month before, or all of them."""
        if self.name == "all":
            return None
        if self.name in ("month", "last-month"):
            last_of_before = self.first - DAY
            first = last_of_before.replace(day=1)
            if self.name == "last-month":
                return Period(first, last_of_before)
            return Period(first, min(last_of_before, first + (self.last - self.first)))
        if self.name == "year":
            return Period(year_before(self.first), year_before(self.end) - DAY)
        return Period(self.first - timedelta(days=self.days), self.first - DAY)

    @property
    def unit(self) -> str:
        """What one point of a plot is: a day, week or month."""
        if self.days <= MOST_DAYS:
            return "day"
        return "week" if self.days <= 7 * MOST_WEEKS else "month"

    def each_day(self) -> Iterator[date]:
        for number in range(self.days):
            yield self.first + timedelta(days=number)

    def steps(self) -> list[date]:
        """The first day of each point of a plot; the first one may be a part of its week."""
        return list(dict.fromkeys(self.step_of(day) for day in self.each_day()))

    def step_of(self, day: date) -> date:
        if self.unit == "day":
            return day
        start = day - timedelta(days=day.weekday()) if self.unit == "week" else day.replace(day=1)
        return max(start, self.first)


def year_before(day: date) -> date:
    try:
        return day.replace(year=day.year - 1)
    except ValueError:  # the 29th of February
        return day.replace(year=day.year - 1, day=28)


def named(name: str, today: date, oldest: date | None = None) -> Period:
    """One of NAMES; `oldest` is the day of the first run, for `all`."""
    first = today.replace(day=1)
    if name == "month":
        return Period(first, today, name)
    if name == "last-month":
        last = first - DAY
        return Period(last.replace(day=1), last, name)
    if name == "year":
        return Period(year_before(today) + DAY, today, name)
    if name == "all":
        return Period(min(oldest or today, today), today, name)
    return Period(today - timedelta(days=int(name[:-1]) - 1), today, name)


def spoken(period: Period) -> str:
    """`1 to 29 November 2026`, `29 October to 3 November 2026`, `3 November 2026`."""
    first, last = period.first, period.last
    end = f"{last.day} {last:%B} {last.year}"
    if first == last:
        return end
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day} to {end}"
    year = f" {first.year}" if first.year != last.year else ""
    return f"{first.day} {first:%B}{year} to {end}"
