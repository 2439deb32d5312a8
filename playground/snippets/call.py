"""What a program is made from: the request, where it goes, and the name of its key."""

import re
from dataclasses import dataclass

from playground.completion import CompletionRequest

PATHS = {"completions": "/completions", "chat": "/chat/completions"}
KEYS = {"local": "API_KEY", "octoai": "OCTOAI_TOKEN"}  # others: PULZE_API_KEY, OGX_API_KEY, …


@dataclass(frozen=True)
class Call:
    """A request and where it goes; `path` only where it is another one than OpenAI's."""

    request: CompletionRequest
    base_url: str
    needs_key: bool = True
    path: str = ""

    @property
    def chat(self) -> bool:
        return self.request.operation == "chat"

    @property
    def url(self) -> str:
        return self.base_url + (self.path or PATHS[self.request.operation])

    @property
    def root(self) -> str:
        """The base URL for clients that add `/v1` themselves."""
        return self.base_url.removesuffix("/v1")

    @property
    def key(self) -> str:
        """The environment variable that holds the key."""
        provider = self.request.provider
        return KEYS.get(provider) or re.sub(r"\W", "_", provider).upper() + "_API_KEY"
