"""The one HTTP client for outgoing requests, and its guard.

Per event loop there are two clients: one that may reach any address, for connections that an admin
marked as local, and one that only reaches public addresses. The guard looks at the address that is
really connected to, so a literal address, a DNS answer and one that changes are all the same to it.
Redirects are never followed, cookies never kept, proxy variables never read.
"""

import asyncio
import ipaddress
import socket
from collections.abc import AsyncGenerator
from contextlib import suppress
from weakref import WeakKeyDictionary

import aiohttp
import httpx

from playground.providers.arrivals import StampedTransport, stamp

REFUSED = "is a private address, and this connection is not marked as one that may reach those"

# What a request can raise; the transport lets some of aiohttp's errors through as they are.
FAILURES = (httpx.HTTPError, httpx.InvalidURL, aiohttp.ClientError)

NAT64 = ipaddress.ip_network("64:ff9b::/96")
# These count as global and lead inside: IPv4 within IPv6 of old, NAT64 of one's own, and the
# address under which Azure's machines reach the one that runs them.
INSIDE = tuple(map(ipaddress.ip_network, ("::/96", "64:ff9b:1::/48", "168.63.129.16/32")))


class Clients(dict[tuple[bool, str], httpx.AsyncClient]):
    """Those of one event loop: closed by `close`, at the latest when their loop ends.

    Short loops, such as those of `async_to_sync` in a command, end without a word to us, but not
    without closing the asynchronous generators that began in them.
    """

    def __init__(self) -> None:
        self._end = self._until_the_loop_ends()
        with suppress(StopIteration):  # it has come to its `yield`
            self._end.asend(None).send(None)

    async def _until_the_loop_ends(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            await self.close()

    async def close(self) -> None:
        while self:
            await self.popitem()[1].aclose()


_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Clients] = WeakKeyDictionary()


def is_public(address: str) -> bool:
    """Whether an IP address is one of the open internet."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip in NAT64:
            ip = ipaddress.IPv4Address(ip.packed[-4:])
        else:
            ip = ip.ipv4_mapped or ip.sixtofour or ip
    inside = any(ip in network for network in INSIDE if network.version == ip.version)
    return ip.is_global and not ip.is_multicast and not inside


def is_private_literal(host: str) -> bool:
    """Whether a host in an address is this machine by name, or a private address, however it is
    written: 127.1, 0x7f000001 and 2130706433 are all 127.0.0.1."""
    host = host.strip("[]").rstrip(".").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return not is_public(host)
    except ValueError:
        pass
    try:
        return not is_public(socket.inet_ntoa(socket.inet_aton(host)))
    except (OSError, UnicodeEncodeError):
        return False


async def _refuse_private(request: httpx.Request) -> None:
    """Before a proxy is asked, who would look for the address in its own network."""
    if is_private_literal(request.url.host):
        raise httpx.ConnectError(f"{request.url.host} {REFUSED}")


def _guarded_socket(address: tuple[object, ...]) -> socket.socket:
    """aiohttp asks for a socket for the very address that it is about to connect to."""
    family, kind, protocol, _, target = address
    host = str(target[0])  # type: ignore[index]
    if not is_public(host):
        raise OSError(f"{host} {REFUSED}")
    return socket.socket(family, kind, protocol)  # type: ignore[arg-type]


def _session(local: bool) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(
        limit=0,  # the default of 100 would make the rest wait without a word
        # A server may close a kept connection just as the next request goes out (OGX does so after
        # most of its errors), and a completion is never sent twice.
        force_close=True,
        socket_factory=None if local else _guarded_socket,
    )
    return aiohttp.ClientSession(
        connector=stamp(connector), cookie_jar=aiohttp.DummyCookieJar(), trust_env=False
    )


def client(local: bool, proxy: str = "") -> httpx.AsyncClient:
    """The client of the running loop; made at the first call, closed by `close`."""
    loop = asyncio.get_running_loop()
    clients = _clients.get(loop)
    if clients is None:
        clients = _clients[loop] = Clients()
    # A proxy stands outside: local addresses are reached directly. It resolves names itself,
    # so the guard only sees literal addresses; that is why it has to be set explicitly.
    key = (local, "" if local else proxy)
    if key not in clients:
        transport = StampedTransport(
            client=lambda: _session(local or bool(proxy)),
            proxy=httpx.Proxy(proxy) if key[1] else None,
            trust_env=False,
        )
        clients[key] = httpx.AsyncClient(
            transport=transport,
            trust_env=False,
            follow_redirects=False,
            event_hooks={"request": [_refuse_private]} if key[1] else {},
        )
    return clients[key]


async def close() -> None:
    """Close the clients of the running loop."""
    if clients := _clients.pop(asyncio.get_running_loop(), None):
        await clients.close()
