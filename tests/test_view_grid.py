"""The grid of a comparison, its cells, and its table of rows."""

import csv
import io
import json
import math
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from playground.axes import Place
from playground.completion import CompletionRequest
from playground.models import Choice, Comparison, Connection, Process, Run, User
from playground.models.choices import packed
from playground.views.grid import grids, light
from tests.conftest import request_to
from tests.server import document

pytestmark = pytest.mark.django_db

Made = Callable[..., Comparison]


@pytest.fixture
def made(alice: User, connection: Connection) -> Made:
    """A comparison of runs at these places that all have ended with these texts."""

    def make(
        places: list[Place], axes: dict[str, Any], texts: list[str] | None = None, **more: Any
    ) -> Comparison:
        membership = alice.membership()
        assert membership
        comparison = Comparison.objects.begin(
            membership,
            [(connection, request_to(connection))] * len(places),
            owner=Process.objects.create(host="h", pid=1, started="1"),
            places=places,
            axes=axes,
            **more,
        )
        for run, text in zip(comparison.runs.order_by("position"), texts or [], strict=False):
            end(run, text)
        return comparison

    return make


def end(run: Run, *texts: str, status: str = "completed", ms: float = 100, **choice: Any) -> None:
    Run.objects.filter(pk=run.pk).update(status=status, total_ms=ms + run.position)
    for index, text in enumerate(texts):
        Choice.objects.create(run=run, index=index, text=text, sha256="", **choice)


def page_of(client: Client, user: User, comparison: Comparison) -> str:
    client.force_login(user)
    return client.get(comparison.get_absolute_url()).content.decode()


SWEEP = [
    Place(0, {"values": {"temperature": t, "top_p": p}}) for t in ("0", "1") for p in ("0.5", "0.9")
]


def test_two_fields_are_the_sides_of_a_grid(made: Made) -> None:
    comparison = made(SWEEP, {"fields": ["temperature", "top_p"]}, ["a", "b", "c", "d"])
    [grid] = grids(comparison, light(comparison.runs.all()))
    assert [top.values for top in grid.tops] == [(("top_p", "0.5"),), (("top_p", "0.9"),)]
    assert [line.values for line in grid.lines] == [
        (("temperature", "0"),),
        (("temperature", "1"),),
    ]
    texts = [[stack and stack.outputs[0][1].text for stack in line.stacks] for line in grid.lines]
    assert texts == [["a", "b"], ["c", "d"]]


def test_each_column_has_its_own_grid(made: Made) -> None:
    places = SWEEP + [Place(1, place.coordinates) for place in SWEEP]
    comparison = made(places, {"fields": ["temperature", "top_p"]})
    found = grids(comparison, light(comparison.runs.all()))
    assert [grid.tops[0].run.letter for grid in found] == ["A", "B"]


def test_rows_run_down_and_columns_across(made: Made) -> None:
    rows = [{"who": "Ann"}, {"who": "Bob"}]
    places = [Place(c, {"row": r}) for c in (0, 1) for r in (0, 1)]
    comparison = made(places, {"fields": [], "names": ["who"], "rows": rows})
    [grid] = grids(comparison, light(comparison.runs.all()))
    assert [top.run.letter for top in grid.tops] == ["A", "B"]
    assert [(line.row, line.values) for line in grid.lines] == [
        (0, (("who", "Ann"),)),
        (1, (("who", "Bob"),)),
    ]


def test_a_column_that_is_not_swept_stands_beside_those_that_are(made: Made) -> None:
    swept = [Place(1, {"values": {"temperature": t}}) for t in ("0", "1")]
    comparison = made([Place(0), *swept], {"fields": ["temperature"]})
    [grid] = grids(comparison, light(comparison.runs.all()))
    assert [(top.run.letter, top.values) for top in grid.tops] == [
        ("A", ()),
        ("B", (("temperature", "0"),)),
        ("B", (("temperature", "1"),)),
    ]


def test_of_two_runs_of_one_place_the_later_is_shown(made: Made) -> None:
    comparison = made([SWEEP[0], SWEEP[0]], {"fields": ["temperature", "top_p"]}, ["old", "new"])
    [grid] = grids(comparison, light(comparison.runs.all()))
    [[stack]] = [line.stacks for line in grid.lines]
    assert stack
    assert [choice.text for _, choice in stack.outputs] == ["new"]


# --- Repeats -------------------------------------------------------------------------------


def repeats(n: int) -> list[Place]:
    return [Place(0, {"repeat": i}) for i in range(n)]


def test_repeats_that_agree_are_one_card(made: Made, client: Client, alice: User) -> None:
    comparison = made(repeats(3), {"fields": []}, ["x y", "x  y", "x z"])
    page = page_of(client, alice, comparison)
    assert page.count('class="same"') == 2
    assert "2 different of 3" in page
    assert "67 % agree" in page
    assert "same up to word 1" in page
    assert re.search(r"100 ms – 101 ms – 102 ms", page)


def test_the_common_beginning_is_told_in_tokens_where_they_came(
    made: Made, client: Client, alice: User
) -> None:
    comparison = made(repeats(2), {"fields": []})
    tokens = [["a", "b", "c"], ["a", "b", "d"]]
    for run, parts in zip(comparison.runs.order_by("position"), tokens, strict=True):
        rows = [{"token": part, "logprob": -0.1, "top": []} for part in parts]
        end(run, "".join(parts), packed_logprobs=packed(rows))
    assert "same up to token 2" in page_of(client, alice, comparison)


def test_repeats_by_n_count_every_output(made: Made, client: Client, alice: User) -> None:
    comparison = made(repeats(2), {"fields": []})
    first, second = comparison.runs.order_by("position")
    end(first, "x", "x", "y")
    end(second, "x")
    page = page_of(client, alice, comparison)
    assert "2 different of 4" in page
    assert "75 % agree" in page


def test_what_failed_stays_beside_the_groups(made: Made, client: Client, alice: User) -> None:
    comparison = made(repeats(3), {"fields": []}, ["x", "x"])
    last = comparison.runs.get(position=2)
    end(last, status="failed")
    Run.objects.filter(pk=last.pk).update(error_message="no room <b>")
    page = page_of(client, alice, comparison)
    assert "All 2 agree" in page
    assert "no room &lt;b&gt;" in page


def test_while_one_repeat_runs_all_are_shown_alone(made: Made, client: Client, alice: User) -> None:
    page = page_of(client, alice, made(repeats(3), {"fields": []}, ["x", "x"]))
    assert 'class="same"' not in page
    assert page.count('class="cell"') == 3


# --- Cells that have changed ---------------------------------------------------------------


def test_ended_cells_are_swapped_into_their_places(made: Made, client: Client, alice: User) -> None:
    comparison = made([*SWEEP, *repeats(2)], {"fields": []}, list("abcdxx"))
    runs = list(comparison.runs.order_by("position"))
    client.force_login(alice)
    found = client.get(f"/runs/cells/?cells={runs[0].pk}&stacks={runs[5].pk}").content.decode()
    assert f'id="cell-{runs[0].pk}"' in found
    assert f'id="pile-{runs[4].pk}"' in found
    assert "All 2 agree" in found
    assert found.count("hx-swap-oob") == 2


def test_a_stranger_gets_no_cell(made: Made, client: Client, charlie: User, alice: User) -> None:
    run = made([Place(0)], {"fields": []}, ["secret"]).runs.get()
    client.force_login(charlie)
    for what in ("cells", "stacks"):
        answer = client.get(f"/runs/cells/?{what}={run.pk}")
        assert "secret" not in answer.content.decode()


@pytest.mark.parametrize("ids", ["x", "1,-2", ",".join(map(str, range(101)))])
def test_odd_ids_are_not_found(client: Client, alice: User, ids: str) -> None:
    client.force_login(alice)
    assert client.get(f"/runs/cells/?cells={ids}").status_code == 404


def test_a_big_grid_takes_few_queries(
    made: Made,
    client: Client,
    alice: User,
    connection: Connection,
    django_assert_max_num_queries: Any,
) -> None:
    places = [Place(0, {"values": {"seed": str(i)}}) for i in range(300)]
    form = json.dumps(document({"connection": connection.pk}, values={"seed": "0..299/1"}))
    comparison = made(places, {"fields": ["seed"]}, ["x"] * 300, document=form)
    client.force_login(alice)
    with django_assert_max_num_queries(60):
        page = client.get(comparison.get_absolute_url()).content.decode()
    assert page.count('class="cell"') == 300


# --- The table -----------------------------------------------------------------------------


@pytest.fixture
def rows(made: Made) -> Comparison:
    """Two columns by two rows, with the probabilities of their first tokens."""
    values = [{"text": "=fine"}, {"text": "bad"}]
    places = [Place(c, {"row": r}) for c in (0, 1) for r in (0, 1)]
    comparison = made(places, {"fields": [], "names": ["text"], "rows": values})
    for run, share in zip(comparison.runs.order_by("position"), (0.5, 0.25, 1, 0.125), strict=True):
        top = [
            {"token": " Yes", "logprob": math.log(share)},
            {"token": "yes", "logprob": math.log(share / 2)},
        ]
        tokens = [{"token": " Yes", "logprob": math.log(share), "top": top}]
        end(run, "+1\n", packed_logprobs=packed(tokens))
    return comparison


def exported(client: Client, comparison: Comparison, query: str = "") -> list[list[str]]:
    answer = client.get(f"{comparison.get_absolute_url()}table.csv{query}")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.reader(io.StringIO(answer.content.decode("utf-8-sig"), newline="")))


def test_a_table_is_exported_without_formulas(
    client: Client, alice: User, rows: Comparison
) -> None:
    client.force_login(alice)
    assert exported(client, rows) == [
        ["row", "text", "A", "B"],
        ["1", "'=fine", "'+1\n", "'+1\n"],
        ["2", "bad", "'+1\n", "'+1\n"],
    ]


def test_answer_tokens_are_columns_with_probabilities(
    client: Client, alice: User, rows: Comparison
) -> None:
    client.force_login(alice)
    assert exported(client, rows, "?what=tokens")[1] == [
        "1", "'=fine", "0.5", "0.25", "1.0", "0.5",
    ]  # fmt: skip
    merged = exported(client, rows, "?what=tokens&merge=1")
    assert merged[0] == ["row", "text", "A: yes", "B: yes"]
    assert merged[2] == ["2", "bad", "0.375", "0.1875"]


def test_the_table_shows_outputs_or_distributions(
    client: Client, alice: User, rows: Comparison
) -> None:
    client.force_login(alice)
    address = f"{rows.get_absolute_url()}table/"
    page = client.get(address).content.decode()
    assert "=fine" in page
    assert page.count('class="grid__text"') == 4
    tokens = client.get(address + "?what=tokens").content.decode()
    assert "50.0 %" in tokens
    assert 'width="25.0"' in tokens


def test_a_list_of_prompts_is_a_table_too(
    client: Client, alice: User, connection: Connection, made: Made
) -> None:
    asked = CompletionRequest(
        "local", "completions", "m", "llama.cpp", prompt=["one", "two"], values={"n": 2}
    )
    comparison = made([Place(0)], {})
    Run.objects.update(request=asked.to_json())
    end(comparison.runs.get(), "1a", "1b", "2a", "2b")
    client.force_login(alice)
    assert exported(client, comparison) == [
        ["row", "prompt", "A #1", "A #2"],
        ["1", "one", "1a", "1b"],
        ["2", "two", "2a", "2b"],
    ]
    assert "As a table" in client.get(comparison.get_absolute_url()).content.decode()


def test_a_run_without_an_answer_says_why(client: Client, alice: User, made: Made) -> None:
    comparison = made(repeats(2), {"fields": []}, ["x"])
    last = comparison.runs.get(position=1)
    end(last, status="cancelled")
    client.force_login(alice)
    assert exported(client, comparison)[1] == ["1", "x", "cancelled"]
    assert "Stopped" in client.get(f"{comparison.get_absolute_url()}table/").content.decode()


def test_a_stranger_gets_no_table(
    client: Client, alice: User, charlie: User, rows: Comparison
) -> None:
    client.force_login(charlie)
    for name in ("table/", "table.csv"):
        assert client.get(rows.get_absolute_url() + name).status_code == 404
