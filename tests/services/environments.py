"""Virtual environments of their own, for programs that do not belong into the playground's.

They are kept in pytest's cache folder, so that each is made once; `pytest --cache-clear` or
another version in the list of packages makes it anew.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from playground.embedded import locked
from tests.services.conftest import missing

INSTALL_SECONDS = 280


def environment(
    config: pytest.Config, name: str, packages: list[str], python: tuple[int, int] = (3, 11)
) -> Path:
    """The folder with the programs of an environment that holds these packages."""
    assert config.cache is not None
    folder = config.cache.mkdir(name)
    ready = folder / "packages.txt"
    wanted = "\n".join(packages)
    with locked(folder.with_suffix(".lock")):
        if not ready.exists() or ready.read_text() != wanted:
            _make(folder, packages, python)
            ready.write_text(wanted)
    return folder / "bin"


def _make(folder: Path, packages: list[str], python: tuple[int, int]) -> None:
    interpreter = _interpreter(python)
    if interpreter is None:
        missing(f"This machine has no Python {python[0]}.{python[1]} or later.")
    shutil.rmtree(folder)
    for command in (
        [interpreter, "-m", "venv", folder],
        [folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", *packages],
    ):
        try:
            done = subprocess.run(
                [str(word) for word in command],
                capture_output=True,
                text=True,
                timeout=INSTALL_SECONDS,
                check=False,
            )
            reason = " ".join(done.stderr.strip().splitlines()[-1:])
        except subprocess.TimeoutExpired:
            reason = f"it takes more than {INSTALL_SECONDS} s."
        else:
            if done.returncode == 0:
                continue
        missing(f"{', '.join(packages)} cannot be installed here: {reason}")


def _interpreter(least: tuple[int, int]) -> str | None:
    for candidate in _candidates():
        program = "import sys; print(*sys.version_info[:2], sys.executable)"
        done = subprocess.run(
            [candidate, "-c", program], capture_output=True, text=True, check=False
        )
        if done.returncode:  # a shim of a version that is not selected
            continue
        major, minor, path = done.stdout.split(maxsplit=2)
        if (int(major), int(minor)) >= least:
            return path.strip()
    return None


def _candidates() -> Iterator[str]:
    yield sys.executable
    for minor in (12, 13, 14):
        if found := shutil.which(f"python3.{minor}"):
            yield found
        versions = Path.home() / ".pyenv" / "versions"
        yield from map(str, sorted(versions.glob(f"3.{minor}.*/bin/python")))
