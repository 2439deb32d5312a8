"""Invitations: by whom, for how many, how long, and that nobody gets in twice by one."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.messages import get_messages
from django.db.models.signals import pre_save
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from playground.models import AuditEntry, Invitation, Membership, Team, User
from playground.models.invitations import INVITATION_LIFE
from playground.views.team import LAST_OWNER, TAKEN

pytestmark = pytest.mark.usefixtures("quick_hashes")

Role = Membership.Role
GOOD = "sturgeon-paddle-17"


def link(team: Team, by: User, role: str = Role.MEMBER, **more: Any) -> tuple[Invitation, str]:
    made, token = Invitation.objects.make(team, by, role, **more)
    return made, reverse("join", args=[token])


def join(address: str, name: str, password: str = GOOD, again: str = "") -> Any:
    data = {"username": name, "password1": password, "password2": again or password}
    return Client().post(address, data)


def test_of_two_who_take_a_name_at_once_one_is_asked_for_another(alice: User, team: Team) -> None:
    def other(instance: User, **_: Any) -> None:
        pre_save.disconnect(other, sender=User)
        User.objects.bulk_create([User(username=instance.username)])

    made, address = link(team, alice)
    pre_save.connect(other, sender=User)
    answer = join(address, "rosa")
    assert answer.status_code == 422
    assert TAKEN in answer.content.decode()
    made.refresh_from_db()
    assert made.used == 0


def test_an_owner_makes_a_link_that_is_shown_once(client: Client, alice: User, team: Team) -> None:
    client.force_login(alice)
    data = {"role": "reviewer", "note": "Rosa", "most_uses": "2"}
    page = client.post(reverse("invite"), data).content.decode()
    made = Invitation.objects.get()
    [address] = [word for word in page.replace("<", ">").split(">") if "/join/" in word]
    assert address.startswith(f"{settings.PUBLIC_URL}/join/")
    token = address.rstrip("/").rpartition("/")[2]
    assert made.ending == token[-4:]
    assert token not in str(vars(made))
    assert token not in client.get(reverse("team_page")).content.decode()
    assert (made.role, made.note, made.most_uses) == ("reviewer", "Rosa", 2)
    assert abs(made.expires_at - timezone.now() - INVITATION_LIFE) < timedelta(minutes=1)
    noted = "".join(AuditEntry.objects.values_list("detail", flat=True))
    assert "Rosa" in noted
    assert token not in noted
    assert made.digest not in noted


def test_a_link_that_only_this_computer_can_open_says_so(
    client: Client, alice: User, settings: Any
) -> None:
    client.force_login(alice)
    said = "Only this computer can open it"
    for address, alone in ("http://127.0.0.1:8000", True), ("https://play.example.org", False):
        settings.PUBLIC_URL = address
        page = client.post(reverse("invite"), {"role": "member", "most_uses": "1"})
        assert (said in page.content.decode()) is alone


@pytest.mark.parametrize("uses", ["0", "101", "many", ""])
def test_a_number_out_of_bounds_gets_a_sentence_and_keeps_the_rest(
    client: Client, alice: User, uses: str
) -> None:
    client.force_login(alice)
    page = client.post(reverse("invite"), {"role": "owner", "note": "Rosa", "most_uses": uses})
    assert page.status_code == 422
    assert 'value="Rosa"' in page.content.decode()
    assert 'id="e-most"' in page.content.decode()
    assert not Invitation.objects.exists()


def test_a_new_person_joins_and_is_in(alice: User, team: Team) -> None:
    made, address = link(team, alice, Role.REVIEWER)
    client = Client()
    assert f"Join {team}" in client.get(address).content.decode()
    data = {"username": "rosa", "password1": GOOD, "password2": GOOD}
    assert client.post(address, data).headers["Location"] == "/review/"
    assert client.get("/").status_code == 200
    rosa = User.objects.get(username="rosa")
    assert rosa.check_password(GOOD)
    assert (rosa.current_team, rosa.memberships.get().role) == (team, "reviewer")
    made.refresh_from_db()
    assert (made.used, made.state) == (1, "used")
    log = AuditEntry.objects.about(made).get(action="joined by")
    assert "rosa" in log.detail


def test_whoever_is_logged_in_joins_with_that_account(
    client: Client, alice: User, charlie: User, team: Team
) -> None:
    _, address = link(team, alice)
    client.force_login(charlie)
    assert "Join as charlie" in client.get(address).content.decode()
    assert client.post(address).headers["Location"] == "/"
    assert charlie.memberships.filter(team=team, role=Role.MEMBER).exists()
    charlie.refresh_from_db()
    assert charlie.current_team == team


def test_a_member_uses_nothing_up_and_keeps_the_role(
    client: Client, alice: User, rita: User, team: Team
) -> None:
    made, address = link(team, alice, Role.OWNER)
    client.force_login(rita)
    client.post(address)
    made.refresh_from_db()
    assert made.used == 0
    assert rita.memberships.get().role == Role.REVIEWER


@pytest.mark.parametrize("why", ["used", "revoked", "late", "unknown"])
def test_a_link_that_is_not_open_says_nothing_of_the_team(
    alice: User, charlie: User, team: Team, why: str
) -> None:
    made, address = link(team, alice)
    if why == "used":
        assert made.accept(charlie)
    if why == "revoked":
        made.revoke()
    if why == "late":
        Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    if why == "unknown":
        address = reverse("join", args=["no-such-token"])
    for answer in (Client().get(address), join(address, "rosa")):
        assert answer.status_code == 404
        assert "This invitation is not open" in answer.content.decode()
        assert team.name not in answer.content.decode()
    assert not User.objects.filter(username="rosa").exists()


def test_the_last_place_goes_to_one(alice: User, charlie: User, rita: User, team: Team) -> None:
    """Both have the page open; the second press finds the place gone."""
    others = Team.objects.create(name="Third")
    made, _ = Invitation.objects.make(others, alice, Role.MEMBER)
    twin = Invitation.objects.get(pk=made.pk)
    assert made.accept(charlie)
    assert twin.accept(rita) is None
    assert not rita.memberships.filter(team=others).exists()


@pytest.mark.parametrize(
    ("name", "password", "again", "said"),
    [
        ("alice", GOOD, "", "This user name is taken"),
        ("ALICE", GOOD, "", "This user name is taken"),
        ("rosa", "kr4bbe", "", "too short"),
        ("rosa", "12345678901", "", "entirely numeric"),
        ("rosa", "password123", "", "too common"),
        ("rosalinda", "rosalinda1", "", "too similar"),
        ("rosa", GOOD, "another-one-18", "match"),
        ("r o s a", GOOD, "", "valid username"),
        ("", GOOD, "", "required"),
    ],
)
def test_a_name_or_password_that_will_not_do_gets_a_sentence(
    alice: User, team: Team, name: str, password: str, again: str, said: str
) -> None:
    made, address = link(team, alice)
    answer = join(address, name, password, again)
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert password not in answer.content.decode()
    made.refresh_from_db()
    assert made.used == 0


FAULTS = ("too similar", "too short", "match", "taken")


def test_all_faults_are_named_at_once(alice: User, team: Team) -> None:
    _, address = link(team, alice)
    page = join(address, "alice", "alice1", "alice2").content.decode()
    assert [said for said in FAULTS if said not in page] == []
    page = join(address, "rosa", "123456", "").content.decode()
    assert all(said in page for said in ("too short", "too common", "entirely numeric"))


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"password1": ""}, []),
        ({"password1": GOOD}, []),
        ({"password1": "rosa1"}, ["too similar", "too short"]),
        ({"password1": "rosa1", "password2": "rosa2"}, ["too similar", "too short", "match"]),
    ],
)
def test_a_password_is_checked_while_it_is_typed_and_nobody_joins(
    alice: User, team: Team, typed: dict[str, str], said: list[str]
) -> None:
    _, address = link(team, alice)
    answer = Client().post(address, {"username": "rosa", "check": "1", "password2": "", **typed})
    page = answer.content.decode()
    assert answer.status_code == 200
    assert page.count("field__error") == len(said)
    assert all(each in page for each in said)
    assert "no-store" in answer.headers["Cache-Control"]
    assert not User.objects.filter(username="rosa").exists()


def test_the_address_is_kept_to_itself(alice: User, team: Team) -> None:
    _, address = link(team, alice)
    answer = Client().get(address)
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert "no-store" in answer.headers["Cache-Control"]


def test_an_owner_revokes(client: Client, alice: User, team: Team) -> None:
    made, address = link(team, alice)
    client.force_login(alice)
    client.post(reverse("revoke_invitation", args=[made.pk]))
    made.refresh_from_db()
    assert made.state == "revoked"
    assert Client().get(address).status_code == 404


def test_everybody_in_the_team_sees_who_is_in_it_and_owners_act(
    alice: User, bob: User, rita: User, team: Team
) -> None:
    link(team, alice, note="Rosa")
    pages = {}
    for user in (alice, bob, rita):
        client = Client()
        client.force_login(user)
        pages[user] = client.get(reverse("team_page")).content.decode()
        assert all(name in pages[user] for name in ("alice", "bob", "rita"))
    assert "Rosa" in pages[alice]
    assert 'name="role"' in pages[alice]
    for user in (bob, rita):
        assert "Rosa" not in pages[user]
        assert 'name="role"' not in pages[user]


def test_an_owner_changes_a_role_and_removes(
    client: Client, alice: User, bob: User, team: Team
) -> None:
    client.force_login(alice)
    address = reverse("team_member", args=[bob.memberships.get().pk])
    client.post(address, {"role": "reviewer"})
    assert bob.memberships.get().role == "reviewer"
    assert client.post(address, {"role": "emperor"}).status_code == 404
    answer = client.post(address, {"remove": "1"})
    assert "bob is not in the team any more" in str(list(get_messages(answer.wsgi_request))[-1])
    assert not bob.memberships.exists()
    noted = AuditEntry.objects.filter(kind="membership").values_list("action", "actor_name")
    assert ("changed", "alice") in noted
    assert ("deleted", "alice") in noted


@pytest.mark.parametrize("data", [{"role": "member"}, {"remove": "1"}])
def test_the_last_owner_stays(client: Client, alice: User, bob: User, data: dict[str, str]) -> None:
    client.force_login(alice)
    answer = client.post(reverse("team_member", args=[alice.memberships.get().pk]), data)
    assert answer.status_code == 409
    assert LAST_OWNER in answer.content.decode()
    assert alice.memberships.get().role == Role.OWNER
    # With a second owner, who can act, the first may go.
    bob.memberships.get().become(Role.OWNER)
    User.objects.filter(pk=bob.pk).update(is_active=False)
    own = reverse("team_member", args=[alice.memberships.get().pk])
    assert client.post(own, data).status_code == 409
    User.objects.filter(pk=bob.pk).update(is_active=True)
    assert client.post(own, data).status_code == 302


def test_a_member_may_leave_and_touch_nobody_else(client: Client, bob: User, rita: User) -> None:
    client.force_login(bob)
    other = reverse("team_member", args=[rita.memberships.get().pk])
    assert client.post(other, {"remove": "1"}).status_code == 404
    own = reverse("team_member", args=[bob.memberships.get().pk])
    assert client.post(own, {"role": "owner"}).status_code == 404
    assert client.post(own, {"remove": "1"}).status_code == 302
    assert not bob.memberships.exists()
    assert client.get(reverse("team_page")).status_code == 404


def test_a_site_admin_invites_into_any_team(client: Client, team: Team) -> None:
    client.force_login(User.objects.create_superuser("root"))
    add = reverse("admin:playground_invitation_add")
    data = {"team": team.pk, "role": "owner", "note": "Rosa", "most_uses": "1"}
    page = client.post(add, data, follow=True).content.decode()
    [made] = Invitation.objects.all()
    address = next(word for word in page.replace("<", " ").split() if "/join/" in word)
    assert Client().get(address.removeprefix(settings.PUBLIC_URL)).status_code == 200
    assert page.count("/join/") == 1
    log = AuditEntry.objects.about(made).filter(action="created")
    assert log.get().actor_name == "root"
    action = {"action": "revoke", "_selected_action": made.pk}
    client.post(reverse("admin:playground_invitation_changelist"), action)
    made.refresh_from_db()
    assert made.state == "revoked"
    for uses in ("0", "101"):
        assert "errorlist" in client.post(add, {**data, "most_uses": uses}).content.decode()
    assert Invitation.objects.count() == 1
