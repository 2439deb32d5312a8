"""The clients that OctoAI and OpenAI published read what our fakes of OctoAI and Pulze answer.

That shows that the fakes are honest. OctoAI's client drops every chunk that it cannot read, so the
chunks are counted. OpenAI's client is `strict` where the services promise OpenAI's own types: they
do not for `finish_reason` in chunks of completions, and Pulze not for `metadata` in chat.
"""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fake_provider import FakeProvider, error_reply
from tests.fake_services import WORDS, serve_octoai, serve_pulze, transcript
from tests.services.environments import environment

# The first run makes an environment; that takes its time where the network is slow.
pytestmark = [pytest.mark.services, pytest.mark.timeout(600)]

TEXT = "".join(WORDS)
Run = Callable[[str], Any]

OCTOAI = """
import json, os, sys, warnings
warnings.simplefilter("ignore")
from octoai.client import OctoAI
from octoai.environment import OctoAIEnvironment
from octoai.text_gen.types import ChatMessage, StreamOptions
url = os.environ["URL"].removesuffix("/v1")
where = OctoAIEnvironment(default=url, image_gen=url, text_gen=url)
text_gen = OctoAI(api_key="k", environment=where).text_gen
messages = [ChatMessage(role="user", content="Hi")]
def show(*answers):
    print(json.dumps([json.loads(answer.json()) for answer in answers]))
"""

OPENAI = """
import json, os, sys
from openai import OpenAI
client, strict = (
    OpenAI(base_url=os.environ["URL"], api_key="k", max_retries=0, _strict_response_validation=how)
    for how in (False, True)
)
messages = [{"role": "user", "content": "Hi"}]
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {
    "type": "object", "properties": {}, "required": []}}}]
def show(*answers):
    print(json.dumps([answer.model_dump(mode="json") for answer in answers]))
"""


@pytest.fixture(scope="module")
def sdks(request: pytest.FixtureRequest) -> dict[str, Path]:
    """The Python programs of two environments, by SDK."""
    packages = {"octoai": ["octoai==1.11.0"], "openai": ["openai>=2"]}
    return {
        name: environment(request.config, f"sdk-{name}-env", wanted) / "python"
        for name, wanted in packages.items()
    }


def program(python: Path, start: str, url: str) -> Run:
    """Runs lines of Python behind `start`; what they `show`."""

    def run(lines: str) -> Any:
        done = subprocess.run(
            [python, "-c", start + lines],
            env={**os.environ, "URL": url, "NO_PROXY": "127.0.0.1"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeProvider]:
    with FakeProvider() as running:
        yield running


@pytest.fixture
def octoai(sdks: dict[str, Path], fake: FakeProvider) -> Run:
    fake.clear()
    serve_octoai(fake)
    return program(sdks["octoai"], OCTOAI, fake.url)


@pytest.fixture
def openai_at_pulze(sdks: dict[str, Path], fake: FakeProvider) -> Run:
    fake.clear()
    serve_pulze(fake)
    return program(sdks["openai"], OPENAI, fake.url)


@pytest.fixture
def openai_at_octoai(sdks: dict[str, Path], fake: FakeProvider) -> Run:
    fake.clear()
    serve_octoai(fake)
    return program(sdks["openai"], OPENAI, fake.url)


def texts(chunks: list[Any], index: int = 0) -> str:
    """Of completions or of chat."""
    choices = [one for chunk in chunks for one in chunk["choices"] if one["index"] == index]
    pieces = (one.get("text") or one.get("delta", {}).get("content") for one in choices)
    return "".join(piece or "" for piece in pieces)


def test_octoais_client_reads_completions(octoai: Run) -> None:
    [answer] = octoai(
        'show(text_gen.create_completion(model="m", prompt=["Hi", "Ho"], n=2, echo=True,'
        ' max_tokens=3, logprobs=2, logit_bias={"5": -1.5}, loglikelihood=True, stop=["x"]))'
    )
    assert [choice["text"] for choice in answer["choices"]] == [
        "Hi the sea is", "Hi the sea is", "Ho the sea is", "Ho the sea is",
    ]  # fmt: skip
    assert {choice["finish_reason"] for choice in answer["choices"]} == {"length"}
    first = answer["choices"][0]["logprobs"]["content"][0]
    assert (first["token"], len(first["top_logprobs"])) == (" the", 2)
    assert answer["usage"]["completion_tokens"] == 12
    assert answer["system_fingerprint"]


def test_octoais_client_reads_streams_of_completions(octoai: Run) -> None:
    chunks = octoai(
        'show(*text_gen.create_completion_stream(model="m", prompt="Hi", logprobs=1,'
        " stream_options=StreamOptions(include_usage=True)))"
    )
    assert len(chunks) == len(WORDS)
    assert texts(chunks) == TEXT
    assert [bool(chunk.get("usage")) for chunk in chunks] == [False] * 4 + [True]
    assert all(chunk["choices"][0]["logprobs"]["content"] for chunk in chunks)


def test_octoais_client_reads_chat(octoai: Run) -> None:
    [answer] = octoai(
        'show(text_gen.create_chat_completion(model="m", messages=messages, logprobs=True,'
        " top_logprobs=1))"
    )
    assert answer["object"] == "chat.completion"
    assert answer["choices"][0]["message"] == {"role": "assistant", "content": TEXT}
    chunks = octoai(
        'show(*text_gen.create_chat_completion_stream(model="m", messages=messages, n=2))'
    )
    assert len(chunks) == 2 * len(WORDS)
    assert (texts(chunks, 0), texts(chunks, 1)) == (TEXT, TEXT)


def test_octoais_client_reads_the_errors(octoai: Run, fake: FakeProvider) -> None:
    show_error = """
try:
    text_gen.create_completion(model="m", prompt="Hi", {0})
except Exception as error:
    print(json.dumps([type(error).__name__, error.status_code, json.loads(error.body.json())]))
"""
    name, status, body = octoai(show_error.format("temperature=3"))
    assert (name, status) == ("UnprocessableEntityError", 422)
    assert body["detail"][0]["loc"] == ["body", "temperature"]
    fake.queue(transcript("octo_500_flat"))
    name, status, body = octoai(show_error.format("n=1"))
    assert (name, status) == ("InternalServerError", 500)
    assert body["validation_errors"]["best_of"] == "must be at least n"
    fake.queue(transcript("octo_422_detail"))
    assert octoai(show_error.format("n=1"))[:2] == ["UnprocessableEntityError", 422]


AT_BOTH = pytest.mark.parametrize(
    ("service", "in_chat"), [("openai_at_pulze", "client"), ("openai_at_octoai", "strict")]
)


@AT_BOTH
def test_openais_client_reads_both_operations(service: str, in_chat: str, request: Any) -> None:
    run: Run = request.getfixturevalue(service)
    whole, chat = run(
        'show(strict.completions.create(model="m", prompt="Hi", n=2),'
        f' {in_chat}.chat.completions.create(model="m", messages=messages))'
    )
    assert [choice["text"] for choice in whole["choices"]] == [TEXT, TEXT]
    assert chat["choices"][0]["message"]["content"] == TEXT
    assert whole["usage"]["completion_tokens"] == 10
    chunks = run('show(*client.completions.create(model="m", prompt="Hi", stream=True))')
    assert (len(chunks), texts(chunks)) == (len(WORDS), TEXT)


@AT_BOTH
def test_openais_client_reads_tool_calls(service: str, in_chat: str, request: Any) -> None:
    run: Run = request.getfixturevalue(service)
    choice = {"type": "function", "function": {"name": "weather"}}
    asked = f'model="m", messages=messages, tools=TOOLS, tool_choice={choice}'
    [answer] = run(f"show({in_chat}.chat.completions.create({asked}))")
    [call] = answer["choices"][0]["message"]["tool_calls"]
    assert (call["function"]["name"], answer["choices"][0]["finish_reason"]) == (
        "weather", "tool_calls",
    )  # fmt: skip


def test_openais_client_reads_chat_streams_of_octoai(openai_at_octoai: Run) -> None:
    chunks = openai_at_octoai(
        'show(*strict.chat.completions.create(model="m", messages=messages, stream=True,'
        ' stream_options={"include_usage": True}))'
    )
    assert texts(chunks) == TEXT
    assert chunks[-1]["usage"]["completion_tokens"] == 5


def test_openais_client_reads_chat_streams_of_pulze(openai_at_pulze: Run) -> None:
    chunks = openai_at_pulze(
        'show(*client.with_options(default_headers={"Pulze-Labels": json.dumps({"Team": 7})})'
        '.chat.completions.create(model="pulze", messages=messages, stream=True))'
    )
    assert texts(chunks) == TEXT
    assert {chunk["model"] for chunk in chunks} == {"openai/gpt-4"}
    assert chunks[-1]["metadata"]["labels"] == {"team": "7"}
    assert len(str(chunks[-1]["created"])) == 13


def test_openais_client_reads_the_errors(openai_at_pulze: Run, fake: FakeProvider) -> None:
    show_error = """
try:
    client.completions.create(model="m", prompt="Hi", temperature={0})
except Exception as error:
    print(json.dumps([type(error).__name__, error.status_code, error.response.text]))
"""
    name, status, words = openai_at_pulze(show_error.format(3))
    assert (name, status) == ("UnprocessableEntityError", 422)
    assert "temperature" in words
    fake.queue(error_reply(429, {"detail": "slow down"}))
    assert openai_at_pulze(show_error.format(1))[:2] == ["RateLimitError", 429]
