"""A team install in small: PostgreSQL, Redis, several server processes, nginx in front of them."""

import copy
import os
import runpy
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.server import ROOT, Person, Server, free_port
from tests.services.conftest import missing

site = runpy.run_path(str(ROOT / "deploy" / "site.py"))["site"]
AROUND = """
pid {folder}/nginx.pid;
error_log {folder}/error.log;
worker_processes 1;
events {{ worker_connections 2000; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""


def program(name: str, package: str) -> str:
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    if found is None:
        missing(f"This machine has no {name} (Debian: apt install {package}).")
    return str(found)


def until(condition: Callable[[], Any], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, condition
        time.sleep(0.05)


class Service:
    """A program of the test's own; `stop` and `start` it as often as wanted."""

    def __init__(self, *command: str) -> None:
        self.command = command
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def stop(self, how: int = signal.SIGTERM) -> None:
        process, self.process = self.process, None
        if process:
            process.send_signal(how)
            process.wait(20)


class Redis(Service):
    """Keeps nothing on disk."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        super().__init__(
            program("redis-server", "redis-server"), "--port", str(self.port), "--bind",
            "127.0.0.1", "--dir", str(folder), "--save", "", "--appendonly", "no",
        )  # fmt: skip

    def start(self) -> None:
        super().start()
        until(self._answers)

    def _answers(self) -> bool:
        ping = ["redis-cli", "-p", str(self.port), "ping"]
        return b"PONG" in subprocess.run(ping, capture_output=True, check=False).stdout


class Proxy(Service):
    """nginx with the site that deploy/nginx.conf is."""

    def __init__(self, folder: Path, location: str = "/") -> None:
        self.folder, self.location, self.port = folder, location, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        (folder / "nginx.conf").write_text(AROUND.format(folder=folder))
        super().__init__(
            program("nginx", "nginx-light"), "-p", str(folder), "-c", str(folder / "nginx.conf"),
            "-g", "daemon off;",
        )  # fmt: skip

    def serve(self, ports: list[int]) -> None:
        """Begin with these processes behind it, or go on with them."""
        text = site(urlsplit(self.url + self.location), ports)
        (self.folder / "site.conf").write_text(text)
        if self.process:
            self.process.send_signal(signal.SIGHUP)
        else:
            self.start()


class Team:
    """Looks like one server to a `Person`; `servers` are its processes."""

    def __init__(self, folder: Path, database: str, *, path: str = "", **more: str) -> None:
        (folder / "redis").mkdir(parents=True)
        (folder / "nginx").mkdir()
        self.folder = folder
        self.redis = Redis(folder / "redis")
        self.proxy = Proxy(folder / "nginx", f"{path}/")
        self.url, self.port = self.proxy.url, self.proxy.port
        self.people: list[Person] = []
        self.servers: list[Server] = []
        self.environment = {
            "DATABASE_URL": database,
            "REDIS_URL": self.redis.url,
            "PUBLIC_URL": self.url + path,
            "CLIENT_ADDRESS_HEADER": "X-Forwarded-For",
            **more,
        }

    def add(self, count: int = 1) -> None:
        """More processes, and nginx is told."""
        new = [Server(self.folder / "data", **self.environment) for _ in range(count)]
        if not self.servers:
            new[0].start()  # makes the database; the others would wait for it
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda server: server.start(), new[not self.servers :]))
        self.servers += new
        self.proxy.serve([server.port for server in self.running])

    @property
    def running(self) -> list[Server]:
        return [each for each in self.servers if each.process and each.process.poll() is None]

    def rows(self, query: str, *parameters: Any) -> list[dict[str, Any]]:
        return self.servers[0].rows(query, *parameters)

    def connect(self, name: str, base_url: str, *more: str) -> int:
        return self.servers[0].connect(name, base_url, *more)

    def person(self, name: str = "admin") -> Person:
        """Somebody who talks to nginx."""
        said = self.servers[0].manage("login_link", name).stdout
        self.people.append(Person(self, said.split("Open ")[-1].split()[0]))  # type: ignore[arg-type]
        return self.people[-1]

    def at(self, person: Person, server: Server) -> Person:
        """The same somebody, who talks to one process."""
        there = copy.copy(person)
        there.server = SimpleNamespace(url=server.url, port=self.port, rows=self.rows)  # type: ignore[assignment]
        return there

    def socket_headers(self, person: Person) -> dict[str, str]:
        return {"Cookie": f"playground_{self.port}={person.session}", "Origin": self.url}

    @property
    def output(self) -> str:
        return "".join(server.output for server in self.servers)


@contextmanager
def team(
    folder: Path, database: str, processes: int, *, path: str = "", **more: str
) -> Iterator[Team]:
    made = Team(folder, database, path=path, **more)
    try:
        made.redis.start()
        made.add(processes)
        until(lambda: answers(made.url + path + "/healthz"))
        yield made
    finally:
        for person in made.people:
            person.http.close()
        made.proxy.stop()
        try:
            with ThreadPoolExecutor() as pool:
                list(pool.map(lambda server: server.__exit__(), made.servers))
        finally:
            made.redis.stop()


def answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5, trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False
