"""deploy/install.sh and the steps of docs/deployment.md, carried out below a folder of the test's
own with a real PostgreSQL, Redis and nginx."""

import asyncio
import getpass
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from tests.follower import Follower
from tests.server import ROOT, Person, document, fake_process, free_port
from tests.services.conftest import Cluster, running_cluster
from tests.services.team import AROUND, Redis, Service, answers, program, until

NEW_USER = "playground-test"
DOCS = ROOT / "docs" / "deployment.md"


def free_pair() -> int:
    """The first of two ports that follow on each other."""
    while True:
        first = free_port()
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", first + 1))
            return first


def user_of_the_servers() -> str:
    """A new one, unless another user could not even start our Python."""
    if os.geteuid() != 0:
        return getpass.getuser()
    tried = ["runuser", "-u", "nobody", "--", os.path.realpath(sys.executable), "-c", ""]
    able = subprocess.run(tried, cwd="/", capture_output=True, check=False).returncode == 0
    return NEW_USER if able else "root"


def lend_environment(venvs: Path) -> None:
    """That of the tests, in place of one with the same versions: test_setup.py makes one anew."""
    venvs.mkdir(parents=True)
    with (ROOT / "requirements.lock").open("rb") as lock:
        said = subprocess.run(["cksum"], stdin=lock, capture_output=True, text=True, check=True)
    (venvs / "-".join(said.stdout.split())).symlink_to(Path(sys.prefix).resolve())


class Install:
    """What an admin has after install.sh; looks like one server to a `Person`."""

    def __init__(self, folder: Path, cluster: Cluster, redis: Redis) -> None:
        self.folder = folder
        self.prefix = folder / "root"
        self.port = free_port()
        self.origin = f"http://127.0.0.1:{self.port}"
        self.url = f"{self.origin}/play"  # below a path: nothing may leave it
        self.redis = redis
        self.cluster = cluster
        self.environment = {
            **{k: v for k, v in os.environ.items() if k not in ("DATA_DIR", "EMBEDDED", "PORT")},
            "PGHOST": "127.0.0.1",
            "PGPORT": str(cluster.port),
            "PATH": f"{cluster.programs}:{os.environ['PATH']}:/usr/sbin",
        }
        self.first = free_pair()
        self.user = user_of_the_servers()
        self.processes: list[subprocess.Popen[bytes]] = []
        lend_environment(self.prefix / "opt/playground/venvs")
        self.proxy: Service | None = None
        self.people: list[Person] = []

    def install(self, *more: str) -> str:
        return self.shell(
            "sh", str(ROOT / "deploy/install.sh"), "--prefix", str(self.prefix), "--no-systemd",
            "--no-packages", "--user", self.user, "--redis-url", self.redis.url,
            "--first-port", str(self.first), *more,
        )  # fmt: skip

    def shell(self, *command: str, stdin: str = "") -> str:
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True,
            input=stdin, timeout=280, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def manage(self, *arguments: str, stdin: str = "") -> str:
        command = str(self.prefix / "usr/local/bin/playground-manage")
        return self.shell(command, *arguments, stdin=stdin)

    def start(self, said: str) -> None:
        """Each process as install.sh prints it, and nginx with the site that it wrote."""
        commands = re.findall(r"^ +PORT=(\d+) (\S+) (start --no-link)$", said, re.MULTILINE)
        assert len(commands) == 2
        for port, command, words in commands:
            log = (self.folder / f"{port}.log").open("ab")
            self.processes.append(
                subprocess.Popen(
                    [command, *words.split()],
                    env={**self.environment, "PORT": port},
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )
            log.close()
        for port, _, _ in commands:
            until(lambda port=port: answers(f"http://127.0.0.1:{port}/readyz"), 120)  # type: ignore[misc]
        nginx = self.folder / "nginx"
        nginx.mkdir(exist_ok=True)
        around = AROUND.format(folder=nginx).replace(
            f"include {nginx}/site.conf",
            f"include {self.prefix}/etc/nginx/sites-enabled/playground",
        )
        around = around.replace("access_log off", f"access_log {nginx}/access.log")
        (nginx / "nginx.conf").write_text(around)
        self.proxy = Service(
            program("nginx", "nginx-light"), "-p", str(nginx), "-c", str(nginx / "nginx.conf"),
            "-g", "daemon off;",
        )  # fmt: skip
        self.proxy.start()
        until(lambda: answers(f"{self.url}/healthz"))

    def stop(self) -> None:
        for process in self.processes:
            os.killpg(process.pid, signal.SIGTERM)
        for process in self.processes:
            assert process.wait(60) == 0
        self.processes.clear()
        if self.proxy:
            self.proxy.stop()

    def rows(self, query: str, *parameters: Any) -> list[dict[str, Any]]:
        url = f"postgres://postgres@127.0.0.1:{self.cluster.port}/playground"
        with psycopg.connect(url, row_factory=dict_row) as postgres:
            return postgres.execute(query.replace("?", "%s"), parameters).fetchall()  # type: ignore[arg-type]

    def person(self) -> Person:
        said = self.manage("login_link", "admin")
        self.people.append(Person(self, said.split("Open ")[-1].split()[0]))  # type: ignore[arg-type]
        return self.people[-1]

    def history(self) -> list[tuple[Any, ...]]:
        """Everything of the runs that a reader can see."""
        query = (
            "SELECT run.id, status, request, model, text, sha256 FROM playground_run AS run"
            " JOIN playground_choice AS choice ON choice.run_id = run.id ORDER BY run.id"
        )
        labels = "SELECT id, name FROM playground_label ORDER BY id"
        keys = "SELECT id, sealed FROM playground_apikey ORDER BY id"
        return [tuple(row.values()) for ask in (query, labels, keys) for row in self.rows(ask)]

    def documented(self, kind: str) -> None:
        """Carry out a block of commands of the documents, with our folders in it."""
        [block] = re.findall(rf"```sh {kind}\n(.*?)```", DOCS.read_text(), re.DOTALL)
        lines = [line for line in block.splitlines() if not line.startswith("systemctl")]
        script = "\n".join(["set -eu", *lines]).replace(
            "/etc/playground", f"{self.prefix}/etc/playground"
        )
        script = script.replace(
            "playground-manage", f"{self.prefix}/usr/local/bin/playground-manage"
        )
        if os.geteuid() != 0:
            script = script.replace("runuser -u postgres -- ", "")
        self.shell("sh", "-c", script)


@contextmanager
def folder_for_all() -> Iterator[Path]:
    """Not pytest's own, which the servers' user may not enter."""
    folder = Path(tempfile.mkdtemp(prefix="playground-install-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def installed() -> Iterator[Install]:
    """Without any secret of the test's environment."""
    with folder_for_all() as folder, running_cluster() as cluster:
        (folder / "redis").mkdir()
        redis = Redis(folder / "redis")
        redis.start()
        made = Install(folder, cluster, redis)
        try:
            yield made
        finally:
            for person in made.people:
                person.http.close()
            made.stop()
            redis.stop()
            if made.user == NEW_USER:
                subprocess.run(["userdel", NEW_USER], capture_output=True, check=False)


def some_runs(installed: Install, url: str) -> None:
    """Streamed through nginx, and labelled."""
    installed.manage(
        "connection", "fake", "--provider", "local", "--dialect", "llama.cpp", "--base-url", url,
        "--key-stdin", stdin="sk-test-0123456789abcdef",
    )  # fmt: skip
    [row] = installed.rows("SELECT id FROM playground_connection WHERE name = 'fake'")
    person = installed.person()
    column = {"connection": row["id"]}
    form = document(column, column, prompt="rate=50 n=40", labels=["kept"])
    _, runs = person.run(form)
    cookie = f"playground_{installed.port}={person.session}"
    headers = {"Cookie": cookie, "Origin": installed.origin}
    follower = Follower(f"ws://127.0.0.1:{installed.port}/play/ws/", headers, runs)
    asyncio.run(asyncio.wait_for(follower.follow(), 30))
    # The last words may come with the record, where another process had the run.
    for run in runs:
        [row] = installed.rows("SELECT text FROM playground_choice WHERE run_id = ?", run)
        assert follower.texts[run, 0]
        assert not follower.misplaced(run, row["text"])
    assert {end["status"] for end in follower.ends.values()} == {"completed"}


@pytest.mark.timeout(900)  # it starts everything twice, also where the machine is busy
def test_install_back_up_lose_everything_restore_and_upgrade(installed: Install) -> None:
    said = installed.install("--public-url", installed.url)
    assert "Making the PostgreSQL database playground" in said
    secrets = installed.prefix / "etc/playground/secrets"
    assert {path.name for path in secrets.iterdir()} == {
        "signing-key", "master-key", "database-password", "database-url",
    }  # fmt: skip
    assert all(path.stat().st_mode & 0o007 == 0 for path in [secrets, *secrets.iterdir()])
    installed.start(said)
    with fake_process() as url:
        some_runs(installed, url)
        log = (installed.folder / "nginx/access.log").read_text()
        assert "/play/comparisons/" in log
        assert "/login/" not in log  # the link is a key
        before = installed.history()
        assert len(before) >= 2
        installed.documented("backup")
        dump = (installed.folder / "playground.dump").read_bytes()
        assert (secrets / "master-key").read_bytes().strip() not in dump

        # Upgrade: the same command again, here with a process more. It makes nothing anew, and says
        # so by saying nothing.
        again = installed.install("--processes", "3")
        assert f"PORT={installed.first + 2} " in again
        assert "Making" not in again
        assert "Writing the settings" not in again
        # What it was told last time holds, and a new address takes the place of the old one.
        third = installed.install(
            "--redis-url", installed.redis.url.replace("127.0.0.1", "localhost")
        )
        assert f"PORT={installed.first + 2} " in third
        assert "Setting REDIS_URL" in third
        assert len(list((installed.prefix / "opt/playground/releases").iterdir())) == 3
        assert len(list((installed.prefix / "opt/playground/venvs").iterdir())) == 1
        installed.stop()

        # Everything is lost: another machine with nothing but the two files.
        shutil.rmtree(installed.prefix / "etc")
        shutil.rmtree(installed.prefix / "var")
        installed.shell(str(installed.cluster.programs / "dropdb"), "-U", "postgres", "playground")
        fresh = installed.install("--public-url", installed.url)
        assert "Making the secret" in fresh
        assert installed.history() == []
        installed.documented("restore")
        installed.start(fresh)
        assert installed.history() == before
        page = installed.person().http.get(f"{installed.url}/history/").text
        assert "kept" in page
        _, runs = installed.people[-1].run(
            document({"connection": installed.rows("SELECT id FROM playground_connection"
                                                   " WHERE name = 'fake'")[0]["id"]},
                     prompt="rate=50 n=3")
        )  # fmt: skip
        done = "SELECT 1 FROM playground_run WHERE id = ? AND status = 'completed'"
        until(lambda: installed.rows(done, runs[0]))


def test_the_image_has_the_program_and_no_secret() -> None:
    """What deploy/Dockerfile runs; the settings come from the environment alone."""
    user = user_of_the_servers()
    with folder_for_all() as folder:
        lend_environment(folder / "opt/playground/venvs")
        (folder / "data").mkdir()
        if user == NEW_USER:
            (folder / "data").chmod(0o777)
        environment = {**os.environ, "DATA_DIR": str(folder / "data"), "EMBEDDED": "0"}
        try:
            for command in (
                [
                    "sh",
                    str(ROOT / "deploy/install.sh"),
                    "--container",
                    "--no-packages",
                    "--prefix",
                    str(folder),
                    "--user",
                    user,
                ],
                [str(folder / "usr/local/bin/playground-manage"), "prepare"],
            ):
                done = subprocess.run(
                    command, env=environment, cwd="/", capture_output=True, text=True, check=False
                )
                assert done.returncode == 0, done.stdout + done.stderr
        finally:
            if user == NEW_USER:
                subprocess.run(["userdel", NEW_USER], capture_output=True, check=False)
        assert (folder / "data/db.sqlite3").exists()
        assert not (folder / "etc/playground").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--frobnicate"], "Unknown option --frobnicate"),
        (["--processes", "two"], "--processes must be a whole number"),
        (["--prefix"], "--prefix needs a value"),
        (["--prefix", "PREFIX", "--no-systemd", "--no-packages"], "--public-url"),
        (
            ["--prefix", "PREFIX", "--no-systemd", "--no-packages", "--public-url",
             "https://play.example.org", "--certificate", "/nowhere", "--key", "/nowhere"],
            "--certificate /nowhere cannot be read",
        ),
    ],
)  # fmt: skip
def test_what_it_cannot_do_is_said_before_anything_is_changed(
    arguments: list[str], said: str, tmp_path: Path
) -> None:
    prefix = tmp_path / "prefix"
    done = subprocess.run(
        ["sh", "deploy/install.sh", *(each.replace("PREFIX", str(prefix)) for each in arguments)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip
    assert done.returncode == 1
    assert said in done.stderr
    assert not prefix.exists()
