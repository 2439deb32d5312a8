"""An upgrade over a database of the first release keeps everything and serves it.

tests/data/first_schema.* were written by the servers of that schema (migrations 0001 to 0012): two
columns with a label and a comment, a private run, one that failed.
"""

import gzip
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.server import ROOT, Person, Server, document, fake_process
from tests.services.conftest import postgres_programs
from tests.services.team import until

DATA = ROOT / "tests" / "data"
TEXT = "Grüße, 世界 👋\nline two "


def on_sqlite(folder: Path, new_database: Callable[[], str]) -> dict[str, str]:
    folder.mkdir(parents=True)
    old = gzip.decompress((DATA / "first_schema.sqlite3.gz").read_bytes())
    (folder / "db.sqlite3").write_bytes(old)
    return {}


def on_postgresql(folder: Path, new_database: Callable[[], str]) -> dict[str, str]:
    url = new_database()
    programs = postgres_programs()
    assert programs
    done = subprocess.run(
        [programs / "psql", "-q", "-v", "ON_ERROR_STOP=1", url],
        input=gzip.decompress((DATA / "first_schema.sql.gz").read_bytes()),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return {"DATABASE_URL": url}


@pytest.mark.parametrize("load", [on_sqlite, on_postgresql])
def test_a_database_of_the_first_release_is_kept(
    load: Callable[..., dict[str, str]], tmp_path: Path, postgres: Callable[[], str]
) -> None:
    with Server(tmp_path / "data", **load(tmp_path / "data", postgres)) as server:
        rows = server.rows(
            "SELECT run.id, status, text FROM playground_run AS run"
            " LEFT JOIN playground_choice AS choice ON choice.run_id = run.id ORDER BY run.id"
        )
        assert [(row["status"], row["text"]) for row in rows] == [
            ("completed", TEXT), ("completed", TEXT), ("completed", TEXT), ("failed", None),
        ]  # fmt: skip
        assert httpx.get(f"{server.url}/readyz", trust_env=False).status_code == 200
        person = server.user()
        first = person.http.get(f"{server.url}/runs/1/").text
        assert "Grüße, 世界 👋" in first
        assert "A comment of the first release" in first
        assert "lang" in first
        check_pages(server, person)
        check_a_new_run(server, person)
    if load is on_sqlite:  # a copy of the old state is kept beside it
        [copy] = (tmp_path / "data").glob("db.sqlite3.before-*")
        with closing(sqlite3.connect(copy)) as database:
            [count] = database.execute("SELECT count(*) FROM playground_run").fetchone()
        assert count == 4


def check_pages(server: Server, person: Person) -> None:
    found = person.http.get(f"{server.url}/history/?q=zebrafish").text
    assert "zebrafish" in found
    for path in ("/", "/history/?q=label:first", "/history/?q=is:starred", "/stats/", "/trash/"):
        assert person.http.get(server.url + path).status_code == 200, path


def check_a_new_run(server: Server, person: Person) -> None:
    with fake_process() as url:
        column = {"connection": server.connect("new", url)}
        _, [run] = person.run(document(column, prompt="rate=100 n=3"))
        done = "SELECT 1 FROM playground_run WHERE id = ? AND status = 'completed'"
        until(lambda: server.rows(done, run))
