"""The figures of a panel against calculations by hand, and the program that makes them."""

import json
import math
import subprocess
import sys
from typing import Any

import pytest

from playground import ranking
from playground.ranking import Vote, result

A, B, TIE, BAD = 0, 1, "tie", "bad"


def votes(*values: int | str, judges: int = 1) -> list[list[Any]]:
    """A pair for each of so many judges' votes."""
    return [[n // judges, n % judges, [0, 1], value] for n, value in enumerate(values)]


def test_wins_ties_and_both_bad_are_counted_for_both_sides() -> None:
    found = result({"contestants": 2, "votes": votes(A, A, A, B, TIE, BAD)})["contestants"]
    first = {name: found[0][name] for name in ("wins", "losses", "ties", "bad")}
    second = {name: found[1][name] for name in ("wins", "losses", "ties", "bad")}
    assert first == {"wins": 3, "losses": 1, "ties": 1, "bad": 1}
    assert second == {"wins": 1, "losses": 3, "ties": 1, "bad": 1}


def test_the_interval_is_wilsons() -> None:
    """p = 0.75, n = 4, z = 1.959964: by the formula in Wilson 1927."""
    p, n, z = 0.75, 4, 1.959963985
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    found = result({"contestants": 2, "votes": votes(A, A, A, B)})["contestants"][0]["share"]
    assert found == pytest.approx([0.75, middle - half, middle + half], abs=1e-6)


def test_two_contestants_have_the_strength_of_their_share() -> None:
    """Bradley–Terry of 3 to 1 is odds of 3; a tie adds half a win to each: 3.5 to 1.5."""
    found = result({"contestants": 2, "votes": votes(A, A, A, B)})["contestants"]
    assert found[0]["strength"][0] == pytest.approx(0.75, abs=1e-6)
    assert found[1]["strength"][0] == pytest.approx(0.25, abs=1e-6)
    tied = result({"contestants": 2, "votes": votes(A, A, A, B, TIE)})["contestants"]
    assert tied[0]["strength"][0] == pytest.approx(0.7, abs=1e-6)


def test_three_contestants_in_a_ring_are_equal() -> None:
    ring = [[0, 0, [0, 1], A], [1, 0, [1, 2], A], [2, 0, [2, 0], A]]
    found = result({"contestants": 3, "votes": ring})
    assert [each["strength"][0] for each in found["contestants"]] == pytest.approx([0.5] * 3)
    assert not found["evened"]


def test_odds_multiply_along_a_chain() -> None:
    """0 : 1 = 2 : 1 and 1 : 2 = 2 : 1, so 0 : 2 is 4 : 1 although they never met."""
    chain = [
        *[[n, 0, [0, 1], value] for n, value in enumerate((A, A, B))],
        *[[n + 3, 0, [1, 2], value] for n, value in enumerate((A, A, B))],
    ]
    found = [
        each["strength"][0] for each in result({"contestants": 3, "votes": chain})["contestants"]
    ]
    assert found[0] == pytest.approx((2 / 3 + 4 / 5) / 2, abs=1e-5)
    assert found[2] == pytest.approx((1 / 3 + 1 / 5) / 2, abs=1e-5)


def test_a_winner_of_everything_and_contestants_that_never_met_get_finite_figures() -> None:
    """Half a win each way between any two is added: 4 to 0 becomes 4.5 to 0.5."""
    found = result({"contestants": 2, "votes": votes(A, A, A, A)})
    assert found["evened"]
    assert found["contestants"][0]["strength"][0] == pytest.approx(0.9, abs=1e-6)
    apart = [*votes(A, A), [9, 0, [2, 3], A]]
    found = result({"contestants": 5, "votes": apart})
    assert found["evened"]
    figures = [each["strength"] for each in found["contestants"]]
    assert figures[4] is None  # nobody has judged it
    assert all(0 < low <= each <= high < 1 for each, low, high in figures[:4])


def test_an_interval_holds_its_estimate_and_comes_out_the_same_again() -> None:
    data = {"contestants": 2, "votes": votes(*[A] * 14, *[B] * 6)}
    first, second = result(data), result(data)
    assert first == second
    estimate, low, high = first["contestants"][0]["strength"]
    assert estimate == pytest.approx(0.7, abs=1e-6)
    assert low < estimate < high
    assert low == pytest.approx(0.5, abs=0.1)
    assert high == pytest.approx(0.9, abs=0.1)


def test_the_best_of_three_has_won_over_each_of_the_others() -> None:
    """Luce's choice: 0, 1 and 2 chosen 6, 3 and 1 times of ten are worth 6 : 3 : 1."""
    said = [0] * 6 + [1] * 3 + [2]
    three = [[n, 0, [2, 0, 1], [2, 0, 1].index(best)] for n, best in enumerate(said)]
    found = result({"contestants": 3, "votes": three})["contestants"]
    assert [[each["wins"], each["losses"]] for each in found] == [[6, 4], [3, 7], [1, 9]]
    assert found[0]["share"][0] == pytest.approx(0.6)
    strengths = [each["strength"][0] for each in found]
    hand = [(6 / 9 + 6 / 7) / 2, (3 / 9 + 3 / 4) / 2, (1 / 7 + 1 / 4) / 2]
    assert strengths == pytest.approx(hand, abs=1e-4)


def test_a_tie_of_three_is_half_a_win_between_each_two() -> None:
    found = result({"contestants": 3, "votes": [[0, 0, [0, 1, 2], TIE], [1, 0, [0, 1, 2], BAD]]})
    assert [each["strength"][0] for each in found["contestants"]] == pytest.approx([0.5] * 3)
    assert [(each["ties"], each["bad"]) for each in found["contestants"]] == [(1, 1)] * 3
    assert not found["evened"]


def test_cohens_kappa_by_hand() -> None:
    """Cohen's own form: 20 + 15 of 50 agree; margins 25/25 and 30/20: (0.7 - 0.5) / 0.5."""
    both = [("a", "a")] * 20 + [("a", "b")] * 5 + [("b", "a")] * 10 + [("b", "b")] * 15
    assert ranking.kappa(both) == pytest.approx(0.4)
    assert ranking.kappa([("a", "a")] * 3) is None
    assert ranking.kappa([]) is None


def test_krippendorffs_alpha_of_his_own_example() -> None:
    """Example C of the paper: 12 units, 4 observers, gaps; nominal alpha is 0.743."""
    rows = [
        "1 2 3 3 2 1 4 1 2 . . .",
        "1 2 3 3 2 2 4 1 2 5 . 3",
        ". 3 3 3 2 3 4 2 2 5 1 .",
        "1 2 3 3 2 4 4 1 2 5 1 .",
    ]
    columns = zip(*[row.split() for row in rows], strict=True)
    units = [
        {judge: value for judge, value in enumerate(column) if value != "."} for column in columns
    ]
    assert ranking.alpha(units) == pytest.approx(0.743, abs=0.0005)
    assert ranking.alpha([]) is None


def test_agreement_is_of_the_pairs_that_two_have_judged() -> None:
    found = result({"contestants": 2, "votes": [*votes(A, A, A, B, judges=2), [7, 0, [0, 1], A]]})
    agreement = found["agreement"]
    assert agreement["rounds"] == 2
    assert agreement["share"][0] == pytest.approx(0.5)
    [two] = agreement["judges"]
    assert (two["judges"], two["rounds"], two["share"]) == ([0, 1], 2, 0.5)


def test_pairs_that_divide_come_first_where_judges_are_opposed() -> None:
    said = [
        *[Vote(1, judge, [0, 1], A) for judge in range(4)],
        *[Vote(2, judge, [0, 1], value) for judge, value in enumerate((A, A, A, TIE))],
        *[Vote(3, judge, [0, 1], value) for judge, value in enumerate((A, A, B, B))],
        *[Vote(4, judge, [0, 1], value) for judge, value in enumerate((A, A, A, B))],
    ]
    assert ranking.divided(said) == [3, 4, 2]


def test_three_ways_divide_by_the_second_most_preferred() -> None:
    said = [
        *[Vote(1, judge, [0, 1, 2], value) for judge, value in enumerate((0, 0, 1, 2))],
        *[Vote(2, judge, [0, 1, 2], value) for judge, value in enumerate((2, 2, 1, 1))],
        *[Vote(3, judge, [0, 1, 2], value) for judge, value in enumerate((2, 2, 2, 2))],
    ]
    assert ranking.divided(said) == [2, 1]


def test_no_votes_are_no_figures() -> None:
    found = result({"contestants": 2, "votes": []})
    assert [each["strength"] for each in found["contestants"]] == [None, None]
    assert [each["share"] for each in found["contestants"]] == [None, None]
    assert (found["divided"], found["evened"]) == ([], False)
    assert found["agreement"]["share"] is None


def test_it_is_a_program_that_reads_and_writes_json() -> None:
    data = {"contestants": 2, "votes": votes(A, A, B)}
    done = subprocess.run(
        [sys.executable, "-m", "playground.ranking"],
        input=json.dumps(data),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert json.loads(done.stdout) == json.loads(json.dumps(result(data)))


def test_the_server_does_not_carry_numpy() -> None:
    """All that a server imports, without `numpy`, `scipy` and `choix`."""
    program = (
        "import os, sys, django; os.environ['DJANGO_SETTINGS_MODULE'] = 'playground.settings';"
        "django.setup(); import playground.asgi, playground.urls;"
        "print(*[each for each in ('numpy', 'scipy', 'choix') if each in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.split() == []
