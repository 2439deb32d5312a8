"""Blind panels: what is compared, what a judge sees, which votes count, the result."""

import csv
import io
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from playground.models import (
    Ballot,
    Comparison,
    Judge,
    Label,
    Panel,
    Queue,
    Rating,
    Run,
    RunLabel,
    Seen,
    User,
)
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
    pairs = [set(each.run_ids) for each in panel.rounds.with_seats()]
    assert pairs == [{runs[0].pk, runs[1].pk}, {runs[2].pk, runs[3].pk}]


def test_three_outputs_are_three_pairs_and_settings_tell_equal_models_apart(alice: User) -> None:
    made = [
        make_run(alice, "Hi", f"Answer {t}", model="m", values={"temperature": t})
        for t in (0, 0.5, 1)
    ]
    panel = Panel.objects.begin(membership(alice), "x", [run.pk for run in made])
    assert panel.rounds.count() == 3
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
    assert panel.rounds.count() == 2


THREE = ("one-7b", "two-7b", "three-7b")


@pytest.fixture
def together(alice: User) -> Panel:
    """Two prompts, each answered twice by each of three models."""
    made = [
        make_run(alice, prompt, f"{prompt} {model[:3]} {again}", model=model)
        for prompt in ("Bird?", "Tree?")
        for model in THREE
        for again in "xy"
    ]
    ids = [run.pk for run in made]
    return Panel.objects.begin(membership(alice), "Which is best?", ids, together=True)


def test_the_list_says_how_far_one_is_in_a_few_queries(
    judge: Client,
    alice: User,
    panel: Panel,
    runs: list[Run],
    django_assert_max_num_queries: Any,
) -> None:
    vote(judge, panel, "1")
    for n in range(12):
        Panel.objects.begin(membership(alice), f"Panel {n}", [run.pk for run in runs])
    with django_assert_max_num_queries(20):
        page = judge.get(reverse("reviews"))
    assert [(each["rounds"], each["voted"]) for each in page.context["panels"]] == [
        *[(2, 0)] * 12,
        (2, 1),
    ]


def test_the_list_counts_no_round_whose_runs_one_may_not_see(
    judge: Client, panel: Panel, runs: list[Run]
) -> None:
    vote(judge, panel, "1")
    [voted] = Ballot.objects.exclude(value="")
    hidden = next(run for run in runs if run.pk in voted.round.run_ids)
    hidden.comparison.show_to("private")
    [listed] = judge.get(reverse("reviews")).context["panels"]
    assert (listed["rounds"], listed["voted"]) == (1, 0)


def test_all_outputs_of_a_prompt_stand_together_once_for_each_repetition(together: Panel) -> None:
    rounds = list(together.rounds.with_seats())
    assert [each.size for each in rounds] == [3] * 4
    for each in rounds:
        names = [entry.contestant for entry in each.entries]
        assert names == [f"{model} · fake" for model in THREE]
    texts = {tuple(entry.text() for entry in each.entries) for each in rounds}
    assert ("Bird? one x", "Bird? two x", "Bird? thr x") in texts
    assert ("Tree? one y", "Tree? two y", "Tree? thr y") in texts


def test_a_repetition_without_an_opponent_is_left_out(alice: User) -> None:
    made = [make_run(alice, "Hi", f"{model}{n}", model=model) for n, model in enumerate("aaab")]
    ids = [run.pk for run in made]
    panel = Panel.objects.begin(membership(alice), "x", ids, together=True)
    [one] = panel.rounds.with_seats()
    assert one.run_ids == [made[0].pk, made[3].pk]
    assert not panel.together  # there is nothing but pairs


def test_more_outputs_than_keys_are_refused_with_a_way_out(alice: User, client: Client) -> None:
    made = [make_run(alice, "Hi", str(n), model=f"m{n}") for n in range(10)]
    client.force_login(alice)
    rows = ",".join(f"run-{run.pk}" for run in made)
    fields = {"kind": "panel", "rows": rows, "name": "Kept", "together": "1"}
    answer = client.post(reverse("review_new"), fields)
    assert answer.status_code == 422
    assert "side by side are at most 9. Show two at a time" in answer.content.decode()
    client.post(reverse("review_new"), {**fields, "together": ""})
    assert Panel.objects.get().rounds.count() == 45


def test_a_preview_of_the_next_tokens_is_in_a_panel_only_where_it_is_asked_for(
    alice: User, client: Client
) -> None:
    client.force_login(alice)
    make_run(alice, "Once", "a", model="a")
    make_run(alice, "Once", "b", model="b")
    ahead = make_run(alice, "Once", "c", model="c", visibility="private")
    RunLabel.objects.put([ahead.pk], Label.objects.named(ahead.team_id, ["preview"]))
    fields = {"kind": "panel", "whose": "team", "name": "Which?"}
    form = client.get(reverse("review_new"), fields)
    assert (form.context["special"], form.context["asks"]) == ([("previews", 1, False)], None)
    for ticked, entries in (({}, 2), ({"previews": "on"}, 3)):
        client.post(reverse("review_new"), {**fields, **ticked})
        assert Panel.objects.latest("pk").entries.count() == entries
    searched = client.get(reverse("review_new"), {**fields, "q": "label:preview"})
    assert searched.context["special"] == [("previews", 1, True)]


def test_the_votes_follow_the_ticks_and_nothing_is_made(alice: User, client: Client) -> None:
    made = [make_run(alice, "Once", model, model=model) for model in "abc"]
    made.append(make_run(alice, "Once", "d", model="d", visibility="private"))
    RunLabel.objects.put([made[3].pk], Label.objects.named(made[3].team_id, ["preview"]))
    client.force_login(alice)
    rows = ",".join(f"run-{run.pk}" for run in made)
    fields = {"kind": "panel", "rows": rows, "look": "1", "together": "1"}
    for ticked, asks in (({}, (3, 1)), ({"previews": "on"}, (6, 1))):
        page = client.post(reverse("review_new"), {**fields, **ticked})
        assert (page.status_code, page.context["asks"]) == (200, asks)
        assert page.context["together"]
    assert not Panel.objects.exists()


def test_the_form_says_how_many_votes_each_way_takes(alice: User, client: Client) -> None:
    made = [make_run(alice, prompt, f"{m}", model=m) for prompt in ("Hi", "Ho") for m in "abc"]
    client.force_login(alice)
    rows = ",".join(f"run-{run.pk}" for run in made)
    page = client.get(reverse("review_new"), {"kind": "panel", "rows": rows})
    assert page.context["asks"] == (6, 2)
    client.post(
        reverse("review_new"), {"kind": "panel", "rows": rows, "name": "x", "together": "1"}
    )
    assert Panel.objects.get().rounds.count() == 2
    two = ",".join(f"run-{run.pk}" for run in made[:2])
    page = client.get(reverse("review_new"), {"kind": "panel", "rows": two})
    assert page.context["asks"] is None


@pytest.mark.parametrize("order", ["abc", "cab"])
@pytest.mark.parametrize(("key", "place"), [("1", 0), ("2", 1), ("3", 2)])
def test_the_best_of_three_is_the_output_that_stood_there(
    judge: Client, together: Panel, key: str, place: int, order: str
) -> None:
    html = page_of(judge, together)
    assert len(re.findall(r'<article class="card" id="output-[ABC]"', html)) == 3
    assert not any(name in html for name in THREE)
    Ballot.objects.update(order=order)
    shown = re.findall(r"(?:Bird|Tree)\? (?:one|two|thr) [xy]", page_of(judge, together))
    vote(judge, together, key)
    ballot = Ballot.objects.exclude(value="").get()
    assert ballot.value == order[place]
    entries = ballot.round.entries
    assert entries["abc".index(ballot.value)].text() == shown[place]


def test_a_key_for_an_output_that_is_not_there_is_no_vote(judge: Client, together: Panel) -> None:
    for key in ("4", "9", "00", "01", "²"):
        assert vote(judge, together, key).status_code == 404
    assert not Ballot.objects.exclude(value="").exists()


def test_the_result_of_three_counts_each_as_over_the_others(
    client: Client, together: Panel, alice: User, bob: User, rita: User
) -> None:
    decide(together, bob, ["a", "a", "b", "tie"])
    decide(together, rita, ["a", "b", "c", "bad"])
    decide(together, alice, ["c"] * 4, aside="author")
    answer = result_of(client, together, bob)
    rows = {row["name"].split()[0]: row for row in answer.context["ranking"]}
    assert [rows["one-7b"][key] for key in ("wins", "losses", "ties", "bad")] == [3, 3, 1, 1]
    assert [rows[name]["wins"] for name in THREE] == [3, 2, 1]
    assert [row["rank"] for row in answer.context["ranking"]] == [1, 2, 3]
    assert answer.context["agreement"]["share"][0] == 0.25
    assert [each["position"] for each in answer.context["divided"]] == [2, 3, 4]
    assert answer.context["divided"][0]["outputs"] == [
        ("one-7b · fake", 1), ("two-7b · fake", 1), ("three-7b · fake", 0)
    ]  # fmt: skip
    page = answer.content.decode()
    assert "Rounds that divide the judges" in page
    page = client.get(reverse("panel_round", args=[together.pk, 2])).content.decode()
    assert "B is best" in page
    table = list(csv.reader(io.StringIO(votes_table(client, together))))
    assert table[0][:9] == ["round", "prompt", "judge", "vote", "preferred", "over", "a", "b", "c"]
    assert len(table) == 13
    first = dict(zip(*table[:2], strict=True))
    assert (first["preferred"], first["over"]) == (
        "one-7b · fake", "two-7b · fake; three-7b · fake",
    )  # fmt: skip


def test_a_purged_run_takes_its_whole_round_away(
    client: Client, together: Panel, bob: User
) -> None:
    decide(together, bob, ["a", "b", "c", "tie"])
    run = Run.objects.get(pk=together.rounds.with_seats()[0].run_ids[2])
    Comparison.objects.move([run.comparison_id], deleted_at=timezone.now())
    run.comparison.refresh_from_db()
    run.comparison.purge()
    answer = result_of(client, together, bob)
    assert (answer.context["votes"], answer.context["rounds"]) == (3, 3)


def test_undo_does_not_bring_back_a_text_that_one_may_not_see_any_more(
    judge: Client, panel: Panel, runs: list[Run]
) -> None:
    vote(judge, panel, "1")
    first = Ballot.objects.exclude(value="").get().round
    runs[0 if runs[0].pk in first.run_ids else 2].comparison.trash()
    answer = judge.post(
        reverse("vote", args=[panel.pk]), {"vote": "u"}, headers={"HX-Request": "1"}
    )
    assert first.entries[0].text() not in answer.content.decode()


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
    drawn = list(Ballot.objects.order_by("pk").values_list("round", "place", "order"))
    texts = re.findall(r"Answer \w+", first)
    for _ in range(3):
        assert re.findall(r"Answer \w+", page_of(client, panel)) == texts
    assert list(Ballot.objects.order_by("pk").values_list("round", "place", "order")) == drawn


def test_sides_and_order_differ_between_judges(alice: User, bob: User, rita: User) -> None:
    made = [make_run(alice, f"Prompt {n}", f"{n}{m}", model=m) for n in range(30) for m in "ab"]
    panel = Panel.objects.begin(membership(alice), "x", [run.pk for run in made])
    for user in (bob, rita):
        Judge.objects.of(panel, user).deal(membership(user))
    orders = [
        list(judge.ballots.order_by("place").values_list("round", flat=True))
        for judge in Judge.objects.all()
    ]
    sides = [
        list(judge.ballots.order_by("round").values_list("order", flat=True))
        for judge in Judge.objects.all()
    ]
    assert orders[0] != orders[1]  # by chance equal once in 30!
    assert sides[0] != sides[1]  # by chance equal once in 2 ** 30
    assert {"ab", "ba"} == set(sides[0])


# --- Votes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["ab", "ba"])
@pytest.mark.parametrize(
    ("key", "value"), [("1", "a"), ("2", "b"), ("0", "tie"), ("-", "bad"), ("s", "skip")]
)
def test_a_vote_is_for_the_output_and_not_for_the_side(
    judge: Client, panel: Panel, key: str, value: str, order: str
) -> None:
    page_of(judge, panel)
    Ballot.objects.update(order=order)
    vote(judge, panel, key)
    other = {"a": "b", "b": "a"}
    wanted = other.get(value, value) if order == "ba" else value
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
    assert judge.get(reverse("panel_round", args=[panel.pk, 1])).status_code == 404


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
        "compare": [reverse("compare") + "?rows=" + ",".join(f"run-{pk}" for pk in ids)],
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


def notice_of(html: str) -> str:
    """What the page says of this vote before it is given, without its markup."""
    found = re.search("data-ballot-aside>(.*?)</div>", html)
    return re.sub("<[^>]+>", "", found[1]) if found else ""


def test_a_judge_is_told_beforehand_that_a_vote_will_be_set_aside(
    client: Client, panel: Panel, runs: list[Run], alice: User, bob: User
) -> None:
    """In the same words for who wrote a run and for who has seen one: several rounds that gave
    different reasons could tell whose text is whose."""
    client.force_login(alice)
    as_author = page_of(client, panel)
    client.force_login(bob)
    fresh = page_of(client, panel)
    for run in runs:
        client.get(reverse("run", args=[run.pk]))
    as_reader = page_of(client, panel)
    assert "you started one of its runs or have seen one" in notice_of(as_author)
    assert notice_of(as_reader) == notice_of(as_author)
    assert notice_of(fresh) == ""
    for html in (fresh, as_author, as_reader):
        assert "A vote is set aside" in html  # the rule stands there for everybody
        assert not any(name in html for name in NAMES)
    vote(client, panel, "g")
    assert notice_of(page_of(client, panel)) == notice_of(as_author)


def test_who_has_judged_all_is_told_how_many_votes_do_not_count(
    judge: Client, panel: Panel
) -> None:
    vote(judge, panel, "g")
    assert "because a text gives its model away" in notice_of(page_of(judge, panel))
    for value in ("1", "2"):
        vote(judge, panel, value)
    assert "1 of them is set aside and does not count" in page_of(judge, panel)


def test_the_same_page_twice_notes_it_once(judge: Client, runs: list[Run], bob: User) -> None:
    address = reverse("run", args=[runs[0].pk])
    judge.get(address)
    first = Seen.objects.get(user=bob).created_at
    judge.get(address)
    assert Seen.objects.get(user=bob).created_at == first


# --- The result ------------------------------------------------------------------------------


def decide(panel: Panel, user: User, values: list[str], aside: str = "") -> None:
    """Votes on the pairs in their order."""
    judge = Judge.objects.of(panel, user)
    judge.deal(membership(user))
    for ballot, value in zip(judge.ballots.order_by("round__position"), values, strict=True):
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
    assert (aside_row["judge"].name, aside_row["count"]) == ("alice", 2)
    assert [each["position"] for each in answer.context["divided"]] == [2]
    assert reverse("panel_round", args=[panel.pk, 2]) in answer.content.decode()


def test_the_result_says_what_the_votes_that_were_set_aside_said(
    client: Client, together: Panel, alice: User, bob: User
) -> None:
    decide(together, alice, ["c", "a", "tie", "c"], aside="author")
    decide(together, bob, ["bad", "bad", "skip", "b"], aside="seen")
    answer = result_of(client, together, bob)
    wanted = ("preferred", "ties", "bad")
    said = {row["judge"].name: [row[key] for key in wanted] for row in answer.context["aside"]}
    assert said == {
        "alice": [[("three-7b · fake", 2), ("one-7b · fake", 1)], 1, 0],
        "bob": [[("two-7b · fake", 1)], 0, 2],
    }
    shown = answer.content.decode().partition('id="aside-title"')[2].partition("</section>")[0]
    for words in ('three-7b · fake <span class="tr">2<', 'tie <span class="tr">1<', "all bad"):
        assert words in shown


def test_the_pair_that_divides_shows_names_and_votes(
    client: Client, panel: Panel, bob: User, rita: User
) -> None:
    decide(panel, bob, ["a", "a"])
    decide(panel, rita, ["a", "b"])
    client.force_login(bob)
    client.post(reverse("reveal", args=[panel.pk]))
    page = client.get(reverse("panel_round", args=[panel.pk, 2])).content.decode()
    assert all(name in page for name in NAMES)
    assert "A is better" in page
    assert "B is better" in page


def test_a_result_without_votes_says_so(client: Client, panel: Panel, bob: User) -> None:
    answer = result_of(client, panel, bob)
    assert answer.status_code == 200
    assert "no vote yet" in answer.content.decode()


def votes_table(client: Client, panel: Panel) -> str:
    return client.get(reverse("votes_csv", args=[panel.pk])).content.decode("utf-8-sig")


def test_the_votes_come_as_csv_without_formulas(client: Client, alice: User, bob: User) -> None:
    made = [make_run(alice, "Hi", "1", model="=cmd()"), make_run(alice, "Hi", "2", model="m")]
    panel = Panel.objects.begin(membership(alice), "x", [run.pk for run in made])
    decide(panel, bob, ["a"])
    result_of(client, panel, bob)
    head, row = csv.reader(io.StringIO(votes_table(client, panel)))
    found = dict(zip(head, row, strict=True))
    assert found["preferred"].startswith("'=cmd()")
    assert (found["judge"], found["vote"], found["counts"]) == ("bob", "A", "yes")
    assert found["run_a"] == str(made[0].pk)


def test_a_note_goes_with_the_vote_and_is_read_once_the_names_are_known(
    client: Client, panel: Panel, bob: User
) -> None:
    client.force_login(bob)
    client.get(reverse("panel", args=[panel.pk]))
    address, place = reverse("vote", args=[panel.pk]), {"place": "1"}
    client.post(address, {**place, "vote": "1", "note": " =1+1 is\r\n<b>short</b>\0 "})
    page = client.post(address, {"vote": "u"}, headers={"HX-Request": "true"}).content.decode()
    assert "=1+1 is\n&lt;b&gt;short&lt;/b&gt;\ufffd</textarea>" in page
    client.post(address, {**place, "vote": "1", "note": "=1+1 is\n<b>short</b>"})
    result_of(client, panel, bob)
    client.post(address, {**place, "vote": "2", "note": "later"})  # it is final
    ballot = Ballot.objects.exclude(note="").get()
    position = ballot.round.position
    page = client.get(reverse("panel_round", args=[panel.pk, position])).content.decode()
    assert "&lt;b&gt;short&lt;/b&gt;" in page
    [row] = csv.DictReader(io.StringIO(votes_table(client, panel)))
    assert row["note"].startswith("'=1+1")


def test_a_pair_whose_run_is_in_the_trash_is_neither_judged_nor_counted(
    client: Client, panel: Panel, runs: list[Run], bob: User
) -> None:
    decide(panel, bob, ["a", "a"])
    runs[0].comparison.trash()
    answer = result_of(client, panel, bob)
    assert (answer.context["votes"], answer.context["rounds"]) == (1, 1)


def test_deleting_a_judge_keeps_the_votes(
    client: Client, panel: Panel, bob: User, rita: User
) -> None:
    decide(panel, bob, ["a", "b"])
    bob.delete()
    answer = result_of(client, panel, rita)
    assert answer.context["votes"] == 2
    assert "bob" in answer.content.decode()
