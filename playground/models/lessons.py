"""What is remembered of how a backend treats a parameter, by connection and model."""

from collections.abc import Iterable

from django.db import models
from django.utils import timezone

from playground.lessons import Lesson
from playground.models.connections import Connection


class MemoryQuerySet(models.QuerySet["Memory"]):
    def learn(self, connection: Connection, model: str, lessons: Iterable[Lesson]) -> None:
        """Keep each lesson with today's date; the newest sentence of a kind counts."""
        rows = [
            self.model(connection=connection, model=model, path=path, kind=kind, sentence=sentence)
            for path, kind, sentence in lessons
        ]
        self.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["connection", "model", "path", "kind"],
            update_fields=["sentence", "seen_at"],
        )


class Memory(models.Model):
    """One parameter that one model of one connection ignored or refused, and when last."""

    connection = models.ForeignKey(Connection, on_delete=models.CASCADE, related_name="memories")
    model = models.CharField(max_length=300, blank=True)
    path = models.CharField(max_length=100)
    kind = models.CharField(max_length=10, choices=[("ignored", "ignored"), ("refused", "refused")])
    sentence = models.CharField(max_length=400)
    seen_at = models.DateTimeField(default=timezone.now)

    objects = MemoryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "memories"
        ordering = ["connection", "model", "path"]
        constraints = [
            models.UniqueConstraint(
                fields=["connection", "model", "path", "kind"], name="one_memory_per_parameter"
            )
        ]

    def __str__(self) -> str:
        return f"{self.path} {self.kind} by {self.connection} {self.model}"
