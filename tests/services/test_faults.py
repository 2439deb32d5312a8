"""Parts of an install that fail for real, one after the other: the rest goes on, nothing is lost,
and whoever watches is told what is going on."""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fake_provider import DONE, FIN, FakeProvider, Reply, text_event, words
from tests.follower import Follower
from tests.server import Person, Server, document, fake_process, started_before
from tests.services.conftest import Cluster, missing, not_permitted, running_cluster
from tests.services.team import Team, team, until


def text_of(count: int) -> str:
    return "".join(f"w{i} " for i in range(count))


@pytest.fixture(scope="module")
def fake() -> Iterator[str]:
    with fake_process() as url:
        yield url


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Our own: it is stopped in the middle, at once, as by a crash. What it has committed is then
    kept only where the commit waited; what did not wait is lost as late as it can be."""
    with running_cluster(synchronous_commit="on", wal_writer_delay="10s") as made:
        yield made


@pytest.fixture(scope="module")
def playground(
    tmp_path_factory: pytest.TempPathFactory, cluster: Cluster, fake: str
) -> Iterator[Team]:
    with team(tmp_path_factory.mktemp("faults"), cluster.create("faults"), 2) as made:
        made.connect("fake", fake)
        yield made


@pytest.fixture(scope="module")
def person(playground: Team) -> Person:
    return playground.person()


class Listener(Follower):
    """Notes what it is told of troubles."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.troubles: list[str] = []

    def _take(self, message: dict[str, Any]) -> bool:
        if "trouble" in message:
            self.troubles.append(message["trouble"])
        return super()._take(message)

    def length(self, run: int) -> int:
        return len(self.texts.get((run, 0), ""))


def listener(playground: Team, person: Person, server: Server, runs: list[int]) -> Listener:
    url = f"ws://127.0.0.1:{server.port}/ws/"
    return Listener(url, playground.socket_headers(person), runs)


async def wait(condition: Callable[[], Any], seconds: float = 30) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.05)


def column(rows: Callable[..., Any], name: str = "fake") -> dict[str, Any]:
    [row] = rows("SELECT id FROM playground_connection WHERE name = ?", name)
    return {"connection": row["id"]}


def stored(rows: Callable[..., Any], run: int) -> tuple[str, str]:
    """(status, text)"""
    [row] = rows(
        "SELECT status, text FROM playground_run AS run"
        " LEFT JOIN playground_choice AS choice ON choice.run_id = run.id WHERE run.id = ?",
        run,
    )
    return row["status"], row["text"]


# --- Redis ----------------------------------------------------------------------------------


def test_redis_is_away_for_ten_seconds(playground: Team, person: Person) -> None:
    first, second = playground.servers
    form = document(column(playground.rows), prompt="rate=20 n=300")
    _, [run] = playground.at(person, first).run(form)
    before = listener(playground, person, second, [run])  # at the process that does not own it
    seen: dict[str, int] = {}

    async def lose_redis() -> list[Listener]:
        following = asyncio.create_task(before.follow())
        await wait(lambda: before.length(run) > 50)
        playground.redis.stop()
        gone = time.monotonic()
        await wait(lambda: any("Redis cannot be reached" in each for each in before.troubles))
        seen["when told"] = before.length(run)
        # What is new goes on too: a run, and a socket at the other process.
        there = playground.at(person, first)
        _, [new] = await asyncio.to_thread(there.run, document(
            column(playground.rows), prompt="rate=50 n=100"))  # fmt: skip
        during = listener(playground, person, second, [new])
        async with asyncio.timeout(30):
            await during.follow()
        seen["later"] = before.length(run)
        await asyncio.sleep(max(0, gone + 10 - time.monotonic()))
        answer = await asyncio.to_thread(httpx.get, f"{second.url}/readyz", trust_env=False)
        assert (answer.status_code, answer.json()["redis"]) == (200, "away")
        playground.redis.start()
        if not before.ends:
            await wait(lambda: before.troubles[-1] == "" or before.ends)
        async with asyncio.timeout(40):
            await following
        return [before, during]

    for each in asyncio.run(lose_redis()):
        assert {end["status"] for end in each.ends.values()} == {"completed"}
        assert each.connections == 1
        assert not any(each.misplaced(one, text_of(300)) for one in each.seq)
    assert seen["later"] > seen["when told"]  # it went on meanwhile
    assert stored(playground.rows, run) == ("completed", text_of(300))
    for server in playground.servers:  # said, and not without end
        lines = [line for line in server.output.splitlines() if "Redis" in line]
        assert 1 <= len(lines) < 10, lines
        assert "Traceback" not in server.output
    # And Redis carries again.
    until(lambda: all(redis_of(server) == "ok" for server in playground.servers))
    _, [after] = playground.at(person, first).run(
        document(column(playground.rows), prompt="rate=50 n=50")
    )
    last = listener(playground, person, second, [after])
    asyncio.run(asyncio.wait_for(last.follow(), 20))
    assert not last.misplaced(after, text_of(50))


def redis_of(server: Server) -> str:
    return str(httpx.get(f"{server.url}/readyz", trust_env=False).json()["redis"])


# --- PostgreSQL -----------------------------------------------------------------------------


def test_postgresql_is_restarted(playground: Team, person: Person, cluster: Cluster) -> None:
    first, second = playground.servers
    form = document(*[column(playground.rows)] * 4, prompt="rate=20 n=200")
    _, runs = playground.at(person, first).run(form)
    watching = [listener(playground, person, each, runs) for each in (first, second)]

    async def restart() -> None:
        tasks = [asyncio.create_task(each.follow()) for each in watching]
        await wait(lambda: all(each.length(run) > 50 for each in watching for run in runs))
        await asyncio.to_thread(cluster.stop)
        await wait(lambda: all(any("Not saved yet" in said for said in each.troubles)
                               for each in watching))  # fmt: skip
        page = await asyncio.to_thread(person.http.get, f"{playground.url}/history/")
        assert page.status_code in (502, 503)
        direct = await asyncio.to_thread(
            httpx.get, f"{first.url}/history/", trust_env=False,
            headers=playground.socket_headers(person), timeout=30,
        )  # fmt: skip
        assert direct.status_code == 503
        assert "database cannot be reached" in direct.text
        ready = await asyncio.to_thread(httpx.get, f"{first.url}/readyz", trust_env=False)
        assert ready.status_code == 503
        await asyncio.to_thread(cluster.go)
        async with asyncio.timeout(60):
            await asyncio.gather(*tasks)

    asyncio.run(restart())
    for each in watching:
        assert {end["status"] for end in each.ends.values()} == {"completed"}
        assert not any(each.misplaced(run, text_of(200)) for run in runs)
    for run in runs:
        assert stored(playground.rows, run) == ("completed", text_of(200))
    until(lambda: person.http.get(f"{playground.url}/history/").status_code == 200)


def test_a_stop_while_postgresql_is_away_saves_what_has_come(
    playground: Team, person: Person, cluster: Cluster
) -> None:
    server = playground.servers[1]
    form = document(column(playground.rows), prompt="rate=20 n=2000")
    _, [run] = playground.at(person, server).run(form)
    watching = listener(playground, person, playground.servers[0], [run])

    async def stop() -> int:
        following = asyncio.create_task(watching.follow())
        await wait(lambda: watching.length(run) > 50)
        await asyncio.to_thread(cluster.stop)
        await wait(lambda: any("Not saved yet" in said for said in watching.troubles))
        assert server.process
        server.process.send_signal(signal.SIGTERM)
        await asyncio.sleep(1)
        await asyncio.to_thread(cluster.go)
        code = await asyncio.to_thread(server.ended)
        async with asyncio.timeout(60):
            await following
        return code

    assert asyncio.run(stop()) == 0
    status, text = stored(playground.rows, run)
    assert status == "interrupted"
    assert text_of(2000).startswith(text)
    assert len(text) > watching.length(run) // 2 > 0
    server.start()


# --- The disk -------------------------------------------------------------------------------


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    if os.geteuid() != 0:
        not_permitted("A small disk can be mounted by root only.")
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(folder)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        not_permitted(f"A small disk cannot be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_the_disk_is_full(tmp_path: Path, fake: str) -> None:
    with small_disk(tmp_path / "disk", "64m") as disk, Server(disk / "data") as server:
        server.connect("fake", fake)
        person = server.user()
        url = f"ws://127.0.0.1:{server.port}/ws/"
        _, [run] = person.run(document(column(server.rows), prompt="rate=200 n=3000"))
        watching = Listener(url, person.socket_headers, [run])

        async def fill() -> None:
            following = asyncio.create_task(watching.follow())
            await wait(lambda: watching.length(run) > 50)
            big = os.open(disk / "big", os.O_CREAT | os.O_WRONLY)
            with suppress(OSError):
                while True:
                    os.write(big, bytes(4096))
            os.close(big)
            await wait(lambda: any("Not saved yet" in said for said in watching.troubles), 60)
            assert (await asyncio.to_thread(person.http.get, f"{server.url}/")).status_code < 600
            (disk / "big").unlink()
            async with asyncio.timeout(60):
                await following

        asyncio.run(fill())
        assert watching.ends[run]["status"] == "completed"
        assert not watching.misplaced(run, text_of(3000))
        assert stored(server.rows, run) == ("completed", text_of(3000))
        assert server.process is not None
        assert server.process.poll() is None


# --- A provider -----------------------------------------------------------------------------


def test_one_provider_hangs_one_resets_one_trickles(tmp_path: Path) -> None:
    with (
        FakeProvider() as hanging, FakeProvider() as resetting, FakeProvider() as trickling,
        FakeProvider() as well,
        Server(started_before(tmp_path / "data"), READ_TIMEOUT="4") as server,
    ):  # fmt: skip
        hanging.reply_with(Reply(pieces=[text_event("a"), text_event("b")], end="hold"))
        resetting.reply_with(Reply(pieces=[text_event("c")], end="abort"))
        slow = text_event("dé")
        cut = len(slow) - 8
        # One byte a second, in the middle of a character too: each byte is a sign of life.
        drops: list[Any] = [piece for byte in slow[cut:] for piece in (1.0, bytes([byte]))]
        trickling.reply_with(Reply(pieces=[slow[:cut], *drops, text_event("e"), FIN, DONE]))
        well.reply_with(words(100, 20.0))
        columns = [
            {"connection": server.connect(name, each.url)}
            for name, each in (
                ("hanging", hanging), ("resetting", resetting), ("trickling", trickling),
                ("well", well),
            )
        ]  # fmt: skip
        person = server.user()
        _, runs = person.run(document(*columns))
        watching = Follower(f"ws://127.0.0.1:{server.port}/ws/", person.socket_headers, runs)
        asyncio.run(asyncio.wait_for(watching.follow(), 60))
        found = [stored(server.rows, run) for run in runs]
        assert found[0] == ("failed", "ab")
        assert found[1] == ("failed", "c")
        assert found[2] == ("completed", "dée")
        assert found[3] == ("completed", text_of(100))
        errors = [
            row["error_message"]
            for row in server.rows("SELECT error_message FROM playground_run ORDER BY position")
        ]
        assert "4 s" in errors[0]
        assert "broke off" in errors[1]


# --- A browser ------------------------------------------------------------------------------


def test_a_browser_that_does_not_read_costs_little_and_slows_nobody(
    tmp_path: Path, fake: str
) -> None:
    with FakeProvider() as large, Server(started_before(tmp_path / "data")) as server:
        word = "x" * 1000 + " "
        pieces = [piece for _ in range(2000) for piece in (0.002, text_event(word))]
        large.reply_with(Reply(pieces=[*pieces, FIN, DONE]))
        server.connect("fake", fake)
        big = {"connection": server.connect("large", large.url)}
        person = server.user()
        url = f"ws://127.0.0.1:{server.port}/ws/"
        before = memory(server)
        _, bigs = person.run(document(*[big] * 5))  # 10 MB
        _, [small] = person.run(document(column(server.rows), prompt="rate=20 n=120"))
        lazy = Follower(url, person.socket_headers, bigs, stall=8)
        quick = Follower(url, person.socket_headers, [small])

        async def watch() -> int:
            slow = asyncio.create_task(lazy.follow())
            async with asyncio.timeout(60):
                await quick.follow()
            grown = memory(server) - before
            async with asyncio.timeout(60):
                await slow
            return grown

        assert asyncio.run(watch()) < 150 * 1024 * 1024
        assert not quick.misplaced(small, text_of(120))
        for run in bigs:
            assert stored(server.rows, run) == ("completed", word * 2000)
            assert lazy.ends[run]["status"] == "completed"


def memory(server: Server) -> int:
    """Bytes that are resident."""
    assert server.process
    return int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]) * 4096


# --- The clock ------------------------------------------------------------------------------


def test_the_clock_jumps_a_day_ahead_and_two_back(tmp_path: Path, fake: str) -> None:
    library = next(iter(Path("/usr/lib").glob("*/faketime/libfaketime.so.1")), None)
    if library is None:
        missing("This machine has no libfaketime (Debian: apt install faketime).")
    clock = tmp_path / "clock"
    clock.write_text("+0\n")
    shifted = {
        "LD_PRELOAD": str(library), "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1",
    }  # fmt: skip
    with Server(tmp_path / "data", **shifted) as server:
        plain = Server(tmp_path / "data")  # for commands: without the library
        plain.connect("fake", fake)
        person = server.user()
        _, [run] = person.run(document(column(server.rows), prompt="rate=20 n=160"))
        url = f"ws://127.0.0.1:{server.port}/ws/"
        watching = Follower(url, person.socket_headers, [run])

        async def jump() -> None:
            following = asyncio.create_task(watching.follow())
            for words_seen, shift in ((30, "+1d"), (70, "-1d"), (110, "+0")):
                await wait(
                    lambda least=words_seen: len(watching.texts.get((run, 0), "")) > 3 * least
                )
                clock.write_text(f"{shift}\n")
            async with asyncio.timeout(40):
                await following

        asyncio.run(jump())
        assert watching.connections == 1  # nobody was logged out, nothing was hung up
        assert not watching.misplaced(run, text_of(160))
        assert stored(server.rows, run) == ("completed", text_of(160))
        [row] = server.rows("SELECT total_ms, first_token_ms FROM playground_run")
        assert 0 < row["first_token_ms"] < row["total_ms"] < 60_000
        assert person.http.get(f"{server.url}/history/").status_code == 200
