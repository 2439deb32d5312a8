"""What helps while composing: doubts, code, paste, tokens."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import AsyncClient, Client
from django.utils.html import escape

from playground.models import Connection, User
from playground.runner import Runner
from tests.fake_provider import FakeProvider, error_reply, json_reply
from tests.server import document


def form(*connections: Connection, **changes: Any) -> str:
    return json.dumps(document(*({"connection": each.pk} for each in connections), **changes))


def test_check_says_what_a_column_does_not_send_and_what_its_backend_dislikes(
    client: Client, alice: User, connect: Callable[..., Connection]
) -> None:
    client.force_login(alice)
    llama, pulze = (
        connect("llama"),
        connect("pulze", "sk-long-enough-key", provider="pulze", dialect=""),
    )
    values = {"echo": "true", "n": "2", "best_of": "1", "stream": True}
    answer = client.post("/check/", {"document": form(llama, pulze, values=values)})
    page = answer.content.decode()
    assert "Ignored by llama.cpp" in page
    assert "echo is not sent" in page
    assert "best_of (1) must be at least n (2)" in page


@pytest.mark.parametrize("text", ["", "x", "[]", "[" * 5000])
def test_check_is_silent_about_what_is_no_document(client: Client, alice: User, text: str) -> None:
    client.force_login(alice)
    answer = client.post("/check/", {"document": text})
    assert answer.status_code == 200


def test_code_shows_programs_without_the_key(
    client: Client, alice: User, connect: Callable[..., Connection]
) -> None:
    client.force_login(alice)
    connection = connect("keyed", "sk-test-SECRET09", extra_headers="X-Admin: SECRET09-too")
    text = form(connection, prompt="it's <b>", values={"temperature": "0"})
    page = client.post("/code/", {"document": text, "column": "0"}).content.decode()
    assert "curl" in page
    assert "$API_KEY" in page
    assert "SECRET09" not in page
    assert "&lt;b&gt;" in page


@pytest.mark.parametrize("column", ["1", "x", "-1", ""])
def test_code_of_a_column_that_is_not_there_is_empty(
    client: Client, alice: User, connection: Connection, column: str
) -> None:
    client.force_login(alice)
    answer = client.post("/code/", {"document": form(connection), "column": column})
    assert answer.status_code == 200
    assert "curl" not in answer.content.decode()


def test_a_paste_fills_the_form_and_finds_the_connection(
    client: Client, alice: User, connection: Connection
) -> None:
    client.force_login(alice)
    text = (
        f"curl {connection.base_url}/completions -H 'Authorization: Bearer sk-secret-key'"
        """ -d '{"model": "m", "prompt": "Hi", "repeat_penalty": 1.1, "odd": 1}'"""
    )
    answer = client.post("/paste/", {"text": text}).json()
    changes = answer["changes"]
    assert changes["connection"] == connection.pk
    assert changes["prompt"] == "Hi"
    assert "repetition_penalty" in changes["values"]
    assert "odd" in changes["extra"]
    assert "sk-secret-key" not in json.dumps(answer)


def test_a_pasted_value_is_said_to_be_wrong_as_its_field_will_say_it(
    client: Client, alice: User, connection: Connection
) -> None:
    client.force_login(alice)
    text = '{"prompt": "Hi", "temperature": "hot", "seed": 3}'
    wrong = client.post("/paste/", {"text": text, "connection": connection.pk}).json()["wrong"]
    assert list(wrong) == ["temperature"]
    values = {"temperature": "hot"}
    page = client.post("/comparisons/", {"document": form(connection, values=values)})
    assert escape(wrong["temperature"]) in page.content.decode()


def test_a_paste_that_is_none_is_told(client: Client, alice: User) -> None:
    client.force_login(alice)
    answer = client.post("/paste/", {"text": "hello"})
    assert answer.status_code == 422
    assert "curl command" in answer.json()["error"]


@pytest.mark.django_db(transaction=True)
async def test_tokens_are_those_of_the_backend(
    async_client: AsyncClient,
    alice: User,
    connection: Connection,
    provider: FakeProvider,
    runner: Runner,
) -> None:
    await async_client.aforce_login(alice)
    tokens = [{"id": 1, "piece": "Hi"}, {"id": 2, "piece": [240, 159]}]
    provider.on_path("/tokenize", json_reply({"tokens": tokens}))
    provider.on_path("/detokenize", json_reply({"content": " Hi"}))
    address = f"/connections/{connection.pk}/tokens/"
    answer = await async_client.post(address, {"text": "Hi🌍"})
    assert answer.json() == {"tokens": [[1, "Hi"], [2, "\ufffd"]]}
    answer = await async_client.post(address, {"ids": "[7, 8]"})
    assert answer.json() == {"tokens": [[7, " Hi"], [8, " Hi"]]}
    provider.on_path("/tokenize", error_reply(500, {"error": "no tokenizer"}))
    answer = await async_client.post(address, {"text": "Hi"})
    assert "no tokenizer" in answer.json()["error"]


def test_tokens_of_a_connection_that_one_may_not_use_are_not_found(
    client: Client, charlie: User, connection: Connection
) -> None:
    connection.all_teams = False
    connection.save()
    client.force_login(charlie)
    assert client.post(f"/connections/{connection.pk}/tokens/", {"text": "a"}).status_code == 404


def test_a_run_can_be_continued_only_by_who_may_see_it(client: Client, charlie: User) -> None:
    client.force_login(charlie)
    for source in ("1", "x", "99999999"):
        assert client.get(f"/?continue={source}").status_code == 404


# --- The plan, and files of rows -----------------------------------------------------------


def test_the_plan_is_what_would_be_sent(
    client: Client, alice: User, connection: Connection
) -> None:
    client.force_login(alice)
    form = document({"connection": connection.pk, "repeat": 2}, values={"temperature": "0, 1"})
    found = client.post("/plan/", {"document": json.dumps(form)}).json()
    assert (found["requests"], found["completions"]) == (4, 4)
    assert found["columns"][0]["values"] == {"temperature": ["0", "1"]}
    assert client.post("/plan/", {"document": "["}).status_code == 422


def test_a_file_becomes_rows(client: Client, alice: User) -> None:
    client.force_login(alice)
    file = SimpleUploadedFile("x.csv", "\ufeffa,b\r\n1,é\r\n".encode())
    assert client.post("/table/", {"file": file}).json() == {
        "names": ["a", "b"],
        "rows": [["1", "é"]],
    }


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"a,b\n1\n", "Line 2 has 1 value"),
        (b"a\n\xff\n", "not UTF-8"),
        (b"", "no rows"),
        (b"a\n" + b"x" * 5_000_000, "at most 1 MB"),
    ],
)
def test_a_bad_file_is_refused_with_a_sentence(
    client: Client, alice: User, content: bytes, says: str
) -> None:
    client.force_login(alice)
    answer = client.post("/table/", {"file": SimpleUploadedFile("x.csv", content)})
    assert answer.status_code == 422
    assert says in answer.json()["error"]


def test_without_a_file_there_are_no_rows(client: Client, alice: User) -> None:
    client.force_login(alice)
    assert client.post("/table/", {}).status_code == 422
