"""The runs that are being carried out in this process: what a provider says of each goes to the
recorder, and at its end how it ended."""

import asyncio
import functools
import logging
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace

from playground.aftermath import Aftermath
from playground.background import Background
from playground.completion import ErrorKind, RunStatus, StreamEvent
from playground.log import Ending
from playground.logs import present_run
from playground.models import Run
from playground.providers import ProviderError
from playground.providers.flow import Flow
from playground.providers.reader import BURST
from playground.pulse import Pulse
from playground.reaper import CUT_OFF
from playground.recorder import TICK, Recorder
from playground.targets import Ways, events_of

logger = logging.getLogger(__name__)

LONGEST_OUTPUT = 20_000_000  # characters of one run that are kept
UNFORESEEN = Ending(
    RunStatus.FAILED,
    ErrorKind.INTERNAL,
    "The playground itself failed here; the log of the server says more.",
)


class Executions:
    """Belongs to one event loop; each run is a task. `freed` is called when there is room again."""

    def __init__(
        self,
        recorder: Recorder,
        pulse: Pulse,
        background: Background,
        freed: Callable[[], None],
    ) -> None:
        self._recorder = recorder
        self._pulse = pulse
        self._background = background
        self._freed = freed
        self._ways = Ways(background)
        self._aftermath = Aftermath()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._saved: set[int] = set()  # that have ended, while their tasks still work on them
        self._endings: dict[int, Ending] = {}  # why a task was cancelled
        self._hurried = False

    def __len__(self) -> int:
        """Those that have not ended."""
        return len(self._tasks) - len(self._saved)

    def __contains__(self, run: int) -> bool:
        return run in self._tasks

    def start(self, run: Run) -> None:
        self._recorder.open(run)
        task = self._background.start(self._execute(run), f"run-{run.pk}")
        self._tasks[run.pk] = task
        task.add_done_callback(functools.partial(self._done, run.pk))

    def cancel(self, run: int, ending: Ending) -> None:
        """Cancelling closes the connection to the provider."""
        if task := self._tasks.get(run):
            self._endings.setdefault(run, ending)
            task.cancel()

    async def end(self, seconds: float) -> None:
        """Give them time to end on their own; nobody is called any more."""
        self._hurried = True
        deadline = time.monotonic() + seconds
        while self._tasks and (left := deadline - time.monotonic()) > 0:
            await asyncio.wait(self._tasks.values(), timeout=left)

    async def cut_off(self, seconds: float) -> None:
        for run in list(self._tasks):
            self.cancel(run, CUT_OFF)
        await self.end(seconds)

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
            ending = UNFORESEEN
        total = (time.monotonic() - began) * 1000
        self._recorder.finish(run.pk, replace(ending, total_ms=total))
        if not self._hurried:
            await self._afterwards(run.pk)

    async def _record(self, run: Run) -> None:
        if run.connection is None:
            raise ProviderError("This connection was deleted.", ErrorKind.CONNECTION)
        # Closed before we go on, also by a stop: what a stop says of the connection is then true.
        intake = Intake(run.pk, self._recorder, self._pulse)
        answer = events_of(self._ways, run.connection, run, run.request_value(), intake)
        async with aclosing(answer) as batches:
            async for events in batches:
                room = intake.put(events)
                self._pulse.call()  # so that it is written, also where nothing flows
                if len(events) >= BURST:
                    await asyncio.sleep(0)  # a burst lets others run
                while not room:  # the provider waits while nothing can be saved
                    await asyncio.sleep(0.1)
                    room = not self._recorder.full

    async def _afterwards(self, run: int) -> None:
        """After its end is saved, so that no tick waits for it."""
        while self._recorder.committed(run) is not None:
            await asyncio.sleep(TICK)
        self._saved.add(run)  # its place is free: the search may take its time
        self._freed()
        try:
            await self._aftermath.of(run)
        finally:
            self._saved.discard(run)

    def _done(self, run: int, _: object) -> None:
        self._tasks.pop(run, None)
        self._endings.pop(run, None)
        if not self._hurried:
            self._freed()


class Intake:
    """What is said of one run, on its way to the recorder."""

    def __init__(self, run: int, recorder: Recorder, pulse: Pulse) -> None:
        self._run = run
        self._recorder = recorder
        self._pulse = pulse
        self._length = 0

    def join(self, flow: Flow) -> None:
        self._pulse.join(flow)

    def put(self, events: list[StreamEvent]) -> bool:
        """Whether the recorder has room for more. Raises ProviderError where it is too long."""
        self._recorder.add(self._run, events)
        self._length += sum([len(event.data) for event in events if type(event.data) is str])
        if self._length > LONGEST_OUTPUT:
            raise ProviderError(
                f"The answer was cut off at {LONGEST_OUTPUT // 1_000_000} million characters.",
                ErrorKind.BAD_CONTENT,
            )
        return not self._recorder.full
