"""Where a connection's requests go and with which key; what is done when a key is rejected.

A retiring key is used in one case only: the provider has answered the active one with 401, which
costs nothing, and nothing has come yet. Then the request is sent once more, with that key. A 403
says that the key is known and may not do this; another one would not be asked for.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple, TypeVar

from django.conf import settings

from playground import embedded
from playground.background import Background
from playground.completion import CompletionRequest, ErrorKind, StreamEvent
from playground.database import in_thread
from playground.models import ApiKey, Connection, Run
from playground.providers import PROVIDERS, ProviderError, Target
from playground.providers.flow import Outlet

ABSENT = (
    "The embedded backend is not here: its model file is missing. "
    "Start the playground again with a network, or choose another connection."
)
RESTARTING_BACKEND = (
    "The embedded backend is not running at the moment; it is being started. "
    "Try again in a few seconds."
)
LOCKED = "The key of this connection cannot be decrypted. An admin has to enter it again."
LOCKED_HEADERS = (
    "The extra headers of this connection cannot be decrypted. An admin has to enter them again."
)
STOOD_IN = (
    "The provider rejected this connection's key; the former key, which will be erased soon, was "
    "used instead. An admin should look at the connection."
)
UNAUTHORIZED = 401

Answer = TypeVar("Answer")


class Way(NamedTuple):
    """A target, and the key in it."""

    target: Target
    key: ApiKey | None


def target_with(connection: Connection, key: ApiKey | None) -> Target:
    """Where its requests go, with this key or none. Raises ProviderError."""
    address = connection.address()
    if address is None:
        absent = embedded.status(settings.DATA_DIR) == "absent"
        raise ProviderError(ABSENT if absent else RESTARTING_BACKEND, ErrorKind.UNAVAILABLE)
    if connection.headers_locked:
        raise ProviderError(LOCKED_HEADERS, ErrorKind.AUTH)
    return Target(
        base_url=address,
        key=key.secret_for(connection.base_url) if key else "",
        headers=connection.headers(),
        reaches_local=connection.reaches_local,
        connect_timeout=settings.CONNECT_TIMEOUT,
        read_timeout=connection.read_timeout or settings.READ_TIMEOUT,
        proxy=settings.OUTBOUND_PROXY,
    )


def way_of(connection: Connection, runs: Sequence[Run] = ()) -> Way:
    """The target with the active key, noted as used, by these runs. Raises ProviderError."""
    key = connection.key()
    if key is None and connection.locked:
        target_with(connection, None)  # where there is no address at all, that is the trouble
        raise ProviderError(LOCKED, ErrorKind.AUTH)
    return _used(Way(target_with(connection, key), key), runs)


def target_of(connection: Connection) -> Target:
    return way_of(connection).target


def other_way(
    connection: Connection, way: Way, error: ProviderError, runs: Sequence[Run] = ()
) -> Way | None:
    """Another key, where this one was rejected and there is one; notes the rejection."""
    if error.status != UNAUTHORIZED or way.key is None:
        return None
    way.key.note_rejection(error.message)
    key = connection.other_key(way.key)
    return _used(Way(target_with(connection, key), key), runs) if key else None


def _used(way: Way, runs: Sequence[Run]) -> Way:
    if way.key is not None:
        way.key.touch()
        if runs:
            used = {"api_key": way.key, "key_last_four": way.key.last_four}
            Run.objects.filter(pk__in=[run.pk for run in runs]).update(**used)
    return way


class Ways:
    """Runs that begin together on one connection: its key is read, and noted as used, once for all.

    Belongs to one event loop.
    """

    def __init__(self, background: Background) -> None:
        self._background = background
        self._asked: dict[tuple[Any, ...], list[tuple[Run, asyncio.Future[Way]]]] = {}

    async def of(self, connection: Connection, run: Run) -> Way:
        """Raises ProviderError."""
        # As each run has read it: whoever has read another address has another way.
        same = connection.pk, connection.base_url, connection.extra_headers
        if same not in self._asked:
            self._asked[same] = []
            self._background.start(self._find(connection, same))
        found: asyncio.Future[Way] = asyncio.get_running_loop().create_future()
        self._asked[same].append((run, found))
        return await found

    async def _find(self, connection: Connection, same: tuple[Any, ...]) -> None:
        """Begins when all those who begin together have asked; one that is stopped harms none."""
        asked = self._asked.pop(same)
        try:
            way = await in_thread(way_of, connection, [run for run, _ in asked])
        except Exception as error:
            for _, found in asked:
                if not found.done():
                    found.set_exception(error)
            return
        for _, found in asked:
            if not found.done():
                found.set_result(way)


async def events_of(
    ways: Ways, connection: Connection, run: Run, request: CompletionRequest, outlet: Outlet
) -> AsyncGenerator[list[StreamEvent]]:
    """What the provider answers to a run, as `Provider.batches`. Raises ProviderError."""
    provider = PROVIDERS[request.provider]
    way = await ways.of(connection, run)
    silent = True
    try:
        async with aclosing(provider.batches(way.target, request, outlet)) as batches:
            async for events in batches:
                silent = silent and not events
                yield events
    except ProviderError as error:
        other = await in_thread(other_way, connection, way, error, [run])
        if other is None or not silent:
            raise
    else:
        await _accepted(way)
        return
    yield [StreamEvent("warning", STOOD_IN, -1, 0.0)]
    async with aclosing(provider.batches(other.target, request, outlet)) as batches:
        async for events in batches:
            yield events


async def asked(connection: Connection, ask: Callable[[Target], Awaitable[Answer]]) -> Answer:
    """The answer to a question that costs nothing; the keys as for a run. Raises ProviderError."""
    way = await in_thread(way_of, connection)
    try:
        answer = await ask(way.target)
    except ProviderError as error:
        other = await in_thread(other_way, connection, way, error)
        if other is None:
            raise
        return await ask(other.target)
    await _accepted(way)
    return answer


async def _accepted(way: Way) -> None:
    """A key that was rejected once and works again says so no longer."""
    if way.key is not None and way.key.rejected_at is not None:
        await in_thread(way.key.note_acceptance)


async def list_models(connection: Connection) -> list[str]:
    """What the backend itself lists. Raises ProviderError."""
    return await asked(connection, PROVIDERS[connection.provider].models)
