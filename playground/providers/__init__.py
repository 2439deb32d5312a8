"""The providers, by slug."""

from playground.providers.base import Provider, Target
from playground.providers.errors import ProviderError
from playground.providers.local import Local

PROVIDERS: dict[str, Provider] = {provider.slug: provider for provider in (Local(),)}

__all__ = ["PROVIDERS", "Provider", "ProviderError", "Target"]
