"""Prompt forms, messages and a member's own headers: what goes through and what is told."""

from typing import Any

import pytest

from playground.inputs import Given, Problem, read_headers, read_input
from playground.parameters import Api

LLAMA = Api("local", "llama.cpp", "completions")
LLAMA_CHAT = Api("local", "llama.cpp", "chat")
OLLAMA = Api("local", "ollama", "completions")
PULZE = Api("pulze", "", "completions")


def read(api: Api = LLAMA, force: bool = False, **given: Any) -> tuple[Any, list[Problem]]:
    problems: list[Problem] = []
    messages, prompt = read_input(Given.of(given), api, problems, force)
    return messages or prompt, problems


def test_a_text_is_a_prompt_or_one_user_message() -> None:
    assert read(prompt=" a\n") == (" a\n", [])
    assert read(LLAMA_CHAT, prompt=" a\n") == (({"role": "user", "content": " a\n"},), [])


def test_a_list_of_prompts_goes_out_as_it_is() -> None:
    assert read(mode="list", prompts=["a", ""]) == (["a", ""], [])


@pytest.mark.parametrize(
    ("typed", "ids"),
    [
        ("1 2 3", [1, 2, 3]),
        ("1, 2,3", [1, 2, 3]),
        ("1 2\n\n3\n", [[1, 2], [3]]),
        ("[1, 2]", [1, 2]),
        ("[[1], [2, 3]]", [[1], [2, 3]]),
        ([5], [5]),
    ],
)
def test_token_ids_may_be_typed_in_several_ways(typed: Any, ids: list[Any]) -> None:
    assert read(mode="ids", ids=typed) == (ids, [])


@pytest.mark.parametrize(
    "typed", ["", "a", "1.5", "-1", "[", "[[1], []]", "[1, [2]]", "[true]", "99999999999"]
)
def test_what_are_no_token_ids_is_told(typed: str) -> None:
    _, [problem] = read(mode="ids", ids=typed)
    assert problem.path == "ids"
    assert not problem.bound


@pytest.mark.parametrize("prompts", [None, [], [1], "a"])
def test_what_is_no_list_of_prompts_is_told(prompts: Any) -> None:
    _, [problem] = read(mode="list", prompts=prompts)
    assert problem.path == "prompts"


@pytest.mark.parametrize(
    ("api", "given"),
    [
        (OLLAMA, {"mode": "list", "prompts": ["a"]}),
        (OLLAMA, {"mode": "ids", "ids": "1"}),
        (PULZE, {"mode": "ids", "ids": "1"}),
    ],
)
def test_a_column_that_cannot_take_a_form_says_so_and_can_be_forced(
    api: Api, given: dict[str, Any]
) -> None:
    _, [problem] = read(api, **given)
    assert problem.path == "operation"
    assert problem.bound
    assert read(api, force=True, **given)[1] == []


@pytest.mark.parametrize("mode", ["list", "ids"])
def test_lists_and_ids_cannot_go_to_chat(mode: str) -> None:
    _, [problem] = read(LLAMA_CHAT, force=True, mode=mode, prompts=["a"], ids="1")
    assert "choose completions" in problem.message


def test_messages_keep_what_a_tool_call_needs() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    rows = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "42", "tool_call_id": "c1", "name": "f", "other": 1},
    ]
    messages, problems = read(LLAMA_CHAT, mode="messages", messages=rows)
    assert problems == []
    assert messages == (
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "42", "tool_call_id": "c1", "name": "f"},
    )


def test_a_broken_tool_call_names_its_message() -> None:
    rows = [{"role": "assistant", "content": "", "tool_calls": "[{]"}]
    _, [problem] = read(LLAMA_CHAT, mode="messages", messages=rows)
    assert problem.message.startswith("Message 1, tool calls: ")


# --- Headers -------------------------------------------------------------------------------


def test_headers_are_one_a_line() -> None:
    problems: list[Problem] = []
    assert read_headers("X-Trace: a: b\n\n  X-Team:c ", problems) == {
        "X-Trace": "a: b",
        "X-Team": "c",
    }
    assert problems == []


@pytest.mark.parametrize(
    "line",
    [
        "Host: x",
        "cookie: x",
        "AUTHORIZATION: Bearer x",
        "X-OGX-Provider-Data: {}",
        "Transfer-Encoding: chunked",
        "Proxy-Foo: 1",
        "X-Api-Key: 1",
        "My-Token: 1",
        "Client-Secret: 1",
        "no colon",
        ": empty name",
        "Bad Name: 1",
        "X-Accent: é",
        "X-Control: a\x07",
    ],
)
def test_forbidden_and_malformed_headers_are_refused(line: str) -> None:
    problems: list[Problem] = []
    assert read_headers(line, problems) == {}
    [problem] = problems
    assert problem.path == "headers"


def test_a_line_break_cannot_smuggle_a_header() -> None:
    problems: list[Problem] = []
    assert read_headers("X-A: 1\r\nCookie: stolen", problems) == {"X-A": "1"}
    assert len(problems) == 1
