"""A process that owns live runs."""

from django.db import connection, models
from django.utils import timezone

from playground.models.turns import writing

# In plain SQL: each second the ORM would take longer than the database.
BEAT = "UPDATE playground_process SET heartbeat = heartbeat + 1 WHERE id = %s"


class ProcessQuerySet(models.QuerySet["Process"]):
    def others(self, process: "Process") -> "ProcessQuerySet":
        """Those that have not signed off."""
        return self.filter(ended_at=None).exclude(pk=process.pk)


class Process(models.Model):
    """A server or command that owns runs. Its heartbeat is a counter, never a clock."""

    host = models.CharField(max_length=200)
    pid = models.PositiveIntegerField()
    started = models.CharField(max_length=40)  # tells a reused pid from the old one
    heartbeat = models.PositiveBigIntegerField(default=0)
    ended_at = models.DateTimeField(null=True)

    objects = ProcessQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.host}:{self.pid}"

    def beat(self) -> None:
        # The log of live runs waits for it.
        with writing(behind=True), connection.cursor() as cursor:
            cursor.execute(BEAT, [self.pk])

    def sign_off(self) -> None:
        type(self).objects.filter(pk=self.pk).update(ended_at=timezone.now())
