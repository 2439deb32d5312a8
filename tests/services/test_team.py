"""Several server processes behind nginx, with PostgreSQL and Redis: one playground."""

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import psycopg
import pytest
import redis

from tests.follower import Follower
from tests.server import Person, Server, document, fake_process
from tests.services.team import Team, team, until

STREAMS = 150
WORDS = 300
RATE = 20.0  # words a second of each stream
WANTED = "".join(f"w{i} " for i in range(WORDS))

PEOPLE = """
from playground.models import Membership, Team, User
team = Team.objects.order_by("pk").first()
user = User.objects.create_user("bob", current_team=team)
Membership.objects.create(user=user, team=team, role="member")
"""


@pytest.fixture(scope="module")
def fake() -> Iterator[str]:
    with fake_process() as url:
        yield url


# Each test names its processes, so that the two installs live one after the other.
two_and_four = pytest.mark.parametrize("playground", [2, 4], indirect=True)
four = pytest.mark.parametrize("playground", [4], indirect=True)


@pytest.fixture(scope="module")
def playground(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    postgres: Callable[[], str],
    fake: str,
) -> Iterator[Team]:
    folder = tmp_path_factory.mktemp("team")
    with team(folder, postgres(), request.param, DRAIN_SECONDS="40") as made:
        made.connect("fake", fake)
        yield made


@pytest.fixture(scope="module")
def person(playground: Team) -> Person:
    return playground.person()


def connection(playground: Team) -> int:
    [row] = playground.rows("SELECT id FROM playground_connection WHERE name = 'fake'")
    return int(row["id"])


def watching(playground: Team, person: Person, server: Server, runs: list[int]) -> Follower:
    """Somebody who watches at one process."""
    url = f"ws://127.0.0.1:{server.port}/ws/"
    return Follower(url, playground.socket_headers(person), runs)


def agrees(playground: Team, follower: Follower) -> bool:
    """What came live is what is kept or, where the end overtook a reader, its beginning: then a
    page sees that it differs, and fetches the whole."""
    query = "SELECT text FROM playground_choice WHERE run_id = ?"
    return not any(
        follower.misplaced(run, row["text"])
        for run in follower.seq
        for row in playground.rows(query, run)
    )


@two_and_four
def test_started_at_one_watched_and_stopped_at_others(playground: Team, person: Person) -> None:
    """With two processes it is watched at both, and stopped at the one that does not own it."""
    first, *_, second, third = [playground.servers[0], *playground.servers]
    column = {"connection": connection(playground)}
    form = document(column, column, prompt="rate=20 n=2000")
    _, runs = playground.at(person, first).run(form)
    followers = [watching(playground, person, server, runs) for server in (second, third)]

    async def watch_and_stop() -> None:
        tasks = [asyncio.create_task(each.follow()) for each in followers]
        async with asyncio.timeout(30):
            while any(
                len(each.texts.get((run, 0), "")) < 100 for each in followers for run in runs
            ):
                await asyncio.sleep(0.05)
        there = playground.at(person, third)
        answer = await asyncio.to_thread(there.post, f"/runs/{runs[0]}/stop/")
        assert answer.status_code < 400, answer.text
        async with asyncio.timeout(15):
            while any(runs[0] not in each.ends for each in followers):
                await asyncio.sleep(0.05)
        assert all(runs[1] not in each.ends for each in followers)  # nobody stopped that one
        await asyncio.to_thread(there.post, f"/runs/{runs[1]}/stop/")
        async with asyncio.timeout(15):
            await asyncio.gather(*tasks)

    asyncio.run(watch_and_stop())
    for follower in followers:
        assert {end["status"] for end in follower.ends.values()} == {"cancelled"}
        assert agrees(playground, follower)
        assert follower.connections == 1


@two_and_four
def test_what_is_noted_at_one_is_read_at_another(playground: Team, person: Person) -> None:
    first, third, *_, second = [*playground.servers[:2], *playground.servers]
    form = document({"connection": connection(playground)}, prompt="rate=100 n=5 zebrafish")
    _, [run] = playground.at(person, first).run(form)
    until(lambda: playground.rows("SELECT 1 FROM playground_run WHERE status = 'completed'"))
    answer = playground.at(person, second).post(f"/runs/{run}/comments/", text="seen at another")
    assert answer.status_code == 200, answer.text[:500]
    page = playground.at(person, third).http.get(f"{third.url}/runs/{run}/").text
    assert "seen at another" in page
    assert "w0 w1 w2 w3 w4" in page
    until(lambda: "zebrafish" in person.http.get(f"{playground.url}/history/?q=zebrafish").text)


@four
def test_who_watches_at_another_process_is_named(playground: Team, person: Person) -> None:
    first, second, third, _ = playground.servers
    done = first.manage("shell", "-v", "0", "-c", PEOPLE)
    assert done.returncode == 0, done.stderr
    bob = playground.person("bob")
    form = document({"connection": connection(playground)}, prompt="rate=10 n=5000")
    _, runs = playground.at(person, first).run(form)
    told: dict[str, list[list[str]]] = {"admin": [], "bob": []}

    class Noting(Follower):
        def _take(self, message: dict) -> bool:  # type: ignore[type-arg]
            if "watching" in message:
                names = [each["name"] for each in message["watching"]["people"]]
                told[self.name].append(names)
            return super()._take(message)

    def noting(who: Person, name: str, server: Server) -> Noting:
        url = f"ws://127.0.0.1:{server.port}/ws/"
        made = Noting(url, playground.socket_headers(who), runs)
        made.name = name  # type: ignore[attr-defined]
        return made

    async def come_and_go() -> None:
        here = asyncio.create_task(noting(person, "admin", second).follow())
        there = asyncio.create_task(noting(bob, "bob", third).follow())
        async with asyncio.timeout(20):
            while not all(["admin", "bob"] in lists for lists in told.values()):
                await asyncio.sleep(0.05)
            there.cancel()  # the socket is closed
            while told["admin"][-1] != ["admin"]:
                await asyncio.sleep(0.05)
        await asyncio.to_thread(person.post, f"/runs/{runs[0]}/stop/")
        async with asyncio.timeout(15):
            await here

    asyncio.run(come_and_go())


@four
def test_words_come_through_nginx_one_by_one(playground: Team, person: Person) -> None:
    """Neither buffered nor compressed: each word is a message of its own."""
    form = document({"connection": connection(playground)}, prompt="rate=4 n=16")
    _, [run] = person.run(form)

    class Counting(Follower):
        messages = 0

        def _take(self, message: dict[str, Any]) -> bool:
            self.messages += "events" in message
            return super()._take(message)

    url = playground.url.replace("http", "ws") + "/ws/"
    follower = Counting(url, playground.socket_headers(person), [run])
    asyncio.run(asyncio.wait_for(follower.follow(), 30))
    assert agrees(playground, follower)
    assert follower.messages >= 10


@four
def test_a_burst_reaches_a_slow_reader_at_another_process_whole(
    playground: Team, person: Person
) -> None:
    first, second, *_ = playground.servers
    form = document({"connection": connection(playground)}, prompt="n=20000")
    _, [run] = playground.at(person, first).run(form)
    url = f"ws://127.0.0.1:{second.port}/ws/"
    follower = Follower(url, playground.socket_headers(person), [run], stall=3)
    asyncio.run(asyncio.wait_for(follower.follow(), 60))
    wanted = "".join(f"w{i} " for i in range(20000))
    assert not follower.misplaced(run, wanted)
    [row] = playground.rows("SELECT text FROM playground_choice WHERE run_id = ?", run)
    assert row["text"] == wanted


@four
def test_one_who_waits_for_the_database_keeps_nobody_waiting(
    playground: Team, person: Person
) -> None:
    """A lock holds a page of one person up; another's page and stream in that process go on."""
    server = playground.servers[1]
    here = playground.at(person, server)
    _, [run] = here.run(
        document({"connection": connection(playground)}, prompt="rate=20 n=100"),
    )
    follower = watching(playground, person, server, [run])
    held = threading.Event()
    answered: list[int] = []

    def held_up() -> None:
        url = f"{server.url}/"  # reads the draft
        headers = playground.socket_headers(person)
        answer = httpx.get(url, headers=headers, timeout=60, trust_env=False)
        assert held.is_set()
        answered.append(answer.status_code)

    with psycopg.connect(playground.environment["DATABASE_URL"]) as locking:
        locking.execute("LOCK TABLE playground_draft IN ACCESS EXCLUSIVE MODE")
        waiting = threading.Thread(target=held_up)
        waiting.start()
        blocked = "SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        until(lambda: playground.rows(blocked)[0]["n"] > 0)
        asyncio.run(asyncio.wait_for(follower.follow(), 30))
        assert here.http.get(f"{server.url}/history/").status_code == 200
        assert not answered
        held.set()
        locking.rollback()
    waiting.join(30)
    assert answered == [200]
    assert agrees(playground, follower)


@four
def test_a_process_that_is_told_to_stop_finishes_what_it_has_and_takes_nothing_new(
    playground: Team, person: Person
) -> None:
    stopping = playground.servers[2]
    form = document({"connection": connection(playground)}, prompt="rate=20 n=100")
    _, [run] = playground.at(person, stopping).run(form)
    follower = watching(playground, person, playground.servers[0], [run])
    short = document({"connection": connection(playground)}, prompt="n=3")

    async def stop() -> None:
        following = asyncio.create_task(follower.follow())
        while not follower.texts:
            await asyncio.sleep(0.05)
        assert stopping.process
        stopping.process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(until, lambda: refuses(stopping))
        for _ in range(6):  # nginx goes to the others, every time
            await asyncio.to_thread(person.run, short)
        async with asyncio.timeout(40):
            await following
        assert await asyncio.to_thread(stopping.ended) == 0

    asyncio.run(stop())
    assert follower.ends[run]["status"] == "completed"
    assert agrees(playground, follower)
    assert "Traceback" not in stopping.output
    stopping.start()  # for the tests below
    playground.proxy.serve([server.port for server in playground.running])


def refuses(server: Server) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", server.port)) != 0


@four
def test_clients_that_vanish_leave_nothing_behind(playground: Team, person: Person) -> None:
    form = document({"connection": connection(playground)}, prompt="rate=10 n=50")
    _, [run] = person.run(form)
    urls = [f"ws://127.0.0.1:{server.port}/ws/" for server in playground.servers]
    vanishing = [
        Follower(url, playground.socket_headers(person), [run], cuts=8, seed=n)
        for n, url in enumerate(urls)
    ]

    async def vanish() -> None:
        async with asyncio.timeout(40):
            await asyncio.gather(*(each.follow() for each in vanishing))

    asyncio.run(vanish())
    until(lambda: all(sockets(server) == 0 for server in playground.servers))
    # One subscription a process, whatever number of sockets came and went.
    [(_, subscribers)] = redis_channels(playground)
    assert subscribers == len(playground.running)


def sockets(server: Server) -> float:
    text = httpx.get(f"{server.url}/metrics", trust_env=False).text
    return float(text.split("\nplayground_sockets ")[1].split()[0])


def redis_channels(playground: Team) -> list[tuple[str, int]]:
    with redis.Redis.from_url(playground.redis.url) as client:
        names = [name.decode() for name in client.pubsub_channels()]
        return [(name.decode(), count) for name, count in client.pubsub_numsub(*names)]


def whole_or_interrupted(
    playground: Team, followers: list[Follower], runs: list[int], lost: set[int]
) -> None:
    """Each run has ended alike for all: `lost` ones with what they had, all others whole."""
    texts = {
        row["run_id"]: row["text"]
        for row in playground.rows(
            "SELECT run_id, text FROM playground_choice WHERE run_id >= ?", min(runs)
        )
    }
    ends: dict[int, str] = {}
    for follower in followers:
        assert not any(follower.misplaced(run, WANTED) for run in follower.seq)
        for run, end in follower.ends.items():
            assert ends.setdefault(run, end["status"]) == end["status"]
    assert set(ends) == set(runs)
    interrupted = {run for run, status in ends.items() if status == "interrupted"}
    assert interrupted <= lost
    for run in runs:
        if run in interrupted:  # kept up to the last tick
            assert texts[run]
            assert WANTED.startswith(texts[run])
        else:
            assert (ends[run], texts[run]) == ("completed", WANTED)


@two_and_four
def test_no_transcript_is_wrong_when_one_process_is_killed_and_one_is_added(
    playground: Team, person: Person
) -> None:
    column = {"connection": connection(playground)}
    form = document(*[column] * 10, prompt=f"rate={RATE} n={WORDS}")
    groups = [person.run(form)[1] for _ in range(STREAMS // 10)]
    runs = [run for group in groups for run in group]
    followers = [
        Follower(
            playground.url.replace("http", "ws") + "/ws/",
            playground.socket_headers(person),
            group,
            cuts=14,
            seed=10 * copy + position,
        )
        for position, group in enumerate(groups)
        for copy in range(4)
    ]
    victim = playground.servers[0]
    assert victim.process
    query = (
        "SELECT run.id FROM playground_run AS run JOIN playground_process AS process"
        " ON process.id = run.owner_id WHERE process.pid = ? AND run.id >= ?"
    )
    lost = {row["id"] for row in playground.rows(query, victim.process.pid, min(runs))}
    assert 0 < len(lost) < STREAMS  # nginx has spread them

    async def follow_all() -> None:
        async with asyncio.timeout(150):
            tasks = [asyncio.create_task(follower.follow()) for follower in followers]
            await asyncio.sleep(3)
            await asyncio.to_thread(victim.kill)
            await asyncio.to_thread(playground.add)
            await asyncio.gather(*tasks)

    asyncio.run(follow_all())
    assert sum(follower.connections for follower in followers) >= 500
    whole_or_interrupted(playground, followers, runs, lost)
    assert not playground.rows("SELECT id FROM playground_runevent")
    # The new process takes part.
    newest = playground.servers[-1]
    _, [run] = playground.at(person, newest).run(document(column, prompt="rate=50 n=20"))
    follower = watching(playground, person, playground.servers[1], [run])
    asyncio.run(asyncio.wait_for(follower.follow(), 20))
    assert not follower.misplaced(run, WANTED)
    assert follower.ends[run]["status"] == "completed"
