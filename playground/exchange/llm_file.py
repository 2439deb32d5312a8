"""An SQLite file in the layout of `llm`'s logs: a response for each choice of a run."""

import hashlib
import json
import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from playground.completion import storable
from playground.exchange.llm_tables import COLUMNS, MIGRATIONS, TABLES
from playground.exchange.record import comments_of, labels_of, pairs_of, request_of
from playground.models import Choice, Run

ENDING, KIND = "db", "application/vnd.sqlite3"
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's
_MARKS = ", ".join("?" * len(COLUMNS))
_ROW = f"INSERT INTO responses VALUES ({_MARKS})"  # noqa: S608 (question marks only)


def ulid(when: datetime, name: str) -> str:
    """Sorts by time; the same for the same name, so that an export names a run as the last did."""
    milliseconds = int(when.timestamp() * 1000) & (2**48 - 1)
    number = milliseconds << 80 | int.from_bytes(hashlib.sha256(name.encode()).digest()[:10])
    digits = ""
    for _ in range(26):
        number, rest = divmod(number, 32)
        digits = ALPHABET[rest] + digits
    return digits


class LogFile:
    """The file while it is written. Not for two threads at once, but for one after the other."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._database.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")
        self._database.executescript(TABLES)
        now = str(datetime.now(UTC))
        rows = [(name, now) for name in MIGRATIONS]
        self._database.executemany("INSERT INTO _llm_migrations VALUES (?, ?)", rows)

    def add(self, runs: Iterable[Run]) -> None:
        self._database.execute("BEGIN")
        for run in runs:
            comparison = run.comparison
            conversation = ulid(comparison.created_at, str(comparison.origin_id))
            self._database.execute(
                "INSERT OR IGNORE INTO conversations VALUES (?, ?, ?)",
                (conversation, run.prompt_preview[:100], run.model),
            )
            choices: list[Choice | None] = list(run.choices.all())
            for choice in choices or [None]:
                found = {**_asked(run), **_answered(run, choice), **_ours(run)}
                index = choice.index if choice else 0
                found["id"] = ulid(run.created_at, f"{run.origin_id}/{index}")
                found["conversation_id"] = conversation
                row = [_stored(found.get(column)) for column in COLUMNS]
                self._database.execute(_ROW, row)
        self._database.execute("COMMIT")

    def close(self, runs: int, said: str = "") -> None:
        """`said`: why it is not whole."""
        self._database.execute(
            "INSERT INTO playground_export VALUES (?, ?, ?)", (not said, runs, said)
        )
        self._database.close()

    def drop(self) -> None:
        self._database.close()


def _stored(value: Any) -> Any:
    """SQLite takes no lone surrogates and no integers beyond 64 bits."""
    if isinstance(value, str):
        return storable(value)
    return str(value) if isinstance(value, int) and abs(value) >= 2**63 else value


def _json(value: Any) -> str | None:
    return json.dumps(value, ensure_ascii=False) if value else None


def _asked(run: Run) -> dict[str, Any]:
    request = run.request_value()
    messages = [dict(message) for message in request.messages]
    system = [each for each in messages if each.get("role") in ("system", "developer")]
    others = [each for each in messages if each not in system]
    if run.operation == "chat":
        # `llm` has one prompt; the whole conversation stands in prompt_json.
        prompt = _content(others[-1]) if others else ""
    else:
        prompt = request.prompt_text()
    return {
        "model": run.model,
        "prompt": prompt,
        "system": "\n".join(map(_content, system)) or None,
        "prompt_json": _json({"messages": messages} if messages else {}),
        "options_json": json.dumps({**request.values, **request.extra}, ensure_ascii=False),
    }


def _content(message: dict[str, Any]) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def _answered(run: Run, choice: Choice | None) -> dict[str, Any]:
    answered = run.metadata_value.get("model") if run.metadata else None
    return {
        "response": choice.text if choice else "",
        "response_json": run.metadata or None,
        "duration_ms": round(run.total_ms) if run.total_ms is not None else None,
        "datetime_utc": run.created_at.astimezone(UTC).isoformat(),
        "input_tokens": run.prompt_tokens,
        "output_tokens": run.completion_tokens,
        "token_details": run.usage or None,
        "resolved_model": answered if isinstance(answered, str) else None,
        "reasoning": (choice.reasoning or None) if choice else None,
        "choice": choice.index if choice else None,
        "finish_reason": choice.finish_reason if choice else None,
    }


def _ours(run: Run) -> dict[str, Any]:
    return {
        "playground_run": run.pk,
        "origin_id": str(run.origin_id),
        "comparison_origin_id": str(run.comparison.origin_id),
        "author": run.named,
        "visibility": run.visibility,
        "connection": run.connection_name,
        "provider": run.provider,
        "operation": run.operation,
        "status": str(run.status),
        "error": run.error_message or None,
        "labels": _json(labels_of(run)),
        "rating": run.rating,
        "starred": int(run.starred),
        "comments": _json(comments_of(run)),
        "own_values": _json(dict(pairs_of(run))),
        "cost_usd": float(run.cost) if run.cost is not None else None,
        "first_token_ms": run.first_token_ms,
        "request": json.dumps(request_of(run)),
    }
