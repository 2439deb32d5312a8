"""The runner: start, hold back, stop, drain; and the reaper, who closes what others left."""

import asyncio
import os
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from playground.completion import CompletionRequest
from playground.database import in_thread
from playground.hub import Hub, Item
from playground.models import Comparison, Connection, Process, Run, RunEvent, User
from playground.providers import ProviderError
from playground.reaper import Reaper, start_time, this_host
from playground.runner import Draining, Runner
from playground.runner import runner as the_runner
from playground.targets import list_models
from tests.conftest import request_to, run_all, saved
from tests.fake_provider import DONE, FIN, FakeProvider, Reply, error_reply, text_event, words

pytestmark = pytest.mark.django_db(transaction=True)

HELD = Reply(pieces=[text_event("Par")], end="hold")


async def start(
    runner: Runner, user: User, connection: Connection, n: int = 1, **more: Any
) -> list[Run]:
    membership = await in_thread(user.membership)
    assert membership is not None
    columns = [(connection, request_to(connection, prompt=f"p{i}")) for i in range(n)]
    comparison = await runner.start(membership, columns, **more)
    return [run async for run in comparison.runs.order_by("position")]


async def until(condition: Callable[[], Any], seconds: float = 5) -> None:
    """Wait for something in the database or in memory."""
    deadline = time.monotonic() + seconds
    while not await in_thread(condition):
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.01)


async def end_of(runner: Runner, *runs: Run) -> list[Run]:
    ids = [run.pk for run in runs]
    await asyncio.wait_for(runner.wait(ids), 10)
    return await saved(ids)


def text_of(run: Run) -> str:
    """Of the one choice, which `saved` has read already."""
    [choice] = run.choices.all()
    return str(choice.text)


def count(status: str) -> int:
    return Run.objects.filter(status=status).count()


# --- Running -------------------------------------------------------------------------------


async def test_a_run_is_sent_and_saved(
    runner: Runner, alice: User, connection: Connection, provider: FakeProvider
) -> None:
    [run] = await run_all(runner, alice, [(connection, request_to(connection))])
    assert provider.posts[0].json == request_to(connection).body()
    assert run.status == "completed"
    assert text_of(run) == "".join(f"w{n} " for n in range(20))
    assert run.started_at is not None
    assert run.finished_at is not None
    assert (run.total_ms or 0) >= (run.first_token_ms or 0) > 0


async def test_the_first_event_is_saved_while_the_rest_is_on_its_way(
    runner: Runner, alice: User, connection: Connection, provider: FakeProvider
) -> None:
    provider.reply_with(HELD)
    [run] = await start(runner, alice, connection)
    await until(lambda: RunEvent.objects.filter(run=run).exists(), 1)
    await until(lambda: runner.committed(run.pk) == 1)
    assert not provider.posts[0].closed.is_set()
    await runner.stop(run)
    [ended] = await end_of(runner, run)
    assert (ended.status, text_of(ended)) == ("cancelled", "Par")


async def test_one_bad_column_stops_no_other(
    runner: Runner, alice: User, connect: Callable[..., Connection], provider: FakeProvider
) -> None:
    good = await in_thread(connect, "good")
    gone = await in_thread(connect, "gone", base_url="http://127.0.0.1:9/v1")
    provider.on("bad", error_reply(500, {"error": {"message": "boom"}}))
    requests = [
        (good, request_to(good, model="fine")),
        (good, request_to(good, model="bad")),
        (gone, request_to(gone)),
    ]
    runs = await run_all(runner, alice, requests)
    assert [(run.status, run.error_kind) for run in runs] == [
        ("completed", ""), ("failed", "unavailable"), ("failed", "connection"),
    ]  # fmt: skip
    assert (runs[1].error_message, runs[1].error_status) == ("boom", 500)


async def test_a_deleted_connection_is_said(
    runner: Runner, alice: User, connection: Connection, settings: Any
) -> None:
    settings.RUNS_AT_ONCE = 0
    [run] = await start(runner, alice, connection)
    await connection.adelete()
    settings.RUNS_AT_ONCE = 9
    await until(lambda: not Run.objects.get(pk=run.pk).live)  # the next beat finds room
    [ended] = await end_of(runner, run)
    assert (ended.status, ended.error_message) == ("failed", "This connection was deleted.")


async def test_a_key_that_cannot_be_decrypted_is_asked_for_again(
    runner: Runner,
    alice: User,
    connect: Callable[..., Connection],
    provider: FakeProvider,
    settings: Any,
) -> None:
    keyed = await in_thread(connect, key="sk-test-SECRET01")
    settings.ENCRYPTION_KEYS = ["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]
    [run] = await run_all(runner, alice, [(keyed, request_to(keyed))])
    assert (run.status, run.error_kind) == ("failed", "auth")
    assert "has to enter it again" in run.error_message
    locked = await Connection.objects.aget(pk=keyed.pk)
    with pytest.raises(ProviderError, match="has to enter it again"):
        await list_models(locked)
    assert provider.requests == []


async def test_a_key_is_used_and_its_use_is_noted(
    runner: Runner, alice: User, connect: Callable[..., Connection], provider: FakeProvider
) -> None:
    keyed = await in_thread(connect, key="sk-test-SECRET01")
    await run_all(runner, alice, [(keyed, request_to(keyed))])
    assert provider.posts[0].headers["authorization"] == "Bearer sk-test-SECRET01"
    key = await keyed.keys.aget()
    assert key.last_used_at is not None


# --- Limits --------------------------------------------------------------------------------


async def test_a_connection_is_sent_no_more_than_it_takes_and_in_order(
    runner: Runner, alice: User, connect: Callable[..., Connection], provider: FakeProvider
) -> None:
    narrow = await in_thread(connect, parallel=2)
    most = 0

    def reply(_: object) -> Reply:
        nonlocal most
        most = max(most, provider.open)
        return Reply(pieces=[text_event("a"), 0.03, FIN, DONE])

    provider.reply_with(reply)
    runs = await start(runner, alice, narrow, 7)
    for run in runs:
        await until(lambda run=run: not Run.objects.get(pk=run.pk).live)
    assert most == 2
    prompts = [post.json["prompt"] for post in provider.posts]
    assert sorted(prompts) == [f"p{n}" for n in range(7)]
    for place, prompt in enumerate(prompts):
        assert abs(place - int(prompt[1:])) <= 1  # two are on their way at a time
    assert {run.status for run in await end_of(runner, *runs)} == {"completed"}


async def test_a_process_runs_no_more_at_once_than_it_may(
    runner: Runner, alice: User, connection: Connection, provider: FakeProvider, settings: Any
) -> None:
    settings.RUNS_AT_ONCE = 3
    provider.reply_with(HELD)
    runs = await start(runner, alice, connection, 5)
    await asyncio.to_thread(provider.wait_for_request, 3)
    assert await in_thread(count, "running") == 3
    assert await in_thread(count, "queued") == 2
    provider.reply_with(words(2))
    for run in runs[:3]:
        await runner.stop(run)
    for run in runs:
        await until(lambda run=run: not Run.objects.get(pk=run.pk).live)
    ended = await end_of(runner, *runs)
    assert [run.status for run in ended] == ["cancelled"] * 3 + ["completed"] * 2
    assert provider.open == 0


# --- Stopping ------------------------------------------------------------------------------


async def test_stop_closes_the_connection_and_keeps_the_text(
    runner: Runner, alice: User, connection: Connection, provider: FakeProvider
) -> None:
    provider.reply_with(HELD)
    [run] = await start(runner, alice, connection)
    await until(lambda: runner.committed(run.pk) == 1)
    await runner.stop(run)
    [ended] = await end_of(runner, run)
    assert await asyncio.to_thread(provider.posts[0].closed.wait, 1)
    assert provider.posts[0].dropped
    assert (ended.status, ended.error_kind) == ("cancelled", "")
    assert text_of(ended) == "Par"
    provider.reply_with(words(2))
    [following] = await run_all(runner, alice, [(connection, request_to(connection))])
    assert following.status == "completed"


async def test_stop_before_the_first_byte(
    runner: Runner, alice: User, connection: Connection, provider: FakeProvider
) -> None:
    provider.reply_with(Reply(delay=30))
    [run] = await start(runner, alice, connection)
    await asyncio.to_thread(provider.wait_for_request)
    await runner.stop(run)
    [ended] = await end_of(runner, run)
    assert ended.status == "cancelled"
    assert await asyncio.to_thread(provider.posts[0].closed.wait, 1)


async def test_stop_of_a_run_that_waits_sends_nothing(
    runner: Runner, alice: User, connect: Callable[..., Connection], provider: FakeProvider
) -> None:
    narrow = await in_thread(connect, parallel=1)
    provider.reply_with(HELD)
    first, second, third = await start(runner, alice, narrow, 3)
    await asyncio.to_thread(provider.wait_for_request)
    await runner.stop(second)
    [ended] = await end_of(runner, second)
    assert (ended.status, ended.started_at) == ("cancelled", None)
    provider.reply_with(words(2))
    await runner.stop(first)
    await until(lambda: not Run.objects.get(pk=third.pk).live)
    assert [post.json["prompt"] for post in provider.posts] == ["p0", "p2"]


async def test_stop_twice_and_after_the_end_does_no_harm(
    runner: Runner, alice: User, connection: Connection, provider: FakeProvider
) -> None:
    [done] = await run_all(runner, alice, [(connection, request_to(connection))])
    await runner.stop(done)
    provider.reply_with(HELD)
    [run] = await start(runner, alice, connection)
    await until(lambda: runner.committed(run.pk) == 1)
    await asyncio.gather(*(runner.stop(run) for _ in range(5)))
    [ended] = await end_of(runner, run)
    assert (ended.status, text_of(ended)) == ("cancelled", "Par")
    await runner.stop(run)
    assert [each.status for each in await saved([done.pk, run.pk])] == ["completed", "cancelled"]


@pytest.mark.parametrize("waiting", [False, True])
async def test_a_wish_to_stop_of_another_process_is_honoured(
    runner: Runner,
    alice: User,
    connect: Callable[..., Connection],
    provider: FakeProvider,
    waiting: bool,
) -> None:
    narrow = await in_thread(connect, parallel=1)
    provider.reply_with(HELD)
    runs = await start(runner, alice, narrow, 2)
    await asyncio.to_thread(provider.wait_for_request)
    run = runs[waiting]
    await Run.objects.filter(pk=run.pk).aupdate(cancel_requested_at=timezone.now())
    began = time.monotonic()
    await until(lambda: not Run.objects.get(pk=run.pk).live)
    assert time.monotonic() - began < 2
    assert (await end_of(runner, run))[0].status == "cancelled"
    assert (await saved([runs[not waiting].pk]))[0].live


@pytest.mark.parametrize("taken", ["owner", "status"])
async def test_a_run_that_another_process_took_is_given_up(
    runner: Runner, alice: User, connection: Connection, provider: FakeProvider, taken: str
) -> None:
    go_on = threading.Event()

    async def more(_: object) -> bytes:
        while not go_on.is_set():
            await asyncio.sleep(0.005)
        return text_event(" more")

    provider.reply_with(Reply(pieces=[text_event("Par"), more], end="hold"))
    [run] = await start(runner, alice, connection)
    await until(lambda: runner.committed(run.pk) == 1)
    other = await Process.objects.acreate(host="other", pid=1, started="1")
    changes = {"owner": other} if taken == "owner" else {"owner": None, "status": "interrupted"}
    await Run.objects.filter(pk=run.pk).aupdate(**changes)
    go_on.set()
    assert await asyncio.to_thread(provider.posts[0].closed.wait, 2)
    await end_of(runner, run)
    rows = [row async for row in RunEvent.objects.filter(run=run)]
    assert [row.seq for row in rows] == [1]
    assert "more" not in rows[0].events
    [found] = await saved([run.pk])
    assert found.status == changes.get("status", "running")


# --- Start and end of a process ------------------------------------------------------------


async def test_drain_interrupts_what_runs_and_what_waits(
    runner: Runner, alice: User, connect: Callable[..., Connection], provider: FakeProvider
) -> None:
    narrow = await in_thread(connect, parallel=1)
    provider.reply_with(HELD)
    runs = await start(runner, alice, narrow, 2)
    await until(lambda: runner.committed(runs[0].pk) == 1)
    await runner.drain(0)
    running, waiting = await saved([run.pk for run in runs])
    assert (running.status, text_of(running)) == ("interrupted", "Par")
    assert "what had arrived is kept" in running.error_message
    assert (waiting.status, waiting.started_at) == ("interrupted", None)
    assert waiting.error_message.startswith("Not sent")
    assert len(provider.posts) == 1
    with pytest.raises(Draining):
        await start(runner, alice, narrow)
    assert not await Process.objects.filter(ended_at=None).aexists()


async def test_drain_lets_short_runs_end(
    runner: Runner, alice: User, connection: Connection, provider: FakeProvider
) -> None:
    provider.reply_with(Reply(pieces=[text_event("a"), 0.1, FIN, DONE]))
    runs = await start(runner, alice, connection)
    await runner.drain(5)
    assert [run.status for run in await saved([run.pk for run in runs])] == ["completed"]


def left_behind(user: User, connection: Connection, owner: Process) -> list[Run]:
    """A running run with two rows of log, and a queued one."""
    membership = user.membership()
    assert membership is not None
    columns: list[tuple[Connection, CompletionRequest]] = [(connection, request_to(connection))] * 2
    comparison = Comparison.objects.begin(membership, columns, owner=owner)
    runs = list(comparison.runs.order_by("position"))
    assert runs[0].take(owner)
    for seq, text in enumerate(["Half ", "an"], start=1):
        RunEvent.objects.create(run=runs[0], seq=seq, events=f'[["text",0,"{text}",[[1.0,5]]]]')
    return runs


def closed(runs: list[Run]) -> bool:
    for run in runs:
        run.refresh_from_db()
    if any(run.live for run in runs):
        return False
    assert [run.status for run in runs] == ["interrupted", "interrupted"]
    assert text_of(runs[0]) == "Half an"
    assert runs[1].error_message.startswith("Not sent")
    assert not RunEvent.objects.exists()
    return True


@pytest.fixture
def me(db: None) -> Process:
    pid = os.getpid()
    return Process.objects.create(host=this_host(), pid=pid, started=start_time(pid))


def dead_pid() -> int:
    done = subprocess.Popen(["true"])
    done.wait()
    return done.pid


@pytest.mark.parametrize("reused", [False, True])
def test_a_dead_process_of_this_host_is_seen_at_once(
    alice: User, connection: Connection, me: Process, reused: bool
) -> None:
    pid = os.getppid() if reused else dead_pid()
    gone = Process.objects.create(host=me.host, pid=pid, started="12345")
    runs = left_behind(alice, connection, gone)
    items = Reaper(me).reap()
    assert closed(runs)
    assert [item.run for item in items] == [run.pk for run in runs]
    assert all(item.finished for item in items)
    gone.refresh_from_db()
    assert gone.ended_at is not None
    assert Reaper(me).reap() == []


def test_a_living_process_of_this_host_is_left_alone(
    alice: User, connection: Connection, me: Process
) -> None:
    pid = os.getppid()
    alive = Process.objects.create(host=me.host, pid=pid, started=start_time(pid))
    runs = left_behind(alice, connection, alive)
    mine = left_behind(alice, connection, me)
    assert Reaper(me).reap() == []
    assert all(run.live for run in runs + mine)


def test_what_has_its_name_alone_in_common_is_not_this_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two machines that were never renamed, or a container that has the name of its machine."""
    here = this_host()
    monkeypatch.setattr(os, "readlink", lambda path: "pid:[4026532000]")
    assert this_host() != here
    monkeypatch.setattr(Path, "read_text", lambda path, **options: "another machine's id")
    assert "another machine's id" in this_host()
    assert this_host().split()[0] == here.split()[0]


def test_elsewhere_a_heartbeat_that_stands_still_is_a_dead_process(
    alice: User, connection: Connection, me: Process, settings: Any
) -> None:
    settings.REAP_SECONDS = 30
    now = 1000.0
    reaper = Reaper(me, clock=lambda: now)
    other = Process.objects.create(host="elsewhere", pid=me.pid, started=me.started, heartbeat=7)
    runs = left_behind(alice, connection, other)
    for beat in (7, 8, 9):  # it lives
        Process.objects.filter(pk=other.pk).update(heartbeat=beat)
        assert reaper.reap() == []
        now += 29
        assert reaper.reap() == []
    now += 1
    assert len(reaper.reap()) == 2
    assert closed(runs)


def test_a_run_whose_process_row_is_gone_is_closed(
    alice: User, connection: Connection, me: Process
) -> None:
    owner = Process.objects.create(host="elsewhere", pid=1, started="1")
    runs = left_behind(alice, connection, owner)
    owner.delete()
    assert len(Reaper(me).reap()) == 2
    assert closed(runs)


def test_of_two_reapers_at_once_each_run_is_closed_by_one(
    alice: User, connection: Connection, me: Process
) -> None:
    gone = Process.objects.create(host=me.host, pid=dead_pid(), started="1")
    runs = [run for _ in range(5) for run in left_behind(alice, connection, gone)]
    start, items = threading.Barrier(4), []

    def reap() -> None:
        process = Process.objects.create(host=me.host, pid=me.pid, started=me.started)
        start.wait()
        items.extend(Reaper(process).reap())
        connections.close_all()

    threads = [threading.Thread(target=reap) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(item.run for item in items) == [run.pk for run in runs]
    assert not Run.objects.filter(status__in=("queued", "running")).exists()


async def test_binding_closes_what_a_crash_left(
    alice: User, connection: Connection, me: Process
) -> None:
    gone = await Process.objects.acreate(host=me.host, pid=dead_pid(), started="1")
    runs = await in_thread(left_behind, alice, connection, gone)
    await the_runner.bind()
    try:
        assert await in_thread(closed, runs)
    finally:
        await the_runner.drain(0)


# --- The hub -------------------------------------------------------------------------------


class Follower:
    def __init__(self) -> None:
        self.got: list[tuple[int, int]] = []
        self.code = 0

    def deliver(self, items: Any) -> None:
        self.got += [(item.run, item.seq) for item in items]

    def hang_up(self, code: int) -> None:
        self.code = code


def item(run: int, seq: int) -> Item:
    return Item(run, 1, seq, "[]")


def test_the_hub_hands_on_in_order_and_only_what_is_followed() -> None:
    hub, one, two = Hub(), Follower(), Follower()
    hub.follow(1, one)
    hub.follow(2, one)
    hub.follow(2, two)
    hub.publish([item(1, 1), item(2, 1), item(3, 1)])
    hub.publish([item(2, 2), item(1, 2)])
    assert one.got == [(1, 1), (2, 1), (2, 2), (1, 2)]
    assert two.got == [(2, 1), (2, 2)]
    hub.unfollow(2, one)
    hub.leave(two)
    hub.unfollow(9, two)  # harmless
    hub.publish([item(1, 3), item(2, 3)])
    assert one.got[4:] == [(1, 3)]
    assert two.got[2:] == []


async def test_the_hub_hangs_up_and_waits_a_moment_for_the_readers() -> None:
    hub, one = Hub(), Follower()
    hub.open(one)
    began = time.monotonic()
    await hub.hang_up(4012, seconds=0.05)
    assert one.code == 4012
    assert 0.04 < time.monotonic() - began < 1
    hub.leave(one)
    await hub.hang_up(4012, seconds=60)


# --- Hundreds ------------------------------------------------------------------------------


async def test_two_hundred_runs_of_one_press_go_six_at_a_time(
    runner: Runner, alice: User, connect: Callable[..., Connection], provider: FakeProvider
) -> None:
    narrow = await in_thread(connect, "narrow", parallel=6)
    provider.reply_with(words(3, 200))
    runs = await start(runner, alice, narrow, 200)
    ids = [run.pk for run in runs]
    most = 0
    waiting = asyncio.create_task(runner.wait(ids))
    while not waiting.done():
        most = max(most, await in_thread(count, "running"))
        await asyncio.sleep(0.01)
    ended = await saved(ids)
    assert {run.status for run in ended} == {"completed"}
    assert 1 < most <= 6
    assert sorted(post.json["prompt"] for post in provider.posts) == sorted(
        f"p{i}" for i in range(200)
    )
    started = [run.started_at for run in ended if run.started_at]
    assert started == sorted(started)  # in their order
    # Waiting is no latency: the last one waited for all the others.
    last = ended[-1]
    assert last.waited is not None
    assert (last.total_ms or 0) / 1000 < last.waited.total_seconds()


async def test_hundreds_are_stopped_at_once(
    runner: Runner, alice: User, connect: Callable[..., Connection], provider: FakeProvider
) -> None:
    narrow = await in_thread(connect, "narrow", parallel=6)
    provider.reply_with(HELD)
    runs = await start(runner, alice, narrow, 200)
    await until(lambda: len(provider.posts) == 6)
    queries: list[str] = []

    def stop_live() -> None:
        with CaptureQueriesContext(connections["default"]) as captured:
            Run.objects.filter(pk__in=[run.pk for run in runs]).stop_live(runner._process)
        queries.extend(query["sql"] for query in captured)

    await in_thread(stop_live)
    assert len(queries) < 8
    await runner.stop_all(runs)
    ended = await end_of(runner, *runs)
    assert {run.status for run in ended} == {"cancelled"}
    assert len(provider.posts) == 6
    assert sum(run.started_at is not None for run in ended) == 6
