"""Finds processes that are gone and closes the runs that they left behind; erases retired keys."""

import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from django.conf import settings
from django.db import transaction

from playground.completion import RunStatus
from playground.hub import Item
from playground.log import Ending, close_run, settle_runs
from playground.models import ApiKey, Process, Run
from playground.models.audit import acting
from playground.models.live import LIVE

FIRST_SPACE = "pid:[4026531836]"  # of process numbers: that of a machine, not of a container
SWEEP_SECONDS = 60  # between two looks for keys whose date has come

CUT_OFF = Ending(
    RunStatus.INTERRUPTED,
    error_message="The server stopped while this was running; what had arrived is kept.",
)
NOT_SENT = Ending(
    RunStatus.INTERRUPTED,
    error_message="Not sent: the server stopped before this run's turn came.",
)


def start_time(pid: int) -> str:
    """When a process of this machine started, in the kernel's words; "" if it does not run."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "" if Path("/proc/self/stat").exists() else _portable_start(pid)
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[19]


def _portable_start(pid: int) -> str:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "running"


def this_host() -> str:
    """The name of what shares this process table. A name alone may be that of two machines, and a
    container may have the name of its machine."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/etc/machine-id").read_text(encoding="ascii").strip()[:32])
    with suppress(OSError):
        space = os.readlink("/proc/self/ns/pid")
        if space != FIRST_SPACE:
            parts.append(space)
    return " ".join(parts)[:200]


def this_process() -> Process:
    """A row for the running process."""
    pid = os.getpid()
    return Process.objects.create(host=this_host(), pid=pid, started=start_time(pid))


SHORT = ("pk", "comparison_id", "status")
# In plain SQL: each time the ORM would take longer than the database.
OTHERS = "SELECT * FROM playground_process WHERE ended_at IS NULL AND id <> %s"
ORPHANS = """
SELECT id, comparison_id, status FROM playground_run
WHERE status IN ('queued', 'running') AND owner_id IS NULL ORDER BY id
"""


class Reaper:
    """Judges by the process table on its own host, elsewhere by heartbeats that stand still.

    No wall clocks: a laptop sleeps, and hosts disagree. It compares heartbeat values over its own
    monotonic time.
    """

    def __init__(self, process: Process, clock: Callable[[], float] = time.monotonic) -> None:
        self._process = process
        self._clock = clock
        self._seen: dict[int, tuple[int, float]] = {}  # process: (heartbeat, since when)
        self._next_sweep = 0.0

    def reap(self) -> list[Item]:
        """Close the runs of every process that is gone; what followers are told."""
        items: list[Item] = []
        for other in Process.objects.raw(OTHERS, [self._process.pk]):
            if self._gone(other):
                items += self._bury(other)
        self._erase_keys()
        return items + self._orphans()

    def _erase_keys(self) -> None:
        """Those whose overlap is over; one small query a minute and process."""
        if self._clock() < self._next_sweep:
            return
        self._next_sweep = self._clock() + SWEEP_SECONDS
        with acting("the playground"):
            ApiKey.objects.erase_due()

    def _gone(self, other: Process) -> bool:
        if other.host == self._process.host:
            return start_time(other.pid) != other.started
        value, since = self._seen.get(other.pk, (-1, 0.0))
        if value != other.heartbeat:
            self._seen[other.pk] = (other.heartbeat, self._clock())
            return False
        return self._clock() - since >= settings.REAP_SECONDS

    def _bury(self, other: Process) -> list[Item]:
        items = [
            item
            for run in Run.objects.live_of(other).order_by("pk").only(*SHORT)
            if (item := self._close(run, other))
        ]
        other.sign_off()
        self._seen.pop(other.pk, None)
        return items

    def _orphans(self) -> list[Item]:
        """Live runs whose process row was deleted."""
        orphans = Run.objects.raw(ORPHANS)
        return [item for run in orphans if (item := self._close(run, None))]

    def _close(self, run: Run, owner: Process | None) -> Item | None:
        with transaction.atomic():
            # Of two reapers, or a reaper and an owner that was only slow, one wins.
            live = Run.objects.filter(pk=run.pk, owner=owner, status__in=LIVE)
            if not live.update(owner=self._process):
                return None
            ending = NOT_SENT if run.status == RunStatus.QUEUED else CUT_OFF
            finished = close_run(run.pk, ending, [])
            settle_runs([run.pk])
        return Item(run.pk, run.comparison_id, 0, "", finished)
