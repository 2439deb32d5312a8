"""Filters that find what the words of a search do not: values of metadata and of parameters."""

from collections.abc import Iterator
from dataclasses import replace

from playground import query
from playground.models import RunFact
from playground.models.facts import number_of
from playground.views.asked import Asked

MOST_PARTS = 4  # of a search that are looked up
MOST_KEYS = 3  # of one value
MOST = 3  # offers


def offers(asked: Asked) -> list[dict[str, str]]:
    """Filters in the place of a part of the search, or of all of it; each finds something."""
    if not asked.query.has_text:
        return []
    found = []
    for typed, term in _candidates(asked.typed):
        instead = replace(asked, typed=typed, older=None, newer=None)
        if instead.finder.page(1).keys:
            found.append({"term": term, "url": instead.address()})
        if len(found) == MOST:
            break
    return found


def _candidates(typed: str) -> Iterator[tuple[str, str]]:
    """(the search, the filter in it)"""
    parts = [part for part in typed.split() if ":" not in part and '"' not in part][:MOST_PARTS]
    for part in dict.fromkeys([typed.strip('"'), *parts]):
        if number_of(part) is not None:  # of figures, each is somewhere
            continue
        rest = "" if part == typed.strip('"') else query.without(typed, part)
        for key in RunFact.objects.keys_of(part, MOST_KEYS):
            for name in ("meta", "param"):
                term = query.term(name, f"{key}={part}")
                yield query.with_term(rest, term), term
