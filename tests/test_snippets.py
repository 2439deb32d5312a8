"""Each program is run against the fake provider and sends what the run would send."""

import json
import shutil
import sys
from typing import Any

import pytest

from playground.completion import CompletionRequest
from playground.parameters import LLAMA_COMPLETIONS, PULZE_COMPLETIONS, Api
from playground.snippets import Call, available
from tests.fake_provider import FakeProvider, Received, Reply, json_reply, words
from tests.samples import APIS, AWKWARD, everything, exact, request_to_api
from tests.snippet import KEY, said_by

PROGRAMS = {
    "curl": ["bash"],
    "httpx": [sys.executable],
    "fetch": ["node", "--input-type=module", "-"],
}
PLAIN = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(
            shutil.which(program[0]) is None or (name == "curl" and not shutil.which("curl")),
            reason=f"{program[0]} is not installed",
        ),
    )
    for name, program in PROGRAMS.items()
]


def run(name: str, call: Call) -> str:
    return said_by(PROGRAMS[name], name, call)


def whole_numbers(value: Any) -> Any:
    """As JavaScript writes them: 1.0 is 1."""
    if isinstance(value, dict):
        return {key: whole_numbers(each) for key, each in value.items()}
    if isinstance(value, list):
        return [whole_numbers(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def same(name: str, received: Received, request: CompletionRequest) -> bool:
    make = whole_numbers if name == "fetch" else lambda value: value
    return exact(make(received.json)) == exact(make(request.body()))


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("api", APIS, ids=lambda api: api.key)
def test_it_sends_every_field_as_the_run_does(name: str, api: Api, provider: FakeProvider) -> None:
    provider.reply_with(words(3))
    values = {**everything(api), "n": 1}
    own = {"X-Trace": 'it\'s "1"', "X-Empty": ""}
    request = request_to_api(api, values, own_headers=own)
    needs_key = api.provider != "local"
    printed = run(name, Call(request, provider.url, needs_key))
    [received] = provider.posts
    assert same(name, received, request)
    path = "/v1/chat/completions" if api.operation == "chat" else "/v1/completions"
    assert received.path == path
    assert received.headers["content-type"] == "application/json"
    assert received.headers.get("authorization") == (f"Bearer {KEY}" if needs_key else None)
    for header, value in request.headers().items():
        assert received.headers[header.lower()] == value
    assert printed == "w0 w1 w2 " if name != "curl" else '"w2 "' in printed


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("operation", ["completions", "chat"])
def test_it_prints_an_answer_in_one_piece(
    name: str, operation: str, provider: FakeProvider
) -> None:
    choice = {"index": 0, "text": "Hi\u2028you", "message": {"content": "Hi\u2028you"}}
    provider.reply_with(json_reply({"choices": [choice]}))
    request = request_to_api(Api("pulze", "", operation), {"temperature": 0}, extra={})
    printed = run(name, Call(request, provider.url))
    assert same(name, provider.posts[0], request)
    assert "stream" not in provider.posts[0].json
    assert printed == "Hi\u2028you\n" if name != "curl" else "Hi" in printed


EDGES: dict[str, Any] = {
    "huge": 2**63 - 1,
    "tiny": 1e-7,
    "zero": [0, 0.0, -0.5, False, "", None, {}, []],
    "__proto__": {"a": 1},
    "nested": [[[["x" * 100]], {"y": "z" * 100}]],
    "half": "\ud800 and \udc00",
    "line\nkey'\"": AWKWARD,
}


@pytest.mark.parametrize("name", PLAIN)
def test_values_that_a_language_could_change_arrive_unchanged(
    name: str, provider: FakeProvider
) -> None:
    provider.reply_with(words(1))
    request = request_to_api(LLAMA_COMPLETIONS, {"stream": True, "seed": 2**60 + 1}, extra=EDGES)
    run(name, Call(request, provider.url, needs_key=False))
    assert exact(provider.posts[0].json) == exact(request.body())


@pytest.mark.parametrize("name", PLAIN)
def test_lists_of_token_ids_arrive_unchanged(name: str, provider: FakeProvider) -> None:
    provider.reply_with(words(1))
    prompt = [[1, 2, 3], [128_000]]
    request = request_to_api(LLAMA_COMPLETIONS, {"stream": True}, prompt=prompt, extra={})
    run(name, Call(request, provider.url, needs_key=False))
    assert provider.posts[0].json["prompt"] == prompt


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_a_body_too_long_for_an_argument_goes_through_curls_input(provider: FakeProvider) -> None:
    provider.reply_with(words(1))
    request = request_to_api(LLAMA_COMPLETIONS, {"stream": True}, prompt=f"{AWKWARD} " * 5000)
    run("curl", Call(request, provider.url, needs_key=False))
    assert exact(provider.posts[0].json) == exact(request.body())


@pytest.mark.parametrize("name", PLAIN[1:])
def test_a_refusal_is_printed_and_ends_the_program(name: str, provider: FakeProvider) -> None:
    provider.reply_with(json_reply({"error": {"message": "No such model."}}, 404))
    with pytest.raises(AssertionError, match="No such model"):
        run(name, Call(request_to_api(PULZE_COMPLETIONS, {"stream": True}), provider.url))


@pytest.mark.parametrize("name", PLAIN[1:])
def test_odd_lines_of_a_stream_are_no_trouble(name: str, provider: FakeProvider) -> None:
    usage = json.dumps({"choices": [], "usage": {"total_tokens": 1}})
    pieces = [": ping\n\ndata: null\n\n", 'data: {"choices": [{"text": "a\u2028', 'b"}]}\r\n\r\n']
    pieces += [f"event: x\ndata: {usage}\n\n", "data: [DONE]\n\n"]
    provider.reply_with(Reply(pieces=[piece.encode() for piece in pieces]))
    request = request_to_api(PULZE_COMPLETIONS, {"stream": True})
    assert run(name, Call(request, provider.url)) == "a\u2028b"


@pytest.mark.parametrize(
    ("provider_slug", "variable"),
    [
        ("pulze", "PULZE_API_KEY"),
        ("octoai", "OCTOAI_TOKEN"),
        ("ogx", "OGX_API_KEY"),
        ("local", "API_KEY"),
        ("my-own", "MY_OWN_API_KEY"),
    ],
)
def test_the_key_is_an_environment_variable(provider_slug: str, variable: str) -> None:
    request = request_to_api(Api(provider_slug, "", "completions"), {})
    call = Call(request, "https://api.example.com/v1")
    for each in available(call).values():
        assert variable in each.program(call)
    without = Call(request, "https://api.example.com/v1", needs_key=False)
    for each in available(without).values():
        assert variable not in each.program(without)


def test_clients_are_offered_where_they_can_send_the_request() -> None:
    def names(slug: str, url: str = "https://x.example/v1", **changes: Any) -> set[str]:
        path = changes.pop("path", "")
        values = changes.pop("values", {})
        request = request_to_api(Api(slug, "", "completions"), values, **changes)
        return set(available(Call(request, url, path=path)))

    plain = {"curl", "httpx", "fetch"}
    assert names("pulze") == {*plain, "openai"}
    assert names("octoai") == {*plain, "openai", "octoai"}
    assert names("ogx") == {*plain, "openai", "ogx"}
    assert names("ogx", values={"temperature": 3}) == {*plain, "openai"}  # it drops fields then
    assert names("ogx", "https://x.example/api") == {*plain, "openai"}  # it adds /v1 itself
    assert names("octoai", path="/generate") == plain
    assert names("ogx", model="") == plain
