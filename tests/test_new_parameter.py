"""Adding a parameter is one row: a row made at run time is everywhere at once."""

import json
from collections.abc import Iterator

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from playground import parameters
from playground.building import build
from playground.inputs import Given
from playground.models import Connection, User, first_start
from playground.parameters import EXTENSION, LLAMA, SAMPLING, Float, Parameter, on, row
from tests.fake_provider import FakeProvider, words

HELP = "How much the model likes tea. 0 to 1."


@pytest.fixture
def tea() -> Iterator[Parameter]:
    added = row("tea.strength", Float(0, 1), SAMPLING, "Tea", HELP, on(LLAMA, EXTENSION))
    parameters.register(added)
    yield added
    parameters.unregister("tea.strength")


def page(client: Client, alice: User) -> str:
    client.force_login(alice)
    return client.get("/").content.decode()


def test_it_is_in_the_form_with_its_help(
    client: Client, alice: User, connection: Connection, tea: Parameter
) -> None:
    html = page(client, alice)
    assert 'data-path="tea.strength"' in html
    assert HELP in html
    assert "tea.strength" not in page_without(client, alice)


def page_without(client: Client, alice: User) -> str:
    added = parameters.parameter("tea.strength")
    parameters.unregister("tea.strength")
    try:
        return page(client, alice)
    finally:
        parameters.register(added)


def test_it_is_validated_and_in_the_body(connection: Connection, tea: Parameter) -> None:
    def built(value: str) -> object:
        raw = {"tea.strength": value}
        return build(connection, "completions", model="m", given=Given("Hi"), raw_values=raw)

    good = built("0.5")
    assert good.request.body()["tea"] == {"strength": 0.5}  # type: ignore[attr-defined]
    [problem] = built("strong").errors  # type: ignore[attr-defined]
    assert problem.path == "tea.strength"
    [problem] = built("2").errors  # type: ignore[attr-defined]
    assert problem.bound


@pytest.mark.django_db(transaction=True)
def test_the_command_line_takes_it(
    connect: object, provider: FakeProvider, tea: Parameter, capsys: pytest.CaptureFixture[str]
) -> None:
    first_start()
    connect()  # type: ignore[operator]
    provider.reply_with(words(3, None))
    call_command("complete", "Hi", connection="fake", model="m", set=["tea.strength=0"])
    assert json.loads(provider.posts[0].body)["tea"] == {"strength": 0}
    with pytest.raises(CommandError, match=r"tea\.strength"):
        call_command("complete", "Hi", connection="fake", model="m", set=["tea.strength=x"])
