"""JSON in an answer: the whole of it, or in a code fence; and a sentence where there is none."""

import json
import re
from dataclasses import dataclass
from itertools import islice
from typing import Any

TOO_DEEP = "The answer is nested too deeply to be read as JSON."
LONGEST = 1_000_000  # characters that are read as JSON
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n`]*\n(.*?)(?:^ {0,3}\1[`~]*\s*$|\Z)", re.M | re.S)
_MOST_FENCES = 50


@dataclass(frozen=True)
class Found:
    """`values`: what is JSON, in order. `note`: where it was, or why there is none."""

    values: list[Any]
    note: str = ""


def json_in(text: str) -> Found:
    if not text.strip():
        return Found([], "The answer has no text.")
    if len(text) > LONGEST:
        return Found([], f"It has more than {LONGEST:,} characters and is not read as JSON.")
    try:
        return Found([_read(text)])
    except (ValueError, RecursionError) as error:
        problem = error
    fences = [match[2] for match in islice(_FENCE.finditer(text), _MOST_FENCES)]
    values = [value for fence in fences for value in _values(fence)]
    if len(values) > 1:
        return Found(values, f"From {len(values)} code blocks; the text around them is not JSON.")
    if values:
        return Found(values, "From the code block; the text around it is not JSON.")
    return Found([], _sentence(problem))


def _values(text: str) -> list[Any]:
    try:
        return [_read(text)]
    except (ValueError, RecursionError):
        return []


def _read(text: str) -> Any:
    return json.loads(text.removeprefix("\ufeff"), parse_constant=_no_constant)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


def _sentence(problem: Exception) -> str:
    if isinstance(problem, RecursionError):
        return TOO_DEEP
    if not isinstance(problem, json.JSONDecodeError):
        return f"The answer is not JSON: {problem}."
    place = f"line {problem.lineno}, character {problem.colno}"
    if not problem.doc[problem.pos :].strip():
        return f"The answer is not complete JSON: it ends at {place}."
    reason = problem.msg[:1].lower() + problem.msg[1:]
    return f"The answer is not JSON: {reason} at {place}."
