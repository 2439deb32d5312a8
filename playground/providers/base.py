"""A provider: a request in, an iterator of stream events out. Knows no Django."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any, NamedTuple

import httpx

from playground.completion import CompletionRequest, ErrorKind, StreamEvent, merged
from playground.providers import outbound
from playground.providers.arrivals import arrivals_of, stamped
from playground.providers.chunks import ChunkParser
from playground.providers.errors import (
    LONGEST,
    ProviderError,
    from_response,
    is_error,
    masked_in,
    message_of,
    status_of,
    web_page,
)
from playground.providers.flow import Flowing, Outlet
from playground.providers.reader import AnswerReader, is_stream
from playground.providers.target import Target, failure_of
from playground.providers.veil import Veil
from playground.providers.wire import encoded, limited, parsed

LONGEST_ERROR = 256 * 1024  # bytes of an error body that are read
LONGEST_ANSWER = 64 * 1024 * 1024  # bytes of an answer in one piece
LONGEST_REPLY = 16 * 1024 * 1024  # bytes of a list of models or tokens
QUESTION_SECONDS = 60  # that such a list may take in all, however steadily it drips


class Token(NamedTuple):
    id: int
    piece: str


NO_TOKENIZER = "This backend does not tell its tokens."


class Provider:
    """One kind of service. Subclasses say only what differs."""

    slug = ""
    label = ""
    help = ""  # a sentence or two for the admin who adds a connection
    default_base_url = ""
    needs_key = True
    paths: Mapping[str, str] = {"completions": "/completions", "chat": "/chat/completions"}
    models_path: str | None = "/models"

    def parser(self, request: CompletionRequest) -> ChunkParser:
        """Reads the chunks of one answer."""
        return ChunkParser()

    def error_in(self, payload: Mapping[str, Any]) -> str | None:
        """The words of a failure reported inside a 200 answer, else None."""
        if not is_error(payload):
            return None
        words = message_of(payload) or "The provider reported an error without a reason."
        status = status_of(payload)
        return words if status is None or str(status) in words else f"{words} (status {status})"

    def wants_key(self, base_url: str) -> bool:
        """Whether a request to this address without a key is not even sent."""
        return self.needs_key

    def refused(self, error: ProviderError) -> ProviderError:
        """An answer with an error status, said as this service's users need it."""
        return error

    async def stream(
        self, target: Target, request: CompletionRequest
    ) -> AsyncGenerator[StreamEvent]:
        """Raises ProviderError; what was yielded before stays valid."""
        async with aclosing(self.batches(target, request)) as batches:
            async for events in batches:
                for event in events:
                    yield event

    async def batches(
        self, target: Target, request: CompletionRequest, outlet: Outlet | None = None
    ) -> AsyncGenerator[list[StreamEvent]]:
        """The events of each read, with the times at which they arrived; raises as `stream` does.

        With an `outlet`, what comes while text flows is put there and not yielded.
        """
        if not target.key and self.wants_key(target.base_url):
            raise ProviderError(
                f"No key is set for this {self.label} connection. An admin can add one.",
                ErrorKind.AUTH,
            )
        began = time.monotonic()
        parser = self.parser(request)
        veil = Veil(target)
        try:
            async with self._answer(target, request) as response:
                async for events in self._read(response, parser, began, veil, outlet):
                    if shown := veil.batch(events):
                        yield shown
                rest = list(veil.rest(_since(began)))
                if meta := veil.meta(parser.metadata()):
                    rest.append(StreamEvent("meta", meta, -1, _since(began)))
                yield rest
        except ProviderError as error:
            rest = list(veil.rest(_since(began)))
            if meta := masked_in(veil.meta(parser.metadata()), target.key):
                rest.append(StreamEvent("meta", meta, -1, _since(began)))
            yield rest
            error.message = veil.error(error.message)[:LONGEST]
            raise

    @asynccontextmanager
    async def _answer(
        self, target: Target, request: CompletionRequest
    ) -> AsyncIterator[httpx.Response]:
        """The open answer; every failure of the network as a ProviderError."""
        url = target.base_url + self.paths[request.operation]
        ours = {
            "content-type": "application/json",
            "accept": "text/event-stream, application/json",
            "accept-encoding": "identity",
        }
        headers = merged(ours, request.headers(), target.headers, target.bearer)
        connected = False
        try:
            async with outbound.client(target.reaches_local, target.proxy).stream(
                "POST",
                url,
                content=encoded(request.body()),
                headers=headers,
                timeout=httpx.Timeout(target.read_timeout, connect=target.connect_timeout),
            ) as response:
                connected = True
                if response.status_code >= 300:
                    raise self.refused(
                        from_response(
                            response.status_code,
                            response.headers,
                            await limited(response, LONGEST_ERROR, cut=True),
                            target.key,
                        )
                    )
                yield response
        except outbound.FAILURES as error:
            raise failure_of(target, error, connected) from None

    async def _read(
        self,
        response: httpx.Response,
        parser: ChunkParser,
        began: float,
        veil: Veil,
        outlet: Outlet | None,
    ) -> AsyncIterator[list[StreamEvent]]:
        content_type = response.headers.get("content-type", "").lower()
        if "html" in content_type:
            raise web_page(response.status_code)
        reader = AnswerReader(parser, self.error_in, began)
        if "json" in content_type and "event-stream" not in content_type:
            body = await limited(response, LONGEST_ANSWER)
            if is_stream(body):
                yield reader.whole(body)
                reader.end()
                return
            payload = self._payload(body, parser)
            yield list(parser.parse(payload, _since(began)))
            parser.whole()
            if (words := self.error_in(payload)) is not None:
                raise ProviderError(words, ErrorKind.UPSTREAM_ERROR)
            if "choices" not in payload:
                raise ProviderError("The answer has no choices in it.", ErrorKind.BAD_CONTENT)
            return
        async for events in self._events(response, reader, veil, outlet):
            yield events

    def _payload(self, body: bytes, parser: ChunkParser) -> Mapping[str, Any]:
        """An answer in one piece: asked for, or from a server that ignores `stream`."""
        payload = parsed(body)
        if not isinstance(payload, Mapping):
            raise ProviderError("The answer is not a JSON object.", ErrorKind.BAD_JSON)
        parser.raw = body
        return payload

    async def _events(
        self, response: httpx.Response, reader: AnswerReader, veil: Veil, outlet: Outlet | None
    ) -> AsyncIterator[list[StreamEvent]]:
        arrivals = stamped(response)
        async for pieces in arrivals_of(response):
            if events := reader.read(pieces):
                yield events
            if outlet and arrivals and reader.flows and not (reader.over or reader.bursts):
                flowing = Flowing(arrivals, reader, lambda events: outlet.put(veil.batch(events)))
                outlet.join(flowing)
                await flowing.over
            if reader.over:
                break
        else:
            if events := reader.rest():
                yield events
        reader.end()

    async def models(self, target: Target) -> list[str]:
        """Ids, as the service lists them; [] where it has no list. Raises ProviderError."""
        if self.models_path is None:
            return []
        answer = await self.ask(target, target.base_url + self.models_path)
        # LM Studio answers unknown addresses so, with status 200.
        if isinstance(answer, Mapping) and (words := self.error_in(answer)) is not None:
            raise ProviderError(words, ErrorKind.NOT_FOUND)
        return self.model_ids(answer)

    async def tokens(self, target: Target, model: str, text: str, dialect: str) -> list[Token]:
        """The text as tokens. Raises ProviderError, also where the service cannot tell."""
        raise ProviderError(NO_TOKENIZER, ErrorKind.NOT_FOUND)

    async def context(self, target: Target, model: str, dialect: str) -> int | None:
        """How many tokens prompt and answer may have together; None where the service does not
        tell. Raises ProviderError."""
        return None

    async def pieces(
        self, target: Target, model: str, ids: Sequence[int], dialect: str
    ) -> list[Token]:
        """Token ids with the text that each stands for; raises as `tokens` does."""
        raise ProviderError(NO_TOKENIZER, ErrorKind.NOT_FOUND)

    async def dialect(self, target: Target) -> str:
        """Which server it is, where one kind of service is several; "" where that is not known."""
        return ""

    async def ask(self, target: Target, url: str, body: Mapping[str, Any] | None = None) -> Any:
        """The JSON that a GET, or a POST of `body`, is answered with. Raises ProviderError."""
        json_body = {} if body is None else {"content-type": "application/json"}
        headers = merged(target.headers, target.bearer, json_body)
        veil = Veil(target)
        try:
            async with (
                asyncio.timeout(QUESTION_SECONDS),
                outbound.client(target.reaches_local, target.proxy).stream(
                    "GET" if body is None else "POST",
                    url,
                    content=None if body is None else encoded(body),
                    headers=headers,
                    timeout=target.connect_timeout,
                ) as response,
            ):
                content = await limited(response, LONGEST_REPLY, cut=response.status_code >= 300)
            if response.status_code >= 300:
                raise self.refused(
                    from_response(response.status_code, response.headers, content, target.key)
                )
            if "html" in response.headers.get("content-type", "").lower():
                raise web_page(response.status_code)
        except outbound.FAILURES as error:
            failure = failure_of(target, error, connected=False)
            failure.message = veil.error(failure.message)
            raise failure from None
        except TimeoutError:
            raise ProviderError(
                f"The server did not finish its answer within {QUESTION_SECONDS} s.",
                ErrorKind.TIMEOUT,
            ) from None
        except ProviderError as error:
            error.message = veil.error(error.message)[:LONGEST]
            raise
        return veil.value(parsed(content))

    def model_ids(self, payload: Any) -> list[str]:
        data = payload.get("data") if isinstance(payload, Mapping) else None
        rows = data if isinstance(data, list) else []
        return [str(row["id"]) for row in rows if isinstance(row, Mapping) and row.get("id")]


def rows_of(payload: Any, name: str = "data") -> list[Mapping[str, Any]]:
    """The objects of a list in an answer."""
    found = payload.get(name) if isinstance(payload, Mapping) else None
    return [row for row in found if isinstance(row, Mapping)] if isinstance(found, list) else []


def size_of(value: Any) -> int | None:
    """A positive whole number, else None."""
    return value if type(value) is int and value > 0 else None


def _since(began: float) -> float:
    return (time.monotonic() - began) * 1000


async def close() -> None:
    """Close the HTTP clients of the running loop."""
    await outbound.close()
    await asyncio.sleep(0)
