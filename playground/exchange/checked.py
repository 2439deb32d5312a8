"""A line of an export, checked, as what the database keeps."""

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError

from playground.completion import CompletionRequest, RunStatus, storable
from playground.costs import MOST, MOST_TOKENS
from playground.exchange.given import LARGEST, BadLine, Given
from playground.exchange.shapes import is_id, is_stretch, is_text, is_texts, is_token
from playground.models.annotations import BEST, clean_comment
from playground.models.choices import packed
from playground.models.facts import LONGEST_KEY, LONGEST_TEXT
from playground.models.labels import clean_label, key_of
from playground.models.pairs import MOST as MOST_PAIRS
from playground.models.runs import preview
from playground.models.visible import Visibility

MOST_PRICE = Decimal(10**8)  # dollars for a million tokens, as the column has room


@dataclass
class ComparisonDraft:
    origin_id: uuid.UUID
    author: str
    visibility: str
    values: dict[str, Any]


@dataclass
class RunDraft:
    origin_id: uuid.UUID
    comparison: uuid.UUID
    author: str
    values: dict[str, Any]  # of the Run
    choices: list[dict[str, Any]] = field(default_factory=list)  # of each Choice
    labels: list[str] = field(default_factory=list)
    ratings: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    comments: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    pairs: list[tuple[str, str]] = field(default_factory=list)


def comparison_of(line: Mapping[str, Any]) -> ComparisonDraft:
    given = Given(line)
    visibility = given.text("visibility")
    if visibility not in Visibility.values:
        raise BadLine("“visibility” is neither team nor private.")
    axes = _axes(given.get("axes") or {})
    return ComparisonDraft(
        given.id("id"),
        given.text("author", 150),
        visibility,
        {"created_at": given.when("created_at"), "axes": json.dumps(axes) if axes else ""},
    )


def _axes(axes: Any) -> dict[str, Any]:
    """What the grid and the table read of it."""
    given = Given(axes, "axes")
    names = [*given.list("fields"), *given.list("names")]
    rows = given.list("rows")
    if not all(map(is_text, names)) or not all(map(is_texts, rows)):
        raise BadLine("“axes” is no sweep.")
    return axes if isinstance(axes, dict) else {}


def _coordinates(coordinates: Any) -> dict[str, Any]:
    given = Given(coordinates, "coordinates")
    given.count("row", LARGEST)
    given.count("repeat", LARGEST)
    if not is_texts(given.get("values") or {}):
        raise BadLine("“coordinates” are no place on the axes.")
    return coordinates if isinstance(coordinates, dict) else {}


def run_of(line: Mapping[str, Any]) -> RunDraft:
    given = Given(line)
    choices = [_choice(each) for each in given.objects("choices")]
    indexes = [choice["index"] for choice in choices]
    if len(set(indexes)) != len(indexes):
        raise BadLine("Two choices have the same index.")
    request = _request(given)
    values = _values(given, request)
    if choices:
        values["output_preview"] = preview(choices[0]["text"])
    return RunDraft(
        given.id("id"),
        given.id("comparison"),
        given.text("author", 150),
        values,
        choices,
        _labels(given),
        [(each.text("author", 150), _rating(each)) for each in given.objects("ratings")],
        [(each.text("author", 150), _comment(each)) for each in given.objects("comments")],
        _pairs(given),
    )


def _values(given: Given, request: CompletionRequest) -> dict[str, Any]:
    status = given.text("status")
    if status not in RunStatus._value2member_map_ or RunStatus(status).live:
        raise BadLine(f"“{status[:20]}” is no status of a run that has ended.")
    error = Given(given.get("error") or {}, "error")
    price = Given(given.get("price") or {}, "price")
    coordinates = _coordinates(given.get("coordinates") or {})
    return {
        "position": given.count("position", LARGEST) or 0,
        "column": given.count("column", LARGEST) or 0,
        "coordinates": json.dumps(coordinates) if coordinates else "",
        "created_at": given.when("created_at"),
        "started_at": given.time("started_at"),
        "finished_at": given.time("finished_at"),
        "connection_name": given.text("connection", 60),
        "provider": request.provider,
        "dialect": request.dialect,
        "operation": request.operation,
        "model": request.model,
        "request": request.to_json(),
        "streams": request.streams,
        "prompt_preview": preview(request.name()),
        "status": status,
        "error_kind": error.text("kind", 20),
        "error_message": error.text("message"),
        "error_status": error.count("status", LARGEST),
        "warnings": "\n".join(_text(each, "warnings") for each in given.list("warnings")),
        "lessons": _lessons(given),
        "prompt_tokens": given.count("prompt_tokens", MOST_TOKENS - 1),
        "completion_tokens": given.count("completion_tokens", MOST_TOKENS - 1),
        "usage": _object(given, "usage"),
        "metadata": _object(given, "metadata"),
        "first_token_ms": given.number("first_token_ms"),
        "total_ms": given.number("total_ms"),
        "cost": given.dollars("cost", MOST, 10),
        "cost_is_own": given.flag("cost_is_own"),
        "price_input": price.dollars("input", MOST_PRICE, 6),
        "price_cached": price.dollars("cached", MOST_PRICE, 6),
        "price_output": price.dollars("output", MOST_PRICE, 6),
        "starred": given.flag("starred"),
    }


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise BadLine(f"“{name}” holds what is no text.")
    return storable(value)


def _object(given: Given, name: str) -> str:
    """JSON text of an object: pages read it."""
    text = given.json(name)
    try:
        good = not text or isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        good = False
    if not good:
        raise BadLine(f"“{name}” is no object.")
    return text


def _lessons(given: Given) -> str:
    lessons = given.list("lessons")
    for each in lessons:
        if not (isinstance(each, list) and len(each) == 3 and all(is_text(one) for one in each)):
            raise BadLine("“lessons” holds what is no lesson.")
    return json.dumps(lessons) if lessons else ""


def _request(given: Given) -> CompletionRequest:
    found = Given(given.get("request"), "request")
    operation = found.text("operation")
    if operation not in ("completions", "chat"):
        raise BadLine("“operation” is neither completions nor chat.")
    values, extra = found.get("values") or {}, found.get("extra") or {}
    messages, headers = found.list("messages"), found.list("own_headers")
    if not (isinstance(values, dict) and isinstance(extra, dict)):
        raise BadLine("“values” or “extra” of the request is no object.")
    if not all(isinstance(each, dict) for each in messages):
        raise BadLine("“messages” holds what is no object.")
    if not all(map(is_text, headers)):
        raise BadLine("“own_headers” are names, without values.")
    request = CompletionRequest(
        provider=found.text("provider", 30),
        dialect=found.text("dialect", 20),
        operation=operation,
        model=found.text("model", 300),
        prompt=_prompt(found.get("prompt")),
        messages=tuple(messages),
        values=values,
        extra=extra,
        own_headers=dict.fromkeys(headers, ""),
        labels=tuple(_text(each, "labels") for each in found.list("labels")),
    )
    _tried(request.body, "The request has parameters that do not fit together.")
    return request


def _tried(read: Callable[[], object], said: str) -> None:
    """What every page of the run does with it must be possible."""
    try:
        read()
    except (TypeError, ValueError, AttributeError, KeyError, RecursionError):
        raise BadLine(said) from None


def _prompt(value: Any) -> Any:
    """Text, texts, token ids, or lists of token ids."""
    if value is None:
        return ""
    rows = value if isinstance(value, list) else [value]
    texts = all(isinstance(each, str) for each in rows)
    ids = isinstance(value, list) and all(map(is_id, rows))
    lists = all(isinstance(each, list) and all(map(is_id, each)) for each in rows)
    if not (texts or ids or (isinstance(value, list) and lists)):
        raise BadLine("“prompt” is no prompt.")
    return value


def _choice(given: Given) -> dict[str, Any]:
    index = given.count("index", LARGEST)
    if index is None:
        raise BadLine("A choice has no index.")
    calls = given.json("tool_calls")
    _tried(lambda: [call["function"]["name"] for call in json.loads(calls or "[]")], "Bad call.")
    reason = given.get("finish_reason")
    logprobs, timeline = given.list("logprobs"), given.list("timeline")
    if not all(is_stretch(each) for each in timeline):
        raise BadLine("“timeline” holds what is not [milliseconds, characters].")
    if not all(is_token(each) for each in logprobs):
        raise BadLine("“logprobs” holds what is no token.")
    return {
        "index": index,
        "text": given.text("text"),
        "reasoning": given.text("reasoning"),
        "tool_calls": calls,
        "finish_reason": None if reason is None else given.text("finish_reason", 100),
        "packed_logprobs": packed(logprobs),
        "packed_timeline": packed(timeline),
    }


def _labels(given: Given) -> list[str]:
    """By the one rule; of two values of a key the later one holds."""
    by_key: dict[str, str] = {}
    for each in given.list("labels"):
        try:
            label = clean_label(_text(each, "labels"))
        except ValidationError as error:
            raise BadLine(" ".join(error.messages)) from None
        by_key[key_of(label.casefold())] = label
    return list(by_key.values())


def _rating(given: Given) -> dict[str, Any]:
    value = given.count("value", BEST)
    if not value:
        raise BadLine(f"A rating is a number from 1 to {BEST}.")
    return {"value": value, "created_at": given.when("created_at")}


def _comment(given: Given) -> dict[str, Any]:
    try:
        text = clean_comment(given.text("text"))
    except ValidationError as error:
        raise BadLine(" ".join(error.messages)) from None
    return {
        "text": text,
        "created_at": given.when("created_at"),
        "edited_at": given.time("edited_at"),
    }


def _pairs(given: Given) -> list[tuple[str, str]]:
    pairs = given.list("pairs")
    for pair in pairs:
        good = isinstance(pair, list) and len(pair) == 2 and all(map(is_text, pair))
        if not good or not 0 < len(pair[0]) <= LONGEST_KEY or len(pair[1]) > LONGEST_TEXT:
            raise BadLine("“pairs” holds what is no pair of a key and a value.")
    if len(pairs) > MOST_PAIRS:
        raise BadLine(f"A run has at most {MOST_PAIRS} pairs of one's own.")
    return [(key, value) for key, value in pairs]
