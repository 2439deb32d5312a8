"""What the server processes of one install say to each other, through one channel of Redis.

Neither order nor delivery rests on it: rows are in the database before they are said, and a
follower that misses one reads the log. While Redis is away nothing is sent, `away` says so, and
followers look into the log from time to time. Every process also hears itself: an echo that does
not come is how an absence is noticed, whatever its kind.
"""

import asyncio
import contextvars
import hashlib
import hmac
import logging
import time
from collections.abc import Callable
from typing import Any

import orjson
from django.conf import settings
from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

logger = logging.getLogger(__name__)

BEAT = 1.0  # seconds between two words of a process that has nothing to say
PATIENCE = 3.0  # seconds without an echo after which Redis is away
RETRY = 0.5  # seconds between two tries to reach it
SAID_AFTER = 2.0  # seconds of absence after which the page says so
MOST_WAITING = 1000  # messages; more are dropped, and followers read the log


def channel_name() -> str:
    """The same in all processes of an install, and no other's, though one Redis may serve many."""
    key = settings.SECRET_KEY.encode()
    return "playground:" + hmac.new(key, b"relay", hashlib.sha256).hexdigest()[:20]


class Relay:
    """Lives in one event loop. `heard` gets what other processes say, `returned` is called when
    Redis is there, at first or again. Without REDIS_URL it does nothing."""

    def __init__(
        self, process: str, heard: Callable[[dict[str, Any]], None], returned: Callable[[], None]
    ) -> None:
        self._name = process.encode()
        self._heard = heard
        self._returned = returned
        self._outbox: list[bytes] = []
        self._something = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._away_since: float | None = None
        self.lag = 0.0  # seconds that the last echo took

    def open(self) -> None:
        self._outbox, self._something = [], asyncio.Event()
        self._away_since = None
        if settings.REDIS_URL:
            self._away_since = time.monotonic()
            self._task = asyncio.create_task(self._stay(), context=contextvars.Context())

    async def close(self) -> None:
        task, self._task = self._task, None
        if task:
            deadline = time.monotonic() + PATIENCE
            while self._outbox and not self.away and time.monotonic() < deadline:
                await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    @property
    def away(self) -> bool:
        return self._away_since is not None

    @property
    def trouble(self) -> str:
        """What the page says; "" when all is well."""
        if self._away_since is None or time.monotonic() - self._away_since < SAID_AFTER:
            return ""
        return (
            "Redis cannot be reached: what runs in other server processes shows a little later. "
            "Nothing is lost."
        )

    def say(self, message: dict[str, Any]) -> None:
        """Never waits. What cannot be sent now is dropped: it is in the database."""
        if self._task is None or self.away:
            return
        if len(self._outbox) >= MOST_WAITING:
            logger.warning("Redis is too slow: %d messages are dropped", len(self._outbox))
            self._outbox.clear()
        self._outbox.append(orjson.dumps(message))
        self._something.set()

    async def _stay(self) -> None:
        logged = False
        while True:
            try:
                await self._talk()
            except* Exception as found:
                if not self.away:
                    self._away_since, logged = time.monotonic(), False
                if not logged:  # once an absence
                    logged = True
                    error = found.exceptions[0]
                    logger.error("Redis cannot be reached: %s %s", type(error).__name__, error)
            self._outbox.clear()
            await asyncio.sleep(RETRY)

    async def _talk(self) -> None:
        client = Redis.from_url(
            settings.REDIS_URL,
            socket_connect_timeout=PATIENCE,
            socket_timeout=PATIENCE,
            retry=Retry(NoBackoff(), 0),
        )
        async with client, client.pubsub() as inbox, asyncio.TaskGroup() as both:
            await inbox.subscribe(channel_name())
            both.create_task(self._speak(client))
            both.create_task(self._hear(inbox))

    async def _speak(self, client: Redis) -> None:
        channel = channel_name()
        while True:
            said, self._outbox = self._outbox, []
            async with asyncio.timeout(PATIENCE):
                for message in said or [b"%.6f" % time.monotonic()]:
                    await client.publish(channel, self._name + message)
            try:
                async with asyncio.timeout(BEAT):
                    await self._something.wait()
            except TimeoutError:
                continue
            self._something.clear()

    async def _hear(self, inbox: PubSub) -> None:
        size = len(self._name)
        last_echo = time.monotonic()
        while True:
            message = await inbox.get_message(timeout=PATIENCE)
            if message is not None and message["type"] == "message":
                name, data = message["data"][:size], message["data"][size:]
                if name == self._name:
                    last_echo = time.monotonic()
                    self._echo(data)
                elif data.startswith(b"{"):
                    self._heard(orjson.loads(data))
            if time.monotonic() - last_echo > PATIENCE:
                raise TimeoutError("what is sent does not come back")

    def _echo(self, data: bytes) -> None:
        if not data.startswith(b"{"):
            self.lag = time.monotonic() - float(data)
        if self.away:
            self._away_since = None
            logger.info("Redis is there")
            self._returned()
