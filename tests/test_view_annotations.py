"""Star, rate, comment and label by the pages: everybody who sees a run may, reviewers too."""

import pytest
from django.test import Client

from playground.models import Connection, Label, Rating, Run, RunLabel, User
from tests.test_annotations import one

HTMX = {"HX-Request": "true"}


@pytest.fixture
def run(bob: User, connection: Connection) -> Run:
    return one(bob, connection)


@pytest.fixture
def reviewer(rita: User, client: Client) -> Client:
    client.force_login(rita)
    return client


def test_a_star_says_what_is_wanted_so_twice_is_no_harm(reviewer: Client, run: Run) -> None:
    for _ in range(2):
        answer = reviewer.post(f"/runs/{run.pk}/star/", {"on": "1"}, headers=HTMX)
        assert 'aria-pressed="true"' in answer.text
    run.refresh_from_db()
    assert run.starred
    reviewer.post(f"/runs/{run.pk}/star/", {"on": ""}, headers=HTMX)
    run.refresh_from_db()
    assert not run.starred


def test_a_rating_is_given_changed_and_taken_back(
    reviewer: Client, run: Run, rita: User, alice: User
) -> None:
    Rating.objects.give(run, alice, 5)
    answer = reviewer.post(f"/runs/{run.pk}/rating/", {"value": "2"}, headers=HTMX)
    assert answer.text.count(" checked") == 1
    assert "Mean of 2 ratings: </span>3.5" in answer.text
    reviewer.post(f"/runs/{run.pk}/rating/", {"value": "3"}, headers=HTMX)
    assert Rating.objects.get(user=rita).value == 3
    answer = reviewer.post(f"/runs/{run.pk}/rating/", {"value": "3", "clear": "1"}, headers=HTMX)
    assert " checked" not in answer.text
    run.refresh_from_db()
    assert run.rating == 5


@pytest.mark.parametrize("value", ["0", "6", "-1", "4.5", "x", "٣"])
def test_a_rating_outside_one_to_five_is_refused_in_place(
    value: str, reviewer: Client, run: Run
) -> None:
    answer = reviewer.post(f"/runs/{run.pk}/rating/", {"value": value}, headers=HTMX)
    assert answer.status_code == 422
    assert "from 1 to 5" in answer.text
    assert answer["HX-Retarget"] == f"#marks-{run.pk}"
    assert not Rating.objects.exists()


def test_a_comment_is_shown_with_author_and_time_and_escaped(
    reviewer: Client, run: Run, rita: User
) -> None:
    text = "<b>Too</b> long\nby half"
    answer = reviewer.post(f"/runs/{run.pk}/comments/", {"text": text}, headers=HTMX)
    assert "&lt;b&gt;Too&lt;/b&gt; long\nby half" in answer.text
    comment = run.comments.get()
    assert (comment.author, comment.author_name) == (rita, "rita")
    page = reviewer.get(f"/runs/{run.pk}/").text
    assert "&lt;b&gt;Too&lt;/b&gt;" in page
    assert f'datetime="{comment.created_at:%Y-%m-%d}' in page


def test_an_empty_comment_is_refused_in_its_field(reviewer: Client, run: Run) -> None:
    answer = reviewer.post(f"/runs/{run.pk}/comments/", {"text": " "}, headers=HTMX)
    assert answer.status_code == 422
    assert "empty comment" in answer.text
    long = "x" * 10_001
    answer = reviewer.post(f"/runs/{run.pk}/comments/", {"text": long}, headers=HTMX)
    assert long in answer.text  # nothing typed is lost
    assert not run.comments.exists()


def test_only_its_author_edits_or_deletes_a_comment(
    client: Client, run: Run, rita: User, alice: User
) -> None:
    client.force_login(rita)
    client.post(f"/runs/{run.pk}/comments/", {"text": "First"}, headers=HTMX)
    address = f"/comments/{run.comments.get().pk}/"
    assert "First</textarea>" in client.get(address, headers=HTMX).text
    client.force_login(alice)
    for data in ({"text": "Mine now"}, {"delete": "1"}):
        assert client.post(address, data, headers=HTMX).status_code == 404
    assert client.get(address).status_code == 404
    client.force_login(rita)
    assert "edited" in client.post(address, {"text": "Second"}, headers=HTMX).text
    assert run.comments.get().text == "Second"
    assert client.post(address, {"text": ""}, headers=HTMX).status_code == 422
    client.post(address, {"delete": "1"}, headers=HTMX)
    assert not run.comments.exists()


def test_everything_works_without_scripts(reviewer: Client, run: Run) -> None:
    page = f"/runs/{run.pk}/"
    for path, data in {
        "star": {"on": "1"},
        "rating": {"value": "4"},
        "labels": {"label": "stage=draft"},
    }.items():
        assert reviewer.post(f"{page}{path}/", data)["Location"] == page
    answer = reviewer.post(f"{page}comments/", {"text": "Good"})
    assert answer["Location"] == f"{page}#comments"
    address = f"/comments/{run.comments.get().pk}/"
    assert "<textarea" in reviewer.get(address).text


def test_the_completion_offers_labels_of_runs_that_one_may_see(
    client: Client, bob: User, rita: User, connection: Connection
) -> None:
    shown, private = one(bob, connection), one(bob, connection, visibility="private")
    for run, name in ((shown, "stage=draft"), (private, "Secret stage")):
        RunLabel.objects.put([run.pk], Label.objects.named(run.team_id, [name]))
    client.force_login(bob)
    assert client.get("/labels/known/?label= STAGE").text.count("<option") == 2
    client.force_login(rita)
    answer = client.get("/labels/known/?label=st").text
    assert "stage=draft" in answer
    assert "Secret" not in answer
    assert client.get("/labels/known/?label=%00").status_code == 200


def test_own_pairs_have_one_value_of_a_key_and_are_found(reviewer: Client, run: Run) -> None:
    address = f"/runs/{run.pk}/facts/"
    for value in ("draft", "7"):
        reviewer.post(address, {"key": " Quality  Check", "value": value}, headers=HTMX)
    fact = run.facts.get(source="user")
    assert (fact.key, fact.text, fact.number) == ("Quality Check", "7", 7)
    assert "Quality Check" in reviewer.get(f"/runs/{run.pk}/").text
    answer = reviewer.post(address, {"remove": "Quality Check"}, headers=HTMX)
    assert "Quality Check" not in answer.text
    assert not run.facts.filter(source="user").exists()


@pytest.mark.parametrize(("key", "value"), [("", "x"), ("a", " "), ("a=b", "c"), ("k" * 101, "v")])
def test_a_pair_that_cannot_be_is_refused_in_place(
    key: str, value: str, reviewer: Client, run: Run
) -> None:
    answer = reviewer.post(f"/runs/{run.pk}/facts/", {"key": key, "value": value}, headers=HTMX)
    assert 'id="fact-error"' in answer.text
    assert not run.facts.filter(source="user").exists()


def test_the_page_says_who_may_not_run(client: Client, rita: User, alice: User) -> None:
    for user, role in ((rita, "reviewer"), (alice, "owner")):
        client.force_login(user)
        assert f'data-role="{role}"' in client.get("/").text


def test_an_old_page_changes_only_what_was_changed_there(
    reviewer: Client, run: Run, alice: User
) -> None:
    """One page of a run stays open; meanwhile another one labels, rates and stars it."""
    client = Client()
    client.force_login(alice)
    assert client.get(run.get_absolute_url()).status_code == 200
    reviewer.post(f"/runs/{run.pk}/labels/", {"label": "task=new"})
    reviewer.post(f"/runs/{run.pk}/rating/", {"value": "4"})
    reviewer.post(f"/runs/{run.pk}/star/", {"on": "1"})
    client.post(f"/runs/{run.pk}/labels/", {"label": "old page"})
    client.post(f"/runs/{run.pk}/rating/", {"value": "2"})
    run.refresh_from_db()
    assert {label.name for label in run.labels.all()} == {"task=new", "old page"}
    assert (run.starred, run.rating) == (True, 3)
