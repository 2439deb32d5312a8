"""One beat for all answers that flow: at each, what has come of every one of them is taken.

A token then costs no wake-up of its own, and a beat costs one plain call an answer: no task wakes
before its answer ends. The beat is the recorder's: what was taken is written in one tick behind it.
With a crowd of answers nobody even listens until the beat: what comes meanwhile waits in the
kernel, and many tokens cost one read.
"""

import asyncio
from collections.abc import Callable

from playground.providers.flow import Flow


class Pulse:
    """Lives in one event loop. `period`: seconds to the next beat, asked when somebody begins to
    wait for it. `after` is called behind each beat, when what had come was taken."""

    def __init__(
        self,
        period: Callable[[], float],
        after: Callable[[], None],
        crowded: Callable[[], bool] = lambda: False,
    ) -> None:
        self._period = period
        self._after = after
        self._crowded = crowded
        self._flows: list[Flow] = []
        self._called = False  # the next beat is
        self._deaf = False  # nobody listens before it

    def call(self) -> None:
        """Let there be a beat."""
        if self._called:
            return
        self._called = True
        self._deaf = self._crowded()
        asyncio.get_running_loop().call_later(self._period(), self._listen)

    def join(self, flow: Flow) -> None:
        """From now on its `take` is called at each beat, until it is over."""
        self.call()
        self._flows.append(flow)
        if self._deaf:
            flow.deafen()

    def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        if not self._deaf:
            self._beat()
            return
        self._deaf = False
        for flow in self._flows:
            flow.listen()
        # Behind one round of the loop, in which all that waits in the kernel is read.
        loop.call_soon(loop.call_soon, self._beat)

    def _beat(self) -> None:
        self._called = False
        self._flows = [flow for flow in self._flows if flow.take()]
        if self._flows:
            self.call()
            if self._deaf:
                for flow in self._flows:
                    flow.deafen()
        # Those that are over go on in the order in which they were woken; this comes behind them.
        asyncio.get_running_loop().call_soon(self._after)
