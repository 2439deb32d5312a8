"""Rows and ends of runs on their way to one socket: each once, in order, and no more at a time
than its reader has room for."""

from collections.abc import Awaitable, Callable, Sequence

from playground.database import in_thread
from playground.following import Following, log_and_end
from playground.hub import Follower, Item, hub
from playground.log import to_json
from playground.models import Run

FRAME = 256 * 1024  # characters of one message, unless a single row is longer
LONGEST_ROW = 300 * 1024  # characters; in UTF-8 they stay below Daphne's 1 MiB a message
UNACKNOWLEDGED = 1024 * 1024  # characters on their way from which a run waits for its reader


class Forwarding:
    """The runs that one socket follows. Called by its one task only; `send` takes a JSON text."""

    def __init__(self, socket: Follower, send: Callable[[str], Awaitable[None]]) -> None:
        self.runs: dict[int, Following] = {}
        self._socket = socket
        self._send = send

    @property
    def comparisons(self) -> set[int]:
        return {following.comparison for following in self.runs.values()}

    def begin(self, run: int, comparison: int, last: int) -> None:
        """Registers before the log is read, so nothing falls between."""
        self.runs[run] = Following(comparison, last)
        hub.follow(run, self._socket)

    def drop(self, run: int) -> None:
        following = self.runs.pop(run, None)
        hub.unfollow(run, self._socket)
        if following is not None and following.comparison not in self.comparisons:
            hub.presence.go(following.comparison, self._socket)

    async def not_found(self, run: int) -> None:
        await self._send(to_json({"error": "not found", "run": run}))

    async def forward(self, items: Sequence[Item]) -> None:
        """One frame a tick: rows that follow on the cursor go out, a gap is read from the log."""
        rows: list[str] = []
        endings: list[str] = []
        for item in items:
            following = self.runs.get(item.run)
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
                    await self.catch_up(item.run)
            if item.finished and item.run in self.runs:
                endings.append(item.finished)
                self.drop(item.run)
        await self._send_rows(rows)
        if endings:
            await self._send(f'{{"finished":[{",".join(endings)}]}}')

    async def catch_up(self, run: int) -> None:
        """Send what the log has behind the cursor, in frames; at the end of a run, its end."""
        following = self.runs[run]
        following.behind = following.size > UNACKNOWLEDGED
        if following.behind:
            return
        try:
            log, finished = await in_thread(log_and_end, run, following.cursor)
        except Run.DoesNotExist:  # purged while it was followed
            self.drop(run)
            await self.not_found(run)
            return
        rows: list[str] = []
        for seq, events in log:
            if following.size > UNACKNOWLEDGED:
                following.behind = True
                break
            rows.append(self._row(run, seq, events))
        await self._send_rows(rows)
        if finished:
            await self._send(f'{{"finished":[{finished}]}}')
            self.drop(run)

    def _row(self, run: int, seq: int, events: str) -> str:
        self.runs[run].sent(seq, len(events))
        if len(events) > LONGEST_ROW:
            events = "[]"  # no text is in it that long: a provider's metadata; the record has it
        return f'{{"run":{run},"seq":{seq},"events":{events}}}'

    async def _send_rows(self, rows: list[str]) -> None:
        """In frames; Daphne refuses a message over 1 MiB."""
        frame: list[str] = []
        size = 0
        for row in rows:
            if frame and size + len(row) > FRAME:
                await self._send(f'{{"events":[{",".join(frame)}]}}')
                frame, size = [], 0
            frame.append(row)
            size += len(row)
        if frame:
            await self._send(f'{{"events":[{",".join(frame)}]}}')
