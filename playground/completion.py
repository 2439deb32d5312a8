"""Value types of a completion: what is asked for, the events that come back.

Standard library only, besides `parameters`. Nothing here knows a provider, a database or HTTP.
"""

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from playground.parameters import Api, for_api

Json = Any  # a value that json.loads can return


class RunStatus(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"

    @property
    def live(self) -> bool:
        return self in (RunStatus.QUEUED, RunStatus.RUNNING)


class ErrorKind(StrEnum):
    """Why a run failed. The first six come with an HTTP status."""

    AUTH = "auth"
    RATE_LIMIT = "rate_limit"
    BAD_REQUEST = "bad_request"
    NOT_FOUND = "not_found"
    UNAVAILABLE = "unavailable"
    REDIRECTED = "redirected"
    CONNECTION = "connection"
    TIMEOUT = "timeout"
    BAD_CONTENT = "bad_content"
    UPSTREAM_ERROR = "upstream_error"
    TRUNCATED = "truncated"
    BAD_JSON = "bad_json"
    LIMIT = "limit"  # ours: never sent, a limit was set or lowered while it waited
    INTERNAL = "internal"  # ours: the run could not be carried out or saved


def storable(text: str) -> str:
    """Surrogate pairs joined, lone halves and NUL as U+FFFD: what every database takes."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", "\ufffd") if "\0" in text else text


def merged(*headers: Mapping[str, str]) -> dict[str, str]:
    """Of headers with one name, in whatever case it is written, the last."""
    found = {name.lower(): (name, value) for each in headers for name, value in each.items()}
    return dict(found.values())


@dataclass(frozen=True)
class CompletionRequest:
    """One request to one model. A path that is not in `values` is not sent; 0, False and "" are."""

    provider: str
    operation: str  # "completions" or "chat"
    model: str
    dialect: str = ""
    prompt: Json = ""  # text, list of texts, token ids, or list of token-id lists
    messages: tuple[Mapping[str, Json], ...] = ()  # chat
    values: Mapping[str, Json] = field(default_factory=dict)  # {path of the table: value}
    extra: Mapping[str, Json] = field(default_factory=dict)  # any further keys of the body
    own_headers: Mapping[str, str] = field(default_factory=dict)  # a member's, beside the table's
    labels: tuple[str, ...] = ()

    @property
    def api(self) -> Api:
        return Api(self.provider, self.dialect, self.operation)

    def body(self) -> dict[str, Json]:
        """The JSON body as it is sent; renamed where this API has another name."""
        body: dict[str, Json] = {"model": self.model} if self.model else {}
        if self.operation == "chat":
            body["messages"] = [dict(message) for message in self.messages]
        else:
            body["prompt"] = self.prompt
        for parameter, support in for_api(self.api):
            if parameter.path in self.values and not parameter.header:
                _put(body, support.name, copy.deepcopy(self.values[parameter.path]))
        return {**body, **copy.deepcopy(dict(self.extra))}

    def headers(self) -> dict[str, str]:
        """The rows of the table that travel as headers (one JSON text each, ASCII only), and a
        member's own."""
        found: dict[str, Json] = {}
        for parameter, support in for_api(self.api):
            if parameter.path in self.values and parameter.header:
                _put(found, support.name, self.values[parameter.path])
        return merged({name: json.dumps(value) for name, value in found.items()}, self.own_headers)

    def not_sent(self) -> list[str]:
        """Paths that are set but that this API has no row for."""
        known = {parameter.path for parameter, _ in for_api(self.api)}
        return [path for path in self.values if path not in known]

    @property
    def streams(self) -> bool:
        return self.body().get("stream") is True

    def prompt_text(self) -> str:
        """What the reader knows the request by: the prompt, or what the messages say."""
        if self.operation == "chat":
            return "\n".join(content_text(message.get("content")) for message in self.messages)
        if isinstance(self.prompt, str):
            return self.prompt
        return "\n".join(p if isinstance(p, str) else json.dumps(p) for p in self.prompt)

    def name(self) -> str:
        """What a list calls the request by: the prompt, or the last message of the user."""
        if self.operation != "chat":
            return self.prompt_text()
        return next((text for text in told_apart_by(self.messages) if text.strip()), "")

    def to_json(self) -> str:
        return json.dumps(
            {
                "provider": self.provider,
                "dialect": self.dialect,
                "operation": self.operation,
                "model": self.model,
                "prompt": self.prompt,
                "messages": [dict(message) for message in self.messages],
                "values": dict(self.values),
                "extra": dict(self.extra),
                "own_headers": dict(self.own_headers),
                "labels": list(self.labels),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> "CompletionRequest":
        """What `to_json` wrote.

        A part that is missing is empty, so that a row that somebody wrote by hand breaks neither
        its pages nor the next press of Run, which is held against it.
        """
        data = {"provider": "", "operation": "completions", "model": "", **json.loads(text)}
        for name in ("messages", "labels"):
            data[name] = tuple(data.get(name, ()))
        return cls(**data)


def _put(target: dict[str, Json], path: str, value: Json) -> None:
    """Set `a.b` in nested objects."""
    *parents, last = path.split(".")
    for parent in parents:
        target = target.setdefault(parent, {})
    target[last] = value


def told_apart_by(messages: Sequence[Mapping[str, Json]]) -> list[str]:
    """What the messages say, what tells one chat from another first: the last that the user says,
    then the others from the end; what the system is told comes last."""
    rank = {"user": 0, "system": 2, "developer": 2}
    newest = list(reversed(messages))
    newest.sort(key=lambda message: rank.get(str(message.get("role")), 1))
    return [content_text(message.get("content")) for message in newest]


def content_text(content: Json) -> str:
    if isinstance(content, list):
        parts = (part.get("text") or "" for part in content if isinstance(part, dict))
        return "\n".join(str(part) for part in parts)
    return "" if content is None else str(content)


class StreamEvent(NamedTuple):
    """One parsed thing from a provider.

    `kind` and `data`: text, reasoning (str) · tool_call (the provider's delta objects, a list) ·
    logprobs (list of tokens in the normal form, `providers/logprobs.py`) · finish (str) ·
    usage, meta (dict; meta is laid over the one before) · warning (str).
    """

    kind: str
    data: Json
    choice: int = 0
    at: float = 0.0  # milliseconds since the request was sent


TEXT_KINDS = ("text", "reasoning")


class Batch:
    """Events of one run between two ticks; consecutive text of a choice is joined.

    `to_list()` gives `[[kind, choice, data, at…]]`, the form of the log and of the socket:
    text and reasoning carry `[[at, characters]…]` instead of one time; what came together is one.
    """

    def __init__(self) -> None:
        self._rows: list[list[Json]] = []
        self._pieces: list[str] = []
        self._chunks: list[list[float]] = []
        self._last: tuple[str, int] | None = None
        self.size = 0  # characters, roughly what it costs to keep

    def __bool__(self) -> bool:
        return bool(self._rows) or self._last is not None

    def add(self, event: StreamEvent) -> None:
        if event.kind not in TEXT_KINDS:
            self._close()
            self._rows.append([event.kind, event.choice, event.data, round(event.at, 1)])
            self.size += 200
            return
        if self._last != (event.kind, event.choice):
            self._close()
            self._last = (event.kind, event.choice)
        self._pieces.append(event.data)
        at, length = round(event.at, 1), len(event.data)
        if self._chunks and self._chunks[-1][0] == at:  # of one read
            self._chunks[-1][1] += length
        else:
            self._chunks.append([at, length])
        self.size += length + 20

    def to_list(self) -> list[list[Json]]:
        self._close()
        return self._rows

    def _close(self) -> None:
        if self._last is None:
            return
        kind, choice = self._last
        self._rows.append([kind, choice, "".join(self._pieces), self._chunks])
        self._pieces, self._chunks, self._last = [], [], None
