"""The figures of a panel, from `playground.ranking` in a process of its own."""

import hashlib
import json
import subprocess
import sys
from typing import Any

from django.conf import settings
from django.core.cache import cache

SECONDS = 60  # that a calculation may take
KEPT = 3600  # seconds; the key is made of the votes themselves


class NoFigures(Exception):
    """The calculation failed or took too long."""


def figures(contestants: int, votes: list[list[Any]]) -> dict[str, Any]:
    """`ranking.result` of these votes, kept for a while. Raises NoFigures."""
    asked = json.dumps({"contestants": contestants, "votes": votes})
    key = f"panel-{hashlib.sha256(asked.encode()).hexdigest()}"
    found: dict[str, Any] | None = cache.get(key)
    if found is None:
        found = _calculated(asked)
        cache.set(key, found, KEPT)
    return found


def _calculated(asked: str) -> dict[str, Any]:
    try:
        done = subprocess.run(
            [sys.executable, "-m", "playground.ranking"],
            input=asked,
            cwd=settings.BASE_DIR,
            env={"OPENBLAS_NUM_THREADS": "1"},  # and nothing of ours, least of all keys
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=True,
        )
        result: dict[str, Any] = json.loads(done.stdout)
    except (subprocess.SubprocessError, OSError, ValueError) as error:
        raise NoFigures from error
    return result
