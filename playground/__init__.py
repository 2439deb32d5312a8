"""A web playground for text completions."""

from pathlib import Path


def _version() -> str:
    """The newest version heading of CHANGELOG.md: the one place where the version is written."""
    changelog = Path(__file__).resolve().parent.parent / "CHANGELOG.md"
    for line in changelog.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            return line.split()[1]
    return "0"


__version__ = _version()
