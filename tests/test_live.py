"""Runs that have not ended are found without a look at all the others."""

import pytest
from django.db import connection
from django.utils import timezone

from playground.models import Process, Run, User
from playground.models.ledger import Ledger
from playground.models.live import LIVE, IsLive
from tests.runs import make_run


def test_it_is_the_status(alice: User) -> None:
    runs = {status: make_run(alice, status=status).pk for status in ("queued", "running", "failed")}
    found = Run.objects.filter(IsLive()).values_list("pk", flat=True)
    assert set(found) == {runs[status] for status in LIVE}


def test_its_index_is_used(db: None) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL knows how many there are of each status.")
    process = Process.objects.create(host="h", pid=1)
    asked = [
        Run.objects.live_of(process),
        Run.objects.live_of(process).exclude(cancel_requested_at=None),
        Run.objects.filter(IsLive(), owner=None),
        Run.objects.filter(IsLive(), status="running").values("connection"),
    ]
    for rows in asked:
        assert "live_runs" in rows.explain()


def test_limits_count_live_runs_of_both_kinds(alice: User) -> None:
    for status in ("queued", "running", "completed"):
        make_run(alice, status=status, counted_tokens=5)
    ledger = Ledger(Run.objects.all(), timezone.now())
    assert {(row[1], row[3]) for row in ledger._live} == {("queued", 5), ("running", 5)}
