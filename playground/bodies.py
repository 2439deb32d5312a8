"""Bodies of requests as they arrive, bounded: Daphne reads one to its end before anyone is asked.

What is longer than any form may be is thrown away on arrival, so that it costs neither memory nor
disk; the middleware `BodyLimit` then refuses it with a sentence. What is long and allowed, such as
a file to import, lies on the disk meanwhile, and comes to Django in pieces.
"""

from io import BytesIO
from typing import IO, Any

from daphne.http_protocol import HTTPFactory, WebRequest
from daphne.server import Server
from django.conf import settings

FORM_AROUND = 64 * 1024  # bytes beside an uploaded file: token and boundaries
PIECE = 64 * 1024  # bytes that are handed to Django at once
ON_DISK = "playground.body"  # in a scope: the file, until the application has begun


def longest(path: bytes) -> int:
    """Bytes of a body to this address; an upload may be longer than a form."""
    upload = path.partition(b"?")[0].endswith(b"/import/")
    room = getattr(settings, "MAX_IMPORT", 0) + FORM_AROUND if upload else 0
    return max(room, settings.DATA_UPLOAD_MAX_MEMORY_SIZE)


class BoundedRequest(WebRequest):
    content: Any  # a BytesIO, or a file without a name where it is long
    _received = 0

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        # Twisted would read the form as well: all of it into memory, for nobody.
        self._parsePOSTFormSubmission = False

    def handleContentChunk(self, data: bytes) -> None:
        before = self._received
        self._received += len(data)
        limit = longest(getattr(self.channel, "_path", b""))
        if self._received <= limit:
            super().handleContentChunk(data)
        elif before <= limit:
            self.content.seek(0)
            self.content.truncate()

    def take_file(self) -> IO[bytes] | None:
        """The body, where Twisted has put it on the disk. Daphne, which would read it whole into
        its queue, finds none."""
        if isinstance(self.content, BytesIO):
            return None
        file: IO[bytes] = self.content
        self.content = BytesIO()
        return file


class BoundedFactory(HTTPFactory):
    def buildProtocol(self, addr: Any) -> Any:
        protocol = super().buildProtocol(addr)
        protocol.requestFactory = BoundedRequest
        return protocol


class FromDisk:
    """`receive` of a request whose body is in a file."""

    def __init__(self, file: IO[bytes], receive: Any) -> None:
        self._file, self._rest = file, receive
        self._ended = False

    async def receive(self) -> dict[str, Any]:
        if self._ended:
            message: dict[str, Any] = await self._rest()
            while message["type"] == "http.request":  # the empty body that Daphne found
                message = await self._rest()
            return message
        piece = self._file.read(PIECE)
        self._ended = len(piece) < PIECE
        return {"type": "http.request", "body": piece, "more_body": not self._ended}


class PieceByPiece:
    """An application that reads long bodies from the disk."""

    def __init__(self, application: Any) -> None:
        self._application = application

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        file = scope.pop(ON_DISK, None)
        if file is None:
            await self._application(scope, receive, send)
            return
        with file:
            await self._application(scope, FromDisk(file, receive).receive, send)


class BoundedServer(Server):
    """Daphne makes its factory at the beginning of `run`; ours takes its place."""

    _ports: tuple[Any, ...] = ()

    def listen_success(self, port: Any) -> None:
        self._ports += (port,)
        super().listen_success(port)

    def close_door(self) -> None:
        """Take no new connections; those that are there go on."""
        for port in self._ports:
            port.stopListening()

    def __init__(self, application: Any, **more: Any) -> None:
        super().__init__(PieceByPiece(application), **more)

    @property
    def http_factory(self) -> BoundedFactory:
        return self._http_factory

    @http_factory.setter
    def http_factory(self, _: HTTPFactory) -> None:
        self._http_factory = BoundedFactory(self)

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        if isinstance(protocol, BoundedRequest) and (file := protocol.take_file()):
            scope[ON_DISK] = file
        return super().create_application(protocol, scope)
