"""Runs that join a comparison later: one column again, or a column that is new.

Such a run is an ordinary run at the same column and place; the page shows the newest of each place,
the older ones stay in the history.
"""

import json
from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from playground.axes import Place
from playground.completion import CompletionRequest
from playground.models.comparisons import Comparison, queued
from playground.models.connections import Connection
from playground.models.gate import check
from playground.models.labels import Label, RunLabel
from playground.models.prices import PriceBook
from playground.models.processes import Process
from playground.models.runs import Run
from playground.models.teams import Membership


def column_ids(document: str) -> list[str]:
    """The ids of a document's columns, in order; `c0`, `c1` … where it names none."""
    try:
        parsed = json.loads(document)
        columns = parsed["columns"]
        return [_id(column, position) for position, column in enumerate(columns)]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []


def _id(column: Any, position: int) -> str:
    own = column.get("id") if isinstance(column, dict) else None
    return own if isinstance(own, str) and own else f"c{position}"


@transaction.atomic
def join(
    comparison: Comparison,
    membership: Membership,
    columns: Sequence[tuple[Connection, CompletionRequest]],
    places: Sequence[Place],
    *,
    owner: Process,
    document: str = "",
) -> list[Run]:
    """Insert queued runs into a comparison, or raise OverLimit; DoesNotExist where it has gone into
    the trash.

    With a document, its columns give the order; runs whose column is gone from the form keep
    their place behind the others.
    """
    locked = Comparison.objects.select_for_update().get(pk=comparison.pk, deleted_at=None)
    if document:
        _follow(locked, document)
    prices = PriceBook(connection for connection, _ in columns)
    made = []
    for (connection, request), place in zip(columns, places, strict=True):
        run = queued(locked, 0, connection, request, owner, place)
        run.created_at = timezone.now()
        run.author_id = membership.user_id
        run.price_at(prices.rates(connection, request.model))
        run.reserve(request, connection.assumed_tokens)
        made.append(run)
    check(Run.objects.all(), [run.waiting for run in made])
    for run, (_, request) in zip(made, columns, strict=True):
        run.save()
        if request.labels:
            named = Label.objects.named(membership.team_id, request.labels)
            RunLabel.objects.put([run.pk], named)
    _renumber(locked, {run.pk for run in made})
    return made


def _follow(comparison: Comparison, document: str) -> None:
    """Move the runs to where their columns are now in the form."""
    before, now = column_ids(comparison.document), column_ids(document)
    runs = list(comparison.runs.only("pk", "column"))
    ids = dict(enumerate(before))
    # Those that the document does not have; of an imported run any number.
    ids |= {each: f"c{each}" for each in sorted({run.column for run in runs} - set(ids))}
    gone = [each for each in ids.values() if each not in now]
    target = {each: position for position, each in enumerate([*now, *gone])}
    for run in runs:
        if target[ids[run.column]] != run.column:
            Run.objects.filter(pk=run.pk).update(column=target[ids[run.column]])
    comparison.document = document
    comparison.save(update_fields=["document"])


def _renumber(comparison: Comparison, fresh: set[int]) -> None:
    """The order in the comparison: by column, then as before; a new run where its place is."""
    rows = list(comparison.runs.values_list("pk", "column", "coordinates", "position"))
    first: dict[tuple[int, str], int] = {}
    for pk, column, coordinates, position in sorted(rows, key=lambda row: row[0]):
        if pk not in fresh:
            first.setdefault((column, coordinates), position)
    last = len(rows)
    keys = {(column, coordinates) for _, column, coordinates, _ in rows}
    ranked = sorted(keys, key=lambda key: (key[0], first.get(key, last), key[1]))
    position_of = {key: position for position, key in enumerate(ranked)}
    for pk, column, coordinates, position in rows:
        wanted = position_of[column, coordinates]
        if wanted != position:
            Run.objects.filter(pk=pk).update(position=wanted)
