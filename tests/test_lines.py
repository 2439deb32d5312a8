"""What arrives of a run, made storable once."""

import json

import pytest

from playground.completion import RunStatus, StreamEvent
from playground.lines import Line
from playground.log import Ending
from playground.outcome import Outcome, fold

DONE = Ending(RunStatus.COMPLETED, total_ms=9.0)


def outcome(line: Line) -> Outcome:
    return fold(json.loads(json.dumps(line.batch.to_list())))


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["\ud83d", "\ude00"], "😀"),
        (["a\ud83d", "\ude00b"], "a😀b"),
        (["\ud83d"], "\ufffd"),
        (["\ude00"], "\ufffd"),  # noqa: PT014 (another half)
        (["\ud83d", "x"], "\ufffdx"),
        (["\ud83d", "\ud83d", "\ude00"], "\ufffd😀"),
        (["a\0b", "\0"], "a\ufffdb\ufffd"),
        (["\\u0000"], "\\u0000"),
        (["", "a"], "a"),
    ],
)
def test_a_text_is_made_storable_once(pieces: list[str], text: str) -> None:
    line = Line(1, 1)
    for piece in pieces:
        line.add([StreamEvent("text", piece)])
    line.end(DONE)
    found = outcome(line)
    assert [choice.text for choice in found.choices] == [text]
    assert len(found.warnings) == ("\0" in "".join(pieces))


def test_half_a_character_waits_in_its_own_choice() -> None:
    line = Line(1, 1)
    for choice, piece in [(0, "\ud83d"), (1, "x"), (0, "\ude00"), (1, "\ude00")]:
        line.add([StreamEvent("text", piece, choice)])
    line.end(DONE)
    assert [choice.text for choice in outcome(line).choices] == ["😀", "x\ufffd"]


def test_half_a_character_alone_is_nothing_to_write() -> None:
    line = Line(1, 1)
    assert line.add([StreamEvent("text", "\ud83d")]) == 0
    assert not line.batch


def test_what_is_taken_is_not_taken_again() -> None:
    line = Line(7, 3, seq=2)
    grown = line.add([StreamEvent("text", "a"), StreamEvent("finish", "stop")])
    first, second = line.taken(None), line.taken(DONE)
    assert (first.run, first.comparison, first.seq, first.ending) == (7, 3, 2, None)
    assert first.batch.size == grown > 0
    assert not second.batch
    assert second.ending == DONE
