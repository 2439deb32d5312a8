"""A past of some weeks, written into the database of a server that runs: for its statistics."""

import math
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from uuid import uuid4

from playground.completion import CompletionRequest
from tests.server import Server

# name, provider, model, runs a day, ms to the first token, dollars for a run
BACKENDS = (
    ("Local", "local", "field-guide-7b", 9, 45.0, None),
    ("OGX", "ogx", "granite-3", 5, 214.0, 0.012),
    ("Pulze", "pulze", "mistral-small", 3, 588.0, 0.07),
)
LABELS = ("task=field-guide", "task=summary", "gold")
COMMON = {
    "author_name": "admin", "visibility": "team", "operation": "completions",
    "streams": True, "prompt_preview": "Field guide entry.", "output_preview": "The kingfisher",
    "indexed": True,
}  # fmt: skip


@cache
def needed(server: Server, table: str) -> dict[str, Any]:
    """Something empty for each column that has to have a value: a new one changes nothing here."""
    columns = server.rows(f"SELECT * FROM pragma_table_info('playground_{table}')")
    return {
        each["name"]: "" if each["type"].lower().startswith(("varchar", "text")) else 0
        for each in columns
        if each["notnull"] and not each["pk"]
    }


def insert(server: Server, table: str, **values: Any) -> int:
    values = {**needed(server, table), **values}
    if "origin_id" in values:
        values["origin_id"] = uuid4().hex
    names, marks = ", ".join(f'"{name}"' for name in values), ", ".join("?" * len(values))
    query = f"INSERT INTO playground_{table} ({names}) VALUES ({marks}) RETURNING id"
    [row] = server.rows(query, *values.values())
    return int(row["id"])


def make_past(server: Server, days: int = 40) -> int:
    """The same figures each time, up to yesterday; how many runs."""
    [who] = server.rows("SELECT id, current_team_id FROM playground_user ORDER BY id LIMIT 1")
    whose = {"team_id": who["current_team_id"], "author_id": who["id"]}
    labels = [
        insert(server, "label", team_id=whose["team_id"], name=name, folded=name) for name in LABELS
    ]
    noon = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
    made = 0
    for day in range(1, days + 1):
        for name, provider, model, often, first, cost in BACKENDS:
            count = max(0, round(often * (1 + 0.6 * math.sin(day * 1.7 + first))))
            for number in range(count):
                moment = noon - timedelta(days=day, minutes=7 * number)
                made += 1
                wave = 1 + 0.35 * math.sin(made * 2.3)
                _run(server, whose, moment, name, provider, model, first * wave, cost, made, labels)
    return made


def _run(
    server: Server,
    whose: dict[str, Any],
    moment: datetime,
    name: str,
    provider: str,
    model: str,
    first: float,
    cost: float | None,
    number: int,
    labels: list[int],
) -> None:
    at = moment.strftime("%Y-%m-%d %H:%M:%S.%f")
    comparison = insert(
        server, "comparison", author_name="admin", visibility="team", created_at=at, **whose
    )  # fmt: skip
    bad = number % (9 if provider == "pulze" else 41) == 3
    status = "failed" if bad else "cancelled" if number % 29 == 5 else "completed"
    figures: dict[str, Any] = {
        "first_token_ms": first, "total_ms": first + 1400.0, "prompt_tokens": 300 + number % 90,
        "completion_tokens": 480 + number % 120, "cost": cost,
    }  # fmt: skip
    request = CompletionRequest(provider, "completions", model, prompt="Field guide entry.")
    run = insert(
        server, "run", request=request.to_json(), comparison_id=comparison, created_at=at,
        connection_name=name, provider=provider, model=model, status=status, **COMMON, **whose,
        **({} if bad else figures),
    )  # fmt: skip
    if number % 3:
        label = labels[number % 2]
        insert(server, "runlabel", run_id=run, label_id=label, key="task")
    if number % 11 == 0:
        insert(server, "runlabel", run_id=run, label_id=labels[2], key="gold")
