"""Labels in bulk, renamed and merged; trash in bulk: in batches, with the rights of now."""

from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from django.utils import timezone

from playground.models import (
    Comparison,
    Connection,
    Job,
    Label,
    Membership,
    Retention,
    Run,
    RunLabel,
    Team,
    User,
)
from playground.models.batches import BATCH
from playground.models.labels import labelled_elsewise
from playground.models.work import LEASE
from playground.upkeep import Upkeep
from tests.test_annotations import begun, one

HTMX = {"HX-Request": "true"}
Kind = Job.Kind


def member(user: User) -> Membership:
    found = user.membership()
    assert found is not None
    return found


def label(team: Team, name: str) -> Label:
    [found] = Label.objects.named(team.pk, [name])
    return found


def give(run: Run, *names: str) -> None:
    RunLabel.objects.put([run.pk], Label.objects.named(run.team_id, names))


def names(run: Run) -> set[str]:
    return set(run.labels.values_list("name", flat=True))


def finish(job: Job) -> int:
    steps = 0
    while job.step():
        steps += 1
    return steps


def all_ids() -> list[int]:
    return list(Run.objects.order_by("pk").values_list("pk", flat=True))


# --- Jobs ----------------------------------------------------------------------------------


def test_a_label_is_put_on_many_in_batches(team: Team, bob: User, connection: Connection) -> None:
    begun(bob, connection, columns=BATCH + 1)
    ids = all_ids()
    give(Run.objects.get(pk=ids[0]), "stage=draft")
    job = Job.objects.begin(Kind.LABEL, member(bob), ids, label=label(team, "stage=final"))
    assert finish(job) >= 2
    assert (job.state, job.done, job.total) == ("finished", BATCH + 1, BATCH + 1)
    assert RunLabel.objects.filter(label__name="stage=final").count() == BATCH + 1
    assert names(Run.objects.get(pk=ids[0])) == {"stage=final"}  # one value of a key
    undo = Job.objects.begin(Kind.UNLABEL, member(bob), ids, label=label(team, "stage=final"))
    finish(undo)
    assert not RunLabel.objects.exists()


def test_only_runs_that_the_author_may_see_are_touched(
    team: Team, alice: User, bob: User, charlie: User, connection: Connection
) -> None:
    seen, hidden = one(bob, connection), one(alice, connection, visibility="private")
    foreign, deleted = one(charlie, connection), one(bob, connection)
    deleted.comparison.trash()
    ids = [run.pk for run in (seen, hidden, foreign, deleted)]
    finish(Job.objects.begin(Kind.LABEL, member(bob), ids, label=label(team, "x")))
    assert [names(run) for run in (seen, hidden, foreign, deleted)] == [{"x"}, set(), set(), set()]


def test_whoever_has_left_the_team_changes_nothing_more(
    team: Team, bob: User, connection: Connection
) -> None:
    run = one(bob, connection)
    job = Job.objects.begin(Kind.LABEL, member(bob), [run.pk], label=label(team, "x"))
    bob.memberships.all().delete()
    finish(job)
    assert names(run) == set()


def test_a_job_is_taken_once_and_taken_over_where_it_stopped(
    team: Team, bob: User, connection: Connection
) -> None:
    begun(bob, connection, columns=2 * BATCH)
    started = Job.objects.begin(Kind.LABEL, member(bob), all_ids(), label=label(team, "x"))
    job = Job.objects.take()
    assert job == started
    assert Job.objects.take() is None
    assert job.step()  # and now its process is killed
    Job.objects.filter(pk=job.pk).update(lease=timezone.now() - LEASE - timedelta(seconds=1))
    other = Job.objects.take()
    assert other is not None
    assert other.done == RunLabel.objects.count() == job.done > 0
    finish(other)
    assert (other.done, RunLabel.objects.count()) == (2 * BATCH, 2 * BATCH)


def test_a_stopped_job_keeps_what_was_done(team: Team, bob: User, connection: Connection) -> None:
    begun(bob, connection, columns=2 * BATCH)
    job = Job.objects.begin(Kind.LABEL, member(bob), all_ids(), label=label(team, "x"))
    assert job.step()
    Job.objects.get(pk=job.pk).stop()
    assert not job.step()
    assert RunLabel.objects.count() == job.done > 0
    assert Job.objects.get(pk=job.pk).state == "stopped"


def test_trash_and_its_undo_in_bulk_touch_only_what_one_may_delete(
    alice: User, bob: User, rita: User, connection: Connection
) -> None:
    own, others = begun(bob, connection), begun(alice, connection)
    ids = [own.pk, others.pk]
    finish(Job.objects.begin(Kind.TRASH, member(rita), ids))
    assert Run.objects.visible_to(bob).count() == 2
    finish(Job.objects.begin(Kind.TRASH, member(bob), ids))
    assert set(Comparison.objects.visible_to(bob)) == {others}
    finish(Job.objects.begin(Kind.TRASH, member(alice), ids))
    assert not Comparison.objects.visible_to(bob).exists()
    finish(Job.objects.begin(Kind.RESTORE, member(alice), ids))
    assert Run.objects.visible_to(bob).count() == 2


@pytest.mark.django_db(transaction=True)
async def test_the_server_works_on_jobs_and_marks_one_that_breaks(
    team: Team, bob: User, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await sync_to_async(one)(bob, connection)
    membership = await sync_to_async(member)(bob)
    tag = await sync_to_async(label)(team, "x")
    begin = sync_to_async(Job.objects.begin)
    good = await begin(Kind.LABEL, membership, [run.pk], label=tag)
    bad = await begin(Kind.LABEL, membership, [run.pk], label=tag)
    await bad.batches.all().aupdate(ids="not JSON")
    await Upkeep().round()
    await good.arefresh_from_db()
    await bad.arefresh_from_db()
    assert (good.state, bad.state) == ("finished", "failed")
    assert bad.error


@pytest.mark.django_db(transaction=True)
async def test_a_small_job_does_not_wait_for_the_end_of_a_large_one(
    team: Team, bob: User, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sync_to_async(begun)(bob, connection, columns=3 * BATCH)
    membership, tag = await sync_to_async(member)(bob), await sync_to_async(label)(team, "x")
    ids = await sync_to_async(all_ids)()
    begin = sync_to_async(Job.objects.begin)
    large = await begin(Kind.LABEL, membership, ids, label=tag)
    small = await begin(Kind.STAR, membership, ids[:1])
    ended: list[int] = []
    close = Job.close

    def closed(job: Job, state: str, said: str = "") -> bool:
        ended.append(job.pk)
        return close(job, state, said)

    monkeypatch.setattr(Job, "close", closed)
    await Upkeep().round()
    assert ended == [small.pk, large.pk]


# --- Rename and merge ----------------------------------------------------------------------


def test_a_name_that_is_the_same_label_is_only_written_otherwise(
    client: Client, team: Team, alice: User, connection: Connection
) -> None:
    run = one(alice, connection)
    give(run, "Test")
    client.force_login(alice)
    client.post(f"/labels/{label(team, 'test').pk}/", {"name": " TEST "})
    assert names(run) == {"TEST"}
    assert not Job.objects.exists()


def test_a_renamed_label_goes_along_on_all_runs_also_hidden_ones(
    client: Client, team: Team, alice: User, bob: User, connection: Connection
) -> None:
    shown, hidden = one(alice, connection), one(bob, connection, visibility="private")
    give(shown, "draft")
    give(hidden, "draft")
    rule = Retention.objects.create(team=team)
    rule.keep_labels.add(label(team, "draft"))
    client.force_login(alice)
    client.post(f"/labels/{label(team, 'draft').pk}/", {"name": "stage=draft"})
    job = Job.objects.get()
    finish(job)
    assert names(shown) == names(hidden) == {"stage=draft"}
    assert shown.run_labels.get().key == "stage"
    assert not Label.objects.filter(name="draft").exists()
    assert [each.name for each in rule.keep_labels.all()] == ["stage=draft"]


def test_a_merge_is_asked_for_and_keeps_one_value_of_a_key(
    client: Client, team: Team, alice: User, connection: Connection
) -> None:
    both, plain, other = (one(alice, connection) for _ in range(3))
    give(both, "candidate", "stage=draft")
    give(plain, "candidate")
    give(other, "stage=final")
    source, target = label(team, "candidate"), label(team, "stage=final")
    assert labelled_elsewise(source, target) == 1
    client.force_login(alice)
    answer = client.post(f"/labels/{source.pk}/", {"name": "Stage=Final"})
    assert answer.status_code == 409
    assert "on 1 of them it replaces another value of stage" in answer.text
    assert not Job.objects.exists()
    client.post(f"/labels/{source.pk}/", {"name": "Stage=Final", "merge": "1"})
    finish(Job.objects.get())
    assert names(both) == names(plain) == names(other) == {"stage=final"}
    assert not Label.objects.filter(pk=source.pk).exists()


def merging(owner: User, connection: Connection, *texts: str, columns: int = BATCH) -> list[Label]:
    """Labels of these names; many runs have the first, of which some have come to the second."""
    begun(owner, connection, columns=columns)
    found = [label(member(owner).team, each) for each in texts]
    RunLabel.objects.put(all_ids(), found[:1])
    assert Job.objects.merge(member(owner), *found[:2]).step()
    return found


def left() -> dict[str, int]:
    return {each.name: each.run_labels.count() for each in Label.objects.all()}


def test_a_merge_into_what_is_merged_itself_is_not_cut_short(
    alice: User, connection: Connection
) -> None:
    _, b, c = merging(alice, connection, "a", "b", "c")
    held = Job.objects.select_related("label").get()  # as by another process
    finish(Job.objects.merge(member(alice), b, c))
    finish(held)
    assert (left(), held.state) == ({"c": BATCH}, "finished")


def test_a_merge_leads_to_where_its_label_is_going(alice: User, connection: Connection) -> None:
    a, b, c = merging(alice, connection, "a", "b", "c")
    assert Job.objects.merge(member(alice), c, a).label == b
    assert Job.objects.merge(member(alice), a, b) == Job.objects.order_by("pk").first()


def test_two_merges_do_not_run_against_each_other(
    client: Client, alice: User, connection: Connection
) -> None:
    """They would never end."""
    a, b, _ = merging(alice, connection, "a", "b", "c")
    client.force_login(alice)
    for pk, name in ((b.pk, "a"), (a.pk, "c")):
        answer = client.post(f"/labels/{pk}/", {"name": name, "merge": "1"})
        assert answer.status_code == 422
        assert "Wait until that has ended." in answer.text
    finish(Job.objects.get())
    assert left() == {"b": BATCH, "c": 0}


def test_what_gives_runs_a_label_goes_on_when_that_is_merged(
    team: Team, alice: User, bob: User, connection: Connection
) -> None:
    begun(alice, connection, columns=BATCH)
    a, b = label(team, "a"), label(team, "b")
    adding = Job.objects.begin(Kind.LABEL, member(bob), all_ids(), label=a)
    removing = Job.objects.begin(Kind.UNLABEL, member(bob), all_ids(), label=a)
    assert adding.step()
    finish(Job.objects.merge(member(alice), a, b))
    finish(adding)
    finish(removing)
    assert left() == {"b": BATCH}
    assert adding.state == removing.state == "finished"


def test_what_a_label_keeps_stays_kept_while_it_is_merged(
    team: Team, alice: User, connection: Connection
) -> None:
    for _ in range(BATCH // 2):
        begun(alice, connection)
    Comparison.objects.update(created_at=timezone.now() - timedelta(days=9))
    rule = Retention.objects.create(team=team, trash_after=1)
    kept, other = label(team, "keep"), label(team, "golden")
    rule.keep_labels.add(kept)
    RunLabel.objects.put(all_ids(), [kept])
    assert Job.objects.merge(member(alice), kept, other).step()
    assert other.run_labels.exists()
    assert Retention.objects.trash_due() == 0


@pytest.mark.parametrize("name", ["", " ", "x" * 101])
def test_a_name_that_cannot_be_is_refused_in_its_field(
    name: str, client: Client, team: Team, alice: User, connection: Connection
) -> None:
    give(one(alice, connection), "draft")
    client.force_login(alice)
    answer = client.post(f"/labels/{label(team, 'draft').pk}/", {"name": name})
    assert answer.status_code == 422
    assert "A label has 1 to 100 characters" in answer.text


def test_the_page_counts_what_one_sees_and_names_nothing_else(
    client: Client, team: Team, alice: User, bob: User, rita: User, connection: Connection
) -> None:
    give(one(bob, connection), "draft")
    give(one(bob, connection, visibility="private"), "draft", "secret")
    gone = one(bob, connection)
    give(gone, "draft")
    gone.comparison.trash()
    for user, count, secret in ((bob, 2, True), (alice, 1, False), (rita, 1, False)):
        client.force_login(user)
        page = client.get("/labels/").text
        assert f'<td class="num">{count}</td>' in page
        assert ("secret" in page) == secret
        assert ("Rename" in page) == (user == alice)
    assert client.post(f"/labels/{label(team, 'draft').pk}/", {"name": "x"}).status_code == 404


# --- In bulk, from the list ----------------------------------------------------------------


def test_a_small_selection_is_done_at_once_a_large_one_goes_on(
    client: Client, bob: User, connection: Connection
) -> None:
    small, large = begun(bob, connection), begun(bob, connection, columns=BATCH)
    client.force_login(bob)
    data: dict[str, Any] = {
        "do": "label",
        "value": "stage=final",
        "row": [f"comparison-{small.pk}"],
    }
    answer = client.post("/bulk/", data, headers=HTMX)
    assert answer["HX-Trigger"] == "changed"
    assert names(small.runs.get()) == {"stage=final"}
    data["row"] = [f"comparison-{small.pk}", f"comparison-{large.pk}"]
    answer = client.post("/bulk/", data, headers=HTMX)
    assert "HX-Trigger" not in answer
    assert 'hx-trigger="every 1s"' in answer.text
    job = Job.objects.filter(state="waiting").get()
    assert "It goes on when you leave" in client.get(f"/jobs/{job.pk}/").text
    client.post(f"/jobs/{job.pk}/stop/")
    assert "Stopped" in client.get(f"/jobs/{job.pk}/", headers=HTMX).text


def test_what_is_not_understood_changes_nothing(
    client: Client, bob: User, connection: Connection
) -> None:
    made = begun(bob, connection)
    client.force_login(bob)
    for data in (
        {"do": "explode", "row": [f"comparison-{made.pk}"]},
        {"do": "label", "value": "x", "row": ["comparison-one"]},
        {"do": "label", "value": "x", "row": ["run-" + "9" * 30]},
    ):
        assert client.post("/bulk/", data, headers=HTMX).status_code == 404
    answer = client.post("/bulk/", {"do": "label", "value": "", "row": f"comparison-{made.pk}"})
    assert answer.status_code == 422
    assert not RunLabel.objects.exists()
