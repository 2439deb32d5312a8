"""The app and its system checks."""

from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.contrib.admin import apps as admin
from django.core.checks import CheckMessage, Error, register


class PlaygroundConfig(AppConfig):
    name = "playground"
    verbose_name = "Playground"


class AdminSite(admin.AdminConfig):
    default = False
    default_site = "playground.site.Site"  # not within playground.admin, which registers there


@register
def check_keys(**_: Any) -> list[CheckMessage]:
    if settings.ENCRYPTION_KEYS:
        return []
    return [Error("ENCRYPTION_KEYS is empty: API keys could not be stored.", id="playground.E001")]
