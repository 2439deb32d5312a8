"""The views of an output: Markdown, JSON, what was sent, the prompt; and who may see them."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from playground.completion import CompletionRequest
from playground.log import Ending, close_run
from playground.models import Comparison, Connection, Process, Run, RunEvent, User
from tests.conftest import request_to

pytestmark = pytest.mark.django_db

VIEWS = ["run_markdown", "run_json", "run_sent", "run_prompt", "run_text", "run_continuation"]
Event = list[Any]


def text(said: str, choice: int = 0) -> Event:
    return ["text", choice, said, [[10.0, len(said)]]]


def begun(user: User, *columns: tuple[Connection, CompletionRequest], **more: Any) -> list[Run]:
    owner = Process.objects.create(host="here", pid=1, started="1")
    membership = user.membership()
    assert membership is not None
    comparison = Comparison.objects.begin(membership, columns, owner=owner, **more)
    return list(comparison.runs.order_by("position"))


def ended(run: Run, *events: Event) -> Run:
    close_run(run.pk, Ending("completed"), list(events))  # type: ignore[arg-type]
    run.refresh_from_db()
    return run


def page(user: User, name: str, run: Run, **query: Any) -> str:
    client = Client()
    client.force_login(user)
    answer = client.get(reverse(name, args=[run.pk]), query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_what_came_of_a_run_without_usage_is_counted_and_marked(
    alice: User, connection: Connection
) -> None:
    ask = replace(request_to(connection), values={"stream": True})
    asking = replace(ask, values={"stream": True, "stream_options.include_usage": True})
    asks = [(connection, each) for each in (ask, ask, ask, ask, asking)]
    stopped, single, told, whole, silent = begun(alice, *asks)
    pieces = [["text", 0, "a", [[1000.0 + 100 * n, 1]]] for n in range(11)]
    usage = ["usage", -1, {"prompt_tokens": 3, "completion_tokens": 40}, []]
    for run, events in ((stopped, pieces), (single, pieces[:1]), (told, [*pieces, usage])):
        close_run(run.pk, Ending("cancelled", total_ms=9000.0), events)  # type: ignore[arg-type]
    for run, hint in (
        (stopped, True),
        (ended(whole, *pieces), True),
        (ended(silent, *pieces), False),
    ):
        shown = page(alice, "run", run)
        assert "? / ~11" in shown
        assert "~10.0 tok/s" in shown
        assert "Counted pieces of the stream" in shown
        assert ("include_usage asks for exact counts" in shown) is hint
    for run in (single, told):
        assert "~" not in re.sub(
            r"[\s\S]*<dl class=.metrics.>|</dl>[\s\S]*", "", page(alice, "run", run)
        )
    assert "3 / 40" in page(alice, "run", told)


@pytest.mark.parametrize("name", VIEWS)
def test_it_is_for_whom_the_run_is(
    name: str, alice: User, bob: User, rita: User, charlie: User, connection: Connection
) -> None:
    [shared] = begun(alice, (connection, request_to(connection)))
    [private] = begun(alice, (connection, request_to(connection)), visibility="private")
    ended(shared, text("Hello"))
    ended(private, text("Hello"))
    for user, run, status in [
        (alice, shared, 200), (bob, shared, 200), (rita, shared, 200), (charlie, shared, 404),
        (alice, private, 200), (bob, private, 404), (charlie, private, 404),
    ]:  # fmt: skip
        client = Client()
        client.force_login(user)
        assert client.get(reverse(name, args=[run.pk])).status_code == status
    assert Client().get(reverse(name, args=[shared.pk])).status_code in (302, 401)


def test_markdown_of_each_choice(alice: User, connection: Connection) -> None:
    [run] = begun(alice, (connection, request_to(connection)))
    ended(run, text("# One"), text("*two*", 1))
    html = page(alice, "run_markdown", run)
    assert "<h1>One</h1>" in html
    assert "<em>two</em>" in html
    assert "Choice 2" in html


def test_a_live_run_shows_what_has_come(alice: User, connection: Connection) -> None:
    [run] = begun(alice, (connection, request_to(connection)))
    assert "Nothing has come yet" in page(alice, "run_markdown", run)
    for seq, said in enumerate(["**so", " far**"], 1):
        RunEvent.objects.create(run=run, seq=seq, events=json.dumps([text(said)]))
    assert "<strong>so far</strong>" in page(alice, "run_markdown", run)
    assert "not JSON" in page(alice, "run_json", run)


def test_json_pretty_and_why_not(alice: User, connection: Connection) -> None:
    [run] = begun(alice, (connection, request_to(connection)))
    ended(run, text('{"a":[1,2]}'), text("A heron <b>.", 1))
    html = page(alice, "run_json", run)
    assert "&quot;a&quot;: [" in html
    assert "The answer is not JSON: expecting value at line 1, character 1." in html


def test_json_of_tool_calls(alice: User, connection: Connection) -> None:
    [run] = begun(alice, (connection, request_to(connection, "chat")))
    function = {"name": "water_level", "arguments": '{"place":"Basel"}'}
    ended(run, ["tool_call", 0, [{"index": 0, "id": "call_1", "function": function}], 5.0])
    html = page(alice, "run_json", run)
    assert "water_level" in html
    assert "&quot;place&quot;: &quot;Basel&quot;" in html
    assert "no text" not in html


def test_the_text_is_exact(alice: User, connection: Connection) -> None:
    [run] = begun(alice, (connection, request_to(connection)))
    ended(run, text("first"), text(" <b>\r\n\té ", 1))
    assert page(alice, "run_text", run, choice=1) == " <b>\r\n\té "
    client = Client()
    client.force_login(alice)
    answer = client.get(reverse("run_text", args=[run.pk]))
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert client.get(reverse("run_text", args=[run.pk]), {"choice": 7}).status_code == 404


def test_the_prompt_and_the_messages(alice: User, connection: Connection) -> None:
    plain, chat = begun(
        alice,
        (connection, request_to(connection, prompt="Once <upon>\n")),
        (connection, request_to(connection, "chat", prompt="Hi there")),
    )
    assert "Once &lt;upon&gt;\n</span>" in page(alice, "run_prompt", plain)
    html = page(alice, "run_prompt", chat)
    assert "user" in html
    assert "Hi there" in html


def test_what_continue_does_is_said(alice: User, connection: Connection) -> None:
    plain, chat = begun(
        alice,
        (connection, request_to(connection)),
        (connection, request_to(connection, "chat")),
    )
    ended(plain, text("said"))
    ended(chat, text("said"))
    said = 'title="Put prompt and output into a form of their own, without running"'
    assert said in page(alice, "run", plain)
    assert "with room for the next message" in page(alice, "run", chat)


def test_a_continuation_is_told_as_the_form_holds_a_text(
    alice: User, connection: Connection
) -> None:
    plain, chat, several = begun(
        alice,
        (connection, request_to(connection, prompt="Once {{who}}")),
        (connection, request_to(connection, "chat", prompt="Hi there")),
        (connection, request_to(connection, prompt=["a", "b"])),
    )
    ended(plain, text(" said {{what}}"))
    assert json.loads(page(alice, "run_continuation", plain)) == {
        "prompt": r"Once \{{who}}",
        "output": r" said \{{what}}",
    }
    assert json.loads(page(alice, "run_continuation", chat))["prompt"] == "Hi there"
    assert json.loads(page(alice, "run_continuation", several))["prompt"] is None


def test_an_echoed_prompt_is_told_once(alice: User, connection: Connection) -> None:
    [run] = begun(alice, (connection, request_to(connection, prompt="Once", echo=True)))
    ended(run, text("Once upon"))
    told = json.loads(page(alice, "run_continuation", run))
    assert told == {"prompt": "Once", "output": " upon"}


def test_as_sent_marks_what_differs_from_the_first_column(
    alice: User, connection: Connection, connect: Callable[..., Connection]
) -> None:
    secret = connect("other", key="sk-test-SECRET06", extra_headers="X-Team: SECRET07")
    first, same, second = begun(
        alice,
        (connection, request_to(connection, temperature=0, seed=1)),
        (connection, request_to(connection, temperature=0, seed=1)),
        (secret, request_to(secret, temperature=0.5, top_k=3)),
    )
    html = page(alice, "run_sent", first)
    assert "differs" not in html
    assert "only in" not in html
    assert 'data-state="differs"' not in page(alice, "run_sent", same)
    html = page(alice, "run_sent", second)
    assert "POST /completions" in html
    assert 'data-state="differs"' in html
    assert "A: 0</small>" in html
    assert "only in A" in html  # seed
    assert "not in A" in html  # top_k, and the headers
    assert "SECRET" not in html
    assert "hidden)" in html


def test_as_sent_has_a_header_once_in_whatever_case(
    alice: User, connect: Callable[..., Connection]
) -> None:
    secret = connect("other", key="sk-test-SECRET06", extra_headers="x-team: a\nAuthorization: b")
    asked = replace(request_to(secret), own_headers={"X-Team": "mine"})
    [run] = begun(alice, (secret, asked))
    html = page(alice, "run_sent", run).lower()
    assert (html.count("x-team"), html.count("authorization")) == (1, 1)
    assert "mine" not in html


def test_as_sent_does_not_take_one_for_true(alice: User, connection: Connection) -> None:
    _, second = begun(
        alice,
        (connection, request_to(connection, logprobs=1)),
        (connection, request_to(connection, logprobs=True)),
    )
    assert "A: 1</small>" in page(alice, "run_sent", second)


CALL = [{"index": 0, "function": {"name": "f", "arguments": "{}"}}]


@pytest.mark.parametrize(
    ("prompt", "events", "said"),
    [
        ("Hi", [text("Hello")], ""),
        ("", [text(" ")], ""),
        ("Hi", [["finish", 0, "stop", 5.0]], "The model ended without writing any text."),
        ("Hi", [], "The model ended without writing any text."),
        ("", [["finish", 0, "stop", 5.0]], "The prompt was empty."),
        ("Hi", [["reasoning", 0, "Hm", [[1.0, 2]]]], "any text after its reasoning."),
        ("Hi", [text("Hello"), ["finish", 1, "stop", 5.0]], "Without any text: choice 2."),
        ("Hi", [["tool_call", 0, CALL, 5.0]], ""),
    ],
)
def test_an_output_without_text_is_told_in_its_place(
    prompt: str, events: list[Event], said: str, alice: User, connection: Connection
) -> None:
    [run] = begun(alice, (connection, request_to(connection, prompt=prompt)))
    assert "data-silence" not in page(alice, "run", run)  # nothing can be known yet
    html = page(alice, "run", ended(run, *events))
    assert ("data-silence" in html) == bool(said)
    assert said in html


def test_the_history_says_that_a_run_has_no_text(alice: User, connection: Connection) -> None:
    [run] = begun(alice, (connection, request_to(connection, prompt="")))
    client = Client()
    client.force_login(alice)
    assert "(no text)" not in client.get(reverse("history")).content.decode()
    ended(run, ["finish", 0, "stop", 5.0])
    html = client.get(reverse("history")).content.decode()
    assert "(no prompt)" in html
    assert "(no text)" in html
