"""How large a backend's context is, where it can tell."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import AsyncClient
from django.urls import reverse

from playground.database import in_thread
from playground.models import Connection, User
from playground.runner import Runner
from tests.fake_provider import FakeProvider, error_reply, json_reply

pytestmark = pytest.mark.django_db(transaction=True)

ROW = {"id": "m", "max_model_len": 4096}
LOADED = {"id": "m", "loaded_context_length": 2048}
PULZE = {"namespace": "m", "context_window": 32_000}


@pytest.mark.parametrize(
    ("provider_slug", "dialect", "path", "answer", "wanted"),
    [
        ("local", "llama.cpp", "/props", {"default_generation_settings": {"n_ctx": 1024}}, 1024),
        ("local", "llama.cpp", "/props", {"default_generation_settings": {}}, None),
        ("local", "llama.cpp", "/props", [], None),
        ("local", "vllm", "/v1/models", {"data": [{"id": "other"}, ROW]}, 4096),
        ("local", "vllm", "/v1/models", {"data": [{"id": "other", "max_model_len": 1}]}, None),
        ("local", "vllm", "/v1/models", {"data": [{"id": "m", "max_model_len": True}]}, None),
        ("local", "ollama", "/api/ps", {"models": [{"name": "m", "context_length": 8192}]}, 8192),
        ("local", "lmstudio", "/api/v0/models", {"data": [LOADED]}, 2048),
        ("local", "other", "/nothing", {}, None),
        ("pulze", "", "/v1/models/active", {"1": PULZE}, 32000),
        ("ogx", "", "/nothing", {}, None),
    ],
)  # fmt: skip
async def test_each_backend_is_asked_in_its_own_way(
    alice: User, connect: Callable[..., Connection], provider: FakeProvider,
    runner: Runner, provider_slug: str, dialect: str, path: str, answer: Any, wanted: int | None,
) -> None:  # fmt: skip
    provider.on_path(path, json_reply(answer))
    provider.on_path(path.removeprefix("/v1"), json_reply(answer))
    settings = {"provider": provider_slug, "dialect": dialect, "key": "sk-test-1234567890"}
    connection = await in_thread(lambda: connect(**settings))
    client = AsyncClient()
    await client.aforce_login(alice)
    found = await client.get(reverse("context", args=[connection.pk]), {"model": "m"})
    assert found.json() == {"context": wanted}


async def test_a_backend_that_refuses_is_no_error(
    alice: User, connection: Connection, provider: FakeProvider, runner: Runner
) -> None:
    provider.on_path("/props", error_reply(500, {"error": "no"}))
    client = AsyncClient()
    await client.aforce_login(alice)
    found = await client.get(reverse("context", args=[connection.pk]))
    assert found.json() == {"context": None}


async def test_only_for_connections_that_one_may_use(
    alice: User, connect: Callable[..., Connection]
) -> None:
    connection = await in_thread(lambda: connect(all_teams=False))
    client = AsyncClient()
    await client.aforce_login(alice)
    found = await client.get(reverse("context", args=[connection.pk]))
    assert found.status_code == 404
