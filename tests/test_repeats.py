"""The short way for chunks that differ only in their text says what the long way says."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.completion import StreamEvent
from playground.providers.chunks import ChunkParser
from playground.providers.errors import is_error
from playground.providers.pulze import PulzeParser
from playground.providers.reader import ChunkReader
from playground.providers.repeats import MOST_MISSES, Repeats

TEXTS = st.sampled_from(
    [
        "a",
        "",
        " the",
        '"',
        "\\",
        '\\"',
        "é",
        "🌍",
        "\n",
        '"}],"x":[{"',
        '","text":"b',
        "\ud83d",
        "\0",
    ]
)
CHOICES = st.one_of(
    st.fixed_dictionaries({"index": st.just(0), "text": TEXTS}),
    st.fixed_dictionaries({"text": TEXTS, "content": TEXTS}),
    st.fixed_dictionaries({"delta": st.fixed_dictionaries({"content": TEXTS})}),
    st.fixed_dictionaries({"delta": st.fixed_dictionaries({"reasoning_content": TEXTS})}),
    st.fixed_dictionaries(
        {"delta": st.fixed_dictionaries({"reasoning_content": TEXTS, "reasoning": TEXTS})}
    ),
    st.fixed_dictionaries({"text": TEXTS, "index": st.integers(0, 1)}),
    st.fixed_dictionaries({"text": TEXTS, "finish_reason": st.sampled_from([None, "stop"])}),
    st.fixed_dictionaries({"text": TEXTS, "token_ids": st.just([1, 2])}),
    st.fixed_dictionaries({"text": TEXTS, "logprobs": st.just({"text_offset": [3]})}),
)
CHUNKS = st.fixed_dictionaries(
    {"choices": st.lists(CHOICES, max_size=2)},
    optional={
        "id": st.sampled_from(["1", "text", "a"]),
        "created": st.integers(1, 2),
        "usage": st.sampled_from([None, {"completion_tokens": 1}, {"completion_tokens": 2}]),
        "text": TEXTS,
        "metadata": st.sampled_from([{"warning": "w"}, {"warning": "v"}]),
    },
)
STREAMS = st.lists(st.tuples(CHUNKS, st.integers(1, 4)), max_size=8)


def long_way(parser: ChunkParser, raws: list[bytes]) -> list[StreamEvent]:
    found = []
    for raw in raws:
        parser.raw = raw
        found += list(parser.parse(json.loads(raw), 0.0))
    return found


def chunk(text: str, **more: Any) -> bytes:
    return json.dumps({"id": "x", "choices": [{"index": 0, "text": text}], **more}).encode()


@pytest.mark.parametrize("kind", [ChunkParser, PulzeParser])
@given(stream=STREAMS, spaced=st.booleans(), escaped=st.booleans())
def test_every_stream_means_what_the_parser_says(
    kind: type[ChunkParser],
    stream: list[tuple[Mapping[str, Any], int]],
    spaced: bool,
    escaped: bool,
) -> None:
    separators = (", ", ": ") if spaced else (",", ":")
    raws = [
        json.dumps(each, separators=separators, ensure_ascii=escaped).encode("utf-8", "replace")
        for each, times in stream
        for _ in range(times)
    ]
    wanted, parser = kind(), kind()
    events = long_way(wanted, raws)
    reader = ChunkReader(parser, lambda payload: "" if is_error(payload) else None)
    assert reader.read([(raw, 0.0) for raw in raws], 0.0) == events
    assert parser.metadata() == wanted.metadata()
    assert (parser.open, parser.finished) == (wanted.open, wanted.finished)


def test_the_second_chunk_of_a_kind_is_not_parsed_again() -> None:
    repeats, parser = Repeats(), ChunkParser()
    first = chunk("a")
    assert repeats.text_of(first) is None
    payload = json.loads(first)
    repeats.learn(first, payload, list(parser.parse(payload, 0.0)))
    assert repeats.text_of(chunk("b")) == "b"
    assert repeats.text_of(chunk('"\\\n')) == '"\\\n'
    assert repeats.event("b", 2.0) == StreamEvent("text", "b", 0, 2.0)
    assert repeats.text_of(chunk("b", created=2)) is None
    assert repeats.text_of(chunk("")) is None


def test_a_stream_in_which_every_chunk_is_another_is_soon_no_longer_looked_at() -> None:
    repeats, parser = Repeats(), ChunkParser()
    for n in range(2 * MOST_MISSES):
        raw = chunk("a", created=n)
        assert repeats.text_of(raw) is None
        repeats.learn(raw, json.loads(raw), list(parser.parse(json.loads(raw), 0.0)))
    assert repeats.text_of(chunk("b", created=2 * MOST_MISSES - 1)) is None
