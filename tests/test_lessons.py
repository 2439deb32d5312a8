"""What a backend ignored or refused is seen from request and answer, and remembered."""

from dataclasses import replace
from typing import Any

import pytest

from playground.completion import CompletionRequest
from playground.lessons import IGNORED, REFUSED, lessons_of, lessons_of_refusal
from playground.models import Connection, Memory, User
from playground.outcome import ChoiceResult, Outcome
from playground.runner import Runner
from tests.conftest import request_to, run_all
from tests.fake_provider import FakeProvider, error_reply, words


def asked(prompt: Any = "Once", model: str = "m", **values: Any) -> CompletionRequest:
    values = {path.replace("__", "."): value for path, value in values.items()}
    return CompletionRequest("local", "completions", model, "llama.cpp", prompt, values=values)


def routed(model: str) -> CompletionRequest:
    return CompletionRequest("pulze", "completions", model, prompt="Once")


def came(*texts: str, logprobs: bool = False, **more: Any) -> Outcome:
    tokens = [{"token": "a", "logprob": -1.0}] if logprobs else []
    choices = [ChoiceResult(i, text, logprobs=tokens) for i, text in enumerate(texts)]
    return Outcome(choices=choices, **more)


@pytest.mark.parametrize(
    ("request_", "outcome", "path"),
    [
        (asked(n=3), came("a", "b"), "n"),
        (asked(["x", "y"], n=2), came("a", "b", "c"), "n"),
        (asked(echo=True), came(" upon"), "echo"),
        (asked(logprobs=2), came("a"), "logprobs"),
        (replace(asked(logprobs=0), dialect="vllm"), came("a"), "logprobs"),
        (routed("openai/gpt-4"), came("a", meta={"model": "mistral/tiny"}), "model"),
        (asked(logprobs=True), came("a"), "logprobs"),
        (asked(), came("a", meta={"model": "other"}), "model"),
        (asked(max_tokens=2), came("a", usage={"completion_tokens": 9}), "max_tokens"),
        (asked(stop=["END"]), came("a END b"), "stop"),
        (asked(stream_options__include_usage=True), came("a"), "stream_options.include_usage"),
    ],
)
def test_what_was_ignored_is_seen(request_: Any, outcome: Outcome, path: str) -> None:
    [lesson] = lessons_of(request_, outcome)
    assert (lesson.path, lesson.kind) == (path, IGNORED)
    assert lesson.sentence.endswith(".")


@pytest.mark.parametrize(
    ("request_", "outcome"),
    [
        (asked(), came("a")),
        (asked(n=2), came("a", "b")),
        (asked([1, 2, 3], n=2), came("a", "b")),
        (asked([[1], [2]], n=1), came("a", "b")),
        (asked(echo=True), came("Once upon")),
        (asked(echo=False), came(" upon")),
        (asked(logprobs=0), came("a", logprobs=True)),
        (asked(logprobs=False), came("a")),
        (asked(logprobs=5), came("")),
        (asked(model=""), came("a", meta={"model": "other"})),
        (asked(max_tokens=0), came("a", usage={"completion_tokens": 1})),
        (asked(max_tokens=2, n=2), came("a", "b", usage={"completion_tokens": 4})),
        (asked(stop=["END"], include_stop_str_in_output=True), came("a END")),
        (asked(stop=["END"], min_tokens=5), came("a END b")),
        (asked(logprobs=0), came("a")),  # llama.cpp: none
        (asked(max_tokens=2, best_of=3), came("a", usage={"completion_tokens": 6})),
        (routed("pulze"), came("a", meta={"model": "openai/gpt-4"})),
        (routed("pulze-v0.1"), came("a", meta={"model": "openai/gpt-4"})),
        (routed("gpt-4"), came("a", meta={"model": "openai/gpt-4-turbo"})),
    ],
)
def test_what_was_done_teaches_nothing(request_: Any, outcome: Outcome) -> None:
    assert lessons_of(request_, outcome) == []


def test_a_refusal_teaches_the_parameters_that_it_names() -> None:
    request = asked(best_of=3, n=2, temperature=0)
    found = lessons_of_refusal(request, "bad_request", "Unsupported param: best_of")
    assert [(lesson.path, lesson.kind) for lesson in found] == [("best_of", REFUSED)]
    renamed = lessons_of_refusal(
        asked(repetition_penalty=2), "bad_request", "Field 'repeat_penalty': must be a number"
    )
    assert [lesson.path for lesson in renamed] == ["repetition_penalty"]
    assert lessons_of_refusal(request, "unavailable", "best_of") == []
    assert lessons_of_refusal(request, "bad_request", "the best_offer of n") == []


@pytest.mark.django_db(transaction=True)
async def test_a_run_notes_it_and_the_connection_remembers_it(
    alice: User, connection: Connection, provider: FakeProvider, runner: Runner
) -> None:
    provider.reply_with(words(3, None))
    [run] = await run_all(
        runner, alice, [(connection, request_to(connection, model="fake-1", logprobs=2))]
    )
    assert [lesson.path for lesson in run.lesson_list] == ["logprobs"]
    memory = await Memory.objects.aget()
    assert (memory.model, memory.path, memory.kind) == ("fake-1", "logprobs", IGNORED)

    refusal = {"error": {"message": "best_of is not supported here"}}
    provider.reply_with(error_reply(400, refusal))
    for _ in range(2):  # once is remembered
        [run] = await run_all(
            runner, alice, [(connection, request_to(connection, model="fake-1", best_of=2))]
        )
    assert [lesson.kind for lesson in run.lesson_list] == [REFUSED]
    assert await Memory.objects.acount() == 2
