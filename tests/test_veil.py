"""What a server repeats of the connection's secrets: never kept, however it comes."""

import base64
import itertools
import json
import re
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from playground.completion import Batch, StreamEvent
from playground.outcome import fold
from playground.providers import Target
from playground.providers.spelling import spellings
from playground.providers.veil import Veil

KEY = "sk-Canary/77+ab cd=="
HEADED = "abcdefgh-0123456789"
TARGET = Target("http://h/v1", KEY, headers={"X-Gate": HEADED, "X-Team": "a"})
TEXTS = [
    f"the key is {KEY}, yes",
    f"{KEY}{KEY}",
    f"sk-sk-{KEY}",
    f"x {HEADED} y {KEY[:-1]} z",
    "nothing of it: sk-Canar, sk-Cana",
    quote(KEY, safe="") + " and " + KEY.encode().hex(),
    *(base64.b64encode(b"-" * n + KEY.encode() + b"!").decode() for n in range(3)),
]


def cut(text: str, places: list[int]) -> list[str]:
    ends = sorted({place % (len(text) + 1) for place in places} | {0, len(text)})
    return [text[a:b] for a, b in itertools.pairwise(ends)]


def folded(events: list[StreamEvent]) -> Any:
    veil, batch = Veil(TARGET), Batch()
    for event in events:
        for shown in veil.events(event):
            batch.add(shown)
    for shown in veil.rest(1.0):
        batch.add(shown)
    return fold(batch.to_list())


def like(text: str) -> re.Pattern[str]:
    """The text without secrets. Their first three characters may be out before one knows."""
    masked = re.escape(Veil(TARGET).text(text))
    for name in (r"\[key\]", r"\[header\]"):
        masked = masked.replace(name, ".{0,3}" + name)
    return re.compile(masked)


def found(text: str) -> list[str]:
    return [each for secret in (KEY, HEADED) for each in spellings(secret) if each in text]


@given(st.sampled_from(TEXTS), st.lists(st.integers(0, 400), max_size=12))
def test_however_a_text_is_cut_no_secret_is_left(text: str, places: list[int]) -> None:
    pieces = cut(text, places)
    kinds = [
        [StreamEvent("text", piece) for piece in pieces],
        [StreamEvent("reasoning", piece) for piece in pieces],
    ]
    for events in kinds:
        [choice] = folded([*events, StreamEvent("finish", "stop")]).choices
        shown = choice.text + choice.reasoning
        assert not found(shown)
        assert like(text).fullmatch(shown)


@given(st.sampled_from(TEXTS), st.lists(st.integers(0, 400), max_size=12))
@example("x abcdefgh-0123456789 y sk-Canary/77+ab cd= z", [3, 28])
@example("x abcdefgh-0123456789 y sk-C", [3])
def test_tokens_and_arguments_of_tools_hold_none_either(text: str, places: list[int]) -> None:
    pieces = cut(text, places)
    tokens = [{"token": piece, "logprob": -1.0, "bytes": None, "top": []} for piece in pieces]
    calls = [[{"index": 0, "function": {"arguments": piece}}] for piece in pieces]
    events = [StreamEvent("logprobs", [token]) for token in tokens]
    events += [StreamEvent("tool_call", call) for call in calls]
    [choice] = folded([*events, StreamEvent("finish", "stop")]).choices
    assert like(text).fullmatch("".join(token["token"] for token in choice.logprobs))
    assert like(text).fullmatch(choice.tool_calls[0]["function"]["arguments"])


@given(st.lists(st.text(), max_size=8))
def test_other_text_is_left_as_it_came(pieces: list[str]) -> None:
    choices = folded([StreamEvent("text", piece) for piece in pieces if piece]).choices
    assert "".join(choice.text for choice in choices) == "".join(pieces)


@given(
    st.sampled_from(TEXTS),
    st.lists(st.integers(0, 400), max_size=12),
    st.lists(st.integers(0, 12), max_size=4),
)
def test_batches_hide_what_single_pieces_hide(
    text: str, places: list[int], ends: list[int]
) -> None:
    events = [StreamEvent("text", piece) for piece in cut(text, places)]
    events = [*events[:3], StreamEvent("text", "of another", 1), *events[3:]]
    singly, together = Veil(TARGET), Veil(TARGET)
    bounds = sorted({0, len(events), *(min(end, len(events)) for end in ends)})
    shown = [
        event
        for start, end in itertools.pairwise(bounds)
        for event in together.batch(events[start:end])
    ]
    shown += together.rest(1.0)
    expected = [one for event in events for one in singly.events(event)]
    expected += singly.rest(1.0)
    for choice in (0, 1):
        texts = [
            "".join(event.data for event in found if event.choice == choice)
            for found in (shown, expected)
        ]
        assert texts[0] == texts[1]


def test_choices_are_not_mixed() -> None:
    half = len(KEY) // 2
    outcome = folded([StreamEvent("text", KEY[:half], 0), StreamEvent("text", KEY[half:], 1)])
    assert [choice.text for choice in outcome.choices] == [KEY[:half], KEY[half:]]


@pytest.mark.parametrize("spelled", sorted(spellings(KEY)))
def test_every_spelling_is_masked_in_metadata_and_errors(spelled: str) -> None:
    veil = Veil(TARGET)
    assert not found(json.dumps(veil.meta({"a": [{spelled: spelled}], "raw": spelled})))
    assert not found(veil.error(f"wrong: {spelled}"))


def test_an_escape_in_a_chunk_hides_nothing() -> None:
    raw = json.dumps({"id": KEY}).replace("k", "\\u006b")
    assert KEY not in raw
    assert "raw" not in Veil(TARGET).meta({"raw": raw})
    assert "raw" not in Veil(TARGET).meta({"raw": raw[:-1]})


def test_without_secrets_nothing_is_looked_at() -> None:
    event = StreamEvent("text", "sk-Canary")
    assert list(Veil(Target("http://h/v1")).events(event)) == [event]
