"""The recorder: one thread per process writes the log of all live runs, one transaction a tick.

`add` only appends to memory. A tick inserts the new rows of the log, folds the runs that have
ended, commits, and then publishes: nothing is shown live that the database does not hold. If a
tick fails on its data it is repeated run by run, and only the guilty run ends as failed; if the
database is away, everything stays in memory and the tick is tried again.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable

from django.db import InterfaceError, OperationalError, connection

from playground import metrics
from playground.completion import StreamEvent
from playground.hub import Item
from playground.lines import Line
from playground.log import Ending
from playground.models import Process, Run
from playground.writer import Writer

logger = logging.getLogger(__name__)

TICK = 0.04  # seconds; text should flow, not hop
PER_RUN = 0.00145  # seconds that each live run adds from some thirty on: a tick costs by the run
AHEAD = 0.005  # seconds by which a tick may come early: the pulse that calls it is not exact
BEAT = 1.0  # seconds between two looks after the process itself
LONGEST_BACK_OFF = 5.0  # seconds between two tries while the database is away
AWAY = (
    "Not saved yet: the database cannot be written. What arrives is kept in memory, and shown here "
    "once it is saved."
)
MOST_ENDINGS = 20  # runs that are folded in one transaction: streams go on meanwhile
FULL = 32 * 1024 * 1024  # characters in memory from which the runs stop reading


class Recorder:
    """`published` gets the items of each committed tick, `beat` is called once a second, `lost`
    gets runs that someone else has closed; all three in the recorder's thread."""

    def __init__(
        self,
        process: Process,
        published: Callable[[list[Item]], None],
        beat: Callable[[], None],
        lost: Callable[[set[int]], None],
    ) -> None:
        self._writer = Writer(process)
        self._published = published
        self._beat = beat
        self._lost = lost
        self._lines: dict[int, Line] = {}
        self._dirty: set[int] = set()
        self._again: list[Line] = []  # of a tick that may or may not have been committed
        self._urgent = False
        self._closing = False
        self._give_up_at = 0.0
        self._wake = threading.Condition()
        self._backlog = 0  # characters taken by `add` and not yet committed
        self.trouble = ""  # what the page says while nothing can be saved
        self.last_tick = 0.0  # seconds that the last tick worked, its waiting left out
        self.last_beat = time.monotonic()  # when the database last took a heartbeat
        self._thread = threading.Thread(target=self._work, name="recorder", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def open(self, run: Run) -> None:
        with self._wake:
            # One that is ending already keeps its line: its last words are not written yet.
            self._lines.setdefault(run.pk, Line(run.pk, run.comparison_id))

    def add(self, run: int, events: Iterable[StreamEvent]) -> None:
        """The first events of a run are written at once, later ones with the next `look`."""
        with self._wake:
            line = self._lines.get(run)
            if line is None:  # lost: someone else has closed it
                return
            first = line.seq == 0 and not line.batch
            self._backlog += line.add(events)
            if not line.batch:  # half a character alone: nothing to write yet
                return
            self._dirty.add(run)
            if first:
                self._urgent = True
                self._wake.notify()

    def look(self) -> None:
        """All that is there for now has been added."""
        with self._wake:
            if self._dirty:
                self._wake.notify()

    def period(self) -> float:
        """Seconds between two ticks: under load they come more seldom. A tick that waited for the
        disk or for another writer is no load: text that is late would come later still."""
        return max(TICK, min(PER_RUN * len(self._lines), 2.5 * TICK), 3 * self.last_tick)

    def is_crowded(self) -> bool:
        """Whether so many runs are live that ticks come more seldom for it."""
        return PER_RUN * len(self._lines) > TICK

    def finish(self, run: int, ending: Ending) -> None:
        with self._wake:
            line = self._lines.get(run)
            if line is None or line.ending:
                return
            line.end(ending)
            self._dirty.add(run)
            self._wake.notify()

    def committed(self, run: int) -> int | None:
        """The last row of the log of a live run of this process; None for any other run."""
        line = self._lines.get(run)
        return line.seq if line else None

    @property
    def backlog(self) -> int:
        """Characters in memory that are not committed."""
        return self._backlog

    @property
    def full(self) -> bool:
        return self._backlog > FULL

    def close(self, timeout: float = 10) -> None:
        """Write what is there and end the thread."""
        with self._wake:
            self._closing = True
            self._give_up_at = time.monotonic() + timeout
            self._wake.notify()
        self._thread.join(timeout + 1)

    def _work(self) -> None:
        next_tick = next_beat = 0.0
        back_off = TICK
        try:
            while self._wait(next_tick, next_beat):
                began, worked = time.monotonic(), time.thread_time()
                try:
                    if self._tick():
                        metrics.TICK.observe(time.monotonic() - began)
                    if began >= next_beat:
                        self._beat()
                        self.last_beat = time.monotonic()
                        next_beat = began + BEAT
                    self.trouble, back_off = "", TICK
                    self.last_tick = time.thread_time() - worked
                    next_tick = began + self.period() - AHEAD
                except (OperationalError, InterfaceError) as error:
                    if not self.trouble:
                        logger.error("The database cannot be written: %s", error)
                    self.trouble = AWAY
                    connection.close()
                    back_off = min(2 * back_off, LONGEST_BACK_OFF)
                    next_tick = next_beat = time.monotonic() + back_off
                    if self._closing:  # the database may be back in a moment
                        if time.monotonic() > self._give_up_at:
                            return
                        time.sleep(min(back_off, 0.5))
                except Exception:
                    # Without this thread nothing would be saved any more.
                    logger.exception("The recorder failed in a way that nobody foresaw")
                    next_beat = time.monotonic() + BEAT
        finally:
            connection.close()

    def _wait(self, next_tick: float, next_beat: float) -> bool:
        """Sleep until there is something to do; False when everything is written and it is over."""
        with self._wake:
            while True:
                now = time.monotonic()
                waiting = bool(self._dirty or self._again)
                if self._closing:
                    return waiting
                if waiting and (now >= next_tick or (self._urgent and not self.trouble)):
                    return True
                if now >= next_beat:
                    return True
                self._wake.wait((min(next_tick, next_beat) if waiting else next_beat) - now)

    def _take(self) -> list[Line]:
        """The lines with something new. Their batches are swapped for empty ones."""
        with self._wake:
            self._urgent = False
            taken = []
            later = set()
            endings = 0
            for run in self._dirty:
                line = self._lines[run]
                endings += line.ending is not None
                ending = line.ending
                if ending and endings > MOST_ENDINGS:
                    later.add(run)  # its text is written now, its end with the next tick
                    if not line.batch:
                        continue
                    ending = None
                taken.append(line.taken(ending))
            self._dirty = later
            return taken

    def _tick(self) -> bool:
        """Whether there was anything to write."""
        again = bool(self._again)
        taken = self._again or self._take()
        if not taken:
            return False
        try:
            items = self._writer.write(taken, again)
        except (OperationalError, InterfaceError):
            self._again = taken
            raise
        except Exception:
            logger.exception("A tick cannot be stored; it is repeated run by run")
            items = self._one_by_one(taken, again)
        self._again = []
        self._settle(taken, items)
        if items:
            self._published(items)
        return True

    def _one_by_one(self, taken: list[Line], again: bool) -> list[Item]:
        items: list[Item] = []
        for position, line in enumerate(taken):
            try:
                items += self._writer.write_alone(line, again)
            except (OperationalError, InterfaceError):
                self._again = taken[position:]
                self._settle(taken[:position], items)
                self._published(items)
                raise
        return items

    def _settle(self, taken: Iterable[Line], items: Iterable[Item]) -> None:
        """After the commit: positions move on, ended and lost runs are forgotten."""
        last = {item.run: item for item in items}
        lost = set()
        with self._wake:
            for old in taken:
                self._backlog -= old.batch.size
                item = last.get(old.run)
                if item is not None and not item.finished:
                    self._lines[old.run].seq = item.seq
                    continue
                line = self._lines.pop(old.run)
                self._dirty.discard(old.run)
                if line.ending is None:
                    lost.add(old.run)
        if lost:
            self._lost(lost)
