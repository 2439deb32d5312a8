"""One column again: the others stay, the newest is shown, every run is kept."""

import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient, Client

from playground.axes import Place
from playground.models import Comparison, Connection, Run, User, reruns
from playground.reaper import this_process
from playground.runner import Runner
from tests.conftest import request_to
from tests.fake_provider import FakeProvider, error_reply, words
from tests.server import document


def compared(user: User, connection: Connection, *ids: str) -> Comparison:
    """A comparison with a column for each id."""
    membership = user.membership()
    assert membership
    text = json.dumps({"columns": [{"id": each} for each in ids]})
    columns = [(connection, request_to(connection, model=each)) for each in ids]
    return Comparison.objects.begin(membership, columns, owner=this_process(), document=text)


def join(comparison: Comparison, user: User, connection: Connection, at: int, *ids: str) -> Run:
    membership = user.membership()
    assert membership
    text = json.dumps({"columns": [{"id": each} for each in ids]}) if ids else ""
    columns = [(connection, request_to(connection, model="again"))]
    [run] = reruns.join(
        comparison, membership, columns, [Place(at)], owner=this_process(), document=text
    )
    return run


def layout(comparison: Comparison, newest: bool = True) -> list[tuple[int, str]]:
    runs = comparison.runs.newest() if newest else comparison.runs.all()
    return list(runs.order_by("position", "pk").values_list("column", "model"))


def test_a_run_of_a_column_takes_the_place_of_the_one_before(
    alice: User, connection: Connection
) -> None:
    comparison = compared(alice, connection, "a", "b", "c")
    join(comparison, alice, connection, 1)
    assert layout(comparison) == [(0, "a"), (1, "again"), (2, "c")]
    assert layout(comparison, newest=False) == [(0, "a"), (1, "b"), (1, "again"), (2, "c")]
    old, new = Run.objects.filter(comparison=comparison, column=1).order_by("pk").with_earlier()
    assert (old.earlier, new.earlier) == (None, old.pk)
    assert new.created_at > old.created_at


def test_a_new_column_stands_where_the_form_has_it(alice: User, connection: Connection) -> None:
    comparison = compared(alice, connection, "a", "b")
    join(comparison, alice, connection, 1, "a", "new", "b")
    assert layout(comparison) == [(0, "a"), (1, "again"), (2, "b")]
    comparison.refresh_from_db()
    assert reruns.column_ids(comparison.document) == ["a", "new", "b"]


def test_runs_follow_their_columns_and_none_is_lost(alice: User, connection: Connection) -> None:
    comparison = compared(alice, connection, "a", "b", "c")
    join(comparison, alice, connection, 0, "c", "a")
    assert layout(comparison) == [(0, "again"), (1, "a"), (2, "b")]
    join(comparison, alice, connection, 1, "c", "a")
    assert layout(comparison) == [(0, "again"), (1, "again"), (2, "b")]
    assert comparison.runs.count() == 5


def test_a_document_without_ids_is_counted(alice: User, connection: Connection) -> None:
    assert reruns.column_ids('{"columns": [{}, {"id": "x"}, 3]}') == ["c0", "x", "c2"]
    assert reruns.column_ids("") == reruns.column_ids('{"columns": 3}') == []
    membership = alice.membership()
    assert membership
    columns = [(connection, request_to(connection, model=each)) for each in "ab"]
    comparison = Comparison.objects.begin(membership, columns, owner=this_process())
    join(comparison, alice, connection, 1, "c0", "c1")
    assert layout(comparison) == [(0, "a"), (1, "again")]


def test_a_run_of_any_column_follows(alice: User, connection: Connection) -> None:
    comparison = compared(alice, connection, "a", "b")
    Run.objects.filter(comparison=comparison, column=1).update(column=2**31 - 1)  # imported
    join(comparison, alice, connection, 0, "a")
    assert layout(comparison) == [(0, "again"), (2, "b")]


def test_nothing_joins_what_went_into_the_trash_meanwhile(
    alice: User, connection: Connection
) -> None:
    comparison = compared(alice, connection, "a")
    Comparison.objects.get().trash()
    with pytest.raises(Comparison.DoesNotExist):
        join(comparison, alice, connection, 0)
    assert not Run.objects.visible_to(alice).exists()


def test_a_run_in_the_trash_gives_the_place_back(alice: User, connection: Connection) -> None:
    comparison = compared(alice, connection, "a")
    run = join(comparison, alice, connection, 0)
    Run.objects.filter(pk=run.pk).update(deleted_at=run.created_at)
    assert [each.model for each in Run.objects.visible_to(alice).newest()] == ["a"]


# --- Through the pages ---------------------------------------------------------------------


async def finished(runner: Runner, comparison: int) -> list[Run]:
    ids = [
        pk async for pk in Run.objects.filter(comparison=comparison).values_list("pk", flat=True)
    ]
    await runner.wait(ids)
    return [run async for run in Run.objects.filter(pk__in=ids).order_by("pk")]


async def post(client: AsyncClient, **form: Any) -> Any:
    return await client.post(
        "/comparisons/", {"document": json.dumps(form)}, headers={"HX-Request": "true"}
    )


async def two_columns(
    client: AsyncClient, connection: Connection, runner: Runner
) -> tuple[list[dict[str, Any]], Comparison, list[Run]]:
    """What was posted, and what has become of it."""
    columns = [{"connection": connection.pk, "model": each, "id": each} for each in "ab"]
    await post(client, **document(*columns))
    first = await sync_to_async(Comparison.objects.get)()
    return columns, first, await finished(runner, first.pk)


@pytest.mark.django_db(transaction=True)
async def test_one_column_runs_into_the_comparison_and_the_others_stay(
    async_client: AsyncClient,
    alice: User,
    connection: Connection,
    provider: FakeProvider,
    runner: Runner,
) -> None:
    provider.reply_with(words(2, None))
    await async_client.aforce_login(alice)
    columns, first, (a, b) = await two_columns(async_client, connection, runner)
    changed = document(*columns, prompt="Hi", only=1, into=first.pk, replaces=b.pk)
    changed["columns"][1]["values"] = {"temperature": "0.25"}
    changed["columns"][0]["connection"] = 0  # what is wrong with another column is no matter
    answer = await post(async_client, **changed)
    assert answer.headers["HX-Retarget"] == f"#run-{b.pk}"
    assert answer.headers["HX-Reswap"] == "outerHTML"
    runs = await finished(runner, first.pk)
    assert [run.column for run in runs] == [0, 1, 1]
    assert runs[2].request_value().values["temperature"] == 0.25
    assert "temperature" not in runs[1].request_value().values
    assert len(provider.posts) == 3
    page = (await async_client.get(f"/comparisons/{first.pk}/")).content.decode()
    assert f'id="run-{a.pk}"' in page
    assert f'id="run-{runs[2].pk}"' in page
    assert f'id="run-{b.pk}"' not in page


@pytest.mark.django_db(transaction=True)
async def test_where_columns_moved_all_outputs_are_drawn_in_the_new_order(
    async_client: AsyncClient,
    alice: User,
    connection: Connection,
    provider: FakeProvider,
    runner: Runner,
) -> None:
    provider.reply_with(words(2, None))
    await async_client.aforce_login(alice)
    columns, first, (a, b) = await two_columns(async_client, connection, runner)
    moved = document(*columns[::-1], prompt="Hi", only=0, into=first.pk, replaces=b.pk)
    answer = await post(async_client, **moved)
    assert "HX-Retarget" not in answer.headers
    new = (await finished(runner, first.pk))[-1]
    html = answer.content.decode()
    assert 0 < html.index(f'id="run-{new.pk}"') < html.index(f'id="run-{a.pk}"')
    assert f'id="run-{b.pk}"' not in html


@pytest.mark.django_db(transaction=True)
async def test_nobody_runs_into_the_comparison_of_another_person(
    async_client: AsyncClient,
    alice: User,
    bob: User,
    connection: Connection,
    provider: FakeProvider,
    runner: Runner,
) -> None:
    provider.reply_with(words(2, None))
    theirs = await sync_to_async(compared)(bob, connection, "a")
    run = await sync_to_async(theirs.runs.get)()
    await async_client.aforce_login(alice)
    form = document({"connection": connection.pk, "id": "a"}, only=0, into=theirs.pk)
    await post(async_client, **form, replaces=run.pk)
    assert await theirs.runs.acount() == 1
    mine = await sync_to_async(Comparison.objects.get)(author=alice)
    assert len(await finished(runner, mine.pk)) == 1
    await async_client.post(f"/runs/{run.pk}/again/", headers={"HX-Request": "true"})
    assert await theirs.runs.acount() == 1
    begun = [each async for each in Comparison.objects.filter(author=alice)]
    assert len(begun) == 2
    for each in begun:
        await finished(runner, each.pk)


@pytest.mark.django_db(transaction=True)
async def test_a_failed_column_is_tried_again_alone_with_the_same_request(
    async_client: AsyncClient,
    alice: User,
    connection: Connection,
    provider: FakeProvider,
    runner: Runner,
) -> None:
    provider.reply_with(error_reply(500, {"error": {"message": "Out of memory"}}))
    await async_client.aforce_login(alice)
    await post(async_client, **document({"connection": connection.pk}, prompt="Hi"))
    [failed] = await finished(runner, (await sync_to_async(Comparison.objects.get)()).pk)
    assert failed.status == "failed"
    provider.reply_with(words(2, None))
    answer = await async_client.post(f"/runs/{failed.pk}/again/", headers={"HX-Request": "true"})
    assert answer.headers["HX-Redirect"] == f"/comparisons/{failed.comparison_id}/"
    old, new = await finished(runner, failed.comparison_id)
    assert (old.status, new.status) == ("failed", "completed")
    assert old.error_message == "Out of memory"
    assert old.request == new.request


@pytest.mark.parametrize("only", [-1, 1, "0", True, [0]])
@pytest.mark.django_db(transaction=True)
async def test_a_column_that_is_not_there_does_not_run(
    async_client: AsyncClient, alice: User, connection: Connection, only: Any
) -> None:
    await async_client.aforce_login(alice)
    answer = await post(async_client, **document({"connection": connection.pk}), only=only)
    assert answer.status_code == 422
    assert not await Run.objects.aexists()


def test_the_settings_of_a_run_make_a_form_and_strangers_get_none(
    client: Client, alice: User, charlie: User, connection: Connection
) -> None:
    membership = alice.membership()
    assert membership
    request = request_to(connection, model="tiny", temperature=0)
    comparison = Comparison.objects.begin(membership, [(connection, request)], owner=this_process())
    address = f"/runs/{comparison.runs.get().pk}/settings/"
    client.force_login(alice)
    found = client.get(address).json()
    assert found["values"]["temperature"] == "0"
    assert found["columns"] == [
        {"connection": connection.pk, "operation": "completions", "model": "tiny", "values": {}}
    ]
    client.force_login(charlie)
    assert client.get(address).status_code == 404
    assert client.post(address.replace("settings", "again")).status_code == 404


@pytest.mark.django_db(transaction=True)
async def test_a_reviewer_runs_nothing_again(
    async_client: AsyncClient, alice: User, rita: User, connection: Connection
) -> None:
    comparison = await sync_to_async(compared)(alice, connection, "a")
    run = await sync_to_async(comparison.runs.get)()
    await async_client.aforce_login(rita)
    answer = await async_client.post(f"/runs/{run.pk}/again/", headers={"HX-Request": "true"})
    assert answer.status_code == 403
    assert "cannot start runs" in answer.content.decode()
    assert await comparison.runs.acount() == 1


@pytest.mark.django_db(transaction=True)
async def test_two_runs_started_together_share_no_settings(
    async_client: AsyncClient,
    alice: User,
    connection: Connection,
    provider: FakeProvider,
    runner: Runner,
) -> None:
    """A column is changed between two presses while the first runs: each keeps its own request."""
    provider.reply_with(words(3, 20))
    await async_client.aforce_login(alice)
    form = document(
        {"connection": connection.pk, "values": {"stop": ["A"]}, "id": "a"},
        {"connection": connection.pk, "values": {}, "id": "b"},
    )
    await post(async_client, **form)
    form["columns"][0]["values"]["stop"].append("B")
    form["columns"][1]["values"] = {"temperature": "1"}
    await post(async_client, **form)
    first, second = [c async for c in Comparison.objects.order_by("pk")]
    sent = [run.request_value().values for run in await finished(runner, first.pk)]
    sent += [run.request_value().values for run in await finished(runner, second.pk)]
    assert [each.get("stop") for each in sent] == [["A"], None, ["A", "B"], None]
    assert [each.get("temperature") for each in sent] == [None, None, None, 1]
    bodies = sorted(json.dumps(post.json.get("stop")) for post in provider.posts)
    assert bodies == ['["A", "B"]', '["A"]', "null", "null"]
