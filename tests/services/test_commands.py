"""`manage.py connection` and `manage.py complete`, as scripts use them: only DATA_DIR is set."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from playground.embedded import status
from tests.fake_provider import (
    DONE,
    FIN,
    FakeProvider,
    Reply,
    error_reply,
    json_reply,
    text_event,
    words,
)
from tests.server import ROOT, Server
from tests.services.conftest import with_model

KEY = "secret-0123456789-abcdef"
TEXT = "  leading\n\n\ttabs\r\n 👩‍👩‍👧 e\u0301 שלום <script>\u2028 end \n\n"
ENDLESS = words(10_000, 40.0)
OURS = ("DATABASE_URL", "DJANGO_SETTINGS_MODULE", "EMBEDDED", "REDIS_URL")

Done = subprocess.CompletedProcess[bytes]


class Shell:
    """Commands in one DATA_DIR, with nothing else in their environment."""

    def __init__(self, data_dir: Path) -> None:
        self.database = Server(data_dir)  # to read its rows; it is not started
        inherited = {name: value for name, value in os.environ.items() if name not in OURS}
        self.environment = {**inherited, "DATA_DIR": str(data_dir)}

    def begin(self, *arguments: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def manage(self, *arguments: str, stdin: bytes = b"", code: int = 0) -> Done:
        with self.begin(*arguments) as process:
            output, errors = process.communicate(stdin, timeout=60)
        assert process.returncode == code, (output, errors.decode())
        assert b"Traceback" not in errors, errors.decode()
        assert KEY.encode() not in output + errors
        return Done(arguments, process.returncode, output, errors)

    def connect(
        self, name: str, base_url: str, *more: str, dialect: str = "llama.cpp", **how: Any
    ) -> Done:
        return self.manage(
            "connection", name, "--provider", "local", "--dialect", dialect,
            "--base-url", base_url, *more, **how,
        )  # fmt: skip

    def complete(self, *arguments: str, connection: str = "fake", **how: Any) -> Done:
        return self.manage("complete", "--connection", connection, *arguments, **how)

    def record(self, *arguments: str, **how: Any) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.complete("--json", *arguments, **how).stdout)
        return found

    def last(self) -> dict[str, Any]:
        """The newest run, with the text of its first choice."""
        query = (
            "SELECT run.*, text FROM playground_run AS run LEFT JOIN playground_choice AS choice"
            " ON choice.run_id = run.id ORDER BY run.id DESC, choice.id LIMIT 1"
        )
        [row] = self.database.rows(query)
        return row


@pytest.fixture(scope="module")
def fakes() -> Iterator[FakeProvider]:
    with FakeProvider() as provider:
        yield provider


@pytest.fixture
def fake(fakes: FakeProvider) -> FakeProvider:
    fakes.clear()
    return fakes


@pytest.fixture(scope="module")
def shell(fakes: FakeProvider, tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A DATA_DIR that nothing but these commands has ever touched."""
    shell = Shell(tmp_path_factory.mktemp("commands") / "data")
    first = shell.connect("fake", fakes.url)
    assert first.stdout.decode() == f"Created connection fake: {fakes.url}\n"
    return shell


# --- complete: what comes out ---


def test_standard_output_is_only_the_text_byte_for_byte(shell: Shell, fake: FakeProvider) -> None:
    pieces = [text_event(piece) for piece in (TEXT[:9], TEXT[9:25], TEXT[25:])]
    fake.reply_with(Reply(pieces=[*pieces, FIN, DONE]))
    assert shell.complete("Hi").stdout == TEXT.encode()
    assert shell.last()["text"] == TEXT


def test_the_text_comes_as_it_streams(shell: Shell, fake: FakeProvider) -> None:
    fake.reply_with(ENDLESS)
    with shell.begin("complete", "--connection", "fake", "Hi") as process:
        assert process.stdout is not None
        assert process.stdout.read(9) == b"w0 w1 w2 "
        assert shell.last()["status"] == "running"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)


def test_an_answer_in_one_piece_and_all_choices_are_written(
    shell: Shell, fake: FakeProvider
) -> None:
    assert shell.complete("--set", "n=2", "n=2").stdout == b"w0 w1 \nw0 w1 "


def test_json_is_the_finished_record(shell: Shell, fake: FakeProvider) -> None:
    record = shell.record("--model", "any/name", "rate=50 n=10")
    assert list(record)[:4] == ["status", "choices", "usage", "error"]
    assert record["status"] == "completed"
    text = "".join(f"w{i} " for i in range(10))
    assert record["choices"] == [{"index": 0, "text": text, "finish_reason": "stop"}]
    assert record["usage"] == {"prompt_tokens": 2, "completion_tokens": 10, "total_tokens": 12}
    assert record["error"] is None
    assert 0 < record["timings"]["first_token_ms"] < record["timings"]["total_ms"]
    assert record["url"] == f"http://127.0.0.1:8000/runs/{shell.last()['id']}/"


def test_the_prompt_is_read_from_standard_input_as_it_is(shell: Shell, fake: FakeProvider) -> None:
    prompt = " two\r\nlines é👍\n\n"
    shell.complete("-", stdin=prompt.encode())
    assert fake.posts[-1].json["prompt"] == prompt
    shell.complete("-")
    assert fake.posts[-1].json["prompt"] == ""


def test_a_prompt_that_is_not_utf_8_is_refused(shell: Shell, fake: FakeProvider) -> None:
    done = shell.complete("-", stdin=b"caf\xe9", code=1)
    assert "UTF-8" in done.stderr.decode()
    assert fake.posts == []


# --- complete: what is sent ---


def test_it_sends_what_is_set_as_json_or_as_text(shell: Shell, fake: FakeProvider) -> None:
    arguments = [
        "temperature=0", "seed=0", "max_tokens=5", "ignore_eos=true", "grammar=root ::= x",
        'stop=["\\n", "a=b"]', 'stream_options={"include_usage": true}', 'logit_bias={"5": -1.5}',
    ]  # fmt: skip
    shell.complete(*(part for each in arguments for part in ("--set", each)), "Hi")
    assert fake.posts[-1].json == {
        "model": "fake-1", "prompt": "Hi", "temperature": 0, "seed": 0, "max_tokens": 5,
        "ignore_eos": True, "grammar": "root ::= x", "stop": ["\n", "a=b"], "stream": True,
        "stream_options": {"include_usage": True}, "logit_bias": {"5": -1.5},
    }  # fmt: skip


def test_stream_can_be_switched_off(shell: Shell, fake: FakeProvider) -> None:
    choice = {"index": 0, "text": " whole", "finish_reason": "stop"}
    fake.reply_with(json_reply({"choices": [choice]}))
    assert shell.complete("--set", "stream=false", "Hi").stdout == b" whole"
    assert fake.posts[-1].json["stream"] is False
    assert "stream_options" not in fake.posts[-1].json


def test_chat_sends_one_user_message(shell: Shell, fake: FakeProvider) -> None:
    assert shell.complete("--chat", "n=2").stdout == b"w0 w1 "
    assert fake.posts[-1].path == "/v1/chat/completions"
    assert fake.posts[-1].json["messages"] == [{"role": "user", "content": "n=2"}]
    assert fake.posts[-1].json["stream_options"] == {"include_usage": True}


def test_the_model_is_the_default_of_the_connection_else_the_first_listed(
    shell: Shell, fake: FakeProvider
) -> None:
    fake.models = ["listed-1", "listed-2"]
    shell.complete("Hi")
    assert fake.posts[-1].json["model"] == "listed-1"
    shell.connect("default", fake.url, "--model", "my-default")
    shell.complete("Hi", connection="default")
    assert fake.posts[-1].json["model"] == "my-default"
    shell.complete("--model", "mine", "Hi", connection="default")
    assert fake.posts[-1].json["model"] == "mine"


def test_labels_are_stored(shell: Shell, fake: FakeProvider) -> None:
    shell.complete("--label", "stage=draft", "--label", " Nightly  run ", "Hi")
    query = (
        "SELECT name FROM playground_label AS label JOIN playground_runlabel AS found"
        " ON found.label_id = label.id WHERE found.run_id = ? ORDER BY name"
    )
    found = [row["name"] for row in shell.database.rows(query, shell.last()["id"])]
    assert found == ["Nightly run", "stage=draft"]


def test_what_is_out_of_bounds_is_refused_and_force_sends_it(
    shell: Shell, fake: FakeProvider
) -> None:
    shell.connect("vllm", fake.url, dialect="vllm")
    refused = shell.complete("--set", "temperature=3", "Hi", connection="vllm", code=1)
    assert "temperature: The documented range is 0 to 2." in refused.stderr.decode()
    assert "--force" in refused.stderr.decode()
    assert len(refused.stderr.splitlines()) == 1
    assert (refused.stdout, fake.posts) == (b"", [])
    forced = shell.complete("--force", "--set", "temperature=3", "Hi", connection="vllm")
    assert forced.stdout.startswith(b"w0 ")
    assert fake.posts[-1].json["temperature"] == 3


def test_warnings_go_to_standard_error_and_it_is_sent(shell: Shell, fake: FakeProvider) -> None:
    done = shell.complete("--set", "use_beam_search=true", "--set", "min_tokens=3", "n=1")
    assert done.stdout == b"w0 "
    assert "use_beam_search is not sent" in done.stderr.decode()
    assert "min_tokens: Ignored by llama.cpp." in done.stderr.decode()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "temperature", "Hi"], "PATH=VALUE"),
        (["--set", "no_such=1", "Hi"], "There is no parameter no_such."),
        (["--set", "temperature=warm", "Hi"], "temperature: Type a number"),
        (["--force", "--set", "temperature=warm", "Hi"], "temperature: Type a number"),
        (["--label", " ", "Hi"], "A label has 1 to 100 characters"),
        (["--user", "nobody", "Hi"], "There is no user named nobody."),
        (["--team", "Nowhere", "Hi"], "admin is in no team named Nowhere."),
    ],
)
def test_a_mistake_is_one_sentence_and_nothing_is_sent(
    shell: Shell, fake: FakeProvider, arguments: list[str], words: str
) -> None:
    done = shell.complete(*arguments, code=1)
    assert words in done.stderr.decode()
    assert (done.stdout, fake.posts) == (b"", [])


def test_an_unknown_connection_is_one_sentence(shell: Shell) -> None:
    done = shell.complete("Hi", connection="nowhere", code=1)
    assert "There is no connection named nowhere" in done.stderr.decode()


def test_the_run_belongs_to_the_named_user_and_team(shell: Shell, fake: FakeProvider) -> None:
    make = (
        "from playground.models import *; t = Team.objects.create(name='Evals');"
        "u = User.objects.create_user('alice'); Membership.objects.create(user=u, team=t);"
        "r = User.objects.create_user('rita');"
        "Membership.objects.create(user=r, team=t, role='reviewer')"
    )
    shell.manage("shell", "-v", "0", "-c", make)
    query = (
        "SELECT username, team.name FROM playground_run AS run"
        " JOIN playground_user AS author ON author.id = run.author_id"
        " JOIN playground_team AS team ON team.id = run.team_id WHERE run.id = ?"
    )
    shell.complete("Hi")
    [row] = shell.database.rows(query, shell.last()["id"])
    assert row == {"username": "admin", "name": "Team"}
    shell.complete("--user", "alice", "--team", "Evals", "Hi")
    [row] = shell.database.rows(query, shell.last()["id"])
    assert row == {"username": "alice", "name": "Evals"}
    refused = shell.complete("--user", "rita", "Hi", code=1)
    assert "cannot start or import runs" in refused.stderr.decode()


# --- complete: failures ---


def test_a_failed_run_exits_non_zero_with_the_words_of_the_provider(
    shell: Shell, fake: FakeProvider
) -> None:
    fake.reply_with(error_reply(400, {"error": {"message": "max_tokens is too large"}}))
    done = shell.complete("Hi", code=1)
    assert done.stdout == b""
    assert done.stderr.decode() == "max_tokens is too large\n"
    record = shell.record("Hi", code=1)
    error = {"kind": "bad_request", "message": "max_tokens is too large", "status": 400}
    assert record["status"] == "failed"
    assert record["error"] == error
    assert record["choices"] == []
    assert record["usage"] is None


def test_a_run_that_breaks_off_has_written_its_text(shell: Shell, fake: FakeProvider) -> None:
    fake.reply_with(Reply(pieces=[text_event("begun ")], end="abort"))
    done = shell.complete("Hi", code=1)
    assert done.stdout == b"begun "
    assert "broke off" in done.stderr.decode()


def test_a_backend_that_is_away_fails_the_run(shell: Shell) -> None:
    shell.connect("away", "http://127.0.0.1:9/v1")
    record = shell.record("Hi", connection="away", code=1)
    assert (record["status"], record["error"]["kind"]) == ("failed", "connection")
    assert shell.last()["status"] == "failed"


def test_ctrl_c_leaves_a_cancelled_run_with_its_text(shell: Shell, fake: FakeProvider) -> None:
    fake.reply_with(ENDLESS)
    with shell.begin("complete", "--connection", "fake", "Hi") as process:
        assert process.stdout is not None
        begun = process.stdout.read(12)
        process.send_signal(signal.SIGINT)
        asked = time.monotonic()
        output = process.stdout.read()
    assert time.monotonic() - asked < 2
    assert process.returncode != 0
    run = shell.last()
    assert run["status"] == "cancelled"
    assert run["text"].encode() == begun + output
    assert fake.posts[-1].closed.wait(2)
    assert fake.posts[-1].dropped


def test_ctrl_c_with_json_prints_the_record(shell: Shell, fake: FakeProvider) -> None:
    fake.reply_with(ENDLESS)
    with shell.begin("complete", "--connection", "fake", "--json", "Hi") as process:
        fake.wait_for_request(1, 20)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=20)
    record = json.loads(output)
    assert (record["status"], record["error"]) == ("cancelled", None)
    assert record["choices"][0]["text"].startswith("w0 ")


def test_a_reader_that_leaves_early_ends_the_run(shell: Shell, fake: FakeProvider) -> None:
    """As in `… | head -c 6`."""
    fake.reply_with(ENDLESS)
    with shell.begin("complete", "--connection", "fake", "Hi") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        begun = process.stdout.read(6)
        assert begun == b"w0 w1 ", process.stderr.read().decode()
        process.stdout.close()
        assert process.wait(20) != 0
        assert b"Traceback" not in process.stderr.read()
    assert shell.last()["status"] == "cancelled"
    assert shell.last()["text"].startswith("w0 w1 ")


def test_after_kill_9_the_next_command_closes_the_run(shell: Shell, fake: FakeProvider) -> None:
    fake.reply_with(ENDLESS)
    with shell.begin("complete", "--connection", "fake", "Hi") as process:
        assert process.stdout is not None
        begun = process.stdout.read(12)
        process.kill()
    killed = shell.last()["id"]
    fake.reply_with(words(2))
    assert shell.complete("Hi").stdout == b"w0 w1 "
    query = (
        "SELECT status, text, error_message FROM playground_run AS run"
        " JOIN playground_choice AS choice ON choice.run_id = run.id WHERE run.id = ?"
    )
    [row] = shell.database.rows(query, killed)
    assert row["status"] == "interrupted"
    assert row["text"].startswith(begun.decode())
    assert "what had arrived is kept" in row["error_message"]


# --- several at once, and beside a server ---


def test_one_waits_for_another_and_ctrl_c_takes_it_out_of_the_queue(
    shell: Shell, fake: FakeProvider
) -> None:
    shell.connect("one", fake.url, "--parallel", "1", "--model", "m")
    fake.reply_with(words(60, 30.0))
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(shell.complete, "Hi", connection="one")
        fake.wait_for_request(1, 20)
        with shell.begin("complete", "--connection", "one", "Out") as out:
            while shell.last()["prompt_preview"] != "Out":
                time.sleep(0.05)
            assert shell.last()["status"] == "queued"
            out.send_signal(signal.SIGINT)
            assert out.communicate(timeout=20) == (b"", b"")
        assert out.returncode != 0
        assert shell.last()["status"] == "cancelled"
        assert shell.complete("Next", connection="one").stdout.startswith(b"w0 w1 ")
        assert first.result().stdout.startswith(b"w0 w1 ")
    assert [request.prompt for request in fake.posts] == ["Hi", "Next"]


def test_several_at_once_on_a_fresh_folder(fake: FakeProvider, tmp_path: Path) -> None:
    shell = Shell(tmp_path / "data")
    with ThreadPoolExecutor(3) as pool:
        names = ["a", "b", "c"]
        for done in pool.map(lambda name: shell.connect(name, fake.url), names):
            assert done.stdout.startswith(b"Created connection ")
    with ThreadPoolExecutor(8) as pool:
        prompts = [f"rate=20 n={n}" for n in range(10, 18)]
        found = list(pool.map(lambda prompt: shell.complete(prompt, connection="a"), prompts))
    for n, done in zip(range(10, 18), found, strict=True):
        assert done.stdout.decode() == "".join(f"w{i} " for i in range(n))
    rows = shell.database.rows("SELECT status FROM playground_run")
    assert [row["status"] for row in rows] == ["completed"] * 8


def test_eight_first_commands_at_once_share_the_embedded_backend(
    model: Path, tmp_path: Path
) -> None:
    """Each of them may be the one that makes keys, database and backend."""
    shell = Shell(with_model(tmp_path / "data", model))
    set_to = ["--set", "temperature=0", "--set", "max_tokens=8", "--set", "ignore_eos=true"]
    with ThreadPoolExecutor(8) as pool:
        found = list(
            pool.map(lambda _: shell.record(*set_to, "The sea is", connection="embedded"), range(8))
        )
    assert [record["status"] for record in found] == ["completed"] * 8
    assert {record["usage"]["completion_tokens"] for record in found} == {8}
    assert {record["url"].split("/")[-2] for record in found} == {str(n) for n in range(1, 9)}
    assert status(tmp_path / "data") == "absent"


def test_they_work_beside_a_server(fake: FakeProvider, tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        shell = Shell(tmp_path / "data")
        shell.connect("fake", fake.url)
        assert shell.complete("n=3").stdout == b"w0 w1 w2 "
        page = server.user().http.get(f"{server.url}/runs/{shell.last()['id']}/")
        assert "w0 w1 w2" in page.text
        assert "Traceback" not in server.output


# --- connection ---


def key_sent(fake: FakeProvider) -> str:
    return fake.posts[-1].headers.get("authorization", "")


def test_a_key_is_read_sent_and_never_shown(shell: Shell, fake: FakeProvider) -> None:
    shell.connect("keyed", fake.url, "--key-stdin", stdin=f"{KEY}\n".encode())
    shell.complete("Hi", connection="keyed")
    assert key_sent(fake) == f"Bearer {KEY}"
    fake.reply_with(error_reply(401, {"error": {"message": f"Incorrect API key {KEY}"}}))
    assert b"Incorrect API key [key]" in shell.complete("Hi", connection="keyed", code=1).stderr
    for path in shell.database.data_dir.glob("db.sqlite3*"):
        assert KEY.encode() not in path.read_bytes()


def test_an_update_keeps_the_key_and_a_new_address_drops_it(
    shell: Shell, fake: FakeProvider
) -> None:
    shell.connect("moving", fake.url, "--key-stdin", stdin=KEY.encode() + b"\r\n")
    kept = shell.connect("moving", fake.url, "--model", "m")
    assert kept.stdout.decode() == f"Updated connection moving: {fake.url}\n"
    assert kept.stderr == b""
    shell.complete("Hi", connection="moving")
    assert key_sent(fake) == f"Bearer {KEY}"

    moved = shell.connect("moving", fake.url.replace("127.0.0.1", "localhost"))
    assert "this was dropped: the stored key" in moved.stderr.decode()
    shell.complete("Hi", connection="moving")
    assert key_sent(fake) == ""
    shell.connect("moving", fake.url)
    shell.complete("Hi", connection="moving")
    assert key_sent(fake) == ""

    both = shell.connect("moving", fake.url + "/x/..", "--key-stdin", stdin=KEY.encode())
    assert both.stderr == b""


@pytest.mark.parametrize("stdin", [b"", b"\n", b"a key\n", b'"quoted"', "clé".encode(), b"caf\xe9"])
def test_a_key_that_cannot_be_one_is_refused(
    shell: Shell, fake: FakeProvider, stdin: bytes
) -> None:
    done = shell.connect("bad", fake.url, "--key-stdin", stdin=stdin, code=1)
    assert "key" in done.stderr.decode()
    assert shell.database.rows("SELECT 1 FROM playground_connection WHERE name = 'bad'") == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["x", "--provider", "local", "--base-url", "ftp://a"], "Enter an address such as"),
        (["x", "--provider", "local", "--base-url", "http://u:p@a/v1"], "Enter an address such as"),
        (["x", "--base-url", "http://a/v1"], "needs --provider"),
        (["embedded", "--base-url", "http://a/v1"], "belongs to the embedded backend"),
        (["x" * 61, "--provider", "local", "--base-url", "http://a/v1"], "60 characters"),
    ],
)
def test_a_wrong_connection_is_refused_with_a_sentence(
    shell: Shell, arguments: list[str], words: str
) -> None:
    assert words in shell.manage("connection", *arguments, code=1).stderr.decode()


def test_an_unknown_provider_is_refused(shell: Shell) -> None:
    done = shell.manage(
        "connection", "x", "--provider", "none", "--base-url", "http://a/v1", code=2
    )
    assert b"invalid choice: 'none'" in done.stderr


def test_the_commands_of_the_readme_work_as_they_stand_there(tmp_path: Path, model: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    made, completed = re.findall(r"^ {4}\.venv/bin/python manage\.py (.+)$", text, re.MULTILINE)
    shell = Shell(with_model(tmp_path / "data", model))
    assert b"Created connection mine" in shell.manage(*shlex.split(made)).stdout
    assert len(shell.manage(*shlex.split(completed)).stdout.split()) > 3
    assert shell.last()["status"] == "completed"
