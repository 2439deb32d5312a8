"""The admin site: keys go in and never come out, by whichever page one looks."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from playground.models import Connection, Price, Team, User

pytestmark = pytest.mark.django_db

KEY = "sk-test-SECRET03"
HEADER = "X-Secret: SECRET03-header"
LIST = reverse("admin:playground_connection_changelist")
ADD = reverse("admin:playground_connection_add")


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("root"))
    return client


@pytest.fixture
def hosted(connect: Callable[..., Connection]) -> Connection:
    return connect("hosted", KEY, base_url="https://api.example.com/v1", extra_headers=HEADER)


def page(connection: Connection, name: str = "change") -> str:
    return reverse(f"admin:playground_connection_{name}", args=[connection.pk])


def form(connection: Connection, **changes: Any) -> dict[str, Any]:
    return {
        "name": connection.name,
        "provider": "local",
        "dialect": connection.dialect,
        "base_url": connection.base_url,
        "default_model": "",
        "parallel": "",
        "assumed_tokens": "4096",
        "read_timeout": "",
        "overlap_days": "7",
        "allowed_models": "",
        "key_expires": "",
        "all_teams": "on",
        "enabled": "on",
        "api_key": "",
        "new_headers": "",
        "prices-TOTAL_FORMS": "0",
        "prices-INITIAL_FORMS": "0",
        **changes,
    }


def test_every_bound_of_a_connection_can_be_set(admin: Client, hosted: Connection) -> None:
    bounds = {"parallel": 3, "assumed_tokens": 512, "read_timeout": 60}
    text = admin.get(page(hosted)).text
    assert all(f'name="{name}"' in text for name in bounds)
    admin.post(page(hosted), form(hosted, **{name: str(each) for name, each in bounds.items()}))
    assert {name: getattr(fresh(hosted), name) for name in bounds} == bounds


def test_two_prices_for_all_models_are_refused(admin: Client, hosted: Connection) -> None:
    two = {"prices-TOTAL_FORMS": "2"}
    for number, name in enumerate(("*", "")):
        prices = {"model": name, "input_per_million": "1", "output_per_million": "1"}
        two |= {f"prices-{number}-{field}": value for field, value in prices.items()}
    assert "Please correct the duplicate" in admin.post(page(hosted), form(hosted, **two)).text
    assert not Price.objects.exists()


def test_an_overlap_has_a_bound(admin: Client, hosted: Connection) -> None:
    answer = admin.post(page(hosted), form(hosted, overlap_days="3000000"))
    assert "At most 3,650 days." in answer.text
    assert fresh(hosted).overlap_days == 7


def fresh(connection: Connection) -> Connection:
    return Connection.objects.get(pk=connection.pk)


def stored(connection: Connection) -> str:
    found = fresh(connection).key()
    return found.secret_for(fresh(connection).base_url) if found else ""


@pytest.mark.parametrize("name", ["change", "history", "delete"])
def test_no_page_of_a_connection_shows_its_secrets(
    admin: Client, hosted: Connection, name: str
) -> None:
    admin.post(page(hosted), form(hosted, api_key=KEY, new_headers=HEADER))
    text = admin.get(page(hosted, name)).content.decode()
    assert "hosted" in text
    assert "SECRET03" not in text


def test_the_list_shows_the_last_four_characters(admin: Client, hosted: Connection) -> None:
    text = admin.get(LIST).content.decode()
    assert "…ET03" in text
    assert "SECRET03" not in text


@pytest.mark.parametrize("query", [KEY, "SECRET03", "ET03"])
def test_one_cannot_search_by_key(admin: Client, hosted: Connection, query: str) -> None:
    """There is no search: it changes nothing, so it tells nothing."""
    other = admin.get(LIST, {"q": "no such thing"})
    found = admin.get(LIST, {"q": query})
    assert found.status_code == other.status_code
    assert ("hosted" in found.content.decode()) is ("hosted" in other.content.decode())
    for filtered in ({"keys__last_four": "ET03"}, {"keys__sealed__contains": "x"}):
        assert admin.get(LIST, filtered).status_code == 400


def test_a_new_connection_takes_a_key(admin: Client, db: None) -> None:
    blank = Connection(name="new", dialect="vllm", base_url="https://api.example.com/v1/")
    answer = admin.post(
        reverse("admin:playground_connection_add"), form(blank, api_key=f" {KEY}\n")
    )
    assert answer.status_code == 302
    made = Connection.objects.get(name="new")
    assert made.base_url == "https://api.example.com/v1"
    assert stored(made) == KEY


def test_saving_untouched_keeps_the_secrets(admin: Client, hosted: Connection) -> None:
    assert admin.post(page(hosted), form(hosted, default_model="m")).status_code == 302
    assert fresh(hosted).default_model == "m"
    assert stored(hosted) == KEY
    assert fresh(hosted).headers() == {"X-Secret": "SECRET03-header"}


def test_a_key_that_replaces_another_waits_for_its_test(admin: Client, hosted: Connection) -> None:
    changed = form(hosted, api_key="sk-another-000001")
    text = admin.post(page(hosted), changed, follow=True).content.decode()
    assert "The new key …0001 waits" in text
    assert stored(hosted) == KEY
    assert dict(hosted.keys.values_list("last_four", "state")) == {"ET03": "active", "0001": "new"}


def test_a_key_in_use_that_was_rejected_says_so(admin: Client, hosted: Connection) -> None:
    key = hosted.set_key("sk-test-00000002")
    assert "in use, but rejected" not in admin.get(page(hosted)).content.decode()
    key.note_rejection("No.")
    assert "in use, but rejected" in admin.get(page(hosted)).content.decode()


@pytest.mark.parametrize(
    ("typed", "headers"), [("-", {}), ("A: 1\nB: x:y", {"A": "1", "B": "x:y"})]
)
def test_extra_headers_are_replaced_or_removed(
    admin: Client, hosted: Connection, typed: str, headers: dict[str, str]
) -> None:
    assert admin.post(page(hosted), form(hosted, new_headers=typed)).status_code == 302
    assert fresh(hosted).headers() == headers


@pytest.mark.parametrize(
    ("field", "typed"),
    [
        ("api_key", "'sk-test-SECRET04'"),
        ("api_key", "schlüssel-SECRET04"),
        ("new_headers", "SECRET04 without a colon"),
        ("new_headers", "Ä: SECRET04"),
        ("new_headers", "A B: SECRET04"),
        ("new_headers", "A: SECRET04\x01"),
        ("base_url", "nonsense"),
    ],
)
def test_a_failed_form_does_not_show_what_was_typed_as_a_secret(
    admin: Client, hosted: Connection, field: str, typed: str
) -> None:
    secrets = {"api_key": "sk-test-SECRET04", "new_headers": "X: SECRET04", field: typed}
    answer = admin.post(page(hosted), form(hosted, **secrets))
    assert answer.status_code == 200
    text = answer.content.decode()
    assert "errorlist" in text
    assert "SECRET04" not in text
    assert "SECRET03" not in text
    assert stored(hosted) == KEY
    assert answer.context["adminform"].form.errors.keys() == {"api_key", "new_headers", field}


def test_a_changed_address_drops_the_key_and_says_so(admin: Client, hosted: Connection) -> None:
    changed = form(hosted, base_url="https://evil.example.com/v1")
    text = admin.post(page(hosted), changed, follow=True).content.decode()
    assert "this was dropped: the stored key, the header X-Secret." in text
    assert not hosted.keys.stored().exists()
    assert fresh(hosted).headers() == {}


def test_a_changed_address_with_its_key_keeps_that(admin: Client, hosted: Connection) -> None:
    changed = form(hosted, base_url="https://new.example.com/v1", api_key="sk-another-000001")
    text = admin.post(page(hosted), changed, follow=True).content.decode()
    assert "dropped" not in text
    assert stored(hosted) == "sk-another-000001"


def test_the_log_of_changes_carries_no_value(admin: Client, hosted: Connection) -> None:
    admin.post(page(hosted), form(hosted, api_key="sk-test-SECRET05", new_headers="A: SECRET05"))
    entries = LogEntry.objects.all()
    assert entries
    for entry in entries:
        shown = f"{entry.change_message} {entry.object_repr} {entry.get_change_message()}"
        assert "SECRET" not in shown


def test_nothing_is_logged_of_a_key(
    admin: Client, hosted: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    admin.post(page(hosted), form(hosted, api_key="sk-test-SECRET05"))
    admin.get(page(hosted))
    assert "SECRET" not in caplog.text


def test_a_key_that_cannot_be_decrypted_is_asked_for_again(
    admin: Client, hosted: Connection, settings: Any
) -> None:
    settings.ENCRYPTION_KEYS = ["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]
    assert "enter the key again" in admin.get(LIST).content.decode()
    assert admin.post(page(hosted), form(hosted, api_key=KEY)).status_code == 302
    assert stored(hosted) == KEY


def test_the_embedded_connection_is_not_edited(admin: Client, db: None) -> None:
    embedded = Connection.objects.ensure_embedded()
    changes = form(embedded, name="x", base_url="https://evil.example.com", default_model="other")
    assert admin.post(page(embedded), changes).status_code == 302
    saved = fresh(embedded)
    assert (saved.name, saved.base_url, saved.embedded) == ("embedded", "", True)
    assert saved.default_model == "other"
    assert admin.post(page(embedded, "delete"), {"post": "yes"}).status_code == 403
    bulk = {"action": "delete_selected", "_selected_action": [embedded.pk], "post": "yes"}
    admin.post(LIST, bulk)
    assert Connection.objects.filter(pk=embedded.pk).exists()


@pytest.mark.parametrize("person", ["alice", "rita", None])
def test_only_site_admins_get_in(
    client: Client, hosted: Connection, request: pytest.FixtureRequest, person: str | None
) -> None:
    if person:
        client.force_login(request.getfixturevalue(person))
    for url in (LIST, page(hosted), reverse("admin:index")):
        answer = client.get(url)
        assert answer.status_code == 302
        assert "login" in answer["Location"]
    assert client.post(page(hosted), form(hosted, name="taken")).status_code == 302
    assert fresh(hosted).name == "hosted"


def test_staff_without_permission_are_refused(
    client: Client, alice: User, hosted: Connection
) -> None:
    alice.is_staff = True
    alice.save()
    client.force_login(alice)
    assert client.get(page(hosted)).status_code == 403


@pytest.mark.parametrize("model", ["team", "user"])
def test_teams_and_people_have_their_pages(admin: Client, team: Team, model: str) -> None:
    assert admin.get(reverse(f"admin:playground_{model}_changelist")).status_code == 200
    assert admin.get(reverse(f"admin:playground_{model}_add")).status_code == 200


def test_there_is_no_page_of_keys_or_runs(admin: Client) -> None:
    text = admin.get(reverse("admin:index")).content.decode()
    assert "apikey" not in text
    assert "choice" not in text


def test_an_empty_address_is_the_providers_documented_one(admin: Client) -> None:
    blank = Connection(name="octo")
    answer = admin.post(ADD, form(blank, provider="octoai", base_url=""))
    assert answer.status_code == 302
    assert Connection.objects.get(name="octo").base_url == "https://text.octoai.run/v1"


def test_it_says_that_the_hosted_octoai_has_ended(admin: Client) -> None:
    assert "2024-10-31" in admin.get(ADD).content.decode()
