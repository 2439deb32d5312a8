"""The parameter panel as data: which rows, which controls, what each API does with them.

Computed from the table each time, because rows can be registered at run time. No HTML here, and
every number is text already, so that no template can localise it.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from playground import parameters
from playground.costs import LENGTHS
from playground.documents import FOLLOWS, INITIAL
from playground.parameters import Api, Either, Json, Kind, Option, Parameter, Status, Support

OPEN_GROUPS = ("Sampling", "Length & stop", "Output")
ESCAPES = "One per line. Write \\n for a line break, \\t for a tab, \\x20 for a space, \\\\ for \\."
EXTRA = "extra_body"  # the path of the free JSON box, which is no row of the table
HEADERS = "headers"  # nor is the box of a member's own headers


@dataclass(frozen=True)
class Control:
    """One way to type a value; `low`, `high` and `step` are texts, "" where there is no slider."""

    widget: str  # number, flag, option, text, list, bias, choice, json
    multiline: bool = False
    low: str = ""
    high: str = ""
    step: str = ""
    whole: bool = False
    choices: tuple[str, ...] = ()
    open: bool = True  # other values than the choices may be typed
    shape: str = ""  # of JSON: object, array or any


@dataclass(frozen=True)
class Field:
    """One row of the panel."""

    path: str
    dom_id: str
    label: str
    help: str
    controls: tuple[Control, ...]  # the first is the general one
    initial: str = ""  # the value that a new document starts with
    initial_with: str = ""  # only together with this path, and only where the API knows it
    follows: str = ""  # the part of the document that gives the value until somebody touches it
    unless: str = ""  # paths that say the same, with blanks between
    example: str = ""

    @property
    def escapes(self) -> str:
        return ESCAPES if any(control.widget == "list" for control in self.controls) else ""


@dataclass(frozen=True)
class Group:
    title: str
    dom_id: str
    open: bool
    fields: tuple[Field, ...]


def slug(path: str) -> str:
    """Part of an element's id."""
    return re.sub("[^A-Za-z0-9_]+", "-", path)


def groups() -> list[Group]:
    """All rows in form order, with the boxes of headers and free JSON at the end."""
    titles = dict.fromkeys((*parameters.GROUPS, *(each.group for each in parameters.PARAMETERS)))
    found = []
    for title in titles:
        fields = [_field(each) for each in parameters.PARAMETERS if each.group == title]
        if title == parameters.GROUPS[-1]:
            fields += [_headers(), _extra()]
        if fields:
            found.append(Group(title, f"g-{slug(title)}", title in OPEN_GROUPS, tuple(fields)))
    return found


def _field(each: Parameter) -> Field:
    kinds: dict[str, list[Kind]] = {}
    for kind in (each.kind, *(support.kind for support in each.supports.values())):
        kinds.setdefault(widget_of(kind), []).append(kind)
    controls = [_control(widget, found) for widget, found in kinds.items()]
    if len(controls) > 1 and "text" not in kinds:  # where the columns' APIs want different ones
        controls.append(Control("text"))
    return Field(
        path=each.path,
        dom_id=f"p-{slug(each.path)}",
        label=each.label,
        help=each.help,
        controls=tuple(controls),
        initial="true" if each.path in INITIAL else "",
        initial_with=INITIAL.get(each.path, ""),
        follows=FOLLOWS.get(each.path, ""),
        unless=" ".join(path for path in LENGTHS if path != each.path and each.path in LENGTHS),
        example=_example(each.kind),
    )


def widget_of(kind: Kind) -> str:
    """The editor of a kind; what takes two types gets the one that shows both."""
    if isinstance(kind, Either):
        if any(isinstance(each, parameters.TokenBias) for each in kind.kinds):
            return "bias"
        if any(isinstance(each, Option) for each in kind.kinds):
            return "choice"
    return kind.widget


def _example(kind: Kind) -> str:
    if isinstance(kind, Json):
        return {"array": "[ ]", "object": "{ }"}.get(kind.shape, "")
    return '{"50256": -100}' if isinstance(kind, parameters.TokenBias) else ""


def _extra() -> Field:
    return Field(
        path=EXTRA,
        dom_id=f"p-{EXTRA}",
        label="Extra body",
        help="Any further keys for the body of the request, as one JSON object.",
        controls=(Control("json", multiline=True, shape="object"),),
        example='{"key": "value"}',
    )


def _headers() -> Field:
    return Field(
        path=HEADERS,
        dom_id=f"p-{HEADERS}",
        label="Headers",
        help=(
            "Further headers of the request, one “Name: value” a line. Refused are Authorization,"
            " Cookie, Host and others that the connection sets, and names with key, token or"
            " secret."
        ),
        controls=(Control("text", multiline=True),),
        example="X-Team: evals",
    )


def _control(widget: str, kinds: Sequence[Kind]) -> Control:
    kind = kinds[0]
    low, high, step = _slider(kind)
    each = [_choices(found) for found in kinds]
    return Control(
        widget=widget,
        multiline=any(getattr(found, "multiline", False) for found in kinds),
        low=low,
        high=high,
        step=step,
        whole=isinstance(kind, parameters.Integer),
        choices=tuple(dict.fromkeys(choice for choices in each for choice in choices)),
        # The general kind's empty list says nothing; an API's empty list says that any text goes.
        open=any(not choices for choices in each[1:] or each),
        shape=kind.shape if isinstance(kind, Json) else "",
    )


def _choices(kind: Kind) -> tuple[str, ...]:
    inner = kind.kinds if isinstance(kind, Either) else ()
    return getattr(kind, "choices", ()) or tuple(c for each in inner for c in _choices(each))


def _slider(kind: Kind) -> tuple[str, str, str]:
    if not isinstance(kind, parameters.Integer | parameters.Float):
        return "", "", ""
    low, high = kind.slider or (kind.minimum, kind.maximum)
    if low is None or high is None:
        return "", "", ""
    return str(low), str(high), "1" if isinstance(kind, parameters.Integer) else str(kind.step)


def support_map(apis: Iterable[Api] | None = None) -> dict[str, dict[str, dict[str, Any]]]:
    """{path: {api key: {status, name, note, default, …}}}; keys without a value are left out."""
    wanted = list(dict.fromkeys(parameters.ESTABLISHED if apis is None else apis))
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for each in parameters.PARAMETERS:
        supports = ((api.key, each.support(api)) for api in wanted)
        found[each.path] = {key: _entry(support) for key, support in supports if support}
    for name, widget in ((EXTRA, "json"), (HEADERS, "text")):
        entry = {"status": Status.ACCEPTED.value, "name": name, "widget": widget}
        found[name] = {api.key: dict(entry) for api in wanted}
    return found


def _entry(support: Support) -> dict[str, Any]:
    low, high, step = _slider(support.kind)
    entry = {
        "status": support.status.value,
        "name": support.name,
        "note": support.note,
        "default": _default(support),
        "unset": support.unset,
        "minimum": getattr(support.kind, "minimum", None),
        "maximum": getattr(support.kind, "maximum", None),
        "above": getattr(support.kind, "exclusive_minimum", None) or None,
        "low": low,
        "high": high,
        "step": step,
        "widget": widget_of(support.kind),
        "choices": list(_choices(support.kind)),
    }
    return {key: value for key, value in entry.items() if value not in (None, "", [])}


def _default(support: Support) -> str | None:
    value = support.default
    if value is None or value == [] or value == "":
        return None
    try:
        return support.kind.text(value)
    except (TypeError, ValueError):
        return json.dumps(value)


def title(provider: str, dialect: str = "") -> str:
    """What an API is called in sentences: `vLLM`, `Pulze`."""
    return parameters.TITLES.get(dialect or provider, "this backend" if dialect else provider)
