"""The programs with a provider's client, run with the real client in an environment of its own."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from playground.parameters import Api
from playground.snippets import Call
from tests.fake_provider import (
    DONE,
    FakeProvider,
    Received,
    Reply,
    chat_event,
    json_reply,
    text_event,
)
from tests.samples import everything, exact, request_to_api
from tests.services.environments import environment
from tests.snippet import KEY, said_by

pytestmark = pytest.mark.services

CLIENTS = {  # environments that `test_sdks` uses too; name: (what is installed, the oldest Python)
    "openai": ("openai>=2", (3, 11)),
    "octoai": ("octoai==1.11.0", (3, 11)),
    "ogx": ("ogx-client==1.5.0", (3, 12)),
}
CASES = [
    ("openai", "pulze"),
    ("openai", "octoai"),
    ("openai", "ogx"),
    ("openai", "local"),
    ("octoai", "octoai"),
    ("ogx", "ogx"),
]
COUNTS = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


@pytest.fixture
def run(request: pytest.FixtureRequest) -> Callable[[str, Call], str]:
    def running(name: str, call: Call) -> str:
        wanted, python = CLIENTS[name]
        programs = environment(request.config, f"sdk-{name}-env", [wanted], python)
        return said_by([programs / "python", "-W", "ignore"], name, call)

    return running


def three_words(request: Received) -> Iterator[bytes]:
    """With all that the clients insist on."""
    build = chat_event if request.path.endswith("/chat/completions") else text_event
    for text in ("w0 ", "w1 ", "w2 "):
        yield build(text, system_fingerprint="f")
    yield build("", finish="stop", system_fingerprint="f")
    yield DONE


def as_sent(name: str, body: dict[str, Any]) -> str:
    """OctoAI's client says `stream: false` itself where it is not asked for."""
    return exact({"stream": False, **body} if name == "octoai" else body)


@pytest.mark.parametrize("extra", [{}, {"it's new": {"a": [1, 2.5, None, False, ""]}}])
@pytest.mark.parametrize("operation", ["completions", "chat"])
@pytest.mark.parametrize(("name", "slug"), CASES)
def test_it_sends_every_field_as_the_run_does(
    name: str,
    slug: str,
    operation: str,
    extra: dict[str, Any],
    provider: FakeProvider,
    run: Callable[[str, Call], str],
) -> None:
    provider.reply_with(Reply(pieces=three_words))
    api = Api(slug, "llama.cpp" if slug == "local" else "", operation)
    values = {**everything(api), "n": 1}
    request = request_to_api(api, values, extra=extra, own_headers={"X-Trace": "it's 1"})
    printed = run(name, Call(request, provider.url))
    [received] = provider.posts
    assert as_sent(name, received.json) == as_sent(name, request.body())
    assert received.headers["authorization"] == f"Bearer {KEY}"
    for header, value in request.headers().items():
        assert received.headers[header.lower()] == value
    assert printed == "w0 w1 w2 "


@pytest.mark.parametrize("operation", ["completions", "chat"])
@pytest.mark.parametrize(("name", "slug"), [*CASES[2:3], *CASES[4:]])
def test_it_prints_an_answer_in_one_piece(
    name: str, slug: str, operation: str, provider: FakeProvider, run: Callable[[str, Call], str]
) -> None:
    chat = operation == "chat"
    message = {"role": "assistant", "content": "Hi you"}
    choice = {"index": 0, "finish_reason": "stop", "logprobs": None}
    choice |= {"message": message} if chat else {"text": "Hi you"}
    kind = "chat.completion" if chat else "text_completion"
    answer = {"id": "1", "object": kind, "created": 1, "model": "m", "choices": [choice]}
    answer["system_fingerprint"] = "f"
    provider.reply_with(json_reply({**answer, "usage": COUNTS}))
    request = request_to_api(Api(slug, "", operation), {"temperature": 0, "stop": ["\n"]}, extra={})
    assert run(name, Call(request, provider.url)) == "Hi you\n"
    assert as_sent(name, provider.posts[0].json) == as_sent(name, request.body())


@pytest.mark.parametrize("name", CLIENTS)
def test_it_runs_without_a_key(
    name: str, provider: FakeProvider, run: Callable[[str, Call], str]
) -> None:
    provider.reply_with(Reply(pieces=three_words))
    slug = "local" if name == "openai" else name
    request = request_to_api(Api(slug, "", "completions"), {"stream": True}, extra={})
    assert run(name, Call(request, provider.url, needs_key=False)) == "w0 w1 w2 "
