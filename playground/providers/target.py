"""Where a request goes, and what a failure of the network on the way there means."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import aiohttp
import httpx

from playground.completion import ErrorKind
from playground.providers import outbound
from playground.providers.errors import ProviderError
from playground.providers.spelling import Secrets


@dataclass(frozen=True)
class Target:
    """Where a request goes, and with what."""

    base_url: str
    key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    reaches_local: bool = False
    connect_timeout: float = 10  # seconds
    read_timeout: float = 300  # seconds between two chunks
    proxy: str = field(default="", repr=False)

    @property
    def bearer(self) -> dict[str, str]:
        """The header with the key; none without one."""
        return {"authorization": f"Bearer {self.key}"} if self.key else {}

    @cached_property
    def secrets(self) -> Secrets:
        """What is taken out of its answers; runs that begin together share it."""
        return Secrets(self.key, self.headers)


def failure_of(target: Target, error: Exception, connected: bool) -> ProviderError:
    # The transport calls every failed connection a timeout; what it was made from is exact.
    if isinstance(error.__cause__, TimeoutError):
        return _timeout(target, error)
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol):
        return ProviderError(
            "The connection's address is not a web address. An admin can correct it.",
            ErrorKind.CONNECTION,
        )
    if isinstance(error, aiohttp.ClientResponseError):
        return ProviderError(
            f"The server at {target.base_url} answered, but not as a web server does. "
            "Check the connection's address.",
            ErrorKind.BAD_CONTENT,
        )
    return _broken(target, error, connected)


def _timeout(target: Target, error: Exception) -> ProviderError:
    if isinstance(error, httpx.ReadTimeout):
        sentence = f"The server sent nothing for {target.read_timeout:g} s."
    else:
        sentence = (
            f"The server could not be reached at {target.base_url} "
            f"within {target.connect_timeout:g} s."
        )
    return ProviderError(sentence, ErrorKind.TIMEOUT)


def _broken(target: Target, error: Exception, connected: bool) -> ProviderError:
    if connected:
        return ProviderError(
            "The connection to the server broke off before the answer was complete; "
            "what had arrived is kept.",
            ErrorKind.TRUNCATED,
        )
    reason = _reason(error)
    if outbound.REFUSED in reason:
        sentence = (
            f"{target.base_url} {outbound.REFUSED}. An admin can set “may reach private addresses”."
        )
    else:
        sentence = f"The server could not be reached at {target.base_url}: {reason.rstrip('.')}."
    return ProviderError(sentence, ErrorKind.CONNECTION)


def _reason(error: BaseException) -> str:
    """The innermost cause in plain words."""
    while error.__cause__ is not None:
        error = error.__cause__
    inner = getattr(error, "os_error", error)
    if getattr(inner, "errno", None) == 111:
        return "nothing is listening there (connection refused)"
    return getattr(inner, "strerror", None) or str(inner) or type(inner).__name__
