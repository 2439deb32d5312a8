"""Peers on the same work, beside the playground: `python -m tests.bench.peers`.

LITELLM is the program `litellm` of an environment in which `litellm[proxy]` is installed; it relays
over HTTP and stores nothing. OPEN_WEBUI is the program `open-webui` of another one; it is used as
its page does (`open_webui.py`). A variable that is not set is said, and that peer not measured.
Rounds take turns: the playground, then each peer; figures are medians.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import httpx

from tests.bench import open_webui
from tests.bench.streams import (
    HEADINGS,
    RATE,
    Measured,
    clock,
    cpu_seconds,
    floor,
    line,
    median,
    megabytes,
    playground,
    served,
)
from tests.server import free_port

READY_SECONDS = 180
CONFIG = """
model_list:
  - model_name: clock
    litellm_params:
      model: text-completion-openai/clock
      api_base: {url}
      api_key: x
"""
TARGETS = {"litellm": 8, "open webui": 6}  # times less CPU a token than theirs

Use = Callable[[int, float, int], Measured]  # streams, rate, tokens of each


@contextmanager
def litellm(program: str, url: str) -> Iterator[tuple[str, int]]:
    """(its base URL, its pid)"""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config.yaml"
        config.write_text(CONFIG.format(url=url))
        environment = os.environ | {
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
        }
        command = [program, "--config", str(config), "--port", str(port), "--host", "127.0.0.1"]
        quiet = subprocess.DEVNULL
        with subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet) as process:
            try:
                base = f"http://127.0.0.1:{port}"
                until_ready(base)
                yield f"{base}/v1", process.pid
            finally:
                process.terminate()


def until_ready(base: str) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        try:
            if httpx.get(f"{base}/health/liveliness", trust_env=False).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.5)
    raise AssertionError(f"{base} did not get ready in {READY_SECONDS} s.")


def relayed(base: str, pid: int, streams: int, rate: float, n: int) -> Measured:
    """The bare client reads from the proxy instead of the clock."""
    before = cpu_seconds(pid)
    read = floor(base, streams, rate, n)
    used = cpu_seconds(pid) - before
    return replace(read, cpu=used / (streams * n) * 1e6, memory=megabytes(pid))


def peers(stack: ExitStack, url: str) -> dict[str, Use]:
    """{name: how it is used}, ready and warm: what is made lazily is made."""
    found: dict[str, Use] = {}
    if program := os.environ.get("LITELLM"):
        proxy = stack.enter_context(litellm(program, url))
        found["litellm"] = lambda *work: relayed(*proxy, *work)
    if program := os.environ.get("OPEN_WEBUI"):
        there = stack.enter_context(open_webui.open_webui(program, url))
        asyncio.run(open_webui.until_ready(there[0]))
        found["open webui"] = lambda *work: open_webui.use(*there, *work)
    for use in found.values():
        use(2, RATE, 20)
    return found


def measure(streams: Sequence[int], seconds: float, rounds: int) -> Iterator[str]:
    """The lines of the table."""
    n = int(RATE * seconds)
    with ExitStack() as stack:
        url = stack.enter_context(clock())
        server, person, connection = stack.enter_context(served(url))
        theirs = peers(stack, url)
        yield HEADINGS
        for count in streams:
            ours: list[Measured] = []
            found: dict[str, list[Measured]] = {name: [] for name in theirs}
            for _ in range(rounds):
                ours.append(playground(server, person, connection, count, RATE, n))
                for name, use in theirs.items():
                    found[name].append(use(count, RATE, n))
            yield line("playground", median(ours))
            for name, each in found.items():
                ratios = [its.cpu / our.cpu for our, its in zip(ours, each, strict=True)]
                ratio = statistics.median(ratios)
                held = "holds" if ratio >= TARGETS[name] else "misses"
                yield (
                    f"{line(name, median(each))}   {ratio:.1f} × ours"
                    f" (at least {TARGETS[name]}: {held}; load {os.getloadavg()[0]:.1f})"
                )


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--streams", default="20,50")
    options.add_argument("--seconds", type=float, default=10)
    options.add_argument("--rounds", type=int, default=1)
    asked = options.parse_args(arguments)
    missing = [name for name in ("LITELLM", "OPEN_WEBUI") if not os.environ.get(name)]
    for name in missing:
        print(f"{name} names no program: not measured.")
    if len(missing) == 2:
        return
    streams = [int(each) for each in asked.streams.split(",")]
    for text in measure(streams, asked.seconds, asked.rounds):
        print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
