"""Whoever may no longer be here is shown out: sockets are hung up, runs are stopped.

Looked at once a second in every process, and at once where the change is made in this one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from playground.database import in_thread
from playground.hub import SESSION_ENDED, Follower, hub
from playground.models import Process, Run
from playground.models.access import Standing, open_sessions, standings, unallowed_runs


class Attendance:
    """Belongs to one event loop. With nobody here and nothing running, a look costs one query."""

    def __init__(self, process: Process, stop: Callable[[Sequence[Run]], Awaitable[None]]) -> None:
        self._process = process
        self._stop = stop
        self._known: dict[int, Standing] = {}
        self._looking = asyncio.Lock()
        self._asked = False

    async def look(self) -> None:
        """Of many who ask while one looks, one looks again."""
        if self._asked:
            return
        self._asked = True
        async with self._looking:
            self._asked = False
            sockets = hub.sockets
            if sockets:
                await self._look_at(sockets)
            if runs := await in_thread(unallowed_runs, self._process):
                await self._stop(runs)

    async def _look_at(self, sockets: Sequence[Follower]) -> None:
        here = {each.user_id for each in sockets}
        found = await in_thread(standings, here)
        sessions = await in_thread(open_sessions, {each.session_key for each in sockets})
        for each in sockets:
            now, before = found.get(each.user_id), self._known.get(each.user_id)
            if now is None or each.session_key not in sessions:
                each.hang_up(SESSION_ENDED)
            elif before != now:
                each.look_again()  # a new password ends other sessions, a lost role hides runs
        self._known = {pk: standing for pk, standing in found.items() if pk in here}
