"""The second step: codes by RFC 6238, each once; recovery codes; who has to have it."""

import base64
import re
import time
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection as database
from django.test import Client
from django.urls import reverse

from playground.models import AuditEntry, LoginLink, RecoveryCode, SecondFactor, User
from playground.models.factors import STEP, code_at

pytestmark = pytest.mark.usefixtures("quick_hashes")

GOOD = "sturgeon-paddle-17"
ADMIN = reverse("admin:index")


def now() -> int:
    return int(time.time()) // STEP


def code_of(user: User, later: int = 0) -> str:
    """What the app of this person shows; `later` steps on, for a second code in one test."""
    factor = SecondFactor.objects.get(user=user)
    return code_at(base64.b32decode(factor.secret), now() + later)


@pytest.fixture
def root(db: None) -> User:
    return User.objects.create_superuser("root", password=GOOD)


@pytest.fixture
def codes(root: User) -> list[str]:
    """Of a person who has set it up."""
    return SecondFactor.begun(root).confirm()


def first_step(client: Client, there: str = "") -> Any:
    data = {"username": "root", "password": GOOD, "next": there}
    return client.post(reverse("login"), data)


def second_step(client: Client, code: str) -> Any:
    return client.post(reverse("login_code"), {"code": code})


def is_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


@pytest.mark.parametrize(
    ("seconds", "code"),
    [(59, "287082"), (1111111109, "081804"), (1234567890, "005924"), (20000000000, "353130")],
)
def test_codes_are_those_of_the_rfc(seconds: int, code: str) -> None:
    """RFC 6238, appendix B, SHA-1, its last six digits."""
    assert code_at(b"12345678901234567890", seconds // STEP) == code


def test_it_is_set_up_with_a_picture_and_a_code(client: Client, root: User) -> None:
    first_step(client)
    page = client.get(reverse("two_factor")).content.decode()
    assert "<svg" in page
    assert "data:" not in page
    assert "style=" not in page
    factor = SecondFactor.objects.get(user=root)
    assert factor.secret[:4] in page
    again = client.get(reverse("two_factor")).content.decode()
    assert factor.secret[:4] in again  # a reload shows the same
    refused = client.post(reverse("two_factor_confirm"), {"code": "000000"})
    assert refused.status_code == 422
    assert SecondFactor.of(root) is None
    spaced = f"{code_of(root)[:3]} {code_of(root)[3:]}"
    done = client.post(reverse("two_factor_confirm"), {"code": spaced})
    assert SecondFactor.of(root)
    assert RecoveryCode.left(root) == 10
    shown = re.findall(r"\b[a-z2-7]{4}(?:-[a-z2-7]{4}){3}\b", done.content.decode())
    assert len(shown) == 10
    assert client.get(ADMIN).status_code == 200  # this session has shown it


def test_the_secret_is_encrypted_and_the_codes_are_hashed(root: User, codes: list[str]) -> None:
    with database.cursor() as cursor:
        cursor.execute("SELECT secret FROM playground_secondfactor")
        stored = cursor.fetchone()[0]
        cursor.execute("SELECT digest FROM playground_recoverycode")
        digests = str(cursor.fetchall())
    secret = SecondFactor.objects.get().secret
    assert stored.startswith("gAAAA")
    assert secret not in stored
    log = str(list(AuditEntry.objects.values()))
    for code in codes:
        assert code.replace("-", "") not in digests + log.replace("-", "")
    assert secret not in log


@pytest.mark.parametrize("way", ["password", "link"])
def test_both_ways_in_lead_to_the_second_step(root: User, codes: list[str], way: str) -> None:
    client = Client()
    if way == "link":
        answer = client.get(reverse("login_link", args=[LoginLink.make(root)]))
    else:
        answer = first_step(client, "/history/")
    assert answer.headers["Location"] == reverse("login_code")
    assert not is_in(client)
    assert client.get("/history/").headers["Location"].startswith("/login/")
    assert second_step(client, "123").status_code == 422
    assert not is_in(client)
    answer = second_step(client, code_of(root))
    assert answer.headers["Location"] == ("/" if way == "link" else "/history/")
    assert client.get(ADMIN).status_code == 200
    assert "second factor" in AuditEntry.objects.filter(action="logged in")[0].detail


def test_a_code_works_once(root: User, codes: list[str]) -> None:
    code = code_of(root)
    for expected in (True, False):
        client = Client()
        first_step(client)
        second_step(client, code)
        assert is_in(client) is expected
    client = Client()
    first_step(client)
    second_step(client, code_of(root, 1))  # a clock that is half a minute early
    assert is_in(client)
    factor = SecondFactor.objects.get()
    assert not factor.takes(code_of(root, 3))


def test_a_recovery_code_works_once_and_is_noted(root: User, codes: list[str]) -> None:
    for expected in (True, False):
        client = Client()
        first_step(client)
        second_step(client, codes[0].upper().replace("-", " "))
        assert is_in(client) is expected
    assert RecoveryCode.left(root) == 9
    assert AuditEntry.objects.filter(action="recovery code used").count() == 1


def test_codes_cannot_be_guessed(root: User, codes: list[str]) -> None:
    client = Client()
    first_step(client)
    answers = [second_step(client, "000000").status_code for _ in range(6)]
    assert answers == [422] * 5 + [429]
    other = Client()
    first_step(other)
    assert second_step(other, code_of(root)).status_code == 429


def test_the_second_step_alone_is_nothing(root: User, codes: list[str]) -> None:
    """Without the first, too late, or after the password or the person has changed."""
    assert second_step(Client(), code_of(root)).headers["Location"] == reverse("login")
    for change in ("late", "password", "inactive"):
        client = Client()
        first_step(client)
        if change == "late":
            session = client.session
            session["second_step"] = {**session["second_step"], "until": 1}
            session.save()
        if change == "password":
            root.set_password("another-one-18")
            root.save()
        if change == "inactive":
            User.objects.filter(pk=root.pk).update(is_active=False)
        assert second_step(client, code_of(root)).headers["Location"] == reverse("login")
        assert not is_in(client)
        root.set_password(GOOD)
        root.is_active = True
        root.save()


def test_where_it_is_required_the_admin_site_waits_for_it(
    client: Client, root: User, settings: Any
) -> None:
    settings.REQUIRE_TWO_FACTOR = True
    answer = first_step(client, ADMIN)
    assert answer.headers["Location"].startswith(reverse("two_factor"))
    assert client.get("/").status_code == 200
    change = reverse("admin:playground_user_changelist")
    for address in (ADMIN, change):
        answer = client.get(address, follow=True)
        assert answer.redirect_chain[-1][0].startswith(reverse("two_factor"))
        assert "the admin site is closed to you" in answer.content.decode()
    client.post(reverse("two_factor_confirm"), {"code": code_of(root), "next": ADMIN})
    assert client.get(ADMIN).status_code == 200


def test_where_it_is_required_others_go_without(client: Client, alice: User, settings: Any) -> None:
    settings.REQUIRE_TWO_FACTOR = True
    alice.set_password(GOOD)
    alice.save()
    data = {"username": "alice", "password": GOOD}
    assert client.post(reverse("login"), data).headers["Location"] == "/"


def test_a_session_from_before_has_to_show_it_for_the_admin_site(
    root: User, codes: list[str]
) -> None:
    client = Client()
    client.force_login(root)
    answer = client.get(ADMIN, follow=True)
    assert answer.redirect_chain[-1][0] == reverse("login_code")
    assert second_step(client, code_of(root)).headers["Location"] == ADMIN
    assert client.get(ADMIN).status_code == 200


def test_switching_it_off_and_new_codes_ask_for_a_code(
    client: Client, root: User, codes: list[str]
) -> None:
    client.force_login(root)
    change = reverse("two_factor_change")
    for do in ("off", "codes"):
        assert client.post(change, {"do": do, "code": "1"}).status_code == 422
    assert SecondFactor.of(root)
    client.post(change, {"do": "codes", "code": code_of(root)})
    assert RecoveryCode.left(root) == 10
    assert not RecoveryCode.take(root, codes[0])
    client.post(change, {"do": "off", "code": code_of(root, 1)})
    assert SecondFactor.of(root) is None
    assert not RecoveryCode.objects.exists()


def test_an_admin_resets_it_for_somebody(client: Client, root: User, alice: User) -> None:
    SecondFactor.begun(alice).confirm()
    client.force_login(root)
    action = {"action": "reset_second_factor", "_selected_action": alice.pk}
    client.post(reverse("admin:playground_user_changelist"), action)
    assert SecondFactor.of(alice) is None
    assert AuditEntry.objects.filter(kind="second factor", action="deleted", actor=root).exists()


def test_the_only_admin_gets_in_by_a_command(root: User, codes: list[str]) -> None:
    call_command("reset_two_factor", "root")
    assert SecondFactor.of(root) is None
    with pytest.raises(CommandError, match="no user named nobody"):
        call_command("reset_two_factor", "nobody")


def test_a_lost_master_key_leaves_the_recovery_codes(
    root: User, codes: list[str], settings: Any
) -> None:
    settings.ENCRYPTION_KEYS = ["MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]
    client = Client()
    first_step(client)
    assert second_step(client, "123456").status_code == 422
    second_step(client, codes[0])
    assert is_in(client)
