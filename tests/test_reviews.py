"""Review queues and triage: progress, assignment, every action and its undo."""

import json
import re
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from playground.exchange.exporting import written
from playground.models import (
    Comparison,
    Label,
    Membership,
    Panel,
    Queue,
    Rating,
    Run,
    RunLabel,
    User,
)
from playground.models.walk import Selection
from tests.runs import make_run


def membership(user: User) -> Membership:
    found = user.membership()
    assert found is not None
    return found


@pytest.fixture
def runs(alice: User) -> list[Run]:
    return [make_run(alice, f"Prompt {n}", f"Output {n}") for n in range(3)]


@pytest.fixture
def queue(alice: User, runs: list[Run]) -> Queue:
    return Queue.objects.begin(membership(alice), "Candidates", [run.pk for run in runs])


@pytest.fixture
def page(client: Client, bob: User) -> Client:
    client.force_login(bob)
    return client


def triage(client: Client, **fields: Any) -> Any:
    return client.post(reverse("triage"), fields)


def undo(client: Client, answer: Any) -> None:
    """Post what the server said, as the page does."""
    for fields in answer.json()["undo"]:
        assert client.post(reverse("triage"), fields).status_code == 200


def progress(client: Client, queue: Queue) -> str:
    return client.get(reverse("queue_progress", args=[queue.pk])).content.decode()


def labels(run: Run) -> list[str]:
    return sorted(run.labels.values_list("name", flat=True))


# --- Making a queue --------------------------------------------------------------------------


def test_a_queue_is_made_from_a_search(page: Client, runs: list[Run]) -> None:
    fields = {"kind": "queue", "q": "prompt 1", "whose": "team", "name": "  One  of them "}
    answer = page.post(reverse("review_new"), fields)
    queue = Queue.objects.get()
    assert answer["Location"] == reverse("queue", args=[queue.pk])
    assert (queue.name, queue.query) == ("One of them", "prompt 1")
    assert list(queue.items.values_list("run", flat=True)) == [runs[1].pk]


def test_a_queue_of_selected_rows_keeps_their_order(page: Client, runs: list[Run]) -> None:
    rows = f"run-{runs[2].pk},comparison-{runs[0].comparison_id}"
    page.post(reverse("review_new"), {"kind": "queue", "rows": rows, "name": "x"})
    assert list(Queue.objects.get().items.values_list("run", flat=True)) == [runs[2].pk, runs[0].pk]


def test_rated_runs_can_be_left_out(page: Client, runs: list[Run], alice: User) -> None:
    Rating.objects.give(runs[0], alice, 3)
    fields = {"kind": "queue", "whose": "team", "name": "x"}
    page.post(reverse("review_new"), fields)
    page.post(reverse("review_new"), {**fields, "rated": "on"})
    first, second = Queue.objects.order_by("pk")
    assert (first.items.count(), second.items.count()) == (2, 3)


def test_private_and_failed_runs_are_left_out_unless_asked_for_and_the_form_says_how_many(
    page: Client, runs: list[Run], bob: User
) -> None:
    failed = make_run(bob, "Failed", "half of", status="failed")
    make_run(bob, "Stopped", "", status="cancelled")
    stopped_late = make_run(bob, "Stopped later", "A beginning", status="cancelled")
    silent = make_run(bob, "Silent", "")  # that nothing came is what there is to review
    own = make_run(bob, "Own", visibility="private")
    ahead = make_run(bob, "Ahead", visibility="private")
    RunLabel.objects.put([ahead.pk], Label.objects.named(ahead.team_id, ["Preview"]))
    fields = {"kind": "queue", "whose": "team"}
    form = page.get(reverse("review_new"), fields)
    assert form.context["special"] == [
        ("failed", 2, False),
        ("private", 1, False),
        ("previews", 1, False),
    ]
    said = form.content.decode()
    assert "2 that failed or were stopped before any text" in said
    assert "1 private one: nobody but you sees or counts it" in said
    assert "1 preview of the next tokens" in said

    def made(**ticked: str) -> set[int]:
        page.post(reverse("review_new"), {**fields, "name": "x", **ticked})
        return set(Queue.objects.latest("pk").items.values_list("run", flat=True))

    plain = {run.pk for run in (*runs, stopped_late, silent)}
    assert made() == plain
    assert made(private="on") == plain | {own.pk}
    assert made(previews="on") == plain | {ahead.pk}
    assert len(made(failed="on") - plain) == 2
    rows = f"run-{failed.pk},run-{own.pk}"
    alone = page.get(reverse("review_new"), {"kind": "queue", "rows": rows})
    assert alone.context["special"] == [("failed", 1, True), ("private", 1, True)]
    answer = page.post(reverse("review_new"), {"kind": "queue", "rows": rows, "name": "Kept"})
    assert answer.status_code == 422
    assert "All of these runs are left out" in answer.content.decode()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": " "}, "Give it a name"),
        ({"name": "x" * 121}, "at most 120"),
        ({"name": "x", "q": "nowhere-to-be-found"}, "There is no run in it"),
        ({"name": "x", "q": "colour:red"}, "is no filter"),
    ],
)
def test_what_cannot_be_made_says_why_and_keeps_what_was_typed(
    page: Client, runs: list[Run], fields: dict[str, str], said: str
) -> None:
    answer = page.post(reverse("review_new"), {"kind": "queue", "whose": "team", **fields})
    text = answer.content.decode()
    assert answer.status_code == 422
    assert said in text
    assert f'value="{fields["name"]}"' in text
    assert not Queue.objects.exists()


def test_private_runs_of_others_are_in_no_queue(page: Client, alice: User) -> None:
    mine = make_run(alice, visibility="private")
    fields = {"kind": "queue", "rows": f"run-{mine.pk}", "name": "x"}
    assert page.post(reverse("review_new"), fields).status_code == 422


def test_a_queue_counts_and_shows_only_what_one_may_see(
    page: Client, queue: Queue, runs: list[Run]
) -> None:
    runs[0].comparison.show_to("private")
    assert "0 of 2 reviewed" in progress(page, queue)
    text = page.get(reverse("queue", args=[queue.pk])).content.decode()
    assert "Prompt 0" not in text
    assert "Prompt 1" in text
    for run in runs:
        run.comparison.trash()
    assert page.get(reverse("queue", args=[queue.pk])).status_code == 404


def test_an_empty_selection_is_no_queue(alice: User) -> None:
    with pytest.raises(ValidationError):
        Queue.objects.begin(membership(alice), "x", [])


# --- Reviewing -------------------------------------------------------------------------------


def test_rating_or_skipping_counts_as_reviewed_and_undo_takes_it_back(
    page: Client, queue: Queue, runs: list[Run]
) -> None:
    assert "0 of 3 reviewed" in progress(page, queue)
    rated = triage(page, do="rate", value="4", row=f"run-{runs[0].pk}", queue=queue.pk)
    assert "1 of 3 reviewed" in progress(page, queue)
    skipped = triage(page, do="skip", row=f"run-{runs[1].pk}", queue=queue.pk)
    assert "2 of 3 reviewed" in progress(page, queue)
    undo(page, skipped)
    assert "1 of 3 reviewed" in progress(page, queue)
    undo(page, rated)
    assert "0 of 3 reviewed" in progress(page, queue)
    assert not Rating.objects.exists()


def test_the_answer_holds_the_new_row(page: Client, queue: Queue, runs: list[Run]) -> None:
    answer = triage(page, do="rate", value="4", row=f"run-{runs[0].pk}", queue=queue.pk)
    item = queue.items.get(run=runs[0])
    assert 'data-state="rated"' in answer.json()["rows"][f"item-{item.pk}"]
    history = triage(page, do="rate", value="2", row=f"comparison-{runs[0].comparison_id}")
    assert "2/5" in history.json()["rows"][f"row-comparison-{runs[0].comparison_id}"]


def test_the_list_tells_columns_apart_that_look_the_same_also_once_one_is_rated(
    page: Client, alice: User
) -> None:
    cold = make_run(alice, values={"temperature": 0.2})
    warm = make_run(alice, values={"temperature": 1.2}, comparison=cold.comparison)
    Run.objects.update(indexed=True)
    queue = Queue.objects.begin(membership(alice), "x", [cold.pk, warm.pk])
    listed = page.get(reverse("queue", args=[queue.pk])).content.decode()
    rated = triage(page, do="rate", value="4", row=f"run-{warm.pk}", queue=queue.pk).json()["rows"]
    assert list(rated) == [f"item-{queue.items.get(run=warm).pk}"]
    for said in (f"Run {cold.comparison_id}B</span>", "<b>1.2</b>"):
        assert said in listed
        assert said in "".join(rated.values())
    assert f"Run {cold.comparison_id}A</span>" in listed
    assert "<b>0.2</b>" in listed


def test_a_row_tells_ones_own_rating_from_those_of_others(
    page: Client, queue: Queue, runs: list[Run], alice: User, bob: User
) -> None:
    address = reverse("queue", args=[queue.pk])
    Rating.objects.give(runs[0], alice, 5)
    listed = page.get(address).content.decode()
    assert 'title="alice 5"' in listed
    assert "not by you" in listed
    assert "rated by you" not in listed
    answer = triage(page, do="rate", value="4", row=f"run-{runs[0].pk}", queue=queue.pk)
    [row] = answer.json()["rows"].values()
    assert 'title="you 4, alice 5"' in row
    assert "4.5" in row
    assert "yours: 4" in row
    assert "1 of 3 reviewed" in progress(page, queue)  # a run once, whoever rates it
    assert "1 rated by you" in progress(page, queue)


def test_cells_of_a_grid_have_names_of_their_own(page: Client, alice: User) -> None:
    first = make_run(alice, coordinates='{"values": {"temperature": "0.2"}, "row": 0}')
    rows = '{"fields": ["temperature"], "rows": [{"city": "Oslo"}, {"city": "Bergen"}]}'
    Comparison.objects.filter(pk=first.comparison_id).update(axes=rows)
    second = make_run(
        alice,
        coordinates='{"values": {"temperature": "0.2"}, "row": 1}',
        comparison=first.comparison,
    )
    Run.objects.update(column=0)
    queue = Queue.objects.begin(membership(alice), "x", [first.pk, second.pk])
    listed = page.get(reverse("queue", args=[queue.pk])).content.decode()
    name = f"Run {first.comparison_id}A, temperature 0.2, row"
    for number, city in ((1, "Oslo"), (2, "Bergen")):
        assert f'aria-label="Select {name} {number}"' in listed
        assert f"<i>city</i> <b>{city}</b>" in listed
    assert "<i>temperature</i>" not in listed  # the same in both
    history = page.get(reverse("history") + "?show=runs&whose=team").content.decode()
    assert f'aria-label="Select {name} 2"' in history


def test_items_are_taken_and_assigned(
    page: Client, queue: Queue, runs: list[Run], bob: User, alice: User
) -> None:
    answer = triage(page, do="assign", value="me", row=f"run-{runs[0].pk}", queue=queue.pk)
    assert queue.items.get(run=runs[0]).assignee == bob
    undo(page, answer)
    assert queue.items.get(run=runs[0]).assignee is None
    triage(page, do="assign", value=str(alice.pk), row=f"run-{runs[0].pk}", queue=queue.pk)
    page.post(reverse("queue_take", args=[queue.pk]))
    assert queue.items.get(run=runs[0]).assignee == alice  # not taken away
    assert queue.items.filter(assignee=bob).count() == 2
    mine = page.get(reverse("queue", args=[queue.pk]) + "?show=mine").content.decode()
    assert ("Prompt 0" in mine, "Prompt 1" in mine) == (False, True)


def test_every_page_counts_what_is_assigned_to_its_reader(
    page: Client, queue: Queue, runs: list[Run], bob: User, alice: User
) -> None:
    def said() -> str:
        html = page.get(reverse("reviews")).content.decode()
        return "".join(re.findall(r'>Review<span class="count[^>]+>(\d+)<', html))

    assert said() == ""
    queue.items.update(assignee=bob)
    assert said() == "3"
    Rating.objects.give(runs[0], alice, 4)
    assert said() == "2"
    queue.items.get(run=runs[1]).skip(bob)
    assert said() == "1"
    runs[2].comparison.trash()
    assert said() == ""
    page.force_login(alice)
    assert said() == ""


def test_nobody_outside_the_team_is_assigned(
    page: Client, queue: Queue, runs: list[Run], charlie: User
) -> None:
    fields = {"row": f"run-{runs[0].pk}", "queue": queue.pk}
    assert triage(page, do="assign", value=str(charlie.pk), **fields).status_code == 404
    take = reverse("queue_take", args=[queue.pk])
    assert page.post(take, {"to": str(charlie.pk)}).status_code == 404


def test_the_pane_shows_the_whole_prompt_and_output(page: Client, alice: User) -> None:
    run = make_run(alice, "Long " * 300 + "END-OF-PROMPT", "<b>&amp;</b> " * 300 + "END-OF-OUTPUT")
    queue = Queue.objects.begin(membership(alice), "x", [run.pk])
    address = reverse("queue_item", args=[queue.pk, queue.items.get().pk])
    text = page.get(address, headers={"HX-Request": "true"}).content.decode()
    assert "END-OF-PROMPT" in text
    assert "END-OF-OUTPUT" in text
    assert "<b>" not in text.partition("Text of the output")[2].partition("</div>")[0]


CODE = """() => a && b < c "q" 'r' &lt; é"""


def test_code_is_escaped_once_wherever_it_is_reviewed(page: Client, alice: User, bob: User) -> None:
    """And not at all in what goes out as a file."""
    fence = f"```\n{CODE}\n```"
    one, other = (make_run(alice, CODE, fence, model=model) for model in "mn")
    RunLabel.objects.put([one.pk], Label.objects.named(one.team_id, [CODE]))
    queue = Queue.objects.begin(membership(alice), CODE, [one.pk])
    panel = Panel.objects.begin(membership(alice), CODE, [one.pk, other.pk])
    for address in (
        reverse("reviews"),
        reverse("queue", args=[queue.pk]),
        reverse("panel", args=[panel.pk]),
        reverse("compare") + f"?rows=run-{one.pk},run-{other.pk}",
    ):
        text = page.get(address).content.decode()
        assert escape(CODE) in text, address
        assert CODE not in text
        assert escape(escape(CODE)) not in text
    for layout in ("csv", "markdown"):
        parts = [part for part, _ in written(bob, Selection.now(), layout)]
        found = b"".join(parts).decode()
        assert (CODE.replace('"', '""') if layout == "csv" else CODE) in found
    lines = b"".join(part for part, _ in written(bob, Selection.now(), "jsonl")).splitlines()
    assert json.loads(lines[2])["choices"][0]["text"] == fence


def test_deleting_a_queue_keeps_its_runs(
    client: Client, queue: Queue, alice: User, bob: User
) -> None:
    client.force_login(bob)
    assert client.post(reverse("queue_delete", args=[queue.pk])).status_code == 404
    client.force_login(alice)
    client.post(reverse("queue_delete", args=[queue.pk]))
    assert not Queue.objects.exists()
    assert Run.objects.count() == 3


# --- Triage ----------------------------------------------------------------------------------


def test_undo_brings_the_former_rating_back(page: Client, runs: list[Run], bob: User) -> None:
    Rating.objects.give(runs[0], bob, 2)
    answer = triage(page, do="rate", value="5", row=f"run-{runs[0].pk}")
    assert Rating.objects.get().value == 5
    undo(page, answer)
    assert Rating.objects.get().value == 2


def test_undo_of_a_label_brings_back_what_it_replaced(page: Client, runs: list[Run]) -> None:
    for run, name in zip(runs, ("stage=draft", "stage=Final", "other"), strict=True):
        RunLabel.objects.put([run.pk], Label.objects.named(run.team_id, [name]))
    before = [labels(run) for run in runs]
    rows = [f"comparison-{run.comparison_id}" for run in runs]
    answer = triage(page, do="label", value="Stage=final", row=rows)
    assert [labels(run) for run in runs] == [
        ["stage=Final"],
        ["stage=Final"],
        ["other", "stage=Final"],
    ]
    undo(page, answer)
    assert [labels(run) for run in runs] == before


@pytest.mark.parametrize("value", ["", "x" * 101])
def test_a_bad_label_says_what_is_wrong(page: Client, runs: list[Run], value: str) -> None:
    answer = triage(page, do="label", value=value, row=f"run-{runs[0].pk}")
    assert (answer.status_code, "1 to 100 characters" in answer.json()["error"]) == (422, True)


@pytest.mark.parametrize("value", ["0", "6", "4.5", "x"])
def test_a_bad_rating_says_what_is_wrong(page: Client, runs: list[Run], value: str) -> None:
    answer = triage(page, do="rate", value=value, row=f"run-{runs[0].pk}")
    assert (answer.status_code, "from 1 to 5" in answer.json()["error"]) == (422, True)


def test_a_row_of_several_runs_is_not_rated(page: Client, runs: list[Run], alice: User) -> None:
    make_run(alice, comparison=runs[0].comparison)
    answer = triage(page, do="rate", value="3", row=f"comparison-{runs[0].comparison_id}")
    assert "several runs" in answer.json()["error"]
    assert not Rating.objects.exists()


def test_visibility_is_changed_by_the_author_only_and_undone(
    client: Client, runs: list[Run], alice: User, bob: User
) -> None:
    row = f"run-{runs[0].pk}"
    client.force_login(bob)
    assert "Only who started" in triage(client, do="visibility", row=row).json()["error"]
    client.force_login(alice)
    answer = triage(client, do="visibility", row=row)
    assert Run.objects.get(pk=runs[0].pk).visibility == "private"
    undo(client, answer)
    assert Run.objects.get(pk=runs[0].pk).visibility == "team"


@pytest.mark.parametrize(
    "fields",
    [
        {"do": "explode", "row": "{row}"},
        {"do": "rate", "value": "3", "row": "run-987654321"},
        {"do": "rate", "value": "3", "row": "draft-1"},
        {"do": "rate", "value": "3"},
        {"do": "skip", "queue": "987654321", "row": "{row}"},
    ],
)
def test_what_no_page_sends_is_not_found(
    page: Client, runs: list[Run], fields: dict[str, str]
) -> None:
    row = f"run-{runs[0].pk}"
    filled = {name: value.replace("{row}", row) for name, value in fields.items()}
    assert triage(page, **filled).status_code == 404


def test_a_reviewer_triages_as_a_member_does(
    client: Client, queue: Queue, runs: list[Run], rita: User
) -> None:
    client.force_login(rita)
    for fields in ({"do": "rate", "value": "3"}, {"do": "label", "value": "x"}, {"do": "skip"}):
        answer = triage(client, **fields, row=f"run-{runs[0].pk}", queue=queue.pk)
        assert answer.status_code == 200, json.dumps(fields)
