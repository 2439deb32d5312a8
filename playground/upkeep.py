"""What a server does beside its runs: bulk jobs, imports, retention, erasing what was purged, the
roll-up.

One small batch at a time with a pause between, so that streams go on meanwhile; jobs, imports and
the rest in turns, so that none waits for the end of another. Of several processes one has a job; a
job of a process that is gone is taken over.
"""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import ParamSpec, TypeVar

from django.db import DatabaseError, connection

from playground.database import in_thread
from playground.exchange.importing import step
from playground.models import Block, Chore, Job, Retention, Stale, Transfer
from playground.models.retention import erase_batch, purge_ownerless
from playground.models.turns import writers_held

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

IDLE = 1.0  # seconds between two looks for work
PAUSE = 0.05  # seconds between two batches: the recorder's turn
RULES_EVERY = timedelta(minutes=1)
ERASE_EVERY = timedelta(seconds=5)
ROLL_UP_EVERY = timedelta(seconds=15)  # the quarter of now is counted again each time
LONG_LOG = 2_000  # pages, 8 MB
ROUNDS = 200  # of the roll-up, before other work has its turn


def write_back() -> None:
    """SQLite's log into its file, while others read and write; else a commit would wait for it.

    The log begins anew only where all of it is in the file and nobody reads from it. Among many
    writers that would hardly ever be so: of a long log the last bit is written back while nobody
    writes.
    """
    if connection.vendor == "sqlite" and _log_after_checkpoint() > LONG_LOG:
        with writers_held():
            _log_after_checkpoint()


def _log_after_checkpoint() -> int:
    with connection.cursor() as cursor:
        _, pages, _ = cursor.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return int(pages)


class Upkeep:
    """`run` until it is cancelled; the server does, before it drains."""

    def __init__(self) -> None:
        self._asked: dict[str, float] = {}  # {chore: when it was asked for last, `monotonic`}
        self._turn = asyncio.Lock()

    async def run(self) -> None:
        kinds = (self._jobs, self._imports, self._chores)
        await asyncio.gather(*map(self._ever, kinds), self._write_back())

    async def _write_back(self) -> None:
        while True:
            await asyncio.sleep(IDLE)
            try:
                await in_thread(write_back)
            except DatabaseError:
                logger.exception("The log of the database cannot be written back")

    async def _ever(self, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await work()
            except Exception:
                logger.exception("The upkeep failed; it goes on in a moment")
            await asyncio.sleep(IDLE)

    async def round(self) -> None:
        """All that is due now."""
        await asyncio.gather(self._jobs(), self._imports(), self._chores())

    async def _do(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """One batch of all at a time, in the order in which they are asked for."""
        async with self._turn:
            return await in_thread(function, *args, **kwargs)

    async def _jobs(self) -> None:
        """All that are there in turns: a small one need not wait for the end of a large one."""
        held: list[Job] = []
        while True:
            if (job := await self._do(Job.objects.take)) is not None:
                held.append(job)
            held = [job for job in held if await self._goes_on(job)]
            if not held and job is None:
                return
            await asyncio.sleep(PAUSE)

    async def _goes_on(self, job: Job) -> bool:
        try:
            return await self._do(job.step)
        except Exception:
            logger.exception("Job %s failed", job.pk)
            await self._do(job.fail, "The server failed here; its log says more.")
            return False

    async def _imports(self) -> None:
        while transfer := await self._do(Transfer.objects.imports().take):
            await self._import(transfer)

    async def _chores(self) -> None:
        if await self._takes("retention", RULES_EVERY):
            for work in (
                Retention.objects.trash_due, Retention.objects.purge_due, purge_ownerless,
            ):  # fmt: skip
                while await self._do(work):
                    await asyncio.sleep(PAUSE)
            await self._do(Job.objects.forget_old)
            await self._do(Transfer.objects.forget_old)
        if await self._takes("erase", ERASE_EVERY):
            while await self._do(erase_batch):
                await asyncio.sleep(PAUSE)
        if await self._takes("statistics", ROLL_UP_EVERY):
            await self._roll_up()

    async def _takes(self, chore: str, every: timedelta) -> bool:
        """Whether it is due and ours. The database is not asked each second for the sake of what is
        due once a minute."""
        now = time.monotonic()
        if now - self._asked.get(chore, -math.inf) < every.total_seconds() / 2:
            return False
        self._asked[chore] = now
        return await self._do(Chore.objects.take, chore, every)

    async def _roll_up(self) -> None:
        """Not without end: while runs go on, each look finds a new mark."""
        for each in (Stale.objects.roll_up, Block.objects.build):
            for _ in range(ROUNDS):
                if not await self._do(each):
                    break
                await asyncio.sleep(PAUSE)

    async def _import(self, transfer: Transfer) -> None:
        try:
            while await self._do(step, transfer):
                await asyncio.sleep(PAUSE)
        except Exception:
            logger.exception("Import %s failed", transfer.pk)
            said = "The server failed here; its log says more. What is in the team stays."
            await self._do(transfer.end, Transfer.State.FAILED, said)
