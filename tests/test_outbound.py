"""Where requests may go: looked at where the connection is made, however the address is written."""

import asyncio
import dataclasses
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from asgiref.sync import async_to_sync

from playground.completion import CompletionRequest
from playground.providers import PROVIDERS, ProviderError, Target, base
from playground.providers.outbound import client, is_private_literal, is_public
from tests.fake_provider import FakeProvider, Reply

LOCAL = PROVIDERS["local"]
REQUEST = CompletionRequest("local", "completions", "m", "llama.cpp", "Hi", values={"stream": True})
PUBLIC = "93.184.216.34"

ODD = [
    "2130706433", "0x7f000001", "0x7F.1", "0177.0.0.1", "0177.0.0.01", "127.1", "127.0.1", "0",
    "[::ffff:7f00:1]", "[::ffff:127.0.0.1]", "[0:0:0:0:0:ffff:7f00:0001]", "[::127.0.0.1]",
    "[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[::]", "LOCALHOST",
    "localhost.", "①②⑦.⓪.⓪.①", "127。0。0。1", "[fe80::1%25lo]", "[fe80::1%lo]",
    "169.254.169.254", "2852039166", "0xa9fea9fe", "[::ffff:169.254.169.254]", "[fd00:ec2::254]",
    "168.63.129.16", "100.100.100.200", "192.0.0.192",
]  # fmt: skip


@pytest.fixture
async def target(provider: FakeProvider) -> AsyncIterator[Target]:
    yield Target(provider.url, "a-key-0123456789", connect_timeout=2, read_timeout=5)
    await base.close()


async def failure(target: Target) -> ProviderError:
    with pytest.raises(ProviderError) as raised:
        async for _ in LOCAL.stream(target, REQUEST):
            pass
    return raised.value


@pytest.mark.parametrize("host", ODD)
async def test_no_spelling_of_a_private_address_gets_through(
    provider: FakeProvider, target: Target, host: str
) -> None:
    """Refused by the guard, or no address at all for the client: nothing is sent either way."""
    url = provider.url.replace("127.0.0.1", host)
    error = await failure(dataclasses.replace(target, base_url=url))
    assert error.kind == "connection"
    with pytest.raises(ProviderError):
        await LOCAL.models(dataclasses.replace(target, base_url=url))
    assert provider.requests == []


@pytest.mark.parametrize("host", ["localhost", "0x7f000001", "[::ffff:7f00:1]"])
async def test_a_marked_connection_reaches_them(
    provider: FakeProvider, target: Target, host: str
) -> None:
    url = provider.url.replace("127.0.0.1", host)
    allowed = dataclasses.replace(target, base_url=url, reaches_local=True)
    async for _ in LOCAL.stream(allowed, REQUEST):
        pass
    assert len(provider.posts) == 1


class Names:
    """A DNS whose answers change; every other name and address as it is."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> None:
        self.answers = list(answers)
        self._real = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", self.look_up)

    def look_up(self, host: Any, port: Any, *more: Any, **options: Any) -> Any:
        if host not in ("backend.example", b"backend.example"):
            return self._real(host, port, *more, **options)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, int(port or 0)))
            for address in answer
        ]


async def test_a_name_that_changes_after_the_check_is_refused_at_the_connection(
    provider: FakeProvider, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    Names(monkeypatch, [PUBLIC], ["127.0.0.1"])
    url = provider.url.replace("127.0.0.1", "backend.example")
    checked = socket.getaddrinfo("backend.example", 80)[0][4][0]
    assert is_public(str(checked))
    error = await failure(dataclasses.replace(target, base_url=url))
    assert "is a private address" in error.message
    assert provider.requests == []


async def test_a_private_address_among_public_ones_is_not_tried(
    provider: FakeProvider, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    Names(monkeypatch, ["127.0.0.1", "10.0.0.1", "::ffff:127.0.0.1"])
    url = provider.url.replace("127.0.0.1", "backend.example")
    await failure(dataclasses.replace(target, base_url=url))
    assert provider.requests == []


@pytest.mark.parametrize("where", ["http://169.254.169.254/latest/meta-data/", "other host"])
async def test_a_redirect_is_not_followed_wherever_it_leads(
    provider: FakeProvider, target: Target, where: str
) -> None:
    with FakeProvider() as second:
        location = second.url if where == "other host" else where
        for status in (301, 302, 303, 307, 308):
            provider.reply_with(Reply(status, "text/plain", {"location": location}))
            provider.on_path("/v1/models", Reply(status, "text/plain", {"location": location}))
            local = dataclasses.replace(target, reaches_local=True)
            assert (await failure(local)).kind == "redirected"
            with pytest.raises(ProviderError, match="Redirects are not followed"):
                await LOCAL.models(local)
        assert second.requests == []


VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


async def test_no_proxy_variable_is_read(
    provider: FakeProvider, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeProvider() as proxy:
        for name in VARIABLES:
            monkeypatch.setenv(name, proxy.url.removesuffix("/v1"))
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        local = dataclasses.replace(target, reaches_local=True)
        async for _ in LOCAL.stream(local, REQUEST):
            pass
        assert await LOCAL.models(local) == ["fake-1"]
        # Also where the guard is on: it is asked for the address itself, not for the proxy's.
        assert "is a private address" in (await failure(target)).message
        assert proxy.requests == []
    assert len(provider.posts) == 1


async def test_the_proxy_that_is_set_is_used_for_public_addresses_only(
    provider: FakeProvider, target: Target
) -> None:
    with FakeProvider() as proxy:
        through = dataclasses.replace(target, proxy=proxy.url.removesuffix("/v1"))
        public = dataclasses.replace(through, base_url="http://backend.example/v1")
        async for _ in LOCAL.stream(public, REQUEST):
            pass
        assert [post.path for post in proxy.posts] == ["http://backend.example/v1/completions"]
        for host in ("127.1", "0x7f000001", "169.254.169.254", "localhost", "[::1]"):
            url = provider.url.replace("127.0.0.1", host)
            error = await failure(dataclasses.replace(through, base_url=url))
            assert "is a private address" in error.message
        assert len(proxy.requests) == 1
        async for _ in LOCAL.stream(dataclasses.replace(through, reaches_local=True), REQUEST):
            pass
        assert len(proxy.requests) == 1
    assert len(provider.posts) == 1


async def test_an_endless_list_of_models_is_cut_off(
    provider: FakeProvider, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless() -> Any:
        while True:
            yield b"x" * 65536

    provider.on_path("/v1/models", Reply(pieces=lambda _: endless()))
    monkeypatch.setattr(base, "LONGEST_REPLY", 1_000_000)
    with pytest.raises(ProviderError, match="longer than"):
        await LOCAL.models(dataclasses.replace(target, reaches_local=True))


async def test_a_list_that_drips_for_ever_is_given_up(
    provider: FakeProvider, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    def drips() -> Any:
        while True:
            yield b" "
            yield 0.02

    provider.on_path("/v1/models", Reply(pieces=lambda _: drips()))
    monkeypatch.setattr(base, "QUESTION_SECONDS", 0.3)
    with pytest.raises(ProviderError, match="did not finish its answer"):
        await LOCAL.models(dataclasses.replace(target, reaches_local=True))


@pytest.mark.parametrize("host", ["127.1", "0x7f000001", "2130706433", "0177.1", "a.localhost"])
def test_literals_are_known_in_any_spelling(host: str) -> None:
    assert is_private_literal(host)


@pytest.mark.parametrize("host", [PUBLIC, "example.org", "[2606:2800:220:1::1]", "1572395042", "ü"])
def test_other_hosts_are_not_literals_of_ours(host: str) -> None:
    assert not is_private_literal(host)


def test_clients_are_closed_when_a_short_loop_ends(provider: FakeProvider) -> None:
    """As in commands, and where a view waits for a backend outside of the server."""
    target = Target(provider.url, reaches_local=True)
    made: list[httpx.AsyncClient] = []

    async def ask() -> None:
        await LOCAL.models(target)
        made.append(client(target.reaches_local))

    asyncio.run(ask())
    async_to_sync(ask)()
    assert [one.is_closed for one in made] == [True, True]
