"""An update of a database that holds panels of pairs: the votes are still for the same outputs."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.server import ROOT

PAIRS = """
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

old = MigrationExecutor(connection).loader.project_state(("playground", "0014_security")).apps
make = lambda kind, **values: old.get_model("playground", kind).objects.create(**values)
team = make("Team", name="Evals")
user = make("User", username="bob")
comparison = make("Comparison", team=team, author=user)
common = {"team": team, "comparison": comparison, "author": user, "connection_name": "c"}
runs = [
    make("Run", **common, created_at=timezone.now(), position=n, column=n, provider="local",
         operation="completions", model=model, request="{}", status="completed")
    for n, model in enumerate("mn")
]
panel = make("Panel", team=team, author=user, name="Old")
one, other = (make("Entry", panel=panel, run=run, prompt=0, contestant=run.model) for run in runs)
judge = make("Judge", panel=panel, user=user, name="bob")
for n, (swapped, value) in enumerate(((False, "a"), (True, "b"), (True, "tie"), (False, "")), 1):
    pair = make("Pair", panel=panel, position=n, a=one, b=other)
    make("Ballot", judge=judge, pair=pair, place=n, swapped=swapped, value=value)
"""
ROUNDS = """
from playground.models import Ballot, Panel

panel = Panel.objects.get()
assert (panel.name, panel.together) == ("Old", False)
ballots = list(Ballot.objects.order_by("place"))
assert [each.order for each in ballots] == ["ab", "ba", "ba", "ab"]
assert [each.value for each in ballots] == ["a", "b", "tie", ""]
for each in ballots:
    assert each.round.size == 2 and each.round.panel_id == panel.pk
    assert [entry.contestant for entry in each.round.entries] == ["m", "n"]
assert ballots[1].shown[0].contestant == "n"
print("the same")
"""


@pytest.mark.parametrize("database", ["SQLite", "PostgreSQL"])
def test_pairs_of_a_panel_become_rounds_with_their_votes(
    database: str, postgres: Callable[[], str], tmp_path: Path
) -> None:
    url = {"DATABASE_URL": postgres()} if database == "PostgreSQL" else {}

    def manage(*arguments: str, program: str = "") -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env={**os.environ, "DATA_DIR": str(tmp_path), "EMBEDDED": "0", **url},
            input=program,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    manage("migrate", "playground", "0014")
    manage("shell", "--no-imports", program=PAIRS)
    manage("migrate")
    assert "the same" in manage("shell", "--no-imports", program=ROUNDS)
