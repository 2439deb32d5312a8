"""Which outputs are the same, and up to where."""

from hypothesis import given
from hypothesis import strategies as st

from playground.agreement import groups, same_up_to, spread, words


def test_outputs_that_differ_in_white_space_only_are_one_group() -> None:
    found = groups(["b", "a c", "a  c\n", "a c"])
    assert [(group.text, group.members, group.spaced) for group in found] == [
        ("a c", [1, 2, 3], True),
        ("b", [0], False),
    ]


def test_of_equal_groups_the_first_comes_first() -> None:
    assert [group.text for group in groups(["y", "x"])] == ["y", "x"]


def test_the_common_beginning_is_counted_in_parts() -> None:
    assert same_up_to([["a", "b", "c"], ["a", "b"], ["a", "b", "d"]]) == 2
    assert same_up_to([["a"], ["b"]]) == 0
    assert same_up_to([]) == 0
    assert same_up_to([["a", "b"]]) == 2


def test_latencies_have_a_spread_from_two_on() -> None:
    found = spread([3.0, 1.0, 2.0])
    assert found
    assert (found.low, found.middle, found.high) == (1, 2, 3)
    assert spread([1.0]) is None


@given(st.text())
def test_words_are_the_whole_text(text: str) -> None:
    assert "".join(words(text)) == text


@given(st.lists(st.sampled_from(["a", "a ", " a", "b", ""]), max_size=8))
def test_every_output_is_in_one_group(texts: list[str]) -> None:
    members = [position for group in groups(texts) for position in group.members]
    assert sorted(members) == list(range(len(texts)))
