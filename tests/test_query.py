"""The language of the search box."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.query import FILTERS, Filter, parse, term, unfinished, without

TODAY = date(2026, 11, 29)


@pytest.mark.parametrize(
    ("typed", "words", "literals"),
    [
        ("", (), ()),
        ("Kingfisher bird", ("kingfisher", "bird*"), ()),
        ("kingfisher ki", ("kingfisher", "ki"), ()),
        ('king "bird"', ("king", "bird"), ()),
        ('"bird" king', ("bird", "king*"), ()),
        ("king king", ("king", "king*"), ()),
        ("日本 ไทย", ("日本", "ไท", "ทย"), ("ไทย",)),
        ('"slow rivers"', ("slow", "rivers"), ("slow rivers",)),
        ("example.com", ("example", "com"), ("example.com",)),
        ("a@b.c", ("a", "b", "c"), ("a@b.c",)),
        ("-5", ("5",), ("-5",)),
        ("-v", ("v",), ("-v",)),
        ("50%", ("50",), ("50%",)),
        ("%", (), ("%",)),
        ("'", (), ("'",)),
        ("''", (), ("''",)),
        ('"', (), ('"',)),
        ('""', (), ()),
        ('"unclosed quote', ("unclosed", "quote*"), ('"unclosed',)),
        (r"c\d", ("c", "d"), (r"c\d",)),
        ("a_b", ("a", "b"), ("a_b",)),
        ("http://x", ("http", "x"), ("http://x",)),
        ("12:30", ("12", "30"), ("12:30",)),
        ("Note: this", ("note", "this*"), ("note:",)),
        ("std::map", ("std", "map"), ("std::map",)),
        ("日本語", ("日本", "本語"), ("日本語",)),
        ("a\0b", ("a", "b"), ("a\ufffdb",)),
        ('say "label:x"', ("say", "label", "x"), ("label:x",)),
    ],
)
def test_text(typed: str, words: tuple[str, ...], literals: tuple[str, ...]) -> None:
    query = parse(typed, TODAY)
    assert (query.words, query.literals) == (words, literals)
    assert not query.problems
    assert not query.filters


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("label:task=qa", Filter("label", "task=qa")),
        ('label:"two words"', Filter("label", "two words")),
        ("-label:x", Filter("label", "x", minus=True)),
        ("Model:a/b:7b", Filter("model", "a/b:7b")),
        ("status:Done", Filter("status", "completed")),
        ("is:starred", Filter("is", "starred")),
        ("has:error", Filter("has", "error")),
        ("rating:>=4", Filter("rating", "4", ">=", number=4.0)),
        ("rating:5", Filter("rating", "5", "=", number=5.0)),
        ("param:temperature>0.5", Filter("param", "0.5", ">", "temperature", number=0.5)),
        ("param:seed", Filter("param", op="", key="seed")),
        ("param:stop=", Filter("param", "", "=", "stop")),
        ("param:seed!=-1", Filter("param", "-1", "!=", "seed", number=-1.0)),
        ("meta:finish_reason=length", Filter("meta", "length", "=", "finish_reason")),
        ("after:2026-11-20", Filter("after", "2026-11-20", day=date(2026, 11, 20))),
        ("before:today", Filter("before", "today", day=TODAY)),
        ("on:yesterday", Filter("on", "yesterday", day=date(2026, 11, 28))),
        ("after:7d", Filter("after", "7d", day=date(2026, 11, 22))),
        ("after:Thursday", Filter("after", "Thursday", day=date(2026, 11, 26))),
        ("on:sun", Filter("on", "sun", day=date(2026, 11, 29))),
    ],
)
def test_filters(typed: str, expected: Filter) -> None:
    query = parse(typed, TODAY)
    assert not query.problems
    [found] = query.filters
    assert found.text == typed
    assert found == Filter(**{**vars(expected), "text": typed})


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("foo:bar", "“foo:” is no filter."),
        ("label:", "“label:” needs a value"),
        ("status:odd", "“status:odd” is not known; there are queued"),
        ("rating:high", "“high” is no rating"),
        ("param:temperature>hot", "“hot” is not a number"),
        ("param:>5", "needs a name before"),
        ("after:2026-02-30", "“2026-02-30” is no day"),
        ("on:0001-01-01", "is no day"),
        ("after:9999d", ""),
        ("x" * 1001, "at most 1000 characters"),
        ("x " * 41, "at most 40 parts"),
    ],
)
def test_what_is_wrong_is_said_with_the_part(typed: str, said: str) -> None:
    query = parse(typed, TODAY)
    if not said:
        assert not query.problems
        return
    [problem] = query.problems
    assert said in problem.sentence
    assert problem.part in typed


def test_quoted_text_can_be_excluded() -> None:
    assert parse('bird -"slow rivers"', TODAY).absent == ("slow rivers",)


def test_the_other_parts_of_a_search_stay_as_they_are() -> None:
    query = parse('label:a bird foo:x -status:failed "x y"', TODAY)
    assert [each.name for each in query.filters] == ["label", "status"]
    assert query.words == ("bird", "x", "y")
    assert [problem.part for problem in query.problems] == ["foo:x"]


@given(st.text() | st.text(alphabet='ab:"- =<>!/\\.5d\0'))
def test_it_never_fails(typed: str) -> None:
    query = parse(typed, TODAY)
    for problem in query.problems:
        assert problem.sentence


@given(
    st.sampled_from(
        sorted({*FILTERS} - {"status", "is", "has", "rating", "after", "before", "on"})
    ),
    st.text(min_size=1),
)
def test_a_term_is_read_back(name: str, value: str) -> None:
    query = parse(term(name, value), TODAY)
    if query.filters and name not in ("param", "meta"):
        assert query.filters[0].name == name


def test_a_part_is_taken_out() -> None:
    assert without('label:"a b" bird  status:failed', "status:failed") == 'label:"a b" bird'
    assert without('label:"a b" bird', 'label:"a b"') == "bird"


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("", (0, "", "")),
        ("bird la", (5, "", "la")),
        ("label:ta", (0, "label", "ta")),
        ("bird -model:smo", (5, "model", "smo")),
        ('label:"two wo', (0, "label", "two wo")),
        ("bird ", (5, "", "")),
    ],
)
def test_the_part_under_the_cursor(typed: str, expected: tuple[int, str, str]) -> None:
    assert unfinished(typed, len(typed)) == expected
