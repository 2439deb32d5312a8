"""One beat for all answers that flow: whoever reads one waits for the next beat, and then all read.

A token then costs no wake-up of its own. The beat is the recorder's: what all have read is written
in one tick behind it.
"""

import asyncio
from collections.abc import Callable


class Pulse:
    """Lives in one event loop. `period`: seconds to the next beat, asked when somebody begins to
    wait for it. `after` is called behind each beat, when all who waited have read."""

    def __init__(self, period: Callable[[], float], after: Callable[[], None]) -> None:
        self._period = period
        self._after = after
        self._waiting: list[asyncio.Future[None]] = []
        self._called = False  # the next beat is

    def call(self) -> None:
        """Let there be a beat."""
        if not self._called:
            self._called = True
            asyncio.get_running_loop().call_later(self._period(), self._beat)

    def next(self) -> "asyncio.Future[None]":
        """Done at the next beat. Whoever waits may end it earlier."""
        self.call()
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        return future

    def _beat(self) -> None:
        self._called = False
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)
        # They go on in the order in which they were woken, and this comes behind them.
        asyncio.get_running_loop().call_soon(self._after)
