"""A probe asks about each parameter once and remembers what did not happen."""

from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.management import CommandError, call_command
from django.test import AsyncClient
from django.urls import reverse

from playground.models import Connection, Memory, User
from playground.parameters import OPERATIONS, Api, Status, for_api
from playground.probe import ASKED, WHOLE, requests
from playground.runner import Runner
from tests.fake_provider import FakeProvider, Received, Reply, error_reply, words


def test_it_asks_about_what_the_api_is_said_to_take(connection: Connection) -> None:
    asked = {path for each in requests(connection, "completions", "m") for path in each.values}
    rows = for_api(Api("local", "llama.cpp", "completions"))
    ignored = {row.path for row, support in rows if support.status is Status.IGNORED}
    assert {"temperature", "seed", "stop", "logprobs", "n"} <= asked
    assert not asked & ignored
    assert Status.IGNORED not in ASKED


def test_nothing_is_asked_in_a_way_in_which_servers_refuse_it(
    connect: Callable[..., Connection],
) -> None:
    vllm = connect("vllm", dialect="vllm")
    ogx = connect("ogx", provider="ogx", dialect="")
    pulze = connect("pulze", provider="pulze", dialect="")
    values = [
        each.values
        for connection in (vllm, ogx, pulze)
        for operation in OPERATIONS
        for each in requests(connection, operation, "m")
    ]
    assert not any("stream" in each for each in values if {*WHOLE} & each.keys())
    assert all(each["logprobs"] for each in values if "top_logprobs" in each)
    assert not any("parallel_tool_calls" in each for each in values)
    documented = [each.values["plugins"] for each in requests(pulze, "chat", "m")
                  if "plugins" in each.values]  # fmt: skip
    assert documented == [["space-search"]]


def picky(request: Received) -> Reply:
    body: dict[str, Any] = request.json
    if "mirostat" in body:
        return error_reply(400, {"error": {"message": "Unknown field: mirostat"}})
    return words(2, None)


@pytest.mark.django_db(transaction=True)
def test_the_command_fills_the_memory(
    connection: Connection, provider: FakeProvider, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.reply_with(picky)
    call_command("probe", "fake", model="fake-1")
    found = set(Memory.objects.values_list("path", "kind"))
    assert ("mirostat", "refused") in found
    assert ("logprobs", "ignored") in found
    assert ("temperature", "ignored") not in found
    assert "mirostat: refused" in capsys.readouterr().out


@pytest.mark.django_db(transaction=True)
def test_an_unknown_connection_is_told(db: None) -> None:
    with pytest.raises(CommandError, match="no connection named"):
        call_command("probe", "nope")


@pytest.mark.django_db(transaction=True)
async def test_an_admin_starts_it_in_the_admin_site(
    async_client: AsyncClient, connection: Connection, provider: FakeProvider, runner: Runner
) -> None:
    provider.reply_with(picky)
    root = await sync_to_async(User.objects.create_superuser)("root")
    await async_client.aforce_login(root)
    form = {"action": "probe_parameters", "_selected_action": str(connection.pk)}
    address = reverse("admin:playground_connection_changelist")
    answer = await async_client.post(address, form, follow=True)
    assert "mirostat (refused)" in answer.content.decode()
    assert await Memory.objects.filter(path="mirostat", kind="refused").aexists()
