"""OctoAI's text API, version 0.1. The hosted service is gone; servers of the same shape are not.

Everything else that is its own (a flat error with `validation_errors`, chat-like logprobs on
completions, usage on the last chunk with content) the readers of all providers know.
"""

from playground.providers.base import Provider

HOSTED = "https://text.octoai.run"
ENDED = (
    "The hosted service of OctoAI ended on 2024-10-31, so its address no longer answers. "
    "This is for OctoStack, or for another server with the same API."
)


class OctoAI(Provider):
    slug = "octoai"
    label = "OctoAI"
    help = ENDED
    default_base_url = f"{HOSTED}/v1"
    models_path = None

    def wants_key(self, base_url: str) -> bool:
        """An OctoStack of one's own may stand open."""
        return base_url.startswith(HOSTED)
