"""Bodies of requests as they arrive, bounded: Daphne reads one to its end before anyone is asked.

What is longer than any form may be is thrown away on arrival, so that it costs neither memory nor
disk; the middleware `BodyLimit` then refuses it with a sentence.
"""

from typing import Any

from daphne.http_protocol import HTTPFactory, WebRequest
from daphne.server import Server
from django.conf import settings

FORM_AROUND = 64 * 1024  # bytes beside an uploaded file: token and boundaries


def longest(path: bytes) -> int:
    """Bytes of a body to this address; an upload may be longer than a form."""
    upload = path.partition(b"?")[0].endswith(b"/import/")
    room = getattr(settings, "MAX_IMPORT", 0) + FORM_AROUND if upload else 0
    return max(room, settings.DATA_UPLOAD_MAX_MEMORY_SIZE)


class BoundedRequest(WebRequest):
    _received = 0

    def handleContentChunk(self, data: bytes) -> None:
        before = self._received
        self._received += len(data)
        limit = longest(getattr(self.channel, "_path", b""))
        if self._received <= limit:
            super().handleContentChunk(data)
        elif before <= limit:
            self.content.seek(0)
            self.content.truncate()


class BoundedFactory(HTTPFactory):
    def buildProtocol(self, addr: Any) -> Any:
        protocol = super().buildProtocol(addr)
        protocol.requestFactory = BoundedRequest
        return protocol


class BoundedServer(Server):
    """Daphne makes its factory at the beginning of `run`; ours takes its place."""

    @property
    def http_factory(self) -> BoundedFactory:
        return self._http_factory

    @http_factory.setter
    def http_factory(self, _: HTTPFactory) -> None:
        self._http_factory = BoundedFactory(self)
