"""A real OGX 1.5.0: in front of the real llama.cpp server, and of a fake that fails on demand."""

import dataclasses
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from playground.completion import Batch, CompletionRequest
from playground.database import in_thread
from playground.embedded import MODEL, EmbeddedBackend
from playground.models import Connection
from playground.outcome import Outcome, fold
from playground.providers import PROVIDERS, ProviderError, Target, base
from playground.runner import Runner
from tests.conftest import request_to, run_all
from tests.fake_provider import FakeProvider
from tests.fake_services import serve_ogx_upstream
from tests.services.conftest import with_model
from tests.services.ogx import Start, config, starter

# The first run makes an environment; that takes its time where the network is slow.
pytestmark = [pytest.mark.services, pytest.mark.timeout(600)]

OGX = PROVIDERS["ogx"]
LLAMA = f"local/{MODEL}"
KEY = "k-own-1234"

GUARDED = f"  auth: {{provider_config: {{type: local_api_key, api_keys: [{KEY}]}}}}\n"


@pytest.fixture(scope="module")
def llama(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the embedded backend."""
    with EmbeddedBackend(with_model(tmp_path_factory.mktemp("llama"), model)) as backend:
        address = backend.address()
        assert address
        yield address


@pytest.fixture(scope="module")
def mock() -> Iterator[FakeProvider]:
    with FakeProvider() as fake:
        serve_ogx_upstream(fake)
        yield fake


@pytest.fixture(scope="module")
def start(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Start:
    return starter(request.config, tmp_path_factory)


@pytest.fixture(scope="module")
def ogx(start: Start, llama: str, mock: FakeProvider) -> Iterator[str]:
    with start(config(llama, mock.url)) as address:
        yield address


@pytest.fixture
async def target(ogx: str) -> AsyncIterator[Target]:
    yield Target(ogx, reaches_local=True, connect_timeout=5, read_timeout=60)
    await base.close()


async def ask(target: Target, request: CompletionRequest) -> Outcome:
    batch = Batch()
    async for event in OGX.stream(target, request):
        batch.add(event)
    return fold(batch.to_list())


async def failure(target: Target, request: CompletionRequest) -> ProviderError:
    with pytest.raises(ProviderError) as raised:
        await ask(target, request)
    return raised.value


def completion(prompt: Any = "The sea is", model: str = LLAMA, **values: Any) -> CompletionRequest:
    asked = {"stream": True, "max_tokens": 6, "temperature": 0, **values}
    extra = asked.pop("extra", {})
    return CompletionRequest("ogx", "completions", model, "", prompt, values=asked, extra=extra)


def chat(model: str = LLAMA, **values: Any) -> CompletionRequest:
    asked = {"stream": True, "max_tokens": 6, "temperature": 0, **values}
    messages = ({"role": "user", "content": "Say hello."},)
    return CompletionRequest("ogx", "chat", model, messages=messages, values=asked)


BOTH = pytest.mark.parametrize("stream", [True, False])


# --- In front of llama.cpp -----------------------------------------------------------------


async def test_it_lists_the_models_of_its_servers(target: Target) -> None:
    assert {LLAMA, "mock/ok"} <= set(await OGX.models(target))


@BOTH
async def test_it_completes(target: Target, stream: bool) -> None:
    outcome = await ask(target, completion(stream=stream))
    [choice] = outcome.choices
    assert choice.text.strip()
    assert choice.finish_reason == "length"
    assert outcome.usage is not None
    assert outcome.usage["completion_tokens"] == 6
    assert outcome.meta["model"] == LLAMA  # rewritten to the name that was asked for
    assert outcome.meta["timings"]["predicted_n"] == 6


@BOTH
async def test_it_chats(target: Target, stream: bool) -> None:
    values = {"stream_options.include_usage": True} if stream else {}
    outcome = await ask(target, chat(stream=stream, **values))
    assert outcome.choices[0].text.strip()
    assert outcome.choices[0].finish_reason == "length"
    assert outcome.usage is not None
    assert outcome.usage["completion_tokens"] == 6
    assert outcome.meta["choices_extra"]["0"]["message"] == {"role": "assistant"}


async def tokens_of(llama: str, text: str) -> list[int]:
    async with httpx.AsyncClient(trust_env=False) as client:
        url = llama.removesuffix("/v1") + "/tokenize"
        answer = await client.post(url, json={"content": text, "add_special": True})
        return list(answer.json()["tokens"])


@BOTH
async def test_every_form_of_prompt_is_answered_by_index(
    target: Target, llama: str, stream: bool
) -> None:
    texts = ["The sea is", "Once upon a time there"]
    ids = [await tokens_of(llama, text) for text in texts]
    [alone] = (await ask(target, completion(texts[0], stream=stream))).choices
    [by_ids] = (await ask(target, completion(ids[0], stream=stream))).choices
    assert by_ids.text == alone.text
    by_text = (await ask(target, completion(texts, stream=stream))).choices
    by_lists = (await ask(target, completion(ids, stream=stream))).choices
    assert [choice.index for choice in by_text] == [0, 1]
    assert by_text[0].text == alone.text
    assert [one.text for one in by_lists] == [one.text for one in by_text]


@BOTH
async def test_two_choices_have_their_usage_summed(target: Target, stream: bool) -> None:
    outcome = await ask(target, completion(n=2, temperature=1, seed=1, stream=stream))
    assert [choice.finish_reason for choice in outcome.choices] == ["length", "length"]
    assert all(choice.text for choice in outcome.choices)
    assert outcome.usage is not None
    # Without a stream llama.cpp counts the first choice only.
    assert outcome.usage["completion_tokens"] == (12 if stream else 6)


@BOTH
async def test_logprobs_are_in_the_normal_form(target: Target, stream: bool) -> None:
    [choice] = (await ask(target, completion(logprobs=2, stream=stream))).choices
    assert len(choice.logprobs) == 6
    assert "".join(token["token"] for token in choice.logprobs) == choice.text
    for token in choice.logprobs:
        assert token["logprob"] <= 0
        assert isinstance(token["id"], int)
        assert len(token["top"]) == 2
        assert token["bytes"] == list(token["token"].encode())


@BOTH
async def test_logprobs_of_chat_are_in_the_normal_form(target: Target, stream: bool) -> None:
    [choice] = (await ask(target, chat(logprobs=True, top_logprobs=3, stream=stream))).choices
    assert len(choice.logprobs) == 6
    assert {len(token["top"]) for token in choice.logprobs} == {3}


@pytest.mark.parametrize("values", [{"echo": True}, {"best_of": 2}, {"best_of": 2, "echo": True}])
@BOTH
async def test_what_llama_cpp_ignores_does_no_harm(
    target: Target, values: dict[str, Any], stream: bool
) -> None:
    plain = await ask(target, completion(stream=stream))
    outcome = await ask(target, completion(stream=stream, **values))
    assert [one.text for one in outcome.choices] == [one.text for one in plain.choices]


async def test_further_fields_change_what_llama_cpp_writes(target: Target) -> None:
    asked = {"max_tokens": 30, "ignore_eos": True}
    plain = await ask(target, completion("one one one one", **asked))
    penalty = {"repeat_penalty": 2.0, "repeat_last_n": 64}
    other = await ask(target, completion("one one one one", extra=penalty, **asked))
    assert plain.choices[0].text != other.choices[0].text


async def test_too_long_a_prompt_is_an_error_before_the_stream(target: Target) -> None:
    error = await failure(target, completion("word " * 9000))
    assert (error.kind, error.status) == ("bad_request", 400)
    assert "exceeds the available context size" in error.message


@pytest.mark.django_db(transaction=True)
async def test_a_run_through_it_is_stored(
    ogx: str, alice: Any, connect: Callable[..., Connection], runner: Runner
) -> None:
    where = {"provider": "ogx", "dialect": "", "base_url": ogx}
    connection = await in_thread(lambda: connect("ogx", **where))
    asked = [
        (connection, request_to(connection, model=LLAMA, max_tokens=5, logprobs=1)),
        (connection, request_to(connection, "chat", model=LLAMA, max_tokens=5)),
        (connection, request_to(connection, model="mock/cut")),
    ]
    first, second, third = await run_all(runner, alice, asked)
    assert (first.status, first.completion_tokens) == ("completed", 5)
    assert len(first.choices.all()[0].logprobs) == 5
    assert second.status == "completed"
    assert (third.status, third.error_kind) == ("failed", "truncated")
    assert third.choices.all()[0].text == " a b"


# --- In front of a server that fails -------------------------------------------------------


@BOTH
async def test_every_field_is_passed_on(target: Target, mock: FakeProvider, stream: bool) -> None:
    mock.requests.clear()
    values = {
        "n": 1, "best_of": 3, "echo": True, "logprobs": 0, "seed": 0, "suffix": "", "user": "u",
        "min_p": 0.05, "repeat_penalty": 1.1, "ignore_eos": False, "logit_bias": {"5": -1},
        "stop": ["\n"], "frequency_penalty": 0, "presence_penalty": -2, "top_p": 0.5,
    }  # fmt: skip
    table = {path: value for path, value in values.items() if path != "repeat_penalty"}
    request = completion(
        model="mock/ok", stream=stream, extra={"repeat_penalty": 1.1, "x_new": [1]}, **table
    )
    assert request.not_sent() == []
    await ask(target, request)
    [post] = mock.posts
    sent = request.body() | {"model": "ok"}
    assert {name: post.json.get(name) for name in sent} == sent


async def test_an_echo_with_logprobs_begins_with_a_null(target: Target) -> None:
    [choice] = (
        await ask(target, completion(model="mock/ok", echo=True, logprobs=1, stream=False))
    ).choices
    assert choice.text == "The sea"
    assert [(one["token"], one["logprob"]) for one in choice.logprobs] == [
        ("The", None), (" sea", -0.5),
    ]  # fmt: skip


@BOTH
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "bad_request"),
        (401, "auth"),
        (402, "bad_request"),
        (403, "auth"),
        (404, "not_found"),
        (422, "bad_request"),
        (429, "rate_limit"),
        (500, "unavailable"),
        (503, "unavailable"),
    ],
)
async def test_an_error_of_the_upstream_keeps_its_words_and_status(
    target: Target, status: int, kind: str, stream: bool
) -> None:
    error = await failure(target, completion(model=f"mock/status-{status}", stream=stream))
    assert (error.status, error.kind) == (status, kind)
    words = f"Error code: {status} - as asked: {status}"
    if status == 429:
        words += " (OGX has tried three times, and does not pass on when to try again)"
    assert error.message == words


@pytest.mark.parametrize(
    ("upstream", "status", "words"),
    [
        ("mock/html-502", 502,
         "Error code: 502 (from the model server behind OGX, without a reason)"),
        ("mock/string-401", 401,
         "Error code: 401 (from the model server behind OGX, without a reason)"),
        ("mock/text-200", 400, "Expecting value: line 1 column 1 (char 0)"),
        ("gone/m", 500, "Internal server error: An unexpected error occurred."),
    ],
)  # fmt: skip
async def test_an_upstream_without_words(
    target: Target, upstream: str, status: int, words: str
) -> None:
    error = await failure(target, completion(model=upstream, stream=False))
    assert (error.message, error.status) == (words, status)


async def test_a_missing_key_of_an_upstream_is_named(target: Target) -> None:
    error = await failure(target, completion(model="keyless/m"))
    assert error.status == 400
    assert "x-ogx-provider-data" in error.message.lower()
    data = '{"openai_api_key": "sk-theirs"}'
    with_data = dataclasses.replace(target, headers={"X-OGX-Provider-Data": data})
    assert (await ask(with_data, completion(model="keyless/ok"))).choices[0].text == " a b"


async def test_a_failure_in_mid_stream(target: Target) -> None:
    error = await failure(target, completion(model="mock/mid-error"))
    assert error.kind == "upstream_error"
    assert error.message == ("Internal server error: An unexpected error occurred. (status 500)")


async def test_an_upstream_that_breaks_off(target: Target) -> None:
    assert (await failure(target, completion(model="mock/cut"))).kind == "truncated"


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (completion(temperature=3), "body.temperature: Input should be less than or equal to 2"),
        (completion(max_tokens=0), "body.max_tokens: Input should be greater than or equal to 1"),
        (completion(logprobs=6), "body.logprobs: Input should be less than or equal to 5"),
        (completion(logprobs=True), "body.logprobs: Input should be a valid integer"),
        (completion(None), "body.prompt"),
        (completion(model=""), "body.model: Field required"),
        (completion(extra={"logit_bias": [[5, 1]]}), "body.logit_bias"),
        (chat(logprobs=2), "body.logprobs: Input should be a valid boolean"),
        (chat(tool_choice="required"), "tool_choice"),
        (dataclasses.replace(chat(), messages=()), "body.messages"),
    ],
)
async def test_its_own_validation_names_the_field(
    target: Target, request_: CompletionRequest, words: str
) -> None:
    error = await failure(target, request_)
    assert (error.status, error.kind) == (400, "bad_request")
    assert words in error.message
    assert "{" not in error.message


async def test_unknown_models_and_routes_are_not_found(target: Target) -> None:
    error = await failure(target, completion(model=MODEL))
    assert (error.kind, error.status) == ("not_found", 404)
    assert f"Model '{MODEL}' not found" in error.message
    nowhere = dataclasses.replace(target, base_url=f"{target.base_url}/nowhere")
    error = await failure(nowhere, completion())
    assert (error.message, error.status) == ("Not Found", 404)


async def test_another_version_of_a_client_is_refused(target: Target) -> None:
    old = dataclasses.replace(target, headers={"X-OGX-Client-Version": "0.1.0"})
    error = await failure(old, completion())
    assert error.status == 426
    assert "version" in error.message.lower()


async def test_a_guarded_one_wants_its_key(
    start: Start, mock: FakeProvider, target: Target
) -> None:
    request = completion(model="mock/ok")
    with start(config("http://127.0.0.1:9/v1", mock.url) + GUARDED) as address:
        ours = dataclasses.replace(target, base_url=address, key=KEY)
        assert (await ask(ours, request)).choices[0].text == " a b"
        assert "mock/ok" in await OGX.models(ours)
        for key, words in (("", "Authentication required"), ("wrong-1234", "Invalid or missing")):
            error = await failure(dataclasses.replace(ours, key=key), request)
            assert (error.status, error.kind) == (401, "auth")
            assert words in error.message
