"""From what the form posts to requests. One document, one column at a time, nothing lost.

The document: `{"mode", "prompt", "messages", "prompts", "ids", "headers", "values": {path: raw},
"extra", "labels", "visibility", "variables", "table", "by_n", "columns": [{"connection",
"operation", "model", "values", "repeat"}], "force"}`. A raw value is JSON or the text that was
typed; a column's `values` are laid over the common ones, and null there means "not sent in this
column". Sweeps, rows of variables and repeats make several requests of one column (`cells.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ValidationError

from playground.axes import Place
from playground.building import build
from playground.cells import Cells, read_cells, too_much
from playground.completion import CompletionRequest
from playground.inputs import Given, Problem
from playground.models import Connection, User
from playground.models.labels import clean_label
from playground.models.runs import letter
from playground.models.visible import Visibility
from playground.parameters import OPERATIONS, Api
from playground.rows import Rows, fill, read_rows

MOST_COLUMNS = 64
MOST_LABELS = 50


class BadDocument(ValueError):
    """What was posted is no document of this form."""


@dataclass
class Column:
    """One column of the form, read."""

    position: int
    connection: Connection | None = None
    plan: Cells = field(default_factory=Cells)  # how it multiplies
    cells: list[tuple[CompletionRequest, Place]] = field(default_factory=list)
    errors: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def request(self) -> CompletionRequest | None:
        """The first of its requests; None where something is wrong."""
        return self.cells[0][0] if self.cells and not self.errors else None

    @property
    def letter(self) -> str:
        return letter(self.position)


@dataclass
class Draft:
    """The whole form, read."""

    columns: list[Column]
    rows: Rows = field(default_factory=Rows)
    labels: tuple[str, ...] = ()
    visibility: str = Visibility.TEAM
    errors: list[Problem] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.errors and all(column.request for column in self.columns)

    @property
    def only_bounds(self) -> bool:
        """Whether "Send anyway" would send it."""
        problems = self.errors + [error for column in self.columns for error in column.errors]
        return bool(problems) and all(problem.bound for problem in problems)

    def requests(self) -> list[tuple[Connection, CompletionRequest]]:
        return [(c.connection, each) for c in self.columns if c.connection for each, _ in c.cells]

    def places(self) -> list[Place]:
        return [place for c in self.columns if c.connection for _, place in c.cells]

    def axes(self) -> dict[str, Any]:
        """What the comparison keeps of what multiplied it; {} where nothing did."""
        fields = list(dict.fromkeys(path for c in self.columns for path in c.plan.values))
        repeats = any(len(c.plan.chunks) > 1 for c in self.columns)
        rows = self.rows.rows if len(self.rows.rows) > 1 else []
        if not fields and not repeats and not rows:
            return {}
        return {"fields": fields, "names": self.rows.names, "rows": rows}


def read(document: Any, user: User) -> Draft:
    """Raises BadDocument where it is no document at all; else each column says its problems."""
    if not isinstance(document, Mapping):
        raise BadDocument("The form was not understood. Reload the page and try again.")
    rows = document.get("columns")
    if not isinstance(rows, list) or not rows or not all(isinstance(r, Mapping) for r in rows):
        raise BadDocument("There is no column to run. Add one.")
    if len(rows) > MOST_COLUMNS:
        raise BadDocument(f"At most {MOST_COLUMNS} columns run at once; this form has {len(rows)}.")
    labels, errors = read_labels(document.get("labels") or [])
    force = document.get("force") is True
    given = Given.of(document)
    shared = read_rows(document, given, errors, force)
    membership = user.membership()
    usable = Connection.objects.usable_by(membership.team_id if membership else None)
    by_id = {connection.pk: connection for connection in usable}
    one = only(document)
    chosen = range(len(rows)) if one is None else [one]
    columns = [_column(i, rows[i], by_id, document, shared) for i in chosen]
    private = document.get("visibility") == Visibility.PRIVATE
    draft = Draft(
        columns, shared, labels, Visibility.PRIVATE if private else Visibility.TEAM, errors
    )
    errors += too_much([column.plan for column in columns], given, shared.longest)
    if not errors:
        for column in columns:
            _build_column(column, document, rows[column.position], draft, force)
    return draft


def only(document: Any) -> int | None:
    """The position of the one column that is to run; None: all of them. Raises BadDocument."""
    found = document.get("only") if isinstance(document, Mapping) else None
    if found is None:
        return None
    if type(found) is not int or not 0 <= found < len(document["columns"]):
        raise BadDocument("There is no such column to run. Reload the page and try again.")
    return found


def read_labels(raw: Any) -> tuple[tuple[str, ...], list[Problem]]:
    """Clean labels, and what is wrong with the others."""
    names, errors = [], []
    for name in raw if isinstance(raw, list) else []:
        try:
            names.append(clean_label(str(name)))
        except ValidationError as error:
            errors.append(Problem("labels", error.messages[0]))
    if len(names) > MOST_LABELS:
        errors.append(Problem("labels", f"A run has at most {MOST_LABELS} labels."))
    return tuple(names), errors


def _id(raw: Any) -> int | None:
    text = str(raw)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _column(
    position: int,
    row: Mapping[str, Any],
    by_id: Mapping[int, Connection],
    document: Mapping[str, Any],
    rows: Rows,
) -> Column:
    """Which connection, and how it multiplies; nothing is built yet."""
    connection = by_id.get(_id(row.get("connection")) or 0)
    column = Column(position, connection)
    operation = row.get("operation")
    if connection is None:
        message = "Choose a connection; the one of this column is not available to you."
        column.errors.append(Problem("connection", message))
    elif operation not in OPERATIONS:
        column.errors.append(Problem("operation", "Choose completions or chat."))
    else:
        column.plan = read_cells(
            connection,
            Api(connection.provider, connection.dialect, operation),
            _raw_values(document, row),
            rows=len(rows.rows) if len(rows.rows) > 1 else 0,
            repeat=row.get("repeat"),
            by_n=document.get("by_n") is True,
        )
        column.errors += column.plan.problems
        column.warnings += column.plan.warnings
    return column


def _raw_values(document: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**_mapping(document.get("values")), **_mapping(row.get("values"))}
    return {path: raw for path, raw in merged.items() if raw is not None}


def _build_column(
    column: Column,
    document: Mapping[str, Any],
    row: Mapping[str, Any],
    draft: Draft,
    force: bool,
) -> None:
    """Every request of a column; what is wrong with several of them is said once."""
    if column.connection is None or column.errors:
        return
    given = Given.of(document)
    raw_values = _raw_values(document, row)
    rows = draft.rows.rows or [{}]
    inputs = [fill(given, values) for values in rows]
    errors: dict[Problem, None] = {}
    warnings: dict[str, None] = {}
    for coordinates, changes in column.plan.each():
        built = build(
            column.connection,
            row["operation"],
            model=str(row.get("model") or "").strip(),
            given=inputs[coordinates.get("row", 0)],
            headers=document.get("headers") or "",
            raw_values={**raw_values, **changes},
            extra=document.get("extra") or "",
            labels=draft.labels,
            force=force,
        )
        errors |= dict.fromkeys(built.errors)
        warnings |= dict.fromkeys(built.warnings)
        if built.request:
            column.cells.append((built.request, Place(column.position, coordinates)))
    column.errors += errors
    column.warnings += warnings


def _mapping(raw: Any) -> Mapping[str, Any]:
    return raw if isinstance(raw, Mapping) else {}
