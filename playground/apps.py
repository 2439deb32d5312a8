"""The app and its system checks."""

from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, register


class PlaygroundConfig(AppConfig):
    name = "playground"
    verbose_name = "Playground"


@register
def check_keys(**_: Any) -> list[CheckMessage]:
    if settings.ENCRYPTION_KEYS:
        return []
    return [Error("ENCRYPTION_KEYS is empty: API keys could not be stored.", id="playground.E001")]
