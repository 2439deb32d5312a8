"""`manage.py export` and `import`: what a shell gets, and what each mistake is called."""

import csv
import errno
import io
import shutil
import sqlite3
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from playground.management.commands import export
from playground.models import Run, Transfer, User
from tests.runs import make_run
from tests.test_exchange import dora, full  # noqa: F401 (a fixture)

pytestmark = pytest.mark.django_db


def out(path: Path | str, **options: Any) -> str:
    said = io.StringIO()
    call_command("export", str(path), stderr=said, user="alice", **options)
    return said.getvalue()


def into(path: Path, user: str = "dora", *, fails: bool = False) -> tuple[str, str]:
    said, complained = io.StringIO(), io.StringIO()
    with pytest.raises(SystemExit, match=r"^1$") if fails else nullcontext():
        call_command("import", str(path), user=user, stdout=said, stderr=complained)
    return said.getvalue(), complained.getvalue()


@pytest.fixture(autouse=True)
def runs(alice: User, bob: User) -> list[Run]:
    return [full(alice, bob), make_run(bob, "+1", "=HYPERLINK(1)"), make_run(bob, "tree", "oak")]


def test_out_and_in_and_out_again_is_the_same_to_the_byte(
    dora: User,  # noqa: F811
    tmp_path: Path,
) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    assert out(first) == "Exported 3 runs.\n"
    said, complained = into(first)
    assert (said, complained) == (
        "Imported 3 runs, skipped 0 that were there, could not take 0.\n",
        "",
    )
    call_command("export", str(second), user="dora", stderr=io.StringIO())
    assert second.read_bytes() == first.read_bytes()
    assert into(first)[0].startswith("Imported 0 runs, skipped 3 that were there")
    assert Run.objects.visible_to(dora).count() == 3
    assert not any(each.path.exists() for each in Transfer.objects.all())


@pytest.mark.parametrize("layout", ["jsonl", "csv", "markdown", "html"])
def test_standard_output_is_only_the_file(layout: str, tmp_path: Path, capfdbinary: Any) -> None:
    out("-", layout=layout)
    out(tmp_path / "file", layout=layout)
    assert capfdbinary.readouterr().out == (tmp_path / "file").read_bytes()


def test_a_query_and_ones_own_narrow_it(alice: User, tmp_path: Path) -> None:
    assert out(tmp_path / "a", query="tree") == "Exported 1 runs.\n"
    assert out(tmp_path / "b", mine=True) == "Exported 1 runs.\n"


def test_no_cell_of_the_csv_is_a_formula(tmp_path: Path) -> None:
    out(tmp_path / "runs.csv", layout="csv")
    rows = list(csv.reader(io.StringIO((tmp_path / "runs.csv").read_text("utf-8-sig"))))
    cells = {cell for row in rows for cell in row}
    assert {"'+1", "'=HYPERLINK(1)"} <= cells
    assert not any(cell.lstrip()[:1] in ("=", "+", "@") for cell in cells)


def test_sqlite_is_a_new_file(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    out(path, layout="sqlite")
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT count(*) FROM responses").fetchone() == (4,)
    database.close()
    for name in (path, "-"):
        with pytest.raises(CommandError, match="a file that is not there yet"):
            out(name, layout="sqlite")


def test_progress_is_said_whenever_another_thousand_is_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [(b"", count) for count in (0, 400, 990, 1010, 1999, 3500, 3600)]
    monkeypatch.setattr(export, "written", lambda *_: iter(steps))
    assert out(tmp_path / "x").splitlines() == [
        "1,010 runs…", "3,500 runs…", "Exported 3,600 runs."
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"query": "rating:nine"}, "rating"),
        ({"user": "nobody"}, "no user named nobody"),
        ({"team": "Elsewhere"}, "no team named Elsewhere"),
    ],
)
def test_a_mistake_is_one_sentence_and_no_file(
    options: dict[str, str], sentence: str, tmp_path: Path
) -> None:
    path = tmp_path / "never"
    with pytest.raises(CommandError, match=sentence):
        call_command("export", str(path), **{"user": "alice", **options})
    assert not path.exists()


@pytest.mark.parametrize("layout", ["jsonl", "sqlite"])
def test_a_file_that_cannot_be_written_is_one_sentence(
    layout: str,
    dora: User,  # noqa: F811
    tmp_path: Path,
) -> None:
    for path in tmp_path / "missing" / "x", tmp_path:
        with pytest.raises(CommandError, match=r"cannot be written|not there yet"):
            call_command("export", str(path), user="dora", layout=layout)


def test_a_file_that_cannot_be_copied_is_one_sentence(
    dora: User,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "runs.jsonl"
    out(path)

    def denied(name: Path, _: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(name))

    monkeypatch.setattr(shutil, "copyfile", denied)
    with pytest.raises(CommandError, match=r"runs\.jsonl: Permission denied\."):
        into(path)


def test_an_import_says_which_lines_it_could_not_take(
    dora: User,  # noqa: F811
    tmp_path: Path,
) -> None:
    path = tmp_path / "runs.jsonl"
    out(path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:1], b'{"kind": "run"}\n', *lines[1:]]))
    said, complained = into(path, fails=True)
    assert "Imported 3 runs" in said
    assert "could not take 1" in said
    assert complained.startswith("Line 2: ")


def test_what_is_no_export_is_refused(dora: User, tmp_path: Path) -> None:  # noqa: F811
    path = tmp_path / "x"
    with pytest.raises(CommandError, match="There is no file"):
        into(path)
    path.write_bytes(b"\x00\x01 nothing\n" * 9)
    with pytest.raises(CommandError):
        into(path)
    assert not Run.objects.visible_to(dora).exists()


def test_whoever_may_not_start_runs_may_not_import(rita: User, tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    out(path)
    before = Run.objects.count()
    with pytest.raises(CommandError, match="cannot start or import runs"):
        into(path, user="rita")
    assert Run.objects.count() == before
