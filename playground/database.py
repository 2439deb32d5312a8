"""Threads for database work from async code: a pool of their own, not the one shared thread."""

import asyncio
import functools
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from asgiref.sync import async_to_sync, sync_to_async
from django.db import close_old_connections, connections

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 4
KEPT = 60.0  # seconds for which a thread keeps its connection to SQLite

_pool = ThreadPoolExecutor(THREADS, thread_name_prefix="database")


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a synchronous function that uses the database; a slow one stalls nobody else."""

    def work() -> T:
        close_old_connections()
        try:
            return function(*args, **kwargs)
        finally:
            keep_or_close()

    return await asyncio.get_running_loop().run_in_executor(_pool, work)


def keep_or_close() -> None:
    """After a job of the pool, and at each beat of the recorder. To open SQLite's file takes longer
    than most jobs; a connection to a server may be cut in between, and goes back."""
    for each in connections.all(initialized_only=True):
        if each.vendor == "sqlite" and not each.errors_occurred and not each.in_atomic_block:
            each.close_at = time.monotonic() + KEPT
        else:
            each.close_if_unusable_or_obsolete()


def release() -> None:
    """Give this thread's connection back; outside of a transaction only.

    A view that kept its own while it waits for the runner, which needs another, would hold the
    whole pool with a few dozen presses at once. SQLite has no pool: to open it again is dear.
    """
    for each in connections.all(initialized_only=True):
        if not each.in_atomic_block and each.vendor != "sqlite":
            each.close()


def in_view(function: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """For async views: in the thread of the request, and the connection goes back afterwards."""

    @functools.wraps(function)
    def work(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        finally:
            release()

    return sync_to_async(work)


def wait_for(function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
    """For sync views: call an async function, without a connection meanwhile."""
    release()
    return async_to_sync(function)(*args, **kwargs)


def close_pool() -> None:
    """End the threads and their connections; the next call starts new ones."""
    global _pool
    for _ in range(THREADS):
        _pool.submit(connections.close_all)
    _pool.shutdown(wait=True)
    _pool = ThreadPoolExecutor(THREADS, thread_name_prefix="database")
