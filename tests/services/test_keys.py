"""Keys on a real server: changed under load, and with the secrets gone."""

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fake_provider import FakeProvider, Received, Reply, error_reply, json_reply, words
from tests.server import Person, Server, document, started_before

OLD, NEW = "sk-old-00000001", "sk-new-00000002"


class Keys:
    """A provider that accepts some keys; what it accepts changes while it is asked."""

    def __init__(self, *accepted: str) -> None:
        self.accepted = set(accepted)

    def refusal(self, request: Received) -> Reply | None:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if given in self.accepted:
            return None
        return error_reply(401, {"error": {"message": f"Incorrect API key provided: {given}."}})

    def listed(self, request: Received) -> Reply:
        return self.refusal(request) or json_reply({"data": [{"id": "m"}]})

    def complete(self, request: Received) -> Reply:
        return self.refusal(request) or words(10, rate=20)


@pytest.fixture
def keys() -> Keys:
    return Keys(OLD)


@pytest.fixture
def fake(keys: Keys) -> Iterator[FakeProvider]:
    with FakeProvider() as provider:
        provider.on_path("/v1/models", keys.listed)
        provider.reply_with(keys.complete)
        yield provider


@pytest.fixture(params=["sqlite", "postgres"])
def server(
    request: pytest.FixtureRequest, tmp_path: Path, postgres: Callable[[], str]
) -> Iterator[Server]:
    more = {"DATABASE_URL": postgres()} if request.param == "postgres" else {}
    with Server(started_before(tmp_path), **more) as running:
        yield running


def states(server: Server) -> dict[str, str]:
    rows = server.rows("SELECT last_four, state FROM playground_apikey")
    return {row["last_four"]: row["state"] for row in rows}


class Load:
    """Somebody who starts run after run until it is enough."""

    def __init__(self, person: Person, connection: int) -> None:
        self.person, self.connection = person, connection
        self.runs: list[int] = []
        self.enough = threading.Event()
        self.trouble: BaseException | None = None
        self.thread = threading.Thread(target=self.work)

    def work(self) -> None:
        try:
            while not self.enough.wait(0.05):
                columns = [{"connection": self.connection}] * 2
                self.runs += self.person.run(document(*columns))[1]
        except BaseException as error:
            self.trouble = error

    def more(self, n: int) -> None:
        """Wait until so many further runs have been started."""
        target = len(self.runs) + n
        deadline = time.monotonic() + 60
        while len(self.runs) < target:
            assert self.trouble is None, self.trouble
            assert time.monotonic() < deadline
            time.sleep(0.05)


def ended(server: Server, runs: list[int]) -> list[dict[str, str]]:
    deadline = time.monotonic() + 60
    marks = ", ".join("?" for _ in runs)
    fields = "status, error_message, warnings, key_last_four"
    query = f"SELECT {fields} FROM playground_run WHERE id IN ({marks})"
    while True:
        rows = server.rows(query, *runs)
        if not any(row["status"] in ("queued", "running") for row in rows):
            return rows
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.services
def test_a_key_is_changed_under_load_without_one_failed_run(
    server: Server, fake: FakeProvider, keys: Keys
) -> None:
    """New key entered, tested, the old one ended at the provider; then the new one is taken away
    there too, and the old one comes back: at every moment one of the two is good."""
    connection = server.connect("fake", fake.url, "--model", "m")
    server.manage("connection", "fake", "--key-stdin", stdin=OLD)
    admin = server.user()
    load = Load(server.user(), connection)
    page = f"/admin/playground/connection/{connection}"
    load.thread.start()
    try:
        load.more(4)
        keys.accepted.add(NEW)  # made at the provider
        answer = admin.post(
            f"{page}/change/",
            name="fake", provider="local", dialect="llama.cpp", base_url=fake.url,
            reaches_local="on", all_teams="on", enabled="on", overlap_days="7",
            assumed_tokens="4096", api_key=NEW,
            **{"prices-TOTAL_FORMS": "0", "prices-INITIAL_FORMS": "0"},
        )  # fmt: skip
        assert answer.status_code == 200
        assert states(server) == {"0001": "active", "0002": "new"}
        load.more(4)
        admin.post(f"{page}/test/")
        assert states(server) == {"0001": "retiring", "0002": "active"}
        load.more(4)
        keys.accepted.discard(OLD)  # ended at the provider
        load.more(4)
        keys.accepted.add(OLD)
        keys.accepted.discard(NEW)  # somebody ended the wrong one there: the former stands in
        load.more(4)
    finally:
        load.enough.set()
        load.thread.join()
    assert load.trouble is None
    rows = ended(server, load.runs)
    assert len(rows) == len(load.runs)
    assert [row for row in rows if row["status"] != "completed"] == []
    used = [row["key_last_four"] for row in rows]
    assert {"0001", "0002"} == set(used)
    assert any("the former key" in row["warnings"] for row in rows)
    rejected = server.rows("SELECT rejection FROM playground_apikey WHERE last_four = '0002'")
    assert rejected[0]["rejection"] == "Incorrect API key provided: [key]."
    assert NEW not in server.output
    assert OLD not in server.output


@pytest.mark.services
def test_a_retired_key_is_erased_by_the_running_server(server: Server, fake: FakeProvider) -> None:
    connection = server.connect("fake", fake.url)
    for key in (OLD, NEW):
        server.manage("connection", "fake", "--key-stdin", stdin=key)
    assert states(server) == {"0001": "retiring", "0002": "active"}
    server.terminate()
    set_past(server, connection)
    server.start()
    deadline = time.monotonic() + 20
    while states(server)["0001"] != "erased":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert server.rows("SELECT sealed FROM playground_apikey WHERE last_four = '0001'") == [
        {"sealed": ""}
    ]
    log = server.rows("SELECT actor_name FROM playground_auditentry WHERE action = 'erased'")
    assert log == [{"actor_name": "the playground"}]


def set_past(server: Server, connection: int) -> None:
    code = (
        "from playground.models import ApiKey; from django.utils import timezone; "
        f"ApiKey.objects.filter(connection={connection}, state='retiring')"
        ".update(retires_at=timezone.now())"
    )
    done = server.manage("shell", "-c", code)
    assert done.returncode == 0, done.stderr


@pytest.mark.services
@pytest.mark.parametrize("how", ["lost", "wrong", "restored"])
def test_without_its_secrets_it_starts_and_says_what_to_do(
    tmp_path: Path, fake: FakeProvider, keys: Keys, how: str
) -> None:
    """Lost folder, wrong master key, the database beside the secrets of another playground."""
    with Server(started_before(tmp_path / "one")) as server:
        connection = server.connect("fake", fake.url, "--model", "m")
        server.manage("connection", "fake", "--key-stdin", stdin=OLD)
        [run] = server.user().run(document({"connection": connection}))[1]
        assert ended(server, [run])[0]["status"] == "completed"
    more = {}
    if how == "lost":
        shutil.rmtree(tmp_path / "one" / "secrets")
        folder = tmp_path / "one"
    elif how == "wrong":
        more = {"ENCRYPTION_KEYS": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}
        folder = tmp_path / "one"
    else:
        with Server(tmp_path / "two"):
            pass
        folder = tmp_path / "two"
        for stale in folder.glob("db.sqlite3*"):
            stale.unlink()
        for part in (tmp_path / "one").glob("db.sqlite3*"):  # what is not written back yet, too
            shutil.copy(part, folder)
    with Server(folder, **more) as server:
        assert "The stored secrets of fake cannot be decrypted" in server.output
        admin = server.user()
        first = admin.http.get(server.url).text
        assert "Its key cannot be decrypted" in first
        assert "secrets/master-key" in first
        assert "Its key cannot be decrypted" in admin.http.get(f"{server.url}/admin/").text
        assert admin.http.get(f"{server.url}/runs/{run}/").status_code == 200
        [failed] = admin.run(document({"connection": connection}))[1]
        [row] = ended(server, [failed])
        assert row["status"] == "failed"
        assert "cannot be decrypted. An admin has to enter it again." in row["error_message"]
        server.manage("connection", "fake", "--key-stdin", stdin=OLD)
        [again] = admin.run(document({"connection": connection}))[1]
        assert ended(server, [again])[0]["status"] == "completed"
