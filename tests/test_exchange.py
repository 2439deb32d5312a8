"""What goes out and comes in again: the same runs, to the byte, and nothing else."""

import asyncio
import csv
import io
import json
import sqlite3
import uuid
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from playground import parameters
from playground.completion import CompletionRequest, storable
from playground.exchange import importing, source
from playground.exchange.exporting import Export, write_file, written
from playground.exchange.importing import BadFile, begin, step
from playground.exchange.lines import embedded, line_of, unembedded
from playground.exchange.texts import LAYOUTS
from playground.log import to_json
from playground.models import (
    Choice,
    Comment,
    Comparison,
    Label,
    Membership,
    Rating,
    Run,
    RunFact,
    RunLabel,
    SearchText,
    Team,
    Transfer,
    User,
    walk,
)
from playground.models.choices import packed
from playground.models.pairs import set_pair
from playground.models.walk import Selection
from playground.tables import read_table
from tests.conftest import person
from tests.runs import make_run

SECRET = "sk-test-SECRET77"
ODD = 'a,"b"\nc\r\nd\u2028\u2029\x85\ufeff 日本語 😀 ``` <script>alert(1)</script> & \x1b'


def exported(user: User, layout: str = "jsonl", **selection: Any) -> bytes:
    return b"".join(part for part, _ in written(user, Selection.now(**selection), layout))


def imported(user: User, content: bytes, tmp_path: Path | None = None) -> Transfer:
    member = user.membership()
    assert member is not None
    transfer = begin(member, "runs.jsonl", lambda path: void(path.write_bytes(content)))
    while step(transfer):
        pass
    transfer.refresh_from_db()
    assert not transfer.path.exists()
    return transfer


def void(_: object) -> None:
    return None


ASKED = CompletionRequest(
    "local",
    "chat",
    "m",
    dialect="vllm",
    messages=({"role": "user", "content": "Lone \ud83d and \0 NUL"},),
    values={"temperature": 0, "stream": True, "stop": ["\n", ""]},
    extra={"big": 2**70, "nested": {"é": [None, 1.0, 1e16]}},
    own_headers={"X-Secret": SECRET},
    labels=("a",),
)

COLUMNS: dict[str, Any] = {  # of a run, each with something that a file could lose
    "request": ASKED.to_json(),
    "operation": "chat",
    "dialect": "vllm",
    "streams": True,
    "coordinates": '{"values": {"temperature": "0"}, "row": 1}',
    "column": 3,
    "position": 7,
    "error_kind": "truncated",
    "error_message": "It broke <b>off</b>",
    "error_status": 502,
    "status": "failed",
    "warnings": "one\ntwo",
    "lessons": '[["n", "ignored", "It was \\u00fc"]]',
    "usage": '{"prompt_tokens": 3, "total": NaN}',
    "metadata": to_json({"id": "x", "t": 1e16, "z": [1, {}]}),
    "prompt_tokens": 3,
    "completion_tokens": 0,
    "cost": Decimal("0.0000123400"),
    "cost_is_own": True,
    "price_input": Decimal("1.500000"),
    "price_output": Decimal("2"),
    "first_token_ms": 0.0,
    "total_ms": 1234.5,
    "starred": True,
}


def full(alice: User, bob: User) -> Run:
    """A run with everything on it."""
    run = make_run(alice, "=1+1", ODD, visibility="private", values={"temperature": 0.7, "n": 2})
    Run.objects.filter(pk=run.pk).update(
        started_at=run.created_at + timedelta(seconds=1),
        finished_at=run.created_at + timedelta(seconds=2),
        **COLUMNS,
    )
    Comparison.objects.filter(pk=run.comparison_id).update(
        axes='{"fields": ["temperature"], "rows": [{"a": "b"}], "names": ["a"]}',
        document='{"columns": [{"connection": 5}]}',
    )
    Choice.objects.filter(run=run).update(
        reasoning="So…",
        tool_calls='[{"index":0,"function":{"name":"f","arguments":"{}"}}]',
        packed_logprobs=packed([{"token": "\ud83d", "logprob": None, "bytes": [240], "top": []}]),
        packed_timeline=packed([[0.5, 3], [12.0, 4]]),
    )
    Choice.objects.create(run=run, index=2, text="", finish_reason=None, sha256="")
    RunLabel.objects.put([run.pk], Label.objects.named(run.team_id, ["Stage=Draft", "@SUM(A1)"]))
    Rating.objects.give(run, alice, 5)
    Rating.objects.give(run, bob, 2)
    Comment.write(run, bob, "Good\r\nindeed")
    Comment.write(run, alice, "-5")
    set_pair(run, "who", "me")
    run.refresh_from_db()
    return run


@pytest.fixture
def dora(db: None) -> User:
    """Owns a team that is empty."""
    return person("dora", Team.objects.create(name="Empty"), Membership.Role.OWNER)


def test_export_import_export_is_the_same_to_the_byte(alice: User, bob: User, dora: User) -> None:
    full(alice, bob)
    first = make_run(alice, "one", "eins")
    make_run(alice, "two", "zwei", comparison=first.comparison)
    make_run(bob, "bob's", "x", created_at=datetime(2025, 1, 2, tzinfo=UTC))
    before = exported(alice)
    transfer = imported(dora, before)
    assert (transfer.runs, transfer.skipped, transfer.problem_list) == (4, 0, [])
    assert transfer.error == ""
    assert exported(dora) == before
    assert exported(alice) == before  # nothing of the source has changed


def test_nothing_is_overwritten_and_what_is_known_is_counted(
    alice: User, bob: User, dora: User
) -> None:
    run = full(alice, bob)
    content = exported(alice)
    imported(dora, content)
    copy = Run.objects.get(team__name="Empty")
    Run.objects.filter(pk=copy.pk).update(starred=False)
    make_run(alice, "another")
    again = imported(dora, exported(alice))
    assert (again.runs, again.skipped, again.bad) == (1, 1, 0)
    copy.refresh_from_db()
    assert not copy.starred
    same = imported(alice, content)
    assert (same.runs, same.skipped) == (0, 1)
    assert Run.objects.filter(origin_id=run.origin_id).count() == 2


def test_an_unknown_author_is_kept_as_text_and_the_run_is_the_importers(
    alice: User, bob: User, dora: User
) -> None:
    full(alice, bob)
    imported(dora, exported(alice))
    copy = Run.objects.get(team__name="Empty")
    assert (copy.author, copy.by, copy.named) == (dora, "imported: alice", "alice")
    assert copy.visibility == copy.comparison.visibility == "private"
    assert copy.comparison.by == "imported: alice"
    comments = [(each.author, each.by) for each in copy.comments.all()]
    assert comments == [(None, "imported: bob"), (None, "imported: alice")]
    assert copy.rating == 3.5
    assert copy.comparison.document == ""  # its connections are those of elsewhere


def test_only_an_owner_speaks_for_others(alice: User, bob: User, dora: User, team: Team) -> None:
    make_run(dora, "x")
    Run.objects.update(imported_from="alice")
    content = exported(dora)
    run = imported(bob, content) and Run.objects.get(team=team)
    assert (run.author, run.by) == (bob, "imported: alice")
    Comparison.objects.filter(team=team).delete()
    imported(alice, content)
    assert Run.objects.get(team=team).by == "alice"


def test_what_came_in_is_found_and_has_its_facts(alice: User, bob: User, dora: User) -> None:
    make_run(alice, "kingfisher", "rivers", values={"temperature": 0.7})
    imported(dora, exported(alice))
    copy = Run.objects.get(team__name="Empty")
    assert copy.indexed
    assert SearchText.objects.found(copy.team_id, ["rivers"], 10) == [copy.pk]
    assert RunFact.objects.filter(run=copy, key="temperature", number=0.7).exists()


def test_keys_documents_and_values_of_headers_stay_here(alice: User, bob: User) -> None:
    full(alice, bob)
    for layout in ("jsonl", "csv", "markdown", "html"):
        assert SECRET.encode() not in exported(alice, layout), layout
    assert b'"own_headers":["X-Secret"]' in exported(alice)
    assert b'"document"' not in exported(alice)


def test_others_private_runs_and_the_trash_stay_here(alice: User, bob: User, rita: User) -> None:
    full(alice, bob)
    make_run(alice, "gone", "zyzzyva").comparison.trash()
    make_run(alice, "live", status="running")
    assert b"zyzzyva" not in exported(alice)
    lines = exported(rita).splitlines()
    assert [json.loads(line)["type"] for line in lines] == ["playground", "end"]


# --- Bad files -------------------------------------------------------------------------------


def line_with(content: bytes, **changes: Any) -> bytes:
    """The export with its run changed."""
    lines = [json.loads(line) for line in content.splitlines()]
    for line in lines:
        if line["type"] == "run":
            line |= changes
    return b"".join(line_of(line).encode() for line in lines)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"id": "x"}, "“id” is no UUID"),
        ({"status": "running"}, "no status of a run that has ended"),
        ({"created_at": "2026-01-01"}, "no time with a time zone"),
        ({"created_at": "2999-01-01T00:00:00Z"}, "in the future"),
        ({"choices": [{"index": 0}, {"index": 0}]}, "same index"),
        ({"choices": [{"index": -1}]}, "whole number"),
        ({"choices": 3}, "no list"),
        ({"choices": [{"index": 0, "timeline": [[1, -5]]}]}, "[milliseconds, characters]"),
        ({"labels": [""]}, "A label has"),
        ({"labels": [5]}, "no text"),
        ({"ratings": [{"author": "a", "value": 6}]}, "“value”"),
        ({"cost": "-1"}, "dollars"),
        ({"cost": "NaN"}, "dollars"),
        ({"cost": "100000"}, "dollars"),
        ({"price": {"input": "100000000"}}, "dollars"),
        ({"prompt_tokens": 10**12}, "whole number"),
        ({"total_ms": True}, "no number"),
        ({"request": None}, "no object"),
        ({"request": {"operation": "sing"}}, "neither completions nor chat"),
        ({"request": {"operation": "chat", "prompt": [[["x"]]]}}, "no prompt"),
        ({"metadata": [1]}, "no object"),
        ({"request": {"operation": "chat", "own_headers": ["\ud83d"]}}, "own_headers"),
        ({"coordinates": {"row": "x"}}, "“row”"),
        ({"comparison": str(uuid.uuid4())}, "comparison is missing"),
        ({"pairs": [["a"]]}, "no pair"),
        ({"starred": 1}, "neither true nor false"),
        ({"type": "poem"}, "no type of line"),
    ],
)  # fmt: skip
def test_a_bad_line_is_named_and_the_rest_goes_on(
    alice: User, dora: User, changes: dict[str, Any], said: str
) -> None:
    make_run(alice, "bad")
    bad = line_with(exported(alice), **changes).splitlines(keepends=True)
    Comparison.objects.all().delete()
    make_run(alice, "good")
    good = exported(alice).splitlines(keepends=True)
    transfer = imported(dora, b"".join([*bad[:-1], *good]))
    [(line, sentence)] = transfer.problem_list
    assert line == 3
    assert said in sentence
    assert (transfer.runs, transfer.bad, transfer.state) == (1, 1, "finished")


@pytest.mark.parametrize(
    "changes",
    [
        {"request": {"operation": "chat", "values": {"temperature": "@"}}},
        {"request": {"operation": "chat", "extra": {"mine": ["@"]}}},
        {"metadata": {"latency": "@"}},
    ],
)
def test_a_number_that_no_form_can_hold_is_refused(
    alice: User, dora: User, changes: dict[str, Any]
) -> None:
    make_run(alice, "odd")
    content = line_with(exported(alice), **changes)
    for number, runs in (b"1e999", 0), (b"-1e999", 0), (b"1e300", 1):
        transfer = imported(dora, content.replace(b'"@"', number))
        assert transfer.runs == runs
        assert transfer.problem_list == (
            [] if runs else [(3, f"{number.decode()} is too large a number.")]
        )


@pytest.mark.parametrize(
    "changes",
    [
        {"choices": [{"index": 0, "text": "a", "logprobs": [
            {"token": "\ud83d", "logprob": -1, "top": [{"token": "\ud83d", "logprob": -1}]}
        ]}]},
        {"metadata": {"latency": 10**400, "costs": {"total_tokens": 10**400}}},
        {"metadata": {"choices_extra": 5}},
        {"metadata": {"choices_extra": {"0": 5}}},
    ],
)  # fmt: skip
def test_what_no_backend_sends_breaks_no_page(
    client: Client, alice: User, dora: User, changes: dict[str, Any]
) -> None:
    make_run(alice, "odd")
    imported(dora, line_with(exported(alice), **changes))
    copy = Run.objects.get(team__name="Empty")
    client.force_login(dora)
    whole, run = f"/comparisons/{copy.comparison_id}/", f"/runs/{copy.pk}/"
    tables = f"{whole}table/?what=tokens", f"{whole}table.csv?what=tokens"
    for page in (whole, run, f"{run}probabilities/", f"/tokens/?runs={copy.pk}", *tables):
        assert client.get(page).status_code == 200


def test_a_log_of_llm_with_ids_that_are_no_texts_comes_to_its_end(
    alice: User, tmp_path: Path
) -> None:
    path = tmp_path / "logs.db"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE responses (id TEXT, model TEXT, prompt TEXT, datetime_utc TEXT)")
    rows = [(name, "m", "Hi", "2026-01-02") for name in ("a", b"a", "b", None)]
    database.executemany("INSERT INTO responses VALUES (?, ?, ?, ?)", rows)
    database.commit()
    database.close()
    transfer = imported(alice, path.read_bytes())
    assert (transfer.runs, transfer.state) == (2, "finished")


def test_bombs_are_bounded(alice: User, dora: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "LONGEST_LINE", 3_000_000)
    monkeypatch.setattr(importing, "MOST_PARTS", 100_000)
    make_run(alice, "good")
    head, *rest = exported(alice).splitlines(keepends=True)
    bombs = [
        b"[" * 200_000 + b"\n",
        b'{"type":"run","a":' + b"[" * 150 + b"]" * 150 + b"}\n",
        b'{"a":"' + b"x" * 4_000_000 + b'"}\n',
        b'{"a":[' + b"[]," * 500_000 + b"[]]}\n",
        b'{"a":' + b"9" * 5000 + b"}\n",
        b'{"a":NaN}\n',
        b"\xff\xfe\n",
        b"null\n",
    ]
    transfer = imported(dora, b"".join([head, *bombs, *rest]))
    assert [line for line, _ in transfer.problem_list] == list(range(2, 10))
    assert "longer than" in transfer.problem_list[2][1]
    assert "values" in transfer.problem_list[3][1]
    assert transfer.runs == 1


def test_a_file_that_ends_early_says_so(alice: User, dora: User) -> None:
    make_run(alice, "good")
    lines = exported(alice).splitlines(keepends=True)
    assert "ends before its end" in imported(dora, b"".join(lines[:-1])).error
    broken = line_of({"type": "error", "runs": 1, "message": "x"}).encode()
    assert "broke off after 1" in imported(dora, b"".join([*lines[:-1], broken])).error


@pytest.mark.parametrize("content", [b"", b"id,name\n", b"\x89PNG", b"{}", b"SQLite format 3\0xx"])
def test_another_file_is_refused_and_not_kept(dora: User, content: bytes) -> None:
    member = dora.membership()
    assert member is not None
    kept: list[Path] = []

    def keep(path: Path) -> None:
        kept.append(path)
        path.write_bytes(content)

    with pytest.raises(BadFile):
        begin(member, "x", keep)
    assert not kept[0].exists()
    assert not Transfer.objects.exists()


def test_a_comparison_of_somebody_else_takes_no_runs(alice: User, bob: User, dora: User) -> None:
    private = make_run(alice, "mine", visibility="private")
    lines = line_with(exported(alice), id=str(uuid.uuid4()))
    assert "somebody else" in imported(bob, lines).problem_list[0][1]
    assert private.comparison.runs.count() == 1


def test_an_import_goes_on_where_it_stopped(alice: User, dora: User) -> None:
    for number in range(120):
        make_run(alice, f"number {number}", index=False)
    member = dora.membership()
    assert member is not None
    content = exported(alice)
    transfer = begin(member, "x.jsonl", lambda path: void(path.write_bytes(content)))
    assert Transfer.objects.imports().take() is None  # also before the first step
    assert step(transfer)
    assert 0 < transfer.done < (transfer.total or 0)
    taken = Transfer.objects.imports().take()
    assert taken is None  # its lease holds
    Transfer.objects.update(lease=datetime(2020, 1, 1, tzinfo=UTC))
    taken = Transfer.objects.imports().take()
    assert taken is not None
    while step(taken):
        pass
    assert (taken.runs, taken.skipped) == (120, 0)
    assert exported(dora) == content


# --- The layouts -----------------------------------------------------------------------------


def test_csv_has_a_row_a_choice_and_no_formula(alice: User, bob: User) -> None:
    full(alice, bob)
    make_run(alice, "+1+1", "=HYPERLINK(1)")
    make_run(alice, "\tx", "  =1")
    make_run(alice, "plain", "-5")
    text = exported(alice, "csv").decode()
    assert text.startswith("\ufeff")
    rows = list(csv.DictReader(io.StringIO(text[1:], newline="")))
    assert [row["choice"] for row in rows] == ["0", "2", "0", "0", "0"]
    for row in rows:
        for cell in row.values():
            assert not cell.lstrip(" ").startswith(("=", "+", "@", "\t", "\r", "-")), cell
    assert rows[0]["output"] == storable(ODD)
    assert rows[2]["output"] == "'=HYPERLINK(1)"


def test_csv_has_a_column_for_each_common_parameter_beside_all_of_them(alice: User) -> None:
    """Unset is empty; 0 and false are values; what is no text and no number is JSON."""
    values = {
        "temperature": 0, "top_p": 0.5, "seed": 42, "stop": ["\n", "END"],
        "ignore_eos": False, "n": 2,
    }  # fmt: skip
    make_run(alice, "Hi", "Hello", values=values)
    make_run(alice, "Hi", "Hello", values={"stop": "=1"})
    text = exported(alice, "csv").decode()
    first, second = csv.DictReader(io.StringIO(text[1:], newline=""))
    said = {path: first[path] for path in parameters.common() if first[path]}
    assert said == {
        "temperature": "0", "top_p": "0.5", "seed": "42", "stop": '["\\n", "END"]',
        "ignore_eos": "false",
    }  # fmt: skip
    assert json.loads(first["parameters"]) == values
    assert (second["stop"], second["temperature"], second["max_tokens"]) == ("'=1", "", "")
    assert {"max_tokens", "top_k", "presence_penalty"} <= second.keys()
    names, rows = read_table(text)  # as rows of a prompt's variables
    assert (len(set(names)), len(rows)) == (len(names), 2)


def test_html_and_markdown_show_texts_as_they_are(alice: User, bob: User) -> None:
    full(alice, bob)
    page = exported(alice, "html").decode()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "default-src 'none'" in page
    text = exported(alice, "markdown").decode()
    assert '````text\na,"b"\nc' in text
    assert "It broke \\<b\\>off" in text


def test_long_texts_are_read_a_few_at_a_time(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "HEAVY", 2000)
    lengths = [10, 1500, 1500, 5000, 10, *[1] * 30]
    ids = [make_run(alice, "p", "x" * n, index=False).pk for n in lengths]
    parts = [list(part) for part in source.slices(ids)]
    assert [pk for part in parts for pk in part] == ids
    assert parts[:3] == [ids[:2], ids[2:3], ids[3:4]]
    assert all(1 < len(part) < 20 for part in parts[3:-1])  # the requests count too
    monkeypatch.setattr(source, "HEAVY", 10**9)
    assert [len(part) for part in source.slices(ids)] == [20, 15]


def test_an_error_is_said_inside_the_file() -> None:
    for name, make in LAYOUTS.items():
        assert "gone" in make().broken(3, "It is gone."), name
    assert json.loads(LAYOUTS["jsonl"]().broken(3, "x"))["type"] == "error"


def test_sqlite_has_a_response_a_choice(alice: User, bob: User, tmp_path: Path) -> None:
    run = full(alice, bob)
    assert list(write_file(alice, Selection.now(), tmp_path / "x.db")) == [1]
    assert SECRET.encode() not in (tmp_path / "x.db").read_bytes()
    database = sqlite3.connect(tmp_path / "x.db")
    rows = database.execute("SELECT id, origin_id, choice, response, labels FROM responses")
    found = rows.fetchall()
    assert [row[1:4] for row in found] == [
        (str(run.origin_id), 0, storable(ODD)),
        (str(run.origin_id), 2, ""),
    ]
    assert all(len(row[0]) == 26 for row in found)
    assert json.loads(found[0][4]) == ["@SUM(A1)", "Stage=Draft"]
    words = "SELECT count(*) FROM responses_fts WHERE responses_fts MATCH 'script'"
    assert database.execute(words).fetchone() == (1,)
    assert database.execute("SELECT * FROM playground_export").fetchall() == [(1, 1, "")]
    database.close()


# --- Odd content -----------------------------------------------------------------------------

odd = st.text(st.characters(), max_size=30) | st.sampled_from(["\r\n", "\u2028", "\0", "\ud83d"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | odd,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(odd, inner, max_size=3),
    max_leaves=8,
)


@given(values)
def test_a_line_is_one_line_that_reads_the_same(value: Any) -> None:
    line = line_of(value)
    line.encode()
    assert len(line.splitlines()) == 1
    assert line_of(json.loads(line)) == line


@given(values, st.sampled_from([None, (",", ":")]))
def test_json_of_a_provider_comes_back_to_the_character(value: Any, separators: Any) -> None:
    text = storable(json.dumps(value, separators=separators))
    assert unembedded(json.loads(line_of(embedded(text)))) == text


@pytest.mark.django_db(transaction=True)
@settings(max_examples=25, deadline=None)
@given(prompt=odd, output=odd, extra=st.dictionaries(odd, values, max_size=2), words=odd)
def test_odd_content_goes_out_and_comes_in_the_same(
    prompt: str, output: str, extra: dict[str, Any], words: str
) -> None:
    Team.objects.all().delete()
    User.objects.all().delete()
    owners = [
        person(name, Team.objects.create(name=name), Membership.Role.OWNER) for name in ("a", "b")
    ]
    run = make_run(owners[0], "", storable(output), index=False)
    asked = CompletionRequest("local", "completions", "m", prompt=prompt, extra=extra)
    Run.objects.filter(pk=run.pk).update(
        request=asked.to_json(),
        warnings=storable(words).replace("\n", " "),
        metadata=storable(json.dumps({"x": extra})),
    )
    before = exported(owners[0])
    transfer = imported(owners[1], before)
    assert transfer.problem_list == []
    assert exported(owners[1]) == before


@pytest.mark.django_db(transaction=True)
def test_an_export_says_how_far_along_its_dates_it_is(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is counted first: from a cold disk that takes a minute, and streams their share."""
    monkeypatch.setattr(walk, "BATCH", 1)
    now = timezone.now()
    for words, days in ("one", 100), ("two", 50), ("three", 0):
        run = make_run(alice, words)
        Run.objects.filter(pk=run.pk).update(created_at=now - timedelta(days=days))
    transfer = Transfer.objects.create(
        kind="export", team_id=alice.current_team_id, author=alice, layout="jsonl",
        selection=Selection.now().to_json(),
    )  # fmt: skip
    export = Export(alice, transfer)
    seen: list[tuple[str, int, int | None]] = []

    async def read() -> None:
        async for part in export.stream():
            if b'"text"' in part:
                row = await Transfer.objects.aget(pk=transfer.pk)
                seen.append((row.state, row.runs, row.percent))

    asyncio.run(read())
    assert seen == [("running", 0, None), ("running", 1, 0), ("running", 2, 50)]
    transfer.refresh_from_db()
    assert (transfer.state, transfer.runs, transfer.percent) == ("finished", 3, 100)
