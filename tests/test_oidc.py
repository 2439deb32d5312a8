"""Sign-in through OpenID Connect: a real provider, a real server, HTTP between them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.fake_oidc import CLIENT, SECRET, FakeOidc
from tests.server import Server

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def oidc() -> Iterator[FakeOidc]:
    with FakeOidc() as provider:
        yield provider


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, oidc: FakeOidc) -> Iterator[Server]:
    folder = Path(tmp_path_factory.mktemp("oidc"))
    (folder / "client-secret").write_text(SECRET)
    with Server(
        folder,
        OIDC_ISSUER=oidc.url,
        OIDC_CLIENT_ID=CLIENT,
        OIDC_CLIENT_SECRET_FILE=str(folder / "client-secret"),
        OIDC_NAME="Example ID",
        OIDC_DEFAULT_TEAM="Team",
    ) as running:
        yield running


@pytest.fixture(autouse=True)
def as_it_was(oidc: FakeOidc) -> Iterator[None]:
    yield
    oidc.denies = False
    oidc.token_changes = {}
    oidc.userinfo_changes = {}
    oidc.signing_key = oidc.key


@pytest.fixture
def sign_in(server: Server, oidc: FakeOidc) -> Iterator[Callable[..., httpx.Response]]:
    """In a new browser, from the login page; the page that one ends on."""
    browsers: list[httpx.Client] = []

    def go(there: str = "", **person: Any) -> httpx.Response:
        oidc.person = person
        browsers.append(httpx.Client(trust_env=False, follow_redirects=True, timeout=30))
        return browsers[-1].get(
            f"{server.url}/oidc/login/", params={"next": there} if there else {}
        )

    yield go
    for each in browsers:
        each.close()


def shell(server: Server, line: str) -> None:
    done = server.manage("shell", "-v", "0", "-c", f"from playground.models import *; {line}")
    assert done.returncode == 0, done.stderr


def people(server: Server) -> dict[str, dict[str, Any]]:
    rows = server.rows("SELECT * FROM playground_user")
    return {row["username"]: row for row in rows}


def test_the_login_page_has_a_button(server: Server) -> None:
    page = httpx.get(f"{server.url}/login/?next=/history/", trust_env=False).text
    assert "Log in with Example ID" in page
    assert "/oidc/login/?next=%2Fhistory%2F" in page


def test_a_new_person_comes_in_and_comes_again(
    server: Server, oidc: FakeOidc, sign_in: Callable[..., httpx.Response]
) -> None:
    person = {"sub": "new", "preferred_username": "nora", "given_name": "Nora"}
    page = sign_in("/history/", **person)
    assert str(page.url) == f"{server.url}/history/"
    assert {"/authorize", "/token", "/userinfo", "/keys"} <= set(oidc.asked)
    nora = people(server)["nora"]
    assert (nora["is_staff"], nora["first_name"], nora["email"]) == (0, "Nora", "")
    query = "SELECT role FROM playground_membership WHERE user_id = ?"
    assert server.rows(query, nora["id"]) == [{"role": "member"}]
    assert sign_in(**person).status_code == 200
    assert sum(name.startswith("nora") for name in people(server)) == 1
    [kept] = server.rows("SELECT * FROM socialaccount_socialaccount WHERE uid = ?", "new")
    assert kept["extra_data"] in ("{}", {})
    assert not server.rows("SELECT * FROM socialaccount_socialtoken")
    log = server.rows("SELECT action, detail FROM playground_auditentry WHERE object_name = 'nora'")
    assert {"created", "linked a sign-in", "logged in"} <= {row["action"] for row in log}


def test_who_only_reviews_begins_with_the_reviews(
    server: Server, sign_in: Callable[..., httpx.Response]
) -> None:
    person = {"sub": "reads", "preferred_username": "rene"}
    assert str(sign_in(**person).url) == f"{server.url}/"
    shell(server, "Membership.objects.get(user__username='rene').become('reviewer')")
    assert str(sign_in(**person).url) == f"{server.url}/review/"
    assert str(sign_in("/history/", **person).url) == f"{server.url}/history/"


def test_a_taken_name_gets_a_number(server: Server, sign_in: Callable[..., Any]) -> None:
    sign_in(sub="other", preferred_username="Admin")
    assert "Admin-2" in people(server)


@pytest.mark.parametrize("allowed", [False, True])
@pytest.mark.parametrize("verified", [False, True, "true"])
def test_an_account_is_linked_only_by_a_verified_address_and_where_allowed(
    server: Server, sign_in: Callable[..., httpx.Response], allowed: bool, verified: Any
) -> None:
    name = f"rosa-{allowed}-{type(verified).__name__}-{verified}".lower()
    email = f"{name}@example.org"
    shell(server, f"User.objects.create_user({name!r}, email={email!r}, may_link={allowed})")
    before = set(people(server))
    page = sign_in(sub=name, email=email.upper(), email_verified=verified, preferred_username="r")
    rosa = people(server)[name]
    query = "SELECT user_id FROM socialaccount_socialaccount WHERE uid = ?"
    linked = server.rows(query, name)
    if verified is not True:
        [row] = linked  # somebody new, without the address
        assert row["user_id"] != rosa["id"]
        assert set(people(server)) - before
    elif allowed:
        assert linked == [{"user_id": rosa["id"]}]
        assert not rosa["may_link"]
        assert name in page.text
    else:
        assert not linked
        assert "There is an account with this e-mail address already" in page.text
        assert set(people(server)) == before


def test_who_is_deactivated_stays_out(server: Server, sign_in: Callable[..., Any]) -> None:
    sign_in(sub="gone", preferred_username="gone")
    shell(server, "User.objects.filter(username='gone').update(is_active=False)")
    page = sign_in(sub="gone", preferred_username="gone")
    assert "This account is deactivated" in page.text
    assert "/login/" in str(page.url)


def test_a_second_factor_is_asked_for(server: Server, sign_in: Callable[..., Any]) -> None:
    sign_in(sub="two", preferred_username="two")
    shell(server, "SecondFactor.begun(User.objects.get(username='two')).confirm()")
    page = sign_in(sub="two")
    assert str(page.url).endswith("/login/code/")
    assert "The second step" in page.text


def test_a_cancelled_sign_in_is_said(
    oidc: FakeOidc, sign_in: Callable[..., httpx.Response]
) -> None:
    oidc.denies = True
    page = sign_in(sub="no")
    assert "The sign-in was cancelled" in page.text


@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("aud", "another-client"),
        ("iss", "http://elsewhere.example"),
        ("exp", 1),
        ("sub", "another-person"),
        ("nonce", "of-another-sign-in"),
        ("nonce", ""),
        ("userinfo", "another-person"),
        ("key", None),
    ],
)
def test_a_token_that_does_not_hold_lets_nobody_in(
    server: Server, oidc: FakeOidc, sign_in: Callable[..., Any], what: str, value: Any
) -> None:
    if what == "key":
        oidc.signing_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    elif what == "userinfo":
        oidc.userinfo_changes = {"sub": value}
    else:
        oidc.token_changes = {what: value}
    before = set(people(server))
    page = sign_in(sub="bad", preferred_username="bad")
    assert "The sign-in did not work" in page.text
    assert set(people(server)) == before


def test_a_callback_of_somebody_else_is_refused(server: Server, oidc: FakeOidc) -> None:
    """Without the state of this browser a code is worth nothing."""
    oidc.person = {"sub": "mallory", "preferred_username": "mallory"}
    with httpx.Client(trust_env=False, follow_redirects=True) as victim:
        page = victim.get(f"{server.url}/oidc/sso/callback/?code=x&state=made-up")
        assert "The sign-in did not work" in page.text
        assert victim.get(f"{server.url}/oidc/other/callback/").status_code == 404
    assert "mallory" not in people(server)


def test_a_token_of_an_earlier_sign_in_is_refused(
    server: Server, oidc: FakeOidc, sign_in: Callable[..., httpx.Response]
) -> None:
    """Played back in the same browser or in another: each sign-in has a nonce of its own."""
    person = {"sub": "replayed", "preferred_username": "rhea"}
    with httpx.Client(trust_env=False, follow_redirects=True, timeout=30) as browser:
        oidc.person = person
        assert browser.get(f"{server.url}/oidc/login/").status_code == 200
        used = oidc.tokens[-1]["nonce"]
        assert len(used) >= 32
        oidc.token_changes = {"nonce": used}
        again = browser.get(f"{server.url}/oidc/login/")
        assert "The sign-in did not work" in again.text
    assert "The sign-in did not work" in sign_in(**person).text
    assert oidc.queries[-1]["nonce"] != used


def test_a_link_to_the_sign_in_cannot_change_what_is_asked_for(
    server: Server, oidc: FakeOidc
) -> None:
    oidc.person = {"sub": "1"}
    crafted = "auth_params=nonce%3Dmine%26prompt%3Dnone&scope=admin&process=connect&action=reauth"
    with httpx.Client(trust_env=False, follow_redirects=True, timeout=30) as browser:
        browser.get(f"{server.url}/oidc/login/?{crafted}")
    asked = oidc.queries[-1]
    assert asked["nonce"] != "mine"
    assert "prompt" not in asked
    assert "admin" not in asked["scope"]


def test_it_leads_to_our_own_pages_only(server: Server, sign_in: Callable[..., Any]) -> None:
    page = sign_in("https://elsewhere.example/", sub="new2", preferred_username="new2")
    assert str(page.url).startswith(server.url)
