"""The difference of two texts by words: exact, readable, bounded."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.diff import Piece, compare

TEXTS = st.text(alphabet="ab \n.", max_size=60) | st.text(max_size=40)


@given(TEXTS, TEXTS)
def test_the_pieces_join_to_both_texts(old: str, new: str) -> None:
    found = compare(old, new)
    assert "".join(piece.old for piece in found.pieces) == old
    assert "".join(piece.new for piece in found.pieces) == new
    assert found.same == (old == new)


@given(TEXTS)
def test_equal_texts_have_no_change(text: str) -> None:
    found = compare(text, text)
    assert found.changes == 0
    assert found.pieces == ([Piece(text, text)] if text else [])


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("a small bird", "a tiny bird", [("a ", "a "), ("small", "tiny"), (" bird", " bird")]),
        ("one two", "one two three", [("one two", "one two"), ("", " three")]),
        ("one two three", "one three", [("one ", "one "), ("two ", ""), ("three", "three")]),
        ("bird.", "bird!", [("bird", "bird"), (".", "!")]),
        ("a b c d", "a x y d", [("a ", "a "), ("b c", "x y"), (" d", " d")]),
        ("a  b", "a b", [("a", "a"), ("  ", " "), ("b", "b")]),
        ("a\nb", "a\r\nb", [("a", "a"), ("", "\r"), ("\nb", "\nb")]),
        ("über Öl", "über öl", [("über ", "über "), ("Öl", "öl")]),
        ("", "new", [("", "new")]),
        ("", "", []),
    ],
)
def test_words_are_not_cut(old: str, new: str, wanted: list[tuple[str, str]]) -> None:
    assert [(piece.old, piece.new) for piece in compare(old, new).pieces] == wanted


def test_two_versions_of_a_long_text_differ_only_where_they_do() -> None:
    lines = [f"Line {number} of a text that is long enough." for number in range(1_500)]
    changed = [
        line.replace("long", "short") if n % 100 == 5 else line for n, line in enumerate(lines)
    ]
    found = compare("\n".join(lines), "\n".join(changed))
    assert found.changes == 15
    assert all(
        piece.old == "long" and piece.new == "short" for piece in found.pieces if not piece.same
    )
    assert not found.coarse


def words(seed: int, count: int, vocabulary: int) -> str:
    made = random.Random(seed)
    return " ".join(f"w{made.randrange(vocabulary)}" for _ in range(count))


def lines(seed: int, count: int, vocabulary: int) -> str:
    made = random.Random(seed)
    return "\n".join(f"w{made.randrange(vocabulary)} x" for _ in range(count))


LONG = {
    "the same word": ("a " * 500_000, "a " * 499_999 + "b"),
    "two words in turn": ("a b " * 250_000, "b a " * 250_000),
    "few words": (words(1, 100_000, 3), words(2, 100_000, 3)),
    "some words": (words(1, 100_000, 150), words(2, 100_000, 150)),
    "many words": (words(1, 100_000, 50_000), words(2, 100_000, 50_000)),
    "short of the limit": (words(1, 990, 90), words(2, 990, 90)),
    "few lines": (lines(1, 1_900, 5), lines(2, 1_900, 5)),
    "some lines": (lines(1, 1_900, 110), lines(2, 1_900, 110)),
    "many lines": (lines(1, 100_000, 1000), lines(2, 100_000, 1000)),
    "no blanks": ("x" * 1_000_000, "x" * 999_999 + "y"),
    "signs": ("." * 1_000_000, "," + "." * 999_999),
}


@pytest.mark.parametrize("kind", LONG)
def test_the_time_is_bounded(kind: str) -> None:
    """Seconds on a slow machine, where the square of the length would be hours."""
    old, new = LONG[kind]
    began = time.process_time()
    found = compare(old, new)
    assert time.process_time() - began < 20
    assert "".join(piece.new for piece in found.pieces) == new


def test_it_says_where_it_did_not_look_at_single_words() -> None:
    assert compare(words(1, 100_000, 50), words(2, 100_000, 50)).coarse
