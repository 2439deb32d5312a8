"""OctoAI: both operations, its logprobs and usage, its errors; no list of models."""

import dataclasses
from collections.abc import AsyncIterator
from typing import Any

import pytest

from playground.completion import CompletionRequest
from playground.outcome import Outcome
from playground.providers import PROVIDERS, ProviderError, Target, base
from tests.asking import outcome
from tests.fake_provider import FakeProvider, error_reply, words
from tests.fake_services import WORDS, serve_octoai

OCTOAI = PROVIDERS["octoai"]
TEXT = "".join(WORDS)
ASK = CompletionRequest("octoai", "completions", "m", prompt="Hi", values={"stream": True})
CHAT = CompletionRequest(
    "octoai", "chat", "m", messages=({"role": "user", "content": "Hi"},), values={"stream": True}
)


def changed(request: CompletionRequest, **values: Any) -> CompletionRequest:
    return dataclasses.replace(request, values={**request.values, **values})


@pytest.fixture
async def target(provider: FakeProvider) -> AsyncIterator[Target]:
    serve_octoai(provider)
    yield Target(provider.url, "a-key", reaches_local=True, connect_timeout=2, read_timeout=5)
    await base.close()


async def ask(target: Target, request: CompletionRequest = ASK) -> Outcome:
    return await outcome(OCTOAI, target, request)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("request_", [ASK, CHAT])
async def test_it_completes(target: Target, request_: CompletionRequest, stream: bool) -> None:
    outcome = await ask(target, changed(request_, stream=stream))
    assert [(one.text, one.finish_reason) for one in outcome.choices] == [(TEXT, "stop")]
    assert (outcome.usage is None) is stream
    assert outcome.meta["system_fingerprint"] == "fp_octo"


@pytest.mark.parametrize("request_", [ASK, CHAT])
async def test_usage_comes_on_the_last_chunk_with_content(
    target: Target, request_: CompletionRequest
) -> None:
    outcome = await ask(target, changed(request_, **{"stream_options.include_usage": True, "n": 2}))
    assert [one.text for one in outcome.choices] == [TEXT, TEXT]
    assert outcome.usage is not None
    assert outcome.usage["completion_tokens"] == 10


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    "request_", [changed(ASK, logprobs=2), changed(CHAT, logprobs=True, top_logprobs=2)]
)
async def test_logprobs_have_one_form_on_both_operations(
    target: Target, request_: CompletionRequest, stream: bool
) -> None:
    [choice] = (await ask(target, changed(request_, stream=stream))).choices
    assert [token["token"] for token in choice.logprobs] == list(WORDS)
    assert choice.logprobs[1] == {
        "token": " sea",
        "logprob": -0.1,
        "bytes": [32, 115, 101, 97],
        "top": [
            {"token": " sea", "logprob": -0.1, "bytes": [32, 115, 101, 97]},
            {"token": " sea1", "logprob": -1.1, "bytes": [32, 115, 101, 97, 49]},
        ],
    }


@pytest.mark.parametrize("prompt", [["One", "Two"], [[1, 2], [3]]])
async def test_several_prompts_give_choices_by_index(target: Target, prompt: Any) -> None:
    request = changed(dataclasses.replace(ASK, prompt=prompt), n=2, echo=True, stream=False)
    outcome = await ask(target, request)
    assert [one.text for one in outcome.choices] == [
        f"{prompt[index // 2]}{TEXT}" for index in range(4)
    ]


async def test_token_ids_are_one_prompt(provider: FakeProvider, target: Target) -> None:
    outcome = await ask(target, dataclasses.replace(ASK, prompt=[1, 2, 3]))
    assert len(outcome.choices) == 1
    assert provider.posts[0].json["prompt"] == [1, 2, 3]


async def test_its_own_parameters_reach_it(provider: FakeProvider, target: Target) -> None:
    own = {"peft": "p", "ignore_eos": True, "log_prompt": False, "loglikelihood": True,
           "min_p": 0, "repetition_penalty": 1.5}  # fmt: skip
    await ask(target, changed(ASK, **own))
    sent = provider.posts[0].json
    assert {name: sent[name] for name in own} == own


@pytest.mark.parametrize("stream", [True, False])
async def test_a_tool_call_is_put_together(target: Target, stream: bool) -> None:
    function = {"name": "weather", "parameters": {"type": "object", "properties": {}}}
    values = {
        "tools": [{"type": "function", "function": function}],
        "tool_choice": "required",
        "stream": stream,
    }
    [choice] = (await ask(target, changed(CHAT, **values))).choices
    assert choice.finish_reason == "tool_calls"
    [call] = choice.tool_calls
    assert call["function"] == {"name": "weather", "arguments": '{"place": "Oslo"}'}


async def test_it_names_every_field_that_is_refused(target: Target) -> None:
    with pytest.raises(ProviderError) as raised:
        await ask(target, changed(ASK, top_p=0, logprobs=6))
    assert raised.value.status == 422
    assert raised.value.message == (
        "body.logprobs: value is out of range; body.top_p: value is out of range"
    )


FLAT = {"object": "error", "message": "Broken", "type": "t", "code": None, "param": None}


@pytest.mark.parametrize(
    ("faults", "sentence"),
    [
        (None, "Broken"),
        ({}, "Broken"),
        ({"n": "too big"}, "Broken (n: too big)"),
        ({"n": ["too big", "odd"], "stop": []}, "Broken (n: too big; odd; stop: [])"),
        ("x", "Broken"),
    ],
)
async def test_its_flat_error_names_the_fields(
    provider: FakeProvider, target: Target, faults: Any, sentence: str
) -> None:
    provider.reply_with(error_reply(500, {**FLAT, "validation_errors": faults}))
    with pytest.raises(ProviderError) as raised:
        await ask(target)
    assert (raised.value.message, raised.value.status) == (sentence, 500)


async def test_without_a_key_nothing_is_sent_to_the_hosted_service(target: Target) -> None:
    hosted = dataclasses.replace(target, key="", base_url=OCTOAI.default_base_url)
    with pytest.raises(ProviderError, match="No key is set for this OctoAI connection"):
        await ask(hosted)


async def test_an_octostack_may_stand_open(provider: FakeProvider, target: Target) -> None:
    provider.reply_with(words(1))
    assert (await ask(dataclasses.replace(target, key=""))).choices[0].text == "w0 "
    assert "authorization" not in provider.posts[0].headers


async def test_it_lists_no_models_and_asks_for_none(provider: FakeProvider, target: Target) -> None:
    assert await OCTOAI.models(target) == []
    assert provider.requests == []


def test_it_says_that_the_hosted_service_has_ended() -> None:
    assert OCTOAI.default_base_url == "https://text.octoai.run/v1"
    assert "ended on 2024-10-31" in OCTOAI.help
    assert "OctoStack" in OCTOAI.help
