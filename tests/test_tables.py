"""Rows of values from files as people have them, and CSV that is safe to open."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.tables import FORMULA, LARGEST, MOST_ROWS, BadTable, csv_of, read_table


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,2\n3,4\n",
        "\ufeffa,b\r\n1,2\r\n3,4",
        'a,b\n"1","2"\n\n3,4\n',
        "a;b\n1;2\n3;4\n",
        "a\tb\n1\t2\n3\t4\n",
        '{"a": "1", "b": 2}\n{"b": 4, "a": 3}\n',
        '\ufeff{"a": 1, "b": 2}\r\n\r\n{"a": 3, "b": 4}\r\n',
    ],
)
def test_a_table_is_read(text: str) -> None:
    assert read_table(text) == (["a", "b"], [["1", "2"], ["3", "4"]])


def test_quotes_keep_commas_quotes_and_lines() -> None:
    names, rows = read_table('text,label\n"a, ""b""\nc",x\n')
    assert rows == [['a, "b"\nc', "x"]]
    assert names == ["text", "label"]


def test_json_values_keep_their_form() -> None:
    text = '{"a": null, "b": [1], "c": true, "d": "é"}'
    assert read_table(text)[1] == [["", "[1]", "true", "é"]]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b\n1,2\n3\n", "Line 3 has 1 value; the header has 2 names"),
        ('a,b\n"x\ny",2\n3,4,5\n', "Line 4 has 3 values"),
        ('a,b\n1,"2\n', "no CSV"),
        ("a,\n1,2\n", "column 2 of the header has no name"),
        ("a,a\n1,2\n", "“a” twice"),
        ("a,b\n", "no rows"),
        ("", "no rows"),
        ('{"a": 1}\n[2]\n', "Line 2 is no JSON object"),
        ('{"a": 1}\n{"a": 1, "b": 2}\n', "Line 2 has “b”"),
        ('{"a": 1, "b": 2}\n{"a": 1}\n', "Line 2 has no “b”"),
        ("a\n" + "1\n" * (MOST_ROWS + 1), "at most 1,000"),
        ("a\n" + "x" * LARGEST, "larger than 1 MB"),
        ("PK\0\0", "not text"),
    ],
)
def test_a_bad_file_names_its_line(text: str, says: str) -> None:
    with pytest.raises(BadTable, match=says):
        read_table(text)


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ('=HYPERLINK("http://x","y")', '\'=HYPERLINK("http://x","y")'),
        ("+1+1", "'+1+1"),
        ("-5", "'-5"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("  =1", "'  =1"),
        ("＝1", "'＝1"),
        ('a,"b"\nc\r\nd', 'a,"b"\nc\r\nd'),
        ("日本語", "日本語"),
        ("", ""),
        (0.5, "0.5"),
    ],
)
def test_nothing_in_an_exported_table_is_a_formula(cell: object, written: str) -> None:
    text = csv_of([["x", cell, "y"]])
    assert text.startswith("\ufeff")
    assert list(csv.reader(io.StringIO(text[1:], newline=""))) == [["x", written, "y"]]


@given(st.lists(st.lists(st.text(), min_size=2, max_size=2), min_size=1))
def test_an_exported_table_keeps_every_cell(rows: list[list[str]]) -> None:
    found = list(csv.reader(io.StringIO(csv_of(rows)[1:], newline="")))
    for row, cells in zip(rows, found, strict=True):
        for before, after in zip(row, cells, strict=True):
            assert not after.lstrip(" ").startswith(FORMULA)
            assert before in (after, after[1:])


@given(st.text())
def test_any_text_is_a_table_or_a_sentence(text: str) -> None:
    try:
        names, rows = read_table(text)
    except BadTable:
        return
    assert all(len(row) == len(names) for row in rows)
