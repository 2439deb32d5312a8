"""The log of a live run."""

from django.db import models

from playground.models.runs import Run


class RunEvent(models.Model):
    """A batch of stream events of a live run: a write-ahead log, gone when the run ends."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="events")
    seq = models.PositiveIntegerField()
    events = models.TextField()  # Batch.to_list() as JSON

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "seq"], name="one_event_per_run_and_seq")
        ]

    def __str__(self) -> str:
        return f"run {self.run_id} #{self.seq}"
