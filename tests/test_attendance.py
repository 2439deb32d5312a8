"""Whoever may no longer be here is out within seconds: sockets, running and waiting requests."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient
from django.urls import reverse

from playground import attendance
from playground.database import in_thread
from playground.hub import SESSION_ENDED, hub
from playground.models import Connection, Membership, Run, User
from playground.runner import Runner
from tests.conftest import saved
from tests.fake_provider import FakeProvider, Reply, text_event
from tests.test_consumers import enter, start  # noqa: F401 (a fixture)

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("quick_hashes"),
]
HELD = Reply(pieces=[text_event("Par")], end="hold")
SECONDS = 10  # of patience; without us nothing would ever end


async def status_of(run: Run, *wanted: str) -> Run:
    deadline = time.monotonic() + SECONDS
    while True:
        [found] = await saved([run.pk])
        if found.status in wanted:
            return found
        assert time.monotonic() < deadline, found.status


@sync_to_async
def deactivated(user: User) -> None:
    user.is_active = False
    user.save()


@sync_to_async
def elsewhere(user: User) -> None:
    """As another process or program does it: nothing is told to this one."""
    User.objects.filter(pk=user.pk).update(is_active=False)


@sync_to_async
def removed(user: User) -> None:
    user.memberships.get().end()


@sync_to_async
def deleted(user: User) -> None:
    user.delete()


@pytest.mark.parametrize("how", [deactivated, elsewhere, removed, deleted])
async def test_running_requests_end(
    runner: Runner, bob: User, connection: Connection, provider: FakeProvider, how: Any
) -> None:
    provider.reply_with(HELD)
    [run] = await start(runner, bob, connection)
    await status_of(run, "running")
    while runner.committed(run.pk) != 1:
        await asyncio.sleep(0.01)
    await how(bob)
    ended = await status_of(run, "cancelled")
    assert "may not start runs here any more" in ended.error_message
    assert ended.choices.all()[0].text == "Par"
    assert await in_thread(provider.posts[0].closed.wait, SECONDS)


async def test_others_go_on(
    runner: Runner, alice: User, bob: User, connection: Connection, provider: FakeProvider
) -> None:
    provider.reply_with(HELD)
    [hers] = await start(runner, alice, connection)
    while not provider.posts:
        await asyncio.sleep(0.01)
    [his] = await start(runner, bob, connection)
    while len(provider.posts) < 2:
        await asyncio.sleep(0.01)
    await deactivated(bob)
    await status_of(his, "cancelled")
    assert await in_thread(provider.posts[1].closed.wait, SECONDS)
    await status_of(hers, "running")
    assert not provider.posts[0].closed.is_set()


async def test_who_becomes_a_reviewer_keeps_what_runs_and_sends_no_more(
    runner: Runner, bob: User, connection: Connection, provider: FakeProvider
) -> None:
    """What runs is paid for, and the team sees it; what waits is not sent."""
    connection.parallel = 1
    await connection.asave()
    provider.reply_with(HELD)
    running, waiting = await start(runner, bob, connection, 2)
    await status_of(running, "running")
    membership = await Membership.objects.aget(user=bob)
    await in_thread(membership.become, "reviewer")
    await status_of(waiting, "cancelled")
    await status_of(running, "running")
    assert len(provider.posts) == 1
    client = AsyncClient()
    await client.aforce_login(bob)
    refused = await client.post(reverse("start"), {"document": "{}"})
    assert refused.status_code == 403


@pytest.mark.parametrize("how", [deactivated, elsewhere, deleted])
async def test_sockets_close_without_being_asked(
    enter: Callable[..., Any],  # noqa: F811
    runner: Runner,
    bob: User,
    how: Any,
) -> None:
    page = await enter(bob)
    await how(bob)
    assert await page.close_code(SECONDS) == SESSION_ENDED


@pytest.mark.parametrize("what", ["logout", "password"])
async def test_a_session_that_ends_takes_its_sockets_along(
    enter: Callable[..., Any],  # noqa: F811
    runner: Runner,
    bob: User,
    what: str,
) -> None:
    page, other = await enter(bob), await enter(bob)
    if what == "logout":
        await page.client.post(reverse("logout"))
    else:
        data = {"new_password1": "sturgeon-paddle-17", "new_password2": "sturgeon-paddle-17"}
        await other.client.post(reverse("password"), data)
    assert await page.close_code(SECONDS) == SESSION_ENDED
    assert (await other.client.get("/history/")).status_code == 200


async def test_who_is_removed_hears_no_more_of_the_team(
    enter: Callable[..., Any],  # noqa: F811
    runner: Runner,
    alice: User,
    bob: User,
    connection: Connection,
    provider: FakeProvider,
) -> None:
    provider.reply_with(HELD)
    [run] = await start(runner, alice, connection)
    page = await enter(bob)
    await page.follow(run)
    await page.until(lambda: page.texts)
    await removed(bob)
    deadline = time.monotonic() + SECONDS
    while hub._followers.get(run.pk):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)
    await page.follow(run, last=1)
    await page.until(lambda: page.errors, SECONDS)
    assert page.errors == [{"error": "not found", "run": run.pk}]


async def test_a_look_costs_few_queries_however_many_are_here(
    enter: Callable[..., Any],  # noqa: F811
    runner: Runner,
    alice: User,
    bob: User,
    rita: User,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for user in (alice, bob, rita, rita):
        await enter(user)
    counted: list[str] = []
    here = asyncio.current_task()

    async def counting(function: Any, *arguments: Any) -> Any:
        if asyncio.current_task() is here:  # the runner looks, too, once a second
            counted.append(function.__name__)
        return await in_thread(function, *arguments)

    monkeypatch.setattr(attendance, "in_thread", counting)
    await runner._heartbeat._attendance.look()
    assert counted == ["standings", "open_sessions", "unallowed_runs"]
