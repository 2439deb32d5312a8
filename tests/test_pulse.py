"""One beat for all who wait, and what comes behind it."""

import asyncio

from playground.pulse import Pulse


async def test_all_who_wait_go_on_with_one_beat_and_before_what_comes_behind() -> None:
    said: list[str] = []
    pulse = Pulse(lambda: 0.01, lambda: said.append("after"))

    async def wait(name: str) -> None:
        await pulse.next()
        said.append(name)

    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        for name in "abc":
            group.create_task(wait(name))
    await asyncio.sleep(0)
    assert said == ["a", "b", "c", "after"]


async def test_one_who_has_gone_holds_up_nobody() -> None:
    behind = asyncio.Event()
    pulse = Pulse(lambda: 0.01, behind.set)
    gone, woken, waiting = pulse.next(), pulse.next(), pulse.next()
    gone.cancel()
    woken.set_result(None)
    async with asyncio.timeout(30):
        await waiting
        await behind.wait()
    assert waiting.done()
    assert not waiting.cancelled()


async def test_a_beat_may_be_called_without_a_wait_and_asks_for_its_period_each_time() -> None:
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


async def test_in_a_crowd_nobody_listens_until_shortly_before_the_beat() -> None:
    said: list[str] = []
    crowd = [True]
    pulse = Pulse(lambda: 0.02, lambda: said.append("after"), lambda: crowd[0])
    async with asyncio.timeout(30):
        beat = pulse.next()
        assert pulse.deafen(lambda: said.append("listen"))
        while not said:
            await asyncio.sleep(0.001)
        assert not beat.done()
        assert not pulse.deafen(lambda: said.append("too late"))  # what comes now is heard
        await beat
        await asyncio.sleep(0)
        assert said == ["listen", "after"]
        crowd[0] = False
        beat = pulse.next()
        assert not pulse.deafen(lambda: said.append("no crowd"))
        await beat
        await asyncio.sleep(0)
    assert said == ["listen", "after", "after"]
