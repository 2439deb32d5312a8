"""The tests of the history on PostgreSQL: the same words give the same hits, the same acts work."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.server import ROOT

FILES = {
    "history": [
        "tests/test_search_index.py",
        "tests/test_search.py",
        "tests/test_view_history.py",
        "tests/test_trash.py",
        "tests/test_jobs.py",
        "tests/test_gathering.py",
        "tests/test_shares.py",
        "tests/test_annotations.py",
    ],
    "review": [
        "tests/test_reviews.py",
        "tests/test_panels.py",
        "tests/test_exchange.py",
    ],
    "statistics": ["tests/test_rollup.py"],
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", FILES)
def test_the_tests_of_the_history_hold_on_postgresql(
    part: str, postgres: Callable[[], str]
) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--reuse-db",
            *FILES[part],
        ],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": postgres()},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
