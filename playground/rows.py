"""Prompt variables of the posted document: which are used, which rows of values they make.

The document: `variables` {name: text of its box}, `table` {"file", "names", "rows"}.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from playground.axes import MOST_REQUESTS, filled, listed, multiplied, names_in
from playground.inputs import Given, Problem
from playground.tables import LARGEST, MOST_NAMES, MOST_ROWS

LONGEST_VALUES = LARGEST  # characters of all boxes together


@dataclass
class Rows:
    """What the variables of a form come to."""

    names: list[str] = field(default_factory=list)  # used in the input and given a value
    rows: list[dict[str, str]] = field(default_factory=list)  # [] where there is no variable
    undefined: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)

    @property
    def longest(self) -> int:
        """Characters of the values of the longest row."""
        return max((sum(map(len, row.values())) for row in self.rows), default=0)


def read_rows(
    document: Mapping[str, Any], given: Given, problems: list[Problem], force: bool
) -> Rows:
    """`force` leaves an undefined variable in the text as it stands."""
    used = list(dict.fromkeys(name for text in _texts(given) for name in names_in(text)))
    boxes = _boxes(document.get("variables"), problems)
    table = _table(document.get("table"), problems)
    known = {**boxes, **dict.fromkeys(table[0] if table else ())}
    found = Rows(
        names=[name for name in used if name in known],
        undefined=[name for name in used if name not in known],
        unused=[name for name in known if name not in used],
    )
    if found.undefined and not force:
        first = found.undefined[0]
        message = (
            f"{{{{{first}}}}} has no value. Give it one, or write \\{{{{{first}}}}} to send it."
        )
        problems.append(Problem("variables", message, bound=True))
    if not found.names:
        return found
    columns = set(table[0]) & set(found.names)
    values = {name: boxes[name] for name in found.names if name not in columns}
    count = max(1, len(table[1]) if columns else 1)
    for each in values.values():
        count *= len(each)
    if count > MOST_REQUESTS:
        problems.append(Problem("variables", too_many(count, "rows of values")))
        return found
    rows = [
        {name: cell for name, cell in zip(table[0], row, strict=True) if name in columns}
        for row in (table[1] if columns else ())
    ]
    found.rows = multiplied(values, rows)
    return found


def too_many(count: int, what: str) -> str:
    return f"That makes {count:,} {what}; at most {MOST_REQUESTS:,} requests go out at once."


def _boxes(raw: Any, problems: list[Problem]) -> dict[str, list[str]]:
    if not isinstance(raw, Mapping):
        return {}
    boxes = {str(name): text for name, text in raw.items() if isinstance(text, str)}
    if len(boxes) > MOST_NAMES or sum(map(len, boxes.values())) > LONGEST_VALUES:
        problems.append(
            Problem("variables", f"At most {MOST_NAMES} variables with 1 MB of values are taken.")
        )
        return {}
    return {name: listed(text) for name, text in boxes.items()}


def _table(raw: Any, problems: list[Problem]) -> tuple[list[str], list[list[str]]]:
    if not isinstance(raw, Mapping) or not raw:
        return [], []
    names, rows = _texts_only(raw.get("names")), raw.get("rows")
    cells = [_texts_only(row) for row in rows] if isinstance(rows, list) else []
    if not names or not 0 < len(cells) <= MOST_ROWS or {len(row) for row in cells} != {len(names)}:
        message = "The table of values is broken; choose its file again."
        problems.append(Problem("variables", message))
        return [], []
    return names, cells


def _texts_only(value: Any) -> list[str]:
    """[] for anything else than a short list of texts."""
    if not isinstance(value, list) or len(value) > MOST_NAMES:
        return []
    return value if all(isinstance(each, str) for each in value) else []


def _texts(given: Given) -> Iterator[str]:
    """Every text of the input in which a variable may stand."""
    if given.mode == "text" and isinstance(given.prompt, str):
        yield given.prompt
    if given.mode == "list":
        yield from (each for each in _list(given.prompts) if isinstance(each, str))
    if given.mode == "messages":
        for message in _list(given.messages):
            content = message.get("content") if isinstance(message, Mapping) else None
            yield from _content_texts(content)


def _content_texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for part in _list(content):
        if isinstance(part, Mapping) and isinstance(part.get("text"), str):
            yield part["text"]


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def fill(given: Given, values: Mapping[str, str]) -> Given:
    """The input with the values in the place of its variables."""
    if given.mode == "text" and isinstance(given.prompt, str):
        return replace(given, prompt=filled(given.prompt, values))
    if given.mode == "list":
        return replace(given, prompts=[_filled(each, values) for each in _list(given.prompts)])
    if given.mode == "messages":
        return replace(given, messages=[_message(each, values) for each in _list(given.messages)])
    return given


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    return filled(value, values) if isinstance(value, str) else value


def _message(message: Any, values: Mapping[str, str]) -> Any:
    if not isinstance(message, Mapping):
        return message
    content = message.get("content")
    if isinstance(content, list):
        parts = [
            {**part, "text": _filled(part["text"], values)}
            if isinstance(part, Mapping) and "text" in part
            else part
            for part in content
        ]
        return {**message, "content": parts}
    return {**message, "content": _filled(content, values)} if "content" in message else message
