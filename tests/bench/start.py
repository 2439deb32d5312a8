"""How long an installed playground takes until it answers, and what it then holds in memory.

`python -m tests.bench.start [--rounds 5]`: the first start makes database, secrets and static
files, the others start what is installed. Seconds by the clock and of the process's own work.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.bench.streams import cpu_seconds, megabytes
from tests.server import Server


class Start(NamedTuple):
    seconds: float
    cpu: float
    memory: float  # MB


def start(server: Server) -> Start:
    began = time.monotonic()
    server.start()
    taken = time.monotonic() - began
    assert server.process
    pid = server.process.pid
    found = Start(taken, cpu_seconds(pid), megabytes(pid))
    server.terminate()
    return found


def measure(rounds: int) -> Iterator[str]:
    """The lines of the table."""
    yield "start          seconds to ready   CPU seconds   MB"
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder))
        yield line("first", start(server))
        starts = [start(server) for _ in range(rounds)]
        middle = Start(*(statistics.median(column) for column in zip(*starts, strict=True)))
        best = min(each.seconds for each in starts)
        load = os.getloadavg()[0]
        yield f"{line('installed', middle)}   (best {best:.1f} s; load {load:.1f})"


def line(name: str, each: Start) -> str:
    return f"{name:<12}{each.seconds:>19.1f}{each.cpu:>14.1f}{each.memory:>5.0f}"


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    for text in measure(options.parse_args(arguments).rounds):
        print(text, flush=True)


if __name__ == "__main__":
    main()
