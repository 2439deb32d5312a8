"""A real server that asks a real DNS of ours, whose answers change: names that turn inward.

The server runs in a mount namespace of its own, where /etc/resolv.conf names our DNS: it, its C
library and its HTTP client are as always. This needs the rights of root.
"""

import os
import socket
import struct
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Self

import pytest

from tests.fake_provider import FakeProvider, words
from tests.server import Person, Server, document, started_before
from tests.services.conftest import not_permitted

# An address of this machine for each process that tests; the port of DNS cannot be chosen.
NAMESERVER = f"127.66.{os.getpid() % 250}.{1 + os.getpid() // 250 % 250}"
PUBLIC = "8.8.8.8"  # stands for the attacker's own server; nothing has to answer there
A, AAAA = 1, 28
INWARD = "is a private address"


class Dns:
    """Answers from `names`: {name: a list of answers, the last one for ever}, each a list of
    addresses. Counts what it was asked."""

    def __init__(self, names: dict[str, list[list[str]]]) -> None:
        self.names = names
        self.asked: Counter[str] = Counter()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((NAMESERVER, 53))

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", (NAMESERVER, 53))
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while True:
            query, client = self._socket.recvfrom(4096)
            if not query:
                return
            self._socket.sendto(self._answer(query), client)

    def _answer(self, query: bytes) -> bytes:
        at, labels = 12, []
        while length := query[at]:
            labels.append(query[at + 1 : at + 1 + length].decode().lower())
            at += length + 1
        (kind,) = struct.unpack("!H", query[at + 1 : at + 3])
        name = ".".join(labels)
        answers = self.names.get(name, [])
        if kind == A:
            self.asked[name] += 1
        number = min(max(self.asked[name], 1), len(answers)) - 1
        found = [ip_address(each) for each in answers[number]] if answers else []
        records = [
            b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 0, len(each.packed)) + each.packed
            for each in found
            if each.version == {A: 4, AAAA: 6}.get(kind)
        ]
        flags = 0x8180 if answers else 0x8183
        head = query[:2] + struct.pack("!HHHHH", flags, 1, len(records), 0, 0)
        return head + query[12 : at + 5] + b"".join(records)


@pytest.fixture(scope="module")
def dns() -> Iterator[Dns]:
    done = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False)
    if os.geteuid() != 0 or done.returncode != 0:
        not_permitted("A mount namespace needs the rights of root.")
    names = {
        "inside.example": [["127.0.0.1"]],
        "six.example": [["::1"]],
        "mapped.example": [["::ffff:127.0.0.1"]],
        "both.example": [[PUBLIC, "127.0.0.1"]],
        "turning.example": [[PUBLIC], ["127.0.0.1"]],
    }
    with Dns(names) as made:
        yield made


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, dns: Dns) -> Iterator[Server]:
    folder = Path(tmp_path_factory.mktemp("dns"))
    (folder / "resolv.conf").write_text(f"nameserver {NAMESERVER}\noptions timeout:1\n")
    made = Server(started_before(folder / "data"), CONNECT_TIMEOUT="1")
    mount = 'mount --bind "$0" /etc/resolv.conf && exec "$@"'
    made.wrapper = ["unshare", "-m", "sh", "-c", mount, str(folder / "resolv.conf")]
    with made as running:
        yield running


@pytest.fixture(scope="module")
def person(server: Server) -> Person:
    return server.user()


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    with FakeProvider() as provider:
        provider.reply_with(lambda _: words(3, rate=100))
        yield provider


def connection_to(server: Server, fake: FakeProvider, host: str, local: bool = False) -> int:
    """By name, as an admin enters it, and not marked as one that may reach private addresses."""
    url = fake.url.replace("127.0.0.1", host)
    found = server.connect(host, url, "--model", "m")
    change = "UPDATE playground_connection SET reaches_local = ? WHERE id = ? RETURNING id"
    server.rows(change, local, found)
    return found


def outcome(server: Server, person: Person, connection: int) -> tuple[str, str]:
    _, [run] = person.run(document({"connection": connection}))
    query = "SELECT status, error_message FROM playground_run WHERE id = ?"
    deadline = time.monotonic() + 30
    while (row := server.rows(query, run)[0])["status"] in ("queued", "running"):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return row["status"], row["error_message"]


@pytest.mark.services
def test_names_that_lead_inside_are_refused_where_it_connects(
    server: Server, person: Person, dns: Dns, fake: FakeProvider
) -> None:
    for host in ("inside.example", "six.example", "mapped.example", "both.example"):
        status, said = outcome(server, person, connection_to(server, fake, host))
        assert status == "failed", host
        assert INWARD in said or host == "both.example", (host, said)
        assert dns.asked[host] >= 1
    assert fake.requests == []
    # The same name, marked: our DNS is really the one that is asked.
    local = connection_to(server, fake, "inside.example", local=True)
    assert outcome(server, person, local) == ("completed", "")
    assert len(fake.posts) == 1


@pytest.mark.services
def test_a_name_that_turns_inward_after_it_was_good_is_refused(
    server: Server, person: Person, dns: Dns, fake: FakeProvider
) -> None:
    """First it is the attacker's own server; once that answer is forgotten, this machine."""
    connection = connection_to(server, fake, "turning.example")
    status, said = outcome(server, person, connection)
    assert (status, INWARD in said) == ("failed", False)  # it was tried, and did not answer
    assert dns.asked["turning.example"] == 1
    deadline = time.monotonic() + 60
    while INWARD not in said:
        assert time.monotonic() < deadline, said
        status, said = outcome(server, person, connection)
        assert status == "failed"
    assert dns.asked["turning.example"] >= 2
    assert fake.requests == []
