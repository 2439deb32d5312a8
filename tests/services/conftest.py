"""Services of the tests' own: a PostgreSQL cluster, and DATA_DIRs that hold the model."""

import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from playground.embedded import ensure_model, is_installed
from playground.embedded.model_file import MODEL_FILE, model_path
from tests.server import ROOT, free_port

# Nothing here has to outlive a power cut, and nobody else gets in: TCP on loopback, no socket file.
CLUSTER = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "200",
}


def missing(what: str) -> None:
    if os.environ.get("REQUIRE_ALL") == "1":
        pytest.fail(what)
    pytest.skip(what)


def not_permitted(what: str) -> None:
    """A right that the machine does not give cannot be installed: skipped in CI too."""
    pytest.skip(what)


class Cluster:
    """A PostgreSQL of our own in a folder; it refuses to run as root, so root lends it a user."""

    def __init__(self, programs: Path, folder: Path, **options: str) -> None:
        self.programs, self.folder, self.port = programs, folder, free_port()
        self.options = {**CLUSTER, **options}
        self.as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []

    def run(self, program: str, *arguments: str) -> None:
        command = [*self.as_user, str(self.programs / program), *arguments]
        # Into a file: the server keeps the handles of pg_ctl, and a pipe would never end.
        with (self.folder / "output").open("a+b") as output:
            done = subprocess.run(command, cwd="/", stdout=output, stderr=output, check=False)
            output.seek(0)
            assert done.returncode == 0, output.read().decode()

    def start(self) -> None:
        if self.as_user:
            shutil.chown(self.folder, "postgres")
        data = str(self.folder / "data")
        self.run("initdb", "--username=postgres", "--auth=trust", "--no-sync", "-E", "UTF8", data)
        self.go()

    def go(self) -> None:
        """Start, or start again."""
        data = str(self.folder / "data")
        options = " ".join(f"-c {name}='{value}'" for name, value in self.options.items())
        self.run("pg_ctl", "start", "-w", "-D", data, "-o", f"-p {self.port} {options}")

    def stop(self) -> None:
        self.run("pg_ctl", "stop", "-w", "-m", "immediate", "-D", str(self.folder / "data"))

    def create(self, name: str) -> str:
        """A new database; its URL."""
        url = f"postgres://postgres@127.0.0.1:{self.port}"
        with psycopg.connect(f"{url}/postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"{url}/{name}"


def postgres_programs() -> Path | None:
    """Debian keeps them outside of PATH, a folder a version."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    installed = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    return max((path.parent for path in installed), default=None)


@contextmanager
def running_cluster(**options: str) -> Iterator[Cluster]:
    programs = postgres_programs()
    if programs is None:
        missing("This machine has no PostgreSQL (Debian: apt install postgresql).")
    assert programs is not None
    # Not pytest's own folder, which the user `postgres` may not enter.
    folder = Path(tempfile.mkdtemp(prefix="playground-postgres-"))
    cluster = Cluster(programs, folder, **options)
    try:
        cluster.start()
        yield cluster
    finally:
        if (folder / "data" / "postmaster.pid").exists():
            cluster.stop()
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Callable[[], str]]:
    """Makes a new database at each call, and returns its URL."""
    numbers = itertools.count(1)
    with running_cluster() as cluster:
        yield lambda: cluster.create(f"playground_{next(numbers)}")


@pytest.fixture(scope="session")
def model(request: pytest.FixtureRequest) -> Path:
    """The model file: the one that is named or was downloaded already, else downloaded once."""
    if not is_installed():
        missing("This machine has no llama.cpp.")
    if named := os.environ.get("MODEL_FILE"):
        return Path(named)
    if (ROOT / "data" / "models" / MODEL_FILE).exists():
        return ROOT / "data" / "models" / MODEL_FILE
    assert request.config.cache is not None
    path = ensure_model(request.config.cache.mkdir("models").parent, print)
    if path is None:
        missing("The model file cannot be downloaded.")
    assert path is not None
    return path


def with_model(data_dir: Path, model: Path) -> Path:
    """The folder, with a link to the model in it: nothing is downloaded or copied."""
    model_path(data_dir).parent.mkdir(parents=True)
    model_path(data_dir).symlink_to(model.resolve())
    return data_dir
