"""How columns that stand side by side differ in what was sent: what their heads name."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Max

from playground.axes import Place
from playground.changes import short, text_of
from playground.completion import CompletionRequest
from playground.documents import AUTOMATIC
from playground.models import Comparison, Run, RunFact

END = 30  # characters of an input
MOST = 4  # settings that a head names; its title has all

Settings = Mapping[str, str]  # {path: text}


@dataclass(frozen=True)
class Apart:
    """What one column has otherwise than another. A value of "" was not sent."""

    settings: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.settings)

    def with_more(self, other: "Apart") -> "Apart":
        """With what the other has beside; a path that is told already, and "", are left out."""
        told = dict(self.settings)
        more = ((path, text) for path, text in other.settings if text and path not in told)
        return Apart((*self.settings, *more))

    @property
    def shown(self) -> list[tuple[str, str]]:
        return [(path, short(value)) for path, value in self.settings[:MOST]]

    @property
    def words(self) -> list[tuple[str, str]]:
        return [(path, value or "not sent") for path, value in self.shown]

    @property
    def more(self) -> int:
        return max(0, len(self.settings) - MOST)

    @property
    def title(self) -> str:
        """All of it in full, where `shown` is not that."""
        if self.shown == list(self.settings):
            return ""
        return ", ".join(f"{path} {value or 'not sent'}" for path, value in self.settings)


def settings_of(request: CompletionRequest) -> Settings:
    """What was sent beside model and input."""
    unsent = set(request.not_sent())
    values = {path: value for path, value in request.values.items() if path not in unsent}
    sent = {**values, **request.extra, **request.own_headers}
    return {path: text_of(value) or '""' for path, value in sent.items()}


def apart(columns: Sequence[Settings], without: Collection[str] = ()) -> list[Apart]:
    """Of each column the settings that not all of them share; of `without` nothing is told.

    What the form sends by itself counts only where every column sends it: an API that does not
    know it is no difference that anybody made.
    """
    told = [
        path
        for path in dict.fromkeys(path for each in columns for path in each)
        if path not in without
        and len({each.get(path) for each in columns}) > 1
        and (path not in AUTOMATIC or all(path in each for each in columns))
    ]
    return [Apart(tuple((path, each.get(path, "")) for path in told)) for each in columns]


def tell(runs: Sequence[Any], visible: Any = None) -> list[Any]:
    """Set `apart` of these runs, and return those of other columns beside them, with theirs.

    Without `visible` the runs are all that stand side by side. Else, for each comparison, the
    newest run of each further column is read from there.
    """
    beside: list[Any] = []
    for comparison in {run.comparison_id: run.comparison for run in runs}.values():
        own = [run for run in runs if run.comparison_id == comparison.pk]
        others = [] if visible is None else _others(visible, comparison, own)
        found = apart_in(comparison, [*own, *others])
        for run in [*own, *others]:
            run.apart = found.get(run.column, Apart())
        beside += others
    return beside


def apart_in(comparison: Comparison, runs: Iterable[Run]) -> dict[int, Apart]:
    """{column: how it differs}, by the first run of each; a grid names its own axes itself.

    Of runs whose requests were left in the database only those that count are read.
    """
    first: dict[int, Run] = {}
    for run in runs:
        first.setdefault(run.column, run)
    if len(first) < 2:
        return {}
    unread = [run.pk for run in first.values() if "request" in run.get_deferred_fields()]
    texts = dict(Run.objects.filter(pk__in=unread).values_list("pk", "request")) if unread else {}
    asked = [texts.get(run.pk) or run.request for run in first.values()]
    requests = [CompletionRequest.from_json(text) for text in asked]
    axes: list[str] = comparison.axes_value.get("fields", [])
    columns = [settings_of(each) for each in requests]
    if not comparison.axes:
        columns = [{**ends, **own} for ends, own in zip(_ends(requests), columns, strict=True)]
    return dict(zip(first, apart(columns, axes), strict=True))


def _ends(requests: Sequence[CompletionRequest]) -> list[Settings]:
    """The end of each input: one column may run on a changed prompt while the others stay. Of a
    text and messages nobody could say whether they are the same."""
    if len({each.operation for each in requests}) > 1:
        return [{} for _ in requests]
    name = "messages" if requests[0].operation == "chat" else "prompt"
    texts = (" ".join(each.prompt_text().split()) for each in requests)
    return [{name: text if len(text) <= END else f"…{text[-END:]}"} for text in texts]


def _others(visible: Any, comparison: Comparison, own: Sequence[Run]) -> list[Run]:
    rest = visible.filter(comparison=comparison).exclude(column__in={run.column for run in own})
    newest = rest.order_by().values("column").annotate(newest=Max("pk"))
    ids = [row["newest"] for row in newest]
    if not ids:
        return []
    found = Run.objects.filter(pk__in=ids).only("comparison_id", "column", "request")
    return list(found.order_by("column"))


def in_rows(runs: Sequence[Any]) -> None:
    """Set `apart` of runs of a list, which has not read their requests; of each comparison alone.

    From their places on the axes and from the facts that the search keeps. A run that is live or
    has just ended has no facts yet: as long as one is missing only the places are told.
    """
    groups: dict[int, list[Any]] = {}
    for run in runs:
        run.apart = Apart()
        groups.setdefault(run.comparison_id, []).append(run)
    several = [run for group in groups.values() if len(group) > 1 for run in group]
    if not several:
        return
    kept: dict[int, dict[str, str]] = {run.pk: {} for run in several}
    facts = RunFact.objects.filter(run__in=kept, source=RunFact.Source.PARAMETER)
    for pk, key, text in facts.order_by("pk").values_list("run", "key", "text"):
        kept[pk][key] = text or '""'
    places = _places(several)
    for group in (each for each in groups.values() if len(each) > 1):
        known = all(run.indexed for run in group)
        sent = apart([kept[run.pk] if known else {} for run in group])
        stand = apart([places[run.pk] for run in group])
        for run, found, place in zip(group, sent, stand, strict=True):
            run.apart = found.with_more(place)


def _places(runs: Sequence[Any]) -> dict[int, Settings]:
    """{run: where it stands on the axes of its comparison}; a query where a table is among them."""
    places = {run.pk: run.place for run in runs}
    tables = {run.comparison_id for run in runs if places[run.pk].row is not None}
    found = Comparison.objects.filter(pk__in=tables).only("axes") if tables else []
    rows = {each.pk: each.axes_value.get("rows", []) for each in found}
    return {run.pk: _pairs(places[run.pk], rows.get(run.comparison_id, [])) for run in runs}


def _pairs(place: Place, rows: Sequence[Settings]) -> Settings:
    own = rows[place.row] if place.row is not None and place.row < len(rows) else {}
    repeat = {"repeat": str(place.repeat + 1)} if place.repeat is not None else {}
    return {**place.values, **own, **repeat}
