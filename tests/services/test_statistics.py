"""The tests of the statistics, on PostgreSQL: its own triggers, its own sums."""

import os
import subprocess
import sys
from collections.abc import Callable

from tests.server import ROOT

FILES = ["tests/test_rollup.py"]


def test_the_tests_of_statistics_hold_on_postgresql(postgres: Callable[[], str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--reuse-db", *FILES],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": postgres()},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
