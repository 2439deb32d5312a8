"""Whose turn it is among several server processes."""

from datetime import datetime, timedelta

from django.db import models
from django.utils import timezone


class ChoreQuerySet(models.QuerySet["Chore"]):
    def take(self, name: str, every: timedelta, now: datetime | None = None) -> bool:
        """Whether the chore is due, and ours: of all processes that ask, one hears yes.

        By the clock, which may jump: then it is done early or late, never twice at once.
        """
        now = now or timezone.now()
        self.get_or_create(name=name, defaults={"next_at": now})
        due = self.filter(name=name, next_at__lte=now) | self.filter(
            name=name,
            next_at__gt=now + every,  # a clock that was set back
        )
        return bool(due.update(next_at=now + every))


class Chore(models.Model):
    name = models.CharField(max_length=40, unique=True)
    next_at = models.DateTimeField(default=timezone.now)

    objects = ChoreQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name
