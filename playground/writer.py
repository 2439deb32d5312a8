"""Writes what a tick has taken: one transaction for all runs, or one for each where that fails.

Only rows of runs are written that this process still owns.
"""

import logging
from collections.abc import Iterable, Sequence

import orjson
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import Max

from playground.completion import ErrorKind, RunStatus
from playground.hub import Item
from playground.lines import Line
from playground.log import Ending, close_run, close_runs, log_rows, settle_runs
from playground.models import Process, RunEvent
from playground.models.live import LIVE
from playground.models.turns import writing

logger = logging.getLogger(__name__)

# In plain SQL: for a tick the ORM takes longer than the database.
OWNED = "SELECT id FROM playground_run WHERE owner_id = %s AND status IN (%s, %s) AND id IN ({})"
INSERT = "INSERT INTO playground_runevent (run_id, seq, events) VALUES (%s, %s, %s)"


class Writer:
    def __init__(self, process: Process) -> None:
        self._process = process

    def write(self, taken: Sequence[Line], again: bool = False) -> list[Item]:
        """One transaction; items only of runs that this process still owns.

        Where a connection broke in a commit nobody knows whether it happened. So the same rows are
        tried `again`, and those that are there already are not written twice.
        """
        items = []
        with writing():
            owned = self._owned([line.run for line in taken])
            rows = []
            ended = {}
            for line in taken:
                if line.run not in owned:
                    continue
                texts = log_rows(line.batch.to_list())
                numbered = list(enumerate(texts, start=line.seq + 1))
                items += [Item(line.run, line.comparison, seq, text) for seq, text in numbered]
                if line.ending:
                    # As the log would give it back: stored and folded is the same, cut as it may.
                    rest = [row for text in texts for row in orjson.loads(text)]
                    ended[line.run] = (line.ending, rest)
                else:
                    rows += [(line.run, seq, text) for seq, text in numbered]
            if again and rows:
                there = last_rows(owned)
                rows = [row for row in rows if row[1] > there.get(row[0], 0)]
            if rows:
                with connection.cursor() as cursor:
                    cursor.executemany(INSERT, rows)
            if ended:
                finished = close_runs(ended)
                last = {item.run: item.seq for item in items}
                items += [
                    Item(line.run, line.comparison, last.get(line.run, line.seq), "", told)
                    for line in taken
                    if (told := finished.get(line.run))
                ]
                settle_runs(ended)
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

    def _owned(self, runs: Sequence[int]) -> set[int]:
        """Those that are live and ours, held until the transaction ends."""
        query = OWNED.format(", ".join(["%s"] * len(runs)))
        if connection.features.has_select_for_update:
            query += " FOR UPDATE"
        with connection.cursor() as cursor:
            cursor.execute(query, [self._process.pk, *LIVE, *runs])
            return {row[0] for row in cursor.fetchall()}


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


def last_rows(runs: Iterable[int]) -> dict[int, int]:
    """{run: the last seq of its log}, of those that have one."""
    logs = RunEvent.objects.filter(run_id__in=runs).values_list("run_id")
    return dict(logs.annotate(last=Max("seq")))
