"""Where the words of a search stand in a text."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.excerpts import Parts, excerpt, opening, pattern
from playground.query import parse


def said(parts: Parts) -> str:
    return "".join(f"[{part.text}]" if part.found else part.text for part in parts)


def marked(typed: str, text: str, room: int = 80) -> str:
    query = parse(typed, date(2026, 11, 29))
    sought = pattern(query.words, query.literals)
    assert sought
    return said(excerpt(text, sought, room))


@pytest.mark.parametrize(
    ("typed", "text", "expected"),
    [
        ("kingfisher", "A Kingfisher dived.", "A [Kingfisher] dived."),
        ("king", "asking kings: a king!", "asking [kings]: a [king]!"),
        ("king blue", "asking kings, a king in BLUES", "asking kings, a [king] in [BLUES]"),
        ('"king"', "kings, a king", "kings, a [king]"),
        ('"slow rivers"', "slow  rivers, slow rivers", "slow rivers, [slow rivers]"),
        ("50%", "50 is 50% of it", "50 is [50%] of it"),
        ("<b>", "a <b>bold</b> word", "a [<b>]bold</b> word"),
        ("straße", "Die STRASSE hier, die Straße", "Die [STRASSE] hier, die [Straße]"),
        ("river", "ﬁne… ™ ﬁsh: the River runs", "ﬁne… ™ ﬁsh: the [River] runs"),
        ("café", "ein Cafe\u0301 … zu", "ein [Cafe\u0301] … zu"),
        ("本語", "日本語の本", "日[本語]の本"),
        ("river", "a\n\n  river\tflows", "a [river] flows"),
        ("absent", "nothing of it", ""),
        ("river", "x" * 90 + " the river", "…the [river]"),
        ("river", "one two three four " * 9 + "river", "…one two three four [river]"),
    ],
)
def test_what_is_found_is_marked_in_its_own_spelling(typed: str, text: str, expected: str) -> None:
    assert marked(typed, text) == expected


def test_an_opening_is_the_first_characters_marked_also_where_they_end_within_a_word() -> None:
    sought = pattern(("king*",), ())
    assert sought
    assert said(opening("a kingfisher", sought, 6)) == "a [king]"
    assert said(opening("no such word", sought, 7)) == "no such"


@given(st.text(max_size=60), st.text(alphabet="aé\u0301ßﬁ…日 İ", max_size=40))
def test_no_character_is_lost(before: str, after: str) -> None:
    sought = pattern(("ss*", "a"), ("fi",))
    assert sought
    text = " ".join((before + after).split())
    assert "".join(part.text for part in opening(text, sought, 100)) == text
