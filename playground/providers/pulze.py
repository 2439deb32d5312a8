"""Pulze: one API before many models, with a router of its own.

https://docs.pulze.ai; its answers give `created` in milliseconds and, beside the usage, costs in US
dollars under the names of token counts. A 200 answer may report a failure in its `metadata`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from playground.completion import StreamEvent
from playground.providers.base import Provider, size_of
from playground.providers.chunks import ChunkParser
from playground.providers.target import Target

MS = range(10**11, 10**15)  # a time stamp in here can only be in milliseconds


class PulzeParser(ChunkParser):
    def __init__(self) -> None:
        super().__init__()
        self._warning: Any = None

    def parse(self, payload: Mapping[str, Any], at: float) -> Iterator[StreamEvent]:
        yield from super().parse(payload, at)
        warning = _metadata(payload).get("warning")
        if warning and warning != self._warning:
            self._warning = warning
            yield StreamEvent("warning", str(warning), -1, at)

    def metadata(self) -> dict[str, Any]:
        """`created` in seconds, like everyone's, and `created_ms` as it came."""
        found = super().metadata()
        created = found.get("created")
        if isinstance(created, int | float) and MS.start <= created < MS.stop:
            found |= {"created": created / 1000, "created_ms": created}
        return found


class Pulze(Provider):
    slug = "pulze"
    label = "Pulze"
    help = (
        "Pulze's own service, or one of the same API behind another address. "
        "A key belongs to one app of Pulze (a “space”), which decides on the models."
    )
    default_base_url = "https://api.pulze.ai/v1"
    models_path = "/models/active"

    def parser(self, request: Any) -> ChunkParser:
        return PulzeParser()

    def error_in(self, payload: Mapping[str, Any]) -> str | None:
        if (words := super().error_in(payload)) is not None:
            return words
        metadata = _metadata(payload)
        error, status = metadata.get("error"), metadata.get("status_code")
        failed = isinstance(status, int | float) and status >= 400
        if not error and not failed:
            return None
        words = str(error or "Pulze reported an error without a reason.")
        return f"{words} (status {status})" if failed else words

    async def context(self, target: Target, model: str, dialect: str) -> int | None:
        payload = await self.ask(target, f"{target.base_url}{self.models_path}")
        rows = list(payload.values()) if isinstance(payload, Mapping) else payload
        found = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
        sizes = [row.get("context_window") for row in found if row.get("namespace") == model]
        return size_of(sizes[0]) if sizes else None

    def model_ids(self, payload: Any) -> list[str]:
        """A map of model objects; their namespaces are what a request names."""
        rows = list(payload.values()) if isinstance(payload, Mapping) else payload
        found = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
        return sorted(str(row["namespace"]) for row in found if row.get("namespace"))


def _metadata(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = payload.get("metadata")
    return metadata if isinstance(metadata, Mapping) else {}
