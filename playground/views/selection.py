"""Rows that were selected in a list: `comparison-5` or `run-7` each, as `row` or comma-joined in
`rows`."""

import re
from collections.abc import Sequence
from typing import Any

from django.http import Http404, QueryDict

from playground.models import Comparison, Run, Seen, User

MOST = 1000  # rows of one selection
_ROW = re.compile(r"(run|comparison)-([0-9]{1,18})", re.ASCII)


def rows_of(fields: QueryDict, name: str = "row") -> list[str]:
    """The rows, each once, in order; 404 for what no page has sent."""
    joined = fields.get("rows", "") if name == "row" else ""
    found = [part for each in [*fields.getlist(name), joined] for part in each.split(",")]
    rows = list(dict.fromkeys(each for each in found if each))
    if len(rows) > MOST or not all(map(_ROW.fullmatch, rows)):
        raise Http404
    return rows


def runs_of(user: User, rows: Sequence[str]) -> dict[str, list[int]]:
    """{row: its runs}, those that this user may see; of a comparison the newest of each column."""
    return _runs_of(Run.objects.visible_to(user), rows)


def trashed_of(user: User, rows: Sequence[str]) -> dict[str, list[int]]:
    """{row: its runs}, of what this user may take out of the trash."""
    return _runs_of(Run.objects.trashed_for(user), rows)


def _runs_of(allowed: Any, rows: Sequence[str]) -> dict[str, list[int]]:
    keys = {row: _split(row) for row in rows}
    whole = [pk for kind, pk in keys.values() if kind == "comparison"]
    single = [pk for kind, pk in keys.values() if kind == "run"]
    by_comparison: dict[int, list[int]] = {}
    runs = allowed.filter(comparison__in=whole).newest().order_by("position", "pk")
    for comparison, pk in runs.values_list("comparison", "pk") if whole else []:
        by_comparison.setdefault(comparison, []).append(pk)
    known = set(allowed.filter(pk__in=single).values_list("pk", flat=True)) if single else set()
    found = {
        row: by_comparison.get(pk, []) if kind == "comparison" else [pk] * (pk in known)
        for row, (kind, pk) in keys.items()
    }
    return {row: ids for row, ids in found.items() if ids}


def named(user: User, row: str) -> tuple[Comparison | Run, list[int]]:
    """What one row stands for, and its runs; 404 where it is not seen."""
    found = runs_of(user, [row]) if _ROW.fullmatch(row) else {}
    if not found:
        raise Http404
    ids = found[row]
    run = Run.objects.select_related("comparison").get(pk=ids[0])
    return (run if row.startswith("run-") else run.comparison), ids


def ids_of(user: User, rows: Sequence[str]) -> list[int]:
    """The runs of these rows, each once, in their order."""
    return list(dict.fromkeys(pk for ids in runs_of(user, rows).values() for pk in ids))


def _split(row: str) -> tuple[str, int]:
    kind, _, pk = row.partition("-")
    return kind, int(pk)


def noticed(user: User, runs: Sequence[Run] | Sequence[int]) -> None:
    """A page shows these runs with their names to this user."""
    Seen.objects.note(user, [each.pk if isinstance(each, Run) else each for each in runs])
