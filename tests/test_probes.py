"""What programs ask that watch over the server."""

import json
from typing import Any

import pytest
from django.db import connection as database
from django.db.migrations.recorder import MigrationRecorder
from django.test import AsyncClient, Client

from playground import probes
from playground.database import in_thread
from playground.models import Connection, User
from playground.runner import Runner
from tests.conftest import request_to, run_all
from tests.fake_provider import FakeProvider, words

pytestmark = pytest.mark.django_db(transaction=True)


def test_health_needs_no_login_no_database_and_no_host_name(client: Client) -> None:
    answer = client.get("/healthz", headers={"Host": "10.0.0.7:8001"})
    assert (answer.status_code, answer.content) == (200, b"ok\n")


def test_it_is_not_ready_before_the_runner_is(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probes, "runner", Runner())
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["problems"] == ["This server is starting."]


async def test_it_is_ready_until_it_drains(runner: Runner) -> None:
    answer = await AsyncClient().get("/readyz")
    assert (answer.status_code, json.loads(answer.content)["redis"]) == (200, "not used")
    await runner.drain(0)
    answer = await AsyncClient().get("/readyz")
    assert answer.status_code == 503
    assert json.loads(answer.content)["problems"] == ["This server is stopping."]


async def test_a_database_of_another_version_is_not_ready(runner: Runner) -> None:
    applied = MigrationRecorder(database)
    await in_thread(applied.record_unapplied, "playground", "0012_statistics")
    try:
        answer = await AsyncClient().get("/readyz")
    finally:
        await in_thread(applied.record_applied, "playground", "0012_statistics")
    assert answer.status_code == 503
    assert json.loads(answer.content)["problems"] == ["The database lacks 1 migrations."]


async def test_metrics_count_what_ran(
    runner: Runner, alice: User, connection: Connection, provider: FakeProvider
) -> None:
    before = await read()
    provider.reply_with(words(5, None))
    await run_all(runner, alice, [(connection, request_to(connection))])
    after = await read()
    name = 'playground_runs_total{error="",provider="local",status="completed"}'
    assert after[name] == before.get(name, 0) + 1
    assert after['playground_first_token_seconds_count{provider="local"}'] >= 1
    assert after["playground_tick_seconds_count"] > before.get("playground_tick_seconds_count", 0)
    assert after["playground_runs_running"] == 0
    assert after["playground_redis_away"] == 0


async def read() -> dict[str, float]:
    answer = await AsyncClient().get("/metrics")
    assert answer.status_code == 200
    lines = [line for line in answer.content.decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


@pytest.mark.parametrize(
    ("token", "headers", "address", "status"),
    [
        ("", {}, "127.0.0.1", 200),
        ("", {}, "192.0.2.7", 404),
        ("", {"X-Forwarded-For": "127.0.0.1"}, "127.0.0.1", 404),
        ("sesame", {}, "127.0.0.1", 404),
        ("sesame", {"Authorization": "Bearer sesam"}, "192.0.2.7", 404),
        ("sesame", {"Authorization": "Bearer sesame"}, "192.0.2.7", 200),
    ],
)
def test_metrics_are_for_this_machine_or_a_token(
    client: Client, settings: Any, token: str, headers: dict[str, str], address: str, status: int
) -> None:
    settings.METRICS_TOKEN = token
    answer = client.get("/metrics", headers=headers, REMOTE_ADDR=address)
    assert answer.status_code == status
    assert (b"playground_sockets" in answer.content) == (status == 200)
