"""Whose turn it is to write, within this process.

SQLite has one writer. Who waits for it asks again and again, in the end ten times a second only,
and may come too late each time; the recorder of live runs would fall behind a busy bulk job.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

_turn = threading.Lock()


@contextmanager
def writing() -> Iterator[None]:
    """`transaction.atomic()`; on SQLite one after the other, without asking."""
    # Inside a transaction nobody may wait for it: whoever has it may wait for that transaction.
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        with transaction.atomic():
            yield
        return
    with _turn, transaction.atomic():
        yield
