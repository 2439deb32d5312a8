"""What is done with runs that have ended and are saved: something is learned from each, and the
search finds it. Those that end together are done together."""

import asyncio
import logging
from collections.abc import Sequence

from playground.database import in_thread
from playground.models import Run, SearchText

logger = logging.getLogger(__name__)

MOST = 25  # runs of one job


class Aftermath:
    """Belongs to one event loop."""

    def __init__(self) -> None:
        self._ended: list[int] = []
        self._working = asyncio.Lock()

    async def of(self, run: int) -> None:
        """Done with this run when it returns."""
        self._ended.append(run)
        async with self._working:
            runs, self._ended = self._ended, []
            for start in range(0, len(runs), MOST):
                await in_thread(_work, runs[start : start + MOST])


def _work(runs: Sequence[int]) -> None:
    try:
        Run.objects.learn(runs)
    except Exception:
        logger.exception("Nothing was learned from the runs %s", runs)
    try:
        SearchText.objects.write(runs)
    except Exception:
        logger.exception("The runs %s are not in the search index", runs)
