"""The document of the form: what the page posts, what a run becomes when it is opened in the form.

Its shape is told in `forms.py`, which reads it.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from playground import axes, branch, parameters
from playground.completion import CompletionRequest
from playground.outcome import ChoiceResult

# Paths that start as "true": with the path that must be on too ("" for none).
INITIAL = {"stream": "", "stream_options.include_usage": "stream"}
FOLLOWS = {"Pulze-Labels": "labels"}  # paths that take their value from a part of the document
AUTOMATIC = frozenset({*INITIAL, *FOLLOWS})  # nobody chose them, so nobody misses them
MESSAGE_PARTS = ("tool_calls", "tool_call_id", "name")


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
    headers = requests[0].own_headers
    document |= {
        "values": shared,
        "extra": _extra(requests[0]),
        "labels": list(requests[0].labels),
        "visibility": visibility,
        "headers": "\n".join(f"{name}: {headers[name]}" for name in headers),
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
    return as_template({**document, **_given(requests)})


def _extra(request: CompletionRequest) -> str:
    return json.dumps(dict(request.extra), indent=2) if request.extra else ""


def _given(requests: Sequence[CompletionRequest]) -> dict[str, Any]:
    """What the models were given, as the form holds it: the first of each kind."""
    texts = [request.prompt for request in requests if isinstance(request.prompt, str)]
    found: dict[str, Any] = {"prompt": next(filter(None, texts), "")}
    chats = [request.messages for request in requests if request.messages]
    if chats:
        found |= {"mode": "messages", "messages": [_message(each) for each in chats[0]]}
    lists = [each.prompt for each in requests if isinstance(each.prompt, list) and each.prompt]
    if lists and all(isinstance(each, str) for each in lists[0]):
        found |= {"mode": "list", "prompts": lists[0]}
    elif lists:
        found |= {"mode": "ids", "ids": json.dumps(lists[0])}
    return found


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
        text = branch.added(request, 0, text)
        return {**document, "mode": "text", "prompt": axes.escaped(prompt + text)}
    request, text = branch.in_one(request, text)
    calls = [{"type": "function", **call} for call in (choice.tool_calls if choice else [])]
    for call in calls:
        call.pop("index", None)
    answer = {"role": "assistant", "content": text} | ({"tool_calls": calls} if calls else {})
    replies = [
        {"role": "tool", "content": "", "tool_call_id": call.get("id", "")} for call in calls
    ]
    messages = [_message(message) for message in request.messages]
    asked = replies or [{"role": "user", "content": ""}]
    return {
        **document,
        "mode": "messages",
        "messages": _escaped([*messages, answer, *asked]),
        "extra": _extra(request),
    }


def text_of(request: CompletionRequest) -> str | None:
    """The text prompt of the form that gives this input; None where it is something else."""
    if request.operation != "chat":
        return axes.escaped(request.prompt) if isinstance(request.prompt, str) else None
    only = request.messages[0] if len(request.messages) == 1 else {}
    said = only.get("content")
    return axes.escaped(said) if only.get("role") == "user" and isinstance(said, str) else None


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
