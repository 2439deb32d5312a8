"""Exports and imports of any size: what a process takes does not grow with the number of runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server import ROOT

FEW, MANY = 100, 600
BYTES = 50_000  # of one output
ALLOWED = 10 * 1024  # kB that the larger one may take more; its texts are 25 MB more
PROGRAM = """
import random
from playground.completion import CompletionRequest
from playground.models import Choice, Comparison, Membership, Run, Team, User

draw = random.Random(1)
words = [f"word{{n}}" for n in range(500)]
text = " ".join(draw.choices(words, k=2 * {bytes}))
request = CompletionRequest("local", "completions", "m", prompt="Hi").to_json()
for name, count in (("few", {few}), ("many", {many}), ("empty", 0)):
    team = Team.objects.create(name=name)
    user = User.objects.create_user(name, current_team=team)
    Membership.objects.create(team=team, user=user, role="owner")
    for start in range(0, count, 100):
        made = [Comparison(team=team, author=user, author_name=name) for _ in range(100)]
        Comparison.objects.bulk_create(made)
        runs = [
            Run(team=team, comparison=one, author=user, author_name=name, request=request,
                provider="local", operation="completions", model="m", connection_name="c",
                status="completed", created_at=one.created_at)
            for one in made
        ]
        Run.objects.bulk_create(runs)
        Choice.objects.bulk_create([
            Choice(run=run, index=0, sha256="", finish_reason="stop",
                   text=text[start + n:][:{bytes}])
            for n, run in enumerate(runs)
        ])
"""


class Shell:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, "DATA_DIR": str(folder / "data"), "EMBEDDED": "0"}

    def __call__(self, *arguments: str, program: str = "") -> tuple[str, int]:
        """What it wrote, and the most memory that it took, in kB."""
        with (self.folder / "said").open("w+") as said:
            process = subprocess.Popen(
                [sys.executable, "manage.py", *arguments],
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=said,
                stderr=said,
                text=True,
            )
            assert process.stdin
            process.stdin.write(program)
            process.stdin.close()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            text = said.read()
        assert process.returncode == 0, text
        return text, usage.ru_maxrss


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    made = Shell(tmp_path_factory.mktemp("size"))
    made("migrate")
    made("shell", "--no-imports", program=PROGRAM.format(few=FEW, many=MANY, bytes=BYTES))
    return made


@pytest.mark.parametrize("layout", ["jsonl", "sqlite"])
def test_an_export_takes_no_more_memory_for_more_runs(shell: Shell, layout: str) -> None:
    kilobytes = {}
    for name in ("few", "many"):
        path = shell.folder / f"{name}.{layout}"
        _, kilobytes[name] = shell("export", str(path), "--user", name, "--layout", layout)
    assert path.stat().st_size > MANY * BYTES
    assert kilobytes["many"] - kilobytes["few"] < ALLOWED, kilobytes


def test_an_import_takes_no_more_memory_for_more_runs(shell: Shell) -> None:
    kilobytes = {}
    for name, count in (("few", FEW), ("many", MANY)):
        path = shell.folder / f"{name}.jsonl"
        shell("export", str(path), "--user", name)
        said, kilobytes[name] = shell("import", str(path), "--user", "empty")
        assert f"Imported {count:,} runs" in said
    assert kilobytes["many"] - kilobytes["few"] < ALLOWED, kilobytes
