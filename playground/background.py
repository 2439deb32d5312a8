"""Work in an event loop that nobody waits for; other threads may ask for it too."""

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec

P = ParamSpec("P")


class Background:
    """Belongs to one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._tasks: set[asyncio.Task[None]] = set()

    def start(
        self, work: Coroutine[Any, Any, None], name: str | None = None
    ) -> "asyncio.Task[None]":
        """Kept here until it is done, for the loop itself keeps no task.

        Its context is empty: a task made inside a view would otherwise keep the view's thread and
        database connection for its life.
        """
        task = self._loop.create_task(work, context=contextvars.Context(), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def call(self, function: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """From any thread: let the loop call this."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(lambda: function(*args, **kwargs))
