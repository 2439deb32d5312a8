"""What multiplies one press of Run: values of a sweep, rows of variables, repeats.

Values only: nothing here knows a form, a database or HTTP.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from itertools import product
from typing import Any

from playground.parameters import Either, Float, Integer, Kind, Option

MOST_FIELDS = 2  # swept at once: a grid has two sides
MOST_REQUESTS = 1000  # of one press
MOST_REPEATS = 50  # of one column
SCALE = 40  # digits of a typed number; more would be no setting

RANGE = re.compile(r"(\S+?)\s*\.\.\s*([^/\s]+)\s*(?:/\s*(\S+))?")
LONE_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+")  # 0,4 is a German number, not a sweep
VARIABLE = re.compile(r"(\\*)\{\{[ \t]*([^\W\d][\w-]*)[ \t]*\}\}")
BLOCKS = re.compile(r"^---[ \t]*$", re.MULTILINE)


@dataclass(frozen=True)
class Place:
    """Where a run stands: the index of its column in the form, and its place on the axes.

    `coordinates` has only what its column multiplies by: `values` {path: text}, `row` (index of
    the row of variables) and `repeat` (index among the repeats).
    """

    column: int
    coordinates: Mapping[str, Any] = field(default_factory=dict)

    @property
    def values(self) -> Mapping[str, str]:
        found: Mapping[str, str] = self.coordinates.get("values", {})
        return found

    @property
    def row(self) -> int | None:
        return self.coordinates.get("row")

    @property
    def repeat(self) -> int | None:
        return self.coordinates.get("repeat")

    @property
    def without_repeat(self) -> "Place":
        rest = {name: each for name, each in self.coordinates.items() if name != "repeat"}
        return Place(self.column, rest)

    @property
    def words(self) -> list[str]:
        """Where it stands on the axes, said: `temperature 0.4`, `row 2`, `repeat 3`."""
        found = [f"{path} {text}" for path, text in self.values.items()]
        numbers = {"row": self.row, "repeat": self.repeat}
        return found + [f"{name} {at + 1}" for name, at in numbers.items() if at is not None]

    @property
    def spot(self) -> tuple[int, tuple[tuple[str, str], ...], int | None]:
        """The same for the repeats of one thing."""
        return self.column, tuple(self.values.items()), self.row


def cells(values: Mapping[str, Sequence[str]], rows: int, repeats: int) -> Iterator[dict[str, Any]]:
    """The coordinates of all requests of a column: row by row, value by value, repeats last."""
    swept = [[(path, text) for text in texts] for path, texts in values.items()]
    for row in range(rows) if rows else [None]:
        for combination in product(*swept):
            for repeat in range(repeats):
                found: dict[str, Any] = {}
                if combination:
                    found["values"] = dict(combination)
                if row is not None:
                    found["row"] = row
                if repeats > 1:
                    found["repeat"] = repeat
                yield found


def sweep(raw: object, kind: Kind) -> list[str]:
    """The values that `0, 0.4, 0.8` or `0..1/0.2` means for a field of this kind, as typed.

    [] where it is one value, or where a comma means something else. ValueError says in one
    sentence what is wrong with it.
    """
    if not isinstance(raw, str) or not ("," in raw or ".." in raw):
        return []
    kinds = kind.kinds if isinstance(kind, Either) else (kind,)
    if any(isinstance(each, Integer | Float) for each in kinds):
        whole = not any(isinstance(each, Float) for each in kinds)
        return _numbers(raw, whole)
    choices = [choice for each in kinds if isinstance(each, Option) for choice in each.choices]
    return _choices(raw, choices)


def _choices(raw: str, choices: Sequence[str]) -> list[str]:
    """A list of choices; any other text with a comma is left as the one text that it is."""
    items = [item.strip() for item in raw.split(",")]
    if raw in choices or len(items) < 2 or not all(item in choices for item in items):
        return []
    return _distinct(items, items)


def _numbers(raw: str, whole: bool) -> list[str]:
    if LONE_COMMA.fullmatch(raw.strip()):
        raise ValueError(
            "Use a point as the decimal sign (0.7), or a blank after the comma for several values."
        )
    items = [item.strip() for item in raw.strip().removesuffix(",").split(",")]
    texts = [text for item in items for text in _item(item, whole)]
    if len(texts) > MOST_REQUESTS:
        raise ValueError(_too_many_values(len(texts)))
    return _distinct(texts, map(_decimal, texts)) if len(texts) > 1 or ".." in raw else []


def _item(item: str, whole: bool) -> list[str]:
    if not item:
        raise ValueError("There is no number between two commas.")
    if ".." not in item:
        _decimal(item)
        return [item]
    found = RANGE.fullmatch(item)
    if found is None:
        raise ValueError("Write a range as first..last/step, for example 0..1/0.2.")
    return _range(found[1], found[2], found[3] or ("1" if whole else ""))


def _range(first: str, last: str, step: str) -> list[str]:
    if not step:
        raise ValueError(f"Say the step too, for example {first}..{last}/0.2.")
    low, high, by = _decimal(first), _decimal(last), _decimal(step)
    if by <= 0:
        raise ValueError("The step of a range must be above 0.")
    count = int(abs(high - low) / by) + 1
    if count > MOST_REQUESTS:
        raise ValueError(_too_many_values(count))
    signed = by if high >= low else -by
    return [_text(low + signed * index) for index in range(count)]


def _decimal(text: str) -> Decimal:
    wanted = f"“{text[:40]}” is no number. Write 0, 0.4, 0.8 or 0..1/0.2 for several values."
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise ValueError(wanted) from None
    if not text.isascii() or "_" in text or not number.is_finite():
        raise ValueError(wanted)
    if len(text) > SCALE or abs(number.adjusted()) > SCALE:
        raise ValueError("Type a number with fewer digits.")
    return number


def _text(number: Decimal) -> str:
    """Plainly, without zeros at the end: 0.30 is 0.3, and 0 has no sign."""
    text = format(number, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def _distinct(texts: list[str], values: Iterable[object]) -> list[str]:
    seen = set()
    for text, value in zip(texts, values, strict=True):
        if value in seen:
            raise ValueError(f"{text} stands there twice. To repeat a request, use Repeat.")
        seen.add(value)
    return texts


def _too_many_values(count: int) -> str:
    return f"That makes {count:,} values; at most {MOST_REQUESTS:,} requests go out at once."


def names_in(text: str) -> list[str]:
    """The variables of a template, in order; `\\{{name}}` is none."""
    return list(dict.fromkeys(found[2] for found in VARIABLE.finditer(text) if not found[1]))


def filled(text: str, values: Mapping[str, str]) -> str:
    """The template with its values; what has none stays. One backslash of an escape goes."""

    def value(found: re.Match[str]) -> str:
        if found[1]:
            return found[0][1:]
        return values.get(found[2], found[0])

    return VARIABLE.sub(value, text)


def escaped(text: str) -> str:
    """A template that gives this text: `filled(escaped(text), …) == text`."""
    return VARIABLE.sub(lambda found: "\\" + found[0], text)


def listed(text: str) -> list[str]:
    """The values in the box of a variable: one a line, or blocks with lines of `---` between."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if BLOCKS.search(text):
        blocks = [block.strip("\n") for block in BLOCKS.split(text)]
        return [block for block in blocks if block] or [""]
    return [line for line in text.split("\n") if line.strip()] or [""]


def multiplied(
    values: Mapping[str, Sequence[str]], table: Sequence[Mapping[str, str]]
) -> list[dict[str, str]]:
    """Every row of the table (or none) with every combination of the other values."""
    combined = [dict(zip(values, each, strict=True)) for each in product(*values.values())]
    return [{**row, **each} for row in (table or [{}]) for each in combined]
