"""All tests: those of one process each on every core, then those of real browsers and services.

`python -m tests [ARGS]`: with arguments, they are pytest's own and it runs once.
"""

import subprocess
import sys

# They start servers and browsers that need the cores for themselves.
ALONE = ("tests/browser", "tests/services")


def main(arguments: list[str]) -> int:
    """The exit code: not zero when a part failed; the second part runs in any case."""
    return max(_pytest(part) for part in ([arguments] if arguments else _parts()))


def _parts() -> list[list[str]]:
    others = [f"--ignore={folder}" for folder in ALONE]
    return [["--numprocesses=auto", "--dist=worksteal", "tests", *others], list(ALONE)]


def _pytest(arguments: list[str]) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
