"""What a row of `llm`'s logs says, as the two lines of an export: a comparison of one run."""

import json
import re
import uuid
from datetime import UTC, datetime
from typing import Any

SPACE = uuid.UUID("5f1e9c52-6d0a-4c5e-9d38-3d0c5a0a11b5")  # names our ids of their ids


def call_of(number: int, name: Any, arguments: Any, call_id: Any) -> dict[str, Any]:
    function = {"name": str(name or ""), "arguments": str(arguments or "")}
    found: dict[str, Any] = {"index": number, "function": function}
    return {**found, "id": str(call_id)} if call_id else found


def lines_of(
    row: dict[str, Any],
    messages: list[dict[str, Any]],
    text: Any,
    reasoning: Any,
    calls: list[dict[str, Any]],
    attachments: int,
) -> list[dict[str, Any]]:
    """A comparison of one run. The author is whoever imports it."""
    run = str(uuid.uuid5(SPACE, str(row["id"])))
    comparison = str(uuid.uuid5(SPACE, f"comparison {row['id']}"))
    at = _time(row.get("datetime_utc"))
    lost = f"llm sent {attachments} attachments with this; they were not imported."
    return [
        {"type": "comparison", "id": comparison, "created_at": at, "visibility": "team"},
        {
            "type": "run",
            "id": run,
            "comparison": comparison,
            "created_at": at,
            "started_at": at,
            "connection": "llm",
            "request": {
                "provider": "local",
                "dialect": "other",
                "operation": "chat",
                "model": str(row.get("model") or ""),
                "messages": messages,
                "values": {},
                "extra": _object(row.get("options_json")),
            },
            "status": "completed",
            "warnings": [lost] if attachments else [],
            "choices": [
                {
                    "index": 0,
                    "text": str(text or ""),
                    "reasoning": str(reasoning or ""),
                    "tool_calls": calls or None,
                }
            ],
            "usage": _usage(row),
            "prompt_tokens": row.get("input_tokens"),
            "completion_tokens": row.get("output_tokens"),
            "metadata": _metadata(row),
            "total_ms": row.get("duration_ms"),
        },
    ]


def _usage(row: dict[str, Any]) -> dict[str, Any] | None:
    usage = {
        "prompt_tokens": row.get("input_tokens"),
        "completion_tokens": row.get("output_tokens"),
        "details": _object(row.get("token_details")) or None,
    }
    return {key: value for key, value in usage.items() if value is not None} or None


def _metadata(row: dict[str, Any]) -> dict[str, Any] | None:
    metadata = _object(row.get("response_json"))
    if row.get("resolved_model"):
        metadata["model"] = row["resolved_model"]
    if row.get("conversation_id"):
        metadata["llm_conversation"] = row["conversation_id"]
    return metadata or None


def _object(text: Any) -> dict[str, Any]:
    try:
        found = json.loads(text) if isinstance(text, str) and text else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _time(text: Any) -> str:
    """Without a zone it is UTC, as the column's name says."""
    try:
        # Python 3.10 and older of llm wrote `2023-07-01 12:00:00.123456+00:00` too.
        found = datetime.fromisoformat(re.sub(r"Z$", "+00:00", str(text)))
    except ValueError:
        raise ValueError("“datetime_utc” is no time.") from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).isoformat()
