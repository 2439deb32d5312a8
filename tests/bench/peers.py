"""A peer on the same work, beside the playground: `python -m tests.bench.peers LITELLM`.

LITELLM is the program `litellm` of an environment in which `litellm[proxy]` is installed; without
it nothing is measured and a line says so. It relays over HTTP and stores nothing.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx

from tests.bench.streams import (
    HEADINGS,
    RATE,
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


def measure(program: str, streams: Sequence[int], seconds: float) -> Iterator[str]:
    """The lines of the table."""
    n = int(RATE * seconds)
    yield HEADINGS
    with (
        clock() as url,
        litellm(program, url) as (base, pid),
        served(url) as (server, person, connection),
    ):
        floor(base, 2, RATE, 20)  # what is made lazily is made
        for count in streams:
            ours = playground(server, person, connection, count, RATE, n)
            before = cpu_seconds(pid)
            relayed = floor(base, count, RATE, n)
            used = cpu_seconds(pid) - before
            theirs = replace(relayed, cpu=used / (count * n) * 1e6, memory=megabytes(pid))
            yield line("playground", median([ours]))
            ratio = theirs.cpu / ours.cpu
            yield f"{line('litellm', theirs)}   {ratio:.1f} × ours; load {os.getloadavg()[0]:.1f}"


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("litellm", nargs="?", default=os.environ.get("LITELLM", ""))
    options.add_argument("--streams", default="20,50")
    options.add_argument("--seconds", type=float, default=10)
    asked = options.parse_args(arguments)
    if not asked.litellm:
        print("LiteLLM is not measured: LITELLM names no program.")
        return
    streams = [int(each) for each in asked.streams.split(",")]
    for text in measure(asked.litellm, streams, asked.seconds):
        print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
