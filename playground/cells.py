"""How one column of the form multiplies: its sweeps, its repeats, and by how many requests."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from playground.axes import MOST_FIELDS, MOST_REPEATS, MOST_REQUESTS, cells, sweep
from playground.inputs import Given, Problem
from playground.models import Connection
from playground.parameters import Api, Status, Support, for_api
from playground.rows import too_many

MOST_AT_ONCE = 128  # what `n` is at most where nothing else is known
LARGEST = 64 * 1024 * 1024  # characters of the input in all requests of one press
TAKEN = (Status.ACCEPTED, Status.EXTENSION)
NO_N = "This API takes no n; the repeats are separate requests."
OWN_N = "n is set already; the repeats are separate requests."
NO_SLOTS = (
    "How many slots this server has is not known; the repeats are separate requests. "
    "An admin can say it as “parallel requests” of the connection."
)


@dataclass
class Cells:
    """The axes of one column. `chunks`: the `n` of each repeat, None where it is not asked by n."""

    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rows: int = 0
    chunks: Sequence[int | None] = (None,)
    problems: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        sizes = [len(texts) for texts in self.values.values()]
        return math.prod(sizes) * max(1, self.rows) * len(self.chunks)

    def each(self) -> Iterator[tuple[dict[str, Any], dict[str, str]]]:
        """(coordinates, raw values that differ there) of every request."""
        for coordinates in cells(self.values, self.rows, len(self.chunks)):
            changes = dict(coordinates.get("values", {}))
            by_n = self.chunks[coordinates.get("repeat", 0)]
            if by_n is not None and by_n > 1:
                changes["n"] = str(by_n)
            yield coordinates, changes


def read_cells(
    connection: Connection,
    api: Api,
    raw_values: Mapping[str, Any],
    *,
    rows: int,
    repeat: Any,
    by_n: bool,
) -> Cells:
    found = Cells(rows=rows)
    supports = {row.path: support for row, support in for_api(api)}
    values: dict[str, list[str]] = {}
    for path, raw in raw_values.items():
        if path in supports:  # what this API does not know is not sent, so it makes no difference
            try:
                texts = sweep(raw, supports[path].kind)
            except ValueError as error:
                found.problems.append(Problem(path, str(error)))
                continue
            if texts:
                values[path] = texts
    found.values = values
    count = _repeats(repeat)
    if count is None:
        message = f"Repeat is a whole number from 1 to {MOST_REPEATS}."
        found.problems.append(Problem("repeat", message))
        return found
    found.chunks = [None] * count
    if by_n and count > 1:
        _ask_by_n(found, connection, supports.get("n"), count, "n" in raw_values)
    return found


def _repeats(raw: Any) -> int | None:
    if raw is None or raw == "":
        return 1
    text = str(raw).strip()
    count = int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0
    return count if 1 <= count <= MOST_REPEATS else None


def _ask_by_n(
    found: Cells, connection: Connection, support: Support | None, count: int, own: bool
) -> None:
    """As few requests as the backend allows, by `n`; or say why it cannot be."""
    if own:
        found.warnings.append(OWN_N)
    elif support is None or support.status not in TAKEN:
        found.warnings.append(NO_N)
    elif not (most := _most_at_once(connection, support)):
        found.warnings.append(NO_SLOTS)
    else:
        found.chunks = [min(most, count - done) for done in range(0, count, most)]


def _most_at_once(connection: Connection, support: Support) -> int:
    """What `n` may be; 0 where it is not known. llama.cpp takes one of its slots for each."""
    if connection.dialect == "llama.cpp":
        return connection.parallel or 0
    return min(getattr(support.kind, "maximum", None) or MOST_AT_ONCE, MOST_AT_ONCE)


def too_much(plans: Sequence[Cells], given: Given, values: int) -> list[Problem]:
    """What a whole form must not come to: a third swept field, too many requests or too much.

    `values`: characters that the variables of one row add.
    """
    fields = list(dict.fromkeys(path for plan in plans for path in plan.values))
    problems = []
    if len(fields) > MOST_FIELDS:
        message = (
            f"At most two fields can have several values; here are {len(fields)}: "
            f"{', '.join(fields)}."
        )
        problems.append(Problem(fields[-1], message))
    total = sum(plan.count for plan in plans)
    if total > MOST_REQUESTS:
        problems.append(Problem("plan", too_many(total, "requests")))
    if total > 1 and total * (_size(given) + values) > LARGEST:
        message = (
            f"The input goes out {total:,} times; that is more than "
            f"{LARGEST // 2**20} MB in all. Shorten it or send fewer requests."
        )
        problems.append(Problem("plan", message))
    return problems


def _size(given: Given) -> int:
    """Characters of the input, about."""
    parts = {"text": given.prompt, "list": given.prompts, "messages": given.messages}
    return _length(parts.get(given.mode, given.ids))


def _length(value: Any) -> int:
    if isinstance(value, Mapping):
        return sum(map(_length, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(_length, value))
    return len(value) if isinstance(value, str) else 4
