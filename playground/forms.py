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
from playground.cells import Cells, read_cells, too_much
from playground.completion import CompletionRequest, storable
from playground.doubts import doubts, logprobs_as_switch
from playground.inputs import Given, Problem, read_headers, read_input
from playground.models import Connection, User
from playground.models.labels import clean_label
from playground.models.runs import Visibility, letter
from playground.parameters import OPERATIONS, Api, Json, Parameter, Status, Support, for_api
from playground.parameters import parameter as parameter_at
from playground.rows import Rows, fill, read_rows

MOST_COLUMNS = 64
MOST_LABELS = 50
LONGEST_MODEL = 300  # characters
RESERVED = ("model", "prompt", "messages")  # fields of the request, not of the extra body


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


# --- One request ---------------------------------------------------------------------------


@dataclass
class Built:
    request: CompletionRequest | None
    errors: list[Problem]
    warnings: list[str]


def build(
    connection: Connection,
    operation: str,
    *,
    model: str,
    given: Given,
    raw_values: Mapping[str, Any],
    headers: Any = "",
    extra: Any = "",
    labels: tuple[str, ...] = (),
    force: bool = False,
) -> Built:
    """A request from raw values; the form and `manage.py complete` share it.

    Refused is only what is of the wrong type or outside a documented bound (`force` sends the
    latter); what a backend may dislike is a warning.
    """
    api = Api(connection.provider, connection.dialect, operation)
    built = Built(None, [], [])
    values = _values(api, logprobs_as_switch(api, raw_values), built, force)
    _check_pairs(api, values, built, force)
    body_extra = _extra(extra, built)
    own_headers = read_headers(headers, built.errors)
    messages, prompt = read_input(given, api, built.errors, force)
    if len(model) > LONGEST_MODEL or model != storable(model):
        problem = Problem("model", f"A model's name has at most {LONGEST_MODEL} characters.")
        built.errors.append(problem)
    elif refusal := connection.model_refusal(model):
        built.errors.append(Problem("model", refusal))
    if not built.errors:
        built.request = CompletionRequest(
            provider=connection.provider,
            dialect=connection.dialect,
            operation=operation,
            model=model,
            prompt=prompt,
            messages=messages,
            values=values,
            extra=body_extra,
            own_headers=own_headers,
            labels=labels,
        )
    return built


def _values(api: Api, raw_values: Mapping[str, Any], built: Built, force: bool) -> dict[str, Any]:
    supports = {row.path: (row, support) for row, support in for_api(api)}
    values: dict[str, Any] = {}
    for path, raw in raw_values.items():
        if path in supports:
            _value(*supports[path], raw, values, built, force)
        elif _known(path):
            built.warnings.append(f"{path} is not sent: this API has no such parameter.")
        else:
            built.errors.append(Problem(path, f"There is no parameter {path}."))
    return {path: values[path] for path in supports if path in values}


def _known(path: str) -> bool:
    try:
        parameter_at(path)
    except KeyError:
        return False
    return True


def _value(
    row: Parameter,
    support: Support,
    raw: Any,
    values: dict[str, Any],
    built: Built,
    force: bool,
) -> None:
    try:
        value = support.kind.clean(raw)
    except ValueError as error:
        built.errors.append(Problem(row.path, str(error)))
        return
    values[row.path] = value
    outside = support.kind.outside(value)
    if outside and not force:
        built.errors.append(Problem(row.path, outside, bound=True))
    if support.status in (Status.IGNORED, Status.REFUSED, Status.COMING_SOON) and support.note:
        # `stream_options` goes with every request of the form where it is of use.
        built.warnings.append(f"{row.path}: {support.note}")


def _check_pairs(api: Api, values: Mapping[str, Any], built: Built, force: bool) -> None:
    """Pairs that a provider refuses: only `best_of` below `n` is refused here too."""
    n, best_of = values.get("n"), values.get("best_of")
    if isinstance(n, int) and isinstance(best_of, int) and best_of < n and not force:
        message = f"best_of ({best_of}) must be at least n ({n}): it makes best_of and returns n."
        built.errors.append(Problem("best_of", message, bound=True))
    built.warnings += [sentence for found, sentence in doubts(api, values) if found]


def _extra(raw: Any, built: Built) -> dict[str, Any]:
    if raw == "" or (isinstance(raw, str) and not raw.strip()):
        return {}
    try:
        extra: dict[str, Any] = Json("object").clean(raw)
    except ValueError as error:
        built.errors.append(Problem("extra", str(error)))
        return {}
    for name in RESERVED:
        if name in extra:
            message = f"“{name}” has its own place in the form; take it out of the extra body."
            built.errors.append(Problem("extra", message))
    return extra


def with_stream(api: Api, raw_values: Mapping[str, Any]) -> dict[str, Any]:
    """What the form sets by itself: `stream`, and usage in the stream where the API knows it."""
    values = dict(raw_values)
    values.setdefault("stream", True)
    usage = "stream_options.include_usage"
    if values["stream"] in (True, "true") and usage not in values and knows_usage(api):
        values[usage] = True
    return values


def knows_usage(api: Api) -> bool:
    known = (Status.ACCEPTED, Status.EXTENSION)
    return any(
        row.path == "stream_options.include_usage" and support.status in known
        for row, support in for_api(api)
    )
