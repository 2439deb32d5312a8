"""What the model is given: text, prompts, token ids or messages; and a member's own headers.

Each reader returns its value and adds what is wrong to a list of problems.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from playground.parameters import Api, Json, prompt_forms

MOST_PROMPTS = 1000
LONGEST_ROLE = 40  # characters
MODES = ("text", "messages", "list", "ids")

# Headers that a member may not set: the connection's own, and those that belong to one hop.
FORBIDDEN = frozenset(
    {"accept", "accept-encoding", "authorization", "connection", "content-encoding"}
    | {"content-length", "content-type", "cookie", "expect", "host", "keep-alive", "set-cookie"}
    | {"te", "trailer", "transfer-encoding", "upgrade", "x-ogx-provider-data"}
)
SECRET = re.compile("key|token|secret|password", re.IGNORECASE)
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


@dataclass(frozen=True)
class Problem:
    """Why a column cannot be sent; `path` is the field. `bound`: "Send anyway" overrides it."""

    path: str
    message: str
    bound: bool = False


@dataclass(frozen=True)
class Given:
    """The parts of the document that hold the input; `mode` says which of them counts."""

    prompt: Any = ""
    mode: str = "text"
    messages: Any = ()
    prompts: Any = ()
    ids: Any = ""

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Given":
        mode = document.get("mode")
        return cls(
            prompt=document.get("prompt", ""),
            mode=mode if mode in MODES else "text",
            messages=document.get("messages"),
            prompts=document.get("prompts"),
            ids=document.get("ids", ""),
        )


Input = tuple[tuple[Mapping[str, Any], ...], Any]  # (messages, prompt)


def read_input(given: Given, api: Api, problems: list[Problem], force: bool) -> Input:
    """For the API's operation; a text prompt becomes one user message in chat."""
    if given.mode == "messages":
        return _messages(given.messages, api, problems), ""
    if given.mode == "text":
        if not isinstance(given.prompt, str):
            problems.append(Problem("prompt", "The prompt must be text."))
        elif api.operation == "chat":
            return ({"role": "user", "content": given.prompt},), ""
        return (), given.prompt
    if api.operation == "chat":
        what = "A list of prompts" if given.mode == "list" else "Token ids"
        problems.append(Problem("operation", f"{what} cannot go to chat; choose completions here."))
        return (), ""
    if given.mode == "list":
        prompt, form = _prompts(given.prompts, problems), "list"
    else:
        prompt, form = _ids(given.ids, problems), "ids"
    if form not in prompt_forms(api) and not force:
        what = "a list of prompts" if form == "list" else "token ids"
        message = f"This API takes no {what}. Write a text prompt, or choose another connection."
        problems.append(Problem("operation", message, bound=True))
    return (), prompt


def _prompts(raw: Any, problems: list[Problem]) -> list[str]:
    prompts = raw if isinstance(raw, list) else []
    if not prompts or not all(isinstance(each, str) for each in prompts):
        problems.append(Problem("prompts", "Write at least one prompt."))
        return []
    if len(prompts) > MOST_PROMPTS:
        problems.append(Problem("prompts", f"At most {MOST_PROMPTS} prompts go into one request."))
    return prompts


def _ids(raw: Any, problems: list[Problem]) -> list[Any]:
    """Numbers with blanks or commas between; one list a line, or JSON."""
    message = "Write whole numbers with blanks or commas between, one prompt a line."
    try:
        found = raw if isinstance(raw, list) else _parsed_ids(str(raw))
    except ValueError:
        found = []
    lists = found if found and all(isinstance(each, list) for each in found) else [found]
    numbers = [number for each in lists for number in each]
    if not all(lists) or not numbers or not all(_is_id(number) for number in numbers):
        problems.append(Problem("ids", message))
        return []
    return found


def _parsed_ids(text: str) -> list[Any]:
    text = text.strip()
    if text.startswith("["):
        found = json.loads(text)
        return found if isinstance(found, list) else []
    lines = [
        [int(number) for number in re.split(r"[\s,]+", line.strip().strip(","))]
        for line in text.splitlines()
        if line.strip()
    ]
    return lines[0] if len(lines) == 1 else lines


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def _messages(raw: Any, api: Api, problems: list[Problem]) -> tuple[Mapping[str, Any], ...]:
    if api.operation != "chat":
        message = "Messages need Chat. Choose Chat for this column, or write a text prompt."
        problems.append(Problem("operation", message))
        return ()
    rows = raw if isinstance(raw, list) else []
    if not rows or not all(_is_message(row) for row in rows):
        problems.append(Problem("messages", "Each message has a role and a text; add one."))
        return ()
    return tuple(_message(row, position, problems) for position, row in enumerate(rows, 1))


def _is_message(row: Any) -> bool:
    return (
        isinstance(row, Mapping)
        and isinstance(row.get("content"), str | list)
        and isinstance(row.get("role"), str)
        and 0 < len(row["role"]) <= LONGEST_ROLE
    )


def _message(row: Mapping[str, Any], position: int, problems: list[Problem]) -> dict[str, Any]:
    """Role and content, and what a tool call needs, if it is there."""
    message: dict[str, Any] = {"role": row["role"], "content": row["content"]}
    if calls := row.get("tool_calls"):
        try:
            message["tool_calls"] = Json("array", items="object").clean(calls)
        except ValueError as error:
            problems.append(Problem("messages", f"Message {position}, tool calls: {error}"))
        message["content"] = row["content"] or None
    for name in ("tool_call_id", "name"):
        if row.get(name):
            message[name] = str(row[name])
    return message


def read_headers(raw: Any, problems: list[Problem]) -> dict[str, str]:
    """A member's own headers, one `Name: value` a line."""
    headers: dict[str, str] = {}
    for line in str(raw or "").splitlines():
        if not line.strip():
            continue
        name, colon, value = line.partition(":")
        name, value = name.strip(), value.strip()
        if reason := _header_problem(name, colon, value):
            problems.append(Problem("headers", reason))
        else:
            headers[name] = value
    return headers


def _header_problem(name: str, colon: str, value: str) -> str:
    if not colon or not HEADER_NAME.fullmatch(name):
        return f"Write a header as “Name: value”, one a line: “{name[:40]}”."
    if name.lower() in FORBIDDEN or name.lower().startswith("proxy-"):
        return f"{name} is set by the playground or by the connection and cannot be set here."
    if SECRET.search(name):
        return f"{name} looks like a secret. Keys belong to the connection; ask an admin."
    if not value.isascii() or not value.isprintable():
        return f"The value of {name} can only have plain ASCII characters."
    return ""
