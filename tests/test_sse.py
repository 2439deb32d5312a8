"""The event-stream reader: the same payloads, however the bytes are cut."""

import itertools
import time
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.providers.sse import BOM, EventReader, TooLong


def read(pieces: Iterable[bytes], longest: int = 1000) -> list[bytes]:
    reader = EventReader(longest)
    payloads = [payload for piece in pieces for payload in reader.feed(piece)]
    return payloads + reader.close()


def cut(body: bytes, ends: Iterable[int]) -> list[bytes]:
    points = [0, *sorted(min(end, len(body)) for end in ends), len(body)]
    return [body[start:end] for start, end in itertools.pairwise(points)]


PARTS = [
    b"data: a",
    b"data:b",
    b'data: {"a":1}',
    b"data: [DONE]",
    b"data",
    b": ping",
    b":",
    b"id: 7",
    b"retry: 1",
    b"event: x",
    b'{"error":1}',
    b"\n",
    b"\r",
    b"\r\n",
    BOM,
    "你🌍\u2028\x85".encode(),
    b" ",
    b"\xff",
]
BODIES = st.lists(st.sampled_from(PARTS), max_size=25).map(b"".join)


@given(body=BODIES, ends=st.lists(st.integers(0, 120), max_size=8))
def test_any_cutting_of_the_same_bytes_gives_the_same_payloads(
    body: bytes, ends: list[int]
) -> None:
    assert read(cut(body, ends)) == read([body]) == read(bytes([byte]) for byte in body)


@given(body=BODIES)
def test_every_kind_of_line_end_means_the_same(body: bytes) -> None:
    plain = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    assert read([body]) == read([plain]) == read([plain.replace(b"\n", b"\r\n")])


@pytest.mark.parametrize(
    ("body", "payloads"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data:a\n\n", [b"a"]),  # the blank after the colon is optional
        (b"data:  a\n\n", [b" a"]),  # and only one belongs to the format
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b"data: a\n: comment\ndata: b\n\n", [b"a\nb"]),
        (b'data: {"a":1}\ndata: {"b":2}\ndata: [DONE]\n', [b'{"a":1}', b'{"b":2}', b"[DONE]"]),
        (b'data: {"a":\ndata: {"b":2}\ndata: }\n\n', [b'{"a":\n{"b":2}\n}']),
        (b'data: {"a":1}\ndata: b\n\n', [b'{"a":1}\nb']),
        (b":\n\n: ping\n\ndata: a\n\n", [b"a"]),
        (b"retry: 3000\n\nid: 7\n\nevent: x\n\ndata: a\n\n", [b"a"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
        (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
        (b"data: a\r\n\ndata: b\n\r\n", [b"a", b"b"]),
        (b"data: a\n\ndata: b", [b"a", b"b"]),  # no last newline
        (b"data: a\n\ndata: b\n", [b"a", b"b"]),  # no blank line
        (BOM + b"data: a\n\n", [b"a"]),
        (BOM[:2], []),
        (b"data: a\n\n" + BOM + b"data: b\n\n", [b"a"]),  # only at the start
        (b'{"error":{"message":"x"}}\n', [b'{"error":{"message":"x"}}']),
        (b'data: a\n\n{"error":1}', [b"a", b'{"error":1}']),
        ("data: a\u2028b\u2029c\x85d\n\n".encode(), ["a\u2028b\u2029c\x85d".encode()]),
        (b"data\n\n", [b""]),
        (b"database: a\n\n", []),
        (b"", []),
    ],
)
def test_it_finds_the_payloads(body: bytes, payloads: list[bytes]) -> None:
    assert read([body]) == payloads
    assert read(bytes([byte]) for byte in body) == payloads


def test_a_payload_is_there_as_soon_as_its_event_ends() -> None:
    reader = EventReader()
    assert reader.feed(b"data: a\r\n") == []
    assert reader.feed(b"\r") == [b"a"]
    assert reader.feed(b"\ndata: b\n\n") == [b"b"]
    assert reader.close() == []


@pytest.mark.parametrize(
    "pieces",
    [
        [b"data: " + b"x" * 120],
        [b"x" * 10] * 12,
        [b"data: x\n"] * 30,
        [b"data: " + b"x" * 120 + b"\n\n"],
    ],
)
def test_it_keeps_no_event_beyond_the_limit(pieces: list[bytes]) -> None:
    with pytest.raises(TooLong, match="longer than 100 bytes"):
        read(pieces, longest=100)


def test_an_event_just_within_the_limit_may_lack_its_newline() -> None:
    assert read([b"data: " + b"x" * 90], longest=100) == [b"x" * 90]


@pytest.mark.parametrize(
    ("line", "events"),
    [(b"data: 12345\n\n", 300), (b": a comment\n", 0), (b'{"a":1}\n', 300), (b"\n", 0)],
)
def test_many_short_events_are_never_too_long(line: bytes, events: int) -> None:
    reader = EventReader(100)
    found = [payload for _ in range(3) for payload in reader.feed(line * 50)]
    found += [payload for _ in range(150) for payload in reader.feed(line)]
    assert len(found) + len(reader.close()) == events


def seconds(size: int) -> float:
    line = b"data: " + b"x" * size + b"\n\n"
    pieces = [line[i : i + 7] for i in range(0, len(line), 7)]
    reader = EventReader()
    began = time.process_time()
    found = [payload for piece in pieces for payload in reader.feed(piece)]
    took = time.process_time() - began
    assert [len(payload) for payload in found] == [size]
    return took


def test_a_long_line_in_tiny_reads_takes_linear_time() -> None:
    """3 MB in 7-byte reads; twice the size would take four times as long if it were quadratic."""
    half, whole = (min(seconds(size) for _ in range(3)) for size in (1_500_000, 3_000_000))
    assert whole < 3.2 * half
