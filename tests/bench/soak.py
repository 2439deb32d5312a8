"""Whether a server is after ten minutes of mixed use what it was before.

`python -m tests.bench.soak [--minutes 10] [--streams 50]`: streams all the time, a third of them
stopped on the way, sockets that come and go, pages, the history, a search. Prints once a minute
what the process holds: memory, threads, file handles, and connections to its database.
"""

import argparse
import asyncio
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.bench.streams import COLUMNS, Watcher, clock, megabytes, served
from tests.server import Person, Server, document

RATE, TOKENS = 50, 500
PAGES = ("/", "/history/", "/history/?q=clock", "/stats/", "/healthz")
CALM = 75.0  # seconds before the last look: a thread keeps its connection to the database for 60


class Held(NamedTuple):
    memory: float  # MB
    threads: int
    files: int
    database: int  # handles of the database's file


def held(pid: int) -> Held:
    handles = []
    for handle in Path(f"/proc/{pid}/fd").iterdir():
        try:
            handles.append(os.readlink(handle))
        except FileNotFoundError:
            continue
    threads = len(list(Path(f"/proc/{pid}/task").iterdir()))
    database = sum(name.endswith("db.sqlite3") for name in handles)
    return Held(megabytes(pid), threads, len(handles), database)


class Use:
    """What people do, in threads, until `over`."""

    def __init__(self, server: Server, person: Person, connection: int, streams: int) -> None:
        self.server, self.person, self.connection = server, person, connection
        self.over = threading.Event()
        self.runs = self.pages = self.wrong = 0
        self.failures: list[str] = []
        works = [self._stream] * max(1, streams // COLUMNS) + [self._look]
        self._threads = [threading.Thread(target=self._until_over, args=(work,)) for work in works]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self.over.set()
        for thread in self._threads:
            thread.join()

    def _until_over(self, work: Callable[[], None]) -> None:
        while not self.over.is_set():
            try:
                work()
            except Exception as error:
                self.failures.append(f"{type(error).__name__}: {error}"[:200])
                time.sleep(1)

    def _stream(self) -> None:
        columns = [{"connection": self.connection}] * COLUMNS
        form = document(*columns, prompt=f"rate={RATE} n={TOKENS}")
        _, runs = self.person.run(form)
        cuts = random.choice((0, 0, 1, 3))
        url = f"ws://127.0.0.1:{self.server.port}/ws/"
        watcher = Watcher(url, self.person.socket_headers, runs, cuts=cuts)
        stopped = random.sample(runs, COLUMNS // 3)
        timer = threading.Timer(3, lambda: [self._stop(run) for run in stopped])
        timer.start()
        asyncio.run(watcher.follow())
        timer.join()
        self.runs += len(runs)
        self.wrong += len(watcher.wrong())

    def _stop(self, run: int) -> None:
        self.person.post(f"/runs/{run}/stop/")

    def _look(self) -> None:
        for path in PAGES:
            answer = self.person.http.get(self.server.url + path)
            self.pages += 1
            if answer.status_code != 200:
                self.failures.append(f"{path}: {answer.status_code}")
            self.over.wait(0.5)


def measure(minutes: float, streams: int) -> Iterator[str]:
    """The lines of the table."""
    yield "minute      MB  threads  files  database    runs   pages  load"
    with clock() as url, served(url) as (server, person, connection):
        assert server.process
        pid = server.process.pid
        use = Use(server, person, connection, streams)
        yield line("before", held(pid), use)
        use.start()
        began = time.monotonic()
        try:
            for minute in range(1, int(minutes) + 1):
                time.sleep(max(0.0, began + 60 * minute - time.monotonic()))
                yield line(str(minute), held(pid), use)
        finally:
            use.end()
        time.sleep(CALM)
        yield line("after", held(pid), use)
        assert use.runs, use.failures[:3]
        yield (
            f"{use.wrong} runs of which a page would have fetched the text again;"
            f" {len(use.failures)} requests failed {use.failures[:3]}"
        )


def line(when: str, each: Held, use: Use) -> str:
    return (
        f"{when:<8}{each.memory:>6.0f}{each.threads:>9}{each.files:>7}{each.database:>10}"
        f"{use.runs:>8}{use.pages:>8}{os.getloadavg()[0]:>6.1f}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=10)
    options.add_argument("--streams", type=int, default=50)
    asked = options.parse_args(arguments)
    for text in measure(asked.minutes, asked.streams):
        print(text, flush=True)


if __name__ == "__main__":
    main()
