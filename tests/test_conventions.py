"""docs/conventions.md: every key and every convention has a test that exists, or a reason."""

import re
from pathlib import Path

from playground.keymap import SECTIONS

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "docs/conventions.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TEXT.splitlines()
    if line.startswith("|") and not re.match(r"\|(---|\s*(keys|convention)\b)", line)
]
LINK = re.compile(r"\[`(test_\w+)`\]\(\.\./(tests/[\w/.]+)\)")


def test_every_test_that_is_named_exists() -> None:
    links = LINK.findall(TEXT)
    assert len(links) > 90
    for name, path in links:
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), name


def test_every_row_has_a_test_or_a_reason() -> None:
    for row in ROWS:
        assert LINK.search(row[-1]) or len(row[-1].split()) > 7, row


def test_every_key_and_command_of_the_map_has_a_row() -> None:
    named = {(keys, what) for keys, what, *rest in ROWS if rest}
    for _, commands in SECTIONS:
        for command in commands:
            pressed = ["+".join(keys) for keys in command.keys]
            pressed = [" ".join(k.split("+")) if k.startswith("G+") else k for k in pressed]
            rows = {keys for keys, what in named if what == command.words}
            shown = {key for keys in rows for key in keys.split(", ")}
            assert rows, command.words
            assert set(pressed) <= shown, command.words
