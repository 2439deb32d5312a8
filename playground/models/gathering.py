"""What a job is to be done to, where that is all that a search finds: put together part by part.

From a cold disk this takes long, and nobody should wait for it. Nothing is done to anything before
all of it is there, so that what is done changes nothing of what is found.
"""

from datetime import datetime

from playground.models import deeds
from playground.models.teams import Membership
from playground.models.walk import Selection, Walk

MOST_FOUND = 100_000  # runs
PART = 1_000  # of one step
TOO_MANY = (
    f"This search finds more than {MOST_FOUND:,} runs. Nothing was done. "
    "Narrow it first, by a date or a model for example."
)
SOME_SEVERAL = "Some of these rows have several runs. Switch to a row for each run to rate them."


class Gathering:
    """`step` until it is `over`. The search is of the member's current team."""

    def __init__(
        self,
        kind: str,
        member: Membership,
        selection: Selection,
        *,
        single: bool,
        begun: datetime | None = None,
    ) -> None:
        self.kind, self.member = kind, member
        self.whole = not single or kind in deeds.OF_COMPARISONS
        self.walk = Walk(member.user, selection, begun, PART)
        self.found = 0  # runs
        self.chosen: set[int] = set()  # comparisons where `whole`, else runs
        self.ids: set[int] = set()  # of those that this may be done to
        self.refused = ""  # why nothing is to be done

    @property
    def over(self) -> bool:
        return bool(self.refused) or self.walk.key is None

    @property
    def percent(self) -> int:
        done, total = self.walk.way()
        return min(100, 100 * done // total) if total else 0

    def step(self) -> None:
        keys = [key for key in self.walk.keys() or [] if key.created_at <= self.walk.begun]
        self.found += len(keys)
        if self.found > MOST_FOUND:
            self.refused = TOO_MANY
            return
        named = {key.comparison if self.whole else key.run for key in keys}
        fresh = sorted(named - self.chosen)
        self.chosen.update(fresh)
        wholes, runs = (fresh, []) if self.whole else ([], fresh)
        self.ids.update(deeds.allowed(self.kind, self.member, wholes, runs))
        if self.kind == deeds.Kind.RATE and len(self.ids) > len(self.chosen):
            self.refused = SOME_SEVERAL
