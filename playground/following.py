"""How far a socket has sent one run, and what it reads of the database for that."""

import json
from collections import deque

from django.contrib.auth import get_user
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest

from playground.log import to_json
from playground.models import Run, User

LONGEST_MESSAGE = 64 * 1024  # characters; a follow of 1000 runs has 20,000


class Following:
    """How far one run has been sent on this socket."""

    def __init__(self, comparison: int, last: int) -> None:
        self.comparison = comparison
        self.cursor = last  # the last row that was sent
        self.acknowledged = last
        self.repeated = False  # the reader said the same position twice, and nothing moved
        self.behind = False  # it waits for its reader; the log is read when it has caught up
        self.size = 0  # characters on their way
        self._on_the_way: deque[tuple[int, int]] = deque()  # (seq, characters)
        self._seen = -1  # the cursor when it lagged for the last time

    def sent(self, seq: int, size: int) -> None:
        self.cursor = max(self.cursor, seq)
        self.size += size
        self._on_the_way.append((seq, size))

    def lags(self, committed: int | None) -> bool:
        """Whether the log has rows that do not come by themselves. `committed`: its last row, None
        where another process writes it.

        A row that was committed this moment is on its way to the socket; only one who begins, or
        who is still there when the page asks again, has to read.
        """
        if committed is None:
            return True
        if committed <= self.cursor:
            return False
        lags = self.behind or self._seen in (-1, self.cursor)
        self._seen = self.cursor
        return lags

    def acknowledge(self, last: int) -> None:
        """Rows up to `last` have arrived. A reader that stands still behind us has lost some."""
        stuck = last == self.acknowledged and last < self.cursor
        if stuck and self.repeated:
            self.cursor = last
            self._on_the_way.clear()
            self.size = 0
        self.repeated = stuck
        self.acknowledged = last
        while self._on_the_way and self._on_the_way[0][0] <= last:
            self.size -= self._on_the_way.popleft()[1]


def positions(text: str | None) -> dict[int, int]:
    """{run: last seq} of a message. Raises ValueError with what is wrong."""
    if text is None or len(text) > LONGEST_MESSAGE:
        raise ValueError("A message is a JSON text of at most 64 kB.")
    try:
        message = json.loads(text)
        follow = message["follow"]
        found = {int(run): int(last) for run, last in follow.items()}
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        raise ValueError('Expected {"follow": {"run id": last seq}}.') from None
    if any(not 0 <= number < 2**31 for pair in found.items() for number in pair):
        raise ValueError("Run ids and positions are numbers from 0.")
    return found


def session_user(key: str) -> User | None:
    """Who the session belongs to now: not after a logout, a deactivation or a new password."""
    request = HttpRequest()
    request.session = SessionStore(key)
    user = get_user(request)
    return user if isinstance(user, User) else None


def visible_runs(user: User, runs: list[int]) -> dict[int, int]:
    """{run: comparison} of those that this user may see."""
    return dict(Run.objects.visible_to(user).filter(pk__in=runs).values_list("pk", "comparison_id"))


def waiting_runs(runs: list[int]) -> set[int]:
    return Run.objects.filter(pk__in=runs).waiting()


def log_and_end(run: int, cursor: int) -> tuple[list[tuple[int, str]], str]:
    """Rows behind the cursor, and the end of the run as JSON text, or ""."""
    found = Run.objects.get(pk=run)
    log = found.log_after(cursor) if found.live else []
    if found.live and not log:
        found.refresh_from_db(fields=["status"])  # it may have ended between the two reads
    return log, "" if found.live else end_of(found)


def end_of(run: Run) -> str:
    """What `close_run` told about a run, from what it stored."""
    choices = run.choices.values_list("index", "text", "sha256")
    return to_json(
        {
            "run": run.pk,
            "status": str(run.status),
            "choices": [
                {"index": index, "length": len(text), "sha256": sha256}
                for index, text, sha256 in choices
            ],
        }
    )
