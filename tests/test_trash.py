"""Visibility, trash, restore, purge; and what an owner's rules carry out by themselves."""

import json
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from django.utils import timezone

from playground.models import (
    Chore,
    Comment,
    Comparison,
    Connection,
    Label,
    Rating,
    Retention,
    Run,
    RunLabel,
    Team,
    User,
)
from playground.models.retention import BATCH, erase_batch, purge_ownerless
from playground.upkeep import Upkeep
from playground.views.trash import _form
from tests.test_annotations import begun, one

HTMX = {"HX-Request": "true"}
NOW = timezone.now()


def old(user: User, connection: Connection, days: int, **changes: Any) -> Comparison:
    made = begun(user, connection)
    values = {"created_at": NOW - timedelta(days=days), **changes}
    Comparison.objects.filter(pk=made.pk).update(**values)
    return made


def erase_all() -> int:
    steps = 0
    while erase_batch():
        steps += 1
    return steps


# --- Visibility ----------------------------------------------------------------------------


def test_one_click_hides_a_comparison_and_what_others_said_stays(
    client: Client, alice: User, bob: User, connection: Connection
) -> None:
    run = one(bob, connection)
    Rating.objects.give(run, alice, 4)
    Comment.write(run, alice, "Good")
    client.force_login(bob)
    address = f"/comparisons/{run.comparison_id}/visibility/"
    answer = client.post(address, {"to": "private"}, headers=HTMX)
    assert 'value="team"' in answer.text
    offered = json.loads(answer["HX-Trigger"])["undoable"]
    assert offered["text"] == "Only you see it now."
    undone = client.post(offered["url"], offered["fields"], headers=HTMX)
    assert f'id="{offered["shown"]}"' in undone.text
    assert 'value="private"' in undone.text
    assert "HX-Trigger" not in undone
    client.post(address, {"to": "private"}, headers=HTMX)
    assert not Run.objects.visible_to(alice).exists()
    client.post(address, {"to": "team"})
    assert Run.objects.visible_to(alice).get().rating == 4
    assert run.comments.count() == 1
    assert client.post(address, {"to": "world"}).status_code == 404


def test_only_the_author_sets_who_sees_it(
    client: Client, alice: User, bob: User, connection: Connection
) -> None:
    run = one(bob, connection)
    client.force_login(alice)
    address = f"/comparisons/{run.comparison_id}/visibility/"
    assert client.post(address, {"to": "private"}).status_code == 404
    assert "data-lock" not in client.get(f"/runs/{run.pk}/").text


# --- In and out ----------------------------------------------------------------------------


def test_what_is_deleted_can_be_restored(client: Client, bob: User, connection: Connection) -> None:
    made = begun(bob, connection, columns=2)
    client.force_login(bob)
    answer = client.post(f"/comparisons/{made.pk}/trash/", headers=HTMX)
    assert f"/comparisons/{made.pk}/restore/" in answer["HX-Trigger"]
    assert answer["HX-Redirect"] == "/history/"
    for address in (f"/comparisons/{made.pk}/", f"/runs/{made.runs.first().pk}/"):  # type: ignore[union-attr]
        assert client.get(address).status_code == 404
    assert f"Restore Comparison {made.pk}" in client.get("/trash/").text
    assert client.post(f"/comparisons/{made.pk}/restore/", headers=HTMX).status_code == 200
    assert client.get(f"/comparisons/{made.pk}/").status_code == 200
    assert "The trash is empty" in client.get("/trash/").text


def test_from_a_row_of_the_list_the_page_stays(
    client: Client, bob: User, connection: Connection
) -> None:
    made = begun(bob, connection)
    client.force_login(bob)
    headers = {**HTMX, "HX-Target": f"comparison-{made.pk}"}
    answer = client.post(f"/comparisons/{made.pk}/trash/", headers=headers)
    assert "HX-Redirect" not in answer
    assert "HX-Trigger" in answer


def test_a_live_run_is_asked_to_stop_before_it_goes(bob: User, connection: Connection) -> None:
    made = begun(bob, connection)
    made.runs.update(status="running")
    made.trash()
    assert made.runs.get().cancel_requested_at is not None


def test_purged_is_gone_at_once_and_its_rows_follow_in_batches(
    client: Client, bob: User, connection: Connection
) -> None:
    made = begun(bob, connection, columns=BATCH + 1)
    run = made.runs.first()
    assert run is not None
    Comment.write(run, bob, "Mine")
    client.force_login(bob)
    assert client.post(f"/comparisons/{made.pk}/purge/").status_code == 404  # not in the trash
    made.trash()
    client.post(f"/comparisons/{made.pk}/purge/", headers=HTMX)
    for what in ("restore", "purge", "trash", "share"):
        assert client.post(f"/comparisons/{made.pk}/{what}/").status_code == 404
    assert "The trash is empty" in client.get("/trash/").text
    made.restore()
    assert not Run.objects.visible_to(bob).exists()
    assert erase_all() >= 2
    assert not Comparison.objects.exists()
    assert not Run.objects.exists()
    assert not Comment.objects.exists()


# --- Rules ---------------------------------------------------------------------------------


def test_without_a_rule_nothing_goes_by_itself(bob: User, connection: Connection) -> None:
    made = old(bob, connection, 4000)
    made.trash()
    assert Retention.objects.trash_due() == Retention.objects.purge_due() == 0


def test_old_runs_go_to_the_trash_and_what_is_protected_stays(
    team: Team, bob: User, charlie: User, connection: Connection
) -> None:
    rule = Retention.objects.create(team=team, trash_after=30)
    [keep] = Label.objects.named(team.pk, ["keep"])
    rule.keep_labels.add(keep)
    gone, young = old(bob, connection, 31), old(bob, connection, 29)
    starred, labelled, live = (old(bob, connection, 99) for _ in range(3))
    starred.runs.update(starred=True)
    RunLabel.objects.put([labelled.runs.get().pk], [keep])
    live.runs.update(status="running")
    restored = old(bob, connection, 99, restored_at=NOW - timedelta(days=2))
    foreign = old(charlie, connection, 99)
    assert Retention.objects.trash_due(NOW) == 1
    assert Retention.objects.trash_due(NOW) == 0
    assert set(Comparison.objects.exclude(deleted_at=None)) == {gone}
    assert gone.runs.get().deleted_at is not None
    kept = {young, starred, labelled, live, restored, foreign}
    assert set(Comparison.objects.filter(deleted_at=None)) == kept
    rule.keep_starred = False
    rule.save()
    assert Retention.objects.trash_due(NOW) == 1


def test_what_lay_in_the_trash_for_long_is_purged(
    team: Team, bob: User, connection: Connection
) -> None:
    Retention.objects.create(team=team, purge_after=7)
    for days in (6, 8):
        made = begun(bob, connection)
        Comparison.objects.move([made.pk], deleted_at=NOW - timedelta(days=days))
    assert Retention.objects.purge_due(NOW) == 1
    assert Retention.objects.purge_due(NOW) == 0
    erase_all()
    assert Comparison.objects.count() == 1


def test_with_a_deleted_person_go_their_private_runs_and_no_others(
    client: Client, alice: User, bob: User, rita: User, connection: Connection
) -> None:
    """DESIGN 7: nobody may see another person's private runs, and the team keeps its history."""
    kept, hidden, moved = (begun(bob, connection) for _ in range(3))
    hidden.show_to("private")
    moved.show_to("private")
    moved.trash()
    other = begun(alice, connection)
    other.show_to("private")
    Run.objects.update(status="completed")
    live = begun(bob, connection)
    live.show_to("private")
    live.runs.update(status="running")
    everything = set(Comparison.objects.all())
    assert purge_ownerless() == 0
    bob.delete()
    for who in (alice, rita):
        client.force_login(who)
        for made in (hidden, moved, live):
            run = made.runs.get()
            assert client.get(f"/comparisons/{made.pk}/").status_code == 404
            assert client.get(f"/runs/{run.pk}/").status_code == 404
        assert not Run.objects.visible_to(who).filter(comparison__in=[hidden, moved]).exists()
        assert not Run.objects.trashed_for(who).filter(comparison__in=[hidden, moved]).exists()
    assert purge_ownerless() == 2
    assert purge_ownerless() == 0
    erase_all()
    assert set(Comparison.objects.all()) == everything - {hidden, moved}
    assert kept.runs.get().author_name == "bob"
    Run.objects.update(status="cancelled")
    assert purge_ownerless() == 1


def test_many_go_in_batches(team: Team, bob: User, connection: Connection) -> None:
    Retention.objects.create(team=team, trash_after=1)
    for _ in range(BATCH + 3):
        old(bob, connection, 2)
    moved = []
    while count := Retention.objects.trash_due():
        moved.append(count)
    assert sum(moved) == BATCH + 3
    assert max(moved) <= BATCH


def test_of_several_processes_one_has_the_turn(db: None) -> None:
    every = timedelta(minutes=1)
    assert Chore.objects.take("sweep", every, NOW)
    assert not Chore.objects.take("sweep", every, NOW + timedelta(seconds=59))
    assert Chore.objects.take("sweep", every, NOW + timedelta(seconds=60))
    back = NOW - timedelta(days=1)  # the clock was set back
    assert Chore.objects.take("sweep", every, back)
    assert not Chore.objects.take("sweep", every, back)


@pytest.mark.django_db(transaction=True)
async def test_the_server_carries_the_rules_out(
    team: Team, bob: User, connection: Connection
) -> None:
    await Retention.objects.acreate(team=team, trash_after=1, purge_after=1)
    made = await sync_to_async(old)(bob, connection, 2)
    await Upkeep().round()
    await made.arefresh_from_db()
    assert made.deleted_at is not None
    past = timezone.now() - timedelta(days=2)
    await sync_to_async(Comparison.objects.move)([made.pk], deleted_at=past)
    await Chore.objects.all().adelete()
    await Upkeep().round()
    assert not await Comparison.objects.aexists()


def test_an_owner_writes_the_rules(client: Client, alice: User, team: Team) -> None:
    client.force_login(alice)
    data = {"trash_after": "90", "purge_after": "", "keep_starred": "on", "labels": "keep, Gold=1"}
    assert client.post("/trash/rules/", data).status_code == 302
    rule = Retention.objects.get(team=team)
    assert (rule.trash_after, rule.purge_after, rule.keep_starred) == (90, None, True)
    assert {label.name for label in rule.keep_labels.all()} == {"keep", "Gold=1"}
    page = client.get("/trash/").text
    assert 'value="90"' in page
    assert "Gold=1, keep" in page


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "soon", "99999"])
def test_rules_that_cannot_be_are_refused_in_place(value: str, client: Client, alice: User) -> None:
    client.force_login(alice)
    answer = client.post("/trash/rules/", {"trash_after": value, "labels": ""})
    assert answer.status_code == 422
    assert f'value="{value}"' in answer.text
    assert not Retention.objects.exists()


def test_members_see_their_own_trash_and_no_rules(
    client: Client, alice: User, bob: User, connection: Connection
) -> None:
    begun(alice, connection).trash()
    client.force_login(bob)
    page = client.get("/trash/").text
    assert "The trash is empty" in page
    assert "What goes by itself" not in page
    assert client.post("/trash/rules/", {"trash_after": "1"}).status_code == 404


def test_two_tabs_that_set_the_first_rules_at_once_both_do(team: Team, alice: User) -> None:
    membership = alice.membership()
    assert membership is not None
    forms = [_form(membership, {"trash_after": days, "labels": "a"}) for days in ("9", "3")]
    for form in forms:
        assert form is not None
        assert form.is_valid()
    for form in forms:
        assert form is not None
        form.keep()
    rule = Retention.objects.get()
    assert (rule.trash_after, rule.keep_labels.count()) == (3, 1)
