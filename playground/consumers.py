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
from playground.following import (
    Following,
    log_and_end,
    positions,
    session_user,
    visible_runs,
    waiting_runs,
)
from playground.hub import FAULT, MALFORMED, SESSION_ENDED, Item, hub
from playground.log import to_json
from playground.models import Run, User
from playground.presence import Person
from playground.runner import runner

logger = logging.getLogger(__name__)

FRAME = 256 * 1024  # characters of one message, unless a single row is longer
LONGEST_ROW = 300 * 1024  # characters; in UTF-8 they stay below Daphne's 1 MiB a message
UNACKNOWLEDGED = 1024 * 1024  # characters on their way from which a run waits for its reader
POLL = 0.5  # seconds between two looks at the log of a run of another process
GLANCE = 1.0  # seconds between two looks whether something stands in the way
RECHECK = 5.0  # seconds between two looks whether the session still holds
MOST_RUNS = 1000  # that one socket follows
MOST_MALFORMED = 100  # messages, then the socket is closed: no page of ours sends any


class ComparisonConsumer(AsyncWebsocketConsumer):
    """All sending is done by one task, so nothing overtakes anything."""

    async def connect(self) -> None:
        self.following: dict[int, Following] = {}
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

    # --- what arrives: noted here, worked on in the one task ---

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

    # --- the one task ---

    async def _send_all(self) -> None:
        try:
            while self._close_code is None:
                try:
                    await asyncio.wait_for(self._awake.wait(), self._patience())
                except TimeoutError:
                    self._read_log = self._read_log or any(map(self._foreign, self.following))
                self._awake.clear()
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

    def _patience(self) -> float | None:
        """Without Redis the log of runs of other processes is read from time to time."""
        if not self.following:
            return None
        return POLL if any(map(self._foreign, self.following)) else GLANCE

    async def _tell_trouble(self) -> None:
        trouble = (runner.trouble or hub.relay.trouble) if self.following or self._wanted else ""
        if trouble != self._told:
            self._told = trouble
            await self.send(to_json({"trouble": trouble}))

    def _foreign(self, run: int) -> bool:
        return (not settings.REDIS_URL or hub.relay.away) and runner.committed(run) is None

    async def _poll(self) -> None:
        """Read what the log has of the runs of other processes."""
        foreign = [run for run in self.following if runner.committed(run) is None]
        for run in await self._with_log(foreign):
            if run in self.following:
                await self._catch_up(run)

    async def _with_log(self, runs: list[int]) -> list[int]:
        """Without those that still wait to be sent: one query, not one for each of hundreds."""
        unknown = [run for run in runs if runner.committed(run) is None]
        if not unknown:
            return runs
        waiting = await in_thread(waiting_runs, unknown)
        return [run for run in runs if run not in waiting and run in self.following]

    async def _follow(self, wanted: dict[int, int]) -> None:
        await self._admit({run: last for run, last in wanted.items() if run not in self.following})
        behind = []
        for run, last in wanted.items():
            # An end that has arrived goes out with its rows: the log does not hold them any more.
            await self._forward_arrived()
            following = self.following.get(run)
            if following is None:
                continue
            following.acknowledge(last)
            committed = runner.committed(run)
            if committed is None or committed > following.cursor:
                behind.append(run)
        for run in await self._with_log(behind):
            if run in self.following:
                await self._catch_up(run)

    async def _tell_who_watches(self) -> None:
        watched, self._watched = self._watched, {}
        for comparison, people in watched.items():
            alone = all(each.id == self.user.pk for each in people)
            # Who is alone hears nothing, unless somebody has left.
            if comparison in self._comparisons() and not (alone and comparison not in self._joined):
                (self._joined.discard if alone else self._joined.add)(comparison)
                said = [
                    {"name": each.name, "initials": each.initials, "me": each.id == self.user.pk}
                    for each in people
                ]
                await self.send(to_json({"watching": {"comparison": comparison, "people": said}}))

    def _comparisons(self) -> set[int]:
        return {following.comparison for following in self.following.values()}

    async def _still_in(self) -> bool:
        """Whether the session still holds; runs that may no longer be seen are dropped."""
        self._checked = time.monotonic()
        user = await in_thread(session_user, self.scope["session"].session_key)
        if user is None:
            return False
        visible = await in_thread(visible_runs, user, list(self.following))
        for run in [run for run in self.following if run not in visible]:
            self._drop(run)
        for comparison in self._comparisons():
            hub.presence.refresh(comparison)
        return True

    async def _admit(self, new: dict[int, int]) -> None:
        """Begin to follow. Registers before the log is read, so nothing falls between."""
        if not new:
            return
        room = MOST_RUNS - len(self.following)
        before = self._comparisons()
        visible = await in_thread(visible_runs, self.user, list(new)[:room])
        for run, last in new.items():
            if run not in visible:
                await self.send(to_json({"error": "not found", "run": run}))
                continue
            self.following[run] = Following(visible[run], last)
            hub.follow(run, self)
        me = Person(self.user.pk, self.user.get_username(), self.user.initials)
        for comparison in {visible[run] for run in new if run in self.following} - before:
            hub.presence.come(comparison, self, me)

    async def _forward_arrived(self) -> None:
        arrived, self._arrived = self._arrived, []
        await self._forward(arrived)

    async def _forward(self, items: Sequence[Item]) -> None:
        """One frame a tick: rows that follow on the cursor go out, a gap is read from the log."""
        rows: list[str] = []
        endings: list[str] = []
        for item in items:
            following = self.following.get(item.run)
            if following is None:
                continue
            if item.events and item.seq > following.cursor:
                if following.behind or following.size > UNACKNOWLEDGED:
                    following.behind = True
                elif item.seq == following.cursor + 1:
                    rows.append(self._row(item.run, item.seq, item.events))
                elif not item.finished:
                    await self._send_rows(rows)
                    rows = []
                    await self._catch_up(item.run)
            if item.finished and item.run in self.following:
                endings.append(item.finished)
                self._drop(item.run)
        await self._send_rows(rows)
        if endings:
            await self.send(f'{{"finished":[{",".join(endings)}]}}')

    def _row(self, run: int, seq: int, events: str) -> str:
        following = self.following[run]
        following.cursor = max(following.cursor, seq)
        following.on_the_way.append((seq, len(events)))
        if len(events) > LONGEST_ROW:
            events = "[]"  # no text is in it that long: a provider's metadata; the record has it
        return f'{{"run":{run},"seq":{seq},"events":{events}}}'

    async def _send_rows(self, rows: list[str]) -> None:
        """In frames; Daphne refuses a message over 1 MiB."""
        frame: list[str] = []
        size = 0
        for row in rows:
            if frame and size + len(row) > FRAME:
                await self.send(f'{{"events":[{",".join(frame)}]}}')
                frame, size = [], 0
            frame.append(row)
            size += len(row)
        if frame:
            await self.send(f'{{"events":[{",".join(frame)}]}}')

    async def _catch_up(self, run: int) -> None:
        """Send what the log has behind the cursor, in frames; at the end of a run, its end."""
        following = self.following[run]
        following.behind = following.size > UNACKNOWLEDGED
        if following.behind:
            return
        try:
            log, finished = await in_thread(log_and_end, run, following.cursor)
        except Run.DoesNotExist:  # purged while it was followed
            self._drop(run)
            await self.send(to_json({"error": "not found", "run": run}))
            return
        rows: list[str] = []
        for seq, events in log:
            if following.size > UNACKNOWLEDGED:
                following.behind = True
                break
            rows.append(self._row(run, seq, events))
        await self._send_rows(rows)
        if finished:
            await self.send(f'{{"finished":[{finished}]}}')
            self._drop(run)

    def _drop(self, run: int) -> None:
        following = self.following.pop(run, None)
        hub.unfollow(run, self)
        if following is not None and following.comparison not in self._comparisons():
            hub.presence.go(following.comparison, self)
