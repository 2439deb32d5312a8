"""Who has seen a run with its names: their votes in a blind panel about it do not count."""

from collections.abc import Collection

from django.conf import settings
from django.db import models
from django.utils import timezone

from playground.models.runs import Run
from playground.models.teams import User


class SeenQuerySet(models.QuerySet["Seen"]):
    def note(self, user: User, run_ids: Collection[int]) -> None:
        """What a page has just shown to this user; the first time counts. One read, and a write
        only where something is new."""
        known = self.filter(user=user, run__in=run_ids).values_list("run", flat=True)
        new = set(run_ids) - set(known) if run_ids else set()
        rows = [self.model(user=user, run_id=pk) for pk in sorted(new)]
        self.bulk_create(rows, ignore_conflicts=True, batch_size=400)


class Seen(models.Model):
    """A person has opened a run, its comparison or its row in a list."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = SeenQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "run"], name="seen_once_by_a_person")
        ]

    def __str__(self) -> str:
        return f"{self.user} has seen run {self.run_id}"
