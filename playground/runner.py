"""The one service: starts runs, carries them out in this process's event loop, stops them.

A run is one task. It is never retried: a completion costs money. Queued runs are rows, not tasks.
"""

import asyncio
import contextvars
import functools
import logging
import time
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Any, NamedTuple

from django.conf import settings
from django.db import InterfaceError, OperationalError, close_old_connections
from django.db.models import F
from django.utils import timezone

from playground.aftermath import Aftermath
from playground.attendance import Attendance
from playground.axes import Place
from playground.completion import CompletionRequest, ErrorKind, RunStatus, StreamEvent
from playground.database import in_thread
from playground.hub import RESTARTING, Item, hub
from playground.log import Ending, never_sent
from playground.logs import present_run
from playground.models import (
    Comparison,
    Connection,
    Membership,
    Process,
    Run,
    SearchText,
    access,
    reruns,
)
from playground.providers import ProviderError, base
from playground.providers.base import BURST
from playground.pulse import Pulse
from playground.reaper import CUT_OFF, NOT_SENT, Reaper, this_process
from playground.recorder import TICK, Recorder
from playground.targets import events_of

logger = logging.getLogger(__name__)

INDEX_BEATS = 10  # heartbeats between two looks for runs that are not in the search index
PAUSE = 0.1  # seconds between two batches of them
SHOWN_OUT = Ending(
    RunStatus.CANCELLED, error_message="Stopped: its author may not start runs here any more."
)
LONGEST_OUTPUT = 20_000_000  # characters of one run that are kept


class Standing(NamedTuple):
    """How a runner is, for those who watch over the process."""

    bound: bool  # it has a loop and may take runs
    draining: bool
    running: int
    queued: int
    backlog: int  # characters that are not saved yet
    silence: float  # seconds since the database last took a heartbeat


class Draining(Exception):
    """The server is stopping and takes no new runs."""


class Runner:
    """One per process; bound to the event loop that first uses it."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._saved: set[int] = set()  # that have ended, while their tasks still work on them
        self._endings: dict[int, Ending] = {}  # why a task was cancelled
        self._background: set[asyncio.Task[None]] = set()
        self._filling = asyncio.Lock()
        self._draining = False
        self.queued = 0  # runs of this process that wait, a second ago

    # --- life ---

    async def bind(self) -> None:
        """Belong to the running loop: register the process, reap, start the recorder."""
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return
        self._loop = loop
        self._tasks, self._endings = {}, {}
        self._filling = asyncio.Lock()
        self._fill_called = False
        self._saved = set()
        self._aftermath = Aftermath()
        self._draining = self._indexing = False
        self._beats = 0
        self._bound = asyncio.Event()
        try:
            self._process: Process = await in_thread(this_process)
            self._reaper = Reaper(self._process)
            self._attendance = Attendance(self._process, self._show_out)
            self._recorder = Recorder(self._process, self._published, self._beat, self._lost)
            self._pulse = Pulse(self._recorder.period, self._recorder.look)
            hub.publish(await in_thread(self._reaper.reap))
            self._recorder.start()
            hub.relay.open()
            access.changed.connect(self._look_around, dispatch_uid="runner")
        except BaseException:
            self._loop = None  # the next one tries again
            raise
        finally:
            self._bound.set()

    async def _ready(self) -> None:
        await self.bind()
        await self._bound.wait()  # another task may be in the middle of `bind`

    async def drain(self, seconds: float) -> None:
        """Take no new runs, give the present ones time, interrupt the rest, save, hang up."""
        self._draining = True
        if self._loop is not asyncio.get_running_loop():
            return
        deadline = time.monotonic() + seconds
        while self._tasks and time.monotonic() < deadline:
            await asyncio.wait(self._tasks.values(), timeout=deadline - time.monotonic())
        with suppress(OperationalError, InterfaceError):  # else those who find us gone do it
            if not self.trouble:
                await self._interrupt_queued()
        for run in list(self._tasks):
            self._cancel(run, CUT_OFF)
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=5)
        await asyncio.to_thread(self._recorder.close)
        await asyncio.sleep(0)  # what the last tick published is delivered
        with suppress(OperationalError, InterfaceError):
            if not self.trouble:
                await in_thread(self._sign_off)
        await hub.hang_up(RESTARTING)
        await hub.relay.close()
        await base.close()

    async def has_company(self) -> bool:
        """Whether other servers are there for those who come."""
        if not settings.REDIS_URL or self._loop is None:
            return False
        others = Process.objects.filter(ended_at=None).exclude(pk=self._process.pk)
        return await in_thread(others.exists)

    def _sign_off(self) -> None:
        Process.objects.filter(pk=self._process.pk).update(ended_at=timezone.now())

    # --- what the pages ask for ---

    async def start(
        self,
        membership: Membership,
        columns: Sequence[tuple[Connection, CompletionRequest]],
        *,
        document: str = "",
        visibility: str = "team",
        places: Sequence[Place] = (),
        axes: Mapping[str, Any] | None = None,
    ) -> Comparison:
        """Save a comparison with queued runs and start as many as there is room for. OverLimit."""
        await self._ready()
        if self._draining:
            raise Draining
        comparison = await in_thread(
            Comparison.objects.begin,
            membership,
            columns,
            owner=self._process,
            document=document,
            visibility=visibility,
            places=places,
            axes=axes,
        )
        await self._fill()
        return comparison

    async def join(
        self,
        comparison: Comparison,
        membership: Membership,
        columns: Sequence[tuple[Connection, CompletionRequest]],
        places: Sequence[Place],
        *,
        document: str = "",
    ) -> list[Run]:
        """Save queued runs into a comparison that is there; the others of it stay as they are."""
        await self._ready()
        if self._draining:
            raise Draining
        made = await in_thread(
            reruns.join,
            comparison,
            membership,
            columns,
            places,
            owner=self._process,
            document=document,
        )
        await self._fill()
        return made

    async def stop(self, run: Run) -> None:
        """Stop a run, wherever it runs; harmless for one that has ended."""
        await self._ready()
        if not await in_thread(run.ask_to_stop):
            return
        if run.pk in self._tasks:
            self._cancel(run.pk, Ending(RunStatus.CANCELLED))
        elif run.owner_id == self._process.pk:
            await self._close_queued([run], Ending(RunStatus.CANCELLED))
        # Else its owner finds the wish in its next heartbeat.

    async def stop_all(self, runs: Sequence[Run]) -> None:
        """Hundreds at once: what waits is closed by one UPDATE, what runs is cancelled."""
        if not runs:
            return
        await self._ready()
        asked = Run.objects.filter(pk__in=[run.pk for run in runs])
        async with self._filling:  # so that none of them is claimed meanwhile
            closed = await in_thread(asked.stop_live, self._process)
        hub.publish([Item(pk, comparison, 0, "", never_sent(pk)) for pk, comparison in closed])
        for run in runs:
            self._cancel(run.pk, Ending(RunStatus.CANCELLED))
        # Those of other processes are found there in the next heartbeat.

    async def wait(self, runs: Sequence[int]) -> None:
        """Until these runs of this process, the queued ones too, have ended and are saved."""
        mine = Run.objects.live_of(self._process).filter(pk__in=runs)
        while True:
            while any(run in self._tasks or self.committed(run) is not None for run in runs):
                await asyncio.sleep(0.02)
            if not await in_thread(mine.exists):
                return
            await asyncio.sleep(0.1)

    def committed(self, run: int) -> int | None:
        """The last saved row of a live run of this process; None for any other run."""
        return self._recorder.committed(run) if self._loop else None

    @property
    def trouble(self) -> str:
        """What stands in the way of saving, "" when all is well."""
        return self._recorder.trouble if self._loop else ""

    @property
    def standing(self) -> Standing:
        return Standing(
            bound=self._loop is not None and self._bound.is_set(),
            draining=self._draining,
            running=len(self._tasks) - len(self._saved),
            queued=self.queued,
            backlog=self._recorder.backlog if self._loop else 0,
            silence=time.monotonic() - self._recorder.last_beat if self._loop else 0.0,
        )

    # --- carrying out ---

    async def _fill(self) -> None:
        """Start queued runs while there is room in this process and at their connections."""
        async with self._filling:
            self._fill_called = False
            room = settings.RUNS_AT_ONCE - len(self._tasks) + len(self._saved)
            if room <= 0 or self._draining:
                return
            started, refused = await in_thread(Run.objects.admit, room, self._process)
            for run, why in refused:
                self._recorder.open(run)
                ending = Ending(RunStatus.FAILED, ErrorKind.LIMIT, f"Not sent. {why}")
                self._recorder.finish(run.pk, ending)
            for run in started:
                self._recorder.open(run)
                # An empty context: a task made inside a view would keep the view's thread and
                # database connection for its life.
                task = asyncio.create_task(
                    self._execute(run), context=contextvars.Context(), name=f"run-{run.pk}"
                )
                self._tasks[run.pk] = task
                task.add_done_callback(functools.partial(self._done, run.pk))

    def _done(self, run: int, _: object) -> None:
        self._tasks.pop(run, None)
        self._endings.pop(run, None)
        if not self._draining:
            self._fill_soon()

    async def _execute(self, run: Run) -> None:
        began = time.monotonic()
        present_run.set(run.pk)  # the context is this task's own
        try:
            await self._record(run)
            ending = Ending(RunStatus.COMPLETED)
        except ProviderError as error:
            ending = Ending(RunStatus.FAILED, error.kind, error.message, error.status)
        except asyncio.CancelledError:
            ending = self._endings.get(run.pk, CUT_OFF)
        except Exception:
            logger.exception("Run %s failed in a way that nobody foresaw", run.pk)
            ending = Ending(
                RunStatus.FAILED,
                ErrorKind.INTERNAL,
                "The playground itself failed here; the log of the server says more.",
            )
        total = (time.monotonic() - began) * 1000
        self._recorder.finish(
            run.pk,
            Ending(
                ending.status, ending.error_kind, ending.error_message, ending.error_status, total
            ),
        )
        if not self._draining:
            await self._afterwards(run.pk)

    async def _afterwards(self, run: int) -> None:
        """After its end is saved, so that no tick waits for it."""
        while self._recorder.committed(run) is not None:
            await asyncio.sleep(TICK)
        self._saved.add(run)  # its place is free: the search may take its time
        self._fill_soon()
        try:
            await self._aftermath.of(run)
        finally:
            self._saved.discard(run)

    async def _index_rest(self) -> None:
        """Runs that ended without being indexed: after a crash, a stop in the queue, an import."""
        if self._indexing:
            return
        self._indexing = True
        try:
            while await in_thread(SearchText.objects.write_rest) and not self._draining:
                await asyncio.sleep(PAUSE)
        except Exception:
            logger.exception("The search index is not complete")
        finally:
            self._indexing = False

    async def _record(self, run: Run) -> None:
        if run.connection is None:
            raise ProviderError("This connection was deleted.", ErrorKind.CONNECTION)
        # Closed before we go on, also by a stop: what a stop says of the connection is then true.
        events = events_of(run.connection, run, run.request_value(), self._pulse.next)
        async with aclosing(events) as batches:
            await self._take(run.pk, batches)

    async def _take(self, run: int, batches: AsyncIterator[list[StreamEvent]]) -> None:
        length = 0
        async for events in batches:
            self._recorder.add(run, events)
            self._pulse.call()  # so that it is written, also where nobody waits for the next beat
            length += sum([len(event.data) for event in events if type(event.data) is str])
            if length > LONGEST_OUTPUT:
                raise ProviderError(
                    f"The answer was cut off at {LONGEST_OUTPUT // 1_000_000} million characters.",
                    ErrorKind.BAD_CONTENT,
                )
            if len(events) >= BURST:
                await asyncio.sleep(0)  # a burst lets others run
            while self._recorder.full:  # the provider waits while nothing can be saved
                await asyncio.sleep(0.1)

    def _cancel(self, run: int, ending: Ending) -> None:
        """Cancelling closes the connection to the provider."""
        if task := self._tasks.get(run):
            self._endings.setdefault(run, ending)
            task.cancel()

    async def _interrupt_queued(self) -> None:
        waiting = Run.objects.live_of(self._process).filter(status=RunStatus.QUEUED)
        await self._close_queued(await in_thread(list, waiting), NOT_SENT)

    async def _close_queued(self, runs: Sequence[Run], ending: Ending) -> None:
        async with self._filling:  # so that none of them is claimed meanwhile
            for run in runs:
                if run.pk in self._tasks:
                    self._cancel(run.pk, ending)
                else:
                    self._recorder.open(run)
                    self._recorder.finish(run.pk, ending)

    # --- called in the recorder's thread ---

    def _published(self, items: list[Item]) -> None:
        self._in_loop(hub.publish, items)

    def _lost(self, runs: set[int]) -> None:
        for run in runs:
            self._in_loop(self._cancel, run, CUT_OFF)

    def _beat(self) -> None:
        """Once a second: show that we live, see who wants a run stopped, look after the others."""
        close_old_connections()
        Process.objects.filter(pk=self._process.pk).update(heartbeat=F("heartbeat") + 1)
        wanted = Run.objects.live_of(self._process).exclude(cancel_requested_at=None)
        for run in wanted.only("pk", "comparison_id"):
            self._in_loop(self._stop_here, run)
        if items := self._reaper.reap():
            self._published(items)
        self._look_around()
        self._beats += 1
        if self._beats % INDEX_BEATS == 1:
            self._in_loop(self._index_soon)
        self.queued = Run.objects.live_of(self._process).filter(status=RunStatus.QUEUED).count()
        if self.queued:
            self._in_loop(self._fill_soon)

    def _look_around(self, *_: object, **__: object) -> None:
        """Also called in the thread that has just changed what somebody may do."""
        self._in_loop(self._look_soon)

    def _look_soon(self) -> None:
        if not self._draining:
            self._soon(self._look())

    async def _look(self) -> None:
        try:
            await self._attendance.look()
        except Exception:
            logger.exception("Nobody looked whether those who are here still may be")

    async def _show_out(self, runs: Sequence[Run]) -> None:
        await self._close_queued(runs, SHOWN_OUT)

    def _stop_here(self, run: Run) -> None:
        self._soon(self._close_queued([run], Ending(RunStatus.CANCELLED)))

    def _index_soon(self) -> None:
        self._soon(self._index_rest())

    def _fill_soon(self) -> None:
        """Many runs may end together: those that end before it has begun need no other one."""
        if not self._fill_called:
            self._fill_called = True
            self._soon(self._fill())

    def _soon(self, work: Coroutine[Any, Any, None]) -> None:
        """In the background; kept here until it is done, for the loop itself keeps no task."""
        task = asyncio.create_task(work, context=contextvars.Context())
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def _in_loop(self, function: object, *args: object) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *args)  # type: ignore[arg-type]


runner = Runner()
