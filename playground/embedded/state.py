"""What the processes around the embedded backend know of each other: locks and `state.json`."""

import fcntl
import http.client
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def locked(path: Path, how: int = fcntl.LOCK_EX) -> Iterator[int]:
    """Hold a lock on the file, which other processes see. BlockingIOError with LOCK_NB."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, how)
        yield handle
    finally:
        os.close(handle)


def is_held(path: Path) -> bool:
    """Whether some process holds the file's lock exclusively."""
    if not path.exists():
        return False
    try:
        with locked(path, fcntl.LOCK_SH | fcntl.LOCK_NB):
            return False
    except BlockingIOError:
        return True


def read_state(data_dir: Path) -> dict[str, Any]:
    """`pid`, `port`, `model`, `started` when it runs, or `status` meanwhile; {} when absent."""
    try:
        state: dict[str, Any] = json.loads((data_dir / "embedded" / "state.json").read_text())
    except (OSError, ValueError):
        return {}
    return state


def write_state(data_dir: Path, state: dict[str, Any]) -> None:
    path = data_dir / "embedded" / "state.json"
    draft = path.with_suffix(f".{os.getpid()}")
    draft.write_text(json.dumps(state))
    draft.replace(path)


def is_alive(data_dir: Path) -> bool:
    return is_held(data_dir / "embedded" / "process.lock")


def address(data_dir: Path) -> str | None:
    """The base URL of the running server; None while there is none."""
    port = read_state(data_dir).get("port")
    if port is None or not is_alive(data_dir):
        return None
    return f"http://127.0.0.1:{port}/v1"


def status(data_dir: Path) -> str:
    """`ready`, `starting`, `restarting` (it died, its users bring it back) or `absent`."""
    if address(data_dir) is not None:
        return "ready"
    state = read_state(data_dir)
    return str(state.get("status", "restarting")) if state else "absent"


def answers(port: int) -> bool:
    """Whether the server on this port says that it is healthy."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
