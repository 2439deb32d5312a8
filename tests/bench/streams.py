"""What a streamed token costs: the playground against a bare httpx client, in one run.

`python -m tests.bench.streams [--streams 1,20,50,100,200] [--seconds 10] [--rounds 3]` prints a
table. A token is relayed to a socket and stored; CPU is the server's own (`/proc`) from the press
of Run until the records are saved and searched, lag is from the backend's write to the socket's
frame, both in this machine's one monotonic clock. The bare client and the playground take turns,
so that what else runs on the machine weighs on both; figures are medians of the rounds.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from tests.follower import Follower
from tests.server import ROOT, Person, Server, document

COLUMNS = 10  # of one comparison
RATE = 50.0  # tokens a second of one stream
WAIT = 2.0  # seconds before the first token: no model is quicker than a page with its socket
AFTERWARDS = 1.5  # seconds after the last end in which runs are learned from and indexed
KEY = "sk-bench-0123456789abcdefghijklmnop"  # with a key, answers are searched for it


@dataclass(frozen=True)
class Measured:
    streams: int
    cpu: float  # microseconds a token
    lag50: float  # milliseconds
    lag99: float
    first50: float
    memory: float  # MB resident at the end; 0 for the floor
    wrong: int  # transcripts that were not what was sent


class Watcher(Follower):
    """A follower that notes how late each token is, and says its position as the page does."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.lags: list[float] = []
        self.firsts: list[float] = []
        self._noted: set[tuple[int, int]] = set()  # rows; one comes again after a gap
        self._said = 0.0

    async def _say(self, socket: Any) -> None:
        """Once a second, not after each message."""
        now = time.monotonic()
        if now - self._said >= 1:
            self._said = now
            await super()._say(socket)

    def _take(self, message: dict[str, Any]) -> bool:
        now = time.monotonic()
        for row in message.get("events", []):
            place = row["run"], row["seq"]
            texts = [] if place in self._noted else row["events"]
            self._noted.add(place)
            for kind, _, data, *_ in texts:
                if kind == "text":
                    lags = [(now - float(sent)) * 1000 for sent in data.split()]
                    if row["seq"] == 1:
                        self.firsts.append(lags[0])
                    self.lags += lags
        return super()._take(message)


@contextmanager
def clock() -> Iterator[str]:
    """The clock as a process of its own; its base URL."""
    command = [sys.executable, "-m", "tests.bench.clock"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def megabytes(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else 0.0


def floor(url: str, streams: int, rate: float, n: int) -> Measured:
    command = [sys.executable, "-m", "tests.bench.httpx_reader", url, *map(str, (streams, rate, n))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    return measured(streams, said["cpu"], said["lags"], said["firsts"], 0, 0)


def playground(
    server: Server,
    person: Person,
    connection: int,
    streams: int,
    rate: float,
    n: int,
    columns: int = COLUMNS,
) -> Measured:
    assert server.process
    pid = server.process.pid
    before = cpu_seconds(pid)
    prompt = f"rate={rate} n={n} wait={WAIT}"
    watchers: list[Watcher] = []

    async def press(count: int) -> None:
        """As a page: the answer to the press of Run, then the socket."""
        form = document(*[{"connection": connection}] * count, prompt=prompt)
        _, runs = await asyncio.to_thread(person.run, form)
        watcher = Watcher(f"ws://127.0.0.1:{server.port}/ws/", person.socket_headers, runs)
        watchers.append(watcher)
        await watcher.follow()

    async def use() -> None:
        counts = [min(columns, streams - start) for start in range(0, streams, columns)]
        await asyncio.gather(*map(press, counts))

    asyncio.run(use())
    time.sleep(AFTERWARDS)
    used = cpu_seconds(pid) - before
    lags = [lag for each in watchers for lag in each.lags]
    firsts = [first for each in watchers for first in each.firsts]
    wrong = sum(len(each.wrong()) for each in watchers) + (len(lags) != streams * n)
    return measured(streams, used, lags, firsts, megabytes(pid), wrong)


def measured(
    streams: int,
    cpu: float,
    lags: Sequence[float],
    firsts: Sequence[float],
    memory: float,
    wrong: int,
) -> Measured:
    return Measured(
        streams,
        cpu / max(len(lags), 1) * 1e6,
        percentile(lags, 0.5),
        percentile(lags, 0.99),
        statistics.median(firsts) if firsts else 0.0,
        memory,
        wrong,
    )


def median(rounds: Sequence[Measured]) -> Measured:
    """Each figure's median; the wrong ones are counted together."""
    middle = {
        field.name: statistics.median(getattr(each, field.name) for each in rounds)
        for field in fields(Measured)
    }
    return Measured(**{**middle, "wrong": sum(each.wrong for each in rounds)})


HEADINGS = "streams     who         µs CPU/token  lag p50 ms  p99 ms  first ms  MB    wrong"


def line(who: str, each: Measured) -> str:
    return (
        f"{each.streams:>7.0f}     {who:<12}{each.cpu:>12.0f}{each.lag50:>12.1f}{each.lag99:>8.1f}"
        f"{each.first50:>10.1f}{each.memory:>6.0f}{each.wrong:>7}"
    )


@contextmanager
def served(url: str) -> Iterator[tuple[Server, Person, int]]:
    """A playground with a connection to the clock, installed and started again: the first start
    makes the database. Warm: what is made lazily is made."""
    with tempfile.TemporaryDirectory() as folder, Server(Path(folder)) as server:
        more = ("--provider", "local", "--dialect", "llama.cpp", "--base-url", url)
        done = server.manage("connection", "clock", *more, "--key-stdin", stdin=KEY)
        assert done.returncode == 0, done.stderr
        [row] = server.rows("SELECT id FROM playground_connection WHERE name = 'clock'")
        server.terminate()
        server.start()
        person = server.user()
        playground(server, person, int(row["id"]), 1, RATE, 20)
        yield server, person, int(row["id"])


def measure(
    streams: Sequence[int], seconds: float, rounds: int = 3, rate: float = RATE
) -> Iterator[str]:
    """The lines of the table, as they are measured."""
    n = int(rate * seconds)
    yield HEADINGS
    with clock() as url, served(url) as (server, person, connection):
        for count in streams:
            bare, ours = [], []
            for _ in range(rounds):
                bare.append(floor(url, count, rate, n))
                ours.append(playground(server, person, connection, count, rate, n))
            ratios = [our.cpu / its.cpu for our, its in zip(ours, bare, strict=True)]
            ratio, load = statistics.median(ratios), os.getloadavg()[0]
            yield line("httpx", median(bare))
            yield (
                f"{line('playground', median(ours))}   {ratio:.2f} × the floor's CPU"
                f" ({min(ratios):.2f} to {max(ratios):.2f}; load {load:.1f})"
            )


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--streams", default="1,20,50,100,200")
    options.add_argument("--seconds", type=float, default=10)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--rate", type=float, default=RATE, help="tokens a second of one stream")
    asked = options.parse_args(arguments)
    streams = [int(each) for each in asked.streams.split(",")]
    for text in measure(streams, asked.seconds, asked.rounds, asked.rate):
        print(text, flush=True)


if __name__ == "__main__":
    main()
