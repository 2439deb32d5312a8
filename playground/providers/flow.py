"""Text that flows: while it does, what has come is taken at each beat by one plain call, and the
task that reads the answer sleeps. It goes on where the answer ends, fails or comes in a burst."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from playground.completion import StreamEvent
from playground.providers.arrivals import Arrivals
from playground.providers.reader import AnswerReader


class Flow(Protocol):
    """What a beat does with one answer."""

    def take(self) -> bool:
        """Take what has come. Whether it flows on; if not, it is not called any more."""

    def deafen(self) -> None:
        """Leave in the kernel what comes."""

    def listen(self) -> None:
        """Hear it again."""


class Outlet(Protocol):
    """Where the text of an answer goes while it flows."""

    def join(self, flow: Flow) -> None:
        """Let it take what has come, at each beat."""

    def put(self, events: list[StreamEvent]) -> bool:
        """Whether there is room for more. Raises what is to end the answer."""


class Flowing:
    """An answer from which each beat takes, until `over` is done; that may come between beats."""

    def __init__(
        self,
        arrivals: Arrivals,
        reader: AnswerReader,
        put: Callable[[list[StreamEvent]], bool],
    ) -> None:
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._arrivals = arrivals
        self._reader = reader
        self._put = put
        self.deafen, self.listen = arrivals.deafen, arrivals.listen
        arrivals.wake(self.over)

    def take(self) -> bool:
        if self.over.done():  # it has ended, or its reader has gone
            return False
        try:
            flows = self._take()
        except Exception as error:
            self.over.set_exception(error)
            return False
        if not flows:
            self.over.set_result(None)
        return flows

    def _take(self) -> bool:
        reader = self._reader
        room = True
        if (pieces := self._arrivals.there()) and (events := reader.read(pieces)):
            room = self._put(events)
        return room and not (reader.over or reader.bursts or self._arrivals.over)
