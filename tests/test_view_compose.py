"""The compose page and its posts."""

import json
import re
from typing import Any

import pytest
from django.conf import LazySettings
from django.template.loader import render_to_string
from django.test import AsyncClient, Client
from django.urls import reverse

from playground.axes import Place
from playground.completion import CompletionRequest, RunStatus
from playground.models import Choice, Comparison, Connection, Run, User, reruns
from playground.reaper import this_process
from playground.runner import Runner
from playground.views.history import fresh
from playground.views.running import runs_of
from tests.fake_provider import FakeProvider, words
from tests.server import document


def posted(connection: Connection, **changes: Any) -> dict[str, str]:
    return {"document": json.dumps(document({"connection": connection.pk}, **changes))}


def test_it_says_how_to_add_a_backend_where_there_is_none(client: Client, alice: User) -> None:
    client.force_login(alice)
    page = client.get("/").content.decode()
    assert "There is no backend yet" in page
    assert "Ask an admin" in page
    alice.is_staff = True
    alice.save()
    assert "manage.py connection" in client.get("/").content.decode()


def test_it_says_that_the_embedded_model_is_not_here(
    client: Client, alice: User, settings: LazySettings
) -> None:
    settings.EMBEDDED = True
    Connection.objects.ensure_embedded()
    client.force_login(alice)
    assert "The embedded model is not here" in client.get("/").content.decode()
    assert "hx-trigger" in client.get("/backends/").content.decode()


def test_it_sends_a_stranger_to_the_login(client: Client, db: None) -> None:
    assert client.get("/").headers["Location"].startswith("/login/")


def test_a_stranger_cannot_tell_a_comparison_from_none(
    client: Client, alice: User, charlie: User, connection: Connection
) -> None:
    membership = alice.membership()
    assert membership
    comparison = Comparison.objects.begin(membership, [], owner=this_process())
    client.force_login(charlie)
    existing = client.get(f"/comparisons/{comparison.pk}/")
    missing = client.get(f"/comparisons/{comparison.pk + 1}/")
    assert existing.status_code == missing.status_code == 404
    assert existing.content == missing.content


@pytest.mark.django_db(transaction=True)
async def test_it_runs_what_was_posted_and_restores_it(
    async_client: AsyncClient,
    alice: User,
    bob: User,
    connection: Connection,
    provider: FakeProvider,
    runner: Runner,
) -> None:
    provider.reply_with(words(5, None))
    await async_client.aforce_login(alice)
    form = posted(connection, prompt="Say w", values={"temperature": "0"}, labels=["a=b"])
    answer = await async_client.post("/comparisons/", form)
    assert answer.status_code == 302
    address = answer.headers["Location"]
    run = await Run.objects.aget()
    await runner.wait([run.pk])
    assert provider.posts[0].json == {"model": "m", "prompt": "Say w", "temperature": 0}

    await async_client.aforce_login(bob)  # a second user of the same team
    page = (await async_client.get(address)).content.decode()
    assert "w0 w1 w2 w3 w4 " in page
    assert "Say w" in page
    assert "a=b" in page


@pytest.mark.django_db(transaction=True)
async def test_nothing_is_sent_when_one_column_is_wrong(
    async_client: AsyncClient,
    alice: User,
    connection: Connection,
    provider: FakeProvider,
    runner: Runner,
) -> None:
    await async_client.aforce_login(alice)
    columns = [
        {"connection": connection.pk},
        {"connection": connection.pk, "values": {"temperature": "hot"}},
    ]
    form = {"document": json.dumps(document(*columns, prompt="kept"))}
    answer = await async_client.post("/comparisons/", form, headers={"HX-Request": "true"})
    assert answer.status_code == 422
    assert "Type a number" in answer.content.decode()
    assert not provider.posts
    assert not await Run.objects.aexists()


@pytest.mark.django_db(transaction=True)
async def test_a_reviewer_cannot_start_a_run(
    async_client: AsyncClient, rita: User, connection: Connection, runner: Runner
) -> None:
    await async_client.aforce_login(rita)
    answer = await async_client.post("/comparisons/", posted(connection))
    assert answer.status_code == 403
    assert not await Run.objects.aexists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("text", ["", "x", "[]", "{}", '{"columns": []}', '{"columns": [1]}'])
async def test_it_refuses_what_is_no_document(
    text: str, async_client: AsyncClient, alice: User, runner: Runner
) -> None:
    await async_client.aforce_login(alice)
    answer = await async_client.post("/comparisons/", {"document": text})
    assert answer.status_code == 422


def test_a_body_over_the_limit_is_refused_with_a_sentence(
    client: Client, alice: User, settings: LazySettings
) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    client.force_login(alice)
    answer = client.post("/comparisons/", {"document": "x" * 2000})
    assert answer.status_code == 413
    assert "at most 16 MB" in answer.content.decode()


@pytest.mark.django_db
def test_a_press_shows_what_a_later_visit_would_by_few_queries(
    alice: User, connection: Connection, django_assert_num_queries: Any
) -> None:
    membership = alice.membership()
    assert membership
    asked = CompletionRequest("local", "completions", "m", prompt="Hi", labels=("a=b",))
    columns = [(connection, asked)] * 3
    comparison = Comparison.objects.begin(membership, columns, owner=this_process())
    first = comparison.runs.earliest("pk")
    Run.objects.filter(pk=first.pk).update(status=RunStatus.COMPLETED)  # before the page is made
    Choice.objects.create(run=first, index=0, text="soon", finish_reason="stop")

    def said(runs: list[Run]) -> str:
        context = {"comparison": comparison, "runs": runs, "user": alice, "begun": True}
        page = render_to_string("_outputs.html", context)
        return re.sub(r'data-elapsed="\d+"', "", page)  # time goes on

    with django_assert_num_queries(4):  # the team of who asks, runs, labels, and the output
        runs = fresh(alice, comparison)
        for run in runs:
            assert [label.name for label in run.labels.all()] == ["a=b"]
            assert not run.comments.all()
            assert not run.ratings.all()
            assert [choice.text for choice in run.choices.all()] == ["soon"] * (run == first)
    assert said(runs) == said(runs_of(alice, comparison))
    assert "soon" in said(runs)


@pytest.mark.django_db
def test_a_run_with_an_empty_request_breaks_neither_its_pages_nor_the_next_press(
    client: Client, alice: User, connection: Connection
) -> None:
    membership = alice.membership()
    assert membership
    asked = CompletionRequest("local", "completions", "m", prompt="Hi")
    odd = Comparison.objects.begin(membership, [(connection, asked)], owner=this_process())
    Run.objects.update(request="{}", status=RunStatus.COMPLETED)
    begun = Comparison.objects.begin(membership, [(connection, asked)], owner=this_process())
    assert ["changed", "model", "none", "m"] in begun.change_list
    client.force_login(alice)
    run = odd.runs.get()
    preview = reverse("history_preview", args=[run.pk])
    for address in (odd.get_absolute_url(), run.get_absolute_url(), reverse("history"), preview):
        assert client.get(address).status_code == 200


@pytest.mark.django_db
def test_one_output_is_called_a_run_and_several_a_comparison(
    client: Client, alice: User, connection: Connection
) -> None:
    membership = alice.membership()
    assert membership
    asked = (connection, CompletionRequest("local", "completions", "m", prompt="Hi"))
    one = Comparison.objects.begin(membership, [asked], owner=this_process())
    two = Comparison.objects.begin(membership, [asked] * 2, owner=this_process())
    again = reruns.join(one, membership, [asked], [Place(0)], owner=this_process())
    assert one.title == f"Run {one.pk}"  # the run that was replaced does not count
    assert two.title == f"Comparison {two.pk}"
    client.force_login(alice)
    history = client.get(reverse("history")).content.decode()
    assert f"Select Comparison {two.pk}" in history
    for found in (one, two):
        page = client.get(found.get_absolute_url()).content.decode()
        assert f"<title>{found.title} ·" in page
        assert f"Delete {found.title}" in page
        run = found.runs.latest("pk")
        page = client.get(run.get_absolute_url()).content.decode()
        assert f"<title>Run {found.pk}{run.letter} ·" in page
        assert f">{found.title}</a>" in page
        preview = client.get(reverse("history_preview", args=[run.pk])).content.decode()
        assert f"<h2>{found.title}</h2>" in preview
    alone = client.get(reverse("history_preview", args=[again[0].pk]), {"single": 1})
    assert f"<h2>Run {one.pk}A</h2>" in alone.content.decode()
