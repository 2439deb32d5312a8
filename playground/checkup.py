"""The test of a connection: does it answer, which keys does it take, what is it, what does it list.

Every stored key is tried. A list of models proves a key only where it is refused without one; some
servers give it to anybody, and some have none. There a completion of one token is asked for, and
that is the only thing here that may cost something. A waiting key that passes becomes the active
one.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from django.utils import timezone

from playground.completion import CompletionRequest, ErrorKind
from playground.database import in_thread
from playground.models import ApiKey, Connection
from playground.models.audit import Person, acting, actor, record
from playground.providers import PROVIDERS, Provider, ProviderError, Target
from playground.targets import LOCKED, LOCKED_HEADERS, target_with

LISTED = 50  # names of models that a report keeps
PATIENCE = 30.0  # seconds without a byte of the one-token completion
NO_MODEL = (
    "It lists its models to anybody, or not at all, so the key could not be tested. "
    "Set a default model, and test again: one token is then asked for."
)


class Tried(NamedTuple):
    """What came of one key."""

    key: int
    last_four: str
    state: str  # before the test
    accepted: bool | None  # None: it could not be told
    words: str = ""  # the provider's own, with the key masked


@dataclass(frozen=True)
class Report:
    """As it is kept with the connection. Times in milliseconds."""

    passed: bool = False
    trouble: str = ""  # why nothing, or not everything, could be tested
    latency: float | None = None
    models: int | None = None  # None: it has no list
    listed: tuple[str, ...] = ()  # the first of them
    dialect: str = ""  # found, for local servers; "" where it cannot be told
    keys: tuple[Tried, ...] = ()
    activated: str = ""  # last four of the key that became active
    asked_for_a_token: bool = False

    def to_json(self) -> str:
        return json.dumps(asdict(self) | {"keys": [list(each) for each in self.keys]})

    @classmethod
    def from_json(cls, text: str) -> "Report | None":
        if not text:
            return None
        found: dict[str, Any] = json.loads(text)
        keys = tuple(Tried(*each) for each in found.pop("keys"))
        return cls(**found | {"keys": keys, "listed": tuple(found["listed"])})


@dataclass
class Checkup:
    """One test in the making."""

    connection: Connection
    provider: Provider
    report: Report = field(default_factory=Report)
    open_list: bool | None = None  # None: nobody has looked

    def note(self, **found: Any) -> None:
        self.report = replace(self.report, **found)

    async def run(self) -> Report:
        keys = await in_thread(lambda: list(self.connection.keys.stored()))
        try:
            bare = await in_thread(target_with, self.connection, None)
        except ProviderError as error:
            locked = self.connection.headers_locked
            self.note(trouble=LOCKED_HEADERS if locked else error.message)
            return self.report
        try:
            if keys:
                for key in keys:
                    await self.try_key(key, bare)
            else:
                await self.without_a_key(bare)
        except ProviderError as error:
            self.note(trouble=f"{error.message}{self.advice(error)}")
        if self.connection.provider == "local" and not self.connection.embedded:
            self.note(dialect=await self.provider.dialect(self.with_best_key(bare, keys)))
        self.note(passed=self.passes())
        return self.report

    def advice(self, error: ProviderError) -> str:
        """Where an address of a local server ends too early, how it goes on with all we know."""
        address = self.connection.base_url
        elsewhere = error.kind in (ErrorKind.NOT_FOUND, ErrorKind.BAD_CONTENT)
        if elsewhere and not urlsplit(address).path.strip("/"):
            return f" Most servers answer below {address.rstrip('/')}/v1: is that the address?"
        return ""

    def passes(self) -> bool:
        """Whether the key that counts was taken: the waiting one, else the active one."""
        tried = {each.state: each.accepted for each in self.report.keys}
        first = tried.get("new", tried.get("active", not tried))
        return not self.report.trouble and first is True

    def with_best_key(self, bare: Target, keys: Sequence[ApiKey]) -> Target:
        taken = {each.key for each in self.report.keys if each.accepted}
        secret = next((self.secret(key) for key in keys if key.pk in taken), "")
        return replace(bare, key=secret)

    def secret(self, key: ApiKey) -> str:
        return key.secret_for(self.connection.base_url)

    async def without_a_key(self, bare: Target) -> None:
        if self.provider.wants_key(bare.base_url):
            self.note(trouble=f"No key is set, and {self.provider.label} needs one.")
            return
        if self.provider.models_path:
            await self.list_models(bare)
        else:
            await self.complete(bare)

    async def try_key(self, key: ApiKey, bare: Target) -> None:
        """Raises ProviderError where the trouble is not the key's."""
        secret = self.secret(key)
        if not secret:
            return self.tried(key, None, LOCKED)
        target = replace(bare, key=secret)
        try:
            if self.provider.models_path:
                await self.list_models(target)
            if await self.lists_to_anybody(bare):
                await self.complete(target)
        except ProviderError as error:
            if error.kind is not ErrorKind.AUTH:
                raise
            return self.tried(key, False, error.message)
        return self.tried(key, True)

    def tried(self, key: ApiKey, accepted: bool | None, words: str = "") -> None:
        one = Tried(key.pk, key.last_four, key.state, accepted, words)
        self.note(keys=(*self.report.keys, one))

    async def list_models(self, target: Target) -> None:
        began = time.monotonic()
        found = await self.provider.models(target)
        self.note(
            latency=round((time.monotonic() - began) * 1000, 1),
            models=len(found),
            listed=tuple(found[:LISTED]),
        )

    async def lists_to_anybody(self, bare: Target) -> bool:
        """Whether the list says nothing about a key; asked once."""
        if self.open_list is None:
            self.open_list = not self.provider.models_path or await self.answers(bare)
        return self.open_list

    async def answers(self, bare: Target) -> bool:
        try:
            await self.provider.models(bare)
        except ProviderError:
            return False
        return True

    async def complete(self, target: Target) -> None:
        """One token. Raises ProviderError."""
        model = self.connection.default_model or next(iter(self.report.listed), "")
        if not model:
            raise ProviderError(NO_MODEL, ErrorKind.BAD_REQUEST)
        request = CompletionRequest(
            provider=self.connection.provider,
            dialect=self.connection.dialect,
            operation="completions",
            model=model,
            prompt="Hi",
            values={"max_tokens": 1, "stream": False},
        )
        self.note(asked_for_a_token=True)
        patient = replace(target, read_timeout=min(target.read_timeout, PATIENCE))
        began = time.monotonic()
        async for _ in self.provider.stream(patient, request):
            pass
        if self.report.latency is None:
            self.note(latency=round((time.monotonic() - began) * 1000, 1))


async def check_up(connection: Connection) -> Report:
    """Test it, keep the report with it, make a waiting key active that has passed."""
    report = await Checkup(connection, PROVIDERS[connection.provider]).run()
    return await in_thread(_settle, connection, report, actor())


def _settle(connection: Connection, report: Report, who: str | Callable[[], Person]) -> Report:
    with acting(who):
        return _settled(connection, report)


def _settled(connection: Connection, report: Report) -> Report:
    for tried in report.keys:
        for key in connection.keys.stored().filter(pk=tried.key):
            if tried.accepted:
                key.note_acceptance()
            elif tried.accepted is False:
                key.note_rejection(tried.words)
                if key.state == ApiKey.State.RETIRING:
                    key.erase()
    # After all are noted: a former key that was rejected does not retire, it is erased.
    for tried in report.keys:
        waiting = connection.keys.filter(pk=tried.key, state=ApiKey.State.NEW)
        for key in waiting if tried.accepted else ():
            key.activate()
            report = replace(report, activated=tried.last_four)
    connection.tested_at, connection.test_report = timezone.now(), report.to_json()
    connection.save(update_fields=["tested_at", "test_report"])
    rejected = [f"…{each.last_four}" for each in report.keys if each.accepted is False]
    detail = {"result": "passed" if report.passed else report.trouble or "failed"}
    record("tested", connection, detail | ({"rejected": ", ".join(rejected)} if rejected else {}))
    return report
