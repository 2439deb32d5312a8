"""The pictures of the documents: some of the screenshots, under names of their own."""

import shutil
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent.parent / "docs/pictures"
# The name in docs/pictures, and the state, width and theme that it shows.
PICTURES = {
    "columns-light": "tokens-heat-1024-light",
    "columns-dark": "tokens-heat-1024-dark",
    "phone": "compose-done-390-dark",
    "compose": "compose-editors-1440-light",
    "tokens": "tokens-heat-1440-light",
    "lens": "tokens-lens-1440-dark",
    "grid": "sweep-grid-1440-light",
    "history": "history-preview-1024-light",
    "stats": "stats-1440-dark",
    "round": "review-panel-1440-light",
    "keys": "admin-rotation-1440-light",
}


def wanted(state: str, width: int, theme: str) -> bool:
    return f"{state}-{width}-{theme}" in PICTURES.values()


def keep(folder: Path) -> None:
    """Those that are among the screenshots in the folder."""
    FOLDER.mkdir(exist_ok=True)
    for name, shown in PICTURES.items():
        if (folder / f"{shown}.png").exists():
            shutil.copyfile(folder / f"{shown}.png", FOLDER / f"{name}.png")
