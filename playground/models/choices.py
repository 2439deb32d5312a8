"""The outputs of a run that has ended."""

import json
import zlib
from typing import Any

from django.db import models

from playground.outcome import ChoiceResult


def packed(value: Any) -> bytes:
    return zlib.compress(json.dumps(value, separators=(",", ":")).encode(), 6) if value else b""


def unpacked(value: bytes | memoryview | None) -> Any:
    return json.loads(zlib.decompress(bytes(value))) if value else []


class Choice(models.Model):
    """One output of a run."""

    run = models.ForeignKey("Run", on_delete=models.CASCADE, related_name="choices")
    index = models.PositiveIntegerField()
    text = models.TextField(blank=True)
    reasoning = models.TextField(blank=True)
    tool_calls = models.TextField(blank=True)  # JSON
    finish_reason = models.CharField(max_length=100, null=True)
    sha256 = models.CharField(max_length=64)  # of the text in UTF-8
    packed_logprobs = models.BinaryField(default=b"")
    packed_timeline = models.BinaryField(default=b"")

    class Meta:
        ordering = ["index"]
        constraints = [
            models.UniqueConstraint(fields=["run", "index"], name="one_choice_per_run_and_index")
        ]

    def __str__(self) -> str:
        return f"choice {self.index} of run {self.run_id}"

    def result(self, timeline: bool = True) -> ChoiceResult:
        return ChoiceResult(
            index=self.index,
            text=self.text,
            reasoning=self.reasoning,
            tool_calls=json.loads(self.tool_calls) if self.tool_calls else [],
            finish_reason=self.finish_reason,
            logprobs=self.logprobs,
            timeline=self.timeline if timeline else [],
        )

    @property
    def logprobs(self) -> list[Any]:
        """Tokens in the normal form of `providers/logprobs.py`."""
        return list(unpacked(self.packed_logprobs))

    @property
    def timeline(self) -> list[list[float]]:
        """[[ms since the request was sent, characters]…]"""
        return list(unpacked(self.packed_timeline))
