"""What changed between two presses of Run, as a few chips: `temperature 0.7 → 0.2`.

Both sides are the requests of a comparison, a column each; the first columns are compared, and
that columns came or went is said. A chip is `[kind, name, old, new]`, texts all of them: `changed`
with both, `added` with the new, `removed` with the old one, `said` with a sentence as its name.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from playground.completion import CompletionRequest

Chip = list[str]

MOST_CHIPS = 8
LONGEST = 40  # characters of a value
MOST_WORDS = 200_000  # characters of a prompt whose words are counted
# Set by the form itself, or a question of transport.
QUIET = ("stream", "stream_options.include_usage")
_WORD = re.compile(r"\S+")


def changes(before: Sequence[CompletionRequest], after: Sequence[CompletionRequest]) -> list[Chip]:
    """At most MOST_CHIPS; without a request before, the one chip that says so."""
    if not after:
        return []
    if not before:
        return [_said("first run")]
    old, new = before[0], after[0]
    found = [
        *_prompt(old.prompt_text(), new.prompt_text()),
        *_field("model", old.model, new.model),
        *_field("provider", old.provider, new.provider),
        *_field("operation", old.operation, new.operation),
        *_values({**old.values, **old.extra}, {**new.values, **new.extra}),
        *_field("columns", str(len(before)), str(len(after))),
    ]
    if not found:
        return [_said("nothing changed")]
    rest = len(found) - MOST_CHIPS
    return [*found[:MOST_CHIPS], _said(f"and {rest} more")] if rest > 0 else found


def _said(sentence: str) -> Chip:
    return ["said", sentence, "", ""]


def _field(name: str, old: str, new: str) -> list[Chip]:
    return [] if old == new else [["changed", name, short(old) or "none", short(new) or "none"]]


def _prompt(old: str, new: str) -> list[Chip]:
    if old == new:
        return []
    was, now = (Counter(_WORD.findall(text[:MOST_WORDS])) for text in (old, new))
    kept = (was & now).total()
    added, removed = now.total() - kept, was.total() - kept
    if not added and not removed:
        return [_said("prompt: only white space or order")]
    if kept * 2 < min(was.total(), now.total()):
        return [_said("new prompt")]
    parts = [f"+{added}"] * bool(added) + [f"−{removed}"] * bool(removed)
    word = "word" if max(added, removed) == 1 else "words"
    return [["added", "prompt", "", f"{' '.join(parts)} {word}"]]


def _values(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Chip]:
    found = []
    for path in dict.fromkeys([*new, *old]):
        same = text_of(old.get(path)) == text_of(new.get(path)) and (path in old) == (path in new)
        if same or path in QUIET:
            continue
        was, now = short(text_of(old.get(path))), short(text_of(new.get(path)))
        if path not in old:
            found.append(["added", path, "", now])
        elif path not in new:
            found.append(["removed", path, was, ""])
        else:
            found.append(["changed", path, was, now])
    return found


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
