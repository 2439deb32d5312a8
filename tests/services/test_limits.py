"""Limits hold exactly across two server processes, on SQLite and PostgreSQL, and after a kill."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.fake_provider import DONE, FakeProvider, Received, Reply, text_event
from tests.server import Person, Server, document, started_before

PRESSES = 50
MOST = 101  # tokens that a press here reserves
USAGE = {"prompt_tokens": 1, "completion_tokens": 10}
MANY = ThreadPoolExecutor(PRESSES)


class Gauge:
    """A backend that holds every request until `go`, and knows how many it held at once."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.inside = self.most = 0

    async def hold(self, _: Received) -> bytes:
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            while not self.go.is_set():
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.02)
        finally:
            self.inside -= 1
        return text_event("Yes", finish="stop", usage=USAGE)

    def reply(self) -> Reply:
        return Reply(pieces=[self.hold, DONE])


@pytest.fixture
def gauge() -> Iterator[Gauge]:
    made = Gauge()
    yield made
    made.go.set()


@pytest.fixture
def fake(gauge: Gauge) -> Iterator[FakeProvider]:
    with FakeProvider() as provider:
        provider.reply_with(gauge.reply())
        yield provider


@pytest.fixture(params=["sqlite", "postgresql"])
def servers(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Server, Server]]:
    environment = {}
    if request.param == "postgresql":
        new_database: Callable[[], str] = request.getfixturevalue("postgres")
        environment["DATABASE_URL"] = new_database()
    with (
        Server(started_before(tmp_path / "data"), **environment) as one,
        Server(tmp_path / "data", **environment) as two,
    ):
        yield one, two


@pytest.fixture
def people(servers: tuple[Server, Server]) -> list[Person]:
    found = [server.user() for server in servers]
    for person in found:
        person.http.timeout = 120  # fifty at once on a busy machine
    return found


def limit(server: Server, kind: str, amount: int) -> None:
    code = (
        "from playground.models import Limit, Connection;"
        f"Limit.objects.update_or_create(kind='{kind}', connection=Connection.objects.get(),"
        f" defaults={{'amount': {amount}}})"
    )
    done = server.manage("shell", "-c", code)
    assert done.returncode == 0, done.stderr


def press(people: list[Person], connection: int, n: int = PRESSES) -> list[int]:
    """n presses at once, half of them at each server; the statuses of the answers."""
    start = threading.Barrier(n)
    form = json.dumps(document({"connection": connection, "values": {"max_tokens": 100}}))

    def one(number: int) -> int:
        start.wait()
        person = people[number % len(people)]
        answer = person.post("/comparisons/", document=form)
        assert answer.status_code == 200 or "it renews" in answer.text or "It renews" in answer.text
        return answer.status_code

    return list(MANY.map(one, range(n)))


def count(server: Server, status: str) -> int:
    query = "SELECT count(*) AS n FROM playground_run WHERE status = ?"
    return int(server.rows(query, status)[0]["n"])


def eventually(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def stays(condition: Callable[[], bool], seconds: float = 3) -> None:
    """Longer than both servers need to look again at their queues."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert condition()
        time.sleep(0.05)


def spent(server: Server) -> int:
    return sum(int(row["spent"]) for row in server.rows("SELECT spent FROM playground_meter"))


def test_parallel_requests_hold_exactly(
    servers: tuple[Server, Server], people: list[Person], fake: FakeProvider, gauge: Gauge
) -> None:
    connection = servers[0].connect("fake", fake.url)
    limit(servers[0], "parallel", 7)
    assert press(people, connection) == [200] * PRESSES
    eventually(lambda: gauge.inside == 7)
    stays(lambda: gauge.inside == 7)
    assert count(servers[0], "queued") == PRESSES - 7
    gauge.go.set()
    eventually(lambda: count(servers[0], "completed") == PRESSES)
    assert gauge.most == 7
    assert len(fake.posts) == PRESSES


def test_the_connections_own_parallel_requests_hold_exactly(
    servers: tuple[Server, Server], people: list[Person], fake: FakeProvider, gauge: Gauge
) -> None:
    connection = servers[0].connect("fake", fake.url, "--parallel", "5")
    assert press(people, connection) == [200] * PRESSES
    eventually(lambda: gauge.inside == 5)
    gauge.go.set()
    eventually(lambda: count(servers[0], "completed") == PRESSES)
    assert gauge.most == 5


def test_requests_a_minute_hold_exactly(
    servers: tuple[Server, Server], people: list[Person], fake: FakeProvider, gauge: Gauge
) -> None:
    connection = servers[0].connect("fake", fake.url)
    limit(servers[0], "rate", 9)
    gauge.go.set()
    assert press(people, connection) == [200] * PRESSES
    eventually(lambda: count(servers[0], "completed") == 9)
    stays(lambda: len(fake.posts) == 9)
    limit(servers[0], "rate", 12)  # the waiting ones know at once
    eventually(lambda: count(servers[0], "completed") == 12)
    stays(lambda: len(fake.posts) == 12, 2)
    limit(servers[0], "rate", 1000)
    eventually(lambda: count(servers[0], "completed") == PRESSES)


def test_tokens_hold_exactly_and_after_a_kill(
    servers: tuple[Server, Server], people: list[Person], fake: FakeProvider, gauge: Gauge
) -> None:
    one, two = servers
    connection = one.connect("fake", fake.url)
    limit(one, "tokens_day", 20 * MOST + 50)
    statuses = press(people, connection)
    assert (statuses.count(200), statuses.count(422)) == (20, PRESSES - 20)
    eventually(lambda: gauge.inside == 20)
    query = "SELECT count(*) AS n FROM playground_run WHERE owner_id = ("
    query += "SELECT min(id) FROM playground_process WHERE ended_at IS NULL)"
    of_one = int(two.rows(query)[0]["n"])
    one.kill()  # what it had sent keeps its reservation: nobody knows what it took
    eventually(lambda: count(two, "interrupted") == of_one)
    assert spent(two) == of_one * MOST
    gauge.go.set()
    eventually(lambda: count(two, "completed") == 20 - of_one)
    assert spent(two) == of_one * MOST + (20 - of_one) * 11
    left = 20 * MOST + 50 - spent(two)
    fits = left // MOST
    gauge.go.clear()
    statuses = press(people[1:], connection, fits + 5)
    assert statuses.count(200) == fits
