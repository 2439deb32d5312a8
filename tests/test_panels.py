"""Blind panels: what is compared, what a judge sees, which votes count, the result."""

import csv
import io
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from playground.models import Ballot, Judge, Label, Panel, Queue, Rating, Run, RunLabel, Seen, User
from tests.runs import make_run

NAMES = ("secret-model-9b", "hidden-model-70b")


@pytest.fixture
def runs(alice: User) -> list[Run]:
    """Two prompts, each answered by two models, with everything that could give a name away."""
    found = []
    for n, prompt in enumerate(("Name a bird.", "Name a tree.")):
        comparison = None
        for model in NAMES:
            run = make_run(
                alice,
                prompt,
                f"Answer {n}{model[0]}",
                comparison=comparison,
                model=model,
                connection_name="backend-xyz",
                total_ms=91234.5,
                first_token_ms=4321.25,
                completion_tokens=7654,
            )
            comparison = run.comparison
            Rating.objects.give(run, alice, 4)
            [label] = Label.objects.named(run.team_id, [f"by={model}"])
            RunLabel.objects.put([run.pk], [label])
            found.append(run)
    return found


def membership(user: User) -> Any:
    found = user.membership()
    assert found is not None
    return found


@pytest.fixture
def panel(alice: User, runs: list[Run]) -> Panel:
    return Panel.objects.begin(membership(alice), "Which is better?", [run.pk for run in runs])


@pytest.fixture
def judge(client: Client, bob: User) -> Client:
    client.force_login(bob)
    return client


def page_of(client: Client, panel: Panel) -> str:
    answer = client.get(reverse("panel", args=[panel.pk]))
    assert answer.status_code == 200
    return answer.content.decode()


def place_of(html: str) -> str:
    found = re.search(r'name="place" value="(\d+)"', html)
    assert found
    return found[1]


def vote(client: Client, panel: Panel, value: str) -> Any:
    html = page_of(client, panel)
    place = place_of(html) if 'name="place"' in html else ""
    return client.post(reverse("vote", args=[panel.pk]), {"vote": value, "place": place})


# --- What is compared ------------------------------------------------------------------------


def test_each_two_outputs_of_one_prompt_are_a_pair(panel: Panel, runs: list[Run]) -> None:
    pairs = [{pair.a.run_id, pair.b.run_id} for pair in panel.pairs.select_related("a", "b")]
    assert pairs == [{runs[0].pk, runs[1].pk}, {runs[2].pk, runs[3].pk}]


def test_three_outputs_are_three_pairs_and_settings_tell_equal_models_apart(alice: User) -> None:
    made = [
        make_run(alice, "Hi", f"Answer {t}", model="m", values={"temperature": t})
        for t in (0, 0.5, 1)
    ]
    panel = Panel.objects.begin(membership(alice), "x", [run.pk for run in made])
    assert panel.pairs.count() == 3
    names = set(panel.entries.values_list("contestant", flat=True))
    assert names == {f"m · fake, temperature {t}" for t in (0, 0.5, 1)}


def test_outputs_of_different_prompts_are_refused(alice: User, client: Client) -> None:
    made = [make_run(alice, "One", "1", model="a"), make_run(alice, "Two", "2", model="b")]
    client.force_login(alice)
    rows = ",".join(f"run-{run.pk}" for run in made)
    fields = {"kind": "panel", "rows": rows, "name": "Kept"}
    answer = client.post(reverse("review_new"), fields)
    assert answer.status_code == 422
    assert "no two outputs of the same prompt" in answer.content.decode()
    assert 'value="Kept"' in answer.content.decode()
    assert not Panel.objects.exists()


def test_a_panel_is_made_from_rows_of_the_history(
    alice: User, client: Client, runs: list[Run]
) -> None:
    client.force_login(alice)
    rows = ",".join(f"comparison-{pk}" for pk in dict.fromkeys(r.comparison_id for r in runs))
    answer = client.post(reverse("review_new"), {"kind": "panel", "rows": rows, "name": "Which?"})
    panel = Panel.objects.get()
    assert answer["Location"] == reverse("panel", args=[panel.pk])
    assert panel.pairs.count() == 2


# --- What a judge sees -----------------------------------------------------------------------


def test_nothing_in_the_page_gives_a_name_away(
    judge: Client, panel: Panel, runs: list[Run]
) -> None:
    """No name, label, id, address, time or figure of the runs, whatever is voted."""
    for value in ("1", "u", "g", "s", "2"):
        html = page_of(judge, panel)
        answer = judge.post(
            reverse("vote", args=[panel.pk]),
            {"vote": value, "place": place_of(html)},
            headers={"HX-Request": "true"},
        )
        for text in (html, answer.content.decode(), str(answer.headers)):
            for word in (
                *NAMES,
                "backend-xyz",
                "by=secret",
                "by=hidden",
                "PREVIEWED",
                "91234",
                "91.2",
                "4321",
                "7,654",
                "7654",
            ):
                assert word not in text
            for run in runs:
                assert f"/runs/{run.pk}/" not in text
                assert f"/comparisons/{run.comparison_id}/" not in text
                assert not re.search(rf"(run|comparison|entry)-{run.pk}\b", text)
    assert not Seen.objects.exists()


def test_both_texts_and_the_prompt_are_shown(judge: Client, panel: Panel) -> None:
    html = page_of(judge, panel)
    kind = "0" if "Answer 0" in html else "1"
    assert f"Answer {kind}s" in html
    assert f"Answer {kind}h" in html
    assert ("Name a bird." if kind == "0" else "Name a tree.") in html


def test_order_and_sides_are_drawn_once_for_each_judge(
    alice: User, bob: User, rita: User, panel: Panel, client: Client
) -> None:
    client.force_login(bob)
    first = page_of(client, panel)
    drawn = list(Ballot.objects.order_by("pk").values_list("pair", "place", "swapped"))
    texts = re.findall(r"Answer \w+", first)
    for _ in range(3):
        assert re.findall(r"Answer \w+", page_of(client, panel)) == texts
    assert list(Ballot.objects.order_by("pk").values_list("pair", "place", "swapped")) == drawn


def test_sides_and_order_differ_between_judges(alice: User, bob: User, rita: User) -> None:
    made = [make_run(alice, f"Prompt {n}", f"{n}{m}", model=m) for n in range(30) for m in "ab"]
    panel = Panel.objects.begin(membership(alice), "x", [run.pk for run in made])
    for user in (bob, rita):
        panel.judge(user).deal(membership(user))
    orders = [
        list(judge.ballots.order_by("place").values_list("pair", flat=True))
        for judge in Judge.objects.all()
    ]
    sides = [
        list(judge.ballots.order_by("pair").values_list("swapped", flat=True))
        for judge in Judge.objects.all()
    ]
    assert orders[0] != orders[1]  # by chance equal once in 30!
    assert sides[0] != sides[1]  # by chance equal once in 2 ** 30
    assert {True, False} == set(sides[0])


# --- Votes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    ("key", "value"), [("1", "a"), ("2", "b"), ("0", "tie"), ("-", "bad"), ("s", "skip")]
)
def test_a_vote_is_for_the_output_and_not_for_the_side(
    judge: Client, panel: Panel, key: str, value: str, swapped: bool
) -> None:
    page_of(judge, panel)
    Ballot.objects.update(swapped=swapped)
    vote(judge, panel, key)
    other = {"a": "b", "b": "a"}
    wanted = other.get(value, value) if swapped else value
    assert Ballot.objects.exclude(value="").get().value == wanted


def test_undo_takes_the_last_vote_back_and_shows_that_pair(judge: Client, panel: Panel) -> None:
    first = page_of(judge, panel)
    vote(judge, panel, "1")
    assert page_of(judge, panel) != first
    assert Ballot.objects.exclude(value="").count() == 1
    answer = judge.post(
        reverse("vote", args=[panel.pk]), {"vote": "u"}, headers={"HX-Request": "true"}
    )
    assert not Ballot.objects.exclude(value="").exists()
    assert place_of(answer.content.decode()) == place_of(first)


def test_what_is_no_vote_is_refused(judge: Client, panel: Panel) -> None:
    place = place_of(page_of(judge, panel))
    address = reverse("vote", args=[panel.pk])
    for fields in ({"vote": "3", "place": place}, {"vote": "1"}, {"vote": "1", "place": "99"}):
        assert judge.post(address, fields).status_code == 404
    assert not Ballot.objects.exclude(value="").exists()


def test_votes_are_final_once_the_names_are_revealed(
    judge: Client, panel: Panel, bob: User
) -> None:
    vote(judge, panel, "1")
    place = place_of(page_of(judge, panel))
    judge.post(reverse("reveal", args=[panel.pk]))
    before = list(Ballot.objects.order_by("pk").values_list("value", flat=True))
    for fields in ({"vote": "u"}, {"vote": "2", "place": place}, {"vote": "g", "place": place}):
        answer = judge.post(
            reverse("vote", args=[panel.pk]), fields, headers={"HX-Request": "true"}
        )
        assert answer["HX-Redirect"] == reverse("panel_result", args=[panel.pk])
    assert list(Ballot.objects.order_by("pk").values_list("value", flat=True)) == before
    assert not Ballot.objects.filter(named=True).exists()


def test_the_result_is_hidden_from_who_has_not_revealed(
    judge: Client, panel: Panel, bob: User
) -> None:
    page = judge.get(reverse("panel_result", args=[panel.pk])).content.decode()
    assert NAMES[0] not in page
    assert judge.get(reverse("votes_csv", args=[panel.pk])).status_code == 404
    assert judge.get(reverse("panel_pair", args=[panel.pk, 1])).status_code == 404


# --- Which votes count -----------------------------------------------------------------------


def aside(user: User) -> set[str]:
    return set(
        Ballot.objects.filter(judge__user=user).exclude(value="").values_list("aside", flat=True)
    )


def test_a_vote_of_who_has_seen_nothing_counts(judge: Client, panel: Panel, bob: User) -> None:
    vote(judge, panel, "1")
    assert aside(bob) == {""}


def test_the_authors_votes_are_set_aside(client: Client, panel: Panel, alice: User) -> None:
    client.force_login(alice)
    vote(client, panel, "1")
    assert aside(alice) == {"author"}


@pytest.mark.parametrize(
    "name",
    [
        "run", "runs", "comparison", "history", "history_unfold", "history_preview", "compare",
        "difference", "run_sent", "queue", "rows",
    ],
)  # fmt: skip
def test_a_page_with_names_that_was_opened_before_sets_votes_aside(
    judge: Client, panel: Panel, runs: list[Run], bob: User, alice: User, name: str
) -> None:
    ids = [run.pk for run in runs]
    queue = Queue.objects.begin(membership(alice), "q", ids)
    everything = ",".join(map(str, ids))
    pages = {
        "run": [reverse("run", args=[pk]) for pk in ids],
        "runs": [reverse("runs") + f"?ids={everything}"],
        "comparison": [reverse("comparison", args=[run.comparison_id]) for run in runs],
        "history": [reverse("history") + "?whose=team"],
        "history_unfold": [reverse("history_unfold", args=[run.comparison_id]) for run in runs],
        "history_preview": [reverse("history_preview", args=[pk]) for pk in ids],
        "compare": [reverse("compare") + f"?runs={everything}"],
        "difference": [reverse("difference") + f"?ids={everything}"],
        "run_sent": [reverse("run_sent", args=[pk]) for pk in ids],
        "queue": [reverse("queue", args=[queue.pk])],
        "rows": [reverse("rows", args=[run.comparison_id]) for run in runs],
    }
    for page in pages[name]:
        assert judge.get(page).status_code == 200
    assert Seen.objects.filter(user=bob, run__in=ids).count() == len(ids)
    vote(judge, panel, "1")
    assert aside(bob) == {"seen"}


def test_a_page_that_is_opened_after_the_vote_changes_nothing(
    judge: Client, panel: Panel, runs: list[Run], bob: User
) -> None:
    vote(judge, panel, "1")
    for run in runs:
        judge.get(reverse("run", args=[run.pk]))
    assert aside(bob) == {""}
    vote(judge, panel, "1")
    assert aside(bob) == {"", "seen"}


def test_an_output_that_names_its_model_sets_the_vote_aside(
    judge: Client, panel: Panel, bob: User
) -> None:
    vote(judge, panel, "g")
    vote(judge, panel, "1")
    assert aside(bob) == {"named"}


def test_the_same_page_twice_notes_it_once(judge: Client, runs: list[Run], bob: User) -> None:
    address = reverse("run", args=[runs[0].pk])
    judge.get(address)
    first = Seen.objects.get(user=bob).created_at
    judge.get(address)
    assert Seen.objects.get(user=bob).created_at == first


# --- The result ------------------------------------------------------------------------------


def decide(panel: Panel, user: User, values: list[str], aside: str = "") -> None:
    """Votes on the pairs in their order."""
    judge = panel.judge(user)
    judge.deal(membership(user))
    for ballot, value in zip(judge.ballots.order_by("pair__position"), values, strict=True):
        Ballot.objects.filter(pk=ballot.pk).update(value=value, aside=aside)


def result_of(client: Client, panel: Panel, user: User) -> Any:
    client.force_login(user)
    client.post(reverse("reveal", args=[panel.pk]))
    return client.get(reverse("panel_result", args=[panel.pk]))


def test_the_result_counts_only_votes_that_count(
    client: Client, panel: Panel, alice: User, bob: User, rita: User
) -> None:
    decide(panel, bob, ["a", "a"])
    decide(panel, rita, ["a", "b"])
    decide(panel, alice, ["b", "b"], aside="author")
    answer = result_of(client, panel, bob)
    rows = {row["name"]: row for row in answer.context["ranking"]}
    first, second = rows[f"{NAMES[0]} · backend-xyz"], rows[f"{NAMES[1]} · backend-xyz"]
    assert [first[key] for key in ("wins", "losses", "ties", "bad")] == [3, 1, 0, 0]
    assert second["wins"] == 1
    assert first["share"] == pytest.approx([0.75, 0.3006, 0.9544], abs=1e-4)
    assert first["strength"][0] == pytest.approx(0.75, abs=1e-6)
    assert answer.context["agreement"]["share"][0] == 0.5
    [aside_row] = answer.context["aside"]
    assert (aside_row["judge"].name, len(aside_row["values"])) == ("alice", 2)
    assert [each["pair"].position for each in answer.context["divided"]] == [2]
    assert reverse("panel_pair", args=[panel.pk, 2]) in answer.content.decode()


def test_the_pair_that_divides_shows_names_and_votes(
    client: Client, panel: Panel, bob: User, rita: User
) -> None:
    decide(panel, bob, ["a", "a"])
    decide(panel, rita, ["a", "b"])
    client.force_login(bob)
    client.post(reverse("reveal", args=[panel.pk]))
    page = client.get(reverse("panel_pair", args=[panel.pk, 2])).content.decode()
    assert all(name in page for name in NAMES)
    assert "A is better" in page
    assert "B is better" in page


def test_a_result_without_votes_says_so(client: Client, panel: Panel, bob: User) -> None:
    answer = result_of(client, panel, bob)
    assert answer.status_code == 200
    assert "no vote yet" in answer.content.decode()


def test_the_votes_come_as_csv_without_formulas(client: Client, alice: User, bob: User) -> None:
    made = [make_run(alice, "Hi", "1", model="=cmd()"), make_run(alice, "Hi", "2", model="m")]
    panel = Panel.objects.begin(membership(alice), "x", [run.pk for run in made])
    decide(panel, bob, ["a"])
    result_of(client, panel, bob)
    answer = client.get(reverse("votes_csv", args=[panel.pk]))
    head, row = csv.reader(io.StringIO(answer.content.decode("utf-8-sig")))
    found = dict(zip(head, row, strict=True))
    assert found["preferred"].startswith("'=cmd()")
    assert (found["judge"], found["vote"], found["counts"]) == ("bob", "A", "yes")
    assert found["run_a"] == str(made[0].pk)


def test_a_pair_whose_run_is_in_the_trash_is_neither_judged_nor_counted(
    client: Client, panel: Panel, runs: list[Run], bob: User
) -> None:
    decide(panel, bob, ["a", "a"])
    runs[0].comparison.trash()
    answer = result_of(client, panel, bob)
    assert (answer.context["votes"], answer.context["pairs"]) == (1, 1)


def test_deleting_a_judge_keeps_the_votes(
    client: Client, panel: Panel, bob: User, rita: User
) -> None:
    decide(panel, bob, ["a", "b"])
    bob.delete()
    answer = result_of(client, panel, rita)
    assert answer.context["votes"] == 2
    assert "bob" in answer.content.decode()
