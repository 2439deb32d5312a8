"""The check of our dependencies, and that no exception from a security rule is unexplained."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.audit import EXCEPTIONS, verdict

ROOT = Path(__file__).resolve().parent.parent
FAULT = {"id": "PYSEC-1", "aliases": ["CVE-1"], "fix_versions": ["2"]}


def report(*vulns: dict[str, Any]) -> dict[str, Any]:
    known = {"name": "a", "version": "1", "vulns": list(vulns)}
    return {"dependencies": [known, {"name": "b", "skip_reason": "not found"}]}


def test_without_a_network_nothing_fails_and_the_reason_is_said() -> None:
    code, words = verdict("no route to host")
    assert (code, "no route to host" in words) == (0, True)
    code, words = verdict({"dependencies": [{"name": "a", "skip_reason": "not found"}]})
    assert (code, "nothing was checked" in words) == (0, True)


def test_a_known_fault_fails_and_is_named() -> None:
    code, words = verdict(report(FAULT))
    assert code == 1
    assert "a 1: PYSEC-1, fixed in 2" in words


def test_what_was_checked_is_counted() -> None:
    assert verdict(report()) == (
        0, "pip-audit: no known fault in 1 packages; 1 are not known to it."
    )  # fmt: skip


@pytest.mark.parametrize("name", ["PYSEC-1", "CVE-1"])
def test_an_exception_is_by_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXCEPTIONS, name, "because")
    assert verdict(report(FAULT))[0] == 0


def test_every_exception_has_its_reason() -> None:
    assert all(len(why.split()) > 3 for why in EXCEPTIONS.values())


def test_every_exception_from_a_security_rule_says_why() -> None:
    """`# noqa: S603 (our own command)`; in pyproject a comment on the line; no file as a whole
    but tests, which run our own programs and assert."""
    sources = [*ROOT.glob("playground/**/*.py"), ROOT / "manage.py"]
    found = 0
    for path in sources:
        for line in path.read_text(encoding="utf-8").splitlines():
            assert not re.search(r"#\s*(noqa\s*$|ruff:\s*noqa|nosec)", line), (path, line)
            if re.search(r"#\s*noqa:.*\bS\d+", line):
                found += 1
                assert re.search(r"noqa:[A-Z0-9, ]+\([^)]{8,}\)", line), (path, line)
    assert found
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lint = tomllib.loads(text)["tool"]["ruff"]["lint"]
    assert "S" in lint["select"]
    assert set(lint["per-file-ignores"]) == {"tests/**"}
    for line in text.splitlines():
        if re.match(r'\s*"S\d+', line):
            assert "#" in line, line
