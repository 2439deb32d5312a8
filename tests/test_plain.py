"""What is done in plain SQL is what the ORM would have done."""

from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from playground.completion import RunStatus
from playground.models import Process, Run, User
from playground.models.plain import put, waiting_and_stopping
from tests.runs import make_run

pytestmark = pytest.mark.django_db


def values(**changes: Any) -> dict[str, Any]:
    return {
        "status": RunStatus.FAILED,
        "owner": None,
        "finished_at": timezone.now(),
        "error_status": None,
        "total_ms": 12.5,
        "cost": Decimal("0.0000310000"),
        "cost_is_own": True,
        "counted_money": 0,
        "warnings": "1\n2",
        **changes,
    }


def test_rows_are_put_as_by_update(alice: User) -> None:
    one, other, third = (make_run(alice) for _ in range(3))
    first, second = values(), values(cost=None, error_status=429, status=RunStatus.CANCELLED)
    put({one.pk: first, other.pk: second, 0: values()})
    found = {run.pk: run for run in Run.objects.all()}
    Run.objects.filter(pk=one.pk).update(**first)
    Run.objects.filter(pk=other.pk).update(**second)
    for run in Run.objects.all():
        assert vars(found[run.pk]) | {"_state": 0} == vars(run) | {"_state": 0}
    assert found[one.pk].cost == Decimal("0.000031")
    assert found[third.pk].status == RunStatus.COMPLETED
    put({})


def test_those_that_wait_and_those_that_somebody_wants_stopped(alice: User) -> None:
    mine, other = (Process.objects.create(host="h", pid=pid, started="1") for pid in (1, 2))
    make_run(alice, owner=mine, status="queued")
    make_run(alice, owner=mine, status="running", cancel_requested_at=timezone.now())
    make_run(alice, owner=mine, status="completed", cancel_requested_at=timezone.now())
    make_run(alice, owner=other, status="queued")
    assert waiting_and_stopping(mine) == (1, 1)
    assert waiting_and_stopping(other) == (1, 0)
