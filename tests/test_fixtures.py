"""Every answer in `transcripts/`, over real HTTP through the runner, as it ends in the stored run.

A file is one fact about a provider, written as HTTP shows it: status line, headers, body.
"""

import contextlib
import dataclasses
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from playground.completion import CompletionRequest
from playground.database import in_thread
from playground.models import Connection, Run
from playground.providers import PROVIDERS, ProviderError, Target, base
from playground.runner import Runner
from tests.conftest import request_to, run_all
from tests.fake_provider import DONE, FakeProvider, Reply
from tests.fake_services import TRANSCRIPTS, transcript

DIALECTS = {"llama": "llama.cpp", "vllm": "vllm", "ollama": "ollama", "lmstudio": "lmstudio"}
SERVICES = {"pulze": "pulze", "octo": "octoai", "ogx": "ogx"}
ALL = ("pulze", "octo", "ogx", "llama")  # what any server, or one before it, may answer


@dataclass(frozen=True)
class End:
    """What the stored run says. `meta` and `logprobs` are only looked at where they are given."""

    texts: list[str] = field(default_factory=list)  # of each choice
    finish: list[str | None] = field(default_factory=list)
    usage: tuple[int, int] | None = None  # prompt and completion tokens
    error: str = ""
    status: int | None = None
    words: str = ""  # the whole message
    meta: dict[str, Any] = field(default_factory=dict)
    logprobs: list[tuple[str, float | None, int]] | None = None  # token, logprob, candidates
    operation: str = "completions"
    services: tuple[str, ...] = ()


DUCK = [
    (" 🦆", -0.0163, 5),
    ("🎉", -0.0127, 5),
    (" na", -0.5578, 5),
    ("ïve", -0.0032, 5),
    ("!", -0.0608, 5),
    ("\n", -0.4031, 5),
    ("I", -0.7944, 5),
    (" love", -0.1345, 5),
]
LLAMA = {"id": "chatcmpl-wQUa", "model": "smollm2", "system_fingerprint": "b0-unknown"}
PULZE = {
    "created": 1701483003.546,
    "created_ms": 1701483003546,
    "model": "anthropic/claude-instant-1",
}

ENDS = {
    "pulze_ok_nonstream": End(["\n\nA riddle for a fox."], [None], (5, 28), meta=PULZE),
    "pulze_200_with_error": End(
        error="upstream_error",
        words="The model is overloaded with other requests (status 429)",
        meta={"created_ms": 1701483003546},
    ),
    "pulze_422_detail": End(
        error="bad_request",
        status=422,
        words="body.prompt: field required; body.stop.0: str type expected",
    ),
    "octo_ok_logprobs_content": End(
        [" é!"],
        ["cancelled"],
        (4, 2),
        logprobs=[(" é", -0.25, 2), ("!", -1, 1)],
        meta={"system_fingerprint": "fp_octo", "created": 1700000000},
    ),
    "octo_stream_usage_on_last_content": End(["The sea."], ["length"], (2, 3)),
    "octo_chat_first_chunk_without_object": End(
        ["Good day"],
        ["stop"],
        operation="chat",
        meta={"created": 5399, "choices_extra": {"0": {"message": {"role": "assistant"}}}},
    ),
    "octo_500_flat": End(
        error="unavailable",
        status=500,
        words="The request could not be carried out "
        "(best_of: must be at least n; stop: too many; must not be empty)",
    ),
    "octo_422_detail": End(error="bad_request", status=422, words="body.model: Field required"),
    "ogx_stream_no_done": End([" a b"], ["stop"], meta={"model": "mock/ok", "id": "cmpl-1"}),
    "ogx_stream_truncated": End(
        [" a b"],
        [None],
        error="truncated",
        words="The stream ended before the answer was complete; what had arrived is kept.",
    ),
    "ogx_stream_midstream_error_string_code": End(
        [" a"],
        [None],
        error="upstream_error",
        words="Internal server error: An unexpected error occurred. (status 500)",
    ),
    "ogx_stream_usage_null_then_empty_choices": End([" a"], ["length"], (3, 1)),
    "ogx_400_python_repr": End(
        error="bad_request",
        status=400,
        words="body.temperature: Input should be less than or equal to 2; "
        "body.logprobs: Input should be a valid integer, it isn't",
    ),
    "ogx_429_without_retry_after": End(
        error="rate_limit",
        status=429,
        words="Error code: 429 - Rate limit reached for requests "
        "(OGX has tried three times, and does not pass on when to try again)",
    ),
    "ogx_404_detail_vs_error": End(
        error="not_found",
        status=404,
        words="Model 'mock-ok' not found. Use 'client.models.list()' to list available Models.",
    ),
    "ogx_404_detail_vs_error.route": End(error="not_found", status=404, words="Not Found"),
    "ogx_logprobs_both_shapes": End(
        [","],
        ["length"],
        (4, 1),
        logprobs=[(",", -0.07, 2)],
        meta={"model": "local/smollm2", "created": 1795950524},
    ),
    "llama_stream_null_event": End([" wide", " blue"], ["length", "length"], (4, 2), meta=LLAMA),
    "llama_stream_interleaved_n2": End(
        [" A0 A1", " B0 B1 B2"], ["stop", "length"], (5, 7), meta=LLAMA
    ),
    "llama_usage_on_finish_chunk": End([", the"], ["length"], (4, 2), meta=LLAMA),
    "llama_keepalive_comment": End(["slow model"], ["stop"], (1, 2)),
    "llama_ctx_overflow_400": End(
        error="bad_request",
        status=400,
        words="request (1511 tokens) exceeds the available context size (1024 tokens), "
        "try increasing it",
    ),
    "llama_503_loading": End(error="unavailable", status=503, words="Loading model"),
    "llama_old_500_unsupported_param": End(
        error="unavailable", status=500, words="Unsupported param: best_of"
    ),
    "vllm_legacy_logprobs_echo": End(
        ["The step is"],
        ["length"],
        (2, 1),
        logprobs=[("The", None, 0), (" step", -8.8, 2), (" is", -9999.0, 2)],
        meta={
            "choices_extra": {
                "0": {"token_ids": [133, 1149, 16], "logprobs": {"text_offset": [0, 3, 8]}}
            }
        },
    ),
    "llama_stream_logprobs_emoji": End(
        [" 🦆🎉 naïve!\nI love"],
        ["length"],
        (44, 14),
        logprobs=DUCK,
    ),
    "llama_stream_logprobs_words": End(
        [
            " in the ocean, and it is a predator of fish. It is also a predator of other"
            " animals.\n\nThe"
        ],
        ["length"],
        (12, 24),
    ),
    "llama_stream_logprobs_warm": End(
        [
            " in the Gulf of Mexico, and it is also a parrot. But, they are quite different,"
            " they have different looks"
        ],
        ["length"],
        (12, 24),
    ),
    "llama_logprobs_cut_emoji": End(
        [" 🦆🎉 naïve!\nI love �"],
        ["length"],
        (44, 14),
        logprobs=DUCK,
    ),
    "vllm_legacy_logprobs_words": End(
        [" in the rivers, and it dives 🐟 for fish."],
        ["stop"],
        (11, 14),
        logprobs=[
            (" in", -0.31, 3),
            (" the", -0.9, 3),
            (" rivers", -1.7, 4),
            (",", -1.1, 3),
            (" and", -0.6, 3),
            (" it", -0.5, 3),
            (" d", -2.9, 3),
            ("ives", -0.05, 2),
            (" �", -6.1, 3),
            ("�", -0.8, 1),
            ("�", -0.4, 1),
            (" for", -0.7, 2),
            (" fish", -0.2, 3),
            (".", -9999.0, 3),
        ],
    ),
    "vllm_midstream_error_then_done": End(
        ["Par"],
        [None],
        error="upstream_error",
        words="EngineCore encountered an issue. (status 500)",
    ),
    "vllm_401_string_error": End(error="auth", status=401, words="Unauthorized"),
    "vllm_400_n_with_temperature_0": End(
        error="bad_request",
        status=400,
        words="n must be 1 when using greedy sampling, got 2.",
    ),
    "ollama_zero_usage_every_chunk": End(
        ["Hi you"], ["stop"], (26, 2), meta={"created": 1756000002}
    ),
    "ollama_finish_load": End([""], ["load"], (0, 0)),
    "ollama_400_list_prompt": End(
        error="bad_request",
        status=400,
        words="json: cannot unmarshal array into Go struct field CompletionRequest.prompt "
        "of type string",
    ),
    "lmstudio_200_error": End(
        error="upstream_error", words="Unexpected endpoint or method. (POST /completions)"
    ),
    "proxy_502_html": End(
        error="unavailable",
        status=502,
        words="The server answered with a web page, not a model's answer.",
        services=ALL,
    ),
    "empty_body_500": End(
        error="unavailable", status=500, words="The server gave no reason.", services=ALL
    ),
    "text_plain_500": End(
        error="unavailable", status=500, words="Internal Server Error", services=ALL
    ),
}
CASES = [
    (name, service, end)
    for name, end in ENDS.items()
    for service in end.services or (name.partition("_")[0],)
]


def test_every_fixture_has_an_expectation() -> None:
    assert {path.stem for path in TRANSCRIPTS.glob("*.http")} == set(ENDS)


def connection_to(service: str, connect: Callable[..., Connection]) -> Connection:
    provider = SERVICES.get(service, "local")
    return connect(provider=provider, dialect=DIALECTS.get(service, ""), key="a-key-1234")


def byte_by_byte(reply: Reply) -> Reply:
    [body] = reply.pieces  # type: ignore[misc]
    return dataclasses.replace(reply, pieces=[bytes([byte]) for byte in body])  # type: ignore[union-attr]


@pytest.mark.parametrize("cut", [False, True], ids=["whole", "bytes"])
@pytest.mark.parametrize(("name", "service", "end"), CASES, ids=[f"{n}-{s}" for n, s, _ in CASES])
@pytest.mark.django_db(transaction=True)
async def test_it_ends_as_expected_in_the_stored_run(
    name: str,
    service: str,
    end: End,
    cut: bool,
    alice: Any,
    connect: Callable[..., Connection],
    provider: FakeProvider,
    runner: Runner,
) -> None:
    connection = await in_thread(connection_to, service, connect)
    reply = transcript(name)
    provider.reply_with(byte_by_byte(reply) if cut else reply)
    [run] = await run_all(runner, alice, [(connection, request_to(connection, end.operation))])

    choices = list(run.choices.all())
    assert [choice.text for choice in choices] == end.texts
    assert [choice.finish_reason for choice in choices] == end.finish
    assert (run.status, run.error_kind) == ("failed" if end.error else "completed", end.error)
    assert (run.error_message, run.error_status) == (end.words, end.status)
    found = run.prompt_tokens, run.completion_tokens
    assert found == (end.usage or (None, None))
    assert end.meta.items() <= run.metadata_value.items()
    if end.logprobs is not None:
        tokens = [(one["token"], one["logprob"], len(one["top"])) for one in choices[0].logprobs]
        assert tokens == end.logprobs
    check_raw(run, reply)


def check_raw(run: Run, reply: Reply) -> None:
    """An answer that could be read is in the record as it came: whole, or its last chunk."""
    raw = run.metadata_value.get("raw")
    if reply.status >= 300:
        assert raw is None
        return
    [body] = reply.pieces  # type: ignore[misc]
    text = body.decode()  # type: ignore[union-attr]
    assert raw in text
    assert isinstance(json.loads(raw), dict)
    assert "raw_cut" not in run.metadata_value


@pytest.mark.django_db(transaction=True)
async def test_dollars_are_kept_apart_from_tokens(
    alice: Any, connect: Callable[..., Connection], provider: FakeProvider, runner: Runner
) -> None:
    connection = await in_thread(connection_to, "pulze", connect)
    provider.reply_with(transcript("pulze_ok_nonstream"))
    [run] = await run_all(runner, alice, [(connection, request_to(connection))])
    assert run.usage == '{"total_tokens":33,"prompt_tokens":5,"completion_tokens":28}'
    metadata = run.metadata_value["metadata"]
    assert metadata["costs"]["total_tokens"] == 0.00066
    assert metadata["cost_savings"]["completion_tokens"] == 0.0012
    assert metadata["scores"]["best_models"] == [{"anthropic/claude-instant-1": 1.0}]
    assert (metadata["latency"], metadata["category"]) == (0.601, "creative")
    assert metadata["labels"] == {"team": "evals"}


@pytest.mark.django_db(transaction=True)
async def test_llama_cpps_token_ids_and_timings_survive_ogx(
    alice: Any, connect: Callable[..., Connection], provider: FakeProvider, runner: Runner
) -> None:
    connection = await in_thread(connection_to, "ogx", connect)
    provider.reply_with(transcript("ogx_logprobs_both_shapes"))
    [run] = await run_all(runner, alice, [(connection, request_to(connection))])
    [choice] = run.choices.all()
    [token] = choice.logprobs
    assert (token["id"], [one["id"] for one in token["top"]]) == (28, [28, 30])
    assert run.metadata_value["timings"]["predicted_n"] == 1
    assert run.usage_value["prompt_tokens_details"]["cached_tokens"] == 0


# --- Every field of an answer that anyone documents is in the record -----------------------

RESPONSES = json.loads((TRANSCRIPTS.parent / "data" / "fields.json").read_bytes())["responses"]
LEGACY = {"text_offset", "token_logprobs", "tokens", "top_logprobs"}
APIS = sorted({(row["provider"], row["dialect"] or "", row["operation"]) for row in RESPONSES})


def leaf(kind: str, number: int) -> Any:
    """A value of this type that occurs nowhere else."""
    if kind.startswith("array<"):
        return [leaf(kind[6:-1], number)]
    values = {"integer": number, "number": number + 0.25, "boolean": True}
    return values.get(kind, {f"k{number}": number} if kind == "object" else f"v{number}")


def put(holder: Any, path: list[str], value: Any) -> None:
    """`["choices[]", "text"]` → holder["choices"][0]["text"]"""
    name, *deeper = path
    if not deeper:
        holder[name] = value
    elif name.endswith("[]"):
        put(holder.setdefault(name[:-2], [{}])[0], deeper, value)
    else:
        put(holder.setdefault(name, {}), deeper, value)


def answer(rows: list[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """An answer with all of these fields, and {name: value} of those without members."""
    names = [row["name"] for row in rows]
    payload: dict[str, Any] = {}
    values = {}
    for number, row in enumerate(rows, start=1001):
        name = row["name"]
        if any(other.startswith((f"{name}.", f"{name}[].")) for other in names):
            continue
        tokens = [{"token": f"v{number}"}] if name.endswith("logprobs.content") else None
        values[name] = tokens or leaf(row["type"][0], number)
        put(payload, name.split("."), values[name])
    return payload, values


def atoms(value: Any) -> Iterator[Any]:
    """The numbers and texts in JSON, names included."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield name
            yield from atoms(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from atoms(one)
    else:
        yield value


def occurs(name: str, chunk: bool, legacy: bool) -> bool:
    """Whether this field is in a chunk or a whole answer, with logprobs of this shape."""
    if name.startswith("choices[].message" if chunk else "choices[].delta"):
        return False
    member = name.removeprefix("choices[].logprobs.")
    if member == name or member.startswith("refusal"):
        return True
    return legacy is (member in LEGACY)


@pytest.mark.parametrize("legacy", [False, True], ids=["content", "legacy"])
@pytest.mark.parametrize("chunk", [False, True], ids=["whole", "chunk"])
@pytest.mark.parametrize(("slug", "dialect", "operation"), APIS)
async def test_every_field_of_an_answer_is_in_the_record(
    slug: str, dialect: str, operation: str, chunk: bool, legacy: bool, provider: FakeProvider
) -> None:
    api = (slug, dialect, operation)
    rows = [
        row
        for row in RESPONSES
        if (row["provider"], row["dialect"] or "", row["operation"]) == api
        and occurs(row["name"], chunk, legacy)
    ]
    payload, values = answer(rows)
    body = json.dumps(payload).encode()
    provider.reply_with(
        Reply(pieces=[b"data: " + body + b"\n\n", DONE])
        if chunk
        else Reply(content_type="application/json", pieces=[body])
    )
    request = CompletionRequest(slug, operation, "m", dialect, "Hi", values={"stream": chunk})
    target = Target(provider.url, "a-key", reaches_local=True)
    found: list[Any] = []
    with contextlib.suppress(ProviderError):  # Pulze's metadata has an `error` among its fields
        async for event in PROVIDERS[slug].stream(target, request):
            found.append(event.choice)
            kept = {**event.data, "raw": ""} if event.kind == "meta" else event.data
            found += atoms(kept)
    await base.close()
    for name, value in values.items():
        assert set(atoms(value)) <= set(found), name
