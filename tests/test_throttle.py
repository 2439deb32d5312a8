"""Guessing is slowed down: per account and per address, in the database; nobody is locked out."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth import hashers
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from playground.models import Attempts, LoginLink, User
from playground.models.throttle import (
    FIRST_PAUSE,
    QUARTER,
    Gate,
    network_of,
    password_gates,
    wait_sentence,
)
from playground.views.account import WRONG

pytestmark = pytest.mark.usefixtures("quick_hashes")

GOOD = "sturgeon-paddle-17"
FREE = 5


@pytest.fixture
def rosa(db: None) -> User:
    return User.objects.create_user("rosa", password=GOOD)


def later(seconds: float) -> None:
    """Moves what was counted into the past, as time would."""
    for row in Attempts.objects.all():
        row.last_at -= timedelta(seconds=seconds)
        row.save()


def test_a_clock_that_is_set_back_keeps_nobody_waiting_for_it(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, gates = timezone.now(), [Gate("code", "7", FREE, QUARTER)]

    def attempt_at(hours: float) -> float:
        monkeypatch.setattr(timezone, "now", lambda: now + timedelta(hours=hours))
        return Attempts.objects.attempt(gates)

    assert [attempt_at(20) for _ in range(FREE + 1)][-1] == FIRST_PAUSE
    assert attempt_at(0) == FIRST_PAUSE
    assert attempt_at(0.01) == 0.0


def log_in(
    password: str, name: str = "rosa", client: Client | None = None, address: str = "203.0.113.7"
) -> Any:
    client = client or Client()
    data = {"username": name, "password": password}
    return client.post(reverse("login"), data, REMOTE_ADDR=address)


def test_after_the_free_attempts_one_has_to_wait_twice_as_long_each_time(rosa: User) -> None:
    for _ in range(FREE):
        answer = log_in("wrong")
        assert answer.status_code == 422
        assert WRONG in answer.content.decode()
    pause = FIRST_PAUSE
    for _ in range(4):
        answer = log_in(GOOD)  # the right one too: an answer would tell
        assert answer.status_code == 429
        assert "Too many attempts. Please wait" in answer.content.decode()
        assert 0 < int(answer.headers["Retry-After"]) <= pause + 1
        later(pause)
        assert log_in("wrong").status_code == 422
        pause *= 2
    later(QUARTER)
    assert log_in(GOOD).status_code == 302


def test_success_resets_the_account(rosa: User) -> None:
    for _ in range(FREE - 1):
        log_in("wrong")
    assert log_in(GOOD).status_code == 302
    for _ in range(FREE):
        assert log_in("wrong").status_code == 422


def test_another_account_is_not_slowed(rosa: User) -> None:
    User.objects.create_user("mia", password=GOOD)
    for _ in range(FREE + 1):
        log_in("wrong")
    assert log_in(GOOD, "mia").status_code == 302


def test_an_unknown_name_is_treated_alike(rosa: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same sentences, the same pauses, and the same work: one hash."""
    hashed: list[str] = []
    encode = hashers.MD5PasswordHasher.encode

    def counted(self: Any, password: str, *more: Any, **named: Any) -> str:
        hashed.append(password)
        return encode(self, password, *more, **named)

    monkeypatch.setattr(hashers.MD5PasswordHasher, "encode", counted)
    User.objects.create_user("nina").set_unusable_password()
    User.objects.create_user("gone", password=GOOD, is_active=False)
    said: dict[str, list[Any]] = {}
    for number, name in enumerate(("rosa", "nobody", "nina", "gone")):
        said[name] = []
        for _ in range(FREE + 1):
            hashed.clear()
            answer = log_in("wrong", name, address=f"203.0.113.{number}")
            text = answer.content.decode().replace(name, "…")
            said[name].append((answer.status_code, WRONG in text, len(hashed)))
    assert all(each == said["rosa"] for each in said.values()), said
    assert [status for status, _, _ in said["rosa"]] == [422] * FREE + [429]
    assert [count for _, _, count in said["rosa"]] == [1] * FREE + [0]


def test_an_address_that_tries_many_names_is_slowed(db: None) -> None:
    answers = [log_in("wrong", f"name-{number}").status_code for number in range(31)]
    assert answers == [422] * 30 + [429]
    assert log_in("wrong", "name-99", address="198.51.100.1").status_code == 422


def test_an_own_account_does_not_clear_an_address(rosa: User) -> None:
    for number in range(29):
        log_in("wrong", f"name-{number}")
    for _ in range(5):
        assert log_in(GOOD).status_code == 302
    assert [log_in("wrong", f"more-{n}").status_code for n in range(2)] == [422, 429]


def test_strangers_cannot_lock_a_person_out(rosa: User) -> None:
    known = Client()
    assert log_in(GOOD, client=known, address="198.51.100.1").status_code == 302
    known.post(reverse("logout"))
    for number in range(120):
        log_in("wrong", address=f"203.0.113.{number}")
    # All strangers together wait now, a minute at most.
    stranger = log_in(GOOD, address="192.0.2.1")
    assert stranger.status_code == 429
    assert int(stranger.headers["Retry-After"]) <= 61
    assert log_in(GOOD, client=known, address="198.51.100.1").status_code == 302
    # A login link asks none of it.
    link = reverse("login_link", args=[LoginLink.make(rosa)])
    assert Client().get(link).status_code == 302


def test_a_known_browser_is_known_for_its_account_only(rosa: User) -> None:
    """And has its own free attempts, no more."""
    User.objects.create_user("mia", password=GOOD)
    known = Client()
    log_in(GOOD, client=known)
    known.post(reverse("logout"))
    for _ in range(FREE + 1):
        log_in("wrong", "mia")
    assert log_in(GOOD, "mia", client=known).status_code == 429
    answers = [log_in("wrong", client=known).status_code for _ in range(FREE + 1)]
    assert answers == [422] * FREE + [429]
    cookie = known.cookies[f"{settings.SESSION_COOKIE_NAME}_known"]
    assert cookie["httponly"]
    forged = Client()
    forged.cookies[f"{settings.SESSION_COOKIE_NAME}_known"] = cookie.value[:-3] + "abc"
    for _ in range(FREE):
        log_in("wrong")
    assert log_in(GOOD, client=forged).status_code == 429


def test_many_at_once_are_counted_before_they_are_judged(db: None) -> None:
    gates = password_gates("rosa", "203.0.113.7")
    assert [Attempts.objects.attempt(gates) > 0 for _ in range(FREE + 3)] == [False] * 5 + [
        True
    ] * 3


def test_the_table_says_neither_who_nor_where(rosa: User) -> None:
    log_in("wrong")
    rows = str(list(Attempts.objects.values()))
    assert "rosa" not in rows
    assert "203.0.113.7" not in rows


def test_a_day_later_all_is_forgotten(db: None) -> None:
    gate = Gate("account", "rosa", 1, QUARTER)
    assert not Attempts.objects.attempt([gate])
    assert Attempts.objects.attempt([gate])
    later(86_500)
    assert not Attempts.objects.attempt([gate])
    later(86_500)
    Attempts.objects.attempt([Gate("account", "mia", 1, QUARTER)])
    assert Attempts.objects.count() == 1  # what is old goes when somebody new comes


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("127.0.0.1", ""),
        ("::1", ""),
        ("::ffff:127.0.0.1", ""),
        ("", ""),
        ("unix:", ""),
        (" 203.0.113.7 ", "203.0.113.7"),
    ],
)
def test_what_is_counted_together(address: str, network: str) -> None:
    assert network_of(address) == network


def test_a_header_is_believed_only_where_it_is_set(rosa: User, settings: Any) -> None:
    def attempt(forwarded: str, name: str) -> int:
        data = {"username": name, "password": "wrong"}
        headers = {"X-Forwarded-For": forwarded}
        answer = Client().post(reverse("login"), data, headers=headers, REMOTE_ADDR="203.0.113.7")
        return int(answer.status_code)

    made_up = [attempt(f"198.51.100.{n}", f"name-{n}") for n in range(31)]
    assert made_up[-1] == 429
    settings.CLIENT_ADDRESS_HEADER = "X-Forwarded-For"
    assert attempt("192.0.2.1", "more") == 422  # another client of the proxy
    # What the client put before it makes no difference.
    same = [attempt(f"198.51.100.{n}, 192.0.2.2", f"many-{n}") for n in range(31)]
    assert same == [422] * 30 + [429]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.2, "1 second,"), (5, "5 seconds,"), (60, "1 minute,"), (61, "2 minutes,"), (900, "15 min")],
)
def test_the_waiting_time_in_words(seconds: float, said: str) -> None:
    assert said in wait_sentence(seconds)


@pytest.mark.parametrize("name", ["", "x" * 151, "a\0b"])
def test_what_no_account_can_be_called_is_refused_as_any_other(db: None, name: str) -> None:
    assert log_in("wrong", name).status_code == 422
    assert not Attempts.objects.exists()


def test_the_old_password_cannot_be_guessed_either(client: Client, rosa: User) -> None:
    client.force_login(rosa)
    data = {"old_password": "wrong", "new_password1": GOOD + "x", "new_password2": GOOD + "x"}
    found = [client.post(reverse("password"), data).status_code for _ in range(FREE + 1)]
    assert found == [422] * FREE + [429]


def test_the_admin_site_has_no_door_of_its_own(client: Client, rosa: User) -> None:
    answer = client.get(reverse("admin:login"))
    assert answer.headers["Location"].startswith(reverse("login"))
    refused = client.post(reverse("admin:login"), {"username": "rosa", "password": GOOD})
    assert refused.status_code == 302
    assert "_auth_user_id" not in client.session
