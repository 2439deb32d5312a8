"""Work that is written down and done a step at a time, also after a restart.

Whoever does it holds it by a lease, which each step renews; where a lease has run out, the process
that held it is gone, and another one takes the work over.
"""

from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db import connection, models
from django.db.models import Q
from django.utils import timezone

from playground.models.teams import User

LEASE = timedelta(seconds=30)
KEPT = timedelta(days=7)  # that what has ended is listed


def lease() -> datetime:
    """Until when whoever takes it now has it."""
    return timezone.now() + LEASE


class State(models.TextChoices):
    WAITING = "waiting", "Waiting"
    RUNNING = "running", "Running"
    FINISHED = "finished", "Done"
    STOPPED = "stopped", "Stopped"
    FAILED = "failed", "Failed"


OPEN = (State.WAITING, State.RUNNING)
# In plain SQL: each second, and there is hardly ever any.
ANY = "SELECT 1 FROM {} WHERE state IN (%s, %s) LIMIT 1"

Some = TypeVar("Some", bound="Work")


class WorkQuerySet(models.QuerySet[Some]):
    def visible_to(self, user: User) -> Any:
        """Own ones in the current team: what they name or found may be private."""
        membership = user.membership()
        if membership is None:
            return self.none()
        return self.filter(team_id=membership.team_id, author=user)

    def going(self) -> Any:
        return self.filter(state__in=OPEN)

    def take(self) -> Some | None:
        """The oldest that nobody works on; from now on it is ours for `LEASE`."""
        if not self._any():
            return None
        free = self.going().filter(Q(lease=None) | Q(lease__lt=timezone.now()))
        for found in free.order_by("pk")[:5]:
            if free.filter(pk=found.pk).update(lease=lease(), state=State.RUNNING):
                found.refresh_from_db()
                taken: Some = found
                return taken
        return None

    def _any(self) -> bool:
        """Whether there is work of this table that has not ended."""
        with connection.cursor() as cursor:
            cursor.execute(ANY.format(self.model._meta.db_table), OPEN)
            return cursor.fetchone() is not None


class Work(models.Model):
    """With a `team` and an `author`, whose rights it has when it is done."""

    State, OPEN = State, OPEN

    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    error = models.TextField(blank=True)
    lease = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True

    @property
    def open(self) -> bool:
        return self.state in OPEN

    def going(self) -> Any:
        """The row of this one, as long as it has not ended or been stopped."""
        return type(self)._default_manager.filter(pk=self.pk, state__in=OPEN)

    def close(self, state: str, said: str = "") -> bool:
        """False where it had ended before."""
        now = timezone.now()
        closed = self.going().update(state=state, finished_at=now, lease=None, error=said)
        if closed:
            self.state, self.finished_at, self.error = state, now, said
        return bool(closed)
