"""A web playground for text completions."""

import re
from pathlib import Path


def _version() -> str:
    """The newest version of CHANGELOG.md, the one place where it is written."""
    changelog = Path(__file__).resolve().parent.parent / "CHANGELOG.md"
    found = re.search(r"^## (\d[\w.]*)", changelog.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else "0"


__version__ = _version()
