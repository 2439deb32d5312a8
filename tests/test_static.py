"""Nothing lies in the stylesheets and among the icons that no page uses."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHEETS = sorted(ROOT.glob("static/css/*.css"))
ICONS = sorted(ROOT.glob("templates/_icons*.html"))
PAGES = "\n".join(
    path.read_text(encoding="utf-8")
    for pattern in ("templates/**/*.html", "static/js/**/*.js", "playground/**/*.py")
    for path in ROOT.glob(pattern)
)
MADE_UP = re.compile(r"s-(local|octo|ogx|pulze|other)$")  # of a series, by templates/stats


def named(word: str) -> bool:
    return bool(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", PAGES))


# Django's own pages bring the classes that admin-own.css is about.
@pytest.mark.parametrize("path", [path for path in SHEETS if path.name != "admin-own.css"])
def test_each_class_of_a_stylesheet_is_on_a_page(path: Path) -> None:
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    selectors = " ".join(re.findall(r"([^{}]+)\{", text))
    classes = set(re.findall(r"\.(-?[A-Za-z_][\w-]*)", selectors))
    assert not [name for name in classes if not named(name) and not MADE_UP.match(name)]


def test_each_icon_is_on_a_page() -> None:
    sprites = [path.read_text(encoding="utf-8") for path in ICONS]
    names = {name for text in sprites for name in re.findall(r'id="i-([\w-]+)"', text)}
    assert len(names) > 40
    pages = PAGES
    for text in sprites:
        pages = pages.replace(text, "")
    # Marks of providers are put together: pm-, the provider, how far it supports something.
    ours = {name for name in names if not name.startswith("pm-")}
    assert {name for name in ours if not re.search(rf"""["'-]{name}["'\s]""", pages)} == set()


def test_the_icons_of_the_admin_site_are_those_of_the_pages() -> None:
    """As files of their own, because a style sheet can only show a file."""
    sprite = (ROOT / "templates/_icons.html").read_text(encoding="utf-8")
    files = sorted(ROOT.glob("static/icons/*.svg"))
    assert len(files) > 3
    for path in files:
        drawn = re.findall(r"<svg[^>]*>(.+)</svg>", path.read_text(encoding="utf-8"))
        assert f'<symbol id="i-{path.stem}" viewBox="0 0 16 16">{drawn[0]}</symbol>' in sprite
    sheet = (ROOT / "static/css/admin-own.css").read_text(encoding="utf-8")
    assert set(re.findall(r"icons/([\w-]+)\.svg", sheet)) == {path.stem for path in files}
