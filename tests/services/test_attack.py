"""Attacks on the running server. Each is refused or bounded, and a well-behaved user beside it,
who watches a paced stream, notices nothing."""

import asyncio
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import httpx
import pytest
import websockets
from django.urls import URLPattern, URLResolver, get_resolver
from websockets.asyncio.client import ClientConnection, connect

from playground.hub import MALFORMED, SESSION_ENDED
from tests.fake_provider import FakeProvider, Received, Reply, error_reply, text_event
from tests.server import Person, Server, document, fake_process, started_before

RATE = 20  # tokens a second of the stream that is watched
BASELINE = 40  # tokens before the attack
ALLOWED = 5.0  # seconds that it may be later than without an attack; machines of tests are busy
SMALL = 32 * 1024 * 1024  # bytes of memory that a refused body may cost
GROWTH = 150 * 1024 * 1024  # bytes of memory that an attack may cost


@pytest.fixture(scope="module")
def paced() -> Iterator[str]:
    with fake_process() as url:
        yield url


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(started_before(tmp_path_factory.mktemp("attack"))) as running:
        yield running


@pytest.fixture(scope="module")
def person(server: Server) -> Person:
    return server.user()


@pytest.fixture(scope="module")
def connection(server: Server, paced: str) -> int:
    return server.connect("paced", paced, "--model", "m")


@pytest.fixture(scope="module")
def fake(server: Server) -> Iterator[FakeProvider]:
    with FakeProvider() as provider:
        yield provider


@pytest.fixture(scope="module")
def hostile(server: Server, fake: FakeProvider) -> int:
    return server.connect("hostile", fake.url, "--model", "m")


def shell(server: Server, code: str) -> str:
    lines = "from playground.models import *\n" + code
    done = server.manage("shell", "-c", lines)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def someone(server: Server, name: str, team: str = "") -> Person:
    """A member of the first team, or of a team of their own, logged in."""
    link = shell(server, f"""
team = Team.objects.get_or_create(name="{team}")[0] if "{team}" else Team.objects.order_by("pk")[0]
user, _ = User.objects.get_or_create(username="{name}")
user.is_active, user.current_team = True, team
user.set_password("a long enough word 1")
user.save()
Membership.objects.get_or_create(user=user, team=team, defaults={{"role": "member"}})
print(LoginLink.make(user))
""").splitlines()[-1]  # fmt: skip
    made = Person(server, f"{server.url}/login/{link}/")
    server.people.append(made)
    return made


def memory(server: Server) -> int:
    """Bytes of the server that are in memory."""
    assert server.process
    text = Path(f"/proc/{server.process.pid}/statm").read_text()
    return int(text.split()[1]) * 4096


def peak(server: Server) -> int:
    """Bytes, the most since `reset_peak`."""
    assert server.process
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) * 1024


def reset_peak(server: Server) -> None:
    assert server.process
    Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")


def socket_of(person: Person) -> connect:
    url = person.server.url.replace("http", "ws") + "/ws/"
    return connect(url, additional_headers=person.socket_headers, max_size=None, proxy=None)


class Beside:
    """Somebody who watches a stream of words while something else goes on."""

    def __init__(self, person: Person, connection: int) -> None:
        self.person = person
        form = document({"connection": connection}, prompt=f"rate={RATE} n=100000")
        _, [self.run] = person.run(form)
        self.seen: list[tuple[float, int]] = []  # (when, number of the newest word)
        self.closed: int | None = None
        self.enough = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self.follow()), daemon=True)

    async def follow(self) -> None:
        last = 0
        async with socket_of(self.person) as page:
            await page.send(json.dumps({"follow": {self.run: 0}}))
            while not self.enough.is_set():
                try:
                    message = json.loads(await asyncio.wait_for(page.recv(), 0.5))
                except TimeoutError:
                    continue
                except websockets.ConnectionClosed as closed:
                    self.closed = closed.rcvd.code if closed.rcvd else 1006
                    return
                for row in message.get("events", []):
                    assert row["seq"] == last + 1, "a gap in a socket that reads all the time"
                    last = row["seq"]
                    words = re.findall(
                        r"w(\d+)", "".join(e[2] for e in row["events"] if e[0] == "text")
                    )
                    if words:
                        self.seen.append((time.monotonic(), int(words[-1])))
                await page.send(json.dumps({"follow": {self.run: last}}))

    def wait_for(self, number: int) -> None:
        deadline = time.monotonic() + 60
        while not self.seen or self.seen[-1][1] < number:
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def __enter__(self) -> Self:
        self.thread.start()
        self.wait_for(BASELINE)
        self.began = time.monotonic()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.wait_for(self.seen[-1][1] + RATE)  # it still flows
        self.enough.set()
        self.thread.join(10)
        self.person.post(f"/runs/{self.run}/stop/")
        if kind is None:
            assert self.closed is None
            # How late each word is against its due time; the earliest one sets the clock.
            late = [(when, when - number / RATE) for when, number in self.seen]
            first = min(each for _, each in late)
            before = max(each - first for when, each in late if when < self.began)
            during = max(each - first for when, each in late if when >= self.began)
            assert during <= before + ALLOWED, (before, during)


@pytest.fixture
def beside(person: Person, connection: int) -> Iterator[Beside]:
    with Beside(person, connection) as watching:
        yield watching


# --- The socket ----------------------------------------------------------------------------


@pytest.mark.parametrize("origin", [None, "", "null", "http://evil.example", "http://127.0.0.1:1"])
def test_a_socket_without_our_origin_is_refused(
    person: Person, origin: str | None, server: Server
) -> None:
    headers = {name: value for name, value in person.socket_headers.items() if name != "Origin"}
    if origin is not None:
        headers["Origin"] = origin

    async def go() -> None:
        url = server.url.replace("http", "ws") + "/ws/"
        with pytest.raises(websockets.InvalidStatus) as refused:
            async with connect(url, additional_headers=headers, proxy=None):
                pass
        assert refused.value.response.status_code in (400, 403)

    asyncio.run(go())


def test_a_socket_without_a_login_is_sent_away(server: Server) -> None:
    async def go() -> int:
        url = server.url.replace("http", "ws") + "/ws/"
        async with connect(url, additional_headers={"Origin": server.url}, proxy=None) as page:
            await page.wait_closed()
            return page.close_code or 0

    assert asyncio.run(go()) == SESSION_ENDED


async def drained(page: ClientConnection) -> int:
    try:
        while True:
            await page.recv()
    except websockets.ConnectionClosed as closed:
        return closed.rcvd.code if closed.rcvd else 1006


def test_ten_thousand_malformed_frames_end_with_the_socket_closed(
    person: Person, beside: Beside, server: Server
) -> None:
    frames: list[str | bytes] = [
        "", "x", "[" * 60_000, '{"follow": 1}', b"\x00\xff", '{"follow": {"1": -1}}', "null",
        '{"follow": {"' + "9" * 5000 + '": 1}}', "\ud7ff" * 1000, '{"follow": {"1": 1e999}}',
    ]  # fmt: skip
    before = memory(server)

    async def go() -> int:
        sent = 0
        codes = []
        while sent < 10_000:  # it comes back as often as it is thrown out
            async with socket_of(person) as page:
                reading = asyncio.create_task(drained(page))
                try:
                    for _ in range(1000):
                        await page.send(frames[sent % len(frames)])
                        sent += 1
                except websockets.ConnectionClosed:
                    pass
                codes.append(await asyncio.wait_for(reading, 30))
        return codes[0]

    assert asyncio.run(go()) == MALFORMED
    assert memory(server) - before < GROWTH
    assert "Traceback" not in server.output


def test_a_reader_who_never_reads_costs_a_bounded_memory(
    person: Person, connection: int, beside: Beside, server: Server
) -> None:
    _, [run] = person.run(document({"connection": connection}, prompt="n=400000 rate=20000"))
    before = memory(server)
    with socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.connect(("127.0.0.1", server.port))
        lines = ["GET /ws/ HTTP/1.1", f"Host: 127.0.0.1:{server.port}", "Upgrade: websocket",
                 "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                 "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="]  # fmt: skip
        lines += [f"{name}: {value}" for name, value in person.socket_headers.items()]
        raw.sendall("\r\n".join([*lines, "", ""]).encode())
        assert raw.recv(12) == b"HTTP/1.1 101"
        said = json.dumps({"follow": {run: 0}}).encode()
        assert len(said) < 126
        raw.sendall(bytes([0x81, 0x80 | len(said), 0, 0, 0, 0]) + said)  # masked with zeros
        beside.wait_for(beside.seen[-1][1] + 5 * RATE)
        assert memory(server) - before < GROWTH
    person.post(f"/runs/{run}/stop/")


# --- The end of a right --------------------------------------------------------------------


ENDS: dict[str, tuple[Callable[[Server, Person], object], bool]] = {
    "logout": (lambda server, who: who.post("/logout/", sure="1"), True),
    "password": (
        lambda server, who: shell(
            server, 'u = User.objects.get(username="mallory"); u.set_password("new"); u.save()'
        ),
        True,
    ),
    "deactivated": (
        lambda server, who: shell(
            server, 'User.objects.filter(username="mallory").update(is_active=False)'
        ),
        True,
    ),
    "session": (
        lambda server, who: server.rows(
            "DELETE FROM django_session WHERE session_key = ? RETURNING session_key", who.session
        ),
        True,
    ),
    "role": (
        lambda server, who: shell(
            server, 'Membership.objects.filter(user__username="mallory").delete()'
        ),
        False,
    ),
}


@pytest.mark.parametrize("how", list(ENDS))
def test_an_open_socket_ends_with_the_right_to_it(
    server: Server, person: Person, beside: Beside, how: str
) -> None:
    """The socket of a login that ended is closed; one without a role hears nothing any more."""
    take_away, closes = ENDS[how]
    mallory = someone(server, "mallory")

    async def go() -> None:
        async with socket_of(mallory) as page:
            await page.send(json.dumps({"follow": {beside.run: 0}}))
            assert "events" in json.loads(await page.recv())
            await asyncio.to_thread(take_away, server, mallory)
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline:
                try:
                    await asyncio.wait_for(page.recv(), 4 if not closes else 30)
                except TimeoutError:
                    assert not closes
                    return
                except websockets.ConnectionClosed:
                    assert closes
                    assert page.close_code == SESSION_ENDED
                    return
            raise AssertionError("it still hears")

    asyncio.run(go())
    if closes:
        answer = mallory.http.get(f"{server.url}/runs/{beside.run}/", follow_redirects=False)
        assert answer.status_code in (302, 401)
    else:
        assert mallory.http.get(f"{server.url}/runs/{beside.run}/").status_code == 404


def test_the_ids_of_another_team_are_like_ids_that_are_not_there(
    server: Server, beside: Beside
) -> None:
    stranger = someone(server, "oscar", team="Others")
    views = ("", "text/", "json/", "sent/", "markdown/", "prompt/", "probabilities/")
    for view in views:
        found = stranger.http.get(f"{server.url}/runs/{beside.run}/{view}")
        absent = stranger.http.get(f"{server.url}/runs/987654321/{view}")
        assert (found.status_code, absent.status_code) == (404, 404), view
    for act in ("stop/", "labels/", "star/", "rating/", "comments/", "again/"):
        assert stranger.post(f"/runs/{beside.run}/{act}").status_code in (404, 405), act

    async def go() -> None:
        async with socket_of(stranger) as page:
            await page.send(json.dumps({"follow": {beside.run: 0}}))
            assert json.loads(await page.recv()) == {"error": "not found", "run": beside.run}
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(page.recv(), 2)

    asyncio.run(go())


# --- Forms ---------------------------------------------------------------------------------


def addresses(patterns: list[Any], prefix: str = "") -> Iterator[str]:
    """Every path of the project, the admin site included, with something for each argument."""
    for each in patterns:
        route = prefix + re.sub(r"^\^|\\Z|\$|\?P", "", str(each.pattern))
        if isinstance(each, URLResolver):
            yield from addresses(each.url_patterns, route)
        elif isinstance(each, URLPattern):
            route = re.sub(r"<int:\w+>|<path:\w+>", "1", route)
            route = re.sub(r"<str:\w+>|<slug:\w+>|<\w+>", "x", route)
            yield "/" + re.sub(r"\(.*?\)", "x", route)


def test_no_form_is_taken_without_its_token(person: Person, server: Server) -> None:
    paths = sorted(set(addresses(get_resolver().url_patterns)))
    assert len(paths) > 100
    assert any(path.startswith("/admin/playground/connection/add") for path in paths)
    token = person.http.cookies.get(f"playground_{server.port}_csrf", "")
    attempts: list[dict[str, str]] = [
        {},
        {"X-CSRFToken": "a" * 64},
        {"X-CSRFToken": token, "Origin": "http://evil.example"},
        {"X-CSRFToken": token, "Origin": "null"},
    ]
    before = server.rows("SELECT COUNT(*) AS n FROM playground_auditentry")
    for path in paths:
        for headers in attempts:
            answer = person.http.post(server.url + path, headers=headers, data={"a": "b"})
            assert answer.status_code == 403, (path, headers)
    assert server.rows("SELECT COUNT(*) AS n FROM playground_auditentry") == before
    assert person.http.get(server.url + "/").status_code == 200  # and it is still logged in


def body(size: int) -> Iterator[bytes]:
    yield b"document="
    for _ in range(size // 2**20):
        yield b"x" * 2**20


@pytest.mark.parametrize("chunked", [False, True])
def test_a_prompt_of_200_megabytes_is_refused_with_a_sentence(
    person: Person, beside: Beside, server: Server, chunked: bool
) -> None:
    size = 200 * 2**20
    reset_peak(server)
    before = memory(server)
    token = person.http.cookies.get(f"playground_{server.port}_csrf", "")
    headers = {"X-CSRFToken": token, "Content-Type": "application/x-www-form-urlencoded"}
    if not chunked:
        headers["Content-Length"] = str(size + len("document="))
    answer = person.http.post(
        f"{server.url}/comparisons/", content=body(size), headers=headers, timeout=120
    )
    assert answer.status_code == 413
    assert "at most 16 MB" in answer.text
    assert peak(server) - before < SMALL


def form_of(size: int, boundary: bytes) -> Iterator[bytes]:
    """A file of so many bytes: one line with the head of an export, then one that is too long."""
    yield b"--" + boundary + b"\r\n"
    yield b'Content-Disposition: form-data; name="file"; filename="runs.jsonl"\r\n'
    yield b"Content-Type: application/octet-stream\r\n\r\n"
    yield b'{"type": "playground", "version": 1}\n'
    for _ in range(size // 2**20):
        yield b"x" * 2**20
    yield b"\r\n--" + boundary + b"--\r\n"


def test_an_import_of_200_megabytes_lies_on_the_disk(
    person: Person, beside: Beside, server: Server
) -> None:
    """It is as long as one may be, so it is taken; its one line is not."""
    length = sum(map(len, form_of(0, b"edge"))) + 200 * 2**20
    token = person.http.cookies.get(f"playground_{server.port}_csrf", "")
    headers = {
        "X-CSRFToken": token,
        "Content-Type": "multipart/form-data; boundary=edge",
        "Content-Length": str(length),
    }
    reset_peak(server)
    before = memory(server)
    answer = person.http.post(
        f"{server.url}/import/", content=form_of(200 * 2**20, b"edge"), headers=headers, timeout=120
    )
    assert answer.status_code == 200, answer.text
    assert "runs.jsonl" in answer.text
    assert peak(server) - before < GROWTH  # a line of it, 64 MB, may be in memory


# --- Backends ------------------------------------------------------------------------------


def endless(piece: bytes) -> Callable[[Received], Iterator[bytes]]:
    def pieces(_: Received) -> Iterator[bytes]:
        while True:
            yield piece

    return pieces


ENDLESS = {
    "text": (Reply(pieces=endless(text_event("x" * 60_000))), "cut off at 20 million characters"),
    "line": (Reply(pieces=endless(b"x" * 60_000)), "."),
    "json": (Reply(content_type="application/json", pieces=endless(b" " * 60_000)), "64 MB"),
    "error": (Reply(500, "text/plain", pieces=endless(b"x" * 60_000)), "xxx"),
    "comments": (Reply(pieces=endless(b": " + b"x" * 60_000 + b"\n\n")), "256 MB"),
    "metadata": (Reply(pieces=endless(
        b'data: {"choices":[{"index":0,"token_ids":[%b1]}]}\n\n' % (b"1," * 30_000))), "256 MB"),
}  # fmt: skip


@pytest.mark.parametrize("what", ["text", "line", "json", "error", "comments"])
def test_an_answer_without_end_is_cut_off(
    person: Person, beside: Beside, server: Server, fake: FakeProvider, hostile: int, what: str
) -> None:
    reply, sentence = ENDLESS[what]
    fake.reply_with(reply)
    before = memory(server)
    _, [run] = person.run(document({"connection": hostile}))
    deadline = time.monotonic() + 100
    while True:
        [row] = server.rows("SELECT status, error_message FROM playground_run WHERE id = ?", run)
        if row["status"] not in ("queued", "running"):
            break
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert row["status"] == "failed"
    assert sentence in row["error_message"]
    assert memory(server) - before < 3 * GROWTH


@pytest.mark.parametrize(
    "location", ["http://169.254.169.254/latest/meta-data/", "http://127.0.0.1:1/", "other"]
)
def test_a_redirect_leads_nowhere(
    person: Person, server: Server, fake: FakeProvider, hostile: int, location: str
) -> None:
    with FakeProvider() as second:
        where = second.url if location == "other" else location
        fake.reply_with(Reply(307, "text/plain", {"location": where}))
        _, [run] = person.run(document({"connection": hostile}))
        deadline = time.monotonic() + 30
        while (row := server.rows("SELECT * FROM playground_run WHERE id = ?", run)[0])[
            "status"
        ] in ("queued", "running"):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert (row["status"], row["error_kind"]) == ("failed", "redirected")
        assert second.requests == []
    fake.reply_with(error_reply(500, {}))


# --- Login links ---------------------------------------------------------------------------


def new_link(server: Server) -> str:
    return server.manage("login_link", "admin").stdout.split("Open ")[-1].split()[0]


def opened(link: str) -> int:
    with httpx.Client(trust_env=False, timeout=30, follow_redirects=True) as browser:
        return browser.get(link).status_code


def test_a_login_link_works_once(server: Server, beside: Beside) -> None:
    link = new_link(server)
    assert httpx.head(link, trust_env=False).status_code == 405  # a preview does not use it up
    assert [opened(link), opened(link)] == [200, 410]


def test_a_login_link_that_is_late_is_refused(server: Server) -> None:
    link = new_link(server)
    server.rows("UPDATE playground_loginlink SET created_at = '2020-01-01 00:00:00' RETURNING id")
    assert opened(link) == 410


def test_of_many_browsers_at_once_one_gets_in(server: Server, beside: Beside) -> None:
    for _ in range(3):
        link = new_link(server)
        with ThreadPoolExecutor(8) as pool:
            codes = list(pool.map(opened, [link] * 8))
        assert sorted(codes) == [200, *[410] * 7]
