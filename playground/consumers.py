"""The websocket of a page: it follows runs. One message in, `follow {run: last seq}`; see
`docs/protocol.md`. Prompts, stops and labels are HTTP requests."""

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import Any

from channels.consumer import get_handler_name
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.db import InterfaceError, OperationalError

from playground.database import in_thread
from playground.following import positions, session_user, visible_runs, waiting_runs
from playground.forwarding import Forwarding
from playground.hub import FAULT, MALFORMED, SESSION_ENDED, Item, hub
from playground.log import to_json
from playground.models import User
from playground.presence import Person
from playground.runner import runner

logger = logging.getLogger(__name__)

POLL = 0.5  # seconds between two looks at the log of a run of another process
GLANCE = 1.0  # seconds between two looks whether something stands in the way
RECHECK = 5.0  # seconds between two looks whether the session still holds
MOST_RUNS = 1000  # that one socket follows
MOST_MALFORMED = 100  # messages, then the socket is closed: no page of ours sends any


class ComparisonConsumer(AsyncWebsocketConsumer):
    """All sending is done by one task, so nothing overtakes anything."""

    async def connect(self) -> None:
        self.forwarding = Forwarding(self, self.send)
        self._wanted: dict[int, int] = {}
        self._arrived: list[Item] = []
        self._watched: dict[int, list[Person]] = {}
        self._joined: set[int] = set()  # comparisons of which others were named to this socket
        self._awake = asyncio.Event()
        self._close_code: int | None = None
        self._malformed = 0
        self._work: asyncio.Task[None] | None = None
        self._told = ""  # the trouble that the page was told of
        self._read_log = False  # what other processes said was not heard for a while
        self._polls = False  # some runs are of other processes that are not heard at all
        self._checked = time.monotonic()
        self.user: User = self.scope["user"]
        self.user_id: int = self.user.pk or 0
        self.session_key: str = self.scope["session"].session_key or ""
        await self.accept()
        if not self.user.is_authenticated:
            await self.close(SESSION_ENDED)
            return
        hub.open(self)
        self._work = asyncio.create_task(self._send_all())

    async def disconnect(self, code: int) -> None:
        hub.leave(self)
        if self._work:
            self._work.cancel()

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Without the hop into Django's one thread that Channels makes for each message, to close
        connections to the database: none is opened there."""
        handler = getattr(self, get_handler_name(message), None)
        if handler is None:
            raise ValueError(f"No handler for {message['type']!r}.")
        await handler(message)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        try:
            follow = positions(text_data)
        except ValueError as error:
            self._malformed += 1
            if self._malformed > MOST_MALFORMED:
                self.hang_up(MALFORMED)
            elif self._close_code is None:
                await self.send(to_json({"error": str(error)}))
            return
        self._wanted.update(follow)
        self._awake.set()

    def deliver(self, items: Sequence[Item]) -> None:
        self._arrived += items
        self._awake.set()

    def watched(self, comparison: int, people: list[Person]) -> None:
        self._watched[comparison] = people
        self._awake.set()

    def hang_up(self, code: int) -> None:
        self._close_code = code
        self._awake.set()

    def look_again(self) -> None:
        """Something was given to this person or taken away."""
        self._checked = 0.0
        self._awake.set()

    def read_log(self) -> None:
        """Other processes could not be heard for a while."""
        self._read_log = True
        self._awake.set()

    async def _send_all(self) -> None:
        try:
            while self._close_code is None:
                await self._wait()
                await self._tell_trouble()
                if runner.trouble:  # nothing can be read either; the page asks again
                    continue
                try:
                    await self._round()
                except (OperationalError, InterfaceError) as error:
                    # What was taken is in the log, and the page repeats what it wants.
                    logger.warning("A socket could not read the database: %s", error)
                    self._read_log = True
                    await asyncio.sleep(POLL)
            await self.close(self._close_code)
        except Exception:
            logger.exception("A socket failed")
            await self.close(FAULT)

    async def _round(self) -> None:
        if time.monotonic() - self._checked > RECHECK and not await self._still_in():
            self._close_code = SESSION_ENDED
            return
        if self._read_log:
            self._read_log = False
            await self._poll()
        wanted, self._wanted = self._wanted, {}
        if wanted:
            await self._follow(wanted)
        await self._forward_arrived()
        await self._tell_who_watches()

    async def _wait(self) -> None:
        """Until there is something to do, or patience ends. Without Redis the log of runs of other
        processes is read from time to time."""
        if not self.forwarding.runs:
            await self._awake.wait()
        elif not self._awake.is_set():
            # At each tick while text flows: a timeout of asyncio's would cost three times as much.
            patience = POLL if self._polls else GLANCE
            timer = asyncio.get_running_loop().call_later(patience, self._out_of_patience)
            try:
                await self._awake.wait()
            finally:
                timer.cancel()
        self._awake.clear()

    def _out_of_patience(self) -> None:
        self._polls = any(map(self._foreign, self.forwarding.runs))
        self._read_log = self._read_log or self._polls
        self._awake.set()

    async def _tell_trouble(self) -> None:
        trouble = (
            (runner.trouble or hub.relay.trouble) if self.forwarding.runs or self._wanted else ""
        )
        if trouble != self._told:
            self._told = trouble
            await self.send(to_json({"trouble": trouble}))

    def _foreign(self, run: int) -> bool:
        return (not settings.REDIS_URL or hub.relay.away) and runner.committed(run) is None

    async def _poll(self) -> None:
        """Read what the log has of the runs of other processes."""
        foreign = [run for run in self.forwarding.runs if runner.committed(run) is None]
        for run in await self._with_log(foreign):
            if run in self.forwarding.runs:
                await self.forwarding.catch_up(run)

    async def _with_log(self, runs: list[int]) -> list[int]:
        """Without those that still wait to be sent: one query, not one for each of hundreds."""
        unknown = [run for run in runs if runner.committed(run) is None]
        if not unknown:
            return runs
        waiting = await in_thread(waiting_runs, unknown)
        return [run for run in runs if run not in waiting and run in self.forwarding.runs]

    async def _follow(self, wanted: dict[int, int]) -> None:
        await self._admit(
            {run: last for run, last in wanted.items() if run not in self.forwarding.runs}
        )
        behind = []
        for run, last in wanted.items():
            # An end that has arrived goes out with its rows: the log does not hold them any more.
            await self._forward_arrived()
            following = self.forwarding.runs.get(run)
            if following is None:
                continue
            following.acknowledge(last)
            if following.lags(runner.committed(run)):
                behind.append(run)
        for run in await self._with_log(behind):
            if run in self.forwarding.runs:
                await self.forwarding.catch_up(run)

    async def _tell_who_watches(self) -> None:
        watched, self._watched = self._watched, {}
        for comparison, people in watched.items():
            alone = all(each.id == self.user.pk for each in people)
            # Who is alone hears nothing, unless somebody has left.
            if comparison in self.forwarding.comparisons and not (
                alone and comparison not in self._joined
            ):
                (self._joined.discard if alone else self._joined.add)(comparison)
                said = [
                    {"name": each.name, "initials": each.initials, "me": each.id == self.user.pk}
                    for each in people
                ]
                await self.send(to_json({"watching": {"comparison": comparison, "people": said}}))

    async def _still_in(self) -> bool:
        """Whether the session still holds; runs that may no longer be seen are dropped."""
        self._checked = time.monotonic()
        user = await in_thread(session_user, self.scope["session"].session_key)
        if user is None:
            return False
        visible = await in_thread(visible_runs, user, list(self.forwarding.runs))
        for run in [run for run in self.forwarding.runs if run not in visible]:
            self.forwarding.drop(run)
        for comparison in self.forwarding.comparisons:
            hub.presence.refresh(comparison)
        return True

    async def _admit(self, new: dict[int, int]) -> None:
        """Begin to follow those that may be seen."""
        if not new:
            return
        room = MOST_RUNS - len(self.forwarding.runs)
        before = self.forwarding.comparisons
        visible = await in_thread(visible_runs, self.user, list(new)[:room])
        for run, last in new.items():
            if run not in visible:
                await self.forwarding.not_found(run)
                continue
            self.forwarding.begin(run, visible[run], last)
        self._polls = any(map(self._foreign, self.forwarding.runs))
        me = Person(self.user.pk, self.user.get_username(), self.user.initials)
        for comparison in {visible[run] for run in new if run in self.forwarding.runs} - before:
            hub.presence.come(comparison, self, me)

    async def _forward_arrived(self) -> None:
        arrived, self._arrived = self._arrived, []
        await self.forwarding.forward(arrived)
