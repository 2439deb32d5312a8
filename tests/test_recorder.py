"""The recorder: commit, then publish; nothing lost, nothing doubled, one guilty run alone."""

import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import OperationalError, connections
from django.db import connection as database
from hypothesis import given
from hypothesis import strategies as st

from playground import recorder as module
from playground.completion import RunStatus, StreamEvent, storable
from playground.heartbeat import Heartbeat
from playground.hub import Item
from playground.log import Ending, to_json
from playground.models import Comparison, Connection, Process, Run, RunEvent, User
from playground.reaper import this_process
from playground.recorder import Recorder
from tests.conftest import request_to

pytestmark = pytest.mark.django_db(transaction=True)

DONE = Ending(RunStatus.COMPLETED, total_ms=9.0)


def until(condition: Callable[[], Any], seconds: float = 5) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)


class Desk:
    """A recorder with `runs`, and what it has told the others."""

    def __init__(self, user: User, connection: Connection) -> None:
        self.process = Process.objects.create(host="h", pid=1, started="1")
        self.items: list[Item] = []
        self.unsaved: list[Item] = []  # published before they could be read
        self.lost: set[int] = set()
        self.beats = 0
        membership = user.membership()
        assert membership is not None
        columns = [(connection, request_to(connection))] * 3
        Comparison.objects.begin(membership, columns, owner=self.process)
        self.runs = list(Run.objects.claim(3, self.process))
        self.recorder = Recorder(self.process, self._published, self._beat, self.lost.update)
        for run in self.runs:
            self.recorder.open(run)

    def _published(self, items: list[Item]) -> None:
        self.items += items
        reader = threading.Thread(target=self._read, args=(items,))  # as another process would
        reader.start()
        reader.join()

    def _read(self, items: list[Item]) -> None:
        for item in items:
            there = RunEvent.objects.filter(run=item.run, seq=item.seq).exists()
            ended = not Run.objects.get(pk=item.run).live
            if not (ended or (there and not item.finished)):
                self.unsaved.append(item)
        connections.close_all()

    def _beat(self) -> None:
        self.beats += 1

    def say(self, run: Run, text: str, at: float = 1.0) -> None:
        self.recorder.add(run.pk, [StreamEvent("text", text, 0, at)])
        self.recorder.look()

    def end(self, run: Run, ending: Ending = DONE) -> Run:
        self.recorder.finish(run.pk, ending)
        until(lambda: self.recorder.committed(run.pk) is None)
        return Run.objects.get(pk=run.pk)

    def seqs(self, run: Run) -> list[int]:
        return [item.seq for item in self.items if item.run == run.pk]


@pytest.fixture
def desk(alice: User, connection: Connection) -> Iterator[Desk]:
    desk = Desk(alice, connection)
    desk.recorder.start()
    yield desk
    desk.recorder.close()
    assert desk.unsaved == []


def text_of(run: Run) -> str:
    return str(run.choices.get().text)


# --- Ticks ---------------------------------------------------------------------------------


def test_the_first_event_of_a_run_does_not_wait_for_the_tick(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TICK", 60.0)
    first, second, _ = desk.runs
    desk.say(first, "a")
    until(lambda: desk.seqs(first))
    desk.say(first, "b")
    desk.say(first, "c")
    assert desk.seqs(first) == [1]  # the rest waits
    desk.say(second, "x")
    until(lambda: desk.seqs(second))
    assert desk.seqs(first) == [1, 2]


def test_rows_are_committed_before_they_are_published(desk: Desk) -> None:
    for n in range(30):
        for run in desk.runs:
            desk.say(run, f"w{n} ")
        time.sleep(0.002)
    for run in desk.runs:
        desk.end(run)
    assert desk.unsaved == []
    for run in desk.runs:
        seqs = desk.seqs(run)
        assert seqs == sorted(seqs)
        assert set(seqs) == set(range(1, max(seqs) + 1))
        assert text_of(run) == "".join(f"w{n} " for n in range(30))


def test_a_live_run_has_its_log_and_an_ended_one_its_choices(desk: Desk) -> None:
    run = desk.runs[0]
    desk.say(run, "Hi ")
    until(lambda: desk.recorder.committed(run.pk) == 1)
    [row] = RunEvent.objects.filter(run=run)
    assert json.loads(row.events) == [["text", 0, "Hi ", [[1.0, 3]]]]
    assert not run.choices.exists()

    desk.say(run, "there", 4.0)
    desk.recorder.add(run.pk, [StreamEvent("finish", "stop", 0, 5.0)])
    desk.recorder.add(run.pk, [StreamEvent("usage", {"completion_tokens": 2}, -1, 5.0)])
    desk.recorder.add(run.pk, [StreamEvent("meta", {"id": "x"}, -1, 5.0)])
    ended = desk.end(run)
    assert not RunEvent.objects.filter(run=run).exists()
    assert (ended.status, ended.owner, ended.total_ms) == ("completed", None, 9.0)
    assert (ended.first_token_ms, ended.completion_tokens) == (1.0, 2)
    assert (ended.output_preview, ended.metadata_value) == ("Hi there", {"id": "x"})
    choice = ended.choices.get()
    assert (choice.text, choice.finish_reason) == ("Hi there", "stop")
    assert choice.timeline == [[1.0, 3], [4.0, 5]]
    last = json.loads(desk.items[-1].finished)
    sha256 = hashlib.sha256(b"Hi there").hexdigest()
    assert last == {
        "run": run.pk,
        "status": "completed",
        "choices": [{"index": 0, "length": 8, "sha256": sha256}],
    }


def test_an_error_is_saved_with_what_had_arrived(desk: Desk) -> None:
    run = desk.runs[0]
    desk.say(run, "Par")
    ending = Ending(RunStatus.FAILED, "rate_limit", "Slow\0 down \ud83d.", 429, 3.0)
    ended = desk.end(run, ending)
    assert (ended.status, ended.error_kind, ended.error_status) == ("failed", "rate_limit", 429)
    assert ended.error_message == "Slow\ufffd down \ufffd."
    assert text_of(run) == "Par"


def test_a_run_without_any_event_ends_without_a_choice(desk: Desk) -> None:
    ended = desk.end(desk.runs[0])
    assert (ended.status, ended.output_preview) == ("completed", "")
    assert not ended.choices.exists()


def test_what_comes_after_the_end_is_ignored(desk: Desk) -> None:
    run = desk.runs[0]
    desk.say(run, "a")
    desk.recorder.finish(run.pk, DONE)
    desk.recorder.open(run)  # a stop that comes late
    desk.recorder.finish(run.pk, Ending(RunStatus.CANCELLED))
    ended = desk.end(run)
    desk.say(run, "b")
    desk.recorder.finish(run.pk, Ending(RunStatus.FAILED))
    time.sleep(0.05)
    ended.refresh_from_db()
    assert (ended.status, text_of(ended)) == ("completed", "a")
    assert desk.lost == set()


def test_closing_writes_what_is_there(alice: User, connection: Connection) -> None:
    desk = Desk(alice, connection)
    desk.recorder.start()
    for run in desk.runs:
        desk.say(run, "a")
        desk.say(run, "b")
    desk.recorder.finish(desk.runs[0].pk, DONE)
    desk.recorder.close()
    assert text_of(desk.runs[0]) == "ab"
    assert RunEvent.objects.filter(run=desk.runs[1]).exists()


def test_it_beats_once_a_second_also_when_nothing_happens(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BEAT", 0.02)
    until(lambda: desk.beats >= 3)


@pytest.mark.skipif(database.vendor != "sqlite", reason="a server's goes back to its pool")
def test_a_beat_leaves_the_connection_to_sqlite_open() -> None:
    """To open the file each second took longer than the beat."""
    loop: Any = SimpleNamespace(call=lambda *_: None)
    heartbeat = Heartbeat(this_process(), loop, lambda: None, unwanted)
    heartbeat.beat()
    before = database.connection
    heartbeat.beat()
    assert before is not None
    assert database.connection is before


async def unwanted(*_: Any) -> None:
    raise AssertionError


# --- Runs that were lost, and runs that cannot be stored -----------------------------------


@pytest.mark.parametrize("changes", [{"status": "interrupted", "owner": None}, {"owner": "other"}])
def test_nothing_is_written_of_a_run_that_another_process_took(
    desk: Desk, changes: dict[str, Any]
) -> None:
    run, other, _ = desk.runs
    desk.say(run, "a")
    until(lambda: desk.recorder.committed(run.pk) == 1)
    if changes["owner"]:
        changes = {"owner": Process.objects.create(host="o", pid=2, started="2")}
    Run.objects.filter(pk=run.pk).update(**changes)
    desk.say(run, "b")
    desk.say(other, "x")
    until(lambda: desk.lost == {run.pk})
    desk.say(run, "c")
    desk.recorder.finish(run.pk, DONE)
    assert desk.end(other).status == "completed"
    assert [row.seq for row in RunEvent.objects.filter(run=run)] == [1]
    assert Run.objects.get(pk=run.pk).status == changes.get("status", "running")
    assert desk.seqs(run) == [1]


def nested(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "event",
    [
        StreamEvent("meta", {"deep": nested(5000)}, -1),
        StreamEvent("tool_call", [{"index": nested(5000), "function": nested(5000)}]),
        StreamEvent("usage", nested(5000), -1),
        StreamEvent("logprobs", [nested(5000)]),
    ],
    ids=["meta", "tool_call", "usage", "logprobs"],
)
def test_endless_nesting_is_cut(desk: Desk, event: StreamEvent) -> None:
    run = desk.runs[0]
    desk.say(run, "a")
    desk.recorder.add(run.pk, [event])
    ended = desk.end(run)
    assert (ended.status, ended.choices.get(index=0).text) == ("completed", "a")


def test_only_the_run_that_cannot_be_stored_fails(desk: Desk) -> None:
    guilty, *others = desk.runs
    for run in desk.runs:
        desk.say(run, "a")
    until(lambda: all(desk.recorder.committed(run.pk) for run in desk.runs))
    RunEvent.objects.create(run=guilty, seq=2, events="[]")  # its next place in the log is taken
    for run in desk.runs:
        desk.say(run, "b")
    until(lambda: desk.recorder.committed(guilty.pk) is None)
    failed = Run.objects.get(pk=guilty.pk)
    assert (failed.status, failed.error_kind) == ("failed", "internal")
    assert "could not be saved" in failed.error_message
    assert text_of(failed) == "a"  # what was in the log is kept
    for run in others:
        desk.say(run, "c")
        assert desk.end(run).status == "completed"
        assert text_of(run) == "abc"


def test_a_locked_database_loses_nothing_and_says_so(
    alice: User, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    if database.vendor != "sqlite":
        pytest.skip("the lock is SQLite's")
    options = connections["default"].settings_dict["OPTIONS"]
    monkeypatch.setitem(options, "timeout", 0.05)
    monkeypatch.setattr(module, "LONGEST_BACK_OFF", 0.2)
    desk = Desk(alice, connection)
    desk.recorder.start()
    ending, going = desk.runs[:2]
    for run in (ending, going):
        desk.say(run, "before ")
    until(lambda: all(desk.recorder.committed(run.pk) for run in (ending, going)))

    other = sqlite3.connect(database.settings_dict["NAME"], isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    for n in range(20):
        desk.say(ending, f"w{n} ")
        desk.say(going, f"w{n} ")
        time.sleep(0.01)
    desk.recorder.finish(ending.pk, DONE)
    until(lambda: desk.recorder.trouble)
    published = len(desk.items)
    desk.say(going, "meanwhile ")
    assert "Not saved yet" in desk.recorder.trouble
    assert len(desk.items) == published
    other.execute("ROLLBACK")
    other.close()

    until(lambda: not desk.recorder.trouble)
    words = "".join(f"w{n} " for n in range(20))
    desk.end(going)
    assert text_of(ending) == f"before {words}"
    assert text_of(going) == f"before {words}meanwhile "
    desk.recorder.close()
    assert desk.unsaved == []
    assert desk.lost == set()


def test_a_tick_whose_commit_is_in_doubt_is_neither_lost_nor_written_twice(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection breaks after the database has committed and before it could say so."""
    writer = desk.recorder._writer
    write = writer.write
    broken = []

    def and_break(taken: Any, again: bool = False) -> Any:
        items = write(taken, again)
        if len(broken) < 2:
            broken.append(items)
            raise OperationalError("server closed the connection unexpectedly")
        return items

    monkeypatch.setattr(writer, "write", and_break)
    going, ending = desk.runs[:2]
    desk.say(going, "a")
    desk.say(ending, "b")
    desk.recorder.finish(ending.pk, DONE)
    until(lambda: len(broken) == 2)
    desk.say(going, "c")
    assert desk.end(going).status == "completed"
    assert text_of(going) == "ac"
    until(lambda: desk.recorder.committed(ending.pk) is None)
    assert text_of(ending) == "b"
    assert desk.lost == set()


def test_it_is_full_when_too_much_waits_and_not_when_it_is_written(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FULL", 1000)
    assert not desk.recorder.full
    desk.say(desk.runs[0], "x" * 2000)
    until(lambda: not desk.recorder.full)
    desk.end(desk.runs[0])
    assert text_of(desk.runs[0]) == "x" * 2000


# --- What can be stored --------------------------------------------------------------------


def test_odd_values_of_a_provider_are_stored(desk: Desk) -> None:
    run = desk.runs[0]
    odd = {"nan": float("nan"), "big": 10**30, "\ud83d": "\0\ud83d", "inf": [float("inf")]}
    desk.recorder.add(run.pk, [StreamEvent("meta", odd, -1)])
    for counts in ({"prompt_tokens": -1, "completion_tokens": 10**30}, {"prompt_tokens": "x"},
                   {"completion_tokens": float("nan"), "prompt_tokens": True}):  # fmt: skip
        desk.recorder.add(run.pk, [StreamEvent("usage", counts, -1)])
    desk.recorder.add(run.pk, [StreamEvent("finish", "x" * 500 + "\0", 0)])
    ended = desk.end(run)
    assert ended.status == "completed"
    assert (ended.prompt_tokens, ended.completion_tokens) == (None, None)
    assert ended.metadata_value["nan"] is None
    assert len(ended.choices.get().finish_reason or "") == 100


ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(text=ANY_TEXT)
def test_any_text_becomes_one_that_every_database_takes(text: str) -> None:
    stored = storable(text)
    stored.encode()
    assert "\0" not in stored
    assert storable(stored) == stored
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    assert stored == text.replace("\0", "\ufffd")


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(ANY_TEXT, inner, max_size=3)
            | st.tuples(inner)
        ),
        max_leaves=8,
    )
)
def test_any_value_becomes_json_that_a_browser_parses(value: Any) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(name)

    text = to_json(value)
    text.encode()
    json.loads(text, parse_constant=refuse)


def test_of_many_that_end_at_once_the_text_does_not_wait_for_the_ends(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_ENDINGS", 1)
    for run in desk.runs:
        desk.recorder.add(run.pk, [StreamEvent("text", f"text of {run.pk}", 0, 1.0)])
        desk.recorder.finish(run.pk, DONE)
    until(lambda: all(desk.recorder.committed(run.pk) is None for run in desk.runs))
    for run in desk.runs:
        assert text_of(Run.objects.get(pk=run.pk)) == f"text of {run.pk}"
        assert [bool(item.finished) for item in desk.items if item.run == run.pk] == [False, True]
    assert desk.lost == set()
