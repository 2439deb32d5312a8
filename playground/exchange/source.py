"""Which runs go out, oldest first, a batch at a time."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from django.db.models import Prefetch, Sum
from django.db.models.functions import Length
from django.utils import timezone

from playground import query
from playground.models import Choice, Comment, Comparison, Rating, Run, RunFact, User
from playground.models.finder import Finder, Key
from playground.models.live import LIVE

BATCH = 500  # runs of one look into the index
SLICE = 20  # of them, read at once
HEAVY = 4_000_000  # characters that are read at once, where not a single run has more
PACKED = 10  # how much larger probabilities are once they are unpacked
START = Key(datetime(1970, 1, 1, tzinfo=UTC), 0)


@dataclass(frozen=True)
class Selection:
    """What is exported: the runs that a search finds, or selected ones."""

    typed: str = ""
    mine: bool = False
    comparisons: tuple[int, ...] = ()  # with all their runs
    runs: tuple[int, ...] = ()
    today: str = ""  # the day that `after:7d` counts from
    zone: str = ""  # in whose midnights days are meant

    @classmethod
    def now(cls, **values: Any) -> "Selection":
        today, zone = str(timezone.localdate()), timezone.get_current_timezone_name()
        return cls(today=today, zone=zone, **values)

    def to_json(self) -> str:
        return json.dumps(self.__dict__)

    @classmethod
    def from_json(cls, text: str) -> "Selection":
        found = json.loads(text)
        chosen = {name: tuple(found.get(name, ())) for name in ("comparisons", "runs")}
        return cls(**{**found, **chosen})

    @property
    def query(self) -> query.Query:
        day = date.fromisoformat(self.today) if self.today else timezone.localdate()
        return query.parse(self.typed, day)


class Walk:
    """Goes once over all runs of a selection that have ended and that the user may see now."""

    def __init__(self, user: User, selection: Selection) -> None:
        self.selection = selection
        parsed = selection.query
        mine = selection.mine and not parsed.names("user")
        within = (selection.comparisons, selection.runs)
        self.finder = Finder(
            user, parsed, mine=mine, single=True, within=within if any(within) else None
        )
        self.key: Key | None = START
        self.first = self.last = self.begun = timezone.now()

    def way(self) -> tuple[int, int]:
        """How far it is: (seconds, of so many) of the time from which the runs are.

        To count the runs would cost as much as to go through them, and streams their share of a
        cold disk.
        """
        done, total = self.last - self.first, self.begun - self.first
        return int(done.total_seconds()), int(total.total_seconds())

    def batch(self) -> list[int] | None:
        """The next runs; None at the end. Some may be empty."""
        if self.key is None:
            return None
        with timezone.override(self.selection.zone or None):
            found = self.finder.page(BATCH, newer=self.key)
        self.key = found.newer
        keys = found.keys[::-1]
        if keys:
            self.first, self.last = min(self.first, keys[0].created_at), keys[-1].created_at
        if keys and keys[-1].created_at > self.begun:
            self.key = None  # what begins meanwhile is not waited for
        return [key.run for key in keys]


def slices(runs: Sequence[int]) -> Iterator[Sequence[int]]:
    """So few that what is read at once stays small, however long the texts are. Two queries."""
    weight = dict(Run.objects.filter(pk__in=runs).values_list("pk", Length("request")))
    size = Length("text") + Length("reasoning") + Length("packed_logprobs") * PACKED
    outputs = Choice.objects.filter(run__in=runs).order_by().values_list("run")
    for pk, characters in outputs.annotate(size=Sum(size)):
        weight[pk] = weight.get(pk, 0) + characters
    part: list[int] = []
    held = 0
    for pk in runs:
        more = weight.get(pk, 0)
        if part and (len(part) == SLICE or held + more > HEAVY):
            yield part
            part, held = [], 0
        part.append(pk)
        held += more
    if part:
        yield part


def load(user: User, runs: Sequence[int]) -> list[Run]:
    """These runs with all that hangs on them, in this order; not what went away meanwhile."""
    visible = Run.objects.visible_to(user) | Run.objects.trashed_for(user)
    rows = (
        visible.filter(pk__in=runs)
        .exclude(status__in=LIVE)
        .select_related("author")
        .prefetch_related(
            Prefetch(
                "comparison",
                queryset=Comparison.objects.select_related("author").defer("document"),
            ),
            "choices",
            "labels",
            Prefetch("ratings", queryset=Rating.objects.select_related("user")),
            Prefetch("comments", queryset=Comment.objects.select_related("author")),
            Prefetch(
                "facts",
                queryset=RunFact.objects.filter(source=RunFact.Source.USER).order_by("pk"),
                to_attr="pairs",
            ),
        )
    )
    found = {run.pk: run for run in rows}
    return [found[pk] for pk in runs if pk in found]
