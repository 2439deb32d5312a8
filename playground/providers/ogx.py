"""OGX (formerly Llama Stack), version 1.5.0: passes requests on to model servers of its own.

Its streams end without `[DONE]`, its validation errors are Python reprs inside a JSON text, and
its model ids are `provider/model`: what the readers of all providers take.
"""

import re
from collections.abc import Mapping
from typing import Any

from playground.completion import ErrorKind
from playground.providers.base import Provider
from playground.providers.errors import ProviderError

NO_RETRY_AFTER = " (OGX has tried three times, and does not pass on when to try again)"
NO_WORDS = " (from the model server behind OGX, without a reason)"


class OGX(Provider):
    slug = "ogx"
    label = "OGX"
    help = (
        "An OGX server (formerly Llama Stack). Models are named provider/model, as OGX lists them; "
        "a key is only needed where its administrator has asked for one."
    )
    default_base_url = "http://127.0.0.1:8321/v1"
    needs_key = False

    def refused(self, error: ProviderError) -> ProviderError:
        if re.fullmatch(r"Error code: \d+", error.message):
            error.message += NO_WORDS
        # Its own client retries and swallows the upstream's Retry-After.
        if error.kind is ErrorKind.RATE_LIMIT and error.retry_after is None:
            error.message += NO_RETRY_AFTER
        return error

    def model_ids(self, payload: Any) -> list[str]:
        """Those that complete text; it also lists models for embeddings and the like."""
        data = payload.get("data") if isinstance(payload, Mapping) else None
        rows = [row for row in data if _is_llm(row)] if isinstance(data, list) else []
        return super().model_ids({"data": rows})


def _is_llm(row: Any) -> bool:
    custom = row.get("custom_metadata") if isinstance(row, Mapping) else None
    kind = custom.get("model_type", "llm") if isinstance(custom, Mapping) else "llm"
    return bool(kind == "llm")
