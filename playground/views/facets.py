"""Counts at the side of the list, and completion in its search box."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.core.cache import cache
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from playground import query
from playground.completion import storable
from playground.models import Label, RunLabel, User
from playground.models.among import Among
from playground.models.annotations import labels_seen_in
from playground.models.finder import WALK, Counted, Finder
from playground.models.sources import FEW
from playground.views import Request, is_id
from playground.views.asked import Asked

MOST_VALUES = 6  # of a facet
OFFERED = 8  # completions at once
RECENT = 2_000  # runs that the counts beside completions are of
REMEMBERED = 30  # seconds that the counts beside completions are kept


@require_GET
def facets(request: Request) -> HttpResponse:
    """Counts and values at the side of the list; they come after it."""
    asked = Asked.of(request)
    if asked.query.problems:
        nothing = {"groups": [], "runs": 0, "comparisons": 0, "complete": True}
        return render(request, "history/_facets.html", nothing)
    counted = asked.finder.counted("comparison", *FIELDS, "cost")
    groups = [group(asked, name, values) for name, values in values_of(request, counted).items()]
    comparisons = len({row[1] for row in counted.runs})
    context = {
        "groups": [each for each in groups if each["values"]],
        "runs": len(counted.runs),
        "comparisons": comparisons,
        "cost": sum((row[-1] for row in counted.runs if row[-1]), Decimal(0)),
        "complete": counted.complete,
        "walked": counted.walked and WALK,
        "most": FEW,
        "asked": asked,
    }
    return render(request, "history/_facets.html", context)


FIELDS = ("status", "model", "connection_name", "author")


def values_of(request: Request, counted: Counted) -> dict[str, Counter[str]]:
    """{filter: Counter of values}, of runs counted with `comparison`, FIELDS and one more."""
    columns = list(zip(*counted.runs, strict=True)) or [()] * (len(FIELDS) + 3)
    status, model, connection, author = (Counter(column) for column in columns[2:6])
    people = User.objects.filter(pk__in=[pk for pk in author if pk]).values_list("pk", "username")
    return {
        "status": status,
        "label": labels_of([row[0] for row in counted.runs]),
        "model": Counter({value: n for value, n in model.items() if value}),
        "connection": connection,
        "user": Counter({name: author[pk] for pk, name in people}),
    }


def labels_of(runs: Sequence[int]) -> Counter[str]:
    counts: Counter[int] = Counter()
    for start in range(0, len(runs), 2_000):
        part = RunLabel.objects.filter(Among("run_id", runs[start : start + 2_000])).order_by()
        counts.update(part.values_list("label", flat=True))
    names = Label.objects.in_bulk([pk for pk, _ in counts.most_common(200)])
    return Counter({names[pk].name: n for pk, n in counts.most_common(200) if pk in names})


def group(asked: Asked, name: str, values: Counter[str]) -> dict[str, Any]:
    chosen = {each.value for each in asked.query.names(name) if not each.minus}
    shown = [
        {
            "value": value,
            "count": count,
            "chosen": value in chosen,
            "url": facet_url(asked, name, value, value in chosen),
        }
        for value, count in values.most_common(MOST_VALUES)
    ]
    return {"name": name, "values": shown, "more": len(values) - len(shown)}


def facet_url(asked: Asked, name: str, value: str, chosen: bool) -> str:
    term = query.term(name, value)
    if not chosen:
        return asked.added(term)
    parts = [each.text for each in asked.query.names(name) if each.value == value]
    return asked.address(q=query.without(asked.typed, parts[0])) if parts else asked.added(term)


@require_GET
def complete(request: Request) -> HttpResponse:
    """What may stand where the cursor is: names of filters, or values with their counts."""
    typed = storable(request.GET.get("q", ""))[: query.LONGEST]
    at = request.GET.get("at", "")
    place = int(at) if is_id(at) else len(typed)
    start, name, begun = query.unfinished(typed, place)
    if name in query.FILTERS:
        offers = values_offered(request, name, begun)
    elif name or not begun:
        offers = []
    else:
        begun = begun.lower()
        offers = [
            {"text": f"{each}:", "shown": f"{each}:", "said": said, "open": True}
            for each, said in query.FILTERS.items()
            if each.startswith(begun)
        ]
    context = {"offers": offers[:OFFERED], "start": start}
    return render(request, "history/_offers.html", context)


FIXED = {
    "status": list(dict.fromkeys(query.STATUSES.values())),
    "is": list(query.FLAGS),
    "has": list(query.HAVE),
    "rating": [">=4", ">=3", "5", "<=2"],
    "after": ["today", "yesterday", "7d", "30d"],
    "before": ["today", "yesterday", "7d", "30d"],
    "on": ["today", "yesterday"],
    "provider": ["local", "ogx", "pulze", "octoai"],
}


def values_offered(request: Request, name: str, begun: str) -> list[dict[str, Any]]:
    counts = counts_of(request).get(name, {})
    more = more_values(request.user, name, begun)
    known = [*counts, *(value for value in more if value not in counts)]
    begun = begun.casefold()
    matching = [value for value in known if begun in value.casefold() and value.casefold() != begun]
    matching.sort(key=lambda value: not value.casefold().startswith(begun))
    return [
        {"text": query.term(name, value), "shown": value, "count": counts.get(value)}
        for value in matching
    ]


def more_values(user: User, name: str, begun: str) -> Iterable[str]:
    """Values that no run among the newest has."""
    membership = user.membership()
    if name == "label" and membership:
        labels = labels_seen_in(membership, begun.casefold())
        return list(labels.values_list("name", flat=True)[:OFFERED])
    if name == "user":
        return ["me"]
    return FIXED.get(name, [])


def counts_of(request: Request) -> Mapping[str, Mapping[str, int]]:
    """Of the newest runs that the user sees; kept for a moment, as each key press asks."""
    membership = request.user.membership()
    if membership is None:
        return {}
    key = f"completion-{membership.pk}"
    found: dict[str, dict[str, int]] | None = cache.get(key)
    if found is None:
        finder = Finder(request.user, query.Query())
        values = values_of(request, finder.counted("comparison", *FIELDS, most=RECENT))
        found = {name: dict(counter.most_common()) for name, counter in values.items()}
        cache.set(key, found, REMEMBERED)
    return found
