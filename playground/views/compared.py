"""What was sent beside what another column sent, part by part."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from playground.parameters import Json
from playground.views.record import Sent

NOTHING = object()


@dataclass(frozen=True)
class Part:
    """One key of the body, or one header. `other`: what the other one sent, where that differs."""

    name: str
    text: str  # as it was sent; "" where only the other one sent it
    other: str
    state: str  # same, differs, only (here), missing (here)


def compared(here: Sent, there: Sent | None) -> tuple[list[Part], list[Part]]:
    """(body, headers)"""
    if there is None:
        there = here
    body = _parts(here.body, there.body, _pretty)
    return body, _parts(dict(here.headers), dict(there.headers), str)


def _parts(here: Mapping[str, Any], there: Mapping[str, Any], say: Any) -> list[Part]:
    found = []
    for name in [*here, *(name for name in there if name not in here)]:
        own, other = here.get(name, NOTHING), there.get(name, NOTHING)
        # As texts: 1 is not 1.0 and not true.
        texts = [say(each) if each is not NOTHING else "" for each in (own, other)]
        if other is NOTHING:
            state = "only"
        elif own is NOTHING:
            state = "missing"
        else:
            state = "same" if texts[0] == texts[1] else "differs"
        found.append(Part(name, texts[0], texts[1] if state != "same" else "", state))
    return found


def _pretty(value: Any) -> str:
    return Json("any").text(value)
