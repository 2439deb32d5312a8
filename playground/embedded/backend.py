"""Starting, sharing, watching and stopping the llama.cpp process."""

import fcntl
import importlib.util
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from playground.embedded.model_file import model_path
from playground.embedded.state import (
    address,
    answers,
    is_alive,
    locked,
    read_state,
    status,
    write_state,
)

logger = logging.getLogger(__name__)

START_SECONDS = 60  # loading takes half a second here; a slow disk may need much longer
STOP_SECONDS = 3
HUNG_SECONDS = 30  # without an answer to /health; a machine under load may well need some
STEADY_SECONDS = 60  # a process that lived longer is restarted at once
LONGEST_PAUSE = 60  # seconds between restarts of a process that dies again and again

# Processes that others still used when we left: one thrown away while it runs is a warning.
_left_running: "list[subprocess.Popen[bytes]]" = []


class EmbeddedError(Exception):
    """The embedded backend cannot run; the message is a sentence for the user."""


def is_installed() -> bool:
    """Whether this machine has the llama.cpp server at all: it is not built for every kind."""
    return importlib.util.find_spec("xllamacpp") is not None


def why(log: Path) -> str:
    """Why it did not start, as far as that is known."""
    with suppress(OSError):
        if "libgomp.so" in log.read_text(encoding="utf-8", errors="replace")[-4000:]:
            return "It needs the library libgomp; on Debian and Ubuntu: sudo apt install libgomp1"
    return f"{log} says why."


class EmbeddedBackend:
    """Starts or shares the llama.cpp process of `data_dir`, while acquired."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.folder = data_dir / "embedded"
        self._users: int | None = None  # the handle that holds our share of users.lock
        self._process: subprocess.Popen[bytes] | None = None
        self._mutex = threading.Lock()  # `watch` is called by a thread of its own
        self._releasing = threading.Event()
        self._restarted_at = -float("inf")
        self._pause = 0  # seconds from that restart to the next; doubles with each early death
        self._silent_since: float | None = None

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()

    def address(self) -> str | None:
        return address(self.data_dir)

    def status(self) -> str:
        return status(self.data_dir)

    def acquire(self) -> None:
        """Returns when the server answers. EmbeddedError when it cannot be started."""
        with self._mutex:
            if self._users is not None:
                return
            self.folder.mkdir(parents=True, exist_ok=True)
            self._releasing.clear()
            self._users = os.open(self.folder / "users.lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                # Waits while a process that nobody used is about to exit.
                fcntl.flock(self._users, fcntl.LOCK_SH)
                self._ensure_running("starting")
            except BaseException:
                self._let_go(wait=True)
                raise

    def release(self, wait: bool = True) -> None:
        """Give up our share; as the last user, stop the process and wait until it is gone."""
        self._releasing.set()  # a restart that `watch` waits for is given up
        with self._mutex:
            if self._users is not None:
                self._let_go(wait)

    def watch(self) -> None:
        """Restart the process if it died or hangs. To be called once a second."""
        with self._mutex:
            if self._users is None or self._is_well():
                return
            if time.monotonic() < self._restarted_at + self._pause:
                return
            steady = time.monotonic() > self._restarted_at + STEADY_SECONDS
            self._pause = 2 if steady else min(LONGEST_PAUSE, 2 * self._pause)
            logger.warning("The embedded model stopped and is being restarted.")
            try:
                self._ensure_running("restarting")
            except EmbeddedError as error:
                logger.warning("%s", error)
            self._restarted_at = time.monotonic()

    def _is_well(self) -> bool:
        if self._process is not None:
            self._process.poll()  # a dead child stays a zombie until it is asked for
        if self.address() is None:
            return False
        if answers(read_state(self.data_dir).get("port", 0)):
            self._silent_since = None
            return True
        now = time.monotonic()
        if self._silent_since is None:
            self._silent_since = now
        if now - self._silent_since < HUNG_SECONDS:
            return True
        self._silent_since = None
        self._stop(signal.SIGKILL)
        return False

    def _ensure_running(self, doing: str) -> None:
        """Start the process unless it runs; `doing` is what `status` says meanwhile."""
        with locked(self.folder / "start.lock"):
            if self.address() is not None:
                return
            process = None
            deadline = time.monotonic() + START_SECONDS
            while self.address() is None:
                # One whose user died while it was loading still becomes ready, and then is ours.
                if process is None and not is_alive(self.data_dir):
                    write_state(self.data_dir, {"status": doing})
                    process = self._spawn()
                died = process is not None and process.poll() is not None
                if died or self._releasing.is_set() or time.monotonic() > deadline:
                    self._stop(signal.SIGKILL)
                    raise EmbeddedError(
                        f"The embedded model did not start. {why(self.folder / 'log')}"
                    )
                time.sleep(0.05)

    def _spawn(self) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "playground.embedded"]
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 (our own command)
                [*command, model_path(self.data_dir), self.data_dir],
                cwd=Path(__file__).resolve().parents[2],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl+C in the terminal is for the server alone
            )
        return self._process

    def _let_go(self, wait: bool) -> None:
        users, self._users = self._users, None
        assert users is not None  # noqa: S101 (for the type checker)
        try:
            if wait:
                self._stop_if_unused(users)
        finally:
            os.close(users)
            if self._process is not None and self._process.poll() is None:
                _left_running.append(self._process)
            self._process = None

    def _stop_if_unused(self, users: int) -> None:
        """Alone with the lock, nobody can begin to use the process while it is stopped."""
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with suppress(BlockingIOError):
                fcntl.flock(users, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return  # others use it
            self._wait_until_gone()  # the process itself had noticed, and is exiting
            return
        self._stop(signal.SIGTERM)
        (self.folder / "state.json").unlink(missing_ok=True)

    def _stop(self, how: signal.Signals) -> None:
        """End the process, ours or another user's, at the latest after STOP_SECONDS."""
        for number in (how, signal.SIGKILL):
            pid = read_state(self.data_dir).get("pid")
            if pid is not None and is_alive(self.data_dir):
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            if self._process is not None:
                self._process.send_signal(number)
            if self._wait_until_gone():
                break

    def _wait_until_gone(self) -> bool:
        deadline = time.monotonic() + STOP_SECONDS
        while time.monotonic() < deadline:
            exited = self._process is None or self._process.poll() is not None
            if exited and not is_alive(self.data_dir):
                return True
            time.sleep(0.02)
        return False
