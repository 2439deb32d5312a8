"""Whether streams go on beside large work: `python -m tests.bench.beside DATA_DIR|DATABASE_URL`.

A real server on a history made by `tests.bench.million`: 20 streams of 50 tokens a second, first
alone, then while a bulk label of 100,000 runs and an export of everything go on. Prints how late
tokens reach a socket, and how long `/healthz` and the first page of the history take meanwhile.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.bench.streams import RATE, Watcher, clock, cpu_seconds, percentile
from tests.server import Person, Server, document

LIMIT_MS = 300
COLUMNS = 10  # of one comparison
LABELLED = 100_000  # runs
USER = "user1"  # an owner of the largest team


@dataclass
class Measured:
    lags: list[float] = field(default_factory=list)  # ms
    health: list[float] = field(default_factory=list)  # ms
    pages: list[float] = field(default_factory=list)  # ms
    cpu: float = 0.0  # seconds of the server, a second
    wrong: int = 0

    def line(self, name: str) -> str:
        lags = [percentile(self.lags, share) for share in (0.5, 0.99, 1)]
        late = lags[1] > LIMIT_MS
        return (
            f"{name:28}{lags[0]:8.0f}{lags[1]:8.0f}{lags[2]:8.0f}"
            f"{percentile(self.health, 0.95):9.0f}{percentile(self.pages, 0.95):9.0f}"
            f"{self.cpu:7.2f}{self.wrong:7}"
            f"   limit {LIMIT_MS} ms at p99: {'misses' if late or self.wrong else 'holds'}"
        )


HEADINGS = (
    f"{'':28}{'p50 ms':>8}{'p99 ms':>8}{'worst':>8}{'health95':>9}{'page95':>9}"
    f"{'CPU':>7}{'wrong':>7}"
)


class Bench:
    def __init__(self, server: Server, url: str, streams: int) -> None:
        self.server, self.streams = server, streams
        self.connection = server.connect(f"clock {time.time():.0f}", url)
        said = server.manage("login_link", USER).stdout
        self.person = Person(server, said.split("Open ")[-1].split()[0])
        server.people.append(self.person)

    def measure(self, seconds: float) -> Measured:
        """Streams of so many seconds, as they come to sockets."""
        assert self.server.process
        found, n = Measured(), int(RATE * seconds)
        before, began = cpu_seconds(self.server.process.pid), time.monotonic()
        with self._asking(found):
            watchers = [self._watcher(size, n) for size in self._groups()]
            asyncio.run(_follow(watchers))
        took = time.monotonic() - began
        found.cpu = (cpu_seconds(self.server.process.pid) - before) / took
        found.lags = [lag for each in watchers for lag in each.lags]
        found.wrong = sum(len(each.wrong()) for each in watchers)
        found.wrong += len(found.lags) != self.streams * n
        return found

    def _groups(self) -> Iterator[int]:
        for start in range(0, self.streams, COLUMNS):
            yield min(COLUMNS, self.streams - start)

    def _watcher(self, columns: int, n: int) -> Watcher:
        form = document(*[{"connection": self.connection}] * columns, prompt=f"rate={RATE} n={n}")
        _, runs = self.person.run(form)
        socket = f"ws://127.0.0.1:{self.server.port}/ws/"
        return Watcher(socket, self.person.socket_headers, runs)

    @contextmanager
    def _asking(self, found: Measured) -> Iterator[None]:
        """Meanwhile, in a thread: is the server well, and how fast is its history?"""
        over = threading.Event()

        def ask() -> None:
            with httpx.Client(
                trust_env=False, timeout=30, cookies=self.person.http.cookies
            ) as http:
                while not over.wait(0.5):
                    for path, times in (("/healthz", found.health), ("/history/", found.pages)):
                        began = time.monotonic()
                        answer = http.get(self.server.url + path)
                        times.append((time.monotonic() - began) * 1000)
                        assert answer.status_code == 200, (path, answer.status_code)

        thread = threading.Thread(target=ask)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _client(self, timeout: float) -> httpx.Client:
        """Another one of the same person."""
        return httpx.Client(trust_env=False, timeout=timeout, cookies=self.person.http.cookies)

    # --- large work ---

    def label(self) -> str:
        """Begin to label the oldest runs of the team; the address of the job.

        Jobs have their turn in the order in which they began: what an earlier benchmark left open
        would come first.
        """
        self.stop_label()
        newest = self.server.rows(
            "SELECT created_at FROM playground_run WHERE team_id ="
            " (SELECT current_team_id FROM playground_user WHERE username = ?)"
            f" ORDER BY created_at LIMIT 1 OFFSET {LABELLED}",
            USER,
        )
        day = str(newest[0]["created_at"])[:10] if newest else "2100-01-01"
        name = f"bench={time.time():.0f}"
        began = time.monotonic()
        answer = self.person.post(
            "/bulk/", do="label", label=name, value=name, all="1", show="runs", whose="team",
            q=f"before:{day}",
        )  # fmt: skip
        assert answer.status_code == 200, answer.text[:1000]
        print(f"The press of the label took {time.monotonic() - began:.2f} s.", flush=True)
        [job] = self.server.rows("SELECT max(id) AS id FROM playground_job")
        return f"/jobs/{job['id']}/"

    def stop_label(self) -> None:
        query = "SELECT id FROM playground_job WHERE state IN ('waiting', 'running')"
        for row in self.server.rows(query):
            answer = self.person.post(f"/jobs/{row['id']}/stop/")
            assert answer.status_code == 200, answer.status_code

    def labelled(self) -> str:
        [row] = self.server.rows("SELECT done, total FROM playground_job ORDER BY id DESC LIMIT 1")
        assert row["done"], "nothing was labelled meanwhile"
        return f"{row['done']:,} of {row['total']:,} labelled"

    @contextmanager
    def exporting(self, layout: str = "jsonl") -> Iterator[list[int]]:
        """An export of everything that the user sees, read by a thread: [bytes so far]."""
        answer = self.person.post("/export/", layout=layout, whose="team")
        [transfer] = self.server.rows("SELECT max(id) AS id FROM playground_transfer")
        assert answer.status_code == 200, answer.text[:1000]
        read, over = [0], threading.Event()

        def take() -> None:
            url = f"{self.server.url}/transfers/{transfer['id']}/file/"
            with self._client(60) as http, http.stream("GET", url) as body:
                for part in body.iter_bytes():
                    read[0] += len(part)
                    if over.is_set():
                        return

        thread = threading.Thread(target=take)
        thread.start()
        try:
            yield read
        finally:
            over.set()
            thread.join()

    def exported(self) -> str:
        query = "SELECT runs FROM playground_transfer ORDER BY id DESC LIMIT 1"
        [row] = self.server.rows(query)
        return f"{row['runs']:,} exported"


async def _follow(watchers: Sequence[Watcher]) -> None:
    await asyncio.gather(*(watcher.follow() for watcher in watchers))


@contextmanager
def started(database: str) -> Iterator[Server]:
    """The server on that database."""
    with tempfile.TemporaryDirectory(prefix="playground-bench-") as folder:
        if "://" in database:
            with Server(Path(folder), DATABASE_URL=database) as server:
                yield server
        else:
            with Server(Path(database).resolve()) as server:
                yield server


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tests.bench.beside", description=__doc__)
    parser.add_argument("database", metavar="DATA_DIR|DATABASE_URL")
    parser.add_argument("--streams", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args(arguments)
    os.environ.pop("DATABASE_URL", None)
    print(f"{options.streams} streams of {RATE:.0f} tokens a second; load {os.getloadavg()[0]:.1f}")
    print(HEADINGS)
    with clock() as url, started(options.database) as server:
        bench = Bench(server, url, options.streams)
        bench.measure(2)  # what is made lazily is made
        print(bench.measure(min(15, options.seconds)).line("alone"), flush=True)
        bench.label()
        with bench.exporting():
            found = bench.measure(options.seconds)
            print(found.line("beside label and export"), flush=True)
            print(f"{bench.labelled()}; {bench.exported()}; load {os.getloadavg()[0]:.1f}")
            bench.stop_label()
        print(bench.measure(min(15, options.seconds)).line("afterwards"), flush=True)
    return int(percentile(found.lags, 0.99) > LIMIT_MS or found.wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
