"""The test of a connection, at a fake provider over real HTTP; from the admin site too."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import AsyncClient
from django.urls import reverse

from playground.checkup import Report, check_up
from playground.database import in_thread
from playground.models import ApiKey, AuditEntry, Connection, User
from playground.runner import Runner
from tests.fake_provider import FakeProvider, Received, Reply, error_reply, json_reply, words

pytestmark = pytest.mark.django_db(transaction=True)

OLD, NEW = "sk-old-00000001", "sk-new-00000002"
MODELS = "/v1/models"


def guarded(*keys: str) -> Callable[[Received], Reply]:
    """A list of models for these keys only."""

    def reply(request: Received) -> Reply:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if given in keys:
            return json_reply({"data": [{"id": "a"}, {"id": "b"}]})
        return error_reply(401, {"error": {"message": f"Incorrect API key provided: {given}."}})

    return reply


def state_of(connection: Connection) -> dict[str, str]:
    return dict(ApiKey.objects.filter(connection=connection).values_list("last_four", "state"))


async def test_it_tells_latency_models_and_that_the_key_is_good(
    runner: Runner, connection: Connection, provider: FakeProvider
) -> None:
    await in_thread(connection.set_key, OLD)
    provider.on_path(MODELS, guarded(OLD))
    report = await check_up(connection)
    assert (report.passed, report.trouble, report.models) == (True, "", 2)
    assert report.listed == ("a", "b")
    assert report.latency is not None
    assert report.latency > 0
    assert not report.asked_for_a_token
    assert [(each.last_four, each.accepted) for each in report.keys] == [("0001", True)]
    kept = await Connection.objects.aget(pk=connection.pk)
    assert kept.tested_at is not None
    assert Report.from_json(kept.test_report) == report


async def test_a_waiting_key_that_passes_becomes_active(
    runner: Runner, connection: Connection, provider: FakeProvider
) -> None:
    await in_thread(connection.add_key, OLD)
    await in_thread(connection.add_key, NEW)
    provider.on_path(MODELS, guarded(OLD, NEW))
    report = await check_up(connection)
    assert (report.passed, report.activated) == (True, "0002")
    assert await in_thread(state_of, connection) == {"0001": "retiring", "0002": "active"}
    actions = AuditEntry.objects.filter(kind="API key").values_list("object_name", "detail")
    changes = [text async for name, text in actions if name.startswith("…0002")]
    assert '{"state": ["new", "active"]}' in changes


async def test_a_waiting_key_that_is_rejected_stays_where_it_is(
    runner: Runner, connection: Connection, provider: FakeProvider
) -> None:
    await in_thread(connection.add_key, OLD)
    await in_thread(connection.add_key, NEW)
    provider.on_path(MODELS, guarded(OLD))
    report = await check_up(connection)
    assert (report.passed, report.activated) == (False, "")
    assert await in_thread(state_of, connection) == {"0001": "active", "0002": "new"}
    tried = {each.last_four: each for each in report.keys}
    assert tried["0001"].accepted is True
    assert (tried["0002"].accepted, tried["0002"].words) == (
        False,
        "Incorrect API key provided: [key].",
    )
    assert NEW not in report.to_json()
    entry = await AuditEntry.objects.filter(action="tested").afirst()
    assert entry is not None
    assert "…0002" in entry.detail


async def test_a_former_key_that_the_same_test_rejects_is_erased(
    runner: Runner, connection: Connection, provider: FakeProvider
) -> None:
    await in_thread(connection.add_key, OLD)
    await in_thread(connection.add_key, NEW)
    provider.on_path(MODELS, guarded(NEW))
    report = await check_up(connection)
    assert (report.passed, report.activated) == (True, "0002")
    assert await in_thread(state_of, connection) == {"0001": "erased", "0002": "active"}


async def test_one_that_stands_in_is_erased_once_a_test_rejects_it(
    runner: Runner, connection: Connection, provider: FakeProvider
) -> None:
    await in_thread(connection.set_key, OLD)
    await in_thread(connection.set_key, NEW)
    assert await in_thread(state_of, connection) == {"0001": "retiring", "0002": "active"}
    provider.on_path(MODELS, guarded(NEW))
    await check_up(connection)
    assert await in_thread(state_of, connection) == {"0001": "erased", "0002": "active"}


async def test_an_address_that_ends_too_early_is_told(
    runner: Runner, connect: Callable[..., Connection], provider: FakeProvider
) -> None:
    address = provider.url.removesuffix("/v1")
    provider.on_path("/models", lambda _: error_reply(404, {"detail": "Not Found"}))
    report = await check_up(await in_thread(connect, "short", base_url=address))
    assert report.trouble == (
        f"Not Found Most servers answer below {address}/v1: is that the address?"
    )


async def test_a_list_that_everybody_gets_proves_no_key(
    runner: Runner, connection: Connection, provider: FakeProvider
) -> None:
    """So one token is asked for, and that is refused."""
    await in_thread(connection.set_key, OLD)
    provider.reply_with(error_reply(401, {"error": {"message": "Invalid API Key"}}))
    report = await check_up(connection)
    assert (report.passed, report.models, report.asked_for_a_token) == (False, 1, True)
    assert report.keys[0].words == "Invalid API Key"
    assert provider.posts[0].json["max_tokens"] == 1
    provider.reply_with(words(1))
    assert (await check_up(connection)).passed


async def test_a_service_without_a_list_is_asked_for_a_token(
    runner: Runner, connect: Callable[..., Connection], provider: FakeProvider
) -> None:
    octo = await in_thread(connect, "octo", OLD, provider="octoai", dialect="")
    report = await check_up(octo)
    assert "Set a default model" in report.trouble
    octo.default_model = "m"
    assert (await check_up(octo)).passed
    assert provider.posts[0].json["model"] == "m"


async def test_without_a_key_where_one_is_needed_nothing_is_sent(
    runner: Runner, connect: Callable[..., Connection], provider: FakeProvider
) -> None:
    pulze = await in_thread(connect, "pulze", provider="pulze", dialect="")
    report = await check_up(pulze)
    assert (report.passed, report.trouble) == (False, "No key is set, and Pulze needs one.")
    assert not provider.requests


async def test_a_backend_that_is_away_says_why_and_rejects_no_key(
    runner: Runner, connect: Callable[..., Connection]
) -> None:
    gone = await in_thread(connect, "gone", OLD, base_url="http://127.0.0.1:9/v1")
    report = await check_up(gone)
    assert "connection refused" in report.trouble
    assert not report.passed
    assert (await ApiKey.objects.aget()).rejected_at is None


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (json_reply({"error": "Unexpected endpoint or method. (GET /models)"}), "Unexpected"),
        (Reply(content_type="text/html", pieces=[b"<!doctype html>"]), "web page (HTTP 200)"),
    ],
)
async def test_a_server_that_answers_anything_has_not_passed(
    runner: Runner, connect: Callable[..., Connection], provider: FakeProvider, reply: Reply,
    words: str,
) -> None:  # fmt: skip
    """LM Studio, and the page of a program, where the address lacks its /v1."""
    bare = await in_thread(connect, "bare", base_url=provider.url.removesuffix("/v1"))
    provider.on_path("/models", reply)
    report = await check_up(bare)
    assert not report.passed
    assert words in report.trouble
    assert "answer below" in report.trouble


@pytest.mark.parametrize(
    ("path", "body", "found"),
    [
        ("/props", {"default_generation_settings": {}, "total_slots": 1}, "llama.cpp"),
        ("/api/version", {"version": "0.9.1"}, "ollama"),
        ("/api/v0/models", {"data": [{"id": "a", "compatibility_type": "gguf"}]}, "lmstudio"),
        ("/version", {"version": "0.11.0"}, "vllm"),
        ("/nothing", {}, "other"),
        (MODELS, {"data": [{"id": "a", "owned_by": "vllm"}]}, "vllm"),
    ],
)
async def test_it_finds_the_kind_of_server(
    runner: Runner,
    connection: Connection,
    provider: FakeProvider,
    path: str,
    body: dict[str, Any],
    found: str,
) -> None:
    for other in ("/props", "/api/version", "/api/v0/models", "/version"):
        provider.on_path(other, error_reply(404, {"error": "Unexpected endpoint"}))
    provider.on_path(path, json_reply(body))
    assert (await check_up(connection)).dialect == found


async def test_the_admin_tests_without_typing_the_key_again_and_takes_the_dialect_over(
    runner: Runner, connection: Connection, provider: FakeProvider
) -> None:
    await in_thread(connection.set_key, OLD)
    provider.on_path(MODELS, guarded(OLD))
    provider.on_path("/props", error_reply(404, b"no"))
    provider.on_path("/api/version", json_reply({"version": "0.9.1"}))
    client = AsyncClient()
    await client.aforce_login(await in_thread(User.objects.create_superuser, "root"))
    page = reverse("admin:playground_connection_change", args=[connection.pk])
    answer = await client.post(reverse("admin:connection_test", args=[connection.pk]))
    assert answer["Location"] == f"{page}#test"
    text = (await client.get(page)).content.decode()
    assert "2 found" in text
    assert "It answers like Ollama" in text
    await client.post(reverse("admin:connection_dialect", args=[connection.pk]))
    assert (await Connection.objects.aget()).dialect == "ollama"
    assert "It answers like" not in (await client.get(page)).content.decode()


async def test_save_and_test_saves_first(
    runner: Runner, connection: Connection, provider: FakeProvider
) -> None:
    """On the add page and on the page of a connection; the test sees what was typed."""
    client = AsyncClient()
    await client.aforce_login(await in_thread(User.objects.create_superuser, "root"))
    provider.on_path(MODELS, guarded(OLD))
    typed = {
        "name": "made",
        "provider": "local",
        "dialect": "llama.cpp",
        "base_url": provider.url,
        "reaches_local": "on",
        "all_teams": "on",
        "enabled": "on",
        "overlap_days": "7",
        "assumed_tokens": "4096",
        "api_key": OLD,
        "prices-TOTAL_FORMS": "0",
        "prices-INITIAL_FORMS": "0",
        "_test": "1",
    }
    answer = await client.post(reverse("admin:playground_connection_add"), typed)
    assert answer.status_code == 302
    made = await Connection.objects.aget(name="made")
    report = Report.from_json(made.test_report)
    assert report is not None
    assert report.passed
    page = reverse("admin:playground_connection_change", args=[made.pk])
    provider.on_path(MODELS, guarded(OLD, NEW))
    answer = await client.post(page, typed | {"api_key": NEW})
    assert answer["Location"] == f"{page}#test"
    tests = AuditEntry.objects.filter(action="tested").values_list("actor_name", flat=True)
    assert [name async for name in tests] == ["root", "root"]
    assert await in_thread(state_of, made) == {"0001": "retiring", "0002": "active"}


async def test_a_key_is_erased_by_hand(
    runner: Runner, connection: Connection, provider: FakeProvider
) -> None:
    await in_thread(connection.add_key, OLD)
    waiting = await in_thread(connection.add_key, NEW)
    client = AsyncClient()
    await client.aforce_login(await in_thread(User.objects.create_superuser, "root"))
    url = reverse("admin:key_erase", args=[connection.pk, waiting.pk])
    assert (await client.get(url)).status_code == 405
    assert (await client.post(url)).status_code == 302
    assert (await client.post(url)).status_code == 404
    assert await in_thread(state_of, connection) == {"0001": "active", "0002": "erased"}


@pytest.mark.parametrize("name", ["connection_test", "connection_dialect"])
async def test_others_may_not_test(alice: User, connection: Connection, name: str) -> None:
    client = AsyncClient()
    await client.aforce_login(alice)
    url = reverse(f"admin:{name}", args=[connection.pk])
    assert (await client.post(url)).status_code == 302
    alice.is_staff = True
    await alice.asave()
    assert (await client.post(url)).status_code == 403
    assert (await Connection.objects.aget()).tested_at is None
