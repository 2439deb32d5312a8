"""What the documents say is there."""

import re
from pathlib import Path

from playground import keymap
from tests.browser.pictures import FOLDER, PICTURES

ROOT = Path(__file__).resolve().parent.parent


def test_every_test_that_the_faults_name_exists() -> None:
    text = (ROOT / "docs/faults.md").read_text(encoding="utf-8")
    code = "\n".join(path.read_text(encoding="utf-8") for path in ROOT.glob("tests/**/*.py"))
    for name in re.findall(r"test_[a-z0-9_]{12,}", text):
        if not (ROOT / "tests" / f"{name}.py").exists():
            assert f"def {name}" in code, name
    for path in re.findall(r"`(?:tests/)?((?:browser|services)/test_\w+\.py|test_\w+\.py)", text):
        assert (ROOT / "tests" / path).exists(), path


def test_every_yes_beside_other_tools_links_a_test_that_exists() -> None:
    text = (ROOT / "docs/compare.md").read_text(encoding="utf-8")
    rows = [
        line
        for line in text.splitlines()
        if re.match(r"\| (?!\|)[^|]+\| (yes|partly|SQLite)", line)
    ]
    assert len(rows) > 80
    for row in rows:
        [(name, path)] = re.findall(r"\[`(test_\w+)`\]\(\.\./(tests/[\w/.]+)\)", row.split("|")[2])
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), row


def test_the_pictures_of_the_documents_are_light_and_each_is_shown() -> None:
    shown = set()
    for document in (ROOT / "README.md", *ROOT.glob("docs/**/*.md")):
        text = document.read_text(encoding="utf-8")
        for path in re.findall(r"""(?:src|srcset)="([^"]+\.png)"|\]\(([^)]+\.png)\)""", text):
            shown.add((document.parent / "".join(path)).resolve())
    there = {path.resolve() for path in ROOT.glob("docs/pictures/*")}
    assert shown == there == {FOLDER / f"{name}.png" for name in PICTURES}
    sizes = [path.stat().st_size for path in there]
    assert max(sizes) <= 200_000
    assert sum(sizes) <= 1_500_000


ARCHITECTURE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")


def test_every_path_of_the_architecture_exists() -> None:
    paths = re.findall(
        r"`((?:playground|static|templates|docs|views|models)/[\w./]+|\w+\.py)`", ARCHITECTURE
    )
    assert len(paths) > 80
    for path in paths:
        found = [ROOT / path, ROOT / "playground" / path, ROOT / "playground/providers" / path]
        assert any(each.exists() for each in found) or path.startswith("tests/"), path


def test_every_module_is_in_the_table_of_the_architecture() -> None:
    """As a path below `playground`; or by its name, in a row that begins with its package."""
    named = set()
    for row in re.findall(r"^\| `.*", ARCHITECTURE, re.MULTILINE):
        names = [name.removesuffix(".py") for name in re.findall(r"`([\w/.]+)`", row)]
        folder = names[0] if names[0].endswith("/") else ""
        named |= {name if "/" in name else f"{folder}{name}" for name in names}
    modules = {
        path.relative_to(ROOT / "playground").with_suffix("").as_posix()
        for path in ROOT.glob("playground/**/*.py")
        if "migrations" not in path.parts and not path.name.startswith("__")
    }
    assert modules - named == set()


def test_the_six_questions_are_answered_with_places_that_exist() -> None:
    [section] = re.findall(r"^## Six questions$(.*?)^## ", ARCHITECTURE, re.MULTILINE | re.DOTALL)
    answers = re.findall(
        r"^\d\. \*\*(.+?)\*\*(.+?)(?=^\d\. |\Z)", section, re.MULTILINE | re.DOTALL
    )
    assert len(answers) == 6
    for question, answer in answers:
        paths = [path for path in re.findall(r"`([\w./]+)`", answer) if "/" in path]
        assert paths, question
        for path in paths:
            assert (ROOT / path).exists(), (question, path)


def test_every_link_of_the_documents_leads_somewhere() -> None:
    for document in (ROOT / "README.md", *ROOT.glob("docs/**/*.md")):
        text = document.read_text(encoding="utf-8")
        for path in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", text):
            assert (document.parent / path).exists(), (document.name, path)


def test_every_command_of_the_documents_exists() -> None:
    commands = {path.stem for path in ROOT.glob("playground/management/commands/*.py")}
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for document in (ROOT / "README.md", *ROOT.glob("docs/**/*.md")):
        text = document.read_text(encoding="utf-8")
        for name in re.findall(r"manage\.py ([a-z_]+)", text):
            assert name in commands | {"check", "migrate", "test"}, (document.name, name)
        for name in re.findall(r"`make ([a-z]+)", text):
            assert name in targets, (document.name, name)


def test_every_test_and_setting_of_the_security_table_exists() -> None:
    text = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    code = "\n".join(path.read_text(encoding="utf-8") for path in ROOT.glob("tests/**/*.py"))
    files = [*ROOT.glob("playground/settings/*.py"), ROOT / "playground/security.py"]
    program = "\n".join(path.read_text(encoding="utf-8") for path in files)
    rows = [line for line in text.splitlines() if re.match(r"\| V\d", line)]
    assert len(rows) > 80
    for row in rows:
        name, _, met = (cell.strip() for cell in row.strip("|").split("|"))
        assert met, name
        for test in re.findall(r"`(test_\w+)`", met):
            assert f"def {test}(" in code, (name, test)
        for path in re.findall(r"`((?:tests|templates|docs)/[\w./]+)`", met):
            assert (ROOT / path).exists(), (name, path)
        for setting in re.findall(r"`([A-Z][A-Z_]+)`", met):
            assert setting in program, (name, setting)
    chapters = {int(number) for row in rows for number in re.findall(r"V(\d+)", row.split("|")[1])}
    assert chapters == set(range(1, 18))


def test_every_key_of_the_guides_is_in_the_keymap() -> None:
    commands = [command for _, section in keymap.SECTIONS for command in section]
    known = {"+".join(keys) for command in commands for keys in command.keys}
    for document in ROOT.glob("docs/guide/*.md"):
        text = document.read_text(encoding="utf-8")
        named = set(re.findall(r"\b(?:Alt|Ctrl|Shift)\+(?:Enter|[A-Z→])", text))
        named |= set(re.findall(r"`([A-Z?0-9-]|Shift\+[A-Z])`", text))
        assert named <= known, (document.name, named - known)


def test_every_word_of_the_page_that_the_guides_quote_is_on_a_page() -> None:
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for pattern in ("templates/**/*.html", "static/js/*.js", "playground/**/*.py")
        for path in ROOT.glob(pattern)
    )
    for document in ROOT.glob("docs/guide/*.md"):
        for words in re.findall(r"“([A-Z][^”]+)”", document.read_text(encoding="utf-8")):
            assert words in code, (document.name, words)
