"""Below a sub-path everything stays below it: pages, static files, runs and the socket."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fake_provider import FakeProvider, words
from tests.follower import Follower
from tests.server import Server, document, started_before


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    below = Server(started_before(tmp_path / "data"))
    below.environment["PUBLIC_URL"] = f"{below.url}/play"
    with below:
        yield below


def test_it_works_below_a_sub_path_that_the_proxy_keeps(server: Server) -> None:
    assert f"{server.url}/play/login/" in server.link
    with FakeProvider() as fake:
        fake.reply_with(words(20, 100.0))
        person = server.user()
        page = person.http.get(f"{server.url}/play/").text
        addresses = re.findall(
            r'(?:src|href|action|hx-post|data-socket|data-runs)="(/[^"]*)"', page
        )
        assert len(addresses) > 10
        assert all(address.startswith("/play/") for address in addresses), addresses
        for address in (one for one in addresses if "/static/" in one):
            assert person.http.get(server.url + address).status_code == 200, address

        column = {"connection": server.connect("fake", fake.url)}
        _, runs = person.run(document(column), "/play")
        url = f"ws://127.0.0.1:{server.port}/play/ws/"
        follower = Follower(url, person.socket_headers, runs)
        asyncio.run(asyncio.wait_for(follower.follow(), 20))
        assert follower.ends[runs[0]]["status"] == "completed"
        assert not follower.wrong()
        assert person.http.get(f"{server.url}/play/admin/").status_code == 200
