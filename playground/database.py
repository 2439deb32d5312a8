"""Threads for database work from async code: a pool of their own, not the one shared thread."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from django.db import close_old_connections, connections

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 4

_pool = ThreadPoolExecutor(THREADS, thread_name_prefix="database")


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a synchronous function that uses the database; a slow one stalls nobody else."""

    def work() -> T:
        close_old_connections()
        try:
            return function(*args, **kwargs)
        finally:
            close_old_connections()

    return await asyncio.get_running_loop().run_in_executor(_pool, work)


def close_pool() -> None:
    """End the threads and their connections; the next call starts new ones."""
    global _pool
    for _ in range(THREADS):
        _pool.submit(connections.close_all)
    _pool.shutdown(wait=True)
    _pool = ThreadPoolExecutor(THREADS, thread_name_prefix="database")
