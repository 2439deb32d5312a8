"""Facts about a run, for search by parameter and metadata."""

import json
import math
from typing import Any

from django.db import connection, models

from playground.completion import storable
from playground.models.runs import Run

LONGEST_KEY = 100
LONGEST_TEXT = 200
MOST_KEYS = 1_000  # of all facts that are looked at for a text
KEYS = """
WITH RECURSIVE keys(key, n) AS (
    SELECT min(key), 1 FROM playground_runfact
    UNION ALL
    SELECT (SELECT min(key) FROM playground_runfact WHERE key > keys.key), n + 1
    FROM keys WHERE key IS NOT NULL AND n < %s
)
SELECT key FROM keys WHERE EXISTS (
    SELECT 1 FROM playground_runfact AS fact WHERE fact.key = keys.key AND fact.text = %s
) LIMIT %s
"""


def number_of(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


class RunFactQuerySet(models.QuerySet["RunFact"]):
    def keys_of(self, text: str, most: int) -> list[str]:
        """Keys that some run has with just this text, whoever sees it.

        From key to key through the index, which begins with them: there are few, and many facts.
        """
        with connection.cursor() as cursor:
            cursor.execute(KEYS, [MOST_KEYS, text, most])
            return [row[0] for row in cursor.fetchall()]


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

    objects = RunFactQuerySet.as_manager()

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
