"""What one server process refuses all must refuse: two of them, on PostgreSQL and with Redis.

A right that is taken away at one process ends sockets and requests at the other within seconds, a
link works once wherever it is opened, and guesses count together.
"""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from playground.hub import SESSION_ENDED
from tests.fake_provider import FakeProvider, Reply, text_event
from tests.server import Person, Server, document, fake_process
from tests.services.team import Team, team
from tests.services.test_attack import Beside, shell

SECONDS = 10.0  # in which a right ends everywhere; a machine of tests is busy
PASSWORD = "a long enough word 1"
AWAY = "203.0.113.9"  # an address that is counted; those of this machine are not


@pytest.fixture(scope="module")
def playground(
    tmp_path_factory: pytest.TempPathFactory, postgres: Callable[[], str]
) -> Iterator[Team]:
    with team(tmp_path_factory.mktemp("attack-team"), postgres(), 2) as made:
        yield made


@pytest.fixture(scope="module")
def admin(playground: Team) -> Person:
    return playground.person()


@pytest.fixture(scope="module")
def paced(playground: Team) -> Iterator[int]:
    with fake_process() as url:
        yield playground.connect("paced", url, "--model", "m")


@pytest.fixture(scope="module")
def held(playground: Team) -> Iterator[tuple[int, FakeProvider]]:
    """A backend that never ends."""
    with FakeProvider() as provider:
        provider.reply_with(Reply(pieces=[text_event("Par")], end="hold"))
        yield playground.connect("held", provider.url, "--model", "m"), provider


@pytest.fixture
def beside(admin: Person, paced: int) -> Iterator[Beside]:
    """Somebody who watches through nginx, and notices nothing."""
    with Beside(admin, paced) as watching:
        yield watching


def somebody(playground: Team, name: str) -> None:
    """A member of the team with a password, as new."""
    shell(playground.servers[0], f"""
team = Team.objects.order_by("pk")[0]
user, _ = User.objects.get_or_create(username="{name}")
user.is_active, user.current_team = True, team
user.set_password("{PASSWORD}")
user.save()
Membership.objects.update_or_create(user=user, team=team, defaults={{"role": "member"}})
""")  # fmt: skip


def pk(playground: Team, table: str, name: str) -> int:
    query = {
        "user": "SELECT id FROM playground_user WHERE username = ?",
        "membership": "SELECT m.id FROM playground_membership m JOIN playground_user u "
        "ON u.id = m.user_id WHERE u.username = ?",
    }[table]
    return int(playground.rows(query, name)[0]["id"])


# --- The end of a right --------------------------------------------------------------------


class Scene:
    """Mallory has a page at the second process and another browser at the first."""

    def __init__(self, playground: Team, admin: Person) -> None:
        self.playground = playground
        self.first, self.second = playground.servers
        somebody(playground, "mallory")
        self.page, self.other = playground.person("mallory"), playground.person("mallory")
        self.admin = playground.at(admin, self.first)

    def elsewhere(self, person: Person) -> Person:
        return self.playground.at(person, self.first)


def new_password(scene: Scene) -> httpx.Response:
    new = {"new_password1": "another-paddle-18", "new_password2": "another-paddle-18"}
    return scene.elsewhere(scene.other).post("/password/", **new)


def deactivate(scene: Scene) -> httpx.Response:
    chosen = str(pk(scene.playground, "user", "mallory"))
    return scene.admin.post("/admin/playground/user/", action="deactivate", _selected_action=chosen)


def remove(scene: Scene) -> httpx.Response:
    membership = pk(scene.playground, "membership", "mallory")
    return scene.admin.post(f"/team/members/{membership}/", remove="1")


# What is done at the first process; whether the socket closes, and whether what runs is stopped.
ENDS: dict[str, tuple[Callable[[Scene], httpx.Response], bool, bool]] = {
    "logout": (lambda scene: scene.elsewhere(scene.page).post("/logout/", sure="1"), True, False),
    "ended elsewhere": (
        lambda scene: scene.elsewhere(scene.other).post("/sessions/end/"), True, False,
    ),
    "password": (new_password, True, False),
    "deactivated": (deactivate, True, True),
    "removed": (remove, False, True),
}  # fmt: skip


async def ends_within(
    scene: Scene, runs: list[int], act: Callable[[], object], closes: bool
) -> float:
    """Seconds until the socket at the second process is closed, or hears nothing any more."""
    url = f"ws://127.0.0.1:{scene.second.port}/ws/"
    headers = scene.playground.socket_headers(scene.page)
    async with connect(url, additional_headers=headers, proxy=None) as page:
        await page.send(json.dumps({"follow": dict.fromkeys(map(str, runs), 0)}))
        assert "events" in json.loads(await page.recv())
        began = time.monotonic()
        acting = asyncio.create_task(asyncio.to_thread(act))
        heard = began
        try:
            async with asyncio.timeout(SECONDS + 30):
                while closes or time.monotonic() - heard < 3:
                    try:
                        message = json.loads(await asyncio.wait_for(page.recv(), 0.5))
                    except TimeoutError:
                        continue
                    if "events" in message:  # the stream that is watched has 20 a second
                        heard = time.monotonic()
        except ConnectionClosed:
            heard = time.monotonic()
            assert page.close_code == SESSION_ENDED
        await acting
        return heard - began


@pytest.mark.parametrize("how", list(ENDS))
def test_a_right_that_ends_at_one_process_ends_at_the_other(
    playground: Team,
    admin: Person,
    beside: Beside,
    held: tuple[int, FakeProvider],
    how: str,
) -> None:
    take_away, closes, stops = ENDS[how]
    scene = Scene(playground, admin)
    connection, provider = held
    _, [run] = playground.at(scene.page, scene.second).run(document({"connection": connection}))
    took = asyncio.run(ends_within(scene, [beside.run, run], lambda: take_away(scene), closes))
    print(f"{how}: {took:.2f} s")  # shown by `pytest -rP`
    assert took < SECONDS
    query = "SELECT status FROM playground_run WHERE id = ?"
    if stops:
        assert provider.posts[-1].closed.wait(SECONDS)
    deadline = time.monotonic() + SECONDS
    while stops and playground.rows(query, run)[0]["status"] == "running":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert playground.rows(query, run)[0]["status"] == ("cancelled" if stops else "running")
    for server in playground.servers:  # and no page of either process is theirs any more
        there = playground.at(scene.page, server)
        answer = there.http.get(f"{server.url}/runs/{run}/", follow_redirects=False)
        assert answer.status_code == (302 if closes else 404)
    if not stops:
        admin.post(f"/runs/{run}/stop/")


# --- Once, wherever ------------------------------------------------------------------------


def links(playground: Team, name: str, count: int) -> list[str]:
    """Paths of new login links."""
    code = f'print(*[LoginLink.make(User.objects.get(username="{name}")) for _ in range({count})])'
    tokens = shell(playground.servers[0], code).splitlines()[-1].split()
    return [f"/login/{token}/" for token in tokens]


def at_once(playground: Team, path: str, browsers: int = 8, **form: str) -> list[httpx.Response]:
    """The same request by many browsers, half of them at each process."""

    def one(number: int) -> httpx.Response:
        url = playground.servers[number % 2].url
        with httpx.Client(trust_env=False, timeout=60, follow_redirects=True) as browser:
            if not form:
                return browser.get(url + path)
            browser.get(url + path)
            token = browser.cookies.get(f"playground_{playground.port}_csrf", "")
            return browser.post(url + path, data=form | {"csrfmiddlewaretoken": token,
                                                         "username": f"guest{number}"})  # fmt: skip

    with ThreadPoolExecutor(browsers) as pool:
        return list(pool.map(one, range(browsers)))


def test_a_login_link_opens_one_browser_at_one_process(playground: Team, beside: Beside) -> None:
    for path in links(playground, "admin", 3):
        statuses = sorted(each.status_code for each in at_once(playground, path))
        assert statuses == [200] + [410] * 7


def test_an_invitation_for_one_lets_one_in(playground: Team, beside: Beside) -> None:
    code = """
team = Team.objects.order_by("pk")[0]
by = User.objects.get(username="admin")
print(Invitation.objects.make(team, by, "member", "", 1)[1])
"""
    token = shell(playground.servers[0], code).splitlines()[-1]
    answers = at_once(
        playground, f"/join/{token}/", 6, password1="sturgeon-paddle-17",
        password2="sturgeon-paddle-17",
    )  # fmt: skip
    guests = "SELECT count(*) AS n FROM playground_user WHERE username LIKE 'guest%'"
    assert playground.rows(guests.replace("%", "%%"))[0]["n"] == 1, [a.status_code for a in answers]


def test_guesses_at_two_processes_count_together(playground: Team, beside: Beside) -> None:
    somebody(playground, "victim")

    def guess(number: int) -> int:
        url = playground.servers[number % 2].url
        headers = {"X-Forwarded-For": AWAY}
        with httpx.Client(trust_env=False, timeout=60, headers=headers) as browser:
            browser.get(f"{url}/login/")
            token = browser.cookies.get(f"playground_{playground.port}_csrf", "")
            data = {"username": "victim", "password": "x", "csrfmiddlewaretoken": token}
            return browser.post(f"{url}/login/", data=data).status_code

    with ThreadPoolExecutor(10) as pool:
        statuses = list(pool.map(guess, range(10)))
    assert sorted(statuses) == [422] * 5 + [429] * 5


def test_a_recovery_code_works_once_at_either_process(playground: Team, beside: Beside) -> None:
    somebody(playground, "careful")
    code = 'print(SecondFactor.begun(User.objects.get(username="careful")).confirm()[0])'
    spare = shell(playground.servers[0], code).splitlines()[-1]

    ready = threading.Barrier(4)

    def enter(server: Server, path: str) -> bool:
        with httpx.Client(trust_env=False, timeout=60, follow_redirects=True) as browser:
            page = browser.get(server.url + path)
            assert "The second step" in page.text
            token = browser.cookies.get(f"playground_{playground.port}_csrf", "")
            ready.wait()
            data: dict[str, Any] = {"code": spare, "csrfmiddlewaretoken": token}
            browser.post(f"{server.url}/login/code/", data=data)
            return "Sign out" in browser.get(server.url).text

    with ThreadPoolExecutor(4) as pool:
        entered = list(pool.map(enter, playground.servers * 2, links(playground, "careful", 4)))
    assert entered.count(True) == 1
