"""`make bench`: every measurement, one after the other.

    python -m tests.bench [DATA_DIR|DATABASE_URL] [--runs 100000] [--only streams,start]

Without a database an SQLite one is made for it and thrown away. `soak` takes ten minutes and is run
alone: `python -m tests.bench.soak`.
"""

import argparse
import subprocess
import sys
import tempfile

from tests.bench.setup import is_empty

ALONE = ("streams", "peers", "start", "page", "growth")
ON_HISTORY = ("history", "rollup", "beside")  # each a module that takes a database


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.bench", description=__doc__)
    parser.add_argument("database", nargs="?", metavar="DATA_DIR|DATABASE_URL")
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--only", default=",".join((*ALONE, *ON_HISTORY)), help="some of them")
    options = parser.parse_args()
    asked = options.only.split(",")
    codes = [measure(name) for name in ALONE if name in asked]
    if on_history := [name for name in ON_HISTORY if name in asked]:
        with tempfile.TemporaryDirectory(prefix="playground-bench-") as folder:
            database = options.database or folder
            if is_empty(database):
                run("tests.bench.million", database, "--runs", str(options.runs))
            codes += [measure(name, database) for name in on_history]
    return max(codes, default=0)


def measure(name: str, *arguments: str) -> int:
    print(f"\n--- {name}", flush=True)
    return run(f"tests.bench.{name}", *arguments)


def run(*command: str) -> int:
    return subprocess.run([sys.executable, "-m", *command], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
