"""The environment as values; a wrong one is a sentence that names the variable."""

import os
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from django.core.exceptions import ImproperlyConfigured


def text(name: str, default: str = "") -> str:
    """The variable, or the content of the file that `NAME_FILE` names."""
    if path := os.environ.get(f"{name}_FILE"):
        try:
            return Path(path).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise ImproperlyConfigured(f"{name}_FILE cannot be read: {error}") from error
    return os.environ.get(name, default).strip()


def number(name: str, default: int, low: int, high: int) -> int:
    value = text(name, str(default))
    if not value.isascii() or not value.isdigit() or not low <= int(value) <= high:
        raise ImproperlyConfigured(f"{name} must be a whole number from {low} to {high}.")
    return int(value)


def flag(name: str, default: bool) -> bool:
    value = text(name, "1" if default else "0").lower()
    if value not in ("0", "1", "true", "false"):
        raise ImproperlyConfigured(f"{name} must be 1 or 0.")
    return value in ("1", "true")


def parts_of(name: str, url: str, schemes: tuple[str, ...], example: str) -> SplitResult:
    """The address in parts; `example` is what to write where it is none."""
    wrong = ImproperlyConfigured(f"{name} must be an address such as {example}.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise wrong from None
    if parts.scheme not in schemes or port == 0:
        raise wrong
    return parts
