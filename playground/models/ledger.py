"""What limits count at one moment, and how much of them is left.

`runs` is always the plain queryset of runs: a limit counts what nobody may see, too.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import Any

from django.conf import settings
from django.db.models import Count, Sum
from django.utils import timezone

from playground.completion import RunStatus
from playground.models.limits import MINUTE, UNITS, Kind, Limit, Meter, Who, counted_before
from playground.models.live import LIVE, IsLive

NEAR = 0.8  # of a limit, from which it is marked
WHOSE = ("connection_id", "team_id", "author_id")


class Ledger:
    """Figures of one moment; each is read once."""

    def __init__(self, runs: Any, now: datetime) -> None:
        self._runs = runs.order_by()
        self.now = now
        self._spent: dict[tuple[int, int, date], int] = {}

    @cached_property
    def _running(self) -> list[tuple[Who, int]]:
        rows = self._runs.filter(IsLive(), status=RunStatus.RUNNING).values_list(*WHOSE)
        return [(Who(*row[:3]), row[3]) for row in rows.annotate(n=Count("pk"))]

    @cached_property
    def _started(self) -> list[tuple[Who, int]]:
        """In the last minute. Later than now is a clock that was set back; it counts a minute."""
        window = self._runs.filter(
            started_at__gt=self.now - MINUTE, started_at__lt=self.now + MINUTE
        )
        rows = window.values_list(*WHOSE).annotate(n=Count("pk"))
        return [(Who(*row[:3]), row[3]) for row in rows]

    @cached_property
    def _live(self) -> list[tuple[Who, str, datetime, int, int]]:
        rows = self._runs.filter(IsLive()).values_list(*WHOSE, "status", "created_at")
        sums = rows.annotate(tokens=Sum("counted_tokens"), money=Sum("counted_money"))
        # A status at a time, as the index has them.
        return [(Who(*row[:3]), *row[3:]) for status in LIVE for row in sums.filter(status=status)]

    def by_connection(self) -> dict[int | None, int]:
        """Running requests of each."""
        found: dict[int | None, int] = {}
        for who, n in self._running:
            found[who.connection] = found.get(who.connection, 0) + n
        return found

    def requests(self, limit: Limit, subject: int) -> int:
        """Of the last minute, or running now."""
        rows = self._running if limit.kind == Kind.PARALLEL else self._started
        return sum(n for who, n in rows if limit.covers(who) and limit.subject(who) == subject)

    def reserved(
        self, limit: Limit, subject: int, period: date, statuses: Sequence[str] = LIVE
    ) -> int:
        """By runs that have not ended."""
        return sum(
            int(money if limit.is_money else tokens)
            for who, status, created_at, tokens, money in self._live
            if status in statuses
            and limit.covers(who)
            and limit.subject(who) == subject
            and limit.period(created_at) == period
        )

    def spent(self, limit: Limit, subject: int, period: date) -> int:
        key = (limit.pk, subject, period)
        if key not in self._spent:
            # Live runs first, then the meter: one that ends in between is counted twice, not never.
            _ = self._live
            self._spent[key] = Meter.objects.reading(limit, subject, period, self._runs)
        return self._spent[key]

    def peek(self, limit: Limit, subject: int, period: date) -> int:
        """What ended runs have used, for a page: nothing is written."""
        meter = Meter.objects.filter(limit=limit, subject=subject, period=period).first()
        return meter.spent if meter else counted_before(limit, subject, period, self._runs)


@dataclass(frozen=True)
class Standing:
    """How far a limit is used: ended and running runs together."""

    limit: Limit
    used: int
    subject: int = 0
    period: date | None = None

    @property
    def left(self) -> int:
        return max(0, self.limit.most - self.used)

    @property
    def share(self) -> float:
        """Of the limit, 0 to 1 and above."""
        return self.used / self.limit.most if self.limit.most else 1.0

    @property
    def text(self) -> str:
        left, most = self.limit.text(self._left_down), self.limit.text(self.limit.most)
        kind = self.limit.kind
        when = "this month" if kind in (Kind.TOKENS_MONTH, Kind.MONEY_MONTH) else "today"
        if kind == Kind.RATE:
            return f"{left} of {most} requests left this minute"
        if kind == Kind.PARALLEL:
            return f"{left} of {most} parallel requests free"
        return f"{left} of {most}{'' if self.limit.is_money else ' tokens'} left {when}"

    @property
    def _left_down(self) -> int:
        """Whole cents, where there is a cent: never more than is left."""
        cent = UNITS // 100
        return (
            self.left - self.left % cent if self.limit.is_money and self.left > cent else self.left
        )

    @property
    def renewal(self) -> str:
        return renewal(self.limit, self.period) if self.period else ""


def standing(ledger: Ledger, limit: Limit, subject: int = 0) -> Standing:
    """Reads only: a meter that nobody has opened is counted and not kept."""
    if not limit.is_budget:
        return Standing(limit, ledger.requests(limit, subject), subject)
    period = limit.period(ledger.now)
    used = ledger.reserved(limit, subject, period) + ledger.peek(limit, subject, period)
    return Standing(limit, used, subject, period)


def standings(runs: Any, whose: Iterable[Who]) -> list[Standing]:
    """Of every limit over these, the tightest first."""
    ledger = Ledger(runs, timezone.now())
    whose = list(whose)
    keys = {
        (limit, limit.subject(who))
        for limit in Limit.objects.covering(whose)
        for who in whose
        if limit.covers(who)
    }
    found = [standing(ledger, limit, subject) for limit, subject in keys]
    return sorted(found, key=lambda each: (-each.share, each.limit.pk))


def renewal(limit: Limit, period: date) -> str:
    """`on 30 November at 00:00 UTC`"""
    day = limit.renews(period)
    return f"on {day.day} {day:%B} at 00:00 {settings.TIME_ZONE}"
