"""A snippet as its reader runs it."""

import os
import subprocess
from collections.abc import Sequence
from typing import Any

from playground.snippets import SNIPPETS, Call

KEY = "sk-never-shown"


def said_by(command: Sequence[Any], name: str, call: Call) -> str:
    """What the program prints that `command` reads; the key comes from the environment."""
    done = subprocess.run(
        command,
        input=SNIPPETS[name].program(call),
        env={**os.environ, call.key: KEY, "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
