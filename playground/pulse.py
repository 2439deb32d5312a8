"""One beat for all answers that flow: whoever reads one waits for the next beat, and then all read.

A token then costs no wake-up of its own. The beat is the recorder's: what all have read is written
in one tick behind it. With a crowd of answers nobody even listens until shortly before it: what
comes meanwhile waits in the kernel, and many tokens cost one read.
"""

import asyncio
from collections.abc import Callable

LISTENING = 0.006  # seconds before a beat in which a crowd listens


class Pulse:
    """Lives in one event loop. `period`: seconds to the next beat, asked when somebody begins to
    wait for it. `after` is called behind each beat, when all who waited have read."""

    def __init__(
        self,
        period: Callable[[], float],
        after: Callable[[], None],
        crowded: Callable[[], bool] = lambda: False,
    ) -> None:
        self._period = period
        self._after = after
        self._crowded = crowded
        self._waiting: list[asyncio.Future[None]] = []
        self._deaf: list[Callable[[], None]] = []  # what lets those who do not listen listen
        self._called = False  # the next beat is
        self._quiet = False  # nobody needs to listen yet

    def call(self) -> None:
        """Let there be a beat."""
        if self._called:
            return
        self._called = True
        loop = asyncio.get_running_loop()
        if self._crowded():
            self._quiet = True
            loop.call_later(max(self._period() - LISTENING, 0), self._listen)
        else:
            loop.call_later(self._period(), self._beat)

    def next(self) -> "asyncio.Future[None]":
        """Done at the next beat. Whoever waits may end it earlier."""
        self.call()
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        return future

    def deafen(self, listen: Callable[[], None]) -> bool:
        """Whether one who waits need not listen until `listen` is called."""
        if self._quiet:
            self._deaf.append(listen)
        return self._quiet

    def _listen(self) -> None:
        self._quiet = False
        deaf, self._deaf = self._deaf, []
        for listen in deaf:
            listen()
        asyncio.get_running_loop().call_later(LISTENING, self._beat)

    def _beat(self) -> None:
        self._called = False
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)
        # They go on in the order in which they were woken, and this comes behind them.
        asyncio.get_running_loop().call_soon(self._after)
