"""What went wrong, in the provider's own words, readable and without a key in it."""

import ast
import contextlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from playground.completion import ErrorKind

WEB_PAGE = "The server answered with a web page, not a model's answer."
NO_REASON = "The server gave no reason."
LONGEST = 2000  # characters of a provider's message that are kept

# What looks like a key: well-known prefixes, and whatever follows "Bearer" or "api key".
_KEYS = re.compile(
    r"\b(?:sk|pk|rk|gsk|hf|xai|ghp|key)[-_][A-Za-z0-9_\-*.]{4,}"
    r"|(?<=bearer )\S{4,}"
    r"|(?<=api[-_ ]key[:=] )\S{4,}|(?<=api[-_ ]key[:=])[^\s:=]{4,}",
    re.IGNORECASE,
)
_REPR = re.compile(r"(?P<code>Error code: \d+ - )?(?P<repr>\{'.*\}|\[\{'.*\])", re.DOTALL)
_PAGE = re.compile(r"\s*<(!doctype|html|head|body)\b", re.IGNORECASE)


class ProviderError(Exception):
    """A request that failed. `message` is a sentence for the user; `status` the HTTP status."""

    def __init__(
        self,
        message: str,
        kind: ErrorKind,
        status: int | None = None,
        retry_after: float | None = None,  # seconds
    ) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.status = status
        self.retry_after = retry_after


def web_page(status: int) -> ProviderError:
    """Of an answer that should have been JSON, or a stream."""
    return ProviderError(
        f"The server answered with a web page (HTTP {status}), not with a model's answer. "
        "Check the connection's address.",
        ErrorKind.BAD_CONTENT,
        status,
    )


def masked(text: str, key: str = "") -> str:
    """The text without the key, and without whatever looks like one."""
    if key:
        text = text.replace(key, "[key]")
    return _KEYS.sub("[key]", text)


def masked_in(value: Any, key: str = "", levels: int = 100) -> Any:
    """JSON with every text in it masked; what is nested deeper than anyone writes is left out."""
    if isinstance(value, str):
        return masked(value, key)
    if not levels:
        return None
    if isinstance(value, Mapping):
        return {name: masked_in(one, key, levels - 1) for name, one in value.items()}
    if isinstance(value, list):
        return [masked_in(one, key, levels - 1) for one in value]
    return value


def kind_of(status: int) -> ErrorKind:
    if status in (401, 403):
        return ErrorKind.AUTH
    if status == 429:
        return ErrorKind.RATE_LIMIT
    if status == 404:
        return ErrorKind.NOT_FOUND
    if 300 <= status < 400:
        return ErrorKind.REDIRECTED
    return ErrorKind.BAD_REQUEST if status < 500 else ErrorKind.UNAVAILABLE


def is_error(payload: Mapping[str, Any]) -> bool:
    """Whether a JSON object reports a failure; some do so inside a 200 answer."""
    if payload.get("error") or payload.get("object") == "error":
        return True
    if "choices" in payload:
        return False
    if any(payload.get(name) for name in ("error_code", "detail", "errors")):
        return True
    named = status_of(payload) or "error" in str(payload.get("type")).lower()
    return bool(named) and isinstance(payload.get("message"), str)


def message_of(payload: Any, levels: int = 20) -> str:
    """The words in any of the known error bodies; "" where there are none."""
    if isinstance(payload, str):
        return WEB_PAGE if _PAGE.match(payload) else _from_repr(payload.strip(), levels)
    if not levels:
        return ""
    if isinstance(payload, list):
        return "; ".join(filter(None, (message_of(each, levels - 1) for each in payload)))
    if not isinstance(payload, Mapping):
        return ""
    if "msg" in payload and "loc" in payload:
        return f"{_location(payload['loc'])}: {payload['msg']}"
    for name in ("error", "detail", "errors", "message", "text", "msg", "error_type"):
        if payload.get(name) and (found := message_of(payload[name], levels - 1)):
            return _with_fields(found, payload)
    return ""


def status_of(payload: Mapping[str, Any]) -> int | None:
    """The HTTP status that an error inside a 200 answer names; as a number or as a text."""
    error = payload.get("error")
    for holder in (error, payload):
        code = holder.get("code") if isinstance(holder, Mapping) else None
        if re.fullmatch(r"[45]\d\d", str(code)):
            return int(str(code))
    return None


def _location(location: Any) -> str:
    return ".".join(map(str, location)) if isinstance(location, list | tuple) else str(location)


def _with_fields(message: str, payload: Mapping[str, Any]) -> str:
    """OctoAI's flat error names fields beside its message."""
    fields = payload.get("validation_errors")
    if not isinstance(fields, Mapping) or not fields:
        return message
    named = (f"{name}: {message_of(words) or words}" for name, words in fields.items())
    return f"{message} ({'; '.join(named)})"


def _from_repr(text: str, levels: int) -> str:
    """OGX puts a Python repr of its validation errors, or of its upstream's, into the message."""
    if levels and (found := _REPR.fullmatch(text)):
        with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            words = message_of(ast.literal_eval(found["repr"]), levels - 1)
            return (found["code"] or "") + words if words else text
    return text


def from_response(status: int, headers: Mapping[str, str], body: bytes, key: str) -> ProviderError:
    """The error of an answer with a status of 300 or more."""
    kind = kind_of(status)
    if kind is ErrorKind.REDIRECTED:
        words = f"The address has moved to {headers.get('location', 'an unnamed place')}. "
        words += "Redirects are not followed; an admin can change the connection's address."
    else:
        words = _words(headers.get("content-type", ""), body)
    retry_after = _retry_after(headers)
    if retry_after is not None and kind is ErrorKind.RATE_LIMIT:
        words += f" (try again in {retry_after:.0f} s)"
    return ProviderError(masked(words, key)[:LONGEST], kind, status, retry_after)


def _words(content_type: str, body: bytes) -> str:
    text = body.decode("utf-8-sig", "replace").strip()
    if text.startswith(("data:", "event:", ":")):
        text = next(
            (line[5:].strip() for line in text.splitlines() if line.startswith("data:")), text
        )
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        if "html" in content_type or text[:1] == "<":
            return WEB_PAGE
        return text or NO_REASON
    if not payload:
        return NO_REASON
    # Written anew, so that an escape hides nothing.
    return message_of(payload) or f"{NO_REASON[:-1]}, only {_plain(payload, text)}"


def _plain(payload: Any, text: str) -> str:
    try:
        return json.dumps(payload, ensure_ascii=False)
    except RecursionError:
        return text


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, from `retry-after-ms` or `retry-after` (seconds or an HTTP date)."""
    value = headers.get("retry-after", "")
    for text, unit in ((headers.get("retry-after-ms", ""), 0.001), (value, 1.0)):
        if re.fullmatch(r"[0-9]{1,9}(\.[0-9]*)?", text):
            return float(text) * unit
    with contextlib.suppress(ValueError, TypeError):
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    return None
