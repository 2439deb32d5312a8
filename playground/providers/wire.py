"""Bytes of requests and answers: JSON there and back, and reading a body without end."""

import codecs
import json
from collections.abc import Mapping
from typing import Any

import httpx
import orjson

from playground.completion import ErrorKind
from playground.providers.errors import ProviderError


def encoded(body: Mapping[str, Any]) -> bytes:
    """The body in UTF-8; lone surrogates travel as escapes."""
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        return json.dumps(body, allow_nan=False).encode()


class Broken:
    """Stands for a payload that is not JSON: neither an object nor null."""


def parsed(raw: bytes) -> Any:
    raw = raw.removeprefix(codecs.BOM_UTF8)
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        pass
    try:
        # Slower and more tolerant: stray bytes, lone surrogates, NaN.
        return json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return Broken()


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
