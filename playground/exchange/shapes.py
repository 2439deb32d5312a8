"""What the values of a line of an export look like: whether one is of such a shape."""

from typing import Any

from playground.completion import storable


def is_text(value: Any) -> bool:
    return isinstance(value, str) and value == storable(value)


def is_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(map(is_text, [*value, *value.values()]))


def is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15


def is_stretch(value: Any) -> bool:
    good = isinstance(value, list) and len(value) == 2 and all(map(is_number, value))
    return good and min(value) >= 0


def is_token(value: Any, levels: int = 1) -> bool:
    """In the normal form of `providers/logprobs.py`."""
    if not (isinstance(value, dict) and isinstance(value.get("token"), str)):
        return False
    logprob, in_bytes, top = value.get("logprob"), value.get("bytes"), value.get("top", [])
    good = logprob is None or is_number(logprob)
    good = good and (in_bytes is None or (isinstance(in_bytes, list) and all(map(is_id, in_bytes))))
    below = isinstance(top, list) and all(is_token(each, levels - 1) for each in top)
    return good and (below if levels else not top)
