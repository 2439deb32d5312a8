"""Bytes of requests and answers: JSON there and back, and reading a body without end."""

import json
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx
import orjson

from playground.completion import ErrorKind
from playground.providers.arrivals import arrivals_of
from playground.providers.errors import ProviderError
from playground.providers.sse import EventReader, TooLong

LONGEST_STREAM = 256 * 1024 * 1024  # bytes of a stream, whatever it holds


def encoded(body: Mapping[str, Any]) -> bytes:
    """The body in UTF-8; lone surrogates travel as escapes."""
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        return json.dumps(body, allow_nan=False).encode()


class Broken:
    """Stands for a payload that is not JSON: neither an object nor null."""


def parsed(raw: bytes) -> Any:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        pass
    try:
        # Slower and more tolerant: stray bytes, lone surrogates, NaN.
        return json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return Broken()


async def payloads_of(
    response: httpx.Response, reader: EventReader
) -> AsyncIterator[list[tuple[bytes, float]]]:
    """What each read completes, with the time of its arrival (`time.monotonic()`), and at a clean
    end what was pending."""
    length = 0
    async for pieces in arrivals_of(response):
        payloads = []
        failure = ""
        for received, at in pieces:
            length += len(received)
            try:
                payloads += [(payload, at) for payload in reader.feed(received)]
            except TooLong as error:
                failure = str(error)
                break
        if length > LONGEST_STREAM:
            failure = f"The answer was cut off at {LONGEST_STREAM // 1024 // 1024} MB."
        if payloads:
            yield payloads
        if failure:
            raise ProviderError(failure, ErrorKind.BAD_CONTENT)
    if rest := reader.close():
        yield [(payload, time.monotonic()) for payload in rest]


async def limited(response: httpx.Response, limit: int, cut: bool = False) -> bytes:
    """The body up to a limit; beyond it either cut or an error."""
    body = bytearray()
    async for received in response.aiter_bytes():
        body += received
        if len(body) > limit:
            if cut:
                break
            raise ProviderError(
                f"The answer is longer than {limit // 1024 // 1024} MB.", ErrorKind.BAD_CONTENT
            )
    return bytes(body[:limit])
