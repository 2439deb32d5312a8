"""Honest fakes of Pulze and OctoAI on top of the fake provider, and an upstream for a real OGX.

Pulze and OctoAI check a request against `data/fields.json`, the list of fields that nobody here
wrote, and answer in the shapes that their specifications give; `tests/services/test_sdks.py` shows
that the SDKs read them. They know nothing of the application under test.

    with FakeProvider() as fake:
        serve_octoai(fake)
        ...                                    # OctoAI(environment=fake.url.removesuffix("/v1"))
"""

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tests.fake_provider import (
    CREATED,
    DONE,
    FakeProvider,
    Received,
    Reply,
    error_reply,
    json_reply,
    text_event,
)

Json = Any
FOLDER = Path(__file__).parent
TRANSCRIPTS = FOLDER / "transcripts"
REQUESTS = json.loads((FOLDER / "data" / "fields.json").read_bytes())["requests"]
WORDS = (" the", " sea", " is", " wide", ".")


def transcript(name: str) -> Reply:
    """The answer that `transcripts/NAME.http` holds: status line, headers, blank line, body."""
    head, _, body = (TRANSCRIPTS / f"{name}.http").read_bytes().partition(b"\n\n")
    first, *lines = head.decode().splitlines()
    headers = dict(line.split(": ", 1) for line in lines)
    content_type = headers.pop("content-type", "")
    if "event-stream" not in content_type:
        headers["content-length"] = str(len(body))
    return Reply(int(first.split()[1]), content_type, headers, [body])


# What a request may hold


def _is(value: Json, kind: str) -> bool:
    if kind.startswith("array<"):
        inner = kind.removeprefix("array<").removesuffix(">")
        return isinstance(value, list) and all(_is(one, inner) for one in value)
    if kind in ("integer", "number"):
        numbers = int if kind == "integer" else (int, float)
        return isinstance(value, numbers) and not isinstance(value, bool)
    kinds = {"string": str, "boolean": bool, "object": dict, "any": object}
    return isinstance(value, kinds[kind])


def _bounded(row: dict[str, Any], value: Json) -> bool:
    values = value.values() if isinstance(value, dict) else [value]
    low, high = row["minimum"], row["maximum"]
    return all(
        (low is None or one > low or (one == low and not row["exclusive_minimum"]))
        and (high is None or one <= high)
        for one in values
        if isinstance(one, int | float)
    )


def _fault(row: dict[str, Any], holder: dict[str, Any], name: str) -> str | None:
    if name not in holder:
        return "Field required" if row["required"] else None
    value = holder[name]
    if value is None:
        return "none is not an allowed value" if row["nullable"] is False else None
    if not any(_is(value, kind) for kind in row["type"]):
        return f"value is not a valid {' or '.join(row['type'])}"
    if row["enum"] and isinstance(value, str) and value not in row["enum"]:
        return f"unexpected value; permitted: {', '.join(row['enum'])}"
    return None if _bounded(row, value) else "value is out of range"


def faults(provider: str, operation: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    """What a FastAPI service answers under `detail`; [] for a body that is in order."""
    found = []
    for row in REQUESTS:
        if (row["provider"], row["operation"], row["where"]) != (provider, operation, "body"):
            continue
        *parents, name = row["name"].split(".")
        holder: Json = body
        for parent in parents:
            holder = holder.get(parent) if isinstance(holder, dict) else None
        if isinstance(holder, dict) and (fault := _fault(row, holder, name)):
            found.append({"loc": ["body", *parents, name], "msg": fault, "type": "value_error"})
    return found


# What it answers


def _prompts(body: dict[str, Any]) -> list[Json]:
    """One entry a prompt; token ids are one prompt, lists of them several."""
    prompt = body.get("prompt")
    several = isinstance(prompt, list) and prompt and isinstance(prompt[0], str | list)
    return list(prompt) if several else [prompt]  # type: ignore[arg-type]


def _words(body: dict[str, Any]) -> tuple[list[str], str]:
    """The pieces of each choice, and why it ends."""
    limit = body.get("max_tokens") or 512
    return list(WORDS[:limit]), "length" if limit < len(WORDS) else "stop"


def _counts(body: dict[str, Any], choices: int) -> dict[str, int]:
    said = json.dumps(body.get("messages") or body.get("prompt"))
    prompt, completion = len(said.split()), choices * len(_words(body)[0])
    total = prompt + completion
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}


def _tool_call(body: dict[str, Any]) -> list[dict[str, Any]] | None:
    """A call of the first tool, where one is demanded."""
    if not body.get("tools") or body.get("tool_choice") in (None, "none", "auto"):
        return None
    function = {"name": body["tools"][0]["function"]["name"], "arguments": '{"place": "Oslo"}'}
    return [{"id": "call_1", "type": "function", "function": function}]


def _logprobs(body: dict[str, Any], pieces: list[str]) -> dict[str, Any] | None:
    """OctoAI's one shape, on completions too."""
    asked = body.get("logprobs")
    if not asked:
        return None
    top = body.get("top_logprobs", 0) if asked is True else asked

    def candidate(token: str, rank: int) -> dict[str, Any]:
        return {"token": token, "logprob": -0.1 - rank, "bytes": list(token.encode())}

    def entry(token: str) -> dict[str, Any]:
        candidates = [candidate(token if not rank else f"{token}{rank}", rank)
                      for rank in range(top)]  # fmt: skip
        return {**candidate(token, 0), "top_logprobs": candidates}

    return {"content": [entry(piece) for piece in pieces]}


def _whole_choice(service: str, chat: bool, body: dict[str, Any], index: int) -> dict[str, Any]:
    pieces, finish = _words(body)
    text = "".join(pieces)
    choice: dict[str, Any] = {"index": index, "finish_reason": finish}
    if service == "octoai":
        choice["logprobs"] = _logprobs(body, pieces)
    elif not chat:
        choice["logprobs"] = None
    if not chat:
        prompts = _prompts(body)
        prompt = prompts[index // (len(choices_of(body)) // len(prompts))]
        return {**choice, "text": (str(prompt) if body.get("echo") else "") + text}
    if calls := _tool_call(body):
        message = {"role": "assistant", "content": None, "tool_calls": calls}
        return {**choice, "finish_reason": "tool_calls", "message": message}
    return {**choice, "message": {"role": "assistant", "content": text}}


def choices_of(body: dict[str, Any]) -> range:
    return range(len(_prompts(body)) * (body.get("n") or 1))


def _chunk_choices(
    service: str, chat: bool, body: dict[str, Any]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """(how many are still to come, choice) of each chunk; the last of a choice has its finish."""
    pieces, finish = _words(body)
    left = len(pieces) * len(choices_of(body))
    for position, piece in enumerate(pieces):
        for index in choices_of(body):
            left -= 1
            last = position == len(pieces) - 1
            choice: dict[str, Any] = {"index": index, "finish_reason": finish if last else None}
            if service == "octoai":
                choice["logprobs"] = _logprobs(body, [piece])
            if not chat:
                yield left, {**choice, "text": piece}
            elif calls := _tool_call(body):
                choice["finish_reason"] = "tool_calls" if last else None
                delta = [{**calls[0], "index": 0}] if position == 0 else None
                yield left, {**choice, "delta": {"role": "assistant", "tool_calls": delta}}
            else:
                yield left, {**choice, "delta": {"role": "assistant", "content": piece}}


Envelope = Callable[[str, dict[str, Any], Received], dict[str, Any]]


def _octoai(kind: str, body: dict[str, Any], request: Received) -> dict[str, Any]:
    return {
        "id": "cmpl-0f3",
        "object": kind,
        "created": CREATED,
        "model": body["model"],
        "system_fingerprint": "fp_octo",
    }


def _pulze(kind: str, body: dict[str, Any], request: Received) -> dict[str, Any]:
    """`created` in milliseconds; dollars; what was really used; members that are null left out."""
    asked = body.get("model") or "pulze"
    namespace = "openai/gpt-4" if asked.startswith("pulze") else asked
    provider, _, model = namespace.rpartition("/")
    labels = json.loads(request.headers.get("pulze-labels", "{}"))
    metadata = {
        "app_id": "7a4f8c52-0000-4000-8000-4d2f0a9f6a01",
        "model": {"model": model, "provider": provider, "namespace": namespace},
        "costs": {"total_tokens": 0.00066, "prompt_tokens": 0.0001, "completion_tokens": 0.00056},
        "cost_savings": {"total_tokens": 0.0, "prompt_tokens": 0.0, "completion_tokens": 0.0},
        "latency": 0.601,
        "labels": {name.lower(): str(value) for name, value in labels.items()},
        "scores": {"best_models": [{namespace: 1.0}]},
        "score": 1.0,
        "temperature": body.get("temperature") or 1.0,
        "status_code": 200,
        "retries": 0,
        "generated_artifacts": {"items": []},
        "search_results": {"items": []},
    }
    return {
        "id": "0c9e8a30-0000-4000-8000-9b1d5c7e2f44",
        "object": kind.removesuffix(".chunk"),
        "created": CREATED * 1000 + 546,
        "model": namespace,
        "metadata": metadata,
    }


def _stream(
    service: str, chat: bool, envelope: dict[str, Any], body: dict[str, Any]
) -> Iterator[bytes]:
    """Usage on the last chunk with content: OctoAI's if it was asked for, Pulze's always."""
    with_usage = service == "pulze" or (body.get("stream_options") or {}).get("include_usage")
    for left, choice in _chunk_choices(service, chat, body):
        chunk = {**envelope, "choices": [choice]}
        if not left and with_usage:
            chunk["usage"] = _counts(body, len(choices_of(body)))
        yield f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()
    yield DONE


def _answer(service: str, envelope: Envelope, request: Received) -> Reply:
    if not request.headers.get("authorization", "").startswith("Bearer "):
        return error_reply(403, {"detail": "Not authenticated"})  # FastAPI's own words
    chat = request.path.endswith("/chat/completions")
    body = request.json
    if detail := faults(service, "chat" if chat else "completions", body):
        return error_reply(422, {"detail": detail})
    kind = "text_completion"
    if chat:
        kind = "chat.completion.chunk" if body.get("stream") else "chat.completion"
    shell = envelope(kind, body, request)
    if body.get("stream"):
        return Reply(pieces=list(_stream(service, chat, shell, body)))
    choices = [_whole_choice(service, chat, body, index) for index in choices_of(body)]
    return json_reply({**shell, "choices": choices, "usage": _counts(body, len(choices))})


PULZE_MODELS = {
    f"00000000-0000-4000-8000-00000000000{number}": {
        "id": f"00000000-0000-4000-8000-00000000000{number}",
        "namespace": f"{provider}/{model}",
        "model": model,
        "provider": provider,
        "owner": None,
        "at": None,
        "context_window": 8192,
        "active": True,
    }
    for number, (provider, model) in enumerate([("openai", "gpt-4"), ("anthropic", "claude-2")])
}


def serve_pulze(fake: FakeProvider) -> None:
    """From now on, it is Pulze."""
    fake.on_path("/v1/models/active", json_reply(PULZE_MODELS))
    fake.reply_with(partial(_answer, "pulze", _pulze))


def serve_octoai(fake: FakeProvider) -> None:
    """From now on, it is OctoAI: it lists no models."""
    fake.on_path("/v1/models", error_reply(404, {"detail": "Not Found"}))
    fake.reply_with(partial(_answer, "octoai", _octoai))


# Behind OGX


def serve_ogx_upstream(fake: FakeProvider) -> None:
    """A model server behind OGX whose model names say what it does: ok, cut, mid-error,
    status-429, html-502, text-200 (not JSON); it lists `ok`."""
    fake.models = ["ok"]
    fake.reply_with(_upstream)


def _upstream(request: Received) -> Reply:
    name = request.json["model"]
    kind, _, status = name.rpartition("-")
    if kind == "status":
        headers = {"retry-after": "0"} if status in ("429", "500", "503") else {}
        body = {"error": {"message": f"as asked: {status}", "type": "t", "code": "c"}}
        return error_reply(int(status), body, headers)
    if kind == "html":
        return error_reply(int(status), b"<html><h1>Bad Gateway</h1></html>", {"retry-after": "0"})
    if kind == "text":
        return Reply(content_type="application/json", pieces=[b"not JSON"])
    if kind == "string":
        return error_reply(int(status), {"error": "Unauthorized"})
    if name == "mid-error":
        broken = {"error": {"message": "EngineCore died", "type": "InternalServerError"}}
        return Reply(pieces=[text_event(" a"), f"data: {json.dumps(broken)}\n\n".encode()])
    if name == "cut":
        return Reply(pieces=[text_event(" a"), text_event(" b")])
    if request.json.get("stream"):
        return Reply(pieces=[text_event(" a"), text_event(" b", finish="stop"), DONE])
    return json_reply(_legacy_answer(request.json))


def _legacy_answer(body: dict[str, Any]) -> dict[str, Any]:
    """As vLLM answers: logprobs in parallel arrays, the prompt first when it is echoed."""
    asked = body.get("logprobs") is not None
    tokens = ["The", " sea"] if body.get("echo") else [" sea"]
    values = [None, -0.5] if body.get("echo") else [-0.5]
    logprobs = {
        "tokens": tokens,
        "token_logprobs": values,
        "top_logprobs": [None if value is None else {" sea": value} for value in values],
        "text_offset": [0, 3][: len(tokens)],
    }
    text, lps = "".join(tokens), logprobs if asked else None
    choice = {"index": 0, "text": text, "logprobs": lps, "finish_reason": "length"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {"id": "cmpl-u", "object": "text_completion", "created": CREATED, "model": "ok",
            "choices": [choice], "usage": usage}  # fmt: skip
