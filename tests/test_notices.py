"""What admins are told of keys and secrets, in the admin site and on the first page."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from playground.models import Connection, User
from playground.models.notices import all_notices, lost_secrets

pytestmark = pytest.mark.django_db

KEY = "sk-test-00000001"
OTHER = ["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]


@pytest.fixture
def hosted(connect: Callable[..., Connection]) -> Connection:
    return connect("hosted", KEY)


def expire(connection: Connection, days: int) -> None:
    connection.keys.update(expires_on=timezone.localdate() + timedelta(days=days))


def texts() -> list[tuple[str, str]]:
    return [(notice.level, notice.text) for notice in all_notices()]


def test_all_is_well(hosted: Connection) -> None:
    assert texts() == []
    assert lost_secrets() == ""


@pytest.mark.parametrize(("days", "level"), [(20, "warn"), (5, "err"), (-2, "err")])
def test_an_expiring_key(hosted: Connection, days: int, level: str) -> None:
    expire(hosted, days)
    [(found, text)] = texts()
    assert found == level
    assert text.startswith("The key …0001 expire")
    assert "Enter its successor" in text


def test_a_connection_that_is_switched_off_is_no_trouble(hosted: Connection) -> None:
    expire(hosted, 1)
    Connection.objects.update(enabled=False)
    assert texts() == []


def test_a_retiring_key_that_expires_is_no_trouble(hosted: Connection) -> None:
    expire(hosted, 1)
    hosted.set_key("sk-test-00000002")
    assert texts() == []


def test_a_rejected_key_with_and_without_a_stand_in(hosted: Connection) -> None:
    key = hosted.key()
    assert key is not None
    key.note_rejection("No such key.")
    [(level, text)] = texts()
    assert (level, text) == (
        "err",
        "The provider rejected the key …0001: “No such key”. "
        "Requests fail until a working key is entered.",
    )
    key.refresh_from_db()
    key.note_acceptance()  # else it would be erased
    hosted.set_key("sk-test-00000002").note_rejection("No.")
    [(_, text)] = texts()
    assert "The former key stands in" in text


def test_lost_secrets_say_what_to_do(
    connect: Callable[..., Connection], hosted: Connection, settings: Any
) -> None:
    connect("headed", extra_headers="X-Team: a")
    settings.ENCRYPTION_KEYS = OTHER
    assert sorted(text[:20] for _, text in texts()) == [
        "Its extra headers ca",
        "Its key cannot be de",
    ]
    assert all("secrets/master-key" in text for _, text in texts())
    assert "The stored secrets of headed, hosted cannot be decrypted" in lost_secrets()


@pytest.mark.parametrize("staff", [True, False])
def test_the_first_page_tells_admins_only(
    client: Client, alice: User, hosted: Connection, staff: bool
) -> None:
    expire(hosted, 3)
    alice.is_staff = alice.is_superuser = staff
    alice.save()
    client.force_login(alice)
    text = client.get(reverse("compose")).content.decode()
    assert ("expires in 3 days" in text) is staff


def test_the_admin_site_tells_on_its_first_page_in_the_list_and_on_the_connection(
    client: Client, hosted: Connection
) -> None:
    client.force_login(User.objects.create_superuser("root"))
    expire(hosted, 3)
    change = reverse("admin:playground_connection_change", args=[hosted.pk])
    for url in (reverse("admin:index"), reverse("admin:playground_connection_changelist"), change):
        assert "expires in 3 days" in client.get(url).content.decode()
