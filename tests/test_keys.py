"""The life of a key: it waits, is active, stands in, is erased."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import connection as database
from django.utils import timezone

from playground.models import ApiKey, AuditEntry, Connection
from playground.models.connections import clean_models, looks_secret

pytestmark = pytest.mark.django_db

FIRST, SECOND, THIRD = "sk-first-000001", "sk-second-00002", "sk-third-000003"


def states(connection: Connection) -> dict[str, str]:
    """{last four: state}"""
    return dict(connection.keys.values_list("last_four", "state"))


def secret(connection: Connection) -> str:
    key = connection.key()
    return key.secret_for(connection.base_url) if key else ""


def test_the_first_key_is_active_and_one_that_replaces_it_waits(connection: Connection) -> None:
    connection.add_key(FIRST)
    connection.add_key(SECOND)
    assert states(connection) == {"0001": "active", "0002": "new"}
    assert secret(connection) == FIRST


def test_a_second_waiting_key_takes_the_place_of_the_first(connection: Connection) -> None:
    for key in (FIRST, SECOND, THIRD):
        connection.add_key(key)
    assert states(connection) == {"0001": "active", "0002": "erased", "0003": "new"}


@pytest.mark.parametrize("how", ["add_key", "set_key"])
def test_the_same_key_again_changes_nothing(connection: Connection, how: str) -> None:
    connection.set_key(FIRST)
    getattr(connection, how)(f" {FIRST}\n")
    assert states(connection) == {"0001": "active"}


def test_activation_retires_the_former_key_with_a_date(connection: Connection) -> None:
    connection.overlap_days = 3
    connection.save()
    former = connection.add_key(FIRST)
    connection.add_key(SECOND).activate()
    former.refresh_from_db()
    assert states(connection) == {"0001": "retiring", "0002": "active"}
    assert former.retires_at is not None
    assert timedelta(days=2.9) < former.retires_at - timezone.now() <= timedelta(days=3)
    assert secret(connection) == SECOND
    active = connection.key()
    assert active is not None
    assert connection.other_key(active) == former


def test_an_overlap_without_end_is_ten_years(connection: Connection) -> None:
    """As one that was stored before the form had a bound."""
    connection.overlap_days = 2**31 - 1
    connection.save()
    former = connection.set_key(FIRST)
    connection.set_key(SECOND)
    former.refresh_from_db()
    assert former.retires_at is not None
    assert former.retires_at - timezone.now() <= timedelta(days=3650)


def test_without_an_overlap_the_former_key_is_erased_at_once(connection: Connection) -> None:
    connection.overlap_days = 0
    connection.save()
    connection.set_key(FIRST)
    connection.set_key(SECOND)
    assert states(connection) == {"0001": "erased", "0002": "active"}


def test_a_former_key_that_was_rejected_stands_in_for_none(connection: Connection) -> None:
    connection.set_key(FIRST).note_rejection("Invalid key")
    connection.set_key(SECOND)
    assert states(connection) == {"0001": "erased", "0002": "active"}


def test_a_key_is_erased_once_its_date_has_come(connection: Connection) -> None:
    former = connection.set_key(FIRST)
    active = connection.set_key(SECOND)
    assert ApiKey.objects.erase_due() == 0
    ApiKey.objects.filter(pk=former.pk).update(retires_at=timezone.now())
    assert connection.other_key(active) is None  # even before anyone has swept
    assert ApiKey.objects.erase_due() == 1
    assert ApiKey.objects.erase_due() == 0
    with database.cursor() as cursor:
        cursor.execute("SELECT sealed FROM playground_apikey WHERE id = %s", [former.pk])
        assert cursor.fetchone() == ("",)
    erased = AuditEntry.objects.filter(kind="API key", action="erased").get()
    assert erased.lines == ["state: retiring → erased"]


def test_of_two_who_erase_one_records_it(connection: Connection) -> None:
    key = connection.set_key(FIRST)
    same = ApiKey.objects.get(pk=key.pk)
    assert key.erase()
    assert not same.erase()
    assert AuditEntry.objects.filter(action="erased").count() == 1


def test_a_rejected_key_says_so_until_it_works_again(connection: Connection) -> None:
    key = connection.set_key(FIRST)
    key.note_rejection("Invalid key")
    key.refresh_from_db()
    assert (key.rejection, key.rejected_at is not None) == ("Invalid key", True)
    key.note_acceptance()
    key.refresh_from_db()
    assert (key.rejection, key.rejected_at) == ("", None)


@pytest.mark.parametrize(
    ("days", "said", "urgent"),
    [
        (None, "", False),
        (31, "", False),
        (30, "expires in 30 days", False),
        (8, "expires in 8 days", False),
        (7, "expires in 7 days", True),
        (1, "expires in 1 day", True),
        (0, "expires today", True),
        (-1, "expired 1 day ago", True),
        (-9, "expired 9 days ago", True),
    ],
)
def test_it_warns_thirty_and_seven_days_before(days: int | None, said: str, urgent: bool) -> None:
    today = timezone.localdate()
    key = ApiKey(expires_on=None if days is None else today + timedelta(days=days))
    assert (key.expiry, key.urgent) == (said, urgent)


def test_a_changed_address_drops_keys_and_secret_headers(
    connect: Callable[..., Connection],
) -> None:
    headers = "X-Team: evals\nX-Api-Key: abc\nX-Long: 0123456789012345678901"
    connection = connect("hosted", FIRST, extra_headers=headers)
    connection.add_key(SECOND)
    dropped = connection.drop_secrets()
    assert dropped == ["2 stored keys", "the headers X-Api-Key, X-Long"]
    found = Connection.objects.get(pk=connection.pk)
    assert found.headers() == {"X-Team": "evals"}
    assert set(states(found).values()) == {"erased"}
    assert found.drop_secrets() == []


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("Authorization", "x", True),
        ("Cookie", "a=b", True),
        ("X-Anything", "eyJhbGciOiJIUzI1NiJ9.e30", True),
        ("X-Team", "evals", False),
        ("User-Agent", "our playground, version one, hello", False),
    ],
)
def test_which_headers_look_secret(name: str, value: str, secret: bool) -> None:
    assert looks_secret(name, value) is secret


# --- Models --------------------------------------------------------------------------------


def test_allowed_models_are_names_or_patterns() -> None:
    connection = Connection(name="c", allowed_models=clean_models(" gpt-4 \n\nllama-*\ngpt-4"))
    assert connection.allowed == ["gpt-4", "llama-*"]
    assert connection.allows("llama-3")
    assert not connection.allows("GPT-4")
    assert connection.model_refusal("gpt-4") == ""
    assert connection.model_refusal("other").startswith("“other” is not allowed on c.")
    assert "Choose a model" in connection.model_refusal("")
    assert connection.offered(["llama-3", "mistral"]) == ["llama-3", "gpt-4"]


def test_without_a_list_every_model_is_allowed() -> None:
    connection = Connection(name="c")
    assert connection.model_refusal("anything") == connection.model_refusal("") == ""
    assert connection.offered(["a"]) == ["a"]


def test_the_default_model_is_one_of_the_allowed(connection: Connection) -> None:
    connection.allowed_models, connection.default_model = "a\nb", "c"
    with pytest.raises(ValidationError, match="default model"):
        connection.full_clean()


def test_a_dump_holds_no_secret_and_is_read_back(connection: Connection, tmp_path: Path) -> None:
    connection.extra_headers = "X-Gate: sesame-open-now"
    connection.save()
    connection.set_key("sk-dumped-1234567890")
    dump = tmp_path / "dump.json"
    call_command("dumpdata", "playground.connection", "playground.apikey", output=str(dump))
    assert "dumped" not in dump.read_text()
    assert "sesame" not in dump.read_text()
    Connection.objects.all().delete()
    call_command("loaddata", str(dump), verbosity=0)
    again = Connection.objects.get(name=connection.name)
    assert again.extra_headers == "X-Gate: sesame-open-now"
    key = again.key()
    assert key
    assert key.secret_for(again.base_url) == "sk-dumped-1234567890"
