"""The socket: who may connect, what is said to whom, and that nothing is lost on the way."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import pytest
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.contrib.auth import get_user_model
from django.test import AsyncClient
from hypothesis import given
from hypothesis import strategies as st

from playground import consumers, forwarding
from playground.asgi import application, is_own
from playground.database import in_thread
from playground.following import Following, positions
from playground.hub import MALFORMED, RESTARTING, SESSION_ENDED, hub
from playground.log import Ending, close_run
from playground.models import Comparison, Connection, Process, Run, RunEvent, User
from playground.runner import Runner
from tests.conftest import request_to
from tests.fake_provider import FakeProvider, Reply, text_event, word_pieces

pytestmark = pytest.mark.django_db(transaction=True)

ORIGIN = settings.PUBLIC_URL


class Page:
    """A socket of a logged-in person; closed at the end of the test."""

    def __init__(self, client: AsyncClient, origin: str | None = ORIGIN) -> None:
        cookie = client.cookies.get(settings.SESSION_COOKIE_NAME)
        headers = []
        if cookie:
            headers.append((b"cookie", f"{settings.SESSION_COOKIE_NAME}={cookie.value}".encode()))
        if origin is not None:
            headers.append((b"origin", origin.encode("latin-1", "replace")))
        self.client = client
        self.socket = WebsocketCommunicator(application, "/ws/", headers=headers)
        self.texts: dict[int, str] = {}
        self.seqs: dict[int, list[int]] = {}
        self.ends: dict[int, dict[str, Any]] = {}
        self.errors: list[dict[str, Any]] = []
        self.watching: list[dict[str, Any]] = []
        self.told = 0  # how often who is watching was said

    async def say(self, message: Any) -> None:
        await self.socket.send_to(
            text_data=message if isinstance(message, str) else json.dumps(message)
        )

    async def follow(self, *runs: Run, last: int = 0) -> None:
        await self.say({"follow": {run.pk: last for run in runs}})

    async def take(self, seconds: float = 3) -> dict[str, Any]:
        """The next message, noted."""
        message: dict[str, Any] = json.loads(await self.socket.receive_from(timeout=seconds))
        for row in message.get("events", []):
            self.seqs.setdefault(row["run"], []).append(row["seq"])
            for kind, _, data, _ in row["events"]:
                if kind == "text":
                    self.texts[row["run"]] = self.texts.get(row["run"], "") + data
        for end in message.get("finished", []):
            self.ends[end["run"]] = end
        if "watching" in message:
            self.watching = message["watching"]["people"]
            self.told += 1
        if "error" in message:
            self.errors.append(message)
        return message

    async def until(self, condition: Callable[[], Any], seconds: float = 10) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline
            await self.take()

    async def close_code(self, seconds: float = 3) -> int:
        while True:
            output = await self.socket.receive_output(seconds)
            if output["type"] == "websocket.close":
                return int(output["code"])


@pytest.fixture
async def enter(runner: Runner) -> AsyncIterator[Callable[..., Any]]:
    """Log a person in and connect; None is a stranger."""
    pages: list[Page] = []

    async def connect(user: User | None, origin: str | None = ORIGIN) -> Page:
        client = AsyncClient()
        if user:
            await client.aforce_login(user)
        pages.append(Page(client, origin))
        connected, _ = await pages[-1].socket.connect()
        assert connected
        return pages[-1]

    yield connect
    for page in pages:
        await page.socket.disconnect()


async def start(
    runner: Runner, user: User, connection: Connection, n: int = 1, **more: Any
) -> list[Run]:
    membership = await in_thread(user.membership)
    assert membership is not None
    columns = [(connection, request_to(connection))] * n
    comparison = await runner.start(membership, columns, **more)
    return [run async for run in comparison.runs.order_by("position")]


def elsewhere(user: User, connection: Connection, rows: int = 0, size: int = 10) -> Run:
    """A live run of another process, with a log."""
    membership = user.membership()
    assert membership is not None
    owner = Process.objects.create(host="elsewhere", pid=1, started="1")
    columns = [(connection, request_to(connection))]
    Comparison.objects.begin(membership, columns, owner=owner)
    [run] = Run.objects.claim(1, owner)
    write(run, range(1, rows + 1), size)
    return run


def row_text(seq: int, size: int) -> str:
    return f"{seq:0{size - 1}d} "


def write(run: Run, seqs: range, size: int = 10) -> None:
    RunEvent.objects.bulk_create(
        RunEvent(
            run=run, seq=seq, events=json.dumps([["text", 0, row_text(seq, size), [[1, size]]]])
        )
        for seq in seqs
    )


def finish(run: Run) -> None:
    close_run(run.pk, Ending("completed"), [])  # type: ignore[arg-type]


# --- Who may connect -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "origin",
    [None, "", "null", "http://", "http://[", "a" * 200_000, "http://evil.example",
     ORIGIN + ".evil.example", ORIGIN.replace("http", "https"), "http://h:port", "ü", "//x",
     ORIGIN.replace("8000", "8001"), "http://127.0.0.1:8000@evil.example"],
    ids=lambda origin: str(origin)[:30],
)  # fmt: skip
async def test_another_origin_is_refused_without_a_traceback(
    alice: User, origin: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    client = AsyncClient()
    await client.aforce_login(alice)
    page = Page(client, origin)
    connected, _ = await page.socket.connect()
    assert not connected
    [record] = [each for each in caplog.records if each.name == "playground.asgi"]
    assert "PUBLIC_URL" in record.getMessage()
    assert len(record.getMessage()) < 500
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize("origin", [ORIGIN, "http://localhost:8000", "http://[::1]:8000",
                                    ORIGIN + "/", "HTTP://LOCALHOST:8000"])  # fmt: skip
def test_its_own_origins_are_known(origin: str) -> None:
    assert is_own(origin)


@given(st.text() | st.text().map("http://{}".format))
def test_no_origin_raises(origin: str) -> None:
    assert is_own(origin) in (True, False)


async def test_a_stranger_is_sent_to_the_login(enter: Any) -> None:
    page = await enter(None)
    assert await page.close_code() == SESSION_ENDED


# --- What is said to whom ------------------------------------------------------------------


async def test_it_streams_a_run_from_beginning_to_end(
    enter: Any, runner: Runner, alice: User, bob: User, connection: Connection,
    provider: FakeProvider,
) -> None:  # fmt: skip
    provider.reply_with(lambda _: Reply(pieces=word_pieces(40, rate=200)))
    pages = [await enter(alice), await enter(bob)]
    [run] = await start(runner, alice, connection)
    for page in pages:
        await page.follow(run)
        await page.until(lambda page=page: run.pk in page.ends)
        wanted = "".join(f"w{n} " for n in range(40))
        assert wanted.startswith(page.texts.get(run.pk, ""))
        assert page.ends[run.pk]["status"] == "completed"
        assert page.ends[run.pk]["choices"][0]["length"] == len(wanted)
    seqs = pages[0].seqs[run.pk]
    assert seqs == list(range(1, len(seqs) + 1))


@pytest.mark.parametrize("who", ["charlie", "bob"])
async def test_a_run_that_one_may_not_see_is_like_one_that_is_not_there(
    enter: Any, runner: Runner, alice: User, connection: Connection, provider: FakeProvider,
    who: str, request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    other = await in_thread(request.getfixturevalue, who)
    provider.reply_with(Reply(pieces=[text_event("secret")], end="hold"))
    visibility = "private" if who == "bob" else "team"
    [run] = await start(runner, alice, connection, visibility=visibility)
    page = await enter(other)
    await page.follow(run)
    assert await page.take() == {"error": "not found", "run": run.pk}
    await page.say({"follow": {run.pk + 1000: 0}})
    assert await page.take() == {"error": "not found", "run": run.pk + 1000}
    assert await page.socket.receive_nothing(0.1)
    own = await enter(alice)
    await own.follow(run)
    await own.until(lambda: own.texts)
    assert await page.socket.receive_nothing(0.05)


@pytest.mark.parametrize(
    "message",
    [" ", "x", "[]", "7", "null", "{}", '{"follow": 1}', '{"follow": {"a": 1}}',
     '{"follow": {"1": "x"}}', '{"follow": {"1": null}}', '{"follow": {"-1": 0}}',
     '{"follow": {"1": -1}}', '{"follow": {"1": 1e400}}', '{"follow": {"1": 99999999999999}}',
     '{"follow": {"1": NaN}}', "[" * 60_000, '"' + "x" * 70_000 + '"', '{"follow": [1, 2]}'],
    ids=lambda message: message[:30],
)  # fmt: skip
async def test_a_malformed_message_is_answered_and_the_socket_lives(
    enter: Any, alice: User, connection: Connection, message: str
) -> None:
    page = await enter(alice)
    await page.say(message)
    answer = await page.take()
    assert answer["error"].endswith(".")
    run = await in_thread(elsewhere, alice, connection, 1)
    await page.follow(run)
    await page.until(lambda: page.texts.get(run.pk))


async def test_a_socket_that_sends_nothing_else_is_closed(enter: Any, alice: User) -> None:
    page = await enter(alice)
    for _ in range(consumers.MOST_MALFORMED + 5):
        await page.say("x")
    assert await page.close_code() == MALFORMED


async def test_bytes_are_answered_too(enter: Any, alice: User) -> None:
    page = await enter(alice)
    await page.socket.send_to(bytes_data=b"\x00\xff")
    assert "JSON text" in (await page.take())["error"]


@given(st.text() | st.recursive(st.none() | st.floats() | st.integers() | st.text(),
       lambda inner: st.lists(inner) | st.dictionaries(st.just("follow") | st.text(), inner),
       max_leaves=4).map(json.dumps))  # fmt: skip
def test_any_message_is_understood_or_refused(message: str) -> None:
    with suppress(ValueError):
        found = positions(message)
        assert all(0 <= number < 2**31 for pair in found.items() for number in pair)


# --- Replay --------------------------------------------------------------------------------


@pytest.mark.parametrize("last", [0, 1, 7, 19, 20])
async def test_it_replays_from_any_position(
    enter: Any, alice: User, connection: Connection, last: int
) -> None:
    run = await in_thread(elsewhere, alice, connection, 20)
    page = await enter(alice)
    await page.follow(run, last=last)
    await page.until(lambda: last == 20 or page.seqs.get(run.pk, [0])[-1] == 20)
    assert page.seqs.get(run.pk, []) == list(range(last + 1, 21))
    await in_thread(write, run, range(21, 24))  # another process goes on; nobody tells us
    await page.until(lambda: page.seqs.get(run.pk, [0])[-1] == 23)
    await in_thread(finish, run)
    await page.until(lambda: run.pk in page.ends)
    assert page.seqs[run.pk] == list(range(last + 1, 24))
    assert page.ends[run.pk]["choices"][0]["length"] == 230


async def test_a_position_beyond_the_end_gets_the_end_only(
    enter: Any, alice: User, connection: Connection
) -> None:
    run = await in_thread(elsewhere, alice, connection, 3)
    page = await enter(alice)
    await page.follow(run, last=1000)
    assert await page.socket.receive_nothing(0.1)
    await in_thread(finish, run)
    await page.until(lambda: run.pk in page.ends)
    assert page.texts == {}


@pytest.mark.parametrize("last", [0, 2, 99])
async def test_a_finished_run_is_said_to_be_finished(
    enter: Any, alice: User, connection: Connection, last: int
) -> None:
    run = await in_thread(elsewhere, alice, connection, 2)
    await in_thread(finish, run)
    page = await enter(alice)
    for _ in range(2):
        await page.follow(run, last=last)
        message = await page.take()
        assert list(message) == ["finished"]
        assert message["finished"][0]["choices"][0]["length"] == 20


async def test_a_long_log_comes_in_frames(enter: Any, alice: User, connection: Connection) -> None:
    run = await in_thread(elsewhere, alice, connection, 30, 50_000)
    page = await enter(alice)
    await page.follow(run)
    sizes = []
    while page.seqs.get(run.pk, [0])[-1] < 30:
        message = await page.take()
        sizes.append(len(json.dumps(message)))
        await page.follow(run, last=page.seqs[run.pk][-1])
    assert page.seqs[run.pk] == list(range(1, 31))
    assert max(sizes) < 2 * forwarding.FRAME


async def test_a_reader_that_says_nothing_is_not_sent_more_than_it_may_owe(
    enter: Any, alice: User, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwarding, "UNACKNOWLEDGED", 100_000)
    run = await in_thread(elsewhere, alice, connection, 30, 10_000)
    page = await enter(alice)
    await page.follow(run)
    await page.take()
    assert await page.socket.receive_nothing(0.7)  # the log is looked at again, and nothing sent
    assert 10 <= page.seqs[run.pk][-1] <= 12
    while page.seqs[run.pk][-1] < 30:
        await page.follow(run, last=page.seqs[run.pk][-1])
        await page.take()
    assert page.seqs[run.pk] == list(range(1, 31))


async def test_what_was_lost_on_the_way_is_sent_again(
    enter: Any, alice: User, connection: Connection
) -> None:
    run = await in_thread(elsewhere, alice, connection, 5)
    page = await enter(alice)
    await page.follow(run)
    await page.take()
    page.seqs.clear()  # it never arrived
    for _ in range(3):  # the page repeats its position
        await page.follow(run, last=0)
    await page.until(lambda: page.seqs.get(run.pk) == [1, 2, 3, 4, 5])
    assert await page.socket.receive_nothing(0.1)  # once, not for each time it asked


def test_a_repeated_follow_does_not_move_the_cursor_back_at_once() -> None:
    following = Following(1, 0)
    following.cursor = 3
    following.acknowledge(2)
    assert following.cursor == 3
    following.acknowledge(2)
    following.acknowledge(3)
    assert following.cursor == 3


def test_a_row_that_is_on_its_way_is_not_read_from_the_log() -> None:
    following = Following(1, 0)
    assert following.lags(3)  # who begins reads what is there
    following.cursor = 3
    assert not following.lags(3)
    assert not following.lags(4)  # committed this moment
    following.cursor = 4
    assert not following.lags(5)
    assert following.lags(6)  # nothing has come since the page asked before
    assert following.lags(None)  # another process writes it
    following.behind = True
    following.cursor = 5
    assert following.lags(6)


# --- The end of a session ------------------------------------------------------------------


@pytest.mark.parametrize("how", ["logout", "deactivated", "password"])
@pytest.mark.parametrize("flowing", [False, True])
async def test_the_socket_ends_with_the_session(
    enter: Any, runner: Runner, alice: User, connection: Connection, provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch, how: str, flowing: bool,
) -> None:  # fmt: skip
    monkeypatch.setattr(consumers, "RECHECK", 0.2)
    rate = 50 if flowing else None
    pieces = [text_event("a"), *word_pieces(400, rate=rate)] if flowing else [text_event("a")]
    provider.reply_with(Reply(pieces=pieces, end="hold"))
    [run] = await start(runner, alice, connection)
    page = await enter(alice)
    await page.follow(run)
    await page.until(lambda: page.texts)
    if how == "logout":
        await page.client.alogout()
    elif how == "deactivated":
        await get_user_model().objects.filter(pk=alice.pk).aupdate(is_active=False)
    else:
        alice.set_password("another password")
        await alice.asave()
    assert await page.close_code() == SESSION_ENDED


async def test_a_run_that_may_no_longer_be_seen_is_dropped(
    enter: Any, alice: User, bob: User, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "RECHECK", 0.1)
    run = await in_thread(elsewhere, alice, connection, 1)
    page = await enter(bob)
    await page.follow(run)
    await page.until(lambda: page.texts)
    await Run.objects.filter(pk=run.pk).aupdate(visibility="private")
    await asyncio.sleep(0.1)
    await page.follow(run, last=1)
    await page.until(lambda: page.errors)
    await in_thread(write, run, range(2, 4))
    assert await page.socket.receive_nothing(0.7)


async def test_a_stop_of_the_server_closes_with_a_code_that_reconnects(
    enter: Any, runner: Runner, alice: User, connection: Connection
) -> None:
    page = await enter(alice)
    await asyncio.gather(hub.hang_up(RESTARTING, 0.05))
    assert await page.close_code() == RESTARTING


async def test_a_closed_page_is_forgotten_and_its_run_goes_on(
    enter: Any, runner: Runner, alice: User, connection: Connection, provider: FakeProvider
) -> None:
    provider.reply_with(lambda _: Reply(pieces=word_pieces(20, rate=100)))
    [run] = await start(runner, alice, connection)
    page = await enter(alice)
    await page.follow(run)
    await page.take()
    await page.socket.disconnect()
    assert not hub._followers
    assert not hub._sockets
    await runner.wait([run.pk])
    assert (await Run.objects.aget(pk=run.pk)).status == "completed"


# --- Who is watching -----------------------------------------------------------------------


def names(page: Page) -> list[str]:
    return [each["name"] for each in page.watching]


async def test_those_who_watch_a_run_see_each_other_and_nobody_else_does(
    enter: Any, runner: Runner, alice: User, bob: User, charlie: User, connection: Connection,
    provider: FakeProvider,
) -> None:  # fmt: skip
    provider.reply_with(Reply(pieces=[text_event("a")], end="hold"))
    first, second = await start(runner, alice, connection, 2)
    page = await enter(alice)
    await page.follow(first, second)
    await page.until(lambda: page.texts)
    assert not page.watching  # who is alone hears nothing of it
    other, stranger = await enter(bob), await enter(charlie)
    await stranger.follow(first)
    await other.follow(second)
    await page.until(lambda: names(page) == ["alice", "bob"])
    await other.until(lambda: names(other) == ["alice", "bob"])
    assert page.watching[0]["me"] is True
    assert page.watching[1] == {"name": "bob", "initials": "B", "me": False}
    await stranger.until(lambda: stranger.errors)
    assert await stranger.socket.receive_nothing(0.2)
    await other.socket.disconnect()
    await page.until(lambda: names(page) == ["alice"])
    assert not stranger.watching


async def test_a_watcher_leaves_when_the_session_ends(
    enter: Any, runner: Runner, alice: User, bob: User, connection: Connection,
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(consumers, "RECHECK", 0.1)
    provider.reply_with(Reply(pieces=[text_event("a")], end="hold"))
    [run] = await start(runner, alice, connection)
    page, other = await enter(alice), await enter(bob)
    await page.follow(run)
    await other.follow(run)
    await page.until(lambda: names(page) == ["alice", "bob"])
    await other.client.alogout()
    await other.close_code()
    await other.socket.disconnect()
    await page.until(lambda: names(page) == ["alice"])


async def test_watching_costs_nothing_for_a_token(
    enter: Any, runner: Runner, alice: User, bob: User, connection: Connection,
    provider: FakeProvider,
) -> None:  # fmt: skip
    provider.reply_with(lambda _: Reply(pieces=word_pieces(60, rate=200)))
    [run] = await start(runner, alice, connection)
    pages = [await enter(alice), await enter(bob)]
    for page in pages:
        await page.follow(run)
    for page in pages:
        await page.until(lambda page=page: run.pk in page.ends)
        assert page.told <= 3
    assert not hub.presence._places
