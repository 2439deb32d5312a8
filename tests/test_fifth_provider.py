"""A provider is one file: made known at run time, it works in form, run, history and reference."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.test import AsyncClient, Client

from playground import documents, panel, reference
from playground.building import Built, build
from playground.completion import CompletionRequest
from playground.inputs import Given
from playground.models import Connection, Run, User
from playground.parameters import PARAMETERS, Api
from playground.pasted import read_pasted
from playground.providers import PROVIDERS
from playground.runner import Runner
from playground.snippets import SNIPPETS, Call, available
from tests.conftest import run_all
from tests.data import fifth_provider
from tests.fake_provider import FakeProvider, Reply, words

FILE = Path(fifth_provider.__file__)
COMPLETIONS, CHAT = fifth_provider.APIS


@pytest.fixture(autouse=True)
def fifth() -> Iterator[None]:
    before = list(PARAMETERS)
    fifth_provider.register()
    yield
    fifth_provider.unregister()
    assert before == PARAMETERS
    assert "fifth" not in PROVIDERS


@pytest.fixture
def connection(connect: Callable[..., Connection]) -> Connection:
    return connect("fifth", key="sk-fifth", provider="fifth", dialect="")


def built(connection: Connection, operation: str = "completions", **values: str) -> Built:
    return build(
        connection, operation, model="m", given=Given("Hi"), raw_values={"stream": "true", **values}
    )


def test_the_file_is_short() -> None:
    assert len(FILE.read_text().splitlines()) < 40


def test_the_form_knows_its_name_and_bounds() -> None:
    assert any(f.path == "max_tokens" for group in panel.groups() for f in group.fields)
    entry = panel.support_map([COMPLETIONS, CHAT])["max_tokens"]["fifth/completions"]
    assert entry["name"] == "max_new_tokens"
    assert (entry["minimum"], entry["maximum"]) == (1, 99)


def test_the_form_page_offers_it(client: Client, bob: User, connection: Connection) -> None:
    client.force_login(bob)
    assert "max_new_tokens" in client.get("/").content.decode()


@pytest.mark.parametrize("operation", ["completions", "chat"])
def test_the_form_makes_its_request(connection: Connection, operation: str) -> None:
    request = built(connection, operation, max_tokens="5", temperature="0").request
    assert request
    body = request.body()
    assert body["max_new_tokens"] == 5
    assert body["temperature"] == 0  # as OpenAI's API has it
    assert "max_tokens" not in body
    [problem] = built(connection, operation, max_tokens="100").errors
    assert problem.bound
    assert "top_k is not sent" in built(connection, operation, top_k="1").warnings[0]


async def ran(
    runner: Runner, user: User, connection: Connection, **values: str
) -> tuple[CompletionRequest, Run]:
    request = built(connection, **values).request
    assert request
    [run] = await run_all(runner, user, [(connection, request)])
    return request, run


@pytest.mark.django_db(transaction=True)
async def test_it_runs_and_is_kept(
    runner: Runner, bob: User, connection: Connection, provider: FakeProvider
) -> None:
    provider.reply_with(words(3))
    request, run = await ran(runner, bob, connection, max_tokens="5")
    assert (run.status, run.provider) == ("completed", "fifth")
    assert next(iter(run.choices.all())).text == "w0 w1 w2 "
    assert provider.posts[0].json["max_new_tokens"] == 5
    assert provider.posts[0].headers["authorization"] == "Bearer sk-fifth"
    stored = (await Run.objects.aget(pk=run.pk)).request_value()
    assert stored == request
    assert stored.body() == provider.posts[0].json
    document = documents.document_of([(connection.pk, stored)])
    assert document["values"]["max_tokens"] == "5"


@pytest.mark.django_db(transaction=True)
async def test_its_quirk_is_a_failure_in_words(
    runner: Runner, bob: User, connection: Connection, provider: FakeProvider
) -> None:
    fault = json.dumps({"fault": "The fifth wheel came off."})
    provider.reply_with(Reply(pieces=[f"data: {fault}\n\n".encode()]))
    _, run = await ran(runner, bob, connection)
    assert (run.status, run.error_kind) == ("failed", "upstream_error")
    assert run.error_message == "The fifth wheel came off."


@pytest.mark.django_db(transaction=True)
async def test_its_run_is_in_the_history(
    runner: Runner, bob: User, connection: Connection, provider: FakeProvider
) -> None:
    provider.reply_with(words(3))
    _, run = await ran(runner, bob, connection, max_tokens="5")
    browser = AsyncClient()
    await browser.aforce_login(bob)
    page = (await browser.get(run.get_absolute_url())).content.decode()
    assert "max_new_tokens" in page


def test_it_is_in_the_reference() -> None:
    found = {entry.path: entry for entry in reference.entries()}
    [shown] = [row for row in found["max_tokens"].rows if row.title == "Fifth"]
    assert (shown.name, shown.bounds, shown.note) == ("max_new_tokens", "1 to 99", "Renamed.")
    assert "Fifth" in found["top_k"].missing
    assert any(row.title == "Fifth" for row in found["temperature"].rows)


def test_its_code_can_be_viewed_and_pasted(connection: Connection) -> None:
    request = built(connection, max_tokens="5").request
    assert request
    call = Call(request, PROVIDERS["fifth"].default_base_url)
    assert set(available(call)) == {"curl", "httpx", "openai", "fetch"}
    program = SNIPPETS["curl"].program(call)
    assert "https://fifth.example/api/v2/completions" in program
    assert "$FIFTH_API_KEY" in program
    pasted = read_pasted(program, "fifth")
    assert pasted.changes["values"] == {"max_tokens": "5", "stream": "true"}
    assert pasted.base_url == "https://fifth.example/api/v2"


def test_only_the_new_provider_is_changed() -> None:
    ogx = next(each for each in PARAMETERS if each.path == "max_tokens").support(
        Api("ogx", "", "chat")
    )
    assert ogx
    assert ogx.name == "max_tokens"
