"""Who follows which run in this process, and how a committed tick reaches them.

Followers here are called directly after the commit. Other processes get the same items through the
channel layer, if it is Redis; order never rests on it, since a follower compares `seq`.
"""

import asyncio
import logging
import secrets
import time
from collections import defaultdict
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from channels.layers import get_channel_layer
from django.conf import settings

from playground.presence import Person, Presence, Watcher

logger = logging.getLogger(__name__)

# Closing codes. Daphne can only send 1000 and those from 3000 up, so not 1011 or 1012.
RESTARTING = 4012  # the page connects again
FAULT = 4500
MALFORMED = 4400  # it sent too much that is no message
SESSION_ENDED = 4401  # the page goes to the login


class Item(NamedTuple):
    """What one tick says about one run: a row of its log, its end (JSON texts), or both."""

    run: int
    comparison: int
    seq: int
    events: str = ""
    finished: str = ""


class Follower(Watcher, Protocol):
    user_id: int
    session_key: str

    def look_again(self) -> None: ...
    def deliver(self, items: Sequence[Item]) -> None: ...
    def hang_up(self, code: int) -> None: ...


def group(comparison: int) -> str:
    return f"comparison-{comparison}"


class Hub:
    """Lives in one event loop; only `publish` may be called from another thread."""

    def __init__(self) -> None:
        self._followers: defaultdict[int, set[Follower]] = defaultdict(set)
        self._sockets: set[Follower] = set()
        self._sending: set[asyncio.Task[None]] = set()
        self.presence = Presence(self._say_who_watches)
        self.process = secrets.token_hex(8)  # what the other processes know this one by

    def open(self, follower: Follower) -> None:
        self._sockets.add(follower)

    @property
    def sockets(self) -> list[Follower]:
        return list(self._sockets)

    def follow(self, run: int, follower: Follower) -> None:
        self._followers[run].add(follower)

    def leave(self, follower: Follower) -> None:
        self._sockets.discard(follower)
        self.presence.go_everywhere(follower)
        for run in [run for run, found in self._followers.items() if follower in found]:
            self.unfollow(run, follower)

    def unfollow(self, run: int, follower: Follower) -> None:
        self._followers[run].discard(follower)
        if not self._followers[run]:
            del self._followers[run]

    def publish(self, items: Sequence[Item]) -> None:
        """Hand a committed tick to everyone who follows one of its runs, once each."""
        wanted: defaultdict[Follower, list[Item]] = defaultdict(list)
        for item in items:
            for follower in self._followers.get(item.run, ()):
                wanted[follower].append(item)
        for follower, found in wanted.items():
            follower.deliver(found)
        if settings.REDIS_URL:
            self._soon(self._to_other_processes(items))

    def _soon(self, sending: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(sending)
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    def _say_who_watches(self, comparison: int, people: list[Person]) -> None:
        if settings.REDIS_URL:
            message = {
                "type": "run.watched",
                "comparison": comparison,
                "process": self.process,
                "people": [tuple(person) for person in people],
            }
            self._soon(self._to_group(comparison, message))

    async def _to_group(self, comparison: int, message: dict[str, Any]) -> None:
        try:
            await get_channel_layer().group_send(group(comparison), message)
        except Exception as error:
            # The others forget this process after a while, and hear of it again.
            logger.warning("Redis did not take who is watching: %s", error)

    async def _to_other_processes(self, items: Iterable[Item]) -> None:
        by_group: defaultdict[str, list[tuple[Any, ...]]] = defaultdict(list)
        for item in items:
            by_group[group(item.comparison)].append(tuple(item))
        layer = get_channel_layer()
        results = await asyncio.gather(
            *(
                layer.group_send(name, {"type": "run.items", "items": found})
                for name, found in by_group.items()
            ),
            return_exceptions=True,
        )
        for error in results:
            if isinstance(error, Exception):
                # Followers elsewhere notice the gap, or ask again, and read the log.
                logger.warning("Redis did not take a tick: %s", error)
                return

    async def hang_up(self, code: int, seconds: float = 2) -> None:
        """Close every socket of this process, and give their readers time to hear it."""
        for follower in list(self._sockets):
            follower.hang_up(code)
        deadline = time.monotonic() + seconds
        while self._sockets and time.monotonic() < deadline:
            await asyncio.sleep(0.02)


hub = Hub()
