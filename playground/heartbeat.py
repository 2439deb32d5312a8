"""What a process does once a second, whether anything runs or not: show that it lives, see who
wants a run stopped, look after the other processes and after those who may no longer be here."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from playground.attendance import Attendance
from playground.background import Background
from playground.completion import RunStatus
from playground.database import in_thread, keep_or_close
from playground.hub import hub
from playground.log import Ending
from playground.models import Process, Run, SearchText, access
from playground.models.plain import waiting_and_stopping
from playground.reaper import Reaper

logger = logging.getLogger(__name__)

REAP_BEATS = 2  # between two looks for processes that are gone
INDEX_BEATS = 10  # between two looks for runs that are not in the search index
PAUSE = 0.1  # seconds between two batches of them
STOPPED = Ending(RunStatus.CANCELLED)
SHOWN_OUT = Ending(
    RunStatus.CANCELLED, error_message="Stopped: its author may not start runs here any more."
)


class Heartbeat:
    """`beat` is called in the recorder's thread; all else happens in the loop of `background`.

    `fill` asks for queued runs to be started, `close` ends runs whether they wait or run.
    """

    def __init__(
        self,
        process: Process,
        background: Background,
        fill: Callable[[], None],
        close: Callable[[Sequence[Run], Ending], Coroutine[Any, Any, None]],
    ) -> None:
        self._process = process
        self._background = background
        self._fill = fill
        self._close = close
        self._reaper = Reaper(process)
        self._attendance = Attendance(process, self._show_out)
        self._beats = 0
        self._indexing = self._over = False
        self.queued = 0  # runs of this process that wait, at the last beat

    async def start(self) -> None:
        """Close what a crash left behind."""
        hub.publish(await in_thread(self._reaper.reap))
        access.changed.connect(self.look_around, dispatch_uid="runner")

    def stop(self) -> None:
        """The process ends: no more work beside the runs."""
        self._over = True

    def beat(self) -> None:
        keep_or_close()
        self._process.beat()
        self.queued, wishes = waiting_and_stopping(self._process)
        if wishes:
            own = Run.objects.live_of(self._process)
            for run in own.exclude(cancel_requested_at=None).only("pk", "comparison_id"):
                self._background.call(self._soon, self._close, [run], STOPPED)
        if self.queued:
            self._background.call(self._fill)
        if self._beats % REAP_BEATS == 0 and (items := self._reaper.reap()):
            self._background.call(hub.publish, items)
        self.look_around()
        if self._beats % INDEX_BEATS == 0:
            self._background.call(self._soon, self._index_rest)
        self._beats += 1

    def look_around(self, *_: object, **__: object) -> None:
        """Also called in the thread that has just changed what somebody may do."""
        self._background.call(self._soon, self._look)

    def _soon(self, work: Callable[..., Coroutine[Any, Any, None]], *args: Any) -> None:
        self._background.start(work(*args))

    async def _show_out(self, runs: Sequence[Run]) -> None:
        await self._close(runs, SHOWN_OUT)

    async def _look(self) -> None:
        if self._over:
            return
        try:
            await self._attendance.look()
        except Exception:
            logger.exception("Nobody looked whether those who are here still may be")

    async def _index_rest(self) -> None:
        """Runs that ended without being indexed: after a crash, a stop in the queue, an import."""
        if self._indexing:
            return
        self._indexing = True
        try:
            while await in_thread(SearchText.objects.write_rest) and not self._over:
                await asyncio.sleep(PAUSE)
        except Exception:
            logger.exception("The search index is not complete")
        finally:
            self._indexing = False
