"""Work on many runs that goes on in the background, in batches, and survives a restart.

What is left to do are rows (`Batch`): a batch, its removal, the progress and what takes it back
(`Reversal`) are one transaction, so whoever takes a job over goes on exactly where it stopped.
"""

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import F
from django.urls import reverse
from django.utils import timezone

from playground.models import deeds
from playground.models.batches import BATCH, SEARCH, Batch, Reversal, write
from playground.models.gathering import Gathering
from playground.models.labels import Label, RunLabel
from playground.models.teams import Membership, Team
from playground.models.turns import Pace, writing
from playground.models.walk import Selection
from playground.models.work import KEPT, Work, WorkQuerySet, lease


class JobQuerySet(WorkQuerySet["Job"]):
    def begin(self, kind: str, membership: Membership, ids: Sequence[int], **values: Any) -> "Job":
        """`ids` of runs, or of comparisons where the kind says so; for a merge none."""
        return self._begin(kind, membership, [deeds.Back("", "", list(ids))], **values)

    def search(
        self, kind: str, membership: Membership, found: Selection, *, single: bool, **values: Any
    ) -> "Job":
        """To all that this search finds, rows of comparisons or of `single` runs."""
        spec = {"selection": found.to_json(), "single": single, "percent": 0}
        with transaction.atomic():
            job = self.create(
                kind=kind,
                team_id=membership.team_id,
                author_id=membership.user_id,
                total=0,
                **values,
            )
            Batch.objects.create(job=job, kind=SEARCH, ids=json.dumps(spec))
        return job

    def _begin(
        self, kind: str, membership: Membership, pieces: Sequence[deeds.Back], **values: Any
    ) -> "Job":
        """Written in short transactions; nobody takes the job before the last one."""
        job = self.create(
            kind=kind,
            team_id=membership.team_id,
            author_id=membership.user_id,
            total=sum(len(piece.ids) for piece in pieces),
            lease=lease(),
            **values,
        )
        write(job, pieces)
        self.filter(pk=job.pk).update(lease=None)
        job.lease = None
        return job

    def undo(self, job: "Job", membership: Membership) -> "Job | None":
        """Take back what a job has done, the last first; what it has not done is left.

        None where that has begun before.
        """
        job.stop()
        if not self.filter(pk=job.pk, undone=False).update(undone=True):
            return None
        rows = job.reversals.order_by("-pk").values_list("kind", "value", "ids")
        pieces = [deeds.Back(kind, value, json.loads(ids)) for kind, value, ids in rows]
        return self._begin(Job.Kind.UNDO, membership, pieces, name=job.what[:100])

    @transaction.atomic
    def merge(self, membership: Membership, source: Label, label: Label) -> "Job":
        """Give all runs of `source` the other label, or the one that this is being merged into;
        in the end `source` is gone. Raises ValidationError where `source` is on its way elsewhere.
        """
        list(Team.objects.select_for_update().filter(pk=membership.team_id))  # one at a time
        going = self.going().filter(kind=Job.Kind.MERGE, team=membership.team_id)
        merges: dict[Any, Job] = {each.source_id: each for each in going.select_related("label")}
        while (further := merges.get(label.pk)) and further.label:
            label = further.label
        if (same := merges.get(source.pk)) and same.label_id == label.pk:
            return same
        if same or label.pk == source.pk:
            said = "Runs are on their way from one of these labels to the other, or to a third one."
            raise ValidationError(f"{said} Wait until that has ended.")
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
        LABEL = deeds.Kind.LABEL, "Add the label"
        UNLABEL = deeds.Kind.UNLABEL, "Remove the label"
        MERGE = "merge", "Merge into the label"
        TRASH = deeds.Kind.TRASH, "Move to the trash"
        RESTORE = deeds.Kind.RESTORE, "Take out of the trash"
        PURGE = deeds.Kind.PURGE, "Delete for ever"
        STAR = deeds.Kind.STAR, "Star"
        UNSTAR = deeds.Kind.UNSTAR, "Take the star away"
        RATE = deeds.Kind.RATE, "Rate"
        SHOW = deeds.Kind.SHOW, "Show to the team"
        HIDE = deeds.Kind.HIDE, "Make private"
        UNDO = "undo", "Undo"

    OF_AUTHORS, OF_COMPARISONS, OF_LABELS = deeds.OF_AUTHORS, deeds.OF_COMPARISONS, deeds.OF_LABELS
    FOR_EVER = (Kind.MERGE, Kind.PURGE, Kind.UNDO)

    kind = models.CharField(max_length=10, choices=Kind)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="jobs")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="jobs"
    )
    label = models.ForeignKey(Label, null=True, on_delete=models.CASCADE, related_name="+")
    source = models.ForeignKey(Label, null=True, on_delete=models.SET_NULL, related_name="+")
    # Of a label that is gone at the end; of an undo, what it takes back.
    name = models.CharField(max_length=100, blank=True)
    value = models.CharField(max_length=10, blank=True)  # a rating
    undone = models.BooleanField(default=False)  # an undo has begun
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

    @property
    def looked(self) -> int | None:
        """Percent of the way that its search has gone; None where there is none, or no more."""
        if not self.open:
            return None
        spec = self.batches.filter(kind=SEARCH).values_list("ids", flat=True).first()
        return None if spec is None else int(json.loads(spec)["percent"])

    @cached_property
    def gathering(self) -> Gathering | None:
        """Of what the search finds; whoever takes the job over begins it anew."""
        search = self.batches.filter(kind=SEARCH).first()
        member = self._member()
        if search is None:
            return None
        if member is None:  # who has left changes nothing more
            search.delete()
            return None
        self.batches.exclude(pk=search.pk).delete()  # of somebody who did not come to the end
        spec = json.loads(search.ids)
        selection = Selection.from_json(spec["selection"])
        member.user.current_team_id = self.team_id
        return Gathering(self.kind, member, selection, single=spec["single"], begun=self.created_at)

    def _gather(self, found: Gathering) -> bool:
        """A part of the search, or what it came to."""
        if not found.over:
            found.step()
            with writing():
                for search in self.batches.filter(kind=SEARCH):
                    search.ids = json.dumps({**json.loads(search.ids), "percent": found.percent})
                    search.save(update_fields=["ids"])
                return bool(self.going().update(lease=lease(), total=len(found.ids)))
        if found.refused:
            self.fail(found.refused)
            return False
        write(self, [deeds.Back("", "", sorted(found.ids))])
        with writing():
            going = bool(self.going().update(lease=lease(), total=len(found.ids)))
            batches = self.batches.filter(kind=SEARCH) if going else self.batches.all()
            batches.delete()
        self.gathering, self.total = None, len(found.ids)
        return going

    def _member(self) -> Membership | None:
        """The author with the rights of now, in the team in which it began."""
        found = Membership.objects.filter(team=self.team, user=self.author)
        return found.select_related("user").first()

    def step(self) -> bool:
        """Some of a batch; False when the job has ended. Raises nothing that another try would
        mend."""
        if self.gathering:
            return self._gather(self.gathering)
        self._look_ahead()
        with writing(self.pace):
            if not self.going().update(lease=lease()):
                return False  # stopped meanwhile
            if self.label_id:  # a merge may have put another one there
                self.refresh_from_db(fields=["label", "source"])
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

    @property
    def what(self) -> str:
        """What it does, in words."""
        said = str(self.get_kind_display()).lower()
        if self.kind == self.Kind.RATE:
            return f"rate {self.value}" if self.value else "take my rating back"
        return f"{said} {self.label.name}" if self.label else said

    @property
    def may_be_undone(self) -> bool:
        return bool(self.kind not in self.FOR_EVER and not self.undone and self.done)

    def _deed(self, batch: "Batch") -> tuple[str, str]:
        """(kind, value) of what is to be done to a batch; ("", "") where its label is gone."""
        if batch.kind:
            return batch.kind, batch.value
        if self.kind in self.OF_LABELS:
            return (self.kind, str(self.label_id)) if self.label_id else ("", "")
        return self.kind, self.value

    def _look_ahead(self) -> None:
        if self.kind == self.Kind.MERGE:
            rows = RunLabel.objects.filter(label=self.source_id).order_by("pk")
            runs = list(rows.values_list("run_id", flat=True)[: self.pace.size])
            deeds.look_at(deeds.Kind.LABEL, runs)
        elif batch := self.batches.order_by("pk").first():
            deeds.look_at(self._deed(batch)[0], json.loads(batch.ids)[: self.pace.size])

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
        member = self._member()
        kind, value = self._deed(batch)
        if member and kind:
            self._keep(deeds.do(kind, member, ids, value))
        return len(ids)

    def _keep(self, backs: Iterable[deeds.Back]) -> None:
        if self.kind not in self.FOR_EVER:
            Reversal.objects.bulk_create(
                Reversal(job=self, kind=back.kind, value=back.value, ids=json.dumps(back.ids))
                for back in backs
            )

    def _merge(self) -> int | None:
        """From `source` to `label`: all runs of the team, also those that the owner cannot see."""
        source, label = self.source, self.label
        if source is None or label is None or source == label:
            return None
        others = Job.objects.going().filter(label=source)
        # Who gives runs the label that will be gone gives them the other one from now on.
        others.filter(kind__in=(self.Kind.LABEL, self.Kind.MERGE)).update(label=label)
        label.protect_as(source)
        rows = RunLabel.objects.filter(label=source)
        found = list(rows.order_by("pk").values_list("run_id", flat=True)[: self.pace.size])
        if not found:
            others.update(label=None)  # there is nothing left that they could remove
            source.delete()
            return None
        RunLabel.objects.put(found, [label])
        rows.filter(run__in=found).delete()
        return len(found)
