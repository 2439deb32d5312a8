"""A provider in one file: another base URL, one renamed parameter, one quirk."""

from collections.abc import Mapping
from typing import Any

from playground.parameters import Api, Integer, extend, on, withdraw
from playground.providers import PROVIDERS, Provider

APIS = (Api("fifth", "", "completions"), Api("fifth", "", "chat"))


class Fifth(Provider):
    slug = "fifth"
    label = "Fifth"
    default_base_url = "https://fifth.example/api/v2"

    def error_in(self, payload: Mapping[str, Any]) -> str | None:
        """It reports failures as `{"fault": "…"}` inside a 200 answer."""
        fault = payload.get("fault")
        return str(fault) if fault is not None else super().error_in(payload)


def register() -> None:
    PROVIDERS[Fifth.slug] = Fifth()
    extend("max_tokens", on(APIS, kind=Integer(1, 99), name="max_new_tokens", note="Renamed."))


def unregister() -> None:
    del PROVIDERS[Fifth.slug]
    withdraw(Fifth.slug)
