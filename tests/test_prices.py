"""Prices: which one is meant, and that a run keeps the one it was asked for at."""

from collections.abc import Callable
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.test import Client
from django.urls import reverse

from playground.database import in_thread
from playground.models import Connection, Price, Run, User
from playground.runner import Runner
from tests.conftest import request_to, run_all
from tests.fake_provider import DONE, FakeProvider, Reply, json_reply, text_event
from tests.test_admin import form

pytestmark = pytest.mark.django_db(transaction=True)


def price(connection: Connection, model: str, input_: str = "1", output: str = "2") -> Price:
    made = Price(
        connection=connection,
        model=model,
        input_per_million=Decimal(input_),
        output_per_million=Decimal(output),
    )
    made.full_clean()
    made.save()
    return made


@pytest.mark.parametrize(
    ("model", "meant"),
    [
        ("gpt-4", "gpt-4"),
        ("gpt-4o", "gpt-4o*"),
        ("gpt-4o-mini", "gpt-4o*"),
        ("gpt-4.1", "gpt-4*"),
        ("gpt-3", ""),
        ("GPT-4", ""),
        ("", ""),
    ],
)
def test_the_closest_price_is_meant(connection: Connection, model: str, meant: str) -> None:
    for name in ("", "gpt-4*", "gpt-4o*", "gpt-4"):
        price(connection, name)
    found = Price.objects.of(connection, model)
    assert found is not None
    assert found.model == meant


def test_without_a_price_there_is_none(connect: Callable[..., Connection]) -> None:
    one, two = connect("one"), connect("two")
    price(one, "m")
    assert Price.objects.of(two, "m") is None
    assert Price.objects.of(one, "other") is None
    assert Price.objects.of(None, "m") is None


def test_a_price_is_one_per_model_and_never_below_zero(connection: Connection) -> None:
    price(connection, "*")
    assert Price.objects.get().model == ""
    with pytest.raises(ValidationError, match="Put \\* at the end"):
        price(connection, "a*b")
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        price(connection, "m", "-1")
    with pytest.raises((ValidationError, IntegrityError)):
        price(connection, "")


USAGE = {"prompt_tokens": 100, "completion_tokens": 50}
ANSWER = Reply(pieces=[text_event("Yes"), text_event("", finish="stop", usage=USAGE), DONE])


async def test_a_later_price_changes_no_cost(
    runner: Runner, alice: User, connection: Connection, provider: FakeProvider
) -> None:
    made = await in_thread(price, connection, "", "2.5", "10")
    provider.reply_with(ANSWER)
    [run] = await run_all(runner, alice, [(connection, request_to(connection))])
    assert (run.cost, run.cost_is_own) == (Decimal("0.00075"), False)
    assert (run.price_input, run.price_output) == (Decimal("2.5"), Decimal(10))
    made.output_per_million = Decimal(1000)
    await made.asave()
    kept = await Run.objects.aget(pk=run.pk)
    assert kept.cost == Decimal("0.00075")
    assert kept.rates is not None
    assert kept.rates.output == 10
    [dearer] = await run_all(runner, alice, [(connection, request_to(connection))])
    assert dearer.cost == Decimal("0.05025")
    await in_thread(made.delete)
    [unknown] = await run_all(runner, alice, [(connection, request_to(connection))])
    assert unknown.cost is None
    assert unknown.rates is None


async def test_all_prompts_of_a_list_are_counted(
    runner: Runner, alice: User, connection: Connection, provider: FakeProvider
) -> None:
    """llama.cpp counts each prompt beside its own end."""
    await in_thread(price, connection, "", "1000", "1000")
    usages = [{"prompt_tokens": n, "completion_tokens": 1, "total_tokens": n + 1} for n in (4, 9)]
    ends = [text_event("x", i, "stop", usage=usage) for i, usage in enumerate(usages)]
    provider.reply_with(Reply(pieces=[b"data: null\n\n", *reversed(ends), DONE]))
    [run] = await run_all(runner, alice, [(connection, request_to(connection, prompt=["a", "b"]))])
    assert (run.prompt_tokens, run.completion_tokens) == (13, 2)
    assert run.cost == Decimal("0.015")


async def test_pulzes_own_costs_are_used_as_they_come(
    runner: Runner, alice: User, connect: Callable[..., Connection], provider: FakeProvider
) -> None:
    pulze = await in_thread(connect, "pulze", "pulze-key-000000", provider="pulze", dialect="")
    await in_thread(price, pulze, "", "1000", "1000")
    costs = {"total_tokens": 0.00066, "prompt_tokens": 0.0001, "completion_tokens": 0.00056}
    provider.reply_with(
        json_reply(
            {
                "choices": [{"index": 0, "text": "Yes", "finish_reason": "stop"}],
                "model": "openai/gpt-4",
                "object": "text_completion",
                "metadata": {"costs": costs},
                "usage": {"total_tokens": 33.0, "prompt_tokens": 5.0, "completion_tokens": 28.0},
            }
        )
    )
    [run] = await run_all(runner, alice, [(pulze, request_to(pulze))])
    assert (run.cost, run.cost_is_own) == (Decimal("0.00066"), True)
    assert (run.prompt_tokens, run.completion_tokens) == (5, 28)


def test_an_admin_sets_prices_beside_the_connection(client: Client, connection: Connection) -> None:
    client.force_login(User.objects.create_superuser("root"))
    page = reverse("admin:playground_connection_change", args=[connection.pk])
    row = {
        "prices-TOTAL_FORMS": "1",
        "prices-0-model": "gpt-4*",
        "prices-0-input_per_million": "0.15",
        "prices-0-output_per_million": "0.6",
        "prices-0-connection": str(connection.pk),
    }
    assert client.post(page, form(connection, **row)).status_code == 302
    [made] = connection.prices.all()
    assert (made.model, made.input_per_million) == ("gpt-4*", Decimal("0.15"))
    answer = client.post(page, form(connection, **row | {"prices-0-input_per_million": "-1"}))
    assert "greater than or equal to 0" in answer.content.decode()
