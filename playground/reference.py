"""The table in words: the reference of all parameters, a page and `docs/parameters.md`."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from playground import parameters
from playground.parameters import (
    OPERATIONS,
    Api,
    Either,
    Float,
    Integer,
    Json,
    Kind,
    Member,
    Parameter,
    Support,
    TokenBias,
)
from playground.providers import PROVIDERS

OTHER = "other"  # the dialect of a local backend that is none of the known ones
LOCAL_DIALECTS = (*dict.fromkeys(api.dialect for api in parameters.LOCAL), OTHER)


@dataclass(frozen=True)
class Row:
    """How one backend takes a parameter; texts, "" where nothing is documented."""

    title: str  # of the backend
    operations: tuple[str, ...]
    status: str
    name: str
    types: str
    null: str  # "yes", "no"
    bounds: str
    default: str
    note: str
    members: tuple[str, ...]  # what is documented of parts of a JSON value
    sources: tuple[str, ...]

    @property
    def where(self) -> str:
        return ", ".join(self.operations)


@dataclass(frozen=True)
class Entry:
    """One parameter and every backend; `missing`: those that it is not sent to."""

    path: str
    label: str
    help: str
    group: str
    header: bool
    rows: tuple[Row, ...]
    missing: tuple[str, ...]

    def matches(self, query: str) -> bool:
        """Whether every word of the query is somewhere in it."""
        text = self._text()
        return all(word in text for word in query.casefold().split())

    def _text(self) -> str:
        found = [self.path, self.label, self.help, self.group, *self.missing]
        found += ["header"] if self.header else []
        for row in self.rows:
            found += [row.title, row.where, row.status, row.name, row.types, row.bounds]
            found += [row.default, row.note, *row.members, *row.sources]
        return " ".join(found).casefold()


def backends() -> list[tuple[str, str]]:
    """(provider, dialect) of everything a request can go to."""
    found = []
    for slug in PROVIDERS:
        found += [(slug, dialect) for dialect in (LOCAL_DIALECTS if slug == "local" else ("",))]
    return found


def title(provider: str, dialect: str = "") -> str:
    if dialect == OTHER:
        return "Other local servers"
    label = PROVIDERS[provider].label if provider in PROVIDERS else provider
    return parameters.TITLES.get(dialect or provider, label)


def entries() -> list[Entry]:
    """In form order; computed each time, because rows can be added at run time."""
    order = {group: number for number, group in enumerate(parameters.GROUPS)}
    found = [_entry(each) for each in parameters.PARAMETERS]
    return sorted(found, key=lambda entry: order.get(entry.group, len(order)))


def groups(found: list[Entry]) -> list[tuple[str, list[Entry]]]:
    return [(name, list(each)) for name, each in groupby(found, key=lambda entry: entry.group)]


def _entry(parameter: Parameter) -> Entry:
    rows: list[Row] = []
    missing: list[str] = []
    for provider, dialect in backends():
        apis = [Api(provider, dialect, operation) for operation in OPERATIONS]
        supports = {api: parameter.support(api) for api in apis}
        rows += _merged([_row(api, each) for api, each in supports.items() if each])
        without = [api.operation for api, each in supports.items() if each is None]
        if without:
            where = "" if len(without) == len(OPERATIONS) else f" {without[0]}"
            missing.append(title(provider, dialect) + where)
    return Entry(
        path=parameter.path,
        label=parameter.label,
        help=parameter.help,
        group=parameter.group,
        header=parameter.header,
        rows=tuple(rows),
        missing=tuple(missing),
    )


def _merged(rows: list[Row]) -> list[Row]:
    """One row where both operations say the same."""
    if len(rows) == 2 and replace(rows[1], operations=(), sources=()) == replace(
        rows[0], operations=(), sources=()
    ):
        sources = tuple(dict.fromkeys(rows[0].sources + rows[1].sources))
        return [replace(rows[0], operations=OPERATIONS, sources=sources)]
    return rows


def _row(api: Api, support: Support) -> Row:
    kind = support.kind
    return Row(
        title=title(api.provider, api.dialect),
        operations=(api.operation,),
        status=support.status.replace("_", " "),
        name=support.name,
        types=" or ".join(kind.types),
        null={True: "yes", False: "no", None: ""}[support.nullable],
        bounds=bounds(kind),
        default="" if support.default is None else json.dumps(support.default, ensure_ascii=False),
        note=" ".join(filter(None, [support.note, _unset(support)])),
        members=tuple(_member(each) for each in _members(kind)),
        sources=(support.source,) if support.source else (),
    )


def _unset(support: Support) -> str:
    return f"Without it: {support.unset}." if support.unset else ""


def bounds(kind: Kind) -> str:
    """`0 to 1`, `above 0`, `one of: auto, none`; of several kinds each."""
    if isinstance(kind, Either):
        return "; ".join(dict.fromkeys(filter(None, map(bounds, kind.kinds))))
    if isinstance(kind, TokenBias):
        return f"each {kind.minimum} to {kind.maximum}"
    if isinstance(kind, Integer | Float):
        return _range(kind.minimum, kind.maximum, getattr(kind, "exclusive_minimum", False))
    choices = getattr(kind, "choices", ())
    return f"one of: {', '.join(choices)}" if choices else ""


def _range(low: float | None, high: float | None, above: bool = False) -> str:
    if low is None:
        return "" if high is None else f"at most {high}"
    if high is None:
        return f"above {low}" if above else f"at least {low}"
    return f"above {low}, at most {high}" if above else f"{low} to {high}"


def _members(kind: Kind) -> Iterator[Member]:
    if isinstance(kind, Either):
        for each in kind.kinds:
            yield from _members(each)
    elif isinstance(kind, Json):
        yield from kind.members


def _member(member: Member) -> str:
    """`tools[].type: string, one of: function`."""
    said = [" or ".join(member.types)]
    said += ["required"] if member.required else []
    said += {True: ["or null"], False: ["not null"], None: []}[member.nullable]
    said += [_range(member.minimum, member.maximum)]
    said += [f"one of: {', '.join(member.enum)}"] if member.enum else []
    said += [f"default {json.dumps(member.default)}"] if member.default is not None else []
    said += [member.note.rstrip(".")]
    return f"{member.name}: {', '.join(filter(None, said))}"


INTRO = """\
# Parameters

Written by `manage.py parameters --write` from `playground/parameters.py`; a test compares the two.

A parameter is sent only where it is set; a default is what the backend uses otherwise. Bounds
are the documented ones: the form says when a value lies outside, and “Send anyway” sends it.

- **accepted**: part of this API, and of OpenAI's.
- **extension**: part of this API only.
- **coming soon**: documented as not yet available; sent when it is set.
- **forwarded**: not known to the service, which passes it on to the model server.
- **ignored**, **refused**: what the service does with it; the form warns, and sends it.
- **unestablished**: nobody has written down whether this server takes it; sent when it is set.
"""
HEAD = "| Backend | Operation | Status | Sent as | Type | Null | Bounds | Default | Note | Source |"


def markdown() -> str:
    lines = [INTRO]
    for group, found in groups(entries()):
        lines.append(f"## {group}\n")
        for entry in found:
            lines += _section(entry)
    return "\n".join(lines).rstrip() + "\n"


def _section(entry: Entry) -> list[str]:
    lines = [f"### `{entry.path}`\n", f"{entry.label}. {entry.help}\n"]
    lines += ["Travels as an HTTP header, in JSON.\n"] if entry.header else []
    lines += [HEAD, "|" + " --- |" * (HEAD.count("|") - 1), *map(_line, entry.rows), ""]
    members = dict.fromkeys(
        f"- {row.title}, {row.where}: `{member}`" for row in entry.rows for member in row.members
    )
    lines += ["Documented parts:\n", *members, ""] if members else []
    lines += [f"Not sent to: {', '.join(entry.missing)}.\n"] if entry.missing else []
    return lines


def _line(row: Row) -> str:
    name, types, default = (
        f"`{text}`" if text else "" for text in (row.name, row.types, row.default)
    )
    cells = [row.title, row.where, row.status, name, types, row.null, row.bounds, default]
    cells += [row.note, "; ".join(row.sources)]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
