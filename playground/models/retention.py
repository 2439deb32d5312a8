"""The trash of a team: its rules, and the batches in which they are carried out.

Nothing is deleted while a page waits. A purge only marks; the rows go in batches, so that no write
keeps the database for long.
"""

from datetime import datetime, timedelta
from typing import Any

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from playground.models.choices import Choice
from playground.models.comparisons import Comparison
from playground.models.facts import RunFact
from playground.models.labels import Label, RunLabel
from playground.models.live import LIVE
from playground.models.runs import Run
from playground.models.search import SearchText
from playground.models.teams import Team
from playground.models.turns import Pace, writing
from playground.models.visible import Visibility

BATCH = 100  # comparisons that one step moves, or runs that one step erases, at most
MOST_DAYS = 3650

_moving, _erasing = Pace(BATCH), Pace(BATCH, least=1)


def days(**options: Any) -> Any:
    return models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(MOST_DAYS)],
        **options,
    )


class RetentionQuerySet(models.QuerySet["Retention"]):
    def trash_due(self, now: datetime | None = None) -> int:
        """Move a batch of what is old enough; how many comparisons that was."""
        for rule in self.exclude(trash_after=None):
            if moved := rule.trash_batch(now or timezone.now()):
                return moved
        return 0

    def purge_due(self, now: datetime | None = None) -> int:
        """Mark a batch of what was in the trash for long enough; how many that was."""
        for rule in self.exclude(purge_after=None):
            if marked := rule.purge_batch(now or timezone.now()):
                return marked
        return 0


class Retention(models.Model):
    """What an owner has decided. Without a rule nothing goes by itself."""

    team = models.OneToOneField(Team, on_delete=models.CASCADE, related_name="retention")
    trash_after = days()  # days since the run, or since it was taken out of the trash
    purge_after = days()  # days in the trash
    keep_starred = models.BooleanField(default=True)
    keep_labels = models.ManyToManyField(Label, blank=True, related_name="protecting")

    objects = RetentionQuerySet.as_manager()

    def __str__(self) -> str:
        return f"retention of {self.team}"

    def trash_batch(self, now: datetime) -> int:
        cut = now - timedelta(days=self.trash_after or 0)
        old = Comparison.objects.filter(team_id=self.team_id, deleted_at=None, created_at__lt=cut)
        old = old.filter(Q(restored_at=None) | Q(restored_at__lt=cut))
        found = old.exclude(self._protected()).order_by("created_at").values_list("pk", flat=True)
        return _move(list(found[: _moving.size]), deleted_at=now)

    def purge_batch(self, now: datetime) -> int:
        cut = now - timedelta(days=self.purge_after or 0)
        old = Comparison.objects.filter(team_id=self.team_id, deleted_at__lt=cut, purged_at=None)
        found = list(old.order_by("deleted_at").values_list("pk", flat=True)[:BATCH])
        return Comparison.objects.filter(pk__in=found, deleted_at__lt=cut).update(purged_at=now)

    def _protected(self) -> Any:
        """Whether one of its runs is live, starred, or has a label that protects."""
        runs = Run.objects.filter(comparison=OuterRef("pk"))
        found = Q(Exists(runs.filter(status__in=LIVE)))
        if self.keep_starred:
            found |= Q(Exists(runs.filter(starred=True)))
        labelled = RunLabel.objects.filter(
            run__comparison=OuterRef("pk"), label__in=self.keep_labels.all()
        )
        return found | Q(Exists(labelled))


def _move(ids: list[int], **values: Any) -> int:
    _look_at(ids)
    with writing(_moving):
        return Comparison.objects.move(ids, **values)


def _look_at(ids: list[int]) -> None:
    """Read what is to be changed, before others wait for the disk."""
    list(Comparison.objects.filter(pk__in=ids).values_list())
    list(Run.objects.filter(comparison__in=ids).values_list())


def purge_ownerless(now: datetime | None = None) -> int:
    """Mark a batch of private comparisons whose author was deleted; how many that was.

    Nobody may see them any more, so nobody could ever delete them. What the team saw stays.
    """
    now = now or timezone.now()
    live = Run.objects.filter(comparison=OuterRef("pk"), status__in=LIVE)
    left = Comparison.objects.filter(author=None, visibility=Visibility.PRIVATE, purged_at=None)
    found = list(left.exclude(Exists(live)).values_list("pk", flat=True)[: _moving.size])
    _look_at(found)
    with writing(_moving):
        Comparison.objects.move(found, deleted_at=now)
        return Comparison.objects.filter(pk__in=found, author=None).update(purged_at=now)


def erase_batch() -> int:
    """Delete some rows of what was purged; how many. Children first, the comparison last."""
    purged = Comparison.objects.filter(purged_at__isnull=False).order_by("purged_at").first()
    if purged is None:
        return 0
    runs = list(purged.runs.values_list("pk", flat=True)[: _erasing.size])
    for hanging in (Choice, RunFact, SearchText):
        list(hanging._default_manager.filter(run__in=runs).values_list())
    with writing(_erasing):
        Run.objects.filter(pk__in=runs).delete()
        if not purged.runs.exists():
            purged.delete()
    return max(len(runs), 1)
