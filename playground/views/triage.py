"""Triage: one action on one or many rows, answered with the new rows and with what undoes it.

An answer is JSON: `said` a sentence, `rows` {id of the element: HTML}, `undo` [fields…], each of
which is posted to the same address to take the action back. Nothing was done where it has `error`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ValidationError
from django.http import Http404, JsonResponse
from django.template.loader import render_to_string
from django.views.decorators.http import require_POST

from playground.models import Comparison, Label, QueueItem, Rating, Run, RunLabel, User
from playground.models.annotations import clean_rating
from playground.models.labels import clean_label, key_of
from playground.models.visible import Visibility
from playground.views import Request
from playground.views.rows import comparison_rows, run_rows
from playground.views.selection import noticed, rows_of, runs_of

MOST_RUNS = 5_000  # that one action may touch

Fields = dict[str, Any]


class Refused(Exception):
    """What to say to the user; nothing was done."""


@dataclass
class Done:
    said: str
    undo: list[Fields] = field(default_factory=list)


@dataclass(frozen=True)
class Target:
    """What the action is about."""

    request: Request
    rows: dict[str, list[int]]  # {row: its runs}
    queue: int  # 0 outside of one

    @property
    def runs(self) -> list[int]:
        return list(dict.fromkeys(pk for ids in self.rows.values() for pk in ids))

    def posted(self, name: str) -> str:
        return str(self.request.POST.get(name, ""))

    @property
    def user(self) -> User:
        return self.request.user


@require_POST
def triage(request: Request) -> JsonResponse:
    """`do`: rate, label, unlabel, visibility, skip, assign; `row` or `rows`; in a queue `queue`."""
    act = ACTIONS.get(request.POST.get("do", ""))
    found = runs_of(request.user, rows_of(request.POST))
    queue = request.POST.get("queue", "")
    if act is None or not found or not (queue or "0").isdecimal() or len(queue) > 18:
        raise Http404
    target = Target(request, found, int(queue or 0))
    try:
        if len(target.runs) > MOST_RUNS:
            raise Refused(f"These are more than {MOST_RUNS:,} runs. Select fewer.")
        done = act(target)
    except Refused as refused:
        return JsonResponse({"error": str(refused)}, status=422)
    except ValidationError as error:
        return JsonResponse({"error": " ".join(error.messages)}, status=422)
    return JsonResponse({"said": done.said, "undo": done.undo, "rows": drawn(target)})


# --- Actions -------------------------------------------------------------------------------


def rate(target: Target) -> Done:
    """`value`: 1 to 5, or "" to take one's own rating back."""
    value = clean_rating(target.posted("value"))
    if len(target.runs) != 1:
        raise Refused(
            "This row has several runs. Unfold it, or switch to a row for each run, to rate one."
            if len(target.rows) == 1
            else "Rate one run at a time."
        )
    [run] = Run.objects.filter(pk=target.runs[0])
    before = Rating.objects.filter(run=run, user=target.user).values_list("value", flat=True)
    old = before.first()
    Rating.objects.give(run, target.user, value)
    undo = {"do": "rate", "row": list(target.rows), "value": old or ""}
    return Done(f"Rated {value} of 5." if value else "Rating taken back.", [undo])


def label(target: Target) -> Done:
    """Set the label `value`. The undo brings back what it replaced."""
    name = clean_label(target.posted("value"))
    folded = name.casefold()
    old: dict[int, Label] = {
        each.run_id: each.label
        for each in RunLabel.objects.filter(run__in=target.runs, key=key_of(folded)).select_related(
            "label"
        )
    }
    [made] = Label.objects.named(_team(target), [name])
    RunLabel.objects.put(target.runs, [made])
    undo = []
    fresh = [pk for pk in target.runs if pk not in old]
    if fresh:
        undo.append({"do": "unlabel", "row": _named(fresh), "value": made.name})
    replaced = {each for each in old.values() if each.pk != made.pk}
    for each in replaced:
        runs = [pk for pk, was in old.items() if was.pk == each.pk]
        undo.append({"do": "label", "row": _named(runs), "value": each.name})
    return Done(f"Labelled {made.name}{_of_many(target)}.", undo)


def unlabel(target: Target) -> Done:
    """Take the label `value` away."""
    folded = clean_label(target.posted("value")).casefold()
    held = RunLabel.objects.filter(run__in=target.runs, label__folded=folded)
    runs = list(held.values_list("run", flat=True))
    held.delete()
    undo = {"do": "label", "row": _named(runs), "value": target.posted("value")}
    return Done(f"Label removed{_of_many(target)}.", [undo] if runs else [])


def visibility(target: Target) -> Done:
    """`value`: "team", "private", or "" for the other one of the first."""
    ids = Run.objects.filter(pk__in=target.runs).values_list("comparison", flat=True)
    own = Comparison.objects.visible_to(target.user).filter(author=target.user, pk__in=set(ids))
    before = dict(own.order_by("pk").values_list("pk", "visibility"))
    if not before:
        raise Refused("Only who started a run can hide or show it.")
    other = {Visibility.TEAM: Visibility.PRIVATE, Visibility.PRIVATE: Visibility.TEAM}
    wanted = target.posted("value") or str(other[Visibility(next(iter(before.values())))])
    if wanted not in Visibility.values:
        raise Http404
    Comparison.objects.move(list(before), visibility=wanted)
    changed = [pk for pk, was in before.items() if was != wanted]
    back = "private" if wanted == "team" else "team"
    undo = {"do": "visibility", "row": [f"comparison-{pk}" for pk in changed], "value": back}
    said = "The team sees it now" if wanted == "team" else "Only you see it now"
    return Done(f"{said}{_of_many(target)}.", [undo] if changed else [])


def skip(target: Target) -> Done:
    """Count as reviewed without a rating; with `value` "no" it waits again."""
    skips = target.posted("value") != "no"
    items = _items(target)
    changed = [each for each in items if bool(each.skipped_at) != skips]
    for each in changed:
        each.skip(target.user if skips else None)
    undo = {
        "do": "skip",
        "row": _named([each.run_id for each in changed]),
        "value": "no" if skips else "",
        "queue": target.queue,
    }
    return Done("Skipped." if skips else "Waiting again.", [undo] if changed else [])


def assign(target: Target) -> Done:
    """`value`: "me", the id of a member of the team, or "" for nobody."""
    typed = target.posted("value")
    to = target.user if typed == "me" else _member(target, typed) if typed else None
    items = _items(target)
    undo = [
        {
            "do": "assign",
            "row": _named([each.run_id]),
            "value": each.assignee_id or "",
            "queue": target.queue,
        }
        for each in items
        if each.assignee_id != (to.pk if to else None)
    ]
    for each in items:
        each.assign(to)
    return Done(f"Assigned to {to}." if to else "Assigned to nobody.", undo)


ACTIONS: dict[str, Callable[[Target], Done]] = {
    "rate": rate,
    "label": label,
    "unlabel": unlabel,
    "visibility": visibility,
    "skip": skip,
    "assign": assign,
}


def _named(runs: Sequence[int]) -> list[str]:
    return [f"run-{pk}" for pk in runs]


def _of_many(target: Target) -> str:
    count = len(target.runs)
    return f", {count:,} runs" if count > 1 else ""


def _team(target: Target) -> int:
    membership = target.user.membership()
    if membership is None:
        raise Http404
    return membership.team_id


def _items(target: Target) -> list[QueueItem]:
    found = QueueItem.objects.visible_to(target.user).filter(
        queue=target.queue, queue__team=_team(target), run__in=target.runs
    )
    items = list(found.select_related("run"))
    if not items:
        raise Http404
    return items


def _member(target: Target, typed: str) -> User:
    if not typed.isdecimal() or len(typed) > 18:
        raise Http404
    members = User.objects.filter(memberships__team=_team(target), pk=int(typed), is_active=True)
    member = members.first()
    if member is None:
        raise Http404
    return member


# --- The rows as they are now --------------------------------------------------------------


def drawn(target: Target) -> dict[str, str]:
    """{id of the element: HTML}; a row that is not seen any more is not there."""
    if target.queue:
        return _queue_rows(target)
    single = [int(row[4:]) for row in target.rows if row.startswith("run-")]
    whole = [int(row[11:]) for row in target.rows if row.startswith("comparison-")]
    rows = [*comparison_rows(whole), *run_rows(single)]
    noticed(target.user, [run for row in rows for run in row.runs])
    return {
        f"row-{row.key}": render_to_string("history/_row.html", {"row": row}, target.request)
        for row in rows
    }


def _queue_rows(target: Target) -> dict[str, str]:
    found = QueueItem.objects.visible_to(target.user).filter(
        queue=target.queue, queue__team=_team(target), run__in=target.runs
    )
    items = found.select_related("run", "assignee").defer(*[f"run__{name}" for name in Run.BIG])
    return {
        f"item-{item.pk}": render_to_string("reviews/_item.html", {"item": item}, target.request)
        for item in items.prefetch_related("run__labels")
    }
