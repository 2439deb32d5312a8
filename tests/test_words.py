"""One tokenizer for both databases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.words import LONGEST_WORD, fold, is_plain, words_of, words_to_find


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello, world", ["hello", "world"]),
        ("example.com", ["example", "com"]),
        ("a@b.c", ["a", "b", "c"]),
        ("-5", ["5"]),
        ("50%", ["50"]),
        (r"c\d", ["c", "d"]),
        ("a_b", ["a", "b"]),
        ("Straße", ["strasse"]),
        ("e\u0301te\u0301", ["été"]),
        ("ﬁne", ["fine"]),
        ("日本語", ["日", "本", "語", "日本", "本語"]),
        ("iPhoneの画面", ["iphone", "の", "画", "面", "の画", "画面"]),
        ("a\0b", ["a", "b"]),
        ("", []),
        ("%", []),
        ("x" * 100, ["x" * LONGEST_WORD]),
    ],
)
def test_a_text_has_these_words(text: str, words: list[str]) -> None:
    assert words_of(fold(text)) == words


@pytest.mark.parametrize(
    ("typed", "words", "plain"),
    [
        ("Hello", ["hello"], True),
        ("日", ["日"], True),
        ("日本", ["日本"], True),
        ("日本語", ["日本", "本語"], False),
        ("example.com", ["example", "com"], False),
        ("-5", ["5"], False),
        ("%", [], False),
        ("x" * 61, ["x" * 60], False),
    ],
)
def test_what_is_typed_is_looked_up_so(typed: str, words: list[str], plain: bool) -> None:
    assert words_to_find(fold(typed)) == words
    assert is_plain(fold(typed)) == plain


@given(st.text(), st.text(), st.text())
def test_a_text_holds_the_words_of_its_parts(before: str, part: str, after: str) -> None:
    """Between blanks; otherwise nothing that is there could be missed by its words."""
    whole = fold(f"{before} {part} {after}")
    assert set(words_to_find(fold(part))) <= set(words_of(whole))


@given(st.text())
def test_no_word_has_what_an_index_would_read_as_syntax(text: str) -> None:
    for word in words_of(fold(text)):
        assert word.isalnum()
