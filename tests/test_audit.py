"""The audit log: who changed what, by whichever way, and never a secret."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command
from django.test import AsyncClient, Client
from django.urls import reverse

from playground.models import ApiKey, AuditEntry, Connection, Membership, Team, User
from playground.models.audit import acting, record

pytestmark = pytest.mark.django_db

KEY = "sk-test-SECRET03"
LOG = reverse("admin:playground_auditentry_changelist")


@pytest.fixture
def root(client: Client) -> User:
    user = User.objects.create_superuser("root")
    client.force_login(user)
    return user


def last(kind: str) -> AuditEntry:
    found = AuditEntry.objects.filter(kind=kind).first()
    assert found is not None, f"nothing of a {kind} is recorded"
    return found


def detail(kind: str) -> dict[str, Any]:
    text = last(kind).detail
    return json.loads(text) if text else {}


def test_a_change_says_what_from_what_to_what(connection: Connection) -> None:
    connection.parallel = 4
    connection.save()
    assert last("connection").action == "changed"
    assert detail("connection") == {"parallel": ["", 4]}


def test_saving_unchanged_leaves_nothing(connection: Connection, alice: User) -> None:
    before = AuditEntry.objects.count()
    connection.save()
    alice.save(update_fields=["last_login"])
    assert AuditEntry.objects.count() == before


def test_secrets_are_words_only(connection: Connection) -> None:
    connection.set_key(KEY)
    connection.extra_headers = "X-A: SECRET03-header"
    connection.save()
    assert detail("connection") == {"extra_headers": "set"}
    connection.extra_headers = "X-A: SECRET03-other"
    connection.save()
    assert detail("connection") == {"extra_headers": "changed"}
    connection.extra_headers = ""
    connection.save()
    assert detail("connection") == {"extra_headers": "removed"}
    for entry in AuditEntry.objects.all():
        assert "SECRET" not in f"{entry.object_name} {entry.detail} {entry.lines}"


def test_a_key_is_recorded_with_its_last_four(connection: Connection) -> None:
    connection.set_key(KEY)
    entries = AuditEntry.objects.filter(kind=str(ApiKey._meta.verbose_name))
    assert [entry.action for entry in entries] == ["changed", "created"]
    assert entries[0].lines == ["state: new → active"]
    assert {entry.object_name for entry in entries} == {"…ET03 of fake"}


def test_teams_roles_and_people(team: Team, alice: User) -> None:
    membership = alice.memberships.get()
    assert detail("membership") == {
        "team": [None, "Evals"],
        "user": [None, "alice"],
        "role": [None, "owner"],
    }
    membership.role = Membership.Role.REVIEWER
    membership.save()
    assert detail("membership") == {"role": ["owner", "reviewer"]}
    alice.is_active = False
    alice.set_password("a long enough one")
    alice.save()
    assert detail("user") == {"is_active": [True, False], "password": "set"}
    membership.delete()
    assert last("membership").action == "deleted"
    team.name = "Other"
    team.save()
    assert last("team").lines == ["name: Evals → Other"]


def test_deleting_many_at_once_is_recorded_one_by_one(connect: Callable[..., Connection]) -> None:
    connect("one")
    connect("two")
    Connection.objects.all().delete()
    gone = AuditEntry.objects.filter(kind="connection", action="deleted")
    assert sorted(gone.values_list("object_name", flat=True)) == ["one", "two"]


def test_teams_of_a_connection(connection: Connection, team: Team) -> None:
    connection.teams.add(team)
    assert detail("connection") == {"teams added": ["Evals"]}
    connection.teams.set([])
    assert detail("connection") == {"teams removed": ["Evals"]}


def test_the_admin_site_records_its_user(client: Client, root: User) -> None:
    client.post(reverse("admin:playground_team_add"), {
        "name": "Made here",
        "memberships-TOTAL_FORMS": 0,
        "memberships-INITIAL_FORMS": 0,
    })  # fmt: skip
    entry = last("team")
    assert (entry.object_name, entry.actor, entry.actor_name) == ("Made here", root, "root")


@pytest.mark.django_db(transaction=True)
async def test_a_page_records_its_user_through_async_too(alice: User) -> None:
    client = AsyncClient()
    await client.aforce_login(alice)
    typed = {"new_password1": "correct horse 17", "new_password2": "correct horse 17"}
    answer = await client.post(reverse("password"), typed)
    assert answer.status_code == 302
    entry = await AuditEntry.objects.filter(kind="user", action="changed").afirst()
    assert entry is not None
    assert entry.actor_name == "alice"


def test_a_command_is_the_command_line() -> None:
    url = "http://127.0.0.1:9/v1"
    call_command("connection", "mine", provider="local", base_url=url)
    assert last("connection").actor_name == "command line"


def test_the_server_names_itself(connection: Connection) -> None:
    with acting("the playground"):
        entry = record("swept", connection, {"state": "gone"})
    assert (entry.actor_id, entry.actor_name) == (None, "the playground")
    assert record("x", connection).actor_name == "command line"


def test_a_deleted_user_is_still_named(client: Client, root: User, team: Team) -> None:
    with acting(lambda: (root.pk, "root")):
        team.delete()
    root.delete()
    entry = last("team")
    assert (entry.actor, entry.actor_name) == (None, "root")


def test_it_can_be_read_and_filtered_but_not_changed(
    client: Client, root: User, connection: Connection
) -> None:
    text = client.get(LOG).content.decode()
    assert "fake" in text
    assert client.get(LOG, {"kind__exact": "team"}).status_code == 200
    entry = last("connection")
    for name in ("change", "delete"):
        page = reverse(f"admin:playground_auditentry_{name}", args=[entry.pk])
        assert client.post(page, {"post": "yes"}).status_code == 403
    assert client.post(reverse("admin:playground_auditentry_add"), {}).status_code == 403
    bulk = {"action": "delete_selected", "_selected_action": [entry.pk], "post": "yes"}
    client.post(LOG, bulk)
    assert AuditEntry.objects.filter(pk=entry.pk).exists()
