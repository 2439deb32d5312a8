"""A new master key: everything encrypted anew, without a break, again and again."""

from collections.abc import Callable
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command
from django.db import connection as database

from playground.models import ApiKey, Connection, secrets
from playground.models.secrets import encrypted_columns, rotate

pytestmark = pytest.mark.django_db

KEY = "sk-test-SECRET05"
OLD, NEW, FOREIGN = (Fernet.generate_key().decode() for _ in range(3))


@pytest.fixture
def filled(connect: Callable[..., Connection], settings: Any) -> Connection:
    settings.ENCRYPTION_KEYS = [OLD]
    return connect("hosted", KEY, extra_headers="X-Team: evals")


def raw(table: str, column: str) -> list[str]:
    with database.cursor() as cursor:
        cursor.execute(f"SELECT {column} FROM {table} ORDER BY id")
        return [row[0] for row in cursor.fetchall()]


def test_every_encrypted_field_is_found() -> None:
    names = {(column.model.__name__, column.name) for column in encrypted_columns()}
    assert {("ApiKey", "sealed"), ("Connection", "extra_headers")} <= names


def test_everything_is_under_the_new_key_and_the_old_one_can_go(
    filled: Connection, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    call_command("rotate_keys")
    said = capsys.readouterr().out
    assert said.startswith("2 values were encrypted anew; 0 were under the first key already.")
    assert "not needed any more" in said
    settings.ENCRYPTION_KEYS = [NEW]
    found = Connection.objects.get(pk=filled.pk)
    key = found.key()
    assert key is not None
    assert key.secret_for(found.base_url) == KEY
    assert found.headers() == {"X-Team": "evals"}


def test_a_second_time_there_is_nothing_to_do(filled: Connection, settings: Any) -> None:
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    rotate()
    before = raw("playground_apikey", "sealed")
    done = rotate()
    assert (done.renewed, done.current, done.unreadable) == (0, 2, [])
    assert raw("playground_apikey", "sealed") == before


def test_it_goes_on_where_it_was_interrupted(
    filled: Connection, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "BATCH", 2)
    for n in range(5):
        made = Connection.objects.create(name=f"c{n}", provider="local", base_url="http://a/v1")
        made.set_key(f"{KEY}{n}")
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    half = ApiKey.objects.order_by("pk")[:3]
    for key in half:
        key.save()  # encrypts with the first key
    done = rotate()
    assert (done.renewed, done.current) == (4, 3)
    settings.ENCRYPTION_KEYS = [NEW]
    assert not any(key.unreadable for key in ApiKey.objects.all())


def test_a_value_that_changed_meanwhile_is_left_alone(
    filled: Connection, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    tokens = secrets._tokens

    def changing(column: Any) -> Any:
        for pk, token in list(tokens(column)):
            if column.name == "extra_headers":
                Connection.objects.filter(pk=pk).update(extra_headers="X-Team: newer")
            yield pk, token

    monkeypatch.setattr(secrets, "_tokens", changing)
    rotate()
    assert Connection.objects.get(pk=filled.pk).headers() == {"X-Team": "newer"}


def test_a_check_changes_nothing(
    filled: Connection, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    before = raw("playground_apikey", "sealed")
    call_command("rotate_keys", "--check")
    assert capsys.readouterr().out.startswith("2 values would be encrypted anew")
    assert raw("playground_apikey", "sealed") == before


def test_what_no_key_decrypts_is_named_and_kept(filled: Connection, settings: Any) -> None:
    settings.ENCRYPTION_KEYS = [FOREIGN]
    before = raw("playground_apikey", "sealed")
    with pytest.raises(CommandError, match=r"2 values cannot be decrypted") as error:
        call_command("rotate_keys")
    assert f"connection {filled.pk} (extra_headers)" in str(error.value)
    assert KEY not in str(error.value)
    assert raw("playground_apikey", "sealed") == before


def test_it_makes_a_key(capsys: pytest.CaptureFixture[str]) -> None:
    keys = []
    for _ in range(2):
        call_command("rotate_keys", "--generate")
        keys.append(capsys.readouterr().out.strip())
    assert Fernet(keys[0]).decrypt(Fernet(keys[0]).encrypt(b"x")) == b"x"
    assert keys[0] != keys[1]
