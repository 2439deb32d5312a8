"""Who follows which run in this process, and how a committed tick reaches them.

Followers here are called directly after the commit. Other processes get the same items through
the relay, if there is Redis; order never rests on it, since a follower compares `seq`.
"""

import asyncio
import secrets
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from playground.presence import Person, Presence, Watcher
from playground.relay import Relay

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
    def read_log(self) -> None: ...
    def deliver(self, items: Sequence[Item]) -> None: ...
    def hang_up(self, code: int) -> None: ...


class Hub:
    """Lives in one event loop; only `publish` may be called from another thread."""

    def __init__(self) -> None:
        self._followers: defaultdict[int, set[Follower]] = defaultdict(set)
        self._sockets: set[Follower] = set()
        self.presence = Presence(self._say_who_watches)
        self.process = secrets.token_hex(8)  # what the other processes know this one by
        self.relay = Relay(self.process, self._heard, self._relay_returned)

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
        self._hand_out(items)
        if items:
            self.relay.say({"items": [tuple(item) for item in items]})

    def _hand_out(self, items: Sequence[Item]) -> None:
        wanted: defaultdict[Follower, list[Item]] = defaultdict(list)
        for item in items:
            for follower in self._followers.get(item.run, ()):
                wanted[follower].append(item)
        for follower, found in wanted.items():
            follower.deliver(found)

    def _say_who_watches(self, comparison: int, people: list[Person]) -> None:
        said = [tuple(person) for person in people]
        self.relay.say({"watched": comparison, "process": self.process, "people": said})

    def _heard(self, message: dict[str, Any]) -> None:
        """What another process said: a tick, or who watches there."""
        if "items" in message:
            self._hand_out([Item(*item) for item in message["items"]])
        else:
            people = [Person(*person) for person in message["people"]]
            self.presence.heard(message["watched"], message["process"], people)

    def _relay_returned(self) -> None:
        """What was said meanwhile was not heard here, and not there what we said."""
        for follower in self._sockets:
            follower.read_log()
        self.presence.say_all()

    async def hang_up(self, code: int, seconds: float = 2) -> None:
        """Close every socket of this process, and give their readers time to hear it."""
        for follower in list(self._sockets):
            follower.hang_up(code)
        deadline = time.monotonic() + seconds
        while self._sockets and time.monotonic() < deadline:
            await asyncio.sleep(0.02)


hub = Hub()
