"""Servers and commands that own runs."""

from django.db import models


class Process(models.Model):
    """A server or command that owns runs. Its heartbeat is a counter, never a clock."""

    host = models.CharField(max_length=200)
    pid = models.PositiveIntegerField()
    started = models.CharField(max_length=40)  # tells a reused pid from the old one
    heartbeat = models.PositiveBigIntegerField(default=0)
    ended_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.host}:{self.pid}"
