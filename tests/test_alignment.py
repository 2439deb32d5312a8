"""Tokens find their place in the text, also where they hold parts of characters."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.alignment import Piece, align, alternative, begun, head, piece

DUCK = "🦆".encode()


def raws(*parts: bytes | str) -> list[Piece]:
    return [piece({"token": p}) if isinstance(p, str) else Piece(p) for p in parts]


def shown(text: str, pieces: list[Piece]) -> list[str | None]:
    """The characters that each token begins."""
    units = text.encode("utf-16-le")
    return [
        span and units[2 * span.start : 2 * span.end].decode("utf-16-le")
        for span in align(text, pieces)
    ]


def test_tokens_lie_side_by_side_and_count_as_a_browser_does() -> None:
    spans = align("a🦆b", raws("a", "🦆", "b"))
    assert [(s.start, s.end, s.inside) for s in spans if s] == [
        (0, 1, False), (1, 3, False), (3, 4, False),
    ]  # fmt: skip


def test_a_character_over_several_tokens_belongs_to_the_one_that_begins_it() -> None:
    pieces = raws(b" " + DUCK[:2], DUCK[2:3], DUCK[3:] + b"!")
    assert shown(" 🦆!", pieces) == [" 🦆", "", "!"]
    assert [s.inside for s in align(" 🦆!", pieces) if s] == [False, True, True]


@pytest.mark.parametrize("parts", [("so ", "�", "�", "�"), ("so", " �", "�")])
def test_parts_that_the_server_could_not_write_share_their_character(parts: list[str]) -> None:
    spans = align("so 🦆 it", raws(*parts, " it"))
    assert None not in spans
    assert [s.inside for s in spans[2:-1] if s] == [True] * (len(parts) - 2)
    assert "".join(each or "" for each in shown("so 🦆 it", raws(*parts, " it"))) == "so 🦆 it"


def test_parts_at_the_end_share_what_is_left() -> None:
    assert shown("hi 🦆", raws("hi ", "�", "�")) == ["hi ", "🦆", ""]


def test_a_replacement_character_that_the_text_has_too_is_itself() -> None:
    assert shown("a�b", raws("a", "�", "b")) == ["a", "�", "b"]


def test_openais_escaped_bytes_are_bytes() -> None:
    pieces = raws("bytes:\\xf0\\x9f", "bytes:\\xa6\\x86")
    assert shown("🦆", pieces) == ["🦆", ""]


def test_an_end_token_that_is_no_text_is_not_in_it() -> None:
    assert shown("done.", raws("done", ".", "</s>")) == ["done", ".", None]


def test_tokens_of_the_prompt_before_the_text_are_not_in_it() -> None:
    assert shown(" is", raws("The", " step", " is")) == [None, None, " is"]


def test_a_lost_token_leaves_a_gap_and_the_others_stay_right() -> None:
    assert shown("one two three four", raws("one", " three", " four")) == ["one", " three", " four"]


def test_a_token_of_other_text_is_left_out() -> None:
    assert shown("one two", raws("one", "XY", " two")) == ["one", None, " two"]


def test_nothing_in_common_is_no_place_at_all() -> None:
    assert shown("abc", raws("x", "y", "z")) == [None, None, None]
    assert shown("", raws("x")) == [None]
    assert align("abc", []) == []


@given(st.text(max_size=40), st.lists(st.integers(0, 160), max_size=12))
def test_any_cut_of_the_bytes_gives_the_whole_text_in_order(text: str, cuts: list[int]) -> None:
    text = text.encode("utf-8", "replace").decode()
    data = text.encode()
    ends = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    pieces = [Piece(data[a:b]) for a, b in pairwise(ends)]
    assert "".join(each or "" for each in shown(text, pieces)) == text


@given(st.text(max_size=30), st.lists(st.text(max_size=4), max_size=10))
def test_tokens_of_any_other_text_never_overlap_and_stay_in_order(
    text: str, tokens: list[str]
) -> None:
    text = text.encode("utf-8", "replace").decode()
    placed = [span for span in align(text, raws(*tokens)) if span]
    for one, other in pairwise(placed):
        assert one.start <= one.end <= other.start


# --- Alternatives ---


def test_llamas_alternatives_hold_the_last_byte_of_a_character_only() -> None:
    """As the real server answers: the entry is the whole emoji, its candidates are one byte."""
    token: dict[str, Any] = {
        "token": " 🦆",
        "id": 224,
        "bytes": [32, *DUCK],
        "top": [
            {"token": "�", "id": 224, "bytes": [134]},
            {"token": "�", "id": 225, "bytes": [135]},
        ],
    }
    before = head(token)
    assert before == b" " + DUCK[:3]
    assert [alternative(each, before).whole for each in token["top"]] == [" 🦆", " 🦇"]


def test_an_alternative_within_a_character_completes_it_or_is_a_half() -> None:
    before = DUCK[:3]
    assert alternative({"token": "�", "bytes": [0x87]}, before).whole == "🦇"
    assert alternative({"token": "�", "bytes": [0xF0]}, b"").why == "half"
    assert alternative({"token": "�"}, b"").why == "half"
    assert alternative({"token": "", "bytes": []}, b"").why == "end"
    assert alternative({"token": " the", "bytes": None}, b"").whole == " the"


def test_an_ordinary_token_has_nothing_in_front() -> None:
    top = [{"token": " a", "id": 1, "bytes": [32, 97]}]
    assert head({"token": " a", "id": 1, "bytes": [32, 97], "top": top}) == b""
    assert head({"token": " a", "top": [{"token": " a"}]}) == b""


def test_a_character_is_found_from_any_of_its_bytes() -> None:
    assert [begun("a🦆".encode(), byte) for byte in range(6)] == [0, 1, 1, 1, 1, 5]
