"""Setting up: the environment, the first start, and one sentence for whatever is in the way."""

import http.client
import os
import re
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from playground.management.database import COPIES, back_up
from tests.server import Server, started_before

ROOT = Path(__file__).resolve().parent.parent
REAL_PYTHON = getattr(sys, "_base_executable", sys.executable)

# A `python3` that differs from the real one in a single respect.
FAKE_PYTHON = """#!/bin/sh
if [ "$1" = -c ]; then
    exec "{python}" -c "import sys; {change}; exec(sys.argv.pop(1))" "$2"
fi
exec "{python}" "$@"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A fresh clone, as far as the set-up looks at it, that depends on nothing."""
    (tmp_path / "clone" / "deploy").mkdir(parents=True)
    shutil.copy(ROOT / "deploy" / "venv.sh", tmp_path / "clone" / "deploy")
    shutil.copy(ROOT / "Makefile", tmp_path / "clone")
    for name in ("requirements.lock", "requirements-oidc.lock", "requirements-dev.lock"):
        (tmp_path / "clone" / name).touch()
    (tmp_path / "clone" / "manage.py").write_text(
        "import os, sys\n"
        "print(sys.argv[1:], *(os.environ.get(n) for n in ('HOST', 'PORT', 'DATA_DIR')))\n"
    )
    return tmp_path / "clone"


def set_up(
    project: Path, *command: str, change: str | None = None, **env: str
) -> "subprocess.CompletedProcess[str]":
    """Run the command in a plain environment; `change` makes a different `python3`."""
    programs = project / "bin"
    programs.mkdir(exist_ok=True)
    python = programs / "python3"
    python.write_text(FAKE_PYTHON.format(python=REAL_PYTHON, change=change or "pass"))
    python.chmod(0o755)
    path = f"{programs}{os.pathsep}/usr/local/bin:/usr/bin:/bin"
    return subprocess.run(
        command or ["sh", "deploy/venv.sh"],
        cwd=project,
        env={"PATH": path, "HOME": str(project), "PIP_CONFIG_FILE": "/dev/null", **env},
        capture_output=True,
        text=True,
        check=False,
    )


def the_sentence(finished: "subprocess.CompletedProcess[str]") -> str:
    assert finished.returncode == 1
    assert "Traceback" not in finished.stderr
    assert len(finished.stderr.splitlines()) == 1, finished.stderr
    return finished.stderr.strip()


# --- deploy/venv.sh ------------------------------------------------------------------------


def test_it_refuses_a_python_that_is_too_old(project: Path) -> None:
    sentence = the_sentence(set_up(project, change="sys.version_info = (3, 9, 2, 'final', 0)"))
    assert "needs Python 3.11 or newer" in sentence
    assert "is Python 3.9.2" in sentence


def test_it_says_that_there_is_no_python(project: Path) -> None:
    sentence = the_sentence(set_up(project, PYTHON="no-such-python"))
    assert '"no-such-python" is not there' in sentence


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_it_names_the_package_of_a_missing_venv_module(project: Path, module: str) -> None:
    sentence = the_sentence(set_up(project, change=f"sys.modules['{module}'] = None"))
    assert "sudo apt install python3-venv" in sentence


def test_it_says_that_the_dependencies_cannot_be_had(project: Path) -> None:
    wanted = f"no-such-package==1 --hash=sha256:{'0' * 64}\n"
    (project / "requirements.lock").write_text(wanted)
    sentence = the_sentence(set_up(project, PIP_NO_INDEX="1"))
    assert "is there a network?" in sentence
    assert ".venv/install.log" in sentence
    assert not list((project / ".venv").glob("*.installed"))


def seconds_of_nothing_to_do(project: Path) -> float:
    start = time.monotonic()
    assert set_up(project).stdout == ""
    return time.monotonic() - start


def test_it_installs_once_and_is_quick_afterwards(project: Path) -> None:
    first = set_up(project)
    assert first.returncode == 0, first.stderr
    assert "Installing the dependencies" in first.stdout
    assert min(seconds_of_nothing_to_do(project) for _ in range(3)) < 0.3
    # Another lock, or the test tools, are another matter.
    (project / "requirements.lock").write_text("# changed\n")
    assert "Installing the dependencies" in set_up(project).stdout
    assert "Installing the dependencies" in set_up(project, "sh", "deploy/venv.sh", "dev").stdout
    assert set_up(project).stdout == ""
    assert set_up(project, OIDC_ISSUER="http://idp.example").stdout == ""  # the tools hold it
    # An environment whose making was interrupted is made again.
    shutil.rmtree(next((project / ".venv" / "lib").glob("python*")) / "site-packages" / "pip")
    (project / ".venv" / "requirements.lock.installed").unlink()
    assert "Making the Python environment" in set_up(project).stdout


def test_openid_connect_brings_what_it_needs(project: Path) -> None:
    set_up(project)
    (project / "requirements-oidc.lock").write_text("# more\n")
    issuer = {"OIDC_ISSUER": "http://idp.example"}
    assert "Installing the dependencies" in set_up(project, **issuer).stdout
    assert set_up(project, **issuer).stdout == set_up(project).stdout == ""


def test_make_run_passes_on_where_to_listen(project: Path) -> None:
    set_up(project)
    given = set_up(project, "make", "run", "PORT=9000", "HOST=0.0.0.0", DATA_DIR="/srv/playground")
    assert given.stdout == "['start'] 0.0.0.0 9000 /srv/playground\n"
    from_environment = set_up(project, "make", "run", PORT="9001")
    assert from_environment.stdout == "['start'] None 9001 None\n"


def test_the_locks_name_hashes_and_no_address() -> None:
    for name in ("requirements.lock", "requirements-oidc.lock", "requirements-dev.lock"):
        text = (ROOT / name).read_text()
        assert "://" not in text
        pinned = re.findall(r"^[a-z0-9-]+==", text, re.MULTILINE)
        entries = re.findall(r"^[a-z0-9-]+==.*\\\n    --hash=sha256:", text, re.MULTILINE)
        assert len(pinned) == len(entries) > 30


@pytest.mark.parametrize("python", ["3.11.0", "3.11.2", "3.12.0", "3.13.0", "3.14.0"])
@pytest.mark.parametrize(
    "lock", ["requirements.lock", "requirements-oidc.lock", "requirements-dev.lock"]
)
def test_the_locks_name_what_each_python_needs(lock: str, python: str) -> None:
    """They are written by one Python; redis asks for one package more on that of Debian 12."""
    pinned = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / lock).read_text(), re.MULTILINE))
    there = {"python_full_version": python, "python_version": python.rpartition(".")[0]}
    here = {canonicalize_name(each.name): each for each in distributions()}
    for name in pinned & here.keys():
        for line in here[name].requires or []:
            asked = Requirement(line)
            if asked.marker is None or asked.marker.evaluate({**there, "extra": ""}):
                assert canonicalize_name(asked.name) in pinned, f"{name} needs {line}"


# --- manage.py start -------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environment(data_dir: Path, **env: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**kept, "DATA_DIR": str(data_dir), "EMBEDDED": "0", **env}


def start_and_fail(data_dir: Path, **env: str) -> str:
    finished = subprocess.run(
        [sys.executable, "manage.py", "start"],
        cwd=ROOT,
        env=environment(data_dir, **env),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return the_sentence(finished)


class Started:
    """A server that answers; `output` is what it had said when it first did."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
        self.process = process
        self.port = port
        self.log = log
        deadline = time.monotonic() + 60
        while not self.answers():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        self.output = log.read_text()

    def answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=5) as page:
                return bool(page.status == 200)
        except urllib.error.HTTPError:
            raise
        except OSError:
            return False

    def stop(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(timeout=90)


@contextmanager
def started(data_dir: Path, *arguments: str, **env: str) -> Iterator[Started]:
    port = free_port()
    log = data_dir.with_name("log")
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "start", *arguments],
            cwd=ROOT,
            env=environment(data_dir, PORT=str(port), **env),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    with process:
        try:
            yield Started(process, port, log)
        finally:
            process.kill()


def test_it_says_that_the_port_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        assert f"Port {port} is taken" in start_and_fail(tmp_path, PORT=port)


def test_it_says_that_the_address_is_not_of_this_machine(tmp_path: Path) -> None:
    sentence = start_and_fail(tmp_path, HOST="192.0.2.1", PORT=str(free_port()))
    assert sentence.startswith("HOST=192.0.2.1 is not an address of this machine")


def test_it_says_that_the_data_folder_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert f"DATA_DIR {tmp_path / 'file'}" in start_and_fail(tmp_path / "file")


def test_it_names_the_variable_with_a_wrong_value(tmp_path: Path) -> None:
    assert "PORT must be a whole number" in start_and_fail(tmp_path, PORT="http")


def test_the_login_link_is_there_before_the_first_answer(tmp_path: Path) -> None:
    with started(tmp_path / "data") as server:
        link = rf"Open http://127\.0\.0\.1:{server.port}/login/[\w-]{{20,}}/ "
        links = [line for line in server.output.splitlines() if re.match(link, line)]
        assert len(links) == 1
        assert links[0].endswith("/ (works once, for 15 minutes)")
        # The link is a key: it is printed once, and following it leaves no trace in the log.
        token = links[0].split()[1].rsplit("/", 2)[1]
        with closing(http.client.HTTPConnection("127.0.0.1", server.port)) as browser:
            browser.request("GET", f"/login/{token}/")
            assert browser.getresponse().status == 302
        assert server.stop(signal.SIGINT) == 0
        assert server.log.read_text().count(token) == 1


def test_the_team_start_prints_no_link_and_tells_systemd_how_it_is(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(f"\0{tmp_path}")
        systemd.settimeout(60)
        listening = {"NOTIFY_SOCKET": f"@{tmp_path}", "DRAIN_SECONDS": "100"}
        with started(tmp_path / "data", "--no-link", **listening) as server:
            assert "/login/" not in server.output
            assert systemd.recv(1000).startswith(b"READY=1\n")
            assert server.stop(signal.SIGTERM) == 0
        said = systemd.recv(1000).decode().splitlines()
        assert said[:2] == ["STOPPING=1", "EXTEND_TIMEOUT_USEC=135000000"]


def test_a_stop_while_it_starts_ends_it(tmp_path: Path) -> None:
    """At any moment, also when a page has just been answered for the first time."""
    server = Server(started_before(tmp_path))
    for seconds in (0.4, 1.0, 1.2, 1.25, 1.3, 1.35, 1.4, None, None):
        with subprocess.Popen(
            [sys.executable, "manage.py", "start"],
            cwd=ROOT, env=server.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as process:  # fmt: skip
            if seconds:
                time.sleep(seconds)
            while not seconds and not server.is_up():
                time.sleep(0.002)
            process.terminate()
            try:
                # The signal itself ends what is not loaded yet.
                assert process.wait(30) in (0, -signal.SIGTERM)
            finally:
                process.kill()


def test_a_second_start_keeps_what_is_there(tmp_path: Path) -> None:
    for _ in range(2):
        with started(tmp_path / "data") as server:
            assert server.stop(signal.SIGTERM) == 0
    assert "Preparing the database" not in server.output
    assert not list((tmp_path / "data").glob("db.sqlite3.before-*"))


def test_the_secrets_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    with started(tmp_path / "data") as server:
        assert server.stop(signal.SIGTERM) == 0
    secrets = tmp_path / "data" / "secrets"
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in secrets.iterdir()} == {0o600}


def test_a_command_knows_where_the_server_was_started(tmp_path: Path) -> None:
    command = [sys.executable, "manage.py", "login_link", "admin"]
    with started(tmp_path / "data") as server:
        for env in ({}, {"PORT": "9000"}):
            said = subprocess.run(
                command, cwd=ROOT, env=environment(tmp_path / "data", **env),
                capture_output=True, text=True, check=True,
            ).stdout  # fmt: skip
            assert f"Open http://127.0.0.1:{env.get('PORT', server.port)}/login/" in said


def test_a_database_that_cannot_be_used_is_said_in_a_sentence(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "login_link", "admin"], cwd=ROOT, env=environment(tmp_path),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert the_sentence(done).startswith("The database cannot be used: no such table")


def test_login_link_says_that_a_user_does_not_exist(tmp_path: Path) -> None:
    def manage(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=environment(tmp_path),
            capture_output=True,
            text=True,
            check=False,
        )

    manage("migrate", "--verbosity=0")
    assert the_sentence(manage("login_link", "nobody")).endswith("There is no user named nobody.")


# --- The copy before an update ---------------------------------------------------------------


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Path]:
    """One that another process has open, with changes that are not in the main file yet."""
    path = tmp_path / "db.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode=WAL")
        writer.execute("CREATE TABLE run (text)")
        writer.execute("INSERT INTO run VALUES ('kept')")
        yield path


def test_the_copy_is_whole_and_private(database: Path) -> None:
    copy = back_up(database, "1.2.3")
    assert copy.name.startswith("db.sqlite3.before-1.2.3-")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with closing(sqlite3.connect(copy)) as kept:
        assert kept.execute("SELECT text FROM run").fetchall() == [("kept",)]


def test_only_the_newest_copies_are_kept(database: Path) -> None:
    copies = []
    for number in range(COPIES + 2):
        copy = back_up(database, f"1.{number}")
        os.utime(copy, (number, number))
        copies.append(copy)
    assert [copy.exists() for copy in copies] == [False, False, True, True, True]
