"""What a server does beside its runs: bulk jobs, imports, retention, erasing what was purged, the
roll-up.

One small batch at a time with a pause between, so that streams go on meanwhile. Of several
processes one has a job; a job of a process that is gone is taken over.
"""

import asyncio
import logging
import math
import time
from datetime import timedelta

from django.db import DatabaseError, connection

from playground.database import in_thread
from playground.exchange.importing import step
from playground.models import Block, Chore, Job, Retention, Stale, Transfer
from playground.models.retention import erase_batch, purge_ownerless

logger = logging.getLogger(__name__)

IDLE = 1.0  # seconds between two looks for work
PAUSE = 0.05  # seconds between two batches: the recorder's turn
RULES_EVERY = timedelta(minutes=1)
ERASE_EVERY = timedelta(seconds=5)
ROLL_UP_EVERY = timedelta(seconds=15)  # the quarter of now is counted again each time
ROUNDS = 200  # of the roll-up, before other work has its turn


def write_back() -> None:
    """SQLite's log into its file, while others read and write; else the next commit would wait."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")


class Upkeep:
    """`run` until it is cancelled; the server does, before it drains."""

    def __init__(self) -> None:
        self._asked: dict[str, float] = {}  # {chore: when it was asked for last, `monotonic`}

    async def run(self) -> None:
        await asyncio.gather(self._rounds(), self._write_back())

    async def _write_back(self) -> None:
        while True:
            await asyncio.sleep(IDLE)
            try:
                await in_thread(write_back)
            except DatabaseError:
                logger.exception("The log of the database cannot be written back")

    async def _rounds(self) -> None:
        while True:
            try:
                await self.round()
            except Exception:
                logger.exception("The upkeep failed; it goes on in a moment")
            await asyncio.sleep(IDLE)

    async def round(self) -> None:
        """All that is due now."""
        while job := await in_thread(Job.objects.take):
            await self._carry_out(job)
        while transfer := await in_thread(Transfer.objects.imports().take):
            await self._import(transfer)
        if await self._takes("retention", RULES_EVERY):
            while await in_thread(Retention.objects.trash_due):
                await asyncio.sleep(PAUSE)
            for purge in (Retention.objects.purge_due, purge_ownerless):
                while await in_thread(purge):
                    await asyncio.sleep(PAUSE)
            await in_thread(Job.objects.forget_old)
            await in_thread(Transfer.objects.forget_old)
        if await self._takes("erase", ERASE_EVERY):
            while await in_thread(erase_batch):
                await asyncio.sleep(PAUSE)
        if await self._takes("statistics", ROLL_UP_EVERY):
            await self._roll_up()

    async def _takes(self, chore: str, every: timedelta) -> bool:
        """Whether it is due and ours. The database is not asked each second for the sake of what is
        due once a minute."""
        now = time.monotonic()
        if now - self._asked.get(chore, -math.inf) < every.total_seconds() / 5:
            return False
        self._asked[chore] = now
        return await in_thread(Chore.objects.take, chore, every)

    async def _roll_up(self) -> None:
        """Not without end: while runs go on, each look finds a new mark."""
        for each in (Stale.objects.roll_up, Block.objects.build):
            for _ in range(ROUNDS):
                if not await in_thread(each):
                    break
                await asyncio.sleep(PAUSE)

    async def _carry_out(self, job: Job) -> None:
        try:
            while await in_thread(job.step):
                await asyncio.sleep(PAUSE)
        except Exception:
            logger.exception("Job %s failed", job.pk)
            await in_thread(job.fail, "The server failed here; its log says more.")

    async def _import(self, transfer: Transfer) -> None:
        try:
            while await in_thread(step, transfer):
                await asyncio.sleep(PAUSE)
        except Exception:
            logger.exception("Import %s failed", transfer.pk)
            said = "The server failed here; its log says more. What is in the team stays."
            await in_thread(transfer.end, Transfer.State.FAILED, said)
