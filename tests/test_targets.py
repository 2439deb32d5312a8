"""Which key goes with a request, and the one case in which another one is tried."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import AsyncClient
from django.urls import reverse
from django.utils import timezone

from playground.database import in_thread
from playground.models import ApiKey, Connection, Run, User
from playground.providers import ProviderError
from playground.runner import Runner
from playground.targets import LOCKED_HEADERS, list_models
from tests.conftest import request_to, run_all
from tests.fake_provider import FakeProvider, Received, Reply, error_reply, json_reply, words

pytestmark = pytest.mark.django_db(transaction=True)

OLD, NEW = "sk-old-00000001", "sk-new-00000002"
WRONG = {"error": {"message": f"Incorrect API key provided: {NEW}"}}


def accepting(*keys: str, status: int = 401) -> Callable[[Received], Reply]:
    """A provider that knows these keys only."""

    def reply(request: Received) -> Reply:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        return words(3) if given in keys else error_reply(status, WRONG)

    return reply


def tried(provider: FakeProvider) -> list[str]:
    return [each.headers["authorization"].removeprefix("Bearer ") for each in provider.posts]


@pytest.fixture
def rotated(connection: Connection) -> Connection:
    """The old key stands in for the new one."""
    connection.set_key(OLD)
    connection.set_key(NEW)
    return connection


async def run(runner: Runner, alice: User, connection: Connection) -> Run:
    [found] = await run_all(runner, alice, [(connection, request_to(connection))])
    return found


async def test_the_active_key_is_used_and_noted(
    runner: Runner, alice: User, rotated: Connection, provider: FakeProvider
) -> None:
    found = await run(runner, alice, rotated)
    assert (found.status, found.key_last_four, found.warnings) == ("completed", "0002", "")
    assert tried(provider) == [NEW]
    key = await ApiKey.objects.aget(last_four="0002")
    assert found.api_key_id == key.pk
    assert key.last_used_at is not None
    assert (await ApiKey.objects.aget(last_four="0001")).last_used_at is None


async def test_a_401_brings_in_the_retiring_key_once_with_a_warning(
    runner: Runner, alice: User, rotated: Connection, provider: FakeProvider
) -> None:
    provider.reply_with(accepting(OLD))
    found = await run(runner, alice, rotated)
    assert (found.status, found.key_last_four) == ("completed", "0001")
    assert tried(provider) == [NEW, OLD]
    assert "the former key" in found.warnings
    rejected = await ApiKey.objects.aget(last_four="0002")
    assert rejected.rejected_at is not None
    assert rejected.rejection == "Incorrect API key provided: [key]"


async def test_if_both_are_rejected_the_run_fails_with_the_last_answer(
    runner: Runner, alice: User, rotated: Connection, provider: FakeProvider
) -> None:
    provider.reply_with(accepting())
    found = await run(runner, alice, rotated)
    assert (found.status, found.error_status) == ("failed", 401)
    assert tried(provider) == [NEW, OLD]


@pytest.mark.parametrize("status", [400, 402, 403, 404, 429, 500, 503])
async def test_nothing_else_is_tried_again(
    runner: Runner, alice: User, rotated: Connection, provider: FakeProvider, status: int
) -> None:
    provider.reply_with(accepting(OLD, status=status))
    found = await run(runner, alice, rotated)
    assert (found.status, found.error_status) == ("failed", status)
    assert tried(provider) == [NEW]


async def test_a_401_inside_a_stream_is_not_tried_again(
    runner: Runner, alice: User, rotated: Connection, provider: FakeProvider
) -> None:
    inside = b'data: {"error": {"code": 401, "message": "no"}}\n\n'
    provider.reply_with(Reply(pieces=[inside]))
    found = await run(runner, alice, rotated)
    assert found.status == "failed"
    assert len(provider.posts) == 1


@pytest.mark.parametrize("state", ["new", "erased", "late"])
async def test_only_a_retiring_key_within_its_date_stands_in(
    runner: Runner, alice: User, rotated: Connection, provider: FakeProvider, state: str
) -> None:
    past = timezone.now() - timedelta(seconds=1)
    change: dict[str, Any] = {"retires_at": past} if state == "late" else {"state": state}
    await ApiKey.objects.filter(last_four="0001").aupdate(**change)
    provider.reply_with(accepting(OLD))
    found = await run(runner, alice, rotated)
    assert (found.status, found.error_status) == ("failed", 401)
    assert tried(provider) == [NEW]


async def test_a_run_that_took_the_key_before_the_change_gets_the_newer_one(
    runner: Runner, alice: User, connection: Connection, provider: FakeProvider
) -> None:
    """The provider ends the old key in the very moment between our look-up and our request."""
    await in_thread(connection.set_key, OLD)

    def changing(request: Received) -> Reply:
        if NEW in request.headers["authorization"]:
            return words(3)
        return error_reply(401, WRONG)

    async def rotate() -> None:
        await in_thread(connection.set_key, NEW)

    provider.queue(Reply(401, "application/json", pieces=[lambda _: None, b"{}"], delay=0.3))
    provider.reply_with(changing)
    membership = await in_thread(alice.membership)
    assert membership is not None
    comparison = await runner.start(membership, [(connection, request_to(connection))])
    [begun] = [each async for each in comparison.runs.all()]
    await in_thread(provider.wait_for_request)
    await rotate()
    await runner.wait([begun.pk])
    await begun.arefresh_from_db()
    assert (begun.status, begun.key_last_four) == ("completed", "0002")


async def test_a_key_that_works_again_is_no_longer_shown_as_rejected(
    runner: Runner, alice: User, rotated: Connection, provider: FakeProvider
) -> None:
    provider.queue(accepting(OLD))
    provider.queue(accepting(OLD))
    await run(runner, alice, rotated)
    await run(runner, alice, rotated)
    assert (await ApiKey.objects.aget(last_four="0002")).rejected_at is None


async def test_questions_fall_back_too(
    runner: Runner, rotated: Connection, provider: FakeProvider
) -> None:
    def listed(request: Received) -> Reply:
        if OLD in request.headers["authorization"]:
            return json_reply({"data": [{"id": "a"}]})
        return error_reply(401, WRONG)

    provider.on_path("/v1/models", listed)
    assert await list_models(rotated) == ["a"]


async def test_a_header_that_the_provider_repeats_is_masked(
    runner: Runner, alice: User, connect: Callable[..., Connection], provider: FakeProvider
) -> None:
    headed = await in_thread(connect, "headed", extra_headers="X-Gate: abcdefgh-01\nX-Team: a")
    words_of_it = {"error": {"message": "X-Gate abcdefgh-01 is unknown, X-Team a too"}}
    provider.reply_with(error_reply(403, words_of_it))
    provider.on_path("/v1/models", error_reply(403, words_of_it))
    said = "X-Gate [header] is unknown, X-Team a too"
    assert (await run(runner, alice, headed)).error_message == said
    with pytest.raises(ProviderError, match="is unknown") as error:
        await list_models(headed)
    assert error.value.message == said


async def test_headers_that_cannot_be_decrypted_are_not_left_out_silently(
    connect: Callable[..., Connection], settings: Any
) -> None:
    await in_thread(connect, "locked", extra_headers="X-Team: a")
    settings.ENCRYPTION_KEYS = ["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]
    locked = await Connection.objects.aget(name="locked")
    with pytest.raises(ProviderError, match=LOCKED_HEADERS[:40]):
        await list_models(locked)


async def test_the_picker_shows_allowed_models_only_and_others_are_refused(
    runner: Runner, alice: User, connection: Connection, provider: FakeProvider
) -> None:
    connection.allowed_models = "fake-*\nhidden"
    await connection.asave()
    provider.models = ["fake-1", "other"]
    client = AsyncClient()
    await client.aforce_login(alice)
    listed = await client.get(reverse("models", args=[connection.pk]))
    assert listed.json() == {"models": ["fake-1", "hidden"]}
    column = {"connection": connection.pk, "operation": "completions", "model": "other"}
    form = {"prompt": "Hi", "mode": "text", "values": {}, "columns": [column]}
    answer = await client.post(reverse("start"), {"document": json.dumps(form)})
    assert answer.status_code == 422
    assert "“other” is not allowed on fake." in answer.content.decode()
    assert not provider.posts
