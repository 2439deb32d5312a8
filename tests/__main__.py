"""All tests: those of one process each on every core, then those of real browsers and services.

Each part runs whole, also when the one before it has failed.

`python -m tests [ARGS]`: with arguments, they are pytest's own and it runs once.
"""

import subprocess
import sys

# They start servers and browsers, and wait for them: two at once fill the time in which one waits.
REAL = ("tests/browser", "tests/services")


def main(arguments: list[str]) -> int:
    """The exit code: not zero when a part failed."""
    return max(_pytest(part) for part in ([arguments] if arguments else _parts()))


def _parts() -> list[list[str]]:
    others = [f"--ignore={folder}" for folder in REAL]
    return [
        ["--numprocesses=auto", "--dist=worksteal", "tests", *others],
        # A file at a time, for its tests share a server; in this order, which ends with quick ones.
        ["--numprocesses=2", "--dist=loadfile", "--no-loadscope-reorder", *REAL],
    ]


def _pytest(arguments: list[str]) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
