"""The way back from “view code”: a pasted curl command or JSON body fills the form.

Nothing that could be a key is taken over, and no message repeats one.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playground.parameters import Api, Json, Kind, Support, TextList, for_api
from playground.pasted.command import BadPaste, Command, is_command, read_command

ENDINGS = {"/chat/completions": "chat", "/completions": "completions"}
SECRET = re.compile("auth|key|token|secret|cookie|password|provider-data", re.I)
LOGIN = re.compile(r"(bearer|basic|digest)\s|sk-|pk-", re.I)  # how a secret's value begins
OURS = re.compile(  # what a browser and curl say of themselves, or the connection sets
    "content-.*|accept.*|user-agent|host|connection|origin|referer|sec-.*|priority|pragma"
    "|cache-control|dnt|te|expect|transfer-encoding|upgrade.*|proxy-.*",
    re.I,
)
WORD = re.compile(r"[A-Za-z]+")
MESSAGE_PARTS = ("role", "content", "name", "tool_calls", "tool_call_id")
KEYS_STAY = "Keys are never taken over: the connection's own key is used."


@dataclass
class Pasted:
    """What was read, as parts of the compose document (`forms`).

    `changes`: operation and model, which belong to the column; `mode` with its prompt, prompts, ids
    or messages; values, extra and headers, which replace what the form held.
    """

    changes: dict[str, Any]
    notes: list[str] = field(default_factory=list)
    wrong: dict[str, str] = field(default_factory=dict)  # path: what its field says of the value
    base_url: str = ""  # "" where only a body was pasted; which connection has it, the caller finds

    @property
    def operation(self) -> str:
        return str(self.changes["operation"])


def read_pasted(text: str, provider: str = "local", dialect: str = "") -> Pasted:
    """Names and values as this provider's API takes them. BadPaste says what to paste instead."""
    text = text.strip("\ufeff \t\r\n")
    if is_command(text):
        command = read_command(text)
    elif text.startswith("{"):
        command = Command(body=text)
    else:
        raise BadPaste("Paste a curl command, or the JSON of a request that begins with {.")
    if not command.body.strip():
        raise BadPaste("The command has no JSON body: there is no -d, --data or --json in it.")
    try:
        body = Json("object").clean(command.body)
    except ValueError as error:
        raise BadPaste(f"The body cannot be read. {error}") from None
    base_url, by_path = _address(command.url)
    pasted = Pasted({"operation": _operation(body, by_path)}, base_url=base_url)
    pasted.notes += [f"It was sent to {base_url}."] if base_url else []
    api = Api(provider, dialect, pasted.operation)
    _read_input(body, pasted)
    _read_values(body, api, pasted)
    _read_headers(command, api, pasted)
    return pasted


def _address(url: str) -> tuple[str, str]:
    """The base URL without login and query, which may hold keys, and the path's operation."""
    if not url:
        return "", ""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        raise BadPaste("The command's address is not a web address.") from None
    path = parts.path.rstrip("/")
    ending = next((each for each in ENDINGS if path.endswith(each)), "")
    if "$" in parts.netloc:  # a variable of the shell
        return "", ENDINGS.get(ending, "")
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    return f"{parts.scheme}://{host}{port}{path.removesuffix(ending)}", ENDINGS.get(ending, "")


def _operation(body: Mapping[str, Any], by_path: str) -> str:
    """What the body has says it; the path only where it has both or neither."""
    if ("messages" in body) != ("prompt" in body):
        return "chat" if "messages" in body else "completions"
    return by_path or "completions"


def _read_input(body: dict[str, Any], pasted: Pasted) -> None:
    """Takes model, prompt and messages out of the body."""
    model, prompt, messages = (body.pop(name, None) for name in ("model", "prompt", "messages"))
    if model is not None and not isinstance(model, str):
        raise BadPaste("“model” must be text.")
    pasted.changes["model"] = model or ""
    if pasted.operation == "chat":
        pasted.changes |= {"mode": "messages", "messages": _messages(messages, pasted.notes)}
        unused = ["prompt"] if prompt is not None else []
    else:
        pasted.changes |= _prompt("" if prompt is None else prompt)
        unused = ["messages"] if messages is not None else []
    pasted.notes += [f"“{each}” is left out: this request does not use it." for each in unused]


def _messages(raw: Any, notes: list[str]) -> list[dict[str, Any]]:
    if not isinstance(raw, list) or not all(isinstance(each, dict) for each in raw):
        raise BadPaste("“messages” must be a list of objects with a role and a content.")
    others = dict.fromkeys(name for each in raw for name in each if name not in MESSAGE_PARTS)
    if others:
        notes.append(f"Left out of the messages: {', '.join(others)}.")
    kept = [{name: each[name] for name in MESSAGE_PARTS if name in each} for each in raw]
    return [each if each.get("content") is not None else {**each, "content": ""} for each in kept]


def _prompt(raw: Any) -> dict[str, Any]:
    if isinstance(raw, str):
        return {"mode": "text", "prompt": raw}
    if not isinstance(raw, list):
        raise BadPaste("“prompt” must be text or a list.")
    if raw and all(isinstance(each, str) for each in raw):
        return {"mode": "list", "prompts": raw}
    return {"mode": "ids", "ids": json.dumps(raw)}


def _read_values(body: Mapping[str, Any], api: Api, pasted: Pasted) -> None:
    """Rows of the table become values; what a row would change, or has no row, stays extra."""
    rows = {s.name: (row.path, s) for row, s in for_api(api) if not row.header}
    values: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for name, value in body.items():
        found = _values(name, value, rows, pasted.notes)
        if found is None and name in rows:
            found = _wrong(*rows[name], value, pasted)
        if found is None:
            extra[name] = value
        else:
            values |= found
    if others := [name for name in extra if name not in rows]:
        named = ", ".join(others)
        pasted.notes.append(f"Without a field of their own, in the extra body: {named}.")
    if unfit := [name for name in extra if name in rows]:
        named = ", ".join(unfit)
        pasted.notes.append(
            f"With values that their fields do not take, in the extra body: {named}."
        )
    pasted.changes |= {"values": values, "extra": Json("object").text(extra) if extra else ""}


def _values(
    name: str, value: Any, rows: Mapping[str, tuple[str, Support]], notes: list[str]
) -> dict[str, Any] | None:
    """{path: raw} that gives exactly this value again; None where nothing does."""
    if name in rows:
        path, support = rows[name]
        kind = support.kind
        if isinstance(value, str) and value and isinstance(kind, TextList) and kind.single:
            notes.append(f"“{name}” was one text; it is sent as a list with one text in it.")
            value = [value]
        raw = _raw(kind, value)
        return None if raw is None else {path: raw}
    below = {each: row for each, row in rows.items() if each.startswith(f"{name}.")}
    if not below or not isinstance(value, dict) or not value:
        return None
    found: dict[str, Any] = {}
    for member, inner in value.items():
        values = _values(f"{name}.{member}", inner, below, notes)
        if values is None:
            return None
        found |= values
    return found


def _wrong(path: str, support: Support, value: Any, pasted: Pasted) -> dict[str, Any] | None:
    """A word where a number belongs stands in the field, which says so.

    Other texts may be a list of values there, or a number that was sent as text.
    """
    if support.kind.widget != "number" or not isinstance(value, str) or not WORD.fullmatch(value):
        return None
    try:
        support.kind.clean(value)
    except ValueError as error:
        pasted.wrong[path] = str(error)
    pasted.notes.append(
        f"{path}: “{value[:40]}” is not a number. It stands in its field; correct it there."
    )
    return {path: value}


def _raw(kind: Kind, value: Any) -> Any:
    """What is typed for this value, or else the value itself; None if the kind changes it."""
    for make in (kind.text, lambda same: same):
        try:
            raw = make(value)
            if json.dumps(kind.clean(raw)) == json.dumps(value):
                return raw
        except (TypeError, ValueError, AttributeError):
            continue
    return None


def _read_headers(command: Command, api: Api, pasted: Pasted) -> None:
    rows = {s.name: (row.path, s) for row, s in for_api(api) if row.header}
    heads = {name.split(".")[0].lower(): name.split(".")[0] for name in rows}
    secrets = command.secrets or "?" in command.url or "@" in command.url
    own: list[str] = []
    for name, text in command.headers:
        if SECRET.search(name) or LOGIN.match(text):
            secrets = True
        elif name.lower() in heads:
            found = _header(heads[name.lower()], text, rows, pasted.notes)
            pasted.changes["values"] |= found
        elif not OURS.fullmatch(name):
            own.append(f"{name}: {text}")
    pasted.changes["headers"] = "\n".join(own)
    pasted.notes += [KEYS_STAY] if secrets else []


def _header(
    name: str, text: str, rows: Mapping[str, tuple[str, Support]], notes: list[str]
) -> dict[str, Any]:
    try:
        found = _values(name, Json("any").clean(text), rows, notes)
    except ValueError:
        found = None
    if found is None:
        notes.append(f"The header {name} is not taken over: its value has no field here.")
    return found or {}


__all__ = ["BadPaste", "Pasted", "read_pasted"]
