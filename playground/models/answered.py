"""What came back for a request: its error, tokens, times and what the provider said beside."""

import json
from collections.abc import Mapping
from typing import Any

from django.db import models

from playground.lessons import Lesson


class Answered(models.Model):
    error_kind = models.CharField(max_length=20, blank=True)
    error_message = models.TextField(blank=True)
    error_status = models.PositiveIntegerField(null=True)
    warnings = models.TextField(blank=True)  # one a line
    lessons = models.TextField(blank=True)  # JSON: what the backend ignored or refused
    prompt_tokens = models.PositiveBigIntegerField(null=True)
    completion_tokens = models.PositiveBigIntegerField(null=True)
    usage = models.TextField(blank=True)  # as the provider sent it
    metadata = models.TextField(blank=True)
    first_token_ms = models.FloatField(null=True)  # since the request was sent
    total_ms = models.FloatField(null=True)

    class Meta:
        abstract = True

    # Of a run that ended and whose backend did not count tokens, where a view has looked: pieces of
    # the stream, and how many a second. Most backends send a piece for each token.
    pieces: int | None = None
    pace: float | None = None

    @property
    def warning_list(self) -> list[str]:
        return self.warnings.splitlines()

    @property
    def lesson_list(self) -> list[Lesson]:
        return [Lesson(*each) for each in json.loads(self.lessons)] if self.lessons else []

    @property
    def usage_value(self) -> dict[str, Any] | None:
        return json.loads(self.usage) if self.usage else None

    @property
    def metadata_value(self) -> dict[str, Any]:
        return json.loads(self.metadata) if self.metadata else {}

    def choice_extra(self, index: int) -> Mapping[str, Any]:
        """Of one choice, what no event carried (`providers/chunks.py`)."""
        extras = self.metadata_value.get("choices_extra")
        found = extras.get(str(index)) if isinstance(extras, Mapping) else None
        return found if isinstance(found, Mapping) else {}

    @property
    def tokens_per_second(self) -> float | None:
        """Of the time after the first token; None where it cannot be told, as of one token."""
        if (
            (self.completion_tokens or 0) < 2
            or self.total_ms is None
            or self.first_token_ms is None
        ):
            return None
        seconds = (self.total_ms - self.first_token_ms) / 1000
        return ((self.completion_tokens or 0) - 1) / seconds if seconds > 0.001 else None
