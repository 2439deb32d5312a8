"""A search as it is written down, and the way through all that it finds: oldest first, in parts."""

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from django.utils import timezone

from playground import query
from playground.models.finder import Finder, Key
from playground.models.teams import User

BATCH = 500  # runs of one look into the index
START = Key(datetime(1970, 1, 1, tzinfo=UTC), 0)


@dataclass(frozen=True)
class Selection:
    """What is asked for: the runs that a search finds, or selected ones."""

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
    """Goes once over all runs of a selection that the user may see now."""

    def __init__(
        self, user: User, selection: Selection, begun: datetime | None = None, size: int = 0
    ) -> None:
        """`begun`: later runs are not waited for; `size`: of a batch."""
        self.size = size or BATCH
        self.selection = selection
        parsed = selection.query
        mine = selection.mine and not parsed.names("user")
        within = (selection.comparisons, selection.runs)
        self.finder = Finder(
            user, parsed, mine=mine, single=True, within=within if any(within) else None
        )
        self.key: Key | None = START
        self.begun = begun or timezone.now()
        self.first = self.last = self.begun

    def way(self) -> tuple[int, int]:
        """How far it is: (seconds, of so many) of the time from which the runs are.

        To count the runs would cost as much as to go through them, and streams their share of a
        cold disk.
        """
        done, total = self.last - self.first, self.begun - self.first
        return int(done.total_seconds()), int(total.total_seconds())

    def batch(self) -> list[int] | None:
        """The next runs; None at the end. Some may be empty."""
        keys = self.keys()
        return None if keys is None else [key.run for key in keys]

    def keys(self) -> list[Key] | None:
        """The same as places in the list."""
        if self.key is None:
            return None
        with timezone.override(self.selection.zone or None):
            found = self.finder.page(self.size, newer=self.key)
        self.key = found.newer
        keys = found.keys[::-1]
        if keys:
            self.first, self.last = min(self.first, keys[0].created_at), keys[-1].created_at
        if keys and keys[-1].created_at > self.begun:
            self.key = None  # what begins meanwhile is not waited for
        return keys
