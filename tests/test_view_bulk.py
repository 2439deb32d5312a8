"""Many rows of the history at once, and one row: star, rate, run again, into the form."""

import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient, Client

from playground.models import (
    Comparison,
    Connection,
    Draft,
    Job,
    Label,
    Rating,
    Run,
    RunLabel,
    User,
    gathering,
)
from playground.models.batches import BATCH
from playground.runner import Runner
from playground.views import bulk
from tests.fake_provider import FakeProvider, words
from tests.runs import make_run
from tests.test_reruns import compared, finished

HTMX = {"HX-Request": "true"}

pytestmark = pytest.mark.django_db


def post(user: User, address: str = "/bulk/", **data: Any) -> Any:
    client = Client()
    client.force_login(user)
    return client.post(address, data, headers=HTMX)


def wholes(*runs: Run) -> list[str]:
    return [f"comparison-{run.comparison_id}" for run in runs]


def triage(user: User, do: str, *rows: str, **fields: Any) -> Any:
    return post(user, "/triage/", do=do, row=rows, **fields)


def undo(user: User, answer: Any) -> None:
    for fields in answer.json()["undo"]:
        assert post(user, "/triage/", **fields).status_code == 200


def labelled(name: str) -> set[int]:
    return set(RunLabel.objects.filter(label__name=name).values_list("run", flat=True))


def give(run: Run, *names: str) -> None:
    RunLabel.objects.put([run.pk], Label.objects.named(run.team_id, names))


# --- A selection ---------------------------------------------------------------------------


def test_rows_of_both_kinds_are_labelled_and_starred(alice: User) -> None:
    whole, single = make_run(alice), make_run(alice)
    second = make_run(alice, comparison=whole.comparison)
    beside = make_run(alice, comparison=single.comparison)
    rows = {"row": [*wholes(whole), f"run-{single.pk}"]}
    post(alice, do="label", value="task=qa", **rows)
    assert labelled("task=qa") == {whole.pk, second.pk, single.pk}
    post(alice, do="star", **rows)
    assert set(Run.objects.filter(starred=False)) == {beside}
    post(alice, do="unstar", **rows)
    assert not Run.objects.filter(starred=True).exists()


def test_a_label_is_removed_and_none_is_made_for_it(alice: User) -> None:
    run = make_run(alice)
    give(run, "draft")
    answer = post(alice, do="unlabel", value="other", row=wholes(run))
    assert answer.status_code == 422
    assert bulk.NO_SUCH_LABEL in answer.text
    assert answer["HX-Retarget"] == "#bulk-error"
    assert not Label.objects.filter(name="other").exists()
    post(alice, do="unlabel", value="DRAFT", row=wholes(run))
    assert not labelled("draft")


def test_a_name_that_is_none_is_refused_in_its_field(alice: User) -> None:
    run = make_run(alice)
    answer = post(alice, do="label", value="", row=wholes(run))
    assert answer.status_code == 422
    assert answer["HX-Retarget"] == "#bulk-error"
    assert not Job.objects.exists()


def test_trash_offers_a_way_back_for_exactly_what_it_moved(alice: User, bob: User) -> None:
    before, own, others = make_run(bob), make_run(bob), make_run(alice)
    before.comparison.trash()
    answer = post(bob, do="trash", row=wholes(before, own, others))
    assert "1 of them is not yours to delete" in answer.text
    events = json.loads(answer["HX-Trigger"])
    assert "changed" in events
    assert set(Comparison.objects.visible_to(bob)) == {others.comparison}
    post(bob, events["undoable"]["url"])
    assert set(Comparison.objects.visible_to(bob)) == {own.comparison, others.comparison}


def take_back(user: User) -> None:
    """The last job, as its button does."""
    job = Job.objects.latest("pk")
    answer = post(user, f"/jobs/{job.pk}/undo/")
    assert answer.status_code == 200
    assert post(user, f"/jobs/{job.pk}/undo/").status_code == 404  # once


def test_only_its_author_takes_a_job_back_and_only_where_it_did_something(
    alice: User, bob: User
) -> None:
    run = make_run(bob)
    post(bob, do="unstar", row=wholes(run))
    post(bob, do="trash", row=wholes(run))
    [job] = Job.objects.filter(kind="trash")
    assert post(alice, f"/jobs/{job.pk}/undo/").status_code == 404
    assert not Comparison.objects.visible_to(bob).exists()
    take_back(bob)
    assert Comparison.objects.visible_to(bob).exists()
    assert post(bob, f"/jobs/{Job.objects.latest('pk').pk}/undo/").status_code == 404  # an undo


def test_an_undo_of_all_that_match_gives_each_run_what_it_had(alice: User, bob: User) -> None:
    runs = [make_run(alice, starred=number == 1) for number in range(4)]
    give(runs[0], "task=old")
    give(runs[1], "task=new")
    Rating.objects.give(runs[0], alice, 2)
    Rating.objects.give(runs[0], bob, 4)

    def state() -> Any:
        held = sorted(RunLabel.objects.values_list("run", "label__name"))
        rated = sorted(Rating.objects.values_list("run", "user", "value"))
        return held, rated, sorted(Run.objects.values_list("pk", "starred", "rating", "visibility"))

    before = state()
    for fields in (
        {"do": "label", "value": "task=new"},
        {"do": "unlabel", "value": "task=new"},
        {"do": "star"},
        {"do": "unstar"},
        {"do": "rate", "value": "5"},
        {"do": "rate", "value": ""},
        {"do": "visibility", "value": "private"},
    ):
        answer = post(alice, all="1", **fields)
        assert "data-undo-job" in answer.text, fields
        assert state() != before, fields
        take_back(alice)
        assert state() == before, fields


def test_all_that_match_are_rated_with_the_means_of_all(alice: User, bob: User) -> None:
    first, second = make_run(alice), make_run(alice)
    Rating.objects.give(first, bob, 2)
    post(alice, all="1", do="rate", value="5")
    assert [Run.objects.get(pk=run.pk).rating for run in (first, second)] == [3.5, 5]
    for value in ("0", "6", "x"):
        answer = post(alice, all="1", do="rate", value=value)
        assert (answer.status_code, "A rating is a number" in answer.text) == (422, True)
    make_run(alice, comparison=second.comparison)
    assert "a row for each run" in post(alice, all="1", do="rate", value="4").text
    assert post(alice, all="1", show="runs", do="rate", value="4").status_code == 200
    assert set(Run.objects.values_list("rating", flat=True)) == {3.0, 4.0}


def test_an_undo_leaves_what_was_restored_and_deleted_again(alice: User) -> None:
    run = make_run(alice)
    post(alice, do="trash", row=wholes(run))
    job = Job.objects.latest("pk")
    run.comparison.restore()
    Comparison.objects.get(pk=run.comparison_id).trash()
    post(alice, f"/jobs/{job.pk}/undo/")
    assert not Run.objects.visible_to(alice).exists()


def test_the_trash_is_emptied_of_what_one_may_delete(alice: User, bob: User) -> None:
    own, theirs, kept = make_run(bob), make_run(alice), make_run(bob)
    for run in (own, theirs):
        run.comparison.trash()
    assert "Delete all 1" not in post(bob, do="purge", row=wholes(kept)).text
    assert not Comparison.objects.exclude(purged_at=None).exists()  # not in the trash
    post(bob, do="purge", all="1", q="is:trashed", whose="team")
    assert set(Comparison.objects.exclude(purged_at=None)) == {own.comparison}
    post(alice, do="purge", row=wholes(theirs))
    assert set(Comparison.objects.filter(purged_at=None)) == {kept.comparison}
    assert post(alice, f"/jobs/{Job.objects.latest('pk').pk}/undo/").status_code == 404


def test_single_rows_go_to_the_trash_with_their_comparison_and_come_back(alice: User) -> None:
    run = make_run(alice)
    make_run(alice, comparison=run.comparison)
    post(alice, do="trash", row=f"run-{run.pk}")
    assert not Run.objects.visible_to(alice).exists()
    post(alice, do="restore", row=wholes(run))
    assert Run.objects.visible_to(alice).count() == 2


def test_nothing_selected_and_too_much_selected(alice: User) -> None:
    answer = post(alice, do="star")
    assert (answer.status_code, answer["HX-Retarget"]) == (422, "#bulk-said")
    assert bulk.NOTHING in answer.text
    many = ",".join(f"run-{pk}" for pk in range(1, 1002))
    assert post(alice, do="star", rows=many).status_code == 404
    assert post(alice, do="star", rows=many.removesuffix(",run-1001")).status_code == 200


# --- All that a search finds ---------------------------------------------------------------


def test_all_that_match_are_those_of_the_search_and_of_whom_one_sees(
    alice: User, bob: User, charlie: User
) -> None:
    fish, bird = make_run(alice, "A fish"), make_run(alice, "A bird")
    beside = make_run(alice, "A shark", comparison=fish.comparison)
    make_run(bob, "A fish", visibility="private")
    theirs = make_run(bob, "A fish")
    make_run(charlie, "A fish")
    post(alice, do="label", value="mine", all="1", q="fish")
    assert labelled("mine") == {fish.pk, beside.pk}  # the row is the comparison
    post(alice, do="label", value="runs", all="1", q="fish", whose="team", show="runs")
    assert labelled("runs") == {fish.pk, theirs.pk}
    post(alice, do="trash", all="1", q="model:m")
    assert set(Run.objects.visible_to(alice)) == {theirs}
    assert bird.pk not in labelled("mine") | labelled("runs")


def test_a_search_that_is_wrong_or_finds_too_much_does_nothing(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        make_run(alice, "A fish")
    assert post(alice, do="star", all="1", q="rating:many").status_code == 422
    monkeypatch.setattr(gathering, "MOST_FOUND", 2)
    answer = post(alice, do="star", all="1")
    assert answer.status_code == 422
    assert "Nothing was done" in answer.text
    assert not Run.objects.filter(starred=True).exists()


def test_a_large_one_goes_on_behind_and_says_when_it_is_done(alice: User) -> None:
    first = make_run(alice, index=False)
    for _ in range(BATCH):
        make_run(alice, comparison=first.comparison, index=False)
    answer = post(alice, do="star", all="1")
    assert 'hx-trigger="every 1s"' in answer.text
    assert "HX-Trigger" not in answer
    [job] = Job.objects.all()
    while job.step():
        pass
    client = Client()
    client.force_login(alice)
    answer = client.get(f"/jobs/{job.pk}/", headers=HTMX)
    assert answer["HX-Trigger"] == "changed"
    assert Run.objects.filter(starred=True).count() == BATCH + 1


def test_all_that_match_are_hidden_and_shown_where_they_are_ones_own(
    alice: User, bob: User
) -> None:
    own, theirs = make_run(alice, "A fish"), make_run(bob, "A fish")
    answer = post(alice, do="visibility", value="private", all="1", q="fish", whose="team")
    assert "1 of them is not yours to show or hide" in answer.text
    assert [Run.objects.get(pk=run.pk).visibility for run in (own, theirs)] == ["private", "team"]
    post(alice, do="visibility", value="team", all="1", q="fish")
    assert Run.objects.get(pk=own.pk).visibility == "team"
    assert post(alice, do="visibility", value="", all="1", q="fish").status_code == 404


# --- A few rows at once, with their way back ------------------------------------------------


def test_rows_are_starred_and_the_undo_leaves_what_was_starred_before(alice: User) -> None:
    first, second = make_run(alice), make_run(alice, starred=True)
    beside = make_run(alice, comparison=first.comparison)
    answer = triage(alice, "star", *wholes(first, second))
    assert "data-starred" in answer.json()["rows"][f"row-{wholes(first)[0]}"]
    assert Run.objects.filter(starred=True).count() == 3
    undo(alice, answer)
    assert set(Run.objects.filter(starred=True)) == {second}
    undo(alice, triage(alice, "unstar", f"run-{second.pk}"))
    assert set(Run.objects.filter(starred=True)) == {second}
    assert beside.comparison_id == first.comparison_id


def test_several_rows_are_rated_at_once_and_each_gets_its_own_rating_back(
    alice: User, bob: User
) -> None:
    first, second = make_run(alice), make_run(alice)
    Rating.objects.give(first, bob, 2)
    answer = triage(bob, "rate", *wholes(first), f"run-{second.pk}", value="5")
    assert [rating.value for rating in Rating.objects.order_by("run")] == [5, 5]
    undo(bob, answer)
    assert [rating.value for rating in Rating.objects.all()] == [2]
    make_run(alice, comparison=second.comparison)
    refused = triage(bob, "rate", *wholes(first, second), value="5")
    assert "a row for each run" in refused.json()["error"]
    assert "Unfold it" in triage(bob, "rate", *wholes(second), value="5").json()["error"]
    assert [rating.value for rating in Rating.objects.all()] == [2]


def test_a_label_is_taken_from_rows_and_given_back(alice: User) -> None:
    first, second = make_run(alice), make_run(alice)
    give(first, "Draft")
    answer = triage(alice, "unlabel", *wholes(first, second), value="draft")
    assert answer.json()["said"] == "Label Draft removed."
    assert not labelled("Draft")
    undo(alice, answer)
    assert labelled("Draft") == {first.pk}
    refused = triage(alice, "unlabel", *wholes(second), value="draft")
    assert "such a label" in refused.json()["error"]


def test_a_row_whose_runs_had_different_labels_is_drawn_anew_by_the_undo(alice: User) -> None:
    first = make_run(alice)
    second = make_run(alice, comparison=first.comparison)
    give(first, "task=old")
    answer = triage(alice, "label", *wholes(first), value="task=new")
    for fields in answer.json()["undo"]:
        drawn = post(alice, "/triage/", **fields).json()["rows"]
        assert f"row-{wholes(first)[0]}" in drawn
    assert (labelled("task=old"), labelled("task=new")) == ({first.pk}, set())
    assert second.comparison_id == first.comparison_id


def test_rows_go_to_the_trash_whole_and_come_back(alice: User, bob: User) -> None:
    own, theirs = make_run(bob), make_run(alice)
    beside = make_run(bob, comparison=own.comparison)
    answer = triage(bob, "trash", f"run-{own.pk}", *wholes(theirs))
    assert answer.json()["said"] == (
        f"Comparison {own.comparison_id} is in the trash. 1 of them is not yours to delete."
    )
    wanted = {f"row-{wholes(own)[0]}", f"row-run-{own.pk}", f"row-run-{beside.pk}"}
    assert set(answer.json()["gone"]) == wanted
    assert set(Run.objects.visible_to(bob)) == {theirs}
    undo(bob, answer)
    assert set(Run.objects.visible_to(bob)) == {own, beside, theirs}
    assert "not yours to delete" in triage(bob, "trash", *wholes(theirs)).json()["error"]


def test_what_is_too_much_for_one_request_says_that_it_goes_on_behind(alice: User) -> None:
    first = make_run(alice, index=False)
    for _ in range(BATCH):
        make_run(alice, comparison=first.comparison, index=False)
    answer = triage(alice, "star", *wholes(first))
    assert (answer.status_code, answer.json()["behind"]) == (422, True)
    assert not Run.objects.filter(starred=True).exists()


@pytest.mark.parametrize(
    "row", ["", "run-", "comparison-x", "run-1 ", "queue-1", "run-" + "9" * 30]
)
def test_what_is_no_row_is_not_found(row: str, alice: User) -> None:
    for address in ("/triage/", "/history/again/"):
        assert post(alice, address, row=row, do="star").status_code == 404


# --- Into the form --------------------------------------------------------------------------


def document_in(html: str, name: str = "document") -> Any:
    start = html.index(">", html.index(f'id="{name}"')) + 1
    return json.loads(html[start : html.index("</script>", start)])


def test_a_run_comes_back_into_the_form_beside_the_draft(alice: User, bob: User) -> None:
    run = make_run(bob, "A kingfisher", values={"temperature": 0, "seed": 7})
    make_run(bob, "A kingfisher", model="other", comparison=run.comparison)
    waiting = json.dumps({"prompt": "What I was writing", "columns": []})
    Draft.objects.put(alice, None, waiting, 0)
    client = Client()
    client.force_login(alice)
    html = client.get("/", {"from": run.pk}).text
    document = document_in(html)
    assert document["prompt"] == "A kingfisher"
    assert [column["model"] for column in document["columns"]] == ["m", "other"]
    draft = document_in(html, "draft")
    assert (draft["fresh"], draft["before"]["prompt"]) == (True, "What I was writing")
    alone = document_in(client.get("/", {"from": run.pk, "only": "1"}).text)
    assert [column["model"] for column in alone["columns"]] == ["m"]
    assert {**alone["values"], **alone["columns"][0]["values"]}["temperature"] == "0"
    assert Draft.objects.get(kept=False).document == waiting


def test_the_form_of_a_run_is_as_it_was_posted(alice: User) -> None:
    run = make_run(alice, "Rendered")
    posted = {"prompt": "A {{bird}}", "columns": [{"id": "x", "model": "m"}]}
    Comparison.objects.update(document=json.dumps(posted))
    client = Client()
    client.force_login(alice)
    html = client.get("/", {"from": run.pk}).text
    assert document_in(html)["prompt"] == "A {{bird}}"
    assert "before" not in document_in(html, "draft")


# --- Again ---------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
async def test_a_row_is_run_again_as_a_comparison_of_ones_own(
    async_client: AsyncClient,
    alice: User,
    bob: User,
    connection: Connection,
    provider: FakeProvider,
    runner: Runner,
) -> None:
    provider.reply_with(words(2, None))
    old = await sync_to_async(compared)(alice, connection, "a", "b")
    await async_client.aforce_login(bob)

    async def again(row: str) -> Comparison:
        answer = await async_client.post("/history/again/", {"row": row}, headers=HTMX)
        made: Comparison = await Comparison.objects.order_by("pk").alast()  # type: ignore[assignment]
        assert answer.headers["HX-Redirect"] == made.get_absolute_url()
        assert made.pk != old.pk
        assert made.author_id == bob.pk
        return made

    whole = await again(f"comparison-{old.pk}")
    runs = await finished(runner, whole.pk)
    requests = [run.request async for run in old.runs.order_by("position")]
    assert [run.request for run in runs] == requests
    assert whole.document == old.document
    second = await old.runs.aget(position=1)
    alone = await again(f"run-{second.pk}")
    [run] = await finished(runner, alone.pk)
    assert (run.request, run.column) == (second.request, 0)
    assert await old.runs.acount() == 2


@pytest.mark.django_db(transaction=True)
async def test_what_cannot_be_run_again_says_why(
    async_client: AsyncClient, alice: User, rita: User, connection: Connection
) -> None:
    old = await sync_to_async(compared)(alice, connection, "a")
    row = {"row": f"comparison-{old.pk}"}
    await async_client.aforce_login(rita)
    answer = await async_client.post("/history/again/", row, headers=HTMX)
    assert (answer.status_code, answer.headers["HX-Retarget"]) == (403, "#bulk-said")
    await Connection.objects.aupdate(enabled=False)
    await async_client.aforce_login(alice)
    answer = await async_client.post("/history/again/", row, headers=HTMX)
    assert answer.status_code == 422
    assert "not available any more" in answer.content.decode()
    assert await Comparison.objects.acount() == 1
