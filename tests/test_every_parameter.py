"""Every parameter of every API, through the posted form and real HTTP: alone, all at once, again
from history. The facts are those of `data/fields.json`, not those of our table."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import AsyncClient

from playground.forms import MOST_COLUMNS
from playground.models import Connection, Run, User
from playground.parameters import Api, Flag, Float, Integer, for_api
from playground.runner import Runner
from tests.fake_provider import FakeProvider, Received, words
from tests.samples import APIS, everything, exact
from tests.server import document

OURS = ("model", "prompt", "messages", "stream", "stream_options")


def nested(path: str, value: Any) -> dict[str, Any]:
    for name in reversed(path.split(".")):
        value = {name: value}
    return dict(value)


def merged(parts: list[dict[str, Any]]) -> dict[str, Any]:
    whole: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            both = isinstance(value, dict) and isinstance(whole.get(name), dict)
            whole[name] = merged([whole[name], value]) if both else value
    return whole


def wire(api: Api, values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What these values must be in (body, headers), by the wire names of the oracle."""
    body, headers = [], []
    for row, support in for_api(api):
        if row.path in values:
            (headers if row.header else body).append(nested(support.name, values[row.path]))
    return merged(body), merged(headers)


def of(received: Received, headers: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Body without what the request itself has, and the Pulze headers, parsed."""
    body = {name: value for name, value in received.json.items() if name not in OURS}
    sent = {n: json.loads(v) for n, v in received.headers.items() if n.startswith("pulze-")}
    return body, {name: sent.get(name.lower()) for name in headers} | {
        name: value for name, value in sent.items() if name not in map(str.lower, headers)
    }


def zeros(api: Api) -> dict[str, Any]:
    """0 and false for every row that takes a number or a switch."""
    kinds = {row.path: support.kind for row, support in for_api(api) if not row.header}
    values: dict[str, Any] = {
        path: 0 for path, kind in kinds.items() if isinstance(kind, Integer | Float)
    }
    values |= {path: False for path, kind in kinds.items() if isinstance(kind, Flag)}
    return {**values, "stream": True}


async def send(
    client: AsyncClient, runner: Runner, provider: FakeProvider, columns: list[dict[str, Any]]
) -> tuple[str, list[Received]]:
    """Post the form; the comparison's address and what the provider got, in column order."""
    provider.clear()
    provider.reply_with(words(1, None))
    form = document(*columns, prompt="Say it", values={}, force=True)
    answer = await client.post("/comparisons/", {"document": json.dumps(form)})
    assert answer.status_code == 302, answer.content.decode()[:3000]
    await runner.wait([pk async for pk in Run.objects.values_list("pk", flat=True)])
    received = sorted(provider.posts, key=lambda one: one.json["model"])
    assert len(received) == len(columns)
    return answer.headers["Location"], received


def column(connection: Connection, api: Api, number: int, values: dict[str, Any]) -> dict[str, Any]:
    return {
        "connection": connection.pk,
        "operation": api.operation,
        "model": f"m{number:03}",
        "values": values,
    }


@pytest.fixture(params=APIS, ids=[api.key for api in APIS])
def api(request: pytest.FixtureRequest) -> Api:
    found: Api = request.param
    return found


@pytest.fixture
def backend(connect: Callable[..., Connection], api: Api) -> Connection:
    return connect("backend", "sk-test-key-123456", provider=api.provider, dialect=api.dialect)


@pytest.mark.django_db(transaction=True)
async def test_each_arrives_alone_as_itself_and_all_arrive_together(
    async_client: AsyncClient,
    alice: User,
    api: Api,
    backend: Connection,
    provider: FakeProvider,
    runner: Runner,
) -> None:
    await async_client.aforce_login(alice)
    samples = everything(api)
    cases = [{path: value} for path, value in samples.items()] + [samples, zeros(api), {}]
    for start in range(0, len(cases), MOST_COLUMNS):
        part = cases[start : start + MOST_COLUMNS]
        columns = [column(backend, api, i, values) for i, values in enumerate(part)]
        address, received = await send(async_client, runner, provider, columns)
        for values, got in zip(part, received, strict=True):
            body, headers = wire(api, values)
            body = {name: value for name, value in body.items() if name not in OURS}
            assert exact(of(got, headers)) == exact((body, headers)), values
            stream = {
                name: got.json[name] for name in ("stream", "stream_options") if name in got.json
            }
            wanted = wire(api, {p: v for p, v in values.items() if p.startswith("stream")})[0]
            assert exact(stream) == exact(wanted)
        await again(async_client, runner, provider, address, received)


async def again(
    client: AsyncClient,
    runner: Runner,
    provider: FakeProvider,
    address: str,
    first: list[Received],
) -> None:
    """Reopened from history and run again: the same bodies to the byte, the same headers."""
    page = (await client.get(address)).content.decode()
    found = re.search(r'<script id="document" type="application/json">(.*?)</script>', page)
    assert found
    provider.clear()
    provider.reply_with(words(1, None))
    form = {**json.loads(found.group(1)), "force": True}
    answer = await client.post("/comparisons/", {"document": json.dumps(form)})
    assert answer.status_code == 302
    await runner.wait([pk async for pk in Run.objects.values_list("pk", flat=True)])
    second = sorted(provider.posts, key=lambda one: one.json["model"])
    assert [one.body for one in second] == [one.body for one in first]
    for before, after in zip(first, second, strict=True):
        assert {n: v for n, v in before.headers.items() if n.startswith("pulze-")} == {
            n: v for n, v in after.headers.items() if n.startswith("pulze-")
        }
