"""All that a search finds, found by the job itself: the same as at once, and nothing by halves."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from playground.models import Job, Label, Membership, Rating, Run, RunLabel, Team, User, gathering
from playground.models.batches import SEARCH, Batch
from playground.models.work import LEASE
from tests.runs import make_run

HTMX = {"HX-Request": "true"}

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "PART", 2)


@pytest.fixture
def runs(alice: User) -> list[Run]:
    """Five comparisons, an hour apart; the fourth has a second run, made after all others."""
    begin = timezone.now() - timedelta(hours=9)
    made = [
        make_run(alice, f"A fish, number {n}", created_at=begin + timedelta(hours=n))
        for n in range(5)
    ]
    again = make_run(alice, "A fish again", comparison=made[3].comparison)
    Run.objects.filter(pk=again.pk).update(created_at=begin + timedelta(hours=8))
    return [*made, again]


def post(user: User, address: str = "/bulk/", **data: Any) -> Any:
    client = Client()
    client.force_login(user)
    return client.post(address, {"all": "1", "q": "fish", **data}, headers=HTMX)


def page(user: User, job: Job) -> str:
    client = Client()
    client.force_login(user)
    return client.get(f"/jobs/{job.pk}/", headers=HTMX).content.decode()


def finish(job: Job | None = None) -> Job:
    job = job or Job.objects.latest("pk")
    while job.step():
        pass
    job.refresh_from_db()
    return job


def labelled() -> set[int]:
    return set(RunLabel.objects.values_list("run", flat=True))


def test_the_press_answers_at_once_and_the_job_says_how_far_its_search_is(
    alice: User, runs: list[Run]
) -> None:
    answer = post(alice, do="label", value="x")
    assert 'hx-trigger="every 1s"' in answer.text
    assert "0 found so far" in answer.text
    assert not labelled()
    job = Job.objects.get()
    assert job.step()
    assert "2 found so far" in page(alice, job)
    assert job.looked is not None
    assert 0 < job.looked < 100
    assert not labelled()  # nothing is done before all is found
    job = finish(job)
    assert (job.state, job.done, job.total) == ("finished", 6, 6)
    assert "6 of 6" in page(alice, job)
    assert labelled() == {run.pk for run in runs}


@pytest.mark.parametrize(
    ("show", "fields"),
    [
        ("", {"do": "label", "value": "x", "q": "fish -label:x"}),  # changes what is found
        ("runs", {"do": "label", "value": "x", "q": "fish -label:x"}),
        ("runs", {"do": "star", "q": "-is:starred"}),
        ("", {"do": "visibility", "value": "private"}),
        ("runs", {"do": "trash"}),
    ],
)
def test_it_does_what_it_does_at_once_and_takes_it_back(
    alice: User, runs: list[Run], monkeypatch: pytest.MonkeyPatch, fields: dict[str, str], show: str
) -> None:
    def state() -> Any:
        held = sorted(RunLabel.objects.values_list("run", "label__name"))
        there = Run.objects.filter(deleted_at=None).order_by("pk")
        return held, list(there.values_list("pk", "starred", "visibility"))

    def done() -> Any:
        post(alice, show=show, **fields)
        job = finish()
        after = state()
        post(alice, f"/jobs/{job.pk}/undo/")
        finish()
        assert state() == before
        return job.done, job.total, after

    before = state()
    in_parts = done()
    assert in_parts[2] != before
    monkeypatch.setattr(gathering, "PART", 1_000)
    assert done() == in_parts


def test_what_begins_after_the_press_is_left_alone(alice: User, runs: list[Run]) -> None:
    post(alice, do="star")
    job = Job.objects.get()
    later = make_run(alice, "A fish of later")
    assert finish(job).total == 6
    assert set(Run.objects.filter(starred=False)) == {later}


def test_who_takes_it_over_searches_anew_and_does_nothing_twice(
    alice: User, runs: list[Run]
) -> None:
    post(alice, do="label", value="x")
    job = Job.objects.take()
    assert job
    for _ in range(2):
        assert job.step()
    Batch.objects.create(job=job, ids=f"[{runs[0].pk}]")  # it was about to write down what it found
    Job.objects.filter(pk=job.pk).update(lease=timezone.now() - LEASE - timedelta(seconds=1))
    other = Job.objects.take()
    assert other == job
    assert (finish(other).done, other.total) == (6, 6)


def test_it_searches_the_team_in_which_it_began_with_the_rights_of_now(
    alice: User, bob: User, runs: list[Run]
) -> None:
    for again in (False, True):
        post(bob, do="label", value=f"is={again}", whose="team")
        job = Job.objects.latest("pk")
        elsewhere = Team.objects.create(name=f"Elsewhere {again}")
        Membership.objects.create(team=elsewhere, user=bob)
        User.objects.filter(pk=bob.pk).update(current_team=elsewhere)
        if again:
            bob.memberships.filter(team=job.team).delete()
        assert finish(job).done == (0 if again else 6)
        User.objects.filter(pk=bob.pk).update(current_team=job.team)
    assert not Label.objects.get(name="is=True").run_labels.exists()


def test_a_search_that_comes_to_nothing_good_does_nothing(
    alice: User, runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    post(alice, do="rate", value="5")
    job = finish()
    assert (job.state, job.error) == ("failed", gathering.SOME_SEVERAL)
    monkeypatch.setattr(gathering, "MOST_FOUND", 4)
    post(alice, do="rate", value="5", show="runs")
    job = finish()
    assert (job.state, job.error) == ("failed", gathering.TOO_MANY)
    assert gathering.TOO_MANY in page(alice, job)
    assert not Rating.objects.exists()
    assert not Batch.objects.exists()


def test_a_search_is_stopped(alice: User, runs: list[Run]) -> None:
    post(alice, do="star")
    job = Job.objects.get()
    assert job.step()
    assert "found so far" in page(alice, job)
    post(alice, f"/jobs/{job.pk}/stop/")
    assert finish(job).state == "stopped"
    assert not Batch.objects.filter(kind=SEARCH).exists()
    assert not Run.objects.filter(starred=True).exists()
