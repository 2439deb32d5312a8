"""Which runs a search finds, newest first, without reading more than it must.

What stands on the run itself (model, status, dates…) is a condition of the query. Words, labels,
facts and comments stand in lists of their own, each a `Source` that can name its runs where they
are few, and can say which of some runs it holds. Few: those runs are fetched and sorted. Many: the
newest runs are walked, and each source is asked about them. Either way the work is bounded: after
`WALK` runs the walk ends and says so, and goes on from there when asked.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet

from playground.models.among import Among
from playground.models.runs import Run
from playground.models.sources import FEW, SLICE, Literally, Source, Words, condition, source
from playground.models.teams import User
from playground.query import Query

WALK = 10_000  # runs that one answer looks through
FIRST = 1_000  # of them, before any source is asked for its list
STEP = 3_000  # at once after that
FREQUENT = 0.3  # share of the newest runs from which words are not listed


class Key(NamedTuple):
    """A place in the list: newest first, the runs of a comparison together."""

    created_at: datetime
    comparison: int
    run: int = 0

    def __str__(self) -> str:
        return f"{self.created_at.isoformat()}_{self.comparison}_{self.run}"


@dataclass(frozen=True)
class Found:
    keys: list[Key]  # of the page, newest first
    older: Key | None = None  # after which there is more
    newer: Key | None = None  # before which there is more
    walked: int = 0  # runs looked through where the walk ended early; 0 where it did not


@dataclass(frozen=True)
class Counted:
    """What the newest runs of a search are."""

    runs: list[Any]  # rows of the fields asked for, `pk` first
    complete: bool  # nothing was left out
    walked: bool = False  # it is of the newest WALK runs only


class Finder:
    """A search of one user, in the team that is current."""

    def __init__(
        self,
        user: User,
        query: Query,
        *,
        mine: bool = False,
        single: bool = False,
        # Only these: (comparisons with all their runs, runs).
        within: tuple[Sequence[int], Sequence[int]] | None = None,
    ):
        self.user, self.query, self.mine, self.single = user, query, mine, single
        self.within = within
        # {row: the first of its runs that the search found}, of pages for which sources were asked
        self.hits: dict[int, int] = {}
        membership = user.membership()
        self.team_id = membership.team_id if membership else 0

    @cached_property
    def trashed(self) -> bool:
        return any(each.value == "trashed" and not each.minus for each in self.query.names("is"))

    @cached_property
    def rows(self) -> "QuerySet[Run]":
        """All that the user may see and that the conditions allow."""
        runs = Run.objects
        found = runs.trashed_for(self.user) if self.trashed else runs.visible_to(self.user)
        if self.mine:
            found = found.filter(author_id=self.user.pk)
        if self.within is not None:
            wholes, runs_alone = self.within
            found = found.filter(Q(comparison__in=wholes) | Q(pk__in=runs_alone))
        for each in self.query.filters:
            wanted = condition(each, self.user)
            if wanted:
                found = found.exclude(wanted) if each.minus else found.filter(wanted)
        return found  # type: ignore[no-any-return]

    @cached_property
    def sources(self) -> list[Source]:
        """The cheap ones first; what reads the texts comes last."""
        query = self.query
        found = [
            source(each, self.team_id)
            for each in query.filters
            if condition(each, self.user) is None
        ]
        if query.words:
            words = Words(self.team_id, query.words)
            found.insert(len(found) if words.begins else 0, words)
        if query.literals:
            found.append(Literally(query.literals))
        found += [Literally([text], minus=True) for text in query.absent]
        return found

    def page(self, size: int, older: Key | None = None, newer: Key | None = None) -> Found:
        """The rows after `older` or, from the bottom up, those before `newer`."""
        up = newer is not None
        cursor = newer if up else older
        keys, walked, last = self._some(size + 1, cursor, up)
        more = len(keys) > size
        keys = keys[:size]
        first_key, last_key = (keys[0], keys[-1]) if keys else (None, None)
        rest = last_key if more else last if walked else None
        if up:
            return Found(keys[::-1], older=first_key or newer, newer=rest, walked=walked)
        return Found(keys, older=rest, newer=first_key if cursor else None, walked=walked)

    def _some(self, count: int, cursor: Key | None, up: bool) -> tuple[list[Key], int, Key | None]:
        """(keys, runs looked through where that ended early, the last one looked at)."""
        if not self.sources:
            return self._directly(count, cursor, up), 0, None
        found: dict[Any, Key] = {}
        walked, step, last = 0, FIRST, cursor
        while walked < WALK:
            rows = self._keys(self._beyond(last, up), up).values_list("pk", flat=True)
            runs = list(rows[:step])
            self._collect(found, self._passing(runs), count)
            if len(found) >= count or len(runs) < step:
                return list(found.values())[:count], 0, None
            if not walked and (few := self._few()) is not None:
                return self._of(few, count, cursor, up), 0, None
            tail = self._keys_of(runs[-10:])
            last = next((tail[run] for run in reversed(runs[-10:]) if run in tail), last)
            walked, step = walked + len(runs), STEP
        return list(found.values())[:count], walked, last

    def _collect(self, found: dict[Any, Key], runs: Sequence[int], count: int) -> None:
        """Add the rows that these runs stand in, in their order, until there are enough."""
        for part in _slices(runs, 4 * count):
            keys = self._keys_of(part)
            for run in part:
                if run in keys:  # not purged meanwhile
                    self._add(found, keys[run])
            if len(found) >= count:
                return

    def _keys_of(self, runs: Sequence[int]) -> dict[int, Key]:
        rows = Run.objects.filter(Among("pk", runs)).values_list("created_at", "comparison", "pk")
        return {row[2]: Key(*row) for row in rows}

    def _directly(self, count: int, cursor: Key | None, up: bool) -> list[Key]:
        rows = self._keys(self._beyond(cursor, up), up)
        if self.single:
            return [Key(*row) for row in rows[:count]]
        whole = rows.values_list("created_at", "comparison").distinct()
        return [Key(*row) for row in whole[:count]]

    def _keys(self, rows: "QuerySet[Run]", up: bool) -> "QuerySet[Any, Any]":
        sign = "" if up else "-"
        order = [f"{sign}created_at", f"{sign}comparison"]
        if self.single or self.sources:
            order.append(f"{sign}pk")
        return rows.order_by(*order).values_list("created_at", "comparison", "pk")

    def _beyond(self, cursor: Key | None, up: bool) -> "QuerySet[Run]":
        """Strictly after the cursor in the list; one without a run is the whole comparison."""
        if cursor is None:
            return self.rows
        word = "gt" if up else "lt"
        end = Q(**{f"comparison__{word}": cursor.comparison})
        if cursor.run:
            end |= Q(**{"comparison": cursor.comparison, f"pk__{word}": cursor.run})
        # The first condition alone is what an index can start from.
        return self.rows.filter(**{f"created_at__{word}e": cursor.created_at}).filter(
            Q(**{f"created_at__{word}": cursor.created_at}) | end
        )

    def _add(self, found: dict[Any, Key], key: Key) -> None:
        """The row that this run stands in."""
        row = key.run if self.single else key.comparison
        found.setdefault(row, key if self.single else Key(key.created_at, key.comparison))
        self.hits[row] = min(key.run, self.hits.get(row, key.run))

    def _passing(self, runs: list[int]) -> list[int]:
        for each in self.sources:
            if not runs:
                break
            runs = each.among(runs)
        return runs

    def _few(self) -> list[int] | None:
        """Runs that every source which names its runs names; None where none does."""
        together: set[int] | None = None
        for each in self.sources:
            if each.minus or (named := each.few()) is None:
                continue
            together = set(named) if together is None else together & set(named)
            if len(together) <= FIRST:
                break
        return None if together is None else sorted(together)

    def _of(self, few: list[int], count: int, cursor: Key | None, up: bool) -> list[Key]:
        """The same page from a short list of runs."""
        rows = self._beyond(cursor, up)
        keys = {
            row[2]: Key(*row)
            for part in _slices(few, FEW)
            for row in rows.filter(Among("pk", part)).values_list("created_at", "comparison", "pk")
        }
        ordered = sorted(keys, key=lambda run: keys[run], reverse=not up)
        found: dict[Any, Key] = {}
        for part in _slices(ordered, FIRST):
            for run in self._passing(list(part)):
                self._add(found, keys[run])
            if len(found) >= count:
                break
        return list(found.values())[:count]

    def counted(self, *fields: str, most: int = FEW) -> Counted:
        """The newest runs of the search, at most so many, with these fields."""
        rows = self.rows.order_by("-created_at", "-comparison", "-pk").values_list("pk", *fields)
        if not self.sources:
            found = list(rows[: most + 1])
            return Counted(found[:most], len(found) <= most)
        newest = list(rows[: WALK + 1])
        if len(newest) <= WALK:
            return Counted(self._kept(newest), True)
        few = None if self._is_frequent(newest) else self._few()
        if few is None:
            return Counted(self._kept(newest[:WALK]), False, walked=True)
        found = [row for part in _slices(few, FEW) for row in rows.filter(Among("pk", part))]
        return Counted(self._kept(found), True)

    def _is_frequent(self, newest: list[Any]) -> bool:
        """Whether words are in so many of the newest runs that their list would be far too long.

        PostgreSQL puts the whole list together before it gives the first of it.
        """
        some = [row[0] for row in newest[:FIRST]]
        return bool(self.query.words) and len(self._passing(some)) > FREQUENT * FIRST

    def _kept(self, rows: list[Any]) -> list[Any]:
        by_run = {row[0]: row for row in rows}
        return [by_run[run] for run in self._passing(list(by_run))]

    looked_through = 0  # by `everything`, where it ended early

    def everything(self, begin: datetime, end: datetime, *fields: str) -> Iterator[list[Any]]:
        """All runs of the search between two moments, in parts: rows of `pk` and these fields.

        Only what has to read the text of every run ends early, with the newest ones.
        """
        rows = self.rows.filter(created_at__gte=begin, created_at__lt=end)
        rows = rows.values_list("pk", *fields)
        few = self._few() if self.sources else None
        if few is not None:
            for part in _slices(few, FEW):
                yield self._kept(list(rows.filter(Among("pk", part))))
            return
        reads_texts = self.query.has_text and not self.query.words
        if reads_texts:
            newest = list(rows.order_by("-created_at", "-pk")[: WALK + 1])
            self.looked_through = WALK if len(newest) > WALK else 0
            yield self._kept(newest[:WALK])
            return
        found: Iterator[Any] = rows.order_by().iterator(chunk_size=2_000)
        while part := list(islice(found, 2_000)):
            yield self._kept(part) if self.sources else part


def _slices(runs: Sequence[int], size: int = SLICE) -> Iterator[Sequence[int]]:
    for start in range(0, len(runs), size):
        yield runs[start : start + size]
