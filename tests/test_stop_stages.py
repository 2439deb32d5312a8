"""A stop with its proof: asked, the connection closed, saved; each with its time, kept."""

import asyncio
import json

import pytest
from django.template.loader import render_to_string

from playground.completion import RunStatus
from playground.database import in_thread
from playground.models import Connection, Run, User
from playground.runner import Runner
from playground.templatetags.record_tags import stages
from tests.conftest import request_to
from tests.fake_provider import FakeProvider, Reply, text_event, word_pieces

pytestmark = pytest.mark.django_db(transaction=True)


async def begun(runner: Runner, user: User, *requests: tuple[Connection, object]) -> list[Run]:
    membership = await in_thread(user.membership)
    assert membership is not None
    comparison = await runner.start(membership, requests)  # type: ignore[arg-type]
    return [run async for run in comparison.runs.order_by("position")]


async def until_text(run: Run) -> None:
    for _ in range(500):
        if await run.events.aexists():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("no text came")


async def test_a_stop_shows_when_it_was_asked_closed_and_saved(
    runner: Runner, alice: User, connection: Connection, provider: FakeProvider
) -> None:
    provider.reply_with(Reply(pieces=[text_event("half"), *word_pieces(5, rate=2)], end="hold"))
    [run] = await begun(runner, alice, (connection, request_to(connection)))
    await until_text(run)
    await runner.stop(run)
    await runner.wait([run.pk])
    run = await Run.objects.aget(pk=run.pk)
    assert run.status == RunStatus.CANCELLED
    found = await in_thread(stages, run)
    assert [stage.words.split(",")[0].split(" with")[0] for stage in found] == [
        "Asked to stop",
        "Connection to the backend closed",
        "Saved",
    ]
    times = [stage.at for stage in found]
    assert None not in times
    assert times == sorted(times, key=lambda at: at or 0)
    html = await in_thread(render_to_string, "runs/_ending.html", {"run": run})
    assert html.count("<li") == 3
    assert "data-pending" not in html
    for _ in range(200):  # what the page says is true at the backend
        if provider.posts[0].dropped:
            break
        await asyncio.sleep(0.02)
    assert provider.posts[0].dropped


async def test_a_run_that_waited_was_never_sent(
    runner: Runner, alice: User, connection: Connection, provider: FakeProvider
) -> None:
    connection.parallel = 1
    await connection.asave()
    provider.reply_with(Reply(pieces=[text_event("a")], end="hold"))
    first, second = await begun(runner, alice, *[(connection, request_to(connection))] * 2)
    await until_text(first)
    await runner.stop(second)
    await runner.wait([second.pk])
    second = await Run.objects.aget(pk=second.pk)
    found = await in_thread(stages, second)
    assert [stage.words for stage in found] == [
        "Asked to stop",
        "Never sent",
        "Saved, without text",
    ]
    await runner.stop(first)
    await runner.wait([first.pk])


async def test_while_it_is_stopping_the_rest_is_pending(
    alice: User, connection: Connection, runner: Runner
) -> None:
    membership = await in_thread(alice.membership)
    assert membership is not None
    run = Run(status=RunStatus.RUNNING, request=json.dumps({}))
    run.created_at = run.started_at = run.cancel_requested_at = membership.team.created_at
    assert [stage.at is None for stage in stages(run)] == [False, True, True]


def test_a_run_that_nobody_stopped_has_no_stages() -> None:
    assert stages(Run(status=RunStatus.COMPLETED)) == []
