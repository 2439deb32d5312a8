"""Stop, waiting and crashes against the real llama.cpp server, through the whole playground."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from playground.embedded import MODEL, SLOTS, address
from playground.embedded.state import read_state
from playground.models.choices import unpacked
from tests.fake_provider import FakeProvider, words
from tests.server import Person, Server, document
from tests.services.conftest import with_model

pytestmark = pytest.mark.services

LONG = {"max_tokens": 2000, "ignore_eos": True}


@pytest.fixture(scope="module")
def server(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data_dir = with_model(tmp_path_factory.mktemp("stop"), model)
    with Server(data_dir, EMBEDDED="1") as running:
        yield running


@pytest.fixture(scope="module")
def person(server: Server) -> Person:
    return server.user()


@pytest.fixture(autouse=True)
def idle(server: Server) -> Iterator[None]:
    """Each test leaves the backend as it found it."""
    yield
    eventually(lambda: address(server.data_dir) and busy(server) == 0)


def eventually(condition: Callable[[], object], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def busy(server: Server) -> int:
    """How many slots of the backend are at work."""
    url = f"http://127.0.0.1:{read_state(server.data_dir)['port']}/slots"
    slots = httpx.get(url, trust_env=False, timeout=5).json()
    assert len(slots) == SLOTS
    return sum(slot["is_processing"] for slot in slots)


def run(
    person: Person, columns: int = 1, prompt: str = "The sea is", operation: str = "completions",
    **values: Any,
) -> list[int]:  # fmt: skip
    """Start runs on the embedded backend; they ask for usage, as the form does."""
    if operation == "chat":
        values["stream_options.include_usage"] = True
    [row] = person.server.rows("SELECT id FROM playground_connection WHERE embedded")
    column = {"connection": row["id"], "model": MODEL, "operation": operation, "values": values}
    return person.run(document(*[column] * columns, prompt=prompt))[1]


def record(server: Server, pk: int) -> dict[str, Any]:
    """Its row and its choices, but for whether the search knows it: that comes after its end."""
    [row] = server.rows("SELECT * FROM playground_run WHERE id = ?", pk)
    del row["indexed"]
    query = "SELECT * FROM playground_choice WHERE run_id = ? ORDER BY id"
    return {**row, "choices": server.rows(query, pk)}


def ended(server: Server, pk: int, seconds: float = 30) -> dict[str, Any]:
    eventually(lambda: record(server, pk)["finished_at"], seconds)
    return record(server, pk)


def complete(person: Person, *arguments: Any, **values: Any) -> dict[str, Any]:
    """The record of one run that has to complete."""
    [pk] = run(person, 1, *arguments, **values)
    found = ended(person.server, pk)
    assert found["status"] == "completed", found["error_message"]
    return found


def has_text(server: Server, pk: int) -> bool:
    return bool(server.rows("SELECT 1 FROM playground_runevent WHERE run_id = ? AND seq > 2", pk))


def stop(person: Person, pk: int) -> None:
    assert person.post(f"/runs/{pk}/stop/").status_code == 204


def test_stop_frees_the_slot_within_a_second_and_keeps_the_text(
    server: Server, person: Person
) -> None:
    [pk] = run(person, **LONG)
    eventually(lambda: has_text(server, pk))
    assert busy(server) == 1
    asked = time.monotonic()
    stop(person, pk)
    eventually(lambda: busy(server) == 0, 1)
    assert time.monotonic() - asked < 1
    found = ended(server, pk, 2)
    assert (found["status"], found["error_message"]) == ("cancelled", "")
    [choice] = found["choices"]
    assert choice["text"].strip()
    assert choice["finish_reason"] is None


def test_stopping_twice_or_after_the_end_does_no_harm(server: Server, person: Person) -> None:
    [pk] = run(person, **LONG)
    eventually(lambda: has_text(server, pk))
    stop(person, pk)
    stop(person, pk)
    first = ended(server, pk)
    stop(person, pk)
    done = complete(person, max_tokens=3)
    stop(person, done["id"])
    assert record(server, pk) == first
    assert record(server, done["id"]) == done
    assert first["status"] == "cancelled"


def test_a_run_that_waits_can_be_stopped_and_another_runs_as_soon_as_one_ends(
    server: Server, person: Person
) -> None:
    *running, stopped, last = run(person, SLOTS + 2, **LONG)
    eventually(lambda: all(has_text(server, pk) for pk in running))
    assert [record(server, pk)["status"] for pk in (stopped, last)] == ["queued"] * 2
    stop(person, stopped)
    found = ended(server, stopped, 2)
    assert (found["status"], found["started_at"], found["choices"]) == ("cancelled", None, [])
    assert record(server, last)["status"] == "queued"
    assert busy(server) == SLOTS
    stop(person, running[0])
    eventually(lambda: record(server, last)["status"] == "running", 1)
    for pk in (*running, last):
        stop(person, pk)
    assert {ended(server, pk)["status"] for pk in (*running, last)} == {"cancelled"}


def test_a_run_that_is_stopped_while_it_waits_never_reaches_the_backend(
    server: Server, person: Person
) -> None:
    with FakeProvider() as fake:
        fake.reply_with(words(10_000, 20.0))
        column = {"connection": server.connect("four", fake.url, "--parallel", "4")}
        *running, waiting, last = person.run(document(*[column] * 6))[1]
        fake.wait_for_request(4)
        stop(person, waiting)
        ended(server, waiting, 2)
        assert len(fake.posts) == 4
        stop(person, running[0])
        fake.wait_for_request(5)
        for pk in (*running, last):
            stop(person, pk)
            ended(server, pk, 2)
        assert len(fake.posts) == 5
        eventually(lambda: all(request.dropped for request in fake.posts), 2)


def test_all_columns_are_stopped_at_once(server: Server, person: Person) -> None:
    runs = run(person, SLOTS + 1, **LONG)
    eventually(lambda: busy(server) == SLOTS)
    [row] = server.rows("SELECT comparison_id AS pk FROM playground_run WHERE id = ?", runs[0])
    assert person.post(f"/comparisons/{row['pk']}/stop/").status_code == 204
    # Four slots share the processor: each notices after the token that it is at.
    eventually(lambda: busy(server) == 0, 3)
    assert {ended(server, pk, 2)["status"] for pk in runs} == {"cancelled"}


def test_a_killed_backend_fails_the_run_and_the_next_one_works(
    server: Server, person: Person
) -> None:
    [pk] = run(person, **LONG)
    eventually(lambda: has_text(server, pk))
    os.kill(read_state(server.data_dir)["pid"], signal.SIGKILL)
    found = ended(server, pk, 5)
    assert (found["status"], found["error_kind"]) == ("failed", "truncated")
    assert "broke off" in found["error_message"]
    assert found["choices"][0]["text"].strip()
    [meanwhile] = run(person, max_tokens=3)  # either it says so, or the backend is back already
    row = ended(server, meanwhile)
    assert row["status"] == "completed" or "is being started" in row["error_message"]
    eventually(lambda: address(server.data_dir))
    complete(person, max_tokens=3)
    assert "Traceback" not in server.output


@pytest.mark.parametrize("operation", ["completions", "chat"])
def test_it_streams_with_usage_and_a_finish_reason(person: Person, operation: str) -> None:
    found = complete(person, "Say hello.", operation, max_tokens=8, ignore_eos=True, temperature=0)
    [choice] = found["choices"]
    assert choice["text"].strip()
    assert choice["finish_reason"] == "length"
    assert found["completion_tokens"] == 8
    assert 0 < found["prompt_tokens"] < 50
    assert 0 < found["first_token_ms"] < found["total_ms"]
    assert len(unpacked(choice["packed_timeline"])) > 4
    assert json.loads(found["metadata"])["model"] == MODEL


@pytest.mark.parametrize("operation", ["completions", "chat"])
def test_n_gives_as_many_choices(person: Person, operation: str) -> None:
    found = complete(person, "Once", operation, n=2, max_tokens=6, ignore_eos=True, temperature=1.5)
    assert [choice["index"] for choice in found["choices"]] == [0, 1]
    assert all(choice["text"] for choice in found["choices"])
    assert {choice["finish_reason"] for choice in found["choices"]} == {"length"}
    assert found["completion_tokens"] == 12


@pytest.mark.parametrize(
    ("operation", "values"),
    [("completions", {"logprobs": 3}), ("chat", {"logprobs": True, "top_logprobs": 3})],
)
def test_logprobs_are_stored_in_the_normal_form(
    person: Person, operation: str, values: dict[str, Any]
) -> None:
    found = complete(person, "Once upon a", operation, max_tokens=5, temperature=0, **values)
    [choice] = found["choices"]
    tokens = unpacked(choice["packed_logprobs"])
    assert "".join(token["token"] for token in tokens).startswith(choice["text"])
    for token in tokens:
        assert set(token) >= {"token", "logprob", "bytes", "top"}
        assert token["logprob"] <= 0
        assert len(token["top"]) == 3
        assert set(token["top"][0]) >= {"token", "logprob", "bytes"}
        assert token["top"][0]["token"] == token["token"]  # at temperature 0 the likeliest


def test_a_stop_sequence_with_a_line_break_ends_the_text_before_it(person: Person) -> None:
    values = {"max_tokens": 30, "temperature": 0}
    whole = complete(person, "Apples\nPears\n", **values)["choices"][0]["text"]
    line, newline, rest = whole.partition("\n")
    assert line
    assert newline
    assert rest
    found = complete(person, "Apples\nPears\n", stop=["\n" + rest[:2]], **values)
    assert found["choices"][0]["text"] == line
    assert found["choices"][0]["finish_reason"] == "stop"


def test_the_same_seed_at_temperature_0_gives_the_same_text(person: Person) -> None:
    values = {"seed": 7, "temperature": 0, "max_tokens": 30}
    texts = {complete(person, **values)["choices"][0]["text"] for _ in range(3)}
    assert len(texts) == 1
