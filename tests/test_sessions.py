"""Logins as their owner sees them: listed, ended elsewhere, over after a while; each is logged."""

import logging
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import connection as database
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from playground.models import AuditEntry, Login, LoginLink, SecondFactor, User
from playground.models import logins as logins_module
from playground.models.logins import browser_name
from playground.views.entrance import PROVED, PROVED_SECONDS

pytestmark = pytest.mark.usefixtures("quick_hashes")

GOOD = "sturgeon-paddle-17"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
EDGE = "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0"
SESSIONS = reverse("sessions")


@pytest.fixture
def rosa(alice: User) -> User:
    alice.set_password(GOOD)
    alice.save()
    return alice


def logged_in(user: User, agent: str = FIREFOX, address: str = "192.0.2.7") -> Client:
    client = Client(headers={"User-Agent": agent}, REMOTE_ADDR=address)
    answer = client.post(reverse("login"), {"username": user.username, "password": GOOD})
    assert answer.status_code == 302
    return client


def is_in(client: Client) -> bool:
    return client.get(SESSIONS).status_code == 200


def expect_later(client: Client, seconds: float) -> None:
    """As if the login had been so long ago."""
    session = client.session
    session[PROVED] = session[PROVED] - seconds
    session.save()


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (FIREFOX, "Firefox on Linux"),
        (EDGE, "Edge on Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1",
         "Safari on iPhone"),
        ("curl/8.5.0", "curl/8.5.0"),
        ("", "An unnamed browser"),
        ("\x1b[31mé" + "x" * 500, "[31m" + "x" * 96),
    ],
)  # fmt: skip
def test_a_browser_is_called_by_its_name(agent: str, name: str) -> None:
    assert browser_name(agent) == name


def test_every_login_is_listed_and_one_can_be_ended_elsewhere(rosa: User) -> None:
    here, there, third = logged_in(rosa), logged_in(rosa, EDGE, "2001:db8::5"), logged_in(rosa)
    page = here.get(SESSIONS).content.decode()
    assert page.count("Log out there") == 2
    assert "Edge on Windows" in page
    assert "2001:db8::5" in page
    assert "by password" in page
    assert here.session.session_key not in page
    assert there.session.session_key not in page
    other = Login.objects.get(browser="Edge on Windows")
    here.post(reverse("sessions_end", args=[other.pk]))
    assert (is_in(here), is_in(there), is_in(third)) == (True, False, True)
    here.post(reverse("sessions_end_others"))
    assert (is_in(here), is_in(third)) == (True, False)
    said = AuditEntry.objects.filter(action="logged out elsewhere")
    assert said.count() == 2
    assert {entry.actor for entry in said} == {rosa}


def test_of_others_there_is_nothing_to_see_or_to_end(rosa: User, bob: User) -> None:
    client = logged_in(rosa)
    hers = Login.objects.get()
    stranger = Client()
    stranger.force_login(bob)
    assert stranger.post(reverse("sessions_end", args=[hers.pk])).status_code == 404
    assert "Firefox" not in stranger.get(SESSIONS).content.decode()
    assert is_in(client)


def test_an_admin_ends_the_logins_of_a_person(rosa: User, admin_client: Client) -> None:
    client, other = logged_in(rosa), logged_in(rosa)
    people = reverse("admin:playground_user_changelist")
    admin_client.post(people, {"action": "log_out", "_selected_action": [rosa.pk]})
    assert not is_in(client)
    assert not is_in(other)
    assert admin_client.get(SESSIONS).status_code == 200


def test_a_new_password_keeps_this_login_only_and_its_beginning(rosa: User) -> None:
    here, there = logged_in(rosa), logged_in(rosa)
    began = Login.objects.get(session_key=here.session.session_key).began_at
    new = {"new_password1": "another-paddle-18", "new_password2": "another-paddle-18"}
    here.post(reverse("password"), {"old_password": GOOD, **new})
    assert (is_in(here), is_in(there)) == (True, False)
    assert Login.objects.get(session_key=here.session.session_key).began_at == began


# --- Its end -----------------------------------------------------------------------------------


def end_of(client: Client) -> Any:
    return Session.objects.get(session_key=client.session.session_key).expire_date


def test_a_login_that_is_not_used_ends(rosa: User, settings: Any) -> None:
    settings.SESSION_IDLE_HOURS, settings.SESSION_DAYS = 2, 14
    client = logged_in(rosa)
    left = end_of(client) - timezone.now()
    assert timedelta(hours=1.9) < left <= timedelta(hours=2)
    # Used again after an hour: from then on the two hours count.
    Session.objects.update(expire_date=timezone.now() + timedelta(hours=1))
    logins_module._noticed.clear()
    assert is_in(client)
    assert end_of(client) - timezone.now() > timedelta(hours=1.9)
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    assert not is_in(client)


def test_a_login_ends_after_its_days_however_much_it_is_used(rosa: User, settings: Any) -> None:
    settings.SESSION_IDLE_HOURS, settings.SESSION_DAYS = 72, 14
    client = logged_in(rosa)
    session = client.session
    session["since"] -= 13.5 * 86_400
    session.save()
    logins_module._noticed.clear()
    assert is_in(client)
    assert end_of(client) - timezone.now() < timedelta(hours=12.1)
    session["since"] -= 86_400
    session.save()
    assert not is_in(client)


def test_a_page_writes_once_a_minute_only(rosa: User) -> None:
    client = logged_in(rosa)
    for wanted in ([], ["playground_login", "django_session"]):
        with CaptureQueriesContext(database) as captured:
            assert is_in(client)
        writes = [each["sql"] for each in captured if each["sql"].startswith("UPDATE")]
        assert [sql.split('"')[1] for sql in writes] == wanted
        logins_module._noticed.clear()


def test_what_has_ended_is_forgotten(rosa: User) -> None:
    logged_in(rosa)
    Session.objects.update(expire_date=timezone.now() - timedelta(days=1))
    Login.objects.update(seen_at=timezone.now() - timedelta(days=15))
    logged_in(rosa)
    assert Session.objects.count() == Login.objects.count() == 1


# --- Asked again -------------------------------------------------------------------------------


def test_before_a_change_an_open_session_is_asked_again(rosa: User) -> None:
    here, there = logged_in(rosa), logged_in(rosa)
    expect_later(here, PROVED_SECONDS + 1)
    for address in (reverse("sessions_end_others"), reverse("two_factor_confirm")):
        answer = here.post(address, {"code": "1"})
        assert answer["Location"].startswith(reverse("confirm"))
    assert here.get(reverse("two_factor"))["Location"].startswith(reverse("confirm"))
    assert is_in(there)
    wrong = here.post(reverse("confirm"), {"password": "no", "next": SESSIONS})
    assert wrong.status_code == 422
    assert AuditEntry.objects.filter(action="login failed").count() == 1
    right = here.post(reverse("confirm"), {"password": GOOD, "next": SESSIONS})
    assert right["Location"] == SESSIONS
    here.post(reverse("sessions_end_others"))
    assert not is_in(there)
    assert here.get(reverse("two_factor")).status_code == 200


def test_it_does_not_lead_elsewhere_and_its_guesses_are_counted(rosa: User) -> None:
    client = logged_in(rosa)
    data = {"password": GOOD, "next": "https://elsewhere.example/"}
    assert client.post(reverse("confirm"), data)["Location"] == reverse("compose")
    statuses = [client.post(reverse("confirm"), {"password": "x"}).status_code for _ in range(7)]
    assert statuses == [422] * 5 + [429] * 2


def test_who_has_no_password_is_asked_for_a_code_or_a_new_login(bob: User, client: Client) -> None:
    client.get(reverse("login_link", args=[LoginLink.make(bob)]))
    expect_later(client, PROVED_SECONDS + 1)
    page = client.get(reverse("confirm")).content.decode()
    assert "log in once more" in page
    codes = SecondFactor.begun(bob).confirm()
    page = client.get(reverse("confirm")).content.decode()
    assert "A code of your app" in page
    given = {"code": codes[0], "next": SESSIONS}
    assert client.post(reverse("confirm"), given)["Location"] == SESSIONS
    expect_later(client, PROVED_SECONDS + 1)
    assert client.post(reverse("confirm"), given).status_code == 422  # each works once


def test_who_has_no_password_is_warned_before_signing_out(bob: User) -> None:
    bob.set_unusable_password()
    bob.save()
    client = Client()
    client.get(reverse("login_link", args=[LoginLink.make(bob)]))
    warned = client.post(reverse("logout"))
    assert "has no password" in warned.content.decode()
    assert reverse("password") in warned.content.decode()
    assert client.get(reverse("compose")).status_code == 200
    assert client.post(reverse("logout"), {"sure": "1"}).url == reverse("login")
    assert client.get(reverse("compose")).status_code == 302


def test_who_has_a_password_signs_out_at_once(rosa: User) -> None:
    client = Client()
    client.get(reverse("login_link", args=[LoginLink.make(rosa)]))
    assert client.post(reverse("logout")).url == reverse("login")


def test_every_fault_of_a_new_password_is_told_at_once(rosa: User) -> None:
    client = Client()
    client.force_login(rosa)
    fields = {"old_password": "no", "new_password1": "1234567", "new_password2": "7654321"}
    page = client.post("/password/", fields).content.decode()
    assert page.count("field__error") == 5
    for fault in ("entered incorrectly", "too short", "too common", "entirely numeric", "match"):
        assert fault in page


def test_after_a_login_by_link_the_old_password_is_not_asked_for_a_while(rosa: User) -> None:
    client = Client()
    client.get(reverse("login_link", args=[LoginLink.make(rosa)]))
    assert "old_password" not in client.get(reverse("password")).content.decode()
    expect_later(client, PROVED_SECONDS + 1)
    assert "old_password" in client.get(reverse("password")).content.decode()


# --- The log -----------------------------------------------------------------------------------


def test_logins_are_logged_with_whence_and_never_with_what_was_typed(
    rosa: User, caplog: pytest.LogCaptureFixture
) -> None:
    logged_in(rosa)
    stranger = Client(headers={"User-Agent": EDGE}, REMOTE_ADDR="192.0.2.66")
    for name, typed in (("alice", "hunter2-oops"), ("hunter3-as-a-name", "x")):
        stranger.post(reverse("login"), {"username": name, "password": typed})
    token = LoginLink.make(rosa)
    Client().get(reverse("login_link", args=[token]))
    Client().get(reverse("login_link", args=[token]))
    said = [
        (entry.action, " ".join(entry.lines))
        for entry in AuditEntry.objects.filter(action__startswith="log").order_by("pk")
    ]
    assert said == [
        ("logged in", "by: password from: 192.0.2.7 with: Firefox on Linux"),
        ("login failed", "by: password from: 192.0.2.66 with: Edge on Windows"),
        ("logged in", "by: login link from: 127.0.0.1 with: An unnamed browser"),
        ("login failed",
         "by: used, late or unknown login link from: 127.0.0.1 with: An unnamed browser"),
    ]  # fmt: skip
    everything = f"{list(AuditEntry.objects.values())} {caplog.text}"
    assert "hunter" not in everything
    assert token not in everything
    refusals = [each for each in caplog.records if "Login refused" in each.getMessage()]
    assert len(refusals) == 3
    assert all(each.levelno == logging.WARNING for each in refusals)
    assert re.search(r"an unknown account, from '192\.0\.2\.66'", caplog.text)


def test_no_page_is_kept_by_the_browser(rosa: User) -> None:
    client = logged_in(rosa)
    names = ("compose", "history", "stats", "password", "sessions", "labels_page", "export")
    for name in names:
        assert "no-store" in client.get(reverse(name)).headers["Cache-Control"], name
    assert "no-store" in client.get("/runs/1/").headers["Cache-Control"]
    assert "no-store" in client.get(reverse("admin:index")).headers["Cache-Control"]
