"""Values out of a file: each is asked for with its type and bounds. Nothing in it is believed."""

import math
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from django.utils import timezone

from playground.completion import storable
from playground.exchange.lines import unembedded

DEEPEST = 100  # levels of JSON
MOST = {"choices": 1000, "labels": 100, "ratings": 10_000, "comments": 10_000, "warnings": 1000}
EARLIEST = datetime(1971, 1, 1, tzinfo=UTC)
LARGEST = 2**31 - 1  # positions and indexes


class BadLine(ValueError):
    """The line cannot be taken; says why."""


class Given:
    """An object of the file; what is asked of it has the right type, or BadLine."""

    def __init__(self, value: Any, name: str = "") -> None:
        if not isinstance(value, dict):
            raise BadLine(f"“{name}” is no object." if name else "The line is no object.")
        self._value = value

    def get(self, name: str) -> Any:
        return self._value.get(name)

    def text(self, name: str, longest: int | None = None) -> str:
        value = self._value.get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise BadLine(f"“{name}” is no text.")
        value = storable(value)
        if longest is not None and len(value) > longest:
            raise BadLine(f"“{name}” is longer than {longest:,} characters.")
        return value

    def id(self, name: str) -> uuid.UUID:
        try:
            return uuid.UUID(str(self._value.get(name)))
        except ValueError:
            raise BadLine(f"“{name}” is no UUID.") from None

    def flag(self, name: str) -> bool:
        value = self._value.get(name, False)
        if not isinstance(value, bool):
            raise BadLine(f"“{name}” is neither true nor false.")
        return value

    def count(self, name: str, most: int) -> int | None:
        value = self._value.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            raise BadLine(f"“{name}” is no whole number from 0 to {most}.")
        return value

    def number(self, name: str) -> float | None:
        value = self._value.get(name)
        if value is None:
            return None
        plain = isinstance(value, int | float) and not isinstance(value, bool)
        if not plain or abs(value) > 1e15 or not math.isfinite(value):
            raise BadLine(f"“{name}” is no number.")
        return float(value)

    def dollars(self, name: str, most: Decimal, places: int) -> Decimal | None:
        """Below `most`."""
        value = self._value.get(name)
        if value is None:
            return None
        try:
            number = Decimal(value) if isinstance(value, str) and len(value) < 40 else None
            if number is not None:  # NaN and infinity stay what they are, or fail
                number = number.quantize(Decimal(1).scaleb(-places))
        except InvalidOperation:
            number = None
        if number is None or not number.is_finite() or not 0 <= number < most:
            raise BadLine(f"“{name}” is no amount of dollars.")
        return number

    def time(self, name: str) -> datetime | None:
        value = self._value.get(name)
        if value is None:
            return None
        try:
            found = datetime.fromisoformat(value)
        except (TypeError, ValueError):
            found = None
        if found is None or found.tzinfo is None:
            raise BadLine(f"“{name}” is no time with a time zone.")
        if not EARLIEST <= found <= timezone.now() + timedelta(days=1):
            raise BadLine(f"“{name}” lies before 1971 or in the future.")
        return found.astimezone(UTC)

    def when(self, name: str) -> datetime:
        found = self.time(name)
        if found is None:
            raise BadLine(f"“{name}” is missing.")
        return found

    def json(self, name: str) -> str:
        """The JSON text of a provider."""
        try:
            return storable(unembedded(self._value.get(name)))
        except ValueError:
            raise BadLine(f"“{name}” is no JSON.") from None

    def list(self, name: str) -> list[Any]:
        value = self._value.get(name)
        if value is None:
            return []
        most = MOST.get(name, 1_000_000)
        if not isinstance(value, list) or len(value) > most:
            raise BadLine(f"“{name}” is no list of at most {most:,}.")
        return value

    def objects(self, name: str) -> "Sequence[Given]":
        return [Given(each, name) for each in self.list(name)]


def too_deep(value: Any, levels: int = DEEPEST) -> bool:
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return not levels or any(too_deep(each, levels - 1) for each in inner)
