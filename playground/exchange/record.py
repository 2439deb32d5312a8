"""A run as a line of JSONL: all that is known of it, but no key and no value of a header."""

import json
from typing import Any

from playground.exchange.lines import embedded, moment, plain_number
from playground.models import Comparison, Run


def comparison_line(comparison: Comparison) -> dict[str, Any]:
    return {
        "type": "comparison",
        "id": str(comparison.origin_id),
        "created_at": moment(comparison.created_at),
        "author": comparison.named,
        "visibility": comparison.visibility,
        "axes": comparison.axes_value,
    }


def run_line(run: Run) -> dict[str, Any]:
    return {
        "type": "run",
        "id": str(run.origin_id),
        "comparison": str(run.comparison.origin_id),
        "position": run.position,
        "column": run.column,
        "coordinates": json.loads(run.coordinates) if run.coordinates else {},
        "created_at": moment(run.created_at),
        "started_at": moment(run.started_at),
        "finished_at": moment(run.finished_at),
        "author": run.named,
        "connection": run.connection_name,
        "request": request_of(run),
        "status": str(run.status),
        "error": error_of(run),
        "warnings": run.warnings.split("\n") if run.warnings else [],
        "lessons": json.loads(run.lessons) if run.lessons else [],
        "choices": choices_of(run),
        "usage": embedded(run.usage),
        "prompt_tokens": run.prompt_tokens,
        "completion_tokens": run.completion_tokens,
        "metadata": embedded(run.metadata),
        "first_token_ms": run.first_token_ms,
        "total_ms": run.total_ms,
        "cost": plain_number(run.cost),
        "cost_is_own": run.cost_is_own,
        "price": price_of(run),
        "labels": labels_of(run),
        "starred": run.starred,
        "ratings": ratings_of(run),
        "comments": comments_of(run),
        "pairs": pairs_of(run),
    }


def request_of(run: Run) -> dict[str, Any]:
    """As it was asked for; of a member's own headers only the names."""
    request: dict[str, Any] = json.loads(run.request)
    return {**request, "own_headers": list(request["own_headers"])}


def error_of(run: Run) -> dict[str, Any] | None:
    if not (run.error_kind or run.error_message):
        return None
    return {"kind": run.error_kind, "message": run.error_message, "status": run.error_status}


def choices_of(run: Run) -> list[dict[str, Any]]:
    return [
        {
            "index": choice.index,
            "text": choice.text,
            "reasoning": choice.reasoning,
            "tool_calls": embedded(choice.tool_calls),
            "finish_reason": choice.finish_reason,
            "logprobs": choice.logprobs,
            "timeline": choice.timeline,
        }
        for choice in run.choices.all()
    ]


def price_of(run: Run) -> dict[str, str | None]:
    """US dollars for a million tokens, as text; None where the connection had no price."""
    return {
        "input": plain_number(run.price_input),
        "cached": plain_number(run.price_cached),
        "output": plain_number(run.price_output),
    }


def labels_of(run: Run) -> list[str]:
    return [label.name for label in sorted(run.labels.all(), key=lambda label: label.folded)]


def ratings_of(run: Run) -> list[dict[str, Any]]:
    return [
        {"author": rating.named, "value": rating.value, "created_at": moment(rating.created_at)}
        for rating in sorted(run.ratings.all(), key=lambda one: (one.created_at, one.named))
    ]


def comments_of(run: Run) -> list[dict[str, Any]]:
    return [
        {
            "author": comment.named,
            "text": comment.text,
            "created_at": moment(comment.created_at),
            "edited_at": moment(comment.edited_at),
        }
        for comment in sorted(run.comments.all(), key=lambda one: (one.created_at, one.pk))
    ]


def pairs_of(run: Run) -> list[list[str]]:
    """A person's own key=value pairs; `pairs` is what `source.load` prefetched."""
    return [[fact.key, fact.text] for fact in getattr(run, "pairs", [])]
