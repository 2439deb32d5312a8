"""Sweeps as they are typed, variables in a text, and how everything multiplies."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.axes import (
    MOST_REQUESTS,
    cells,
    escaped,
    filled,
    listed,
    multiplied,
    names_in,
    sweep,
)
from playground.parameters import Either, Flag, Float, Integer, Json, Option, Text, TextList

# --- Sweeps --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "values"),
    [
        ("0, 0.4, 0.8", ["0", "0.4", "0.8"]),
        ("0,0.4,0.8", ["0", "0.4", "0.8"]),
        ("0, 1", ["0", "1"]),
        ("0, 0.40,", ["0", "0.40"]),  # as typed
        ("0..1/0.2", ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        ("0 .. 1 / 0.5", ["0", "0.5", "1"]),
        ("1..0/0.5", ["1", "0.5", "0"]),
        ("-2..2/2", ["-2", "0", "2"]),
        ("0..1/0.3", ["0", "0.3", "0.6", "0.9"]),
        ("0, 1..2/0.5", ["0", "1", "1.5", "2"]),
        ("1..1/1", ["1"]),
        ("0.7", []),
        ("", []),
        ("nonsense", []),  # one value: its field says what is wrong with it
    ],
)
def test_a_number_field_takes_several_values(typed: str, values: list[str]) -> None:
    assert sweep(typed, Float()) == values


def test_a_whole_number_needs_no_step() -> None:
    assert sweep("1..4", Integer()) == ["1", "2", "3", "4"]


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("0,4", "decimal sign"),
        ("0, , 1", "between two commas"),
        ("0, x", "“x” is no number"),
        ("0..1", "Say the step"),
        ("0..1/0", "above 0"),
        ("0..1/-1", "above 0"),
        ("0..1/x", "“x” is no number"),
        ("..1/2", "first..last/step"),
        ("0, 0.0", "twice"),
        ("0..1e9/1", "at most 1,000"),
        ("0..1/1e-39", "at most 1,000"),
        ("0, nan", "no number"),
        ("0, inf", "no number"),
        ("0, 1_0", "no number"),
        ("0, ٣", "no number"),
        ("0, 1e400", "fewer digits"),
    ],
)
def test_nonsense_gets_a_sentence(typed: str, says: str) -> None:
    with pytest.raises(ValueError, match=says.replace(".", r"\.")) as refused:
        sweep(typed, Float())
    assert str(refused.value).endswith(".")


@given(
    st.decimals(-100, 100, places=2),
    st.integers(1, 60),
    st.decimals("0.01", 3, places=2).filter(lambda step: step > 0),
)
def test_steps_do_not_drift(first: Decimal, count: int, step: Decimal) -> None:
    last = first + step * (count - 1)
    found = sweep(f"{first}..{last}/{step}", Float())
    assert [Decimal(text) for text in found] == [first + step * i for i in range(count)]
    assert all(len(text) <= 8 for text in found)


@given(st.text(alphabet="0123456789.,/-+e x", max_size=30))
def test_anything_typed_is_values_or_a_sentence(typed: str) -> None:
    try:
        values = sweep(typed, Float())
    except ValueError:
        return
    assert len(values) <= MOST_REQUESTS
    assert len({Decimal(value) for value in values}) == len(values)


def test_an_option_field_takes_a_list_of_its_choices() -> None:
    effort = Option(("none", "low", "high"))
    assert sweep("low, high", effort) == ["low", "high"]
    assert sweep("low, elsewhere", effort) == []
    assert sweep("low", effort) == []
    with pytest.raises(ValueError, match="twice"):
        sweep("low, low", effort)


@pytest.mark.parametrize("kind", [Text(), TextList(), Json(), Option(), Flag()])
def test_elsewhere_a_comma_is_a_comma(kind: object) -> None:
    assert sweep("a, b", kind) == []  # type: ignore[arg-type]
    assert sweep("0, 1", kind) == []  # type: ignore[arg-type]


def test_a_field_of_two_types_takes_numbers() -> None:
    assert sweep("0, 5", Either(Integer(), Flag())) == ["0", "5"]


# --- Variables -----------------------------------------------------------------------------


def test_variables_are_found_and_filled() -> None:
    text = r"{{a}} {{ b }} {{a}} \{{c}} {{1}} {{d e}} {x}"
    assert names_in(text) == ["a", "b"]
    assert filled(text, {"a": "1", "b": "{{a}}"}) == r"1 {{a}} 1 {{c}} {{1}} {{d e}} {x}"


def test_what_has_no_value_stays() -> None:
    assert filled("{{a}} {{b}}", {"a": ""}) == " {{b}}"


@pytest.mark.parametrize("text", [r"\{{x}", r"\frac{{a}", "{{ a | b }}", r"C:\{dir}", "{{}}"])
def test_what_is_no_variable_is_left_alone(text: str) -> None:
    assert names_in(text) == []
    assert filled(text, {"a": "1", "x": "2"}) == text


@given(st.text(alphabet="\\{} abé_-1", max_size=40))
def test_any_text_can_be_escaped(text: str) -> None:
    assert names_in(escaped(text)) == []
    assert filled(escaped(text), {"a": "1", "b": "2"}) == text


@pytest.mark.parametrize(
    ("box", "values"),
    [
        ("one", ["one"]),
        ("one\ntwo\r\n\nthree\n", ["one", "two", "three"]),
        ("", [""]),
        ("a\nb\n---\nc", ["a\nb", "c"]),
        ("---\na\n\nb", ["a\n\nb"]),
        ("---", [""]),
    ],
)
def test_a_box_has_a_value_a_line_or_a_block(box: str, values: list[str]) -> None:
    assert listed(box) == values


def test_values_multiply_with_the_rows_of_a_table() -> None:
    rows = multiplied({"b": ["x", "y"]}, [{"a": "1"}, {"a": "2"}])
    assert rows == [
        {"a": "1", "b": "x"},
        {"a": "1", "b": "y"},
        {"a": "2", "b": "x"},
        {"a": "2", "b": "y"},
    ]


# --- All together --------------------------------------------------------------------------


def test_nothing_multiplies_by_itself() -> None:
    assert list(cells({}, 0, 1)) == [{}]


@given(st.lists(st.integers(1, 4), max_size=2), st.integers(0, 3), st.integers(1, 3))
def test_every_cell_is_there_once(sizes: list[int], rows: int, repeats: int) -> None:
    values = {f"p{i}": [str(n) for n in range(size)] for i, size in enumerate(sizes)}
    found = list(cells(values, rows, repeats))
    total = max(1, rows) * repeats
    for size in sizes:
        total *= size
    assert len(found) == total
    assert len({str(each) for each in found}) == total
