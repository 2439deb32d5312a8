"""The parameter panel as data: which rows, which controls, what each API does with them.

Computed from the table each time, because rows can be registered at run time. No HTML here, and
every number is text already, so that no template can localise it.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from playground import axes, parameters
from playground.completion import ChoiceResult, CompletionRequest
from playground.parameters import Api, Either, Json, Kind, Option, Parameter, Status, Support

# Paths that start as "true": with the path that must be on too ("" for none).
INITIAL = {"stream": "", "stream_options.include_usage": "stream"}
FOLLOWS = {"Pulze-Labels": "labels"}  # paths that take their value from a part of the document
AUTOMATIC = frozenset({*INITIAL, *FOLLOWS})  # nobody chose them, so nobody misses them
MESSAGE_PARTS = ("tool_calls", "tool_call_id", "name")
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


# --- What each API does with a row ---------------------------------------------------------


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


# --- Documents -----------------------------------------------------------------------------


def new_document(column: Mapping[str, Any] | None) -> dict[str, Any]:
    """What an empty form holds; `column` is the first column, None where there is no backend."""
    return {
        "prompt": "",
        "mode": "text",
        "messages": [{"role": "user", "content": ""}],
        "prompts": [""],
        "ids": "",
        "headers": "",
        "values": dict.fromkeys(INITIAL, "true"),
        "extra": "",
        "labels": [],
        "visibility": "team",
        "variables": {},
        "table": {},
        "by_n": False,
        "columns": [{"values": {}, **column}] if column else [],
        "force": False,
    }


def restored(document: Any) -> dict[str, Any] | None:
    """A stored document with every part of the type that the page expects; None if it is none."""
    if not isinstance(document, dict) or not isinstance(document.get("columns"), list):
        return None
    fresh = {**new_document(None), "values": {}}
    kept: dict[str, Any] = {
        key: document[key]
        for key, value in fresh.items()
        if isinstance(document.get(key), type(value))
    }
    columns = [each for each in document["columns"] if isinstance(each, dict)]
    messages = kept.get("messages", [])
    return {
        **fresh,
        **kept,
        "columns": [{**each, "values": _mapping(each.get("values"))} for each in columns],
        "messages": [_message(each) for each in messages if isinstance(each, dict)],
        "prompts": [str(each) for each in kept.get("prompts", [])] or [""],
        "labels": [str(each) for each in kept.get("labels", [])],
        "force": False,
    }


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def document_of(
    runs: Sequence[tuple[int | None, CompletionRequest]], visibility: str = "team"
) -> dict[str, Any]:
    """A document that gives these requests again: [(id of the connection, request)…].

    What all requests share stands in `values`, the rest in the columns.
    """
    document = new_document(None)
    requests = [request for _, request in runs]
    if not requests:
        return document
    typed = [_typed(request) for request in requests]
    shared = {path: raw for path, raw in typed[0].items() if all(path in each for each in typed)}
    chats = [request for request in requests if request.messages]
    texts = [request.prompt for request in requests if isinstance(request.prompt, str)]
    document |= {
        "values": shared,
        "extra": json.dumps(dict(requests[0].extra), indent=2) if requests[0].extra else "",
        "labels": list(requests[0].labels),
        "visibility": visibility,
        "prompt": next(filter(None, texts), ""),
        "columns": [
            {
                "connection": connection,
                "operation": request.operation,
                "model": request.model,
                "values": {p: raw for p, raw in own.items() if shared.get(p) != raw},
            }
            for (connection, request), own in zip(runs, typed, strict=True)
        ],
    }
    if chats:
        document |= {"mode": "messages", "messages": [_message(m) for m in chats[0].messages]}
    lists = [r.prompt for r in requests if isinstance(r.prompt, list) and r.prompt]
    if lists and all(isinstance(each, str) for each in lists[0]):
        document |= {"mode": "list", "prompts": lists[0]}
    elif lists:
        document |= {"mode": "ids", "ids": json.dumps(lists[0])}
    headers = requests[0].own_headers
    listed = "\n".join(f"{name}: {headers[name]}" for name in headers)
    return as_template({**document, "headers": listed})


def as_template(document: dict[str, Any]) -> dict[str, Any]:
    """The same input with `{{name}}` escaped: what was sent as it stands is sent so again."""
    found = dict(document)
    for name in ("prompt", "prompts", "messages"):
        if name in found:
            found[name] = _escaped(found[name])
    return found


def _escaped(value: Any) -> Any:
    """Every text that may be a template: prompts, and of messages the content and its parts."""
    if isinstance(value, str):
        return axes.escaped(value)
    if isinstance(value, list):
        return [_escaped(each) for each in value]
    if isinstance(value, dict):
        return {
            k: _escaped(each) if k in ("content", "text") else each for k, each in value.items()
        }
    return value


def continued(
    document: dict[str, Any], request: CompletionRequest, choice: ChoiceResult | None
) -> dict[str, Any]:
    """The document with the answer appended, to go on from there."""
    text = choice.text if choice else ""
    if request.operation != "chat":
        prompt = request.prompt if isinstance(request.prompt, str) else ""
        return {**document, "mode": "text", "prompt": axes.escaped(prompt + text)}
    calls = [{"type": "function", **call} for call in (choice.tool_calls if choice else [])]
    for call in calls:
        call.pop("index", None)
    answer = {"role": "assistant", "content": text} | ({"tool_calls": calls} if calls else {})
    replies = [
        {"role": "tool", "content": "", "tool_call_id": call.get("id", "")} for call in calls
    ]
    messages = [_message(message) for message in request.messages]
    asked = replies or [{"role": "user", "content": ""}]
    return {**document, "mode": "messages", "messages": _escaped([*messages, answer, *asked])}


def _typed(request: CompletionRequest) -> dict[str, str]:
    found = {}
    for path, value in request.values.items():
        try:
            support = parameters.parameter(path).support(request.api)
            kind = support.kind if support else parameters.parameter(path).kind
            found[path] = kind.text(value)
        except (KeyError, TypeError, ValueError):
            found[path] = value if isinstance(value, str) else json.dumps(value)
    return found


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    if content is None:
        content = ""
    said = content if isinstance(content, str | list) else json.dumps(content)
    kept = {name: message[name] for name in MESSAGE_PARTS if message.get(name)}
    return {"role": str(message.get("role", "user")), "content": said, **kept}
