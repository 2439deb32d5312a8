"""What changed between two presses of Run."""

from typing import Any

import pytest

from playground.changes import MOST_CHIPS, changes
from playground.completion import CompletionRequest


def asked(prompt: str = "one two three four", model: str = "m", **values: Any) -> CompletionRequest:
    return CompletionRequest("local", "completions", model, prompt=prompt, values=values)


SAME_WORDS = ["said", "prompt: only white space or order", "", ""]
LONG = "word and " * 34_000  # 306,000 characters


@pytest.mark.parametrize(
    ("old", "new", "chips"),
    [
        (asked(), asked(), [["said", "nothing changed", "", ""]]),
        (
            asked(temperature=0.7),
            asked(temperature=0.2),
            [["changed", "temperature", "0.7", "0.2"]],
        ),
        (asked(), asked(seed=0), [["added", "seed", "", "0"]]),
        (asked(echo=False), asked(), [["removed", "echo", "false", ""]]),
        (asked(model="a"), asked(model="b"), [["changed", "model", "a", "b"]]),
        (asked(model=""), asked(model="b"), [["changed", "model", "none", "b"]]),
        (asked(), asked("one two three four five"), [["added", "prompt", "", "+1 word"]]),
        (asked(), asked("one two three six seven"), [["added", "prompt", "", "+2 −1 words"]]),
        (asked(), asked("quite another thing"), [["said", "new prompt", "", ""]]),
        (asked(), asked("one  two three four"), [SAME_WORDS]),
        (asked(), asked("one three two four"), [SAME_WORDS]),
        (asked(LONG), asked(f"{LONG}hello you"), [["added", "prompt", "", "+2 words"]]),
        (asked(LONG), asked(f"hello you {LONG}"), [["added", "prompt", "", "+2 words"]]),
        (asked(LONG), asked(f"{LONG} "), [SAME_WORDS]),
        (asked(f"a {LONG}b"), asked(f"b {LONG}a"), [["said", "prompt changed", "", ""]]),
        (asked("x" * 300_000), asked("x" * 300_001), [["said", "prompt changed", "", ""]]),
        (asked(seed=1), asked(seed="1"), [["said", "nothing changed", "", ""]]),
        (asked(stream=True), asked(), [["said", "nothing changed", "", ""]]),
        (asked(stop=None), asked(), [["removed", "stop", "null", ""]]),
    ],
)
def test_it_says_what_changed(
    old: CompletionRequest, new: CompletionRequest, chips: list[list[str]]
) -> None:
    assert changes([old], [new]) == chips


def test_the_first_run_is_said_to_be_the_first() -> None:
    assert changes([], [asked()]) == [["said", "first run", "", ""]]


def test_more_columns_are_a_change() -> None:
    assert changes([asked()], [asked(), asked()]) == [["changed", "columns", "1", "2"]]


def test_many_changes_are_cut_with_their_number() -> None:
    new = asked(**{f"x{n}": n for n in range(12)})
    found = changes([asked()], [new])
    assert len(found) == MOST_CHIPS + 1
    assert found[-1] == ["said", "and 4 more", "", ""]


def test_a_long_value_is_cut() -> None:
    [chip] = changes([asked()], [asked(grammar="x" * 1000)])
    assert len(chip[3]) == 40
