"""Work on many runs that goes on in the background, in batches, and survives a restart.

What is left to do are rows (`Batch`): a batch, its removal and the progress are one transaction, so
whoever takes a job over goes on exactly where it stopped.
"""

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Exists, F, OuterRef
from django.urls import reverse
from django.utils import timezone

from playground.models.comparisons import Comparison
from playground.models.labels import Label, RunLabel
from playground.models.runs import Run
from playground.models.teams import Membership, Team
from playground.models.turns import Pace, writing
from playground.models.visible import Visibility
from playground.models.work import KEPT, Work, WorkQuerySet, lease

BATCH = 100  # runs of one transaction at most
INSERTED = 50  # batches of one transaction, for the same reason


class JobQuerySet(WorkQuerySet["Job"]):
    def begin(self, kind: str, membership: Membership, ids: Sequence[int], **values: Any) -> "Job":
        """`ids` of runs, or of comparisons where the kind says so; for a merge none.

        Written in short transactions; nobody takes the job before the last one.
        """
        job = self.create(
            kind=kind,
            team_id=membership.team_id,
            author_id=membership.user_id,
            total=len(ids),
            lease=lease(),
            **values,
        )
        pieces = [ids[start : start + BATCH] for start in range(0, len(ids), BATCH)]
        rows = [Batch(job=job, ids=json.dumps(list(piece))) for piece in pieces]
        for start in range(0, len(rows), INSERTED):
            Batch.objects.bulk_create(rows[start : start + INSERTED])
        self.filter(pk=job.pk).update(lease=None)
        job.lease = None
        return job

    def undo(self, job: "Job", membership: Membership) -> "Job":
        """Take what a job put into the trash out again; what it has not done is left."""
        job.stop()
        return self.begin(Job.Kind.RESTORE, membership, job.trashed(membership))

    def merge(self, membership: Membership, source: Label, label: Label) -> "Job":
        """Give all runs of `source` the other label; in the end `source` is gone."""
        job = self.begin(
            Job.Kind.MERGE, membership, [], label=label, source=source, name=source.name
        )
        job.total = source.run_labels.count()
        job.save(update_fields=["total"])
        return job

    def forget_old(self) -> None:
        self.filter(finished_at__lt=timezone.now() - KEPT).delete()


class Job(Work):
    class Kind(models.TextChoices):
        LABEL = "label", "Add the label"
        UNLABEL = "unlabel", "Remove the label"
        MERGE = "merge", "Merge into the label"
        TRASH = "trash", "Move to the trash"
        RESTORE = "restore", "Take out of the trash"

        STAR = "star", "Star"
        UNSTAR = "unstar", "Take the star away"
        SHOW = "show", "Show to the team"
        HIDE = "hide", "Make private"

    OF_AUTHORS = (Kind.SHOW, Kind.HIDE)  # only of one's own
    OF_COMPARISONS = (Kind.TRASH, Kind.RESTORE, *OF_AUTHORS)
    OF_LABELS = (Kind.LABEL, Kind.UNLABEL)

    kind = models.CharField(max_length=10, choices=Kind)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="jobs")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="jobs"
    )
    label = models.ForeignKey(Label, null=True, on_delete=models.CASCADE, related_name="+")
    source = models.ForeignKey(Label, null=True, on_delete=models.SET_NULL, related_name="+")
    name = models.CharField(max_length=100, blank=True)  # of a label that is gone at the end
    total = models.PositiveIntegerField()
    done = models.PositiveIntegerField(default=0)

    objects = JobQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}: {self.done} of {self.total}"

    def get_absolute_url(self) -> str:
        return reverse("job", args=[self.pk])

    @cached_property
    def pace(self) -> Pace:
        return Pace(BATCH)

    def step(self) -> bool:
        """Some of a batch; False when the job has ended. Raises nothing that another try would
        mend."""
        self._look_ahead()
        with writing(self.pace):
            if not self.going().update(lease=lease()):
                return False  # stopped meanwhile
            worked = self._merge() if self.kind == self.Kind.MERGE else self._batch()
            if worked is None:
                self.close(self.State.FINISHED)
                return False
            self.going().update(done=F("done") + worked)
            self.done += worked
        return True

    def stop(self) -> None:
        """What was done stays done."""
        self._end(self.State.STOPPED)

    def fail(self, said: str) -> None:
        self._end(self.State.FAILED, said)

    def _end(self, state: str, said: str = "") -> None:
        if self.close(state, said):
            self.batches.all().delete()

    def _look_ahead(self) -> None:
        """Read what the next transaction changes: from a cold disk that takes long, and whoever
        writes would wait for it."""
        size = self.pace.size
        if self.kind == self.Kind.MERGE:
            rows = RunLabel.objects.filter(label=self.source_id).order_by("pk")
            ids = list(rows.values_list("run_id", flat=True)[:size])
        else:
            batch = self.batches.order_by("pk").first()
            ids = json.loads(batch.ids)[:size] if batch else []
        if self.kind in self.OF_COMPARISONS:
            list(Comparison.objects.filter(pk__in=ids).values_list())
            list(Run.objects.filter(comparison__in=ids).values_list())
        else:
            list(Run.objects.filter(pk__in=ids).values_list())
            list(RunLabel.objects.filter(run__in=ids).values_list())

    def _batch(self) -> int | None:
        """How many rows of the next batch were looked at; None where none is left."""
        batch = self.batches.order_by("pk").first()
        if batch is None:
            return None
        ids: list[int] = json.loads(batch.ids)
        ids, rest = ids[: self.pace.size], ids[self.pace.size :]
        if rest:
            batch.ids = json.dumps(rest)
            batch.save(update_fields=["ids"])
        else:
            batch.delete()
        # The author's rights as they are now, in the team in which it began.
        member = Membership.objects.filter(team=self.team, user=self.author).first()
        if self.kind in self.OF_COMPARISONS:
            self._move(ids, member)
            return len(ids)
        runs = Run.objects.visible_in(member).filter(pk__in=ids).values_list("pk", flat=True)
        if self.kind == self.Kind.LABEL and self.label is not None:
            RunLabel.objects.put(list(runs), [self.label])
        elif self.kind == self.Kind.UNLABEL:
            RunLabel.objects.filter(run__in=list(runs), label=self.label).delete()
        elif self.kind in (self.Kind.STAR, self.Kind.UNSTAR):
            stars = self.kind == self.Kind.STAR
            Run.objects.filter(pk__in=list(runs), starred=not stars).update(starred=stars)
        return len(ids)

    def _move(self, ids: list[int], member: Membership | None) -> None:
        if member is None:
            return
        if self.kind in self.OF_AUTHORS:
            wanted = Visibility.TEAM if self.kind == self.Kind.SHOW else Visibility.PRIVATE
            seen = Comparison.objects.visible_in(member).filter(author=member.user_id, pk__in=ids)
            changed = seen.exclude(visibility=wanted).values_list("pk", flat=True)
            Comparison.objects.move(list(changed), visibility=wanted)
            return
        own = Comparison.objects.managed_in(member).filter(pk__in=ids)
        if self.kind == self.Kind.TRASH:
            found = list(own.filter(deleted_at=None).values_list("pk", flat=True))
            Comparison.objects.stop(found)
            Comparison.objects.move(found, deleted_at=self.created_at)  # `trashed` finds them by it
        else:
            found = list(own.exclude(deleted_at=None).values_list("pk", flat=True))
            Comparison.objects.move(found, deleted_at=None)

    def trashed(self, membership: Membership) -> list[int]:
        """The comparisons that this job has put into the trash and that are still there."""
        if self.kind != self.Kind.TRASH:
            return []
        managed = Comparison.objects.managed_in(membership)
        found = managed.filter(deleted_at=self.created_at).order_by("pk")
        return list(found.values_list("pk", flat=True))

    def _merge(self) -> int | None:
        """From `source` to `label`: all runs of the team, also those that the owner cannot see."""
        source, label = self.source, self.label
        if source is None or label is None:
            return None
        rows = RunLabel.objects.filter(label=source)
        found = list(rows.order_by("pk").values_list("run_id", flat=True)[: self.pace.size])
        if not found:
            label.take_over(source)
            return None
        RunLabel.objects.put(found, [label])
        rows.filter(run__in=found).delete()
        return len(found)


class Batch(models.Model):
    """A piece of a job that is still to be done."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="batches")
    ids = models.TextField()  # JSON list

    def __str__(self) -> str:
        return f"a batch of job {self.job_id}"


def labelled_elsewise(source: Label, label: Label) -> int:
    """Runs that have `source` and another value of the key of `label`, which a merge replaces."""
    other = RunLabel.objects.filter(run=OuterRef("run"), key=label.key).exclude(
        label__in=[source, label]
    )
    return source.run_labels.filter(Exists(other)).count()
