"""What a page does with the socket, without a page: `docs/protocol.md` from the browser's side."""

import asyncio
import hashlib
import json
import random
from collections.abc import Iterable
from typing import Any

import websockets
from websockets.asyncio.client import connect


class Follower:
    """Follows runs until all have ended; keeps the text of each (run, choice).

    `lose`: the share of messages that it throws away. `cuts`: how often it drops the connection,
    at random moments. `stall`: seconds for which it once stops reading.
    """

    def __init__(
        self,
        url: str,
        headers: dict[str, str],
        runs: Iterable[int],
        *,
        lose: float = 0.0,
        cuts: int = 0,
        stall: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.url, self.headers = url, headers
        self.seq = dict.fromkeys(runs, 0)
        self.texts: dict[tuple[int, int], str] = {}
        self.ends: dict[int, dict[str, Any]] = {}
        self.close_codes: list[int] = []
        self._lose, self._cuts, self._stall = lose, cuts, stall
        self._random = random.Random(seed)

    @property
    def connections(self) -> int:
        return len(self.close_codes)

    async def follow(self) -> None:
        while self.open_runs:
            try:
                async with connect(
                    self.url, additional_headers=self.headers, max_size=None, proxy=None
                ) as socket:
                    await self._session(socket)
                    self.close_codes.append(socket.close_code or 0)
            except websockets.ConnectionClosed as closed:
                self.close_codes.append(closed.rcvd.code if closed.rcvd else 1006)
            except (OSError, websockets.InvalidMessage, websockets.InvalidStatus):
                await asyncio.sleep(0.3)  # the server is away; it is tried again
            except _Cut:
                self.close_codes.append(1006)

    @property
    def open_runs(self) -> list[int]:
        return [run for run in self.seq if run not in self.ends]

    async def _session(self, socket: Any) -> None:
        cut = asyncio.get_running_loop().time() + self._random.uniform(0.1, 0.8)
        await self._say(socket)
        while self.open_runs:
            if self._cuts and asyncio.get_running_loop().time() > cut:
                self._cuts -= 1
                socket.transport.abort()
                raise _Cut
            try:
                text = await asyncio.wait_for(socket.recv(), 1.0)
            except TimeoutError:
                await self._say(socket)
                continue
            if self._stall:
                stall, self._stall = self._stall, 0.0
                await asyncio.sleep(stall)
            if self._random.random() < self._lose:
                continue
            if not self._take(json.loads(text)):
                return  # a gap: begin again at our own position
            await self._say(socket)

    async def _say(self, socket: Any) -> None:
        follow = {str(run): self.seq[run] for run in self.open_runs}
        await socket.send(json.dumps({"follow": follow}))

    def _take(self, message: dict[str, Any]) -> bool:
        assert not message.get("error"), message
        for row in message.get("events", []):
            run = row["run"]
            if row["seq"] > self.seq[run] + 1:
                return False
            if row["seq"] <= self.seq[run]:
                continue
            self.seq[run] = row["seq"]
            for kind, choice, data, _ in row["events"]:
                if kind == "text":
                    self.texts[run, choice] = self.texts.get((run, choice), "") + data
        for end in message.get("finished", []):
            self.ends[end["run"]] = end
        return True

    def wrong(self) -> list[int]:
        """Runs whose end does not agree with the text here: a page fetches those whole."""
        return [
            run
            for run, end in self.ends.items()
            for choice in end["choices"]
            if _digest(self.texts.get((run, choice["index"]), "")) != choice["sha256"]
        ]

    def misplaced(self, run: int, wanted: str) -> bool:
        """Whether what came live is anything but a beginning of the wanted text."""
        return not wanted.startswith(self.texts.get((run, 0), ""))


class _Cut(Exception):
    pass


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
