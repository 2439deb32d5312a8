"""The providers, by slug."""

from playground.providers.base import Provider
from playground.providers.errors import ProviderError
from playground.providers.local import Local
from playground.providers.octoai import OctoAI
from playground.providers.ogx import OGX
from playground.providers.pulze import Pulze
from playground.providers.target import Target

PROVIDERS: dict[str, Provider] = {
    provider.slug: provider for provider in (Pulze(), OctoAI(), OGX(), Local())
}

__all__ = ["PROVIDERS", "Provider", "ProviderError", "Target"]
