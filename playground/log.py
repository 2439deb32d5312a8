"""The log of a live run: rows that fit a frame, and what they are folded into at the end."""

import functools
import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import orjson
from django.db import transaction
from django.utils import timezone

from playground import metrics
from playground.completion import TEXT_KINDS, ErrorKind, RunStatus, storable
from playground.costs import count, prompt_count, used
from playground.models import Choice, Run, RunEvent
from playground.models.choices import packed
from playground.models.gate import settle
from playground.models.limits import units
from playground.models.plain import put
from playground.models.runs import preview
from playground.outcome import Outcome, fold, summed

ROW = 256 * 1024  # characters of one row of the log; the socket's limit is 1 MiB a message
PIECE = 32 * 1024  # characters of a text that is cut; escaped, each may take six
MOST_ARRIVALS = 4096  # of such a piece
UNSENT = (ErrorKind.CONNECTION, ErrorKind.AUTH, ErrorKind.UNAVAILABLE, ErrorKind.LIMIT)
# What is read of a run to know what it took.
TOOK = ("provider", "dialect", "streams", "started_at", "counted_tokens", "counted_money",
        "price_input", "price_cached", "price_output")  # fmt: skip
LEVELS = 100  # of nested JSON that are kept; far below where a reader of it overflows


@dataclass(frozen=True)
class Ending:
    """How a run ended."""

    status: RunStatus
    error_kind: str = ""
    error_message: str = ""
    error_status: int | None = None
    total_ms: float | None = None


def to_json(value: Any) -> str:
    """JSON text that a database stores and any reader parses: no lone surrogates, no NaN, no
    endless integers, no endless nesting."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))


def _plain(value: Any, levels: int = LEVELS) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return str(value)
    if not isinstance(value, dict | list | tuple):
        return value
    if not levels:
        return "…"
    if isinstance(value, dict):
        return {storable(str(name)): _plain(one, levels - 1) for name, one in value.items()}
    return [_plain(one, levels - 1) for one in value]


def log_rows(batch: list[list[Any]]) -> list[str]:
    """The batch as rows of the log: JSON texts that fit into a frame of the socket."""
    if not batch:
        return []
    whole = to_json(batch)
    if len(whole) <= ROW:
        return [whole]
    rows: list[str] = []
    parts: list[str] = []
    size = 0
    for text in map(to_json, (part for event in batch for part in split(event))):
        if parts and size + len(text) > ROW:
            rows.append(f"[{','.join(parts)}]")
            parts, size = [], 0
        parts.append(text)
        size += len(text)
    return [*rows, f"[{','.join(parts)}]"]


def split(event: list[Any]) -> list[list[Any]]:
    """A long text in pieces, each with its own share of the arrivals; anything else as it is."""
    kind, choice, data, at = event
    if kind not in TEXT_KINDS:
        return [event]
    pieces: list[list[Any]] = []
    start = end = 0
    arrivals: list[list[float]] = []
    for ms, length in at:
        while length:
            taken = min(length, PIECE - (end - start))
            arrivals.append([ms, taken])
            end += taken
            length -= taken
            if end - start == PIECE or len(arrivals) == MOST_ARRIVALS:
                pieces.append([kind, choice, data[start:end], arrivals])
                start, arrivals = end, []
    return [*pieces, [kind, choice, data[start:end], arrivals]] if arrivals else pieces


def close_run(run: int, ending: Ending, rest: list[list[Any]]) -> str:
    """`close_runs` of one; what its followers are told."""
    return close_runs({run: (ending, rest)})[run]


def close_runs(ended: Mapping[int, tuple[Ending, list[list[Any]]]]) -> dict[int, str]:
    """Fold the log and what is not in it yet into choices, set the final status, delete the log.

    `ended`: {run: how it ended, the events that are not in its log}. Call it inside a transaction,
    and `settle_runs` once for all that end in it. Returns what followers are told: {run: JSON}.
    """
    logs: dict[int, list[str]] = {run: [] for run in ended}
    events = RunEvent.objects.filter(run_id__in=list(ended))
    for run, text in events.order_by("run_id", "seq").values_list("run_id", "events"):
        logs[run].append(text)
    known = Run.objects.only(*TOOK).in_bulk(list(ended))
    choices: dict[int, list[Choice]] = {}
    ends: dict[int, dict[str, Any]] = {}
    # One after the other: what a log is made of is small and many, and no two are needed at once.
    for run, (ending, rest) in ended.items():
        outcome = fold(_rows(logs.pop(run)) + rest)
        choices[run] = [_choice(run, result) for result in outcome.choices]
        if (row := known.get(run)) is not None:  # else it was purged
            if outcome.usages:
                outcome.usage = summed(outcome.usages, prompt_count(row.request_value()))
            ends[run] = _end(row, ending, outcome, choices[run])
            _count(row, ending, outcome)
    put(ends)
    Choice.objects.bulk_create([choice for found in choices.values() for choice in found])
    RunEvent.objects.filter(run_id__in=list(ended)).delete()
    return {run: _told(run, ended[run][0], choices[run]) for run in ended}


def _rows(log: Sequence[str]) -> list[list[Any]]:
    """The events of all rows of a log, parsed in one go."""
    events: list[list[Any]] = orjson.loads(
        f"[{','.join(text[1:-1] for text in log if text != '[]')}]"
    )
    return events


def _end(row: Run, ending: Ending, outcome: Outcome, choices: Sequence[Choice]) -> dict[str, Any]:
    """What becomes of its row."""
    usage = outcome.usage or {}
    return {
        "status": ending.status,
        "owner": None,
        "finished_at": timezone.now(),
        "error_kind": ending.error_kind,
        "error_message": storable(ending.error_message),
        "error_status": ending.error_status,
        "total_ms": ending.total_ms if ending.total_ms is not None else _last_ms(outcome),
        "first_token_ms": outcome.first_token_ms,
        "prompt_tokens": count(usage, "prompt_tokens"),
        "completion_tokens": count(usage, "completion_tokens"),
        **_took(row, ending, outcome),
        "usage": to_json(outcome.usage) if outcome.usage else "",
        "metadata": to_json(outcome.meta) if outcome.meta else "",
        "warnings": "\n".join(storable(warning) for warning in outcome.warnings),
        "output_preview": preview(choices[0].text) if choices else "",
    }


def _told(run: int, ending: Ending, choices: Sequence[Choice]) -> str:
    return to_json(
        {
            "run": run,
            "status": str(ending.status),
            "choices": [
                {"index": choice.index, "length": len(choice.text), "sha256": choice.sha256}
                for choice in choices
            ],
        }
    )


def _count(run: Run, ending: Ending, outcome: Outcome) -> None:
    """For the metrics, once the transaction has committed."""
    usage = outcome.usage or {}
    tokens = count(usage, "prompt_tokens"), count(usage, "completion_tokens")
    total = ending.total_ms if ending.total_ms is not None else _last_ms(outcome)
    facts = (str(ending.status), str(ending.error_kind), tokens, outcome.first_token_ms, total)
    transaction.on_commit(functools.partial(metrics.ended, run.pk, run.provider, *facts))


def settle_runs(runs: Iterable[int]) -> None:
    """Count what these ended runs took; the last thing in the transaction that closed them."""
    settle(Run.objects.all(), runs)


def never_sent(run: int) -> str:
    """What followers are told of a run that was stopped while it waited, as JSON text."""
    return to_json({"run": run, "status": str(RunStatus.CANCELLED), "choices": []})


def _choice(run: int, result: Any) -> Choice:
    return Choice(
        run_id=run,
        index=result.index,
        text=result.text,
        reasoning=result.reasoning,
        tool_calls=to_json(result.tool_calls) if result.tool_calls else "",
        finish_reason=None
        if result.finish_reason is None
        else storable(result.finish_reason)[:100],
        sha256=hashlib.sha256(result.text.encode()).hexdigest(),
        packed_logprobs=packed(result.logprobs),
        packed_timeline=packed(result.timeline),
    )


def _took(row: Run, ending: Ending, outcome: Outcome) -> dict[str, Any]:
    """Its cost and what limits count."""
    took = used(ending.status, outcome, row.rates, streams=row.streams, dialect=row.dialect)
    free = row.started_at is None or _never_worked_on(ending, outcome)
    tokens, money = row.counted_tokens, row.counted_money  # reserved
    if took.tokens is not None or free:
        tokens = took.tokens or 0
    if took.cost is not None or free:
        money = units(took.cost or Decimal(0))
    return {
        "cost": took.cost,
        "cost_is_own": took.own,
        "counted_tokens": tokens,
        "counted_money": money,
    }


def _never_worked_on(ending: Ending, outcome: Outcome) -> bool:
    """Whether the backend was not reached or refused the request: nobody charges for that."""
    if outcome.choices or outcome.usage or ending.status != RunStatus.FAILED:
        return False
    status = ending.error_status or 0
    return 300 <= status < 500 or (not status and ending.error_kind in UNSENT)


def _last_ms(outcome: Outcome) -> float | None:
    times = [choice.timeline[-1][0] for choice in outcome.choices if choice.timeline]
    return max(times, default=None)
