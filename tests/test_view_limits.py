"""What is left before a run, and the refusal in place."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.test import AsyncClient, Client
from django.utils import timezone

from playground.database import in_thread
from playground.models import Connection, Limit, Price, Run, Team, User
from playground.reaper import this_process
from playground.runner import Runner
from tests.fake_provider import FakeProvider
from tests.server import document
from tests.test_limits import begin

pytestmark = pytest.mark.django_db(transaction=True)


def left(client: Client, *connections: Connection) -> Any:
    asked = {"connection": [connection.pk for connection in connections]}
    return client.get("/limits/left/", asked).json()


def texts(client: Client, *connections: Connection) -> list[str]:
    return [each["text"] for each in left(client, *connections)["left"]]


def test_it_says_what_is_left_at_the_chosen_connections(
    client: Client, alice: User, connect: Callable[..., Connection]
) -> None:
    one, two = connect("one"), connect("two")
    Limit.objects.create(kind="rate", amount=60, connection=one)
    Limit.objects.create(kind="tokens_day", amount=10_000, connection=two)
    Limit.objects.create(kind="rate", amount=30)
    client.force_login(alice)
    assert texts(client) == []
    # Of two limits of a kind the tighter one.
    assert texts(client, one) == ["30 of 30 requests left this minute"]
    assert texts(client, two) == [
        "10,000 of 10,000 tokens left today",
        "30 of 30 requests left this minute",
    ]
    assert left(client, one)["changes"] is False
    owner = this_process()
    begin(alice, one, owner, 3)
    Run.objects.claim(9, owner)
    assert texts(client, one) == ["27 of 30 requests left this minute"]
    assert left(client, one)["changes"] is True


@pytest.mark.parametrize(
    ("used", "level"), [(0, ""), (7, ""), (8, "low"), (10, "none"), (12, "none")]
)
def test_it_marks_what_is_nearly_used_up(
    client: Client, alice: User, connection: Connection, used: int, level: str
) -> None:
    made = Limit.objects.create(kind="money_month", amount=10, each_member=True)
    client.force_login(alice)
    period = made.period(timezone.now())
    made.meters.create(subject=alice.pk, period=period, spent=used * 10**10)
    [part] = left(client, connection)["left"]
    assert part["level"] == level
    assert part["limit"] == "$10 a month for each member"
    assert bool(part["renewal"]) is bool(level)


def test_it_tells_nothing_of_what_one_may_not_use(
    client: Client, rita: User, charlie: User, alice: User, connect: Callable[..., Connection]
) -> None:
    team = Team.objects.get(name="Evals")
    own = connect("own", all_teams=False)
    own.teams.add(team)
    Limit.objects.create(kind="rate", amount=1)
    client.force_login(charlie)
    assert texts(client, own) == []
    client.force_login(rita)  # does not run anything
    assert texts(client, own) == []
    client.force_login(alice)
    assert texts(client, own) == ["1 of 1 requests left this minute"]
    for nonsense in ("x", "-1", "9" * 30, "²"):
        assert client.get("/limits/left/", {"connection": nonsense}).json()["left"] == []
    client.logout()
    assert client.get("/limits/left/").status_code == 302


async def test_a_press_over_the_limit_is_refused_in_place_and_nothing_is_sent(
    async_client: AsyncClient,
    runner: Runner,
    alice: User,
    connection: Connection,
    provider: FakeProvider,
) -> None:
    await in_thread(
        Price.objects.create,
        connection=connection,
        input_per_million=Decimal(0),
        output_per_million=Decimal(1000),
    )
    await in_thread(Limit.objects.create, kind="money_day", amount=Decimal("0.5"))
    await async_client.aforce_login(alice)
    columns = [{"connection": connection.pk, "values": {"max_tokens": 300}}] * 2
    posted = {"document": json.dumps(document(*columns))}
    answer = await async_client.post("/comparisons/", posted, headers={"HX-Request": "true"})
    assert answer.status_code == 422
    assert answer.headers["HX-Retarget"] == "#problems"
    text = answer.content.decode()
    assert "Nothing was sent" in text
    assert "The limit of $0.50 a day for everybody together has $0.50 left" in text
    assert "this may take up to $0.60" in text
    assert "it renews on" in text
    assert not await Run.objects.aexists()
    assert not provider.posts
    posted = {"document": json.dumps(document(columns[0]))}
    answer = await async_client.post("/comparisons/", posted, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    await runner.wait([pk async for pk in Run.objects.values_list("pk", flat=True)])
