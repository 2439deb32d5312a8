"""What the documents say is there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_every_test_that_the_faults_name_exists() -> None:
    text = (ROOT / "docs/faults.md").read_text(encoding="utf-8")
    code = "\n".join(path.read_text(encoding="utf-8") for path in ROOT.glob("tests/**/*.py"))
    for name in re.findall(r"test_[a-z0-9_]{12,}", text):
        if not (ROOT / "tests" / f"{name}.py").exists():
            assert f"def {name}" in code, name
    for path in re.findall(r"`(?:tests/)?((?:browser|services)/test_\w+\.py|test_\w+\.py)", text):
        assert (ROOT / "tests" / path).exists(), path


def test_every_path_of_the_architecture_exists() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    for path in re.findall(r"`((?:playground|static|templates|docs|views)/[\w./]+|\w+\.py)`", text):
        found = [ROOT / path, ROOT / "playground" / path, ROOT / "playground/providers" / path]
        assert any(each.exists() for each in found) or path.startswith("tests/"), path


def test_every_link_of_the_readme_leads_somewhere() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for path in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / path).exists(), path
