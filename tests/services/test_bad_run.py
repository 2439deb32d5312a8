"""Runs whose provider sends what no database takes: the others do not notice."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fake_provider import DONE, FakeProvider, Reply
from tests.follower import Follower
from tests.server import Server, document, started_before

STREAMS = 20
WORDS = 120
RATE = 20.0  # words a second of each stream
WANTED = "".join(f"w{i} " for i in range(WORDS))
LONGEST_GAP = 2.0  # seconds; on a busy machine the reader here is late too
DIGITS = 10**400
LINE = "x" * 3_000_000


def event(text: str, index: int = 0, **extra: Any) -> bytes:
    """A chunk in pure ASCII: surrogates as escapes, NaN and Infinity as Python writes them."""
    choice = {"index": index, "text": text, "finish_reason": extra.pop("finish", None)}
    return b"data: %s\n\n" % json.dumps({"choices": [choice], **extra}).encode()


def nested(levels: int) -> Any:
    found: Any = "deep"
    for _ in range(levels):
        found = [found]
    return found


def raw(text: str) -> bytes:
    return b"data: %s\n\n" % text.encode()


ODD = [
    event("a\0b"),
    event("\ud83d"),  # half a character …
    event("\ude00"),  # … and its other half
    event("\ud800 alone"),
    event("\udc00"),
    event("!", nothing=float("nan"), all=[float("inf"), -float("inf")], **{"k\ud800\0": "\udfff"}),
    raw('{"choices":[],"much":1e400,"more":[-1e400]}'),
    event("?", digits=DIGITS, negative=[-DIGITS], usage={"prompt_tokens": DIGITS}),
    event(".", deep=nested(300), deeper={"a": nested(900)}),
    event("", logprobs={"tokens": 5, "token_logprobs": 7}),
    event("", 1, usage={"prompt_tokens": float("nan"), "completion_tokens": float("inf")}),
    event("second\ud83d", 1),  # its other half never comes
]
ENDS = [
    event("", 0, finish="stop\0\ud800", usage={"completion_tokens": float("inf"), "a": DIGITS}),
    event("", 1, finish="stop", usage={"completion_tokens": float("nan"), "b": "\0\udc00"}),
    DONE,
]
TEXT = "a\ufffdb😀\ufffd alone\ufffd!?."
TOO_DEEP = raw('{"choices":[],"deep":' + "[" * 10_000 + "]" * 10_000 + "}")
TOOL = {"index": DIGITS, "function": "no object", "id": float("nan")}
TOKEN = {"token": "\ud83d\0", "logprob": float("nan"), "bytes": [DIGITS], "top_logprobs": [7]}
LEGACY = {"tokens": ["a"], "token_logprobs": 3, "top_logprobs": {"a": 1}}


def choice(**fields: Any) -> bytes:
    return raw(json.dumps({"choices": [{"index": 0, **fields}]}))


STRANGE = [
    choice(index=DIGITS, text="beside"),
    choice(delta={"tool_calls": [TOOL, nested(500)]}),
    choice(text="t", logprobs=LEGACY),
    choice(text="u", logprobs={"content": [TOKEN]}),
]


def paced(*pieces: bytes) -> Reply:
    """One by one, each in a tick of its own: what is in the log is read back at the end."""
    return Reply(pieces=[step for piece in pieces for step in (piece, 0.1)], delay=1.0)


def at_once(*pieces: bytes) -> Reply:
    return Reply(pieces=[b"".join(pieces)], delay=1.0)


REPLIES = {
    "odd and long": paced(*ODD, event(LINE), *ENDS),
    "odd at once": at_once(*ODD, *ENDS),
    "too deep": paced(*ODD, TOO_DEEP, *ENDS),
    "strange": paced(*STRANGE, *ENDS),
    "deep error": paced(*ODD, raw('{"error":' * 500 + '"words"' + "}" * 500)),
    "strange at once": at_once(*STRANGE, *ENDS),
}
TEXTS = {"odd and long": TEXT + LINE, "strange": "besidetu", "strange at once": "besidetu"}
STATUS = {"too deep": "failed", "deep error": "failed"}


class Timed(Follower):
    """Knows the longest time that passed between two arrivals of each run."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.last: dict[int, float] = {}
        self.gaps: dict[int, float] = {}

    def _take(self, message: dict[str, Any]) -> bool:
        now = time.monotonic()
        for row in [*message.get("events", []), *message.get("finished", [])]:
            run = row["run"]
            if run in self.last:
                self.gaps[run] = max(self.gaps.get(run, 0.0), now - self.last[run])
            self.last[run] = now
        return super()._take(message)


@pytest.fixture(params=["sqlite", "postgresql"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    environment = {}
    if request.param == "postgresql":
        new_database: Callable[[], str] = request.getfixturevalue("postgres")
        environment["DATABASE_URL"] = new_database()
    with Server(started_before(tmp_path / "data"), **environment) as running:
        yield running


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    with FakeProvider() as provider:
        for model, reply in REPLIES.items():
            provider.on(model, reply)
        yield provider


def stored(server: Server, runs: list[int]) -> list[dict[str, Any]]:
    """Of each run its status and the text of its first choice."""
    query = (
        "SELECT run.id, status, error_kind, warnings, usage, metadata, text"
        " FROM playground_run AS run LEFT JOIN playground_choice AS choice"
        ' ON choice.run_id = run.id AND choice."index" = 0'
        " WHERE run.id BETWEEN ? AND ? ORDER BY run.id"
    )
    return server.rows(query, min(runs), max(runs))


def test_a_bad_run_disturbs_none_of_the_20_beside_it(server: Server, fake: FakeProvider) -> None:
    person = server.user()
    connection = server.connect("fake", fake.url)
    column = {"connection": connection}
    columns = [column] * STREAMS + [{**column, "model": model} for model in REPLIES]
    _, runs = person.run(document(*columns, prompt=f"rate={RATE} n={WORDS}"))
    good, bad = runs[:STREAMS], dict(zip(REPLIES, runs[STREAMS:], strict=True))
    # All on one socket, as in a page.
    follower = Timed(f"ws://127.0.0.1:{server.port}/ws/", person.socket_headers, runs)

    async def follow() -> None:
        async with asyncio.timeout(30):
            await follower.follow()

    try:
        asyncio.run(follow())
    except TimeoutError:
        left = {run: follower.seq[run] for run in follower.open_runs}
        records = [{**row, "text": 0, "metadata": 0} for row in stored(server, list(left))]
        log = server.rows(
            "SELECT run_id, seq, length(events) AS n FROM playground_runevent WHERE run_id > 20"
        )
        pytest.fail(f"Not told the end of {left}: {records} {log} {server.output}")
    assert [row["text"] for row in stored(server, good)] == [WANTED] * STREAMS
    assert {row["status"] for row in stored(server, good)} == {"completed"}
    assert max(follower.gaps[run] for run in good) < LONGEST_GAP
    for model, run in bad.items():
        [row] = stored(server, [run])
        assert (model, row["status"]) == (model, STATUS.get(model, "completed"))
        assert row["text"] == TEXTS.get(model, TEXT), (model, row["text"][:50])
        assert json.loads(row["usage"] or "{}") is not None
        assert json.loads(row["metadata"] or "{}") is not None
    assert server.rows("SELECT id FROM playground_runevent") == []
    assert server.is_up()
    assert "Traceback" not in server.output

    # What is stored can be shown, whole and as one line of the history.
    for run in bad.values():
        assert person.http.get(f"{server.url}/runs/{run}/").status_code == 200
    assert person.http.get(f"{server.url}/history/").status_code == 200
    # And the next one works.
    _, [after] = person.run(document(column, prompt="n=3"))
    deadline = time.monotonic() + 10
    while stored(server, [after])[0]["status"] != "completed":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert "Traceback" not in server.output
