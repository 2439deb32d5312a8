"""The SQLite export is opened by the real datasette and by the real `llm logs`, and the logs that
the real llm writes come in.
"""

import json
import re
import shutil
import socket
import sqlite3
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from playground.exchange.exporting import write_file
from playground.models import Run, User
from playground.models.walk import Selection
from tests.runs import make_run
from tests.services.environments import environment
from tests.test_exchange import full, imported

# The first run makes an environment; that takes its time where the network is slow.
pytestmark = [pytest.mark.services, pytest.mark.timeout(600), pytest.mark.django_db]

SECONDS = 60
# One conversation of two turns, with a fragment and a system prompt, by a model that needs no key.
TALK = """
import sys, pathlib, llm, sqlite_utils
from llm.migrations import migrate
class Parrot(llm.Model):
    model_id = "parrot"
    def execute(self, prompt, stream, response, conversation=None):
        response.set_usage(input=3, output=2)
        yield "Echo "
        yield prompt.prompt
db = sqlite_utils.Database(sys.argv[1])
migrate(db)
talk = Parrot().conversation()
for text, fragments in (("One", ["A long fragment"]), ("Two\\u2028", [])):
    response = talk.prompt(text, system="Be brief", fragments=fragments)
    response.text()
    response.log_to_db(db)
"""


@pytest.fixture(scope="module")
def programs(request: pytest.FixtureRequest) -> Path:
    return environment(request.config, "open-logs", ["llm==0.36", "datasette>=0.65,<1"])


@pytest.fixture(params=["0.36", "0.27.1"], ids=["turns", "responses"])
def logging(request: pytest.FixtureRequest, programs: Path) -> Path:
    """A `llm` of each layout of its logs."""
    if request.param == "0.36":
        return programs
    packages = [f"llm=={request.param}", "openai<2"]  # later ones bring no httpx for it
    return environment(request.config, "older-logs", packages)


@pytest.fixture
def export(alice: User, bob: User, tmp_path: Path) -> Path:
    full(alice, bob)
    make_run(alice, "Name a bird of rivers", "The kingfisher")
    path = tmp_path / "runs.db"
    assert list(write_file(alice, Selection.now(), path))[-1] == 2
    return path


def test_llm_lists_and_searches_a_copy(programs: Path, export: Path, tmp_path: Path) -> None:
    copy = tmp_path / "logs.db"
    shutil.copy(export, copy)

    def logs(*arguments: str) -> Any:
        command = [programs / "llm", "logs", "list", "-d", copy, "--json", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    found = logs("-n", "0")
    assert {row["response"] for row in found} >= {"The kingfisher", ""}
    assert len(found) == 3  # a response for each choice
    [bird] = logs("-q", "kingfisher")
    assert (bird["prompt"], bird["model"]) == ("Name a bird of rivers", "m")
    with closing(sqlite3.connect(copy)) as database:  # llm has brought it up to date
        assert database.execute("SELECT count(*) FROM turns").fetchone() == (0,)
        assert database.execute("SELECT count(labels) FROM responses").fetchone() == (2,)


def test_datasette_opens_it(programs: Path, export: Path) -> None:
    port = free_port()
    command = [programs / "datasette", "serve", export, "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as server:
        try:
            address = f"http://127.0.0.1:{port}/runs/responses.json?_search=kingfisher&_shape=array"
            [row] = json.loads(fetch(address))
            assert row["prompt"] == "Name a bird of rivers"
            page = fetch(f"http://127.0.0.1:{port}/runs/responses?_facet=author")
            assert re.search("3 rows", page)
        finally:
            server.terminate()
            server.wait(SECONDS)


def free_port() -> int:
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def fetch(address: str) -> str:
    until = time.monotonic() + SECONDS
    while True:
        try:
            with urllib.request.urlopen(address, timeout=SECONDS) as answer:
                return str(answer.read().decode())
        except urllib.error.HTTPError:
            raise
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def test_what_llm_has_logged_comes_in(logging: Path, alice: User, tmp_path: Path) -> None:
    logs = tmp_path / "logs.db"
    command = [logging / "python", "-c", TALK, logs]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    transfer = imported(alice, logs.read_bytes())
    assert (transfer.layout, transfer.runs, transfer.problem_list) == ("llm", 2, [])
    first, second = Run.objects.order_by("created_at", "pk")
    asked = [message["content"] for message in first.request_value().messages]
    assert asked[0] == "Be brief"
    assert "A long fragment" in asked[1]
    assert asked[1].endswith("One")
    assert first.choices.get().text.startswith("Echo ")
    assert [message["role"] for message in second.request_value().messages][-1] == "user"
    assert second.choices.get().text == "Echo Two\u2028"
    assert (first.prompt_tokens, first.completion_tokens, first.by) == (3, 2, "alice")
    again = imported(alice, logs.read_bytes())
    assert (again.runs, again.skipped) == (0, 2)
