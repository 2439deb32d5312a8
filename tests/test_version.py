"""The version is written in CHANGELOG.md alone, and shown where one looks for it."""

import re
import subprocess
import sys
from pathlib import Path

from django.test import Client

from playground import __version__
from playground.models import User

ROOT = Path(__file__).resolve().parent.parent


def test_it_is_the_newest_of_the_changelog_and_never_what_is_not_released() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (\S+)", text, re.MULTILINE)
    assert next(each for each in headings if each != "Unreleased") == __version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)


def test_it_is_in_the_menu(client: Client, alice: User) -> None:
    client.force_login(alice)
    assert f"Playground {__version__}" in client.get("/").text


def test_a_command_says_it() -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "--version"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == f"{__version__}\n"
