"""The one service: starts runs, carries them out in this process's event loop, stops them.

A run is one task. It is never retried: a completion costs money. Queued runs are rows, not tasks.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from django.conf import settings
from django.db import InterfaceError, OperationalError

from playground.axes import Place
from playground.background import Background
from playground.completion import CompletionRequest, ErrorKind, RunStatus
from playground.database import in_thread
from playground.execution import Executions
from playground.heartbeat import Heartbeat
from playground.hub import RESTARTING, Item, hub
from playground.log import Ending, never_sent
from playground.models import Comparison, Connection, Membership, Process, Run, reruns
from playground.providers import base
from playground.pulse import Pulse
from playground.reaper import CUT_OFF, NOT_SENT, this_process
from playground.recorder import Recorder


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
        self._filling = asyncio.Lock()
        self._draining = False

    async def bind(self) -> None:
        """Belong to the running loop: register the process, reap, start the recorder."""
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return
        self._loop = loop
        self._filling = asyncio.Lock()
        self._fill_called = False
        self._background = Background(loop)
        self._draining = False
        self._bound = asyncio.Event()
        try:
            self._process: Process = await in_thread(this_process)
            self._heartbeat = Heartbeat(
                self._process, self._background, self._fill_soon, self._close_all
            )
            self._recorder = Recorder(
                self._process, self._published, self._heartbeat.beat, self._lost
            )
            pulse = Pulse(self._recorder.period, self._recorder.look, self._recorder.is_crowded)
            self._executions = Executions(self._recorder, pulse, self._background, self._fill_soon)
            await self._heartbeat.start()
            self._recorder.start()
            hub.relay.open()
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
        self._heartbeat.stop()
        await self._executions.end(seconds)
        with suppress(OperationalError, InterfaceError):  # else those who find us gone do it
            if not self.trouble:
                await self._interrupt_queued()
        await self._executions.cut_off(5)
        await asyncio.to_thread(self._recorder.close)
        await asyncio.sleep(0)  # what the last tick published is delivered
        with suppress(OperationalError, InterfaceError):
            if not self.trouble:
                await in_thread(self._process.sign_off)
        await hub.hang_up(RESTARTING)
        await hub.relay.close()
        await base.close()

    async def has_company(self) -> bool:
        """Whether other servers are there for those who come."""
        if not settings.REDIS_URL or self._loop is None:
            return False
        return await in_thread(Process.objects.others(self._process).exists)

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
        """Save queued runs into a comparison that is there; the others of it stay as they are.
        As `reruns.join` raises."""
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
        if run.pk in self._executions:
            self._executions.cancel(run.pk, Ending(RunStatus.CANCELLED))
        elif run.owner_id == self._process.pk:
            await self._close_all([run], Ending(RunStatus.CANCELLED))
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
            self._executions.cancel(run.pk, Ending(RunStatus.CANCELLED))
        # Those of other processes are found there in the next heartbeat.

    async def wait(self, runs: Sequence[int]) -> None:
        """Until these runs of this process, the queued ones too, have ended and are saved."""
        mine = Run.objects.live_of(self._process).filter(pk__in=runs)
        while True:
            while any(run in self._executions or self.committed(run) is not None for run in runs):
                await asyncio.sleep(0.02)
            if not await in_thread(mine.exists):
                return
            await asyncio.sleep(0.1)

    def committed(self, run: int) -> int | None:
        """The last saved row of a live run of this process; None for any other run."""
        return self._recorder.committed(run) if self._is_bound else None

    @property
    def trouble(self) -> str:
        """What stands in the way of saving, "" when all is well."""
        return self._recorder.trouble if self._is_bound else ""

    @property
    def standing(self) -> Standing:
        bound = self._is_bound
        return Standing(
            bound=bound,
            draining=self._draining,
            running=len(self._executions) if bound else 0,
            queued=self._heartbeat.queued if bound else 0,
            backlog=self._recorder.backlog if bound else 0,
            silence=time.monotonic() - self._recorder.last_beat if bound else 0.0,
        )

    @property
    def _is_bound(self) -> bool:
        return self._loop is not None and self._bound.is_set()

    async def _fill(self) -> None:
        """Start queued runs while there is room in this process and at their connections."""
        async with self._filling:
            self._fill_called = False
            room = settings.RUNS_AT_ONCE - len(self._executions)
            if room <= 0 or self._draining:
                return
            started, refused = await in_thread(Run.objects.admit, room, self._process)
            for run, why in refused:
                self._recorder.open(run)
                ending = Ending(RunStatus.FAILED, ErrorKind.LIMIT, f"Not sent. {why}")
                self._recorder.finish(run.pk, ending)
            for run in started:
                self._executions.start(run)

    def _fill_soon(self) -> None:
        """Many runs may end together: those that end before it has begun need no other one."""
        if not self._fill_called and not self._draining:
            self._fill_called = True
            self._background.start(self._fill())

    async def _interrupt_queued(self) -> None:
        waiting = Run.objects.live_of(self._process).filter(status=RunStatus.QUEUED)
        await self._close_all(await in_thread(list, waiting), NOT_SENT)

    async def _close_all(self, runs: Sequence[Run], ending: Ending) -> None:
        async with self._filling:  # so that none of them is claimed meanwhile
            for run in runs:
                if run.pk in self._executions:
                    self._executions.cancel(run.pk, ending)
                else:
                    self._recorder.open(run)
                    self._recorder.finish(run.pk, ending)

    def _published(self, items: list[Item]) -> None:
        self._background.call(hub.publish, items)

    def _lost(self, runs: set[int]) -> None:
        for run in runs:
            self._background.call(self._executions.cancel, run, CUT_OFF)


runner = Runner()
