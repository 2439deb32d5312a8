"""What changed between two presses of Run, as a few chips: `temperature 0.7 → 0.2`.

Both sides are the requests of a comparison, a column each; the first columns are compared, and
that columns came or went is said. A chip is `[kind, name, old, new]`, texts all of them: `changed`
with both, `added` with the new, `removed` with the old one, `said` with a sentence as its name.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from playground.completion import CompletionRequest

Chip = list[str]

MOST_CHIPS = 8
LONGEST = 40  # characters of a value
MOST_WORDS = 200_000  # characters of what differs between two prompts whose words are counted
STEP = 4_096  # characters compared at once
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
    head = _same(old, new)
    tail = _same(old[head:][::-1], new[head:][::-1])
    around = len(_WORD.findall(old[:head][:MOST_WORDS]))
    around += len(_WORD.findall(old[len(old) - tail :][:MOST_WORDS]))
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    was, now = (Counter(_WORD.findall(text[:MOST_WORDS])) for text in (old, new))
    kept = (was & now).total()
    added, removed = now.total() - kept, was.total() - kept
    if (around + kept) * 2 < around + min(was.total(), now.total()):
        return [_said("new prompt")]
    if max(len(old), len(new)) > MOST_WORDS:  # not all of it was counted
        return [_said("prompt changed")]
    if not added and not removed:
        return [_said("prompt: only white space or order")]
    parts = [f"+{added}"] * bool(added) + [f"−{removed}"] * bool(removed)
    word = "word" if max(added, removed) == 1 else "words"
    return [["added", "prompt", "", f"{' '.join(parts)} {word}"]]


def _same(old: str, new: str) -> int:
    """How many characters both begin with, up to the end of the white space after a word."""
    at, most = 0, min(len(old), len(new))
    while at < most and old[at : at + STEP] == new[at : at + STEP]:
        at += STEP
    pairs = zip(old[at : at + STEP], new[at : at + STEP], strict=False)
    at = min(most, at + sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)))
    return 1 + max(old.rfind(blank, 0, at) for blank in " \n\t")


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
