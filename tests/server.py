"""The playground as a process of its own, as `make run` starts it, and someone who uses it."""

import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Self

import httpx
import psycopg
from psycopg.rows import dict_row

from tests.environment import DATA

ROOT = Path(__file__).resolve().parent.parent
READY_SECONDS = 240


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def document(*columns: dict[str, Any], prompt: str = "Hi", **changes: Any) -> dict[str, Any]:
    """What the form posts, with `stream` on."""
    return {
        "prompt": prompt,
        "mode": "text",
        "messages": [],
        "values": {"stream": True},
        "extra": "",
        "labels": [],
        "visibility": "team",
        "columns": [{"operation": "completions", "model": "m", "values": {}, **c} for c in columns],
        "force": False,
        **changes,
    }


def started_before(folder: Path) -> Path:
    """The folder, as the first start of a server leaves it: that takes seconds, a copy none."""
    shutil.copytree(_first_start(), folder, dirs_exist_ok=True)
    return folder


@cache
def _first_start() -> Path:
    folder = DATA / "first-start"
    done = Server(folder).manage("prepare")
    assert done.returncode == 0, done.stderr
    return folder


@contextmanager
def fake_process() -> Iterator[str]:
    """The fake provider as a process of its own: it answers `rate=20 n=100` in a prompt."""
    command = [sys.executable, "-m", "tests.fake_provider", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.kill()


class Server:
    """`with Server(folder) as server:`; `kill`, `terminate` and `start` it as often as wanted."""

    def __init__(self, data_dir: Path, **environment: str) -> None:
        self.data_dir = data_dir
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.lines: list[str] = []
        self.link = ""
        self.wrapper: list[str] = []  # a command that starts it, such as `unshare -m`
        self.process: subprocess.Popen[str] | None = None
        self.people: list[Person] = []
        inherited = {
            name: value
            for name, value in os.environ.items()
            if name not in ("PUBLIC_URL", "SECRET_KEY", "ENCRYPTION_KEYS", "HOST")
        }
        self.environment = {
            **inherited,
            "DATA_DIR": str(data_dir),
            "PORT": str(self.port),
            "EMBEDDED": "0",
            "PYTHONUNBUFFERED": "1",
            **environment,
        }

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        for person in self.people:
            person.http.close()
        if self.process and self.process.poll() is None:
            self.terminate()

    def start(self) -> None:
        self.lines.clear()
        self.process = subprocess.Popen(
            [*self.wrapper, sys.executable, "manage.py", "start"],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, args=(self.process,), daemon=True)
        self._reader.start()
        deadline = time.monotonic() + READY_SECONDS
        while not self.is_up():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"The server did not start:\n{self.output}")
            time.sleep(0.05)
        found = re.search(r"https?://\S+/login/\S+/", self.output)
        self.link = found.group() if found else ""

    def _read(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout
        for line in process.stdout:
            self.lines.append(line)

    @property
    def output(self) -> str:
        return "".join(self.lines)

    def is_up(self) -> bool:
        try:
            return httpx.get(f"{self.url}/healthz", timeout=2, trust_env=False).status_code == 200
        except httpx.HTTPError:
            return False

    def kill(self) -> None:
        """kill −9"""
        self._end(signal.SIGKILL)

    def terminate(self) -> int:
        return self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> int:
        assert self.process
        self.process.send_signal(how)
        return self.ended()

    def ended(self) -> int:
        """Waits for the end; the exit code."""
        assert self.process
        code = self.process.wait(timeout=60)
        self._reader.join(5)
        if self.process.stdout:
            self.process.stdout.close()
        return code

    def manage(self, *arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def connect(self, name: str, base_url: str, *more: str) -> int:
        """A local connection by `manage.py connection`; its id."""
        done = self.manage(
            "connection", name, "--provider", "local", "--dialect", "llama.cpp",
            "--base-url", base_url, *more,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        [row] = self.rows("SELECT id FROM playground_connection WHERE name = ?", name)
        return int(row["id"])

    def rows(self, query: str, *parameters: Any) -> list[dict[str, Any]]:
        """From the database, as another program would read it. `?` stands for a parameter."""
        if url := self.environment.get("DATABASE_URL"):
            with psycopg.connect(url, row_factory=dict_row) as postgres:
                return postgres.execute(query.replace("?", "%s"), parameters).fetchall()
        with sqlite3.connect(self.data_dir / "db.sqlite3", timeout=20) as database:
            database.row_factory = sqlite3.Row
            found = [dict(row) for row in database.execute(query, parameters)]
        database.close()
        return found

    def user(self) -> "Person":
        """Logged in by the printed link, or by a new one."""
        link = self.link or self.manage("login_link", "admin").stdout.split("Open ")[-1].split()[0]
        self.link = ""
        self.people.append(Person(self, link))
        return self.people[-1]


class Person:
    """A browser without a screen: cookies and forms."""

    def __init__(self, server: Server, link: str) -> None:
        self.server = server
        self.http = httpx.Client(trust_env=False, timeout=30, follow_redirects=True)
        assert self.http.get(link).status_code == 200
        assert self.session

    @property
    def session(self) -> str:
        return self.http.cookies.get(f"playground_{self.server.port}", "")

    @property
    def socket_headers(self) -> dict[str, str]:
        return {
            "Cookie": f"playground_{self.server.port}={self.session}",
            "Origin": self.server.url,
        }

    def post(self, path: str, **data: str) -> httpx.Response:
        token = self.http.cookies.get(f"playground_{self.server.port}_csrf", "")
        headers = {"X-CSRFToken": token, "HX-Request": "true", "Referer": self.server.url}
        return self.http.post(self.server.url + path, data=data, headers=headers)

    def run(self, form: dict[str, Any], prefix: str = "") -> tuple[int, list[int]]:
        """Post the form; (comparison, runs)."""
        answer = self.post(f"{prefix}/comparisons/", document=json.dumps(form))
        assert answer.status_code == 200, answer.text[:2000]
        comparison = int(answer.headers["HX-Push-Url"].rstrip("/").rpartition("/")[2])
        query = "SELECT id FROM playground_run WHERE comparison_id = ? ORDER BY position"
        return comparison, [row["id"] for row in self.server.rows(query, comparison)]
