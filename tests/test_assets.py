"""The sets of scripts and style sheets: joined in their order, packed, whole, and really used."""

import gzip
import re
from pathlib import Path
from typing import Any

import brotli
import pytest
from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.template import Context, Template

from playground.assets import PARTS, SETS, joined

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((name, parts) for each in SETS for name, parts in joined(each).items())


def asked_for() -> set[str]:
    """Static files that templates name themselves, and style sheets their pictures."""
    found: set[str] = set()
    for path in (ROOT / "static/css").glob("*.css"):
        found |= set(re.findall(r'url\("\.\./(icons/[^"]+)"\)', path.read_text(encoding="utf-8")))
    for path in (ROOT / "templates").rglob("*.html"):
        found |= set(re.findall(r"static '([^']+)'", path.read_text(encoding="utf-8")))
    return found


def rendered(name: str) -> str:
    return Template(f'{{% load playground_tags %}}{{% page_files "{name}" %}}').render(Context())


@pytest.mark.parametrize(("name", "parts"), FILES)
def test_a_set_holds_its_files_in_their_order(name: str, parts: tuple[str, ...]) -> None:
    whole = Path(staticfiles_storage.path(name)).read_text(encoding="utf-8")
    at = [
        whole.index((ROOT / "static" / each).read_text(encoding="utf-8").rstrip()) for each in parts
    ]
    assert at == sorted(at)


@pytest.mark.parametrize("name", [name for name, _ in FILES])
def test_a_set_is_packed_under_a_name_of_its_content(name: str) -> None:
    path = staticfiles_storage.path(staticfiles_storage.stored_name(name))
    content = Path(path).read_bytes()
    assert gzip.decompress(Path(f"{path}.gz").read_bytes()) == content
    assert brotli.decompress(Path(f"{path}.br").read_bytes()) == content


def test_what_pages_never_ask_for_is_not_packed() -> None:
    alone = asked_for()
    parts = [staticfiles_storage.stored_name(each) for each in PARTS - alone]
    assert not [each for each in parts if staticfiles_storage.exists(f"{each}.gz")]


def test_a_page_loads_two_files_a_set(settings: Any) -> None:
    assert re.findall(r"/static/(\w+/compose\.set)\.[0-9a-f]{12}\.(\w+)", rendered("compose")) == [
        ("css/compose.set", "css"),
        ("js/compose.set", "js"),
    ]


def test_with_debug_each_file_is_loaded_by_itself(settings: Any) -> None:
    settings.DEBUG = True
    assert re.findall(r"/static/(\S+?)\"", rendered("base")) == list(SETS["base"])


def test_every_file_is_loaded_by_some_page() -> None:
    everything = {
        str(path.relative_to(ROOT / "static"))
        for path in (ROOT / "static").rglob("*")
        if path.is_file()
    }
    assert everything == asked_for() | PARTS
    used = "".join(path.read_text() for path in (ROOT / "templates").rglob("*.html"))
    assert not [name for name in SETS if f'{{% page_files "{name}" %}}' not in used]


def test_packed_files_are_kept_when_files_are_collected_again() -> None:
    assert settings.STORAGES["staticfiles"]["BACKEND"] == "playground.assets.Storage"
    path = Path(staticfiles_storage.path(staticfiles_storage.stored_name("js/base.set.js")))
    packer = staticfiles_storage.create_compressor(quiet=True)  # type: ignore[attr-defined]
    before = Path(f"{path}.br").stat().st_ino
    assert packer.compress(str(path)) == []
    assert Path(f"{path}.br").stat().st_ino == before
