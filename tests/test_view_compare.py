"""Two or more past runs side by side: settings, figures against a baseline, texts by words."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from playground.models import Run, User
from tests.runs import make_run


@pytest.fixture
def runs(alice: User) -> list[Run]:
    common: dict[str, Any] = {"prompt_tokens": 10, "completion_tokens": 20}
    return [
        make_run(
            alice,
            "Name a bird.",
            "A grey heron stands.",
            values={"temperature": 0, "seed": 1, "stream": True},
            total_ms=1000.0,
            first_token_ms=100.0,
            **common,
        ),
        make_run(
            alice,
            "Name a bird.",
            "A white heron stands.",
            values={"temperature": 0.0, "seed": 1},
            total_ms=1250.0,
            first_token_ms=80.0,
            **common,
        ),
        make_run(
            alice, "Name two birds.", "A grey heron stands.", model="other", values={"seed": 1}
        ),
    ]


@pytest.fixture
def page(client: Client, bob: User) -> Client:
    client.force_login(bob)
    return client


def compare(client: Client, *runs: Run, **state: str) -> Any:
    rows = ",".join(f"run-{run.pk}" for run in runs)
    return client.get(reverse("compare"), {"rows": rows, **state})


def lines(answer: Any) -> dict[str, Any]:
    return {line.name: line for table in answer.context["tables"] for line in table["lines"]}


def test_settings_stand_side_by_side_and_what_was_not_sent_says_so(
    page: Client, runs: list[Run]
) -> None:
    answer = compare(page, *runs)
    found = lines(answer)
    assert [cell.text for cell in found["temperature"].cells] == ["0", "0.0", ""]
    assert found["temperature"].differs
    assert not found["seed"].differs
    assert "stream" not in found
    assert "not sent" in answer.content.decode()


def test_the_switch_leaves_only_what_differs(page: Client, runs: list[Run]) -> None:
    found = lines(compare(page, *runs, only="1"))
    assert "temperature" in found
    assert "Model" in found
    assert "seed" not in found
    assert "Connection" not in found


def test_figures_have_a_difference_from_the_baseline(page: Client, runs: list[Run]) -> None:
    found = lines(compare(page, *runs))
    cells = found["Total"].cells
    assert [cell.text for cell in cells] == ["1.00 s", "1.25 s", ""]
    assert [cell.delta for cell in cells] == ["", "+250 ms, +25 %", ""]
    assert (cells[1].note, cells[0].best, cells[1].best) == ("worse", True, False)
    first = found["First token"].cells
    assert (first[1].delta, first[1].note) == ("−20 ms, −20 %", "better")
    assert found["Tokens out"].cells[1].delta == "same"


def test_what_differs_by_less_than_is_shown_is_the_same(page: Client, runs: list[Run]) -> None:
    Run.objects.filter(pk=runs[1].pk).update(first_token_ms=(runs[0].first_token_ms or 0) + 0.3)
    cells = lines(compare(page, *runs))["First token"].cells
    assert (cells[1].delta, cells[1].note) == ("same", "")
    assert [cell.best for cell in cells] == [False, False, False]


def test_an_answer_that_failed_is_not_the_fastest(page: Client, runs: list[Run]) -> None:
    Run.objects.filter(pk=runs[1].pk).update(status="failed", total_ms=1)
    cells = lines(compare(page, *runs))["Total"].cells
    assert (cells[1].text, cells[1].delta, cells[1].best) == ("1 ms", "", False)


def test_the_baseline_can_be_chosen(page: Client, runs: list[Run]) -> None:
    answer = compare(page, *runs, base=str(runs[1].pk))
    assert [cell.delta for cell in lines(answer)["Total"].cells] == ["−250 ms, −20 %", "", ""]
    assert [each["run"].pk for each in answer.context["texts"]] == [runs[0].pk, runs[2].pk]


def test_prompt_and_output_are_compared_by_words(page: Client, runs: list[Run]) -> None:
    answer = compare(page, *runs)
    second, third = answer.context["texts"]
    changed = [(part.old, part.new) for part in second["output"]["parts"] if not part.same]
    assert changed == [("grey", "white")]
    assert second["prompt"]["changes"] == 0
    assert third["prompt"]["changes"] > 0
    assert third["output"]["changes"] == 0
    same = compare(page, *runs[:2])
    assert same.context["texts"][0]["prompt"] is None  # nothing to show where all asked the same


def test_runs_stand_in_the_order_of_the_address_and_can_be_moved(
    page: Client, runs: list[Run]
) -> None:
    answer = compare(page, runs[2], runs[0])
    assert [run.pk for run in answer.context["runs"]] == [runs[2].pk, runs[0].pk]
    moved = page.get(reverse("compare") + answer.context["heads"][0]["right"])
    assert [run.pk for run in moved.context["runs"]] == [runs[0].pk, runs[2].pk]
    assert moved.context["base"].pk == runs[2].pk  # the baseline stays the same run


def test_a_run_can_be_left_out_also_the_baseline(page: Client, runs: list[Run]) -> None:
    answer = compare(page, *runs)
    rest = page.get(reverse("compare") + answer.context["heads"][0]["without"])
    assert [run.pk for run in rest.context["runs"]] == [runs[1].pk, runs[2].pk]
    assert rest.context["base"].pk == runs[1].pk


def test_rows_of_the_history_become_their_runs(page: Client, runs: list[Run], alice: User) -> None:
    beside = make_run(alice, comparison=runs[0].comparison)
    rows = f"comparison-{runs[0].comparison_id},run-{runs[2].pk}"
    answer = page.get(reverse("compare"), {"rows": rows})
    wanted = f"run-{runs[0].pk},run-{beside.pk},run-{runs[2].pk}"
    assert answer["Location"] == f"{reverse('compare')}?rows={wanted}"


def test_of_more_runs_than_stand_side_by_side_it_shows_the_first_and_says_so(
    page: Client, alice: User
) -> None:
    made = [make_run(alice, f"Bird {number}") for number in range(14)]
    rows = [f"comparison-{run.comparison_id}" for run in made]
    answer = page.get(reverse("compare"), {"row": rows}, follow=True)
    assert [run.pk for run in answer.context["runs"]] == [run.pk for run in made[:12]]
    assert "The first 12 of 14 runs" in answer.text


def test_what_may_not_be_seen_is_not_there(page: Client, runs: list[Run], alice: User) -> None:
    hidden = make_run(alice, "zyzzyva", visibility="private")
    answer = compare(page, *runs, hidden)
    assert len(answer.context["runs"]) == 3
    assert "zyzzyva" not in answer.content.decode()
    assert compare(page, hidden).status_code == 404


@pytest.mark.parametrize("rows", ["x", "run-1,-2", "1,2", "run-" + "9" * 30, "comparison-9999"])
def test_what_is_no_list_of_rows_is_not_found(page: Client, rows: str) -> None:
    assert page.get(reverse("compare"), {"rows": rows}).status_code == 404


def test_without_runs_it_says_how_to_choose_some(page: Client) -> None:
    answer = page.get(reverse("compare"))
    assert answer.status_code == 200
    assert "Choose two or more runs" in answer.content.decode()


def test_markup_in_a_text_stays_text(page: Client, alice: User) -> None:
    made = [make_run(alice, output=f"<img src=x onerror=alert({n})>") for n in range(2)]
    assert "<img" not in compare(page, *made).content.decode()
