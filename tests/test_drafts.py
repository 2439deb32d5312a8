"""Drafts: one form a page, versions, what is kept."""

import json
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client

from playground.models import Comparison, Connection, Draft, User
from playground.models.drafts import MOST_KEPT, MOST_PAGES
from playground.reaper import this_process
from playground.views.drafts import opening
from tests.conftest import request_to
from tests.server import document


def form(connection: Connection, prompt: str = "Hi") -> str:
    return json.dumps(document({"connection": connection.pk}, prompt=prompt))


def compared(user: User, text: str = "") -> Comparison:
    membership = user.membership()
    assert membership
    return Comparison.objects.begin(membership, [], owner=this_process(), document=text)


def save(client: Client, text: str, version: int = 0, **more: Any) -> Any:
    return client.post("/drafts/save/", {"document": text, "version": version, "page": "", **more})


def shown(client: Client, address: str = "/") -> dict[str, Any]:
    """What the form of a page begins with."""
    page = client.get(address)
    return {name: page.context[name] for name in ("document", "draft")}


def test_what_was_typed_is_in_the_form_again(
    client: Client, alice: User, connection: Connection
) -> None:
    client.force_login(alice)
    assert save(client, form(connection, "Typed")).json() == {"version": 1}
    assert save(client, form(connection, "Typed on"), 1).json() == {"version": 2}
    found = shown(client)
    assert found["document"]["prompt"] == "Typed on"
    assert found["draft"]["version"] == 2


SYSTEM, OLD = {"role": "system", "content": "Be terse"}, {"role": "user", "content": "First"}
ANSWER = {"role": "assistant", "content": "Said"}
NEW = {"role": "user", "content": [{"type": "text", "text": "Then \n this"}]}


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"prompt": "A  prompt"}, "A prompt"),
        ({"mode": "messages", "messages": [SYSTEM, OLD, ANSWER, NEW]}, "Then this"),
        ({"mode": "messages", "messages": [SYSTEM, OLD], "prompt": "Not in use"}, "First"),
        ({"mode": "messages", "messages": [SYSTEM, {**OLD, "content": " "}, ANSWER]}, "Said"),
        ({"mode": "messages", "messages": [SYSTEM, {**OLD, "content": ""}]}, "Be terse"),
        ({"mode": "messages", "messages": [], "prompt": "Elsewhere"}, "Elsewhere"),
        ({"mode": "list", "prompts": ["", "Second"], "prompt": "Not in use"}, "Second"),
        ({"mode": "ids", "ids": "1 2"}, "1 2"),
        ({"mode": "", "prompt": ""}, ""),
    ],
)
def test_a_draft_is_named_after_what_was_written(
    changes: dict[str, Any], name: str, connection: Connection
) -> None:
    made = {"prompt": "", **changes}
    text = json.dumps(document({"connection": connection.pk}, **made))
    assert opening(Draft(document=text)) == name


def test_a_draft_is_of_one_person(
    client: Client, alice: User, bob: User, connection: Connection
) -> None:
    client.force_login(alice)
    save(client, form(connection, "Mine"))
    client.force_login(bob)
    assert shown(client)["document"]["prompt"] == ""
    kept = Draft.objects.create(user=alice, kept=True, document=form(connection))
    assert client.get(f"/drafts/{kept.pk}/").status_code == 404
    assert client.post(f"/drafts/{kept.pk}/").status_code == 404


def test_two_tabs_do_not_overwrite_each_other(
    client: Client, alice: User, connection: Connection
) -> None:
    client.force_login(alice)
    save(client, form(connection, "Both saw this"))
    assert save(client, form(connection, "First tab"), 1).status_code == 200
    refused = save(client, form(connection, "Second tab"), 1)
    assert refused.status_code == 409
    there = refused.json()
    assert there["version"] == 2
    assert there["document"]["prompt"] == "First tab"
    kept = save(client, form(connection, "Second tab"), there["version"], keep="1")
    assert kept.json() == {"version": 3}
    assert shown(client)["document"]["prompt"] == "Second tab"
    assert "First tab" in client.get("/drafts/").content.decode()
    assert save(client, form(connection, "Third tab, never saved"), 0).status_code == 409


def test_what_is_there_already_is_no_conflict(
    client: Client, alice: User, connection: Connection
) -> None:
    client.force_login(alice)
    begun = compared(alice, form(connection))
    save(client, form(connection))
    assert save(client, form(connection)).json() == {"version": 1}
    assert save(client, form(connection), ran=begun.pk).json() == {"version": 1}
    assert Draft.objects.get(user=alice).ran == begun


def test_what_a_page_sends_while_it_leaves_is_kept_where_another_tab_was_first(
    client: Client, alice: User, connection: Connection
) -> None:
    client.force_login(alice)
    save(client, form(connection, "First tab"))
    for _ in range(2):
        assert save(client, form(connection, "Second tab"), leaving="1").status_code == 409
    kept = [json.loads(each.document)["prompt"] for each in Draft.objects.kept_by(alice)]
    assert kept == ["Second tab"]
    assert shown(client)["document"]["prompt"] == "First tab"
    assert save(client, form(connection, "Third"), 1, leaving="1").json() == {"version": 2}
    assert Draft.objects.kept_by(alice).count() == 1


def test_looking_at_a_run_does_not_touch_the_draft(
    client: Client, alice: User, connection: Connection
) -> None:
    client.force_login(alice)
    save(client, form(connection, "My draft"))
    old = compared(alice, form(connection, "An old run"))
    address = f"/comparisons/{old.pk}/"
    found = shown(client, address)
    assert found["document"]["prompt"] == "An old run"
    assert found["draft"]["page"] == old.pk
    assert found["draft"]["waiting"]
    save(client, form(connection, "An old run, edited"), page=old.pk)
    assert shown(client, address)["document"]["prompt"] == "An old run, edited"
    assert shown(client, address)["draft"]["other"] is True
    assert shown(client, f"{address}?as-run")["document"]["prompt"] == "An old run"
    assert shown(client)["document"]["prompt"] == "My draft"


def test_a_run_from_the_form_goes_on_with_it(
    client: Client, alice: User, connection: Connection
) -> None:
    client.force_login(alice)
    begun = compared(alice, form(connection, "As it was run"))
    save(client, form(connection, "As it was run"), ran=begun.pk)
    save(client, form(connection, "Edited after the run"), 1)
    found = shown(client, f"/comparisons/{begun.pk}/")
    assert found["document"]["prompt"] == "Edited after the run"
    assert found["draft"]["page"] == ""
    assert not found["draft"]["waiting"]
    assert shown(client)["document"]["prompt"] == "Edited after the run"


def test_a_draft_of_a_run_that_one_may_not_see_is_not_found(
    client: Client, alice: User, charlie: User, connection: Connection
) -> None:
    theirs = compared(charlie, form(connection))
    client.force_login(alice)
    assert save(client, form(connection), page=theirs.pk).status_code == 404
    assert save(client, form(connection), ran=theirs.pk).status_code == 404
    assert not Draft.objects.exists()


@pytest.mark.parametrize("text", ["", "no json", "[]", '{"columns": 3}', "[" * 100_000])
def test_what_is_no_form_is_refused(client: Client, alice: User, text: str) -> None:
    client.force_login(alice)
    assert save(client, text).status_code == 422
    assert not Draft.objects.exists()


def test_a_draft_is_as_big_as_a_form_may_be(
    client: Client, alice: User, connection: Connection, settings: LazySettings
) -> None:
    client.force_login(alice)
    settings.MAX_BODY = 3000
    assert save(client, form(connection, "é" * 2000)).status_code == 413
    assert save(client, form(connection, "é" * 100)).status_code == 200


def test_only_so_many_drafts_are_kept(alice: User, connection: Connection) -> None:
    for number in range(MOST_KEPT + 5):
        saved = Draft.objects.put(alice, None, form(connection, str(number)), number, keep=True)
        assert saved
    kept = [json.loads(each.document)["prompt"] for each in Draft.objects.kept_by(alice)]
    assert kept == [str(number) for number in range(MOST_KEPT + 3, 3, -1)]
    for number in range(MOST_PAGES + 2):
        assert Draft.objects.put(alice, compared(alice), form(connection, str(number)), 0)
    assert Draft.objects.filter(user=alice, kept=False).exclude(page=None).count() == MOST_PAGES
    working = Draft.objects.of(alice, None)
    assert working
    assert working.version == MOST_KEPT + 5


def test_a_kept_draft_is_given_back_once(
    client: Client, alice: User, connection: Connection
) -> None:
    client.force_login(alice)
    kept = Draft.objects.create(user=alice, kept=True, document=form(connection, "Earlier"))
    assert client.get(f"/drafts/{kept.pk}/").json()["document"]["prompt"] == "Earlier"
    assert client.post(f"/drafts/{kept.pk}/").json()["document"]["prompt"] == "Earlier"
    assert client.post(f"/drafts/{kept.pk}/").status_code == 404


def test_a_form_that_goes_on_from_an_answer_keeps_the_draft(
    client: Client, alice: User, connection: Connection
) -> None:
    client.force_login(alice)
    save(client, form(connection, "My draft"))
    membership = alice.membership()
    assert membership
    columns = [(connection, request_to(connection, prompt="Once"))]
    run = Comparison.objects.begin(membership, columns, owner=this_process()).runs.get()
    found = shown(client, f"/?continue={run.pk}")
    assert found["document"]["prompt"] == "Once"
    assert found["draft"]["fresh"] is True
    assert shown(client)["document"]["prompt"] == "My draft"
    save(client, form(connection, "Once upon"), found["draft"]["version"], keep="1")
    assert shown(client)["document"]["prompt"] == "Once upon"
    assert "My draft" in client.get("/drafts/").content.decode()
