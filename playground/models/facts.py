"""Facts about a run, for search by parameter and metadata."""

import json
import math
from typing import Any

from django.db import models

from playground.completion import storable
from playground.models.runs import Run

LONGEST_KEY = 100
LONGEST_TEXT = 200


def number_of(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


class RunFact(models.Model):
    """One thing that is known of a run, for search by parameter and metadata."""

    class Source(models.TextChoices):
        PARAMETER = "parameter"  # set by the user and sent
        ANSWER = "answer"  # said by the provider
        USER = "user"  # a key=value pair of a person

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="facts")
    source = models.CharField(max_length=10, choices=Source)
    key = models.CharField(max_length=LONGEST_KEY)
    text = models.CharField(max_length=LONGEST_TEXT, blank=True)
    number = models.FloatField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["key", "number", "run"], name="facts_by_number"),
            models.Index(fields=["key", "text", "run"], name="facts_by_text"),
        ]

    def __str__(self) -> str:
        return f"{self.key}={self.text} of run {self.run_id}"

    @classmethod
    def said(cls, source: str, key: str, value: Any) -> "RunFact":
        """An unsaved fact; any JSON value."""
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return cls(
            source=source,
            key=storable(key)[:LONGEST_KEY],
            text=storable(text)[:LONGEST_TEXT],
            number=number_of(value),
        )

    def of(self, run_id: int) -> "RunFact":
        self.run_id = run_id
        return self
