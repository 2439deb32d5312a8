"""What the page of one run shows of it: what was sent and why so, what came back in every part."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from playground import documents, panel
from playground.completion import CompletionRequest, merged
from playground.models import Choice, Run
from playground.parameters import Status, for_api
from playground.probabilities import visible
from playground.providers import PROVIDERS

FIRST_TOKENS = 200  # rows of the table of probabilities that are shown without being asked
NEVER = -9000  # a log probability below: how vLLM writes minus infinity
ESCAPES = str.maketrans({" ": "␣", "\n": "\\n", "\r": "\\r", "\t": "\\t"})
DOLLARS = ("costs", "cost_savings")
TITLES = {
    "model": "Model that answered",
    "costs": "Costs in US dollars",
    "cost_savings": "Savings in US dollars",
    "scores": "Scores and candidates",
    "generated_artifacts": "Artifacts",
    "search_results": "Search results",
    "labels": "Labels stored",
    "choices_extra": "Further parts of the choices",
}


@dataclass(frozen=True)
class Sent:
    """The request of a run as it left the playground; secrets are only named."""

    method: str
    path: str
    body: dict[str, Any]
    headers: list[tuple[str, str]]
    renamed: list[tuple[str, str]]  # (path, name on the wire)
    noted: list[tuple[list[str], str]]  # (paths, what this backend does with them)
    left_out: list[tuple[str, str]]  # (path, why it was not sent)
    automatic: list[str]  # paths that are sent unless somebody switches them off


def sent(run: Run, asked: CompletionRequest) -> Sent:
    provider = PROVIDERS.get(run.provider)
    supports = {
        row.path: support for row, support in for_api(asked.api) if row.path in asked.values
    }
    quiet = (Status.ACCEPTED, Status.EXTENSION)
    return Sent(
        method="POST",
        path=provider.paths[asked.operation] if provider else "",
        body=asked.body(),
        headers=_headers(run, asked),
        renamed=[(path, each.name) for path, each in supports.items() if each.name != path],
        noted=_noted(
            (path, each.note)
            for path, each in supports.items()
            if each.note and each.status not in quiet
        ),
        left_out=_left_out(run, asked),
        automatic=[path for path in asked.values if path in documents.INITIAL],
    )


def _noted(notes: Iterator[tuple[str, str]]) -> list[tuple[list[str], str]]:
    """Each note once, with its paths."""
    found: dict[str, list[str]] = {}
    for path, note in notes:
        found.setdefault(note, []).append(path)
    return [(paths, note) for note, paths in found.items()]


def _headers(run: Run, asked: CompletionRequest) -> list[tuple[str, str]]:
    of_connection: dict[str, str] = {}
    connection = run.connection
    if connection is not None:
        of_connection = dict.fromkeys(connection.headers(), "(of the connection, hidden)")
        if connection.key() is not None:
            key = {"authorization": "Bearer (the connection's key, hidden)"}
            of_connection = merged(of_connection, key)
    ours = {"content-type": "application/json"}
    return list(merged(ours, asked.headers(), of_connection).items())


def _left_out(run: Run, asked: CompletionRequest) -> list[tuple[str, str]]:
    """What the form had set and this column did not send."""
    try:
        document = documents.restored(json.loads(run.comparison.document))
    except (ValueError, RecursionError):
        document = None
    if document is None or run.column >= len(document["columns"]):
        return []
    api = panel.title(run.provider, run.dialect)
    own = document["columns"][run.column]["values"]
    found = []
    for path, value in {**document["values"], **own}.items():
        if path in asked.values:
            continue
        if value is not None:
            found.append((path, f"{api} has no such parameter here."))
        elif document["values"].get(path) is not None and path not in documents.AUTOMATIC:
            found.append((path, "It was left out in this column."))
    return found


@dataclass(frozen=True)
class Row:
    name: str
    value: str
    field: str  # its whole path in the answer


@dataclass
class Section:
    title: str
    rows: list[Row] = field(default_factory=list)


def sections(metadata: Mapping[str, Any]) -> list[Section]:
    """Every part of the metadata under a heading; unknown parts under their own names."""
    rest = {name: value for name, value in metadata.items() if name not in ("raw", "raw_cut")}
    found = list(_sections("Answer", rest, ""))  # each grows until the last one is made
    return [section for section in found if section.rows]


def _sections(title: str, value: Mapping[str, Any], path: str) -> Iterator[Section]:
    own = Section(title)
    yield own
    for name, item in value.items():
        inner = f"{path}{name}"
        if isinstance(item, Mapping) and item:
            unit = "$" if name in DOLLARS else ""
            if unit or not any(isinstance(each, Mapping) for each in item.values()):
                yield Section(TITLES.get(name, name), list(_rows(item, f"{inner}.", unit)))
            else:
                yield from _sections(TITLES.get(name, name), item, f"{inner}.")
        else:
            own.rows += _rows({name: item}, path, "")


def _rows(value: Mapping[str, Any], path: str, unit: str) -> Iterator[Row]:
    for name, item in value.items():
        for label, said, where in _leaves(name, item, f"{path}{name}", unit):
            yield Row(label, said, where)


def _leaves(name: str, value: Any, path: str, unit: str) -> Iterator[tuple[str, str, str]]:
    if isinstance(value, Mapping) and value:
        for inner, item in value.items():
            yield from _leaves(f"{name}.{inner}", item, f"{path}.{inner}", unit)
    elif isinstance(value, list) and any(isinstance(item, Mapping | list) for item in value):
        for position, item in enumerate(value):
            yield from _leaves(f"{name}[{position}]", item, f"{path}[{position}]", unit)
    else:
        yield name, _said(name, value, unit), path


def _said(name: str, value: Any, unit: str) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    number = number and abs(value) < 2**63  # what is larger is written as it is
    if unit and number:
        return f"${value:.10f}".rstrip("0").rstrip(".")
    if number and name == "latency":
        return f"{value:g} s"
    if number and name == "created" and 0 < value < 10**11:
        return f"{datetime.fromtimestamp(value, UTC):%Y-%m-%d %H:%M:%S} UTC ({value})"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True)
class Token:
    text: str
    probability: str
    alternatives: list[tuple[str, str]]


@dataclass(frozen=True)
class Probabilities:
    choice: Choice
    tokens: list[Token]
    total: int


def probabilities(run: Run, everything: bool) -> list[Probabilities]:
    """The tokens of each choice that came with probabilities."""
    found = []
    for choice in run.choices.all():
        rows = choice.logprobs
        if rows:
            part = rows if everything else rows[:FIRST_TOKENS]
            found.append(Probabilities(choice, [_token(row) for row in part], len(rows)))
    return found


def _token(row: Mapping[str, Any]) -> Token:
    top = [
        (visible(each["token"], ESCAPES), percent(each["logprob"])) for each in row.get("top") or ()
    ]
    return Token(visible(row["token"], ESCAPES), percent(row["logprob"]), top)


def percent(logprob: float | None) -> str:
    if logprob is None:
        return "–"
    value = 0.0 if logprob < NEVER else 100 * math.exp(min(logprob, 0))
    return f"{value:.1f} %" if value >= 0.05 else f"{value:.2g} %"
