"""Every response field that anyone documents is on the page of the run."""

import html
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import AsyncClient

from playground.models import Connection, User
from playground.runner import Runner
from tests.conftest import request_to, run_all
from tests.fake_provider import DONE, FakeProvider, Reply
from tests.test_fixtures import APIS, RESPONSES, answer, atoms, occurs


@pytest.fixture
def backend(connect: Callable[..., Connection], request: pytest.FixtureRequest) -> Connection:
    slug, dialect, _ = request.getfixturevalue("api")
    return connect("backend", "sk-test-key-123456", provider=slug, dialect=dialect)


@pytest.mark.parametrize("chunk", [False, True], ids=["whole", "chunk"])
@pytest.mark.parametrize("api", APIS, ids=["/".join(filter(None, api)) for api in APIS])
@pytest.mark.django_db(transaction=True)
async def test_every_field_of_an_answer_is_on_the_page_of_the_run(
    async_client: AsyncClient,
    alice: User,
    api: tuple[str, str, str],
    chunk: bool,
    backend: Connection,
    provider: FakeProvider,
    runner: Runner,
) -> None:
    rows = [
        row
        for row in RESPONSES
        if (row["provider"], row["dialect"] or "", row["operation"]) == api
        and occurs(row["name"], chunk, legacy=False)
    ]
    payload, values = answer(rows)
    body = json.dumps(payload).encode()
    streamed = Reply(pieces=[b"data: " + body + b"\n\n", DONE])
    provider.reply_with(
        streamed if chunk else Reply(content_type="application/json", pieces=[body])
    )
    [run] = await run_all(runner, alice, [(backend, request_to(backend, api[2]))])
    await async_client.aforce_login(alice)
    page = html.unescape((await async_client.get(f"/runs/{run.pk}/")).content.decode())
    missing: dict[str, Any] = {
        name: value
        for name, value in values.items()
        if not all(str(atom) in page for atom in atoms(value) if not isinstance(atom, bool))
    }
    assert not missing
