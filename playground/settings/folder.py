"""The folder that holds everything of this install, and the secrets that are made in it once."""

import os
from contextlib import suppress
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from playground.settings.environment import text


def data_dir(default: Path) -> Path:
    """DATA_DIR, made and writable."""
    path = Path(text("DATA_DIR", str(default))).expanduser().absolute()
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        (path / "secrets").mkdir(exist_ok=True, mode=0o700)
        os.close(os.open(path / ".writable", os.O_CREAT | os.O_WRONLY, 0o600))
        (path / ".writable").unlink(missing_ok=True)  # another process may do the same just now
    except OSError as error:
        raise ImproperlyConfigured(
            f"DATA_DIR {path} cannot be written ({error.strerror}). "
            "Choose another folder, for example DATA_DIR=~/playground-data."
        ) from error
    return path


def secret(name: str, path: Path, make: str) -> str:
    """From the environment, else from the file, which is made once, readable by its owner only."""
    if value := text(name):
        return value
    try:
        if not path.exists():
            # Written whole under another name, then linked: of two first starts at once one wins.
            draft = path.with_suffix(f".{os.getpid()}")
            draft.touch(mode=0o600)
            draft.write_text(make, encoding="utf-8")
            with suppress(FileExistsError):
                path.hardlink_to(draft)
            draft.unlink()
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ImproperlyConfigured(f"{path} cannot be read or made: {error.strerror}") from error
