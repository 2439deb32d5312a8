"""Many streams, many reconnections, lost messages, slow readers: not one character is wrong."""

import asyncio
from collections.abc import Callable, Iterator

import pytest

from tests.follower import Follower
from tests.server import Person, Server, document, fake_process, started_before

STREAMS = 150
WORDS = 240
RATE = 20.0  # words a second of each stream
WANTED = "".join(f"w{i} " for i in range(WORDS))


@pytest.fixture(scope="module")
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """On SQLite, unless a test asks for the other one too."""
    environment = {}
    if getattr(request, "param", "sqlite") == "postgresql":
        new_database: Callable[[], str] = request.getfixturevalue("postgres")
        environment["DATABASE_URL"] = new_database()
    with Server(started_before(tmp_path_factory.mktemp("transcripts")), **environment) as running:
        yield running


@pytest.fixture(scope="module")
def person(server: Server) -> Iterator[Person]:
    with fake_process() as url:
        server.connect("fake", url)
        yield server.user()


def start(person: Person, streams: int) -> list[list[int]]:
    """Comparisons of ten columns each; their runs."""
    [row] = person.server.rows("SELECT id FROM playground_connection WHERE name = 'fake'")
    form = document(*[{"connection": row["id"]}] * 10, prompt=f"rate={RATE} n={WORDS}")
    return [person.run(form)[1] for _ in range(streams // 10)]


def check(server: Server, followers: list[Follower]) -> None:
    runs = [run for follower in followers for run in follower.ends]
    query = "SELECT run_id, text FROM playground_choice WHERE run_id >= ? AND run_id <= ?"
    stored = {row["run_id"]: row["text"] for row in server.rows(query, min(runs), max(runs))}
    assert all(stored[run] == WANTED for run in runs)
    for follower in followers:
        # What came live is the text or, where the end overtook a reader, a beginning of it: then
        # the page sees that it differs from the record, and fetches that.
        assert not any(follower.misplaced(run, WANTED) for run in follower.seq)
        assert all(end["status"] == "completed" for end in follower.ends.values())
    assert server.rows("SELECT count(*) AS n FROM playground_runevent")[0]["n"] == 0


async def follow_all(followers: list[Follower]) -> None:
    async with asyncio.timeout(120):
        await asyncio.gather(*(follower.follow() for follower in followers))


@pytest.mark.parametrize("server", ["sqlite", "postgresql"], indirect=True)
def test_no_transcript_is_wrong_after_500_reconnections(server: Server, person: Person) -> None:
    groups = start(person, STREAMS)
    url = f"ws://127.0.0.1:{server.port}/ws/"
    followers = [
        Follower(url, person.socket_headers, group, cuts=25, seed=10 * copy + position)
        for position, group in enumerate(groups)
        for copy in range(3)
    ]
    asyncio.run(follow_all(followers))
    assert sum(follower.connections for follower in followers) > 450
    check(server, followers)


def test_no_transcript_is_wrong_when_one_message_in_five_is_lost(
    server: Server, person: Person
) -> None:
    groups = start(person, STREAMS)
    url = f"ws://127.0.0.1:{server.port}/ws/"
    followers = [
        Follower(url, person.socket_headers, group, lose=0.2, cuts=10, seed=position)
        for position, group in enumerate(groups)
    ]
    asyncio.run(follow_all(followers))
    check(server, followers)


def test_a_reader_that_stalls_for_ten_seconds_gets_it_all_and_slows_nobody(
    server: Server, person: Person
) -> None:
    groups = start(person, 40)
    url = f"ws://127.0.0.1:{server.port}/ws/"
    slow = [Follower(url, person.socket_headers, group, stall=10) for group in groups[:2]]
    quick = [Follower(url, person.socket_headers, group) for group in groups[2:]]
    asyncio.run(follow_all(slow + quick))
    check(server, slow + quick)
    assert not [run for follower in quick for run in follower.wrong()]
