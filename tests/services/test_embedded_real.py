"""The embedded backend with the real llama.cpp server and the real model."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from playground.embedded import (
    MODEL,
    SLOT_TOKENS,
    SLOTS,
    EmbeddedBackend,
    EmbeddedError,
    address,
    status,
)
from playground.embedded import (
    backend as backend_module,
)
from playground.embedded.model_file import model_path
from playground.embedded.state import is_alive, read_state
from playground.first_steps import SAMPLES

pytestmark = pytest.mark.services
ROOT = Path(__file__).resolve().parents[2]

# Acquires, says where, holds on until its standard input ends.
USER = """
import sys
from pathlib import Path
from playground.embedded import EmbeddedBackend
with EmbeddedBackend(Path(sys.argv[1])) as backend:
    print(backend.address(), flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def data_dir(model: Path, tmp_path: Path) -> Path:
    model_path(tmp_path).parent.mkdir()
    model_path(tmp_path).symlink_to(model.resolve())
    return tmp_path


@pytest.fixture
def backend(data_dir: Path) -> Iterator[EmbeddedBackend]:
    with EmbeddedBackend(data_dir) as backend:
        yield backend
    assert not is_alive(data_dir)


@contextmanager
def another_user(data_dir: Path) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [sys.executable, "-c", USER, data_dir],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def said(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def eventually(condition: Callable[[], object], seconds: float = 10) -> float:
    """How long it took."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() < start + seconds
        time.sleep(0.02)
    return time.monotonic() - start


def connect(data_dir: Path) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", read_state(data_dir)["port"], timeout=120)


def get(data_dir: Path, path: str) -> Any:
    connection = connect(data_dir)
    try:
        connection.request("GET", path)
        return json.load(connection.getresponse())
    finally:
        connection.close()


def test_it_serves_the_model_with_its_slots(backend: EmbeddedBackend) -> None:
    assert backend.status() == "ready"
    assert backend.address() == f"http://127.0.0.1:{read_state(backend.data_dir)['port']}/v1"
    slots = get(backend.data_dir, "/slots")
    assert [slot["n_ctx"] for slot in slots] == [SLOT_TOKENS] * SLOTS
    assert [found["id"] for found in get(backend.data_dir, "/v1/models")["data"]] == [MODEL]


def test_it_streams_a_completion(backend: EmbeddedBackend) -> None:
    connection = connect(backend.data_dir)
    body = {"prompt": "The sea is", "max_tokens": 8, "temperature": 0, "stream": True}
    connection.request(
        "POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"}
    )
    lines = [line for line in connection.getresponse().read().splitlines() if line]
    connection.close()
    assert len(lines) > 8
    assert lines[-1] == b"data: [DONE]"


@pytest.mark.parametrize(
    ("title", "begins"),
    [
        ("Few examples", " small"),
        ("Fill in the middle", "\n    return sum(numbers) / len(numbers)"),
        ("Classify by probabilities", " negative"),
    ],
)
def test_it_answers_the_samples_rightly(backend: EmbeddedBackend, title: str, begins: str) -> None:
    """With the suffix ignored, as llama.cpp does."""
    sample = next(each for each in SAMPLES if each.title == title)
    body = {"prompt": sample.prompt, "temperature": 0}
    tokens = {"max_tokens": int(sample.values["max_tokens"])}
    with closing(connect(backend.data_dir)) as connection:
        kind = {"Content-Type": "application/json"}
        connection.request("POST", "/v1/completions", json.dumps({**body, **tokens}), kind)
        answer = json.load(connection.getresponse())
    assert answer["choices"][0]["text"].startswith(begins)


def test_it_answers_no_page_of_another_site(backend: EmbeddedBackend) -> None:
    connection = connect(backend.data_dir)
    connection.request("OPTIONS", "/v1/completions", headers={"Origin": "http://elsewhere.example"})
    response = connection.getresponse()
    response.read()
    connection.close()
    assert response.getheader("Access-Control-Allow-Origin") is None


def test_it_is_healthy_while_more_requests_wait_than_it_has_slots(
    backend: EmbeddedBackend,
) -> None:
    connections = [connect(backend.data_dir) for _ in range(20)]
    body = json.dumps({"prompt": "Once", "max_tokens": 200, "ignore_eos": True, "stream": True})
    for connection in connections:
        connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
    assert get(backend.data_dir, "/health") == {"status": "ok"}
    for connection in connections:
        connection.close()


def test_two_processes_share_one(backend: EmbeddedBackend) -> None:
    with another_user(backend.data_dir) as first, another_user(backend.data_dir) as second:
        assert said(first) == said(second) == backend.address()
        first.communicate("")
        second.communicate("")
    assert is_alive(backend.data_dir)
    backend.watch()
    assert backend.status() == "ready"


def test_it_outlives_the_user_who_started_it(data_dir: Path) -> None:
    with another_user(data_dir) as first:
        where = said(first)
        with EmbeddedBackend(data_dir) as second:
            first.communicate("")
            assert second.address() == where
    assert status(data_dir) == "absent"


def test_several_first_users_start_one(data_dir: Path) -> None:
    with another_user(data_dir) as first, another_user(data_dir) as second:
        assert said(first) == said(second) == address(data_dir)


def test_a_killed_process_is_restarted(backend: EmbeddedBackend) -> None:
    pid = read_state(backend.data_dir)["pid"]
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: backend.status() == "restarting")
    assert backend.address() is None
    backend.watch()
    assert backend.status() == "ready"
    assert read_state(backend.data_dir)["pid"] != pid


def test_one_that_dies_again_is_restarted_after_a_pause(backend: EmbeddedBackend) -> None:
    for _ in range(2):
        os.kill(read_state(backend.data_dir)["pid"], signal.SIGKILL)
        eventually(lambda: not is_alive(backend.data_dir))
        backend.watch()
    assert backend.status() == "restarting"

    def watched() -> bool:
        backend.watch()
        return backend.status() == "ready"

    assert eventually(watched) > 0.5


def test_one_that_hangs_is_restarted(
    backend: EmbeddedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend_module, "HUNG_SECONDS", 0.1)
    pid = read_state(backend.data_dir)["pid"]
    os.kill(pid, signal.SIGSTOP)
    for _ in range(5):  # it may answer once more before it stands still
        backend.watch()
        if read_state(backend.data_dir)["pid"] != pid:
            break
    assert backend.status() == "ready"
    assert read_state(backend.data_dir)["pid"] != pid


def test_the_last_user_leaves_nothing_running(data_dir: Path) -> None:
    backend = EmbeddedBackend(data_dir)
    backend.acquire()
    pid = read_state(data_dir)["pid"]
    start = time.monotonic()
    backend.release()
    assert time.monotonic() - start < 3
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert status(data_dir) == "absent"
    backend.acquire()  # and it can be started again
    backend.release()


def test_a_killed_user_leaves_nothing_running(data_dir: Path) -> None:
    with another_user(data_dir) as user:
        said(user)
        user.kill()
        user.wait()
        assert eventually(lambda: not is_alive(data_dir)) < 2
    assert status(data_dir) == "absent"


def test_a_user_killed_during_the_start_leaves_nothing_running(data_dir: Path) -> None:
    with another_user(data_dir) as user:
        eventually(lambda: is_alive(data_dir))
        user.kill()
        user.wait()
        eventually(lambda: not is_alive(data_dir))


def test_it_ignores_the_interrupt_that_a_terminal_sends(data_dir: Path) -> None:
    with another_user(data_dir) as user:
        said(user)
        assert os.getpgid(read_state(data_dir)["pid"]) != os.getpgid(user.pid)


def test_it_says_where_the_reason_is_when_it_does_not_start(tmp_path: Path, model: Path) -> None:
    model_path(tmp_path).parent.mkdir()
    model_path(tmp_path).write_bytes(model.read_bytes()[:1_000_000])
    backend = EmbeddedBackend(tmp_path)
    with pytest.raises(EmbeddedError, match=r"embedded/log says why"):
        backend.acquire()
    assert "failed to load model" in (tmp_path / "embedded" / "log").read_text()
    assert backend.status() == "absent"
