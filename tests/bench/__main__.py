"""`make bench`: every measurement, one after the other.

    python -m tests.bench [DATA_DIR|DATABASE_URL] [--runs 100000]

Without a database an SQLite one is made for it and thrown away.
"""

import argparse
import subprocess
import sys
import tempfile

from tests.bench.setup import is_empty

STREAMS = "tests.bench.streams"
MEMBERS = [
    "tests.bench.history",
    "tests.bench.rollup",
    "tests.bench.beside",
]  # each a module that takes a database


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.bench", description=__doc__)
    parser.add_argument("database", nargs="?", metavar="DATA_DIR|DATABASE_URL")
    parser.add_argument("--runs", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="playground-bench-") as folder:
        database = options.database or folder
        if is_empty(database):
            run("tests.bench.million", database, "--runs", str(options.runs))
        return max([run(STREAMS), *(run(member, database) for member in MEMBERS)])


def run(*command: str) -> int:
    return subprocess.run([sys.executable, "-m", *command], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
