"""What is left of a job to do, and what takes back what it has done: rows with some ids each."""

import json
from collections.abc import Sequence
from typing import Any

from django.db import models

from playground.models import deeds
from playground.models.turns import writing

BATCH = 100  # rows of one transaction at most
INSERTED = 50  # batches of one transaction, for the same reason
SEARCH = "search"  # kind of a batch that stands for all that a search finds


def write(job: Any, pieces: Sequence[deeds.Back]) -> None:
    """What is to be done, in short transactions."""
    rows = [
        Batch(job=job, kind=piece.kind, value=piece.value, ids=json.dumps(part))
        for piece in pieces
        for start in range(0, len(piece.ids), BATCH)
        if (part := piece.ids[start : start + BATCH])
    ]
    for start in range(0, len(rows), INSERTED):
        with writing():
            Batch.objects.bulk_create(rows[start : start + INSERTED])


class Batch(models.Model):
    """A piece of a job that is still to be done."""

    job = models.ForeignKey("Job", on_delete=models.CASCADE, related_name="batches")
    kind = models.CharField(max_length=10, blank=True)  # where it is not that of the job
    value = models.CharField(max_length=40, blank=True)  # of such a kind: `deeds.do`
    ids = models.TextField()  # JSON list

    def __str__(self) -> str:
        return f"a batch of job {self.job_id}"


class Reversal(models.Model):
    """What takes back a piece that a job has done."""

    job = models.ForeignKey("Job", on_delete=models.CASCADE, related_name="reversals")
    kind = models.CharField(max_length=10)
    value = models.CharField(max_length=40, blank=True)
    ids = models.TextField()  # JSON list

    def __str__(self) -> str:
        return f"{self.kind} of job {self.job_id}"
