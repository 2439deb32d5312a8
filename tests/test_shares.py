"""Shared links: frozen, unguessable, revocable; and what they never show."""

import json
import re
from dataclasses import replace

import pytest
from django.test import Client

from playground.completion import CompletionRequest
from playground.models import Choice, Comment, Connection, Run, Share, User
from playground.models.shares import copied_request
from tests.conftest import request_to
from tests.test_annotations import begun, one
from tests.test_jobs import give

HTMX = {"HX-Request": "true"}
SECRETS = (
    "bob", "fake", "127.0.0.1", "X-Team", "internal-header", "my comment", "private-label",
    "a.user@example.org", "Second column", "Bobby",
)  # fmt: skip


def asked(connection: Connection) -> CompletionRequest:
    request = request_to(connection, prompt="The river Aare", temperature=0.5, user=SECRETS[7])
    return replace(
        request,
        own_headers={"X-Team": "internal-header"},
        labels=("private-label",),
        extra={"a": 1},
    )


def finished(user: User, connection: Connection) -> Run:
    """Two columns; the first has an output and everything that may not be shown."""
    made = begun(user, connection, columns=2)
    first, second = made.runs.order_by("position")
    Run.objects.filter(pk=first.pk).update(
        request=asked(connection).to_json(),
        error_message="from 127.0.0.1",
        metadata='{"by": "fake"}',
    )
    for run, text in ((first, " flows through Bern."), (second, "Second column")):
        Choice.objects.create(run=run, index=0, text=text, finish_reason="stop", sha256="")
    give(first, "private-label")
    Comment.write(first, user, "my comment")
    return Run.objects.get(pk=first.pk)


def link(client: Client, run: Run, only: bool = True) -> str:
    data = {"run": str(run.pk)} if only else {}
    answer = client.post(f"/comparisons/{run.comparison_id}/share/", data, headers=HTMX)
    assert answer.status_code == 200, answer.text
    return (
        answer.text.partition('aria-label="The link">http://')[2]
        .partition("<")[0]
        .partition("/")[2]
    )


def without_tokens(page: str) -> str:
    """The one thing that differs in every answer."""
    return re.sub(r'"X-CSRFToken": "\w+"', "", page)


@pytest.fixture
def run(bob: User, connection: Connection) -> Run:
    return finished(bob, connection)


@pytest.fixture
def author(bob: User) -> Client:
    client = Client()
    client.force_login(bob)
    return client


def test_anyone_with_the_link_reads_the_copy_and_nothing_else(
    client: Client, author: Client, run: Run
) -> None:
    address = "/" + link(author, run)
    answer = client.get(address)
    assert answer.status_code == 200
    assert "The river Aare" in answer.text
    assert "flows through Bern." in answer.text
    assert "temperature" in answer.text
    for secret in SECRETS:
        assert secret not in answer.text
    assert "noindex" in answer["X-Robots-Tag"]
    assert answer["Referrer-Policy"] == "no-referrer"
    assert "no-store" in answer["Cache-Control"]


def test_the_copy_stays_as_it_was(client: Client, author: Client, run: Run) -> None:
    address = "/" + link(author, run)
    run.choices.update(text="Something else")
    Run.objects.filter(pk=run.pk).update(
        request=replace(run.request_value(), prompt="New").to_json()
    )
    page = client.get(address).text
    assert "flows through Bern." in page
    assert "Something else" not in page


def test_all_columns_or_one(client: Client, author: Client, run: Run) -> None:
    assert "Second column" in client.get("/" + link(author, run, only=False)).text
    other = one(User.objects.get(username="bob"), Connection.objects.get())
    answer = author.post(f"/comparisons/{run.comparison_id}/share/", {"run": str(other.pk)})
    assert answer.status_code == 404


def test_the_token_is_stored_hashed_and_shown_once(author: Client, run: Run) -> None:
    token = link(author, run).split("/")[1]
    assert len(token) > 40
    [row] = Share.objects.values()
    assert token not in json.dumps(row, default=str)
    page = author.get("/shares/").text
    assert token not in page
    assert f"…{token[-4:]}" in page


def test_its_address_is_not_written_into_the_log(
    client: Client, author: Client, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    address = link(author, run)
    run.comparison.trash()
    client.get("/" + address)
    assert address.split("/")[1] not in caplog.text


def test_a_revoked_link_is_closed_like_one_that_never_was(
    client: Client, author: Client, run: Run
) -> None:
    address = "/" + link(author, run)
    answer = author.post(f"/shares/{Share.objects.get().pk}/revoke/", headers=HTMX)
    assert "Revoked" in answer.text
    closed, unknown = client.get(address), client.get("/s/never-made/")
    assert closed.status_code == unknown.status_code == 404
    assert without_tokens(closed.text) == without_tokens(unknown.text)
    assert "flows" not in closed.text


def test_it_rests_in_the_trash_and_ends_with_the_purge(
    client: Client, author: Client, run: Run
) -> None:
    address = "/" + link(author, run)
    run.comparison.trash()
    assert client.get(address).status_code == 404
    assert "In the trash" in author.get("/shares/").text
    run.comparison.restore()
    assert client.get(address).status_code == 200
    run.comparison.trash()
    run.comparison.purge()
    assert client.get(address).status_code == 404
    assert "Nothing is shared" in author.get("/shares/").text


def test_a_link_to_a_private_run_closes_when_its_author_leaves(
    client: Client, author: Client, run: Run, bob: User
) -> None:
    address = "/" + link(author, run)
    run.comparison.show_to("private")
    assert client.get(address).status_code == 200
    User.objects.filter(pk=bob.pk).update(is_active=False)
    assert client.get(address).status_code == 404
    User.objects.filter(pk=bob.pk).update(is_active=True)
    assert client.get(address).status_code == 200
    bob.memberships.all().delete()
    assert client.get(address).status_code == 404
    run.comparison.show_to("team")  # an owner can revoke it
    assert client.get(address).status_code == 200


def test_a_live_run_is_not_shared_yet(author: Client, run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(status="running")
    answer = author.post(f"/comparisons/{run.comparison_id}/share/", headers=HTMX)
    assert answer.status_code == 409
    assert "Wait until every column has ended" in answer.text
    assert not Share.objects.exists()


def test_members_share_their_own_and_owners_any_team_run(
    client: Client, run: Run, alice: User, rita: User, charlie: User, connection: Connection
) -> None:
    address = f"/comparisons/{run.comparison_id}/share/"
    for user, status in ((rita, 404), (charlie, 404), (alice, 200)):
        client.force_login(user)
        assert client.post(address).status_code == status
    others = begun(alice, connection)
    client.force_login(User.objects.get(username="bob"))
    assert client.post(f"/comparisons/{others.pk}/share/").status_code == 404


def test_owners_list_and_revoke_the_teams_links(
    client: Client, author: Client, run: Run, alice: User, rita: User
) -> None:
    link(author, run)
    share = Share.objects.get()
    client.force_login(alice)
    assert f"…{share.ending}" in client.get("/shares/").text
    run.comparison.show_to("private")
    assert f"…{share.ending}" not in client.get("/shares/").text
    assert client.post(f"/shares/{share.pk}/revoke/").status_code == 404
    run.comparison.show_to("team")
    assert client.post(f"/shares/{share.pk}/revoke/").status_code == 302
    client.force_login(rita)
    assert f"…{share.ending}" not in client.get("/shares/").text


def test_tokens_that_nobody_counted_are_a_dash(client: Client, author: Client, run: Run) -> None:
    Run.objects.update(prompt_tokens=None, completion_tokens=None)
    page = client.get("/" + link(author, run)).text
    assert "<dt>Tokens in / out</dt><dd>–</dd>" in page


def test_a_reader_copies_it_into_an_own_draft(
    client: Client, author: Client, run: Run, charlie: User
) -> None:
    address = "/" + link(author, run)
    assert "?shared=" not in client.get(address).text
    client.force_login(charlie)
    page = client.get(address).text
    copy = page.partition('href="/?shared=')[2].partition('"')[0]
    draft = client.get(f"/?shared={copy}").text
    assert "The river Aare" in draft
    for secret in SECRETS[4:8]:
        assert secret not in draft
    assert client.get("/?shared=never-made").status_code == 404


def test_a_copied_request_keeps_what_the_model_was_asked_only() -> None:
    request = CompletionRequest(
        provider="pulze",
        operation="chat",
        model="m",
        messages=({"role": "user", "content": "Hi", "name": "Bobby"},),
        values={
            "temperature": 0,
            "user": "bob",
            "Pulze-Labels": {"a": "b"},
            "metadata": {"a": "b"},
        },
        extra={"trace": "x"},
        own_headers={"A": "b"},
        labels=("x",),
    )
    copy = copied_request(request)
    assert copy.values == {"temperature": 0}
    assert copy.messages == ({"role": "user", "content": "Hi"},)
    assert (copy.extra, copy.own_headers, copy.labels) == ({}, {}, ())
