"""Whose turn it is to write, within this process.

SQLite has one writer. Who waits for it asks again and again, in the end ten times a second only,
and may come too late each time; the recorder of live runs would fall behind a busy bulk job.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

SHORT = 0.02  # seconds that a transaction of background work should take

_turn = threading.Lock()


class Pace:
    """How many rows one transaction of a long work takes: as many as it can in `SHORT`."""

    def __init__(self, most: int, least: int = 5) -> None:
        self.most, self.least = most, least
        self.size = min(most, max(least, most // 4))

    def took(self, seconds: float) -> None:
        share = min(2.0, SHORT / max(seconds, SHORT / 2))
        self.size = max(self.least, min(self.most, int(self.size * share)))


@contextmanager
def writing(pace: Pace | None = None, *, behind: bool = False) -> Iterator[None]:
    """`transaction.atomic()`; on SQLite one after the other, without asking.

    Whoever works on many rows reads them before, so that nobody waits for the disk behind them.
    `behind` (always with a pace): after a crash of the database this work is done again. So its
    commit does not wait for PostgreSQL's disk, which can take 0.3 s; SQLite's never does.
    """
    # Inside a transaction nobody may wait for it: whoever has it may wait for that transaction.
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        with _measured(pace), transaction.atomic():
            if (behind or pace) and connection.vendor == "postgresql":
                with connection.cursor() as cursor:
                    cursor.execute("SET LOCAL synchronous_commit TO off")
            yield
        return
    with _turn, _measured(pace), transaction.atomic():
        yield


@contextmanager
def writers_held() -> Iterator[None]:
    """Nobody begins to write in this process."""
    with _turn:
        yield


@contextmanager
def _measured(pace: Pace | None) -> Iterator[None]:
    began = time.monotonic()
    yield
    if pace:
        pace.took(time.monotonic() - began)
