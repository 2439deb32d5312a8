"""JSON of one line, the same for the same values, whatever is in them."""

import json
import math
import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

VERSION = 1
HEADER = {"type": "playground", "version": VERSION}
# What ends a line for some reader, is no UTF-8, or cannot be seen.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")


def line_of(value: Any) -> str:
    """One line with its line feed."""
    try:
        text = compact(value, allow_nan=False)
    except ValueError:
        text = compact(_finite(value), allow_nan=False)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


def compact(value: Any, *, allow_nan: bool = True) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=allow_nan)


def _finite(value: Any) -> Any:
    """NaN and infinity as text: they are no JSON."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list | tuple) else value


def embedded(text: str) -> Any:
    """A provider's JSON text as a value, where that gives the text back; else as text."""
    if not text:
        return None
    try:
        value = json.loads(text)
        same = isinstance(value, dict | list) and compact(value, allow_nan=False) == text
    except (ValueError, RecursionError):
        same = False
    if same and not (isinstance(value, dict) and "json_text" in value):
        return value
    return {"json_text": text}


def unembedded(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dict) and set(value) == {"json_text"}:
        text = value["json_text"]
        if not isinstance(text, str):
            raise ValueError("json_text is no text")
        return text
    return compact(value)


def moment(when: datetime | None) -> str | None:
    if when is None:
        return None
    return when.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def plain_number(value: Decimal | None) -> str | None:
    """Without exponent and without zeros at the end."""
    if value is None:
        return None
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
