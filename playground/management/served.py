"""The address at which the playground of this data directory was last started."""

import os
from pathlib import Path

from django.conf import settings

SAYS = ("PUBLIC_URL", "HOST", "PORT")  # variables that say where it is


def remember() -> None:
    _file().write_text(settings.PUBLIC_URL + "\n")


def address() -> str:
    """For commands: what their variables say, else where it was started."""
    if any(os.environ.get(name) for name in SAYS):
        return str(settings.PUBLIC_URL)
    try:
        return _file().read_text().strip() or str(settings.PUBLIC_URL)
    except OSError:
        return str(settings.PUBLIC_URL)


def _file() -> Path:
    return Path(settings.DATA_DIR) / "address"
