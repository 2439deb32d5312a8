"""Who stands against whom in a blind panel: by their prompt; and what each is called."""

import json

from playground.completion import CompletionRequest
from playground.models.runs import Run

LONGEST_CONTESTANT = 200  # characters
QUIET = ("stream", "stream_options.include_usage")  # settings that write no other text


def prompt_key(asked: CompletionRequest) -> str:
    """Equal where two requests ask the same; a text is the same as one message that says it."""
    messages = [dict(each) for each in asked.messages]
    if len(messages) == 1 and isinstance(messages[0].get("content"), str):
        return json.dumps(messages[0]["content"])
    return json.dumps(messages or asked.prompt, sort_keys=True)


def contestants(runs: dict[int, Run], asked: dict[int, CompletionRequest]) -> dict[int, str]:
    """A name for each run: model and connection, and the settings in which equal ones differ."""
    base = {pk: f"{runs[pk].model or 'not named'} · {runs[pk].connection_name}" for pk in asked}
    settings_of = {
        pk: {
            path: json.dumps(value, ensure_ascii=False)
            for path, value in {**request.values, **request.extra}.items()
            if path not in QUIET
        }
        for pk, request in asked.items()
    }
    found = {}
    for pk, name in base.items():
        alike = [settings_of[other] for other, other_name in base.items() if other_name == name]
        own = settings_of[pk]
        paths = sorted({path for each in alike for path in each})
        differing = [p for p in paths if len({each.get(p) for each in alike}) > 1 and p != "seed"]
        parts = [f"{path} {own.get(path, 'not sent')}" for path in differing]
        found[pk] = ", ".join([name, *parts])[:LONGEST_CONTESTANT]
    return found
