"""One press, many requests: sweeps, rows of variables and repeats through the form."""

from collections.abc import Callable
from typing import Any

import pytest

from playground.axes import MOST_REPEATS
from playground.forms import Draft, read
from playground.models import Connection, User
from playground.models.prices import Price
from playground.parameters import Api, for_api
from playground.plan import plan_of
from tests.server import document

pytestmark = pytest.mark.django_db


@pytest.fixture
def drafted(alice: User, connection: Connection) -> Callable[..., Draft]:
    def draft(*columns: dict[str, Any], **changes: Any) -> Draft:
        rows = [{"connection": connection.pk, **each} for each in columns or ({},)]
        return read(document(*rows, **changes), alice)

    return draft


Drafted = Callable[..., Draft]


def bodies(draft: Draft) -> list[dict[str, Any]]:
    return [request.body() for _, request in draft.requests()]


def said(draft: Draft) -> list[tuple[str, str]]:
    errors = draft.errors + [each for column in draft.columns for each in column.errors]
    return [(each.path, each.message) for each in errors]


def test_a_grid_has_every_pair_of_values(drafted: Drafted) -> None:
    draft = drafted(values={"temperature": "0, 0.4, 0.8", "top_p": "0.5..1/0.5"})
    found = [(body["temperature"], body["top_p"]) for body in bodies(draft)]
    assert found == [(0, 0.5), (0, 1), (0.4, 0.5), (0.4, 1), (0.8, 0.5), (0.8, 1)]
    assert [dict(place.values) for place in draft.places()][1] == {
        "temperature": "0",
        "top_p": "1",
    }
    assert draft.axes() == {"fields": ["temperature", "top_p"], "names": [], "rows": []}


def test_values_are_sent_as_typed(drafted: Drafted) -> None:
    draft = drafted(values={"temperature": "0..0.3/0.1"})
    assert [body["temperature"] for body in bodies(draft)] == [0, 0.1, 0.2, 0.3]


def test_a_column_may_have_a_sweep_of_its_own(drafted: Drafted) -> None:
    draft = drafted({}, {"values": {"temperature": "0, 1"}}, values={"temperature": "0.5"})
    assert [body["temperature"] for body in bodies(draft)] == [0.5, 0, 1]
    assert [place.column for place in draft.places()] == [0, 1, 1]


def test_what_an_api_does_not_know_makes_no_difference_there(
    drafted: Drafted, connect: Callable[..., Connection]
) -> None:
    ollama = connect("ollama", dialect="ollama")
    draft = drafted({}, {"connection": ollama.pk}, values={"samplers": "x", "mirostat": "0, 1"})
    known = [
        any(row.path == "mirostat" for row, _ in for_api(Api("local", dialect, "completions")))
        for dialect in ("llama.cpp", "ollama")
    ]
    assert known == [True, False]
    assert [column.plan.count for column in draft.columns] == [2, 1]


def test_a_third_field_is_refused(drafted: Drafted) -> None:
    draft = drafted(values={"temperature": "0, 1", "top_p": "0.1, 1", "top_k": "1, 2"})
    assert not draft.ok
    assert said(draft) == [
        (
            "top_k",
            "At most two fields can have several values; here are 3: temperature, top_p, top_k.",
        )
    ]


def test_too_many_requests_are_refused(drafted: Drafted) -> None:
    draft = drafted({"repeat": 50}, values={"temperature": "0..1/0.05"})
    assert said(draft) == [
        ("plan", "That makes 1,050 requests; at most 1,000 requests go out at once.")
    ]
    assert not draft.columns[0].cells


def test_too_much_input_is_refused(drafted: Drafted) -> None:
    draft = drafted({"repeat": 50}, prompt="x" * 2_000_000)
    assert "64 MB" in said(draft)[0][1]


def test_every_value_keeps_to_the_bounds_and_is_said_once(drafted: Drafted) -> None:
    draft = drafted({"repeat": 3}, values={"n": "0, 1"})
    assert said(draft) == [("n", "The documented minimum is 1.")]
    assert draft.only_bounds
    forced = drafted({"repeat": 3}, values={"n": "0, 1"}, force=True)
    assert [body["n"] for body in bodies(forced)] == [0, 0, 0, 1, 1, 1]


def test_a_bad_sweep_is_said_at_its_field(drafted: Drafted) -> None:
    [(path, message)] = said(drafted(values={"temperature": "0..1"}))
    assert (path, "Say the step" in message) == ("temperature", True)


# --- Repeats -------------------------------------------------------------------------------


def test_repeats_are_requests_of_their_own(drafted: Drafted) -> None:
    draft = drafted({"repeat": 3}, {})
    assert [place.repeat for place in draft.places()] == [0, 1, 2, None]
    assert all("n" not in body for body in bodies(draft))


@pytest.mark.parametrize("repeat", [0, MOST_REPEATS + 1, "x", -1, 1.5, [2]])
def test_a_strange_number_of_repeats_is_refused(drafted: Drafted, repeat: Any) -> None:
    [(path, _)] = said(drafted({"repeat": repeat}))
    assert path == "repeat"


def test_repeats_are_asked_by_n_up_to_the_slots(drafted: Drafted, connection: Connection) -> None:
    connection.parallel = 4
    connection.save()
    draft = drafted({"repeat": 10}, by_n=True)
    assert [body["n"] for body in bodies(draft)] == [4, 4, 2]
    assert plan_of(draft)["requests"] == 3
    assert plan_of(draft)["completions"] == 10
    assert [place.repeat for place in draft.places()] == [0, 1, 2]


def test_one_request_by_n_has_no_repeat(drafted: Drafted, connection: Connection) -> None:
    connection.parallel = 4
    connection.save()
    draft = drafted({"repeat": 3}, by_n=True)
    assert [body["n"] for body in bodies(draft)] == [3]
    assert [place.coordinates for place in draft.places()] == [{}]


def test_without_known_slots_repeats_are_separate(drafted: Drafted) -> None:
    draft = drafted({"repeat": 3}, by_n=True)
    assert len(draft.requests()) == 3
    assert "slots" in draft.columns[0].warnings[0]


def test_where_n_is_ignored_repeats_are_separate(
    drafted: Drafted, connect: Callable[..., Connection]
) -> None:
    ollama = connect("ollama", dialect="ollama")
    draft = drafted({"connection": ollama.pk, "repeat": 3}, by_n=True)
    assert len(draft.requests()) == 3
    assert "takes no n" in draft.columns[0].warnings[0]


def test_an_n_that_is_set_stays(drafted: Drafted) -> None:
    draft = drafted({"repeat": 2}, by_n=True, values={"n": "2"})
    assert [body["n"] for body in bodies(draft)] == [2, 2]
    assert plan_of(draft)["completions"] == 4


# --- Variables -----------------------------------------------------------------------------


def test_values_of_variables_make_rows(drafted: Drafted) -> None:
    draft = drafted(
        {}, {}, prompt="{{who}} likes {{what}}.", variables={"who": "Ann\nBob", "what": "tea"}
    )
    found = [body["prompt"] for body in bodies(draft)]
    assert found == ["Ann likes tea.", "Bob likes tea."] * 2
    assert [place.row for place in draft.places()] == [0, 1, 0, 1]
    assert draft.axes()["rows"] == [
        {"who": "Ann", "what": "tea"},
        {"who": "Bob", "what": "tea"},
    ]


def test_a_table_gives_the_rows(drafted: Drafted) -> None:
    table = {"names": ["who", "label"], "rows": [["Ann", "x"], ["Bob", "y"]]}
    draft = drafted(prompt="{{who}}: {{how}}", table=table, variables={"how": "a\nb"})
    found = [body["prompt"] for body in bodies(draft)]
    assert found == ["Ann: a", "Ann: b", "Bob: a", "Bob: b"]
    assert draft.rows.unused == ["label"]


def test_variables_go_into_messages(drafted: Drafted) -> None:
    messages = [
        {"role": "system", "content": "Speak {{tongue}}."},
        {"role": "user", "content": [{"type": "text", "text": "{{q}}"}]},
    ]
    draft = drafted(
        {"operation": "chat"},
        mode="messages",
        messages=messages,
        variables={"tongue": "French\nDutch", "q": "Why?"},
    )
    sent = [body["messages"] for body in bodies(draft)]
    assert [each[0]["content"] for each in sent] == ["Speak French.", "Speak Dutch."]
    assert sent[0][1]["content"] == [{"type": "text", "text": "Why?"}]


def test_variables_go_into_every_prompt_of_a_list(drafted: Drafted) -> None:
    draft = drafted(mode="list", prompts=["{{a}}!", "{{a}}?"], variables={"a": "x\ny"})
    assert [body["prompt"] for body in bodies(draft)] == [["x!", "x?"], ["y!", "y?"]]
    assert plan_of(draft)["completions"] == 4


def test_a_variable_without_a_value_is_refused_unless_forced(drafted: Drafted) -> None:
    draft = drafted(prompt="Hi {{name}}")
    [(path, message)] = said(draft)
    assert path == "variables"
    assert "{{name}} has no value" in message
    assert draft.only_bounds
    assert plan_of(draft)["undefined"] == ["name"]
    [body] = bodies(drafted(prompt="Hi {{name}}", force=True))
    assert body["prompt"] == "Hi {{name}}"


def test_an_escape_is_sent_without_its_backslash(drafted: Drafted) -> None:
    [body] = bodies(drafted(prompt=r"Hi \{{name}}"))
    assert body["prompt"] == "Hi {{name}}"


def test_an_unused_variable_multiplies_nothing(drafted: Drafted) -> None:
    draft = drafted(prompt="Hi", variables={"a": "1\n2"})
    assert len(draft.requests()) == 1
    assert draft.rows.unused == ["a"]
    assert draft.axes() == {}


@pytest.mark.parametrize(
    "table",
    [
        {"names": ["a"], "rows": []},
        {"names": ["a"], "rows": [["1", "2"]]},
        {"names": ["a"], "rows": "x"},
        {"names": [1], "rows": [["1"]]},
        {"names": ["a"], "rows": [["1"]] * 1001},
    ],
)
def test_a_broken_table_is_refused(drafted: Drafted, table: Any) -> None:
    assert said(drafted(prompt="{{a}}", table=table, variables={"a": "1"}))[0][0] == "variables"


def test_too_many_rows_are_refused(drafted: Drafted) -> None:
    lines = "\n".join(map(str, range(40)))
    draft = drafted(prompt="{{a}} {{b}}", variables={"a": lines, "b": lines})
    assert "1,600 rows of values" in said(draft)[0][1]


# --- The plan ------------------------------------------------------------------------------


def test_the_plan_counts_requests_and_completions(drafted: Drafted) -> None:
    draft = drafted(
        {"repeat": 2}, {}, prompt="{{a}}", variables={"a": "1\n2"}, values={"n": "1, 3"}
    )
    plan = plan_of(draft)
    assert plan["requests"] == len(draft.requests()) == 12
    assert plan["completions"] == sum(body.get("n", 1) for body in bodies(draft)) == 24
    assert [column["requests"] for column in plan["columns"]] == [8, 4]
    assert plan["rows"] == 2


@pytest.mark.parametrize(
    ("values", "priced", "cost"),
    [
        ({"max_tokens": "10"}, True, "≤ $0.000042"),  # 2 × (1 token of prompt + 10 × 2)
        ({"max_tokens": "10, 100"}, True, "≤ $0.00045"),
        ({"max_tokens": "10", "n": "3"}, True, "≤ $0.00013"),
        ({}, True, "from $0.000002"),
        ({"max_tokens": "10"}, False, ""),
    ],
)
def test_the_plan_says_the_worst_case(
    drafted: Drafted, connection: Connection, values: Any, priced: bool, cost: str
) -> None:
    if priced:
        Price.objects.create(connection=connection, input_per_million=1, output_per_million=2)
    assert plan_of(drafted({"repeat": 2}, values=values))["cost"] == cost


def test_a_column_without_a_price_makes_the_cost_open(
    drafted: Drafted, connection: Connection
) -> None:
    Price.objects.create(
        connection=connection, model="m", input_per_million=1, output_per_million=1
    )
    draft = drafted({}, {"model": "other"}, values={"max_tokens": "9"})
    assert plan_of(draft)["cost"] == "from $0.00001"


def test_a_form_that_cannot_be_sent_plans_nothing(drafted: Drafted) -> None:
    plan = plan_of(drafted(values={"temperature": "x"}))
    assert plan["requests"] == 0
    assert plan["problem"] == "Type a number, for example 0.7."
