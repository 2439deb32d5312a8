"""Writes what a tick has taken: one transaction for all runs, or one for each where that fails.

Only rows of runs are written that this process still owns.
"""

import logging
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import orjson
from django.db import InterfaceError, OperationalError, connection, transaction

from playground.completion import ErrorKind, RunStatus
from playground.hub import Item
from playground.lines import Line
from playground.log import Ending, close_run, close_runs, log_rows, settle_runs
from playground.models import Process, RunEvent
from playground.models.live import LIVE
from playground.models.turns import writing

logger = logging.getLogger(__name__)

# In plain SQL: for a tick the ORM takes longer than the database.
OWNED = "SELECT {} FROM playground_run WHERE owner_id = %s AND status IN (%s, %s) AND id IN ({})"
LAST = "(SELECT max(seq) FROM playground_runevent WHERE run_id = playground_run.id)"
# Up to where PostgreSQL's own log is written, and up to where it is on the disk; in bytes.
WRITTEN = "pg_current_wal_insert_lsn() - '0/0'::pg_lsn, pg_current_wal_flush_lsn() - '0/0'::pg_lsn"
INSERT = "INSERT INTO playground_runevent (run_id, seq, events) VALUES (%s, %s, %s)"


class Row(NamedTuple):
    """Of the log of a live run."""

    run: int
    seq: int
    events: str


class Unflushed:
    """Rows that PostgreSQL has taken and that may not be on its disk: if it crashes it forgets
    them, and whoever has them writes them again. As long as that can be, they are kept here."""

    def __init__(self) -> None:
        self._kept: deque[tuple[int, list[Row]]] = deque()  # (where its log ended then, rows)
        self._new: list[Row] = []

    def rows(self) -> list[Row]:
        return [*(row for _, rows in self._kept for row in rows), *self._new]

    def took(self, rows: list[Row], written: int, flushed: int) -> None:
        """`written`, `flushed`: where its log ended, and ended on the disk, before it took them.
        All others were there at that time."""
        if self._new:
            self._kept.append((written, self._new))
        self._new = rows
        while self._kept and self._kept[0][0] <= flushed:
            self._kept.popleft()

    def took_again(self, rows: list[Row]) -> None:
        """All, and these: it has crashed, and its log ends somewhere else."""
        self._new = [*self.rows(), *rows]
        self._kept.clear()


class Writer:
    def __init__(self, process: Process) -> None:
        self._process = process
        self._unflushed = Unflushed()

    def write(self, taken: Sequence[Line], again: bool = False) -> list[Item]:
        """One transaction; items only of runs that this process still owns.

        Where a connection broke in a commit nobody knows whether it happened. So the same rows are
        tried `again`, and those that are there already are not written twice. Only the commit of an
        end waits for PostgreSQL's disk: text is still here, and written again if it got lost.
        """
        with writing(behind=not any(line.ending for line in taken)):
            kept = self._unflushed.rows()
            runs = {line.run for line in taken}.union(row.run for row in kept)
            there, log = self._there(list(runs), again)
            lost = [row for row in kept if row.seq > there.get(row.run, row.seq)]
            items, rows, ended = _sorted([line for line in taken if line.run in there])
            if missing := [*lost, *(row for row in rows if row.seq > there[row.run])]:
                with connection.cursor() as cursor:
                    cursor.executemany(INSERT, missing)
            if ended:
                finished = close_runs(ended)
                last = {item.run: item.seq for item in items}
                items += [
                    Item(line.run, line.comparison, last.get(line.run, line.seq), "", told)
                    for line in taken
                    if (told := finished.get(line.run))
                ]
                settle_runs(ended)
        if lost:
            self._unflushed.took_again(rows)
        elif log:
            self._unflushed.took(rows, *log)
        return items

    def write_alone(self, line: Line, again: bool) -> list[Item]:
        """A transaction of its own; a run that cannot be stored ends as failed."""
        try:
            return self.write([line], again)
        except (OperationalError, InterfaceError):
            raise
        except Exception as error:
            logger.exception("Run %s cannot be stored", line.run, extra={"run": line.run})
            return [give_up(line, type(error).__name__)]

    def _there(
        self, runs: Sequence[int], again: bool
    ) -> tuple[dict[int, int], tuple[int, int] | None]:
        """Of those that are live and ours, held until the transaction ends: {run: the last row of
        its log}, 0 where it must be as we know it; of PostgreSQL, its own log (`WRITTEN`)."""
        postgres = connection.vendor == "postgresql"
        columns = f"id, {LAST}, {WRITTEN}" if postgres else f"id, {LAST if again else 0}"
        query = OWNED.format(columns, ", ".join(["%s"] * len(runs)))
        with connection.cursor() as cursor:
            cursor.execute(query + " FOR UPDATE" * postgres, [self._process.pk, *LIVE, *runs])
            found = cursor.fetchall()
        there = {row[0]: row[1] or 0 for row in found}
        return there, found[0][2:] if postgres and found else None


def _sorted(
    lines: Iterable[Line],
) -> tuple[list[Item], list[Row], dict[int, tuple[Ending, list[Any]]]]:
    """(what is published, what the log gets, {run that ends: (its end, its last events)})"""
    items, rows, ended = [], [], {}
    for line in lines:
        texts = log_rows(line.batch.to_list())
        numbered = list(enumerate(texts, start=line.seq + 1))
        items += [Item(line.run, line.comparison, seq, text) for seq, text in numbered]
        if line.ending:
            # As the log would give it back: stored and folded is the same, cut as it may.
            rest = [row for text in texts for row in orjson.loads(text)]
            ended[line.run] = (line.ending, rest)
        else:
            rows += [Row(line.run, seq, text) for seq, text in numbered]
    return items, rows, ended


def give_up(line: Line, reason: str) -> Item:
    """End the one run that cannot be stored; what is in its log already is kept."""
    ending = Ending(
        RunStatus.FAILED, ErrorKind.INTERNAL, f"The answer could not be saved ({reason})."
    )
    try:
        finished = _close(line.run, ending)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        logger.exception("Not even the log of run %s can be folded", line.run)
        RunEvent.objects.filter(run_id=line.run).delete()
        finished = _close(line.run, ending)
    return Item(line.run, line.comparison, line.seq, "", finished)


def _close(run: int, ending: Ending) -> str:
    with transaction.atomic():
        finished = close_run(run, ending, [])
        settle_runs([run])
    return finished
