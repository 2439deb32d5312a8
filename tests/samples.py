"""Requests with every field at once, from `data/fields.json`, for tests over all APIs."""

import json
from pathlib import Path
from typing import Any

from playground.completion import CompletionRequest
from playground.parameters import ESTABLISHED, Api, for_api

FIELDS = json.loads((Path(__file__).parent / "data" / "fields.json").read_text())["requests"]
SAMPLES: dict[str, Any] = {fact["name"]: fact["sample"] for fact in FIELDS}
SAMPLES |= {
    f"{fact['provider']}/{fact['dialect'] or ''}/{fact['operation']}/{fact['name']}": fact["sample"]
    for fact in FIELDS
}
UNESTABLISHED = (
    Api("local", "other", "completions"),
    Api("local", "other", "chat"),
    Api("local", "lmstudio", "completions"),
)
APIS = (*sorted(ESTABLISHED), *UNESTABLISHED)
AWKWARD = (
    'It\'s "n=3" $HOME ${X} `id` \\ \\n %s\n\ttab é 😀 \u2028 \x85 \ufeff \x7f ! # ^" <EOF @file'
)


def everything(api: Api) -> dict[str, Any]:
    """{path: sample} of all rows that `api` has; the streaming switches on."""
    values = {
        row.path: SAMPLES.get("/".join((*api, support.name)), SAMPLES[support.name])
        for row, support in for_api(api)
    }
    switches = ("stream", "stream_options.include_usage")
    return {path: path in switches or value for path, value in values.items()}


def request_to_api(api: Api, values: dict[str, Any], **changes: Any) -> CompletionRequest:
    chat = api.operation == "chat"
    fields: dict[str, Any] = {
        "provider": api.provider,
        "dialect": api.dialect,
        "operation": api.operation,
        "model": "meta/llama-3:8b",
        "prompt": "" if chat else AWKWARD,
        "messages": ({"role": "user", "content": AWKWARD},) if chat else (),
        "values": values,
        "extra": {"it's new": {"a": [1, 2.5, None, False, "", {}]}},
    }
    return CompletionRequest(**{**fields, **changes})


def exact(value: Any) -> str:
    """JSON text to compare: 1, 1.0 and true differ, the order of keys does not count."""
    return json.dumps(value, sort_keys=True)
