"""What is left when the server dies in the middle, is told to stop, or its backend dies."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
import websockets
from websockets.asyncio.client import connect

from playground.hub import RESTARTING
from tests.fake_provider import FakeProvider, words
from tests.follower import Follower
from tests.server import Person, Server, document, started_before

ENDLESS = words(10_000, 40.0)


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    with FakeProvider() as provider:
        provider.reply_with(ENDLESS)
        yield provider


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(started_before(tmp_path / "data")) as running:
        yield running


def three_streams(server: Server, fake: FakeProvider) -> tuple[Person, list[int]]:
    """Three runs that have saved some text."""
    person = server.user()
    column = {"connection": server.connect("fake", fake.url)}
    _, runs = person.run(document(column, column, column))
    deadline = time.monotonic() + 10
    query = "SELECT count(DISTINCT run_id) AS n FROM playground_runevent WHERE seq > 3"
    while server.rows(query)[0]["n"] < 3:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return person, runs


async def followed_over(
    follower: Follower, happens: Callable[[], Awaitable[None]], seconds: float
) -> None:
    """Follow until the end, while that happens once all three have said something."""
    following = asyncio.create_task(follower.follow())
    while len(follower.texts) < 3:
        await asyncio.sleep(0.02)
    await happens()
    async with asyncio.timeout(seconds):
        await following


def texts(server: Server) -> list[dict[str, object]]:
    query = (
        "SELECT run.id, status, error_message, text FROM playground_run AS run"
        " LEFT JOIN playground_choice AS choice ON choice.run_id = run.id ORDER BY run.id"
    )
    return server.rows(query)


def check_interrupted(server: Server, saved: dict[int, int]) -> None:
    """Interrupted, with at least the text of the rows that were saved, in order and unbroken."""
    wanted = "".join(f"w{i} " for i in range(10_000))
    for row in texts(server):
        assert row["status"] == "interrupted"
        assert len(str(row["text"])) >= saved[int(str(row["id"]))] > 0
        assert wanted.startswith(str(row["text"]))
    assert not server.rows("SELECT id FROM playground_runevent")
    assert not server.rows("SELECT id FROM playground_run WHERE status IN ('running', 'queued')")


def saved_characters(server: Server) -> dict[int, int]:
    """Of each run, a lower bound: what the rows of its log say at this moment."""
    found: dict[int, int] = {}
    for row in server.rows("SELECT run_id, events FROM playground_runevent"):
        size = sum(len(data) for kind, _, data, _ in json.loads(row["events"]) if kind == "text")
        found[row["run_id"]] = found.get(row["run_id"], 0) + size
    return found


def test_after_kill_9_the_text_up_to_the_last_tick_is_there(
    server: Server, fake: FakeProvider
) -> None:
    three_streams(server, fake)
    server.kill()
    saved = saved_characters(server)
    assert len(saved) == 3
    server.start()
    # At once: the first page after the start says so.
    page = server.user().http.get(f"{server.url}/history/").text
    assert "Interrupted" in page
    assert "Running" not in page
    check_interrupted(server, saved)


def test_sigterm_keeps_the_text_and_closes_the_sockets_cleanly(
    server: Server, fake: FakeProvider
) -> None:
    person, runs = three_streams(server, fake)
    follower = Follower(f"ws://127.0.0.1:{server.port}/ws/", person.socket_headers, runs)

    async def stop() -> None:
        assert await asyncio.to_thread(server.terminate) == 0

    asyncio.run(followed_over(follower, stop, 5))
    assert {end["status"] for end in follower.ends.values()} == {"interrupted"}
    assert not follower.wrong()
    check_interrupted(server, dict.fromkeys(runs, 1))
    assert "Traceback" not in server.output


def test_sockets_that_follow_nothing_are_closed_as_for_a_restart(
    server: Server, fake: FakeProvider
) -> None:
    person = server.user()

    async def wait_for_the_end() -> int | None:
        url = f"ws://127.0.0.1:{server.port}/ws/"
        async with connect(url, additional_headers=person.socket_headers, proxy=None) as socket:
            ended = asyncio.to_thread(server.terminate)
            with pytest.raises(websockets.ConnectionClosed):
                await asyncio.gather(ended, socket.recv())
            return socket.close_code

    assert asyncio.run(wait_for_the_end()) == RESTARTING


def test_a_page_left_open_over_a_restart_reconnects_and_sees_the_end(
    server: Server, fake: FakeProvider
) -> None:
    person, runs = three_streams(server, fake)
    follower = Follower(f"ws://127.0.0.1:{server.port}/ws/", person.socket_headers, runs)

    async def crash() -> None:
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)

    asyncio.run(followed_over(follower, crash, 20))
    assert {end["status"] for end in follower.ends.values()} == {"interrupted"}


def test_a_backend_that_dies_fails_the_run_and_the_next_one_works(server: Server) -> None:
    with FakeProvider() as dying:
        dying.reply_with(ENDLESS)
        person, _ = three_streams(server, dying)
    deadline = time.monotonic() + 10
    while {row["status"] for row in texts(server)} != {"failed"}:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    for row in texts(server):
        assert "broke off" in str(row["error_message"])
        assert str(row["text"]).startswith("w0 w1 ")
    with FakeProvider() as again:
        again.reply_with(words(5, None))
        column = {"connection": server.connect("again", again.url)}
        _, [run] = person.run(document(column))
        while server.rows("SELECT status FROM playground_run WHERE id = ?", run) != [
            {"status": "completed"}
        ]:
            assert time.monotonic() < deadline + 10
            time.sleep(0.05)
