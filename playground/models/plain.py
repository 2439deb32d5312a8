"""Of runs, in plain SQL: what is done each second, or for each run that ends. The ORM would take
longer than the database."""

from collections.abc import Mapping
from typing import Any

from django.db import connection

from playground.models.processes import Process
from playground.models.runs import Run

WAITING_AND_STOPPING = """
SELECT count(CASE WHEN status = 'queued' THEN 1 END), count(cancel_requested_at)
FROM playground_run WHERE status IN ('queued', 'running') AND owner_id = %s
"""


def waiting_and_stopping(process: Process) -> tuple[int, int]:
    """How many live runs of a process wait, and how many somebody wants stopped."""
    with connection.cursor() as cursor:
        cursor.execute(WAITING_AND_STOPPING, [process.pk])
        waiting, stopping = cursor.fetchone()
    return waiting, stopping


def put(values: Mapping[int, Mapping[str, Any]]) -> None:
    """{run: {field: value}}, the same fields of each: as `update` of one after the other."""
    if not values:
        return
    fields: list[Any] = [Run._meta.get_field(name) for name in next(iter(values.values()))]
    columns = ", ".join(f"{connection.ops.quote_name(each.column)} = %s" for each in fields)
    rows = [
        [*(each.get_db_prep_save(found[each.name], connection) for each in fields), run]
        for run, found in values.items()
    ]
    with connection.cursor() as cursor:
        cursor.executemany(f"UPDATE playground_run SET {columns} WHERE id = %s", rows)  # noqa: S608 (names of ours)
