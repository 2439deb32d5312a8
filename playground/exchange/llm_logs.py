"""The logs of `llm` as lines of an export.

Three layouts of its database: `responses` as it once was; with fragments, usage and reasoning in
tables and columns of their own; and, in 0.36, `turns` over a tree of `messages`. A file may hold
several: a turn that stands in `responses` too is read once.
"""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playground.exchange.llm_lines import call_of, lines_of

MAGIC = b"SQLite format 3\0"
LONGEST_VALUE = 64 * 1024 * 1024  # bytes of one text
WORK = 1_000_000  # steps of SQLite's machine
MOST_WORK = 1000  # of these for one batch; a million rows are counted in about ten
LONGEST_CHAIN = 10_000  # messages of a conversation
OURS = (
    "This is an SQLite export of a playground. Import the JSONL export instead:"
    " only that is complete."
)
NO_LOGS = "This SQLite file has no logs of llm: neither a table “responses” nor “turns”."


class BadLogs(ValueError):
    """The file cannot be read; says why."""


class LlmLogs:
    """One file. `records(after)` goes on where an import stopped."""

    def __init__(self, path: Path) -> None:
        address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        self._database = sqlite3.connect(address, uri=True, check_same_thread=False)
        self._database.row_factory = sqlite3.Row
        self._database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        self._work = 0
        self._database.set_progress_handler(self._too_much, WORK)
        try:
            self._database.execute("PRAGMA trusted_schema = OFF")
            self._database.execute("PRAGMA cell_size_check = ON")
            real = self._database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            tables = {row[0] for row in real}  # a view could be endless
            self._columns = {
                name: self._columns_of(name) if name in tables else set() for name in TABLES
            }
        except sqlite3.Error:
            self._database.close()
            raise BadLogs("This is no SQLite file, or it is damaged.") from None
        if "playground_run" in self._columns["responses"]:
            self.close()
            raise BadLogs(OURS)
        if not (self._has("responses") or self._has("turns")):
            self.close()
            raise BadLogs(NO_LOGS)

    def _columns_of(self, table: str) -> set[str]:
        return {row[1] for row in self._database.execute(f"PRAGMA table_info({table})")}

    def _too_much(self) -> bool:
        """A file made to be slow is given up."""
        self._work += 1
        return self._work > MOST_WORK

    def close(self) -> None:
        self._database.close()

    def _has(self, table: str) -> bool:
        return "id" in self._columns[table] and "model" in self._columns[table]

    def count(self) -> int:
        return sum(
            self._database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 (a name of ours)
            for table in ("responses", "turns")
            if self._has(table)
        )

    def rows(self, after: tuple[str, str], limit: int) -> list[tuple[tuple[str, str], Any]]:
        """The next rows as ((table, id), row), in the order of tables and ids."""
        found: list[tuple[tuple[str, str], Any]] = []
        for table in ("responses", "turns"):
            if table < after[0] or not self._has(table):
                continue
            start = after[1] if table == after[0] else ""
            found += [
                ((table, str(row["id"])), row)
                for row in self._database.execute(
                    # A blob comes after every text, also after its own name: without end.
                    f"SELECT * FROM {table} WHERE id > ? AND typeof(id) = 'text'"  # noqa: S608 (a name of ours)
                    " ORDER BY id LIMIT ?",
                    (start, limit - len(found)),
                )
            ]
            if len(found) >= limit:
                break
        return found

    def lines(self, table: str, row: Any) -> list[dict[str, Any]]:
        """The comparison and the run of a row; [] where another row says the same."""
        found = dict(row)
        if table == "turns":
            return self._turn(found)
        known = self._has("turns") and self._database.execute(
            "SELECT 1 FROM turns WHERE id = ?", (found["id"],)
        )
        return [] if known and known.fetchone() else self._response(found)

    def _response(self, row: dict[str, Any]) -> list[dict[str, Any]]:
        prompt = self._with_fragments(row, "prompt_fragments", row.get("prompt"))
        system = self._with_fragments(row, "system_fragments", row.get("system"))
        messages = [{"role": "system", "content": system}] if system else []
        messages.append({"role": "user", "content": prompt})
        calls = self._calls(row["id"]) if self._columns["tool_calls"] else []
        left = self._attachments("prompt_attachments", row["id"])
        return lines_of(row, messages, row.get("response"), row.get("reasoning"), calls, left)

    def _with_fragments(self, row: dict[str, Any], table: str, text: Any) -> str:
        if not (self._columns[table] and self._columns["fragments"]):
            return str(text or "")
        found = self._database.execute(
            f"SELECT content FROM {table} JOIN fragments ON fragments.id = fragment_id"  # noqa: S608 (a name of ours)
            ' WHERE response_id = ? ORDER BY "order"',
            (row["id"],),
        )
        parts = [str(each[0] or "") for each in found]
        return "\n".join([*parts, str(text)] if text else parts)

    def _calls(self, response: str) -> list[dict[str, Any]]:
        rows = self._database.execute(
            "SELECT name, arguments, tool_call_id FROM tool_calls WHERE response_id = ?"
            " ORDER BY id",
            (response,),
        )
        return [call_of(number, *row) for number, row in enumerate(rows)]

    def _attachments(self, table: str, response: str) -> int:
        if not self._columns[table]:
            return 0
        counted = f"SELECT count(*) FROM {table} WHERE response_id = ?"  # noqa: S608 (a name of ours)
        found = self._database.execute(counted, (response,))
        return int(found.fetchone()[0])

    def _turn(self, row: dict[str, Any]) -> list[dict[str, Any]]:
        """Everything up to the parent was sent; what follows it came back."""
        sent = [self._message(each) for each in self._chain(row["parent_message_hash"], None)]
        back = self._chain(row["tip_message_hash"], row["parent_message_hash"])
        text: list[str] = []
        reasoning: list[str] = []
        calls: list[dict[str, Any]] = []
        for message in back:
            for part in self._parts(message[0]):
                if part["type"] == "text":
                    text.append(part["text"])
                elif part["type"] == "reasoning":
                    reasoning.append(part["text"])
                elif part["type"] == "tool_call":
                    arguments = json.dumps(part["payload"].get("arguments"), ensure_ascii=False)
                    call_id = part["payload"].get("tool_call_id")
                    calls.append(call_of(len(calls), part["tool_name"], arguments, call_id))
        left = sum(message.pop("attachments") for message in sent)
        row["conversation_id"] = row.get("thread_id")
        return lines_of(row, sent, "".join(text), "".join(reasoning), calls, left)

    def _chain(self, tip: str | None, until: str | None) -> list[tuple[str, str]]:
        """(hash, role) from the first message to the tip."""
        found: list[tuple[str, str]] = []
        while tip and tip != until:
            if len(found) == LONGEST_CHAIN:
                raise ValueError(f"Its conversation has more than {LONGEST_CHAIN:,} messages.")
            row = self._database.execute(
                "SELECT role, parent_hash FROM messages WHERE hash = ?", (tip,)
            ).fetchone()
            if row is None:
                break
            found.append((tip, str(row[0])))
            tip = row[1]
        return found[::-1]

    def _message(self, message: tuple[str, str]) -> dict[str, Any]:
        found: dict[str, Any] = {"role": message[1], "attachments": 0}
        content: list[str] = []
        calls: list[dict[str, Any]] = []
        for part in self._parts(message[0]):
            if part["type"] == "text":
                content.append(part["text"])
            elif part["type"] == "tool_call":
                arguments = json.dumps(part["payload"].get("arguments"), ensure_ascii=False)
                call_id = part["payload"].get("tool_call_id")
                call = call_of(len(calls), part["tool_name"], arguments, call_id)
                calls.append({"id": call.get("id"), "type": "function", **call})
            elif part["type"] == "tool_result":
                content.append(str(part["payload"].get("output") or ""))
                found["tool_call_id"] = part["payload"].get("tool_call_id")
            elif part["type"] == "attachment":
                found["attachments"] += 1
        found["content"] = "".join(content)
        return {**found, "tool_calls": calls} if calls else found

    def _parts(self, message: str) -> Iterator[dict[str, Any]]:
        rows = self._database.execute(
            "SELECT type, tool_name, text, payload FROM parts WHERE message_hash = ?"
            " ORDER BY position",
            (message,),
        )
        for row in rows.fetchall():
            payload = json.loads(row["payload"]) if row["payload"] else {}
            text = row["text"]
            if text is None:
                text = "".join(map(self._piece, payload.get("text_ref") or []))
            yield {**dict(row), "payload": payload, "text": text}

    def _piece(self, piece: dict[str, Any]) -> str:
        if "literal" in piece:
            return str(piece["literal"])
        found = self._database.execute(
            "SELECT content FROM fragments WHERE id = ?", (piece.get("fragment"),)
        ).fetchone()
        return str(found[0]) if found else ""


TABLES = (
    "responses",
    "turns",
    "messages",
    "parts",
    "fragments",
    "prompt_fragments",
    "system_fragments",
    "prompt_attachments",
    "tool_calls",
)
