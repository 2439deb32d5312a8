"""A real OGX 1.5.0, started with a configuration of one's own."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server import free_port
from tests.services.environments import environment

START_SECONDS = 120

CONFIG = """
version: 2
distro_name: playground
apis: [inference]
providers:
  inference:
  - provider_id: local
    provider_type: remote::llama-cpp-server
    config: {{base_url: "{llama}"}}
  - provider_id: mock
    provider_type: remote::openai
    config: {{base_url: "{mock}", api_key: sk-mock}}
  - provider_id: keyless
    provider_type: remote::openai
    config: {{base_url: "{mock}"}}
  - provider_id: gone
    provider_type: remote::openai
    config: {{base_url: "http://127.0.0.1:{closed}/v1", api_key: sk-mock}}
server:
  host: 127.0.0.1
  port: {port}
  insecure: true
"""

Start = Callable[[str], Any]


def starter(pytest_config: pytest.Config, folders: pytest.TempPathFactory) -> Start:
    """Starts an OGX with a configuration; its address.

    With its default log, each error of an upstream would stall the server for seconds.
    """
    program = environment(pytest_config, "ogx-env", ["ogx==1.5.0"], python=(3, 12)) / "ogx"

    inherited = {name: value for name, value in os.environ.items() if "API_KEY" not in name}

    @contextmanager
    def running(config: str) -> Iterator[str]:
        folder, port = folders.mktemp("ogx"), free_port()
        config = config.replace("{port}", str(port))
        (folder / "config.yaml").write_text(config)
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [program, "run", "config.yaml"],
                cwd=folder,
                env={**inherited, "HOME": str(folder), "OGX_LOG_FORMAT": "json"},
                stdout=log,
                stderr=log,
            )
            try:
                address = f"http://127.0.0.1:{port}/v1"
                wait_for(address, process, folder / "log")
                yield address
            finally:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    return running


def wait_for(address: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        assert process.poll() is None, log.read_text()[-5000:]
        assert time.monotonic() < deadline, log.read_text()[-5000:]
        try:
            if httpx.get(f"{address}/health", trust_env=False, timeout=2).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.2)


def config(llama: str, mock: str) -> str:
    return CONFIG.format(llama=llama, mock=mock, closed=free_port(), port="{port}")
