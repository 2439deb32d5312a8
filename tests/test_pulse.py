"""One beat for all that flows, and what comes behind it."""

import asyncio
import socket
from collections.abc import Callable

from playground.pulse import Pulse


class Flow:
    """Flows for a number of beats."""

    def __init__(self, name: str, beats: int, say: Callable[[str], None]) -> None:
        self.name, self.beats, self.say = name, beats, say

    def take(self) -> bool:
        self.say(f"{self.name} takes")
        self.beats -= 1
        return self.beats > 0

    def deafen(self) -> None:
        self.say(f"{self.name} is deaf")

    def listen(self) -> None:
        self.say(f"{self.name} listens")


class Beats:
    """A pulse of short periods that notes what it does; `behind` is set after each beat."""

    def __init__(self, crowded: bool = False) -> None:
        self.said: list[str] = []
        self.crowded = crowded
        self.behind = asyncio.Event()
        self.pulse = Pulse(lambda: 0.01, self._after, lambda: self.crowded)

    def _after(self) -> None:
        self.said.append("after")
        self.behind.set()

    def join(self, name: str, beats: int) -> None:
        self.pulse.join(Flow(name, beats, self.said.append))

    async def beat(self) -> list[str]:
        """What was said until the end of the next one."""
        self.behind.clear()
        async with asyncio.timeout(30):
            await self.behind.wait()
        said, self.said[:] = list(self.said), []
        return said


async def test_all_that_flow_are_taken_from_with_one_beat_and_before_what_comes_behind() -> None:
    beats = Beats()
    beats.join("a", 1)
    beats.join("b", 2)
    assert await beats.beat() == ["a takes", "b takes", "after"]
    assert await beats.beat() == ["b takes", "after"]
    beats.join("c", 1)
    assert await beats.beat() == ["c takes", "after"]


async def test_a_beat_may_be_called_with_nothing_that_flows() -> None:
    periods = [0.01, 0.02]
    behind = asyncio.Event()
    pulse = Pulse(lambda: periods.pop(0), behind.set)
    async with asyncio.timeout(30):
        for _ in range(2):
            behind.clear()
            pulse.call()
            pulse.call()
            await behind.wait()
    assert periods == []


async def test_in_a_crowd_nobody_listens_until_the_beat() -> None:
    beats = Beats(crowded=True)
    beats.join("a", 2)
    beats.join("b", 2)
    first = ["a is deaf", "b is deaf", "a listens", "b listens", "a takes", "b takes"]
    assert await beats.beat() == [*first, "a is deaf", "b is deaf", "after"]
    beats.crowded = False
    assert await beats.beat() == ["a listens", "b listens", "a takes", "b takes", "after"]
    beats.join("c", 2)
    assert await beats.beat() == ["c takes", "after"]  # no crowd: it listens all the time
    assert await beats.beat() == ["c takes", "after"]


async def test_what_waits_in_the_kernel_is_read_before_it_is_taken() -> None:
    """As a transport does it that begins to read: the loop finds its socket ready."""
    loop = asyncio.get_running_loop()
    heard: list[str] = []
    reader, writer = socket.socketpair()
    reader.setblocking(False)

    class Deaf(Flow):
        def listen(self) -> None:
            loop.add_reader(reader, lambda: heard.append(reader.recv(10).decode()))

        def deafen(self) -> None:
            loop.remove_reader(reader)

        def take(self) -> bool:
            loop.remove_reader(reader)
            self.say(",".join(heard))
            return False

    beats = Beats(crowded=True)
    with reader, writer:
        writer.send(b"there")
        beats.pulse.join(Deaf("a", 1, beats.said.append))
        assert await beats.beat() == ["there", "after"]
