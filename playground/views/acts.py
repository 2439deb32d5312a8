"""What is done to selected rows at once: each action says what it did and what takes it back.

`Done.undo` are the fields of requests to the same address. Large selections go the other way, as
jobs (`views/bulk.py`).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import Http404
from django.utils import timezone

from playground.database import wait_for
from playground.models import Comparison, Label, Rating, Run, RunLabel, User
from playground.models.annotations import clean_rating
from playground.models.gathering import SOME_SEVERAL
from playground.models.labels import clean_label, key_of
from playground.models.live import LIVE
from playground.models.visible import Visibility
from playground.runner import runner
from playground.views import Request

Fields = dict[str, Any]
SEVERAL = "This row has several runs. Unfold it (F, or “Show each run” in its menu) to rate one."


class Refused(Exception):
    """What to say to the user; nothing was done."""


@dataclass
class Done:
    said: str
    undo: list[Fields] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)  # comparisons that stand in no list any more


@dataclass(frozen=True)
class Target:
    """What the action is about."""

    request: Request
    rows: dict[str, list[int]]  # {row: its runs}
    queue: int  # 0 outside of one

    @property
    def runs(self) -> list[int]:
        return list(dict.fromkeys(pk for ids in self.rows.values() for pk in ids))

    @property
    def comparisons(self) -> list[int]:
        found = Run.objects.filter(pk__in=self.runs).values_list("comparison", flat=True)
        return sorted(set(found))

    def posted(self, name: str) -> str:
        return str(self.request.POST.get(name, ""))

    @property
    def user(self) -> User:
        return self.request.user

    @property
    def team(self) -> int:
        membership = self.user.membership()
        if membership is None:
            raise Http404
        return membership.team_id


def rate(target: Target) -> Done:
    """`value`: 1 to 5, or "" to take one's own ratings back."""
    value = clean_rating(target.posted("value"))
    if any(len(runs) > 1 for runs in target.rows.values()):
        raise Refused(SEVERAL if len(target.rows) == 1 else SOME_SEVERAL)
    own = Rating.objects.filter(run__in=target.runs, user=target.user)
    before = dict(own.values_list("run", "value"))
    for run in Run.objects.filter(pk__in=target.runs):
        Rating.objects.give(run, target.user, value)
    undo: list[Fields] = [
        {"do": "rate", "row": rows, "value": old or ""}
        for old in sorted({before.get(pk, 0) for pk in target.runs})
        if (rows := [row for row, ids in target.rows.items() if before.get(ids[0], 0) == old])
    ]
    said = f"Rated {value} of 5" if value else "Rating taken back"
    return Done(f"{said}{of_many(target)}.", undo)


def star(target: Target) -> Done:
    return _star(target, stars=True)


def unstar(target: Target) -> Done:
    return _star(target, stars=False)


def _star(target: Target, *, stars: bool) -> Done:
    changed = Run.objects.filter(pk__in=target.runs, starred=not stars)
    ids = list(changed.values_list("pk", flat=True))
    Run.objects.filter(pk__in=ids).update(starred=stars)
    undo = {"do": "unstar" if stars else "star", **_about(target, ids)}
    said = "Starred" if stars else "Star taken away"
    return Done(f"{said}{of_many(target)}.", [undo] if ids else [])


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
    [made] = Label.objects.named(target.team, [name])
    RunLabel.objects.put(target.runs, [made])
    undo = []
    fresh = [pk for pk in target.runs if pk not in old]
    if fresh:
        undo.append({"do": "unlabel", "value": made.name, **_about(target, fresh)})
    replaced = {each for each in old.values() if each.pk != made.pk}
    for each in replaced:
        runs = [pk for pk, was in old.items() if was.pk == each.pk]
        undo.append({"do": "label", "value": each.name, **_about(target, runs)})
    return Done(f"Labelled {made.name}{of_many(target)}.", undo)


def unlabel(target: Target) -> Done:
    """Take the label `value` away."""
    folded = clean_label(target.posted("value")).casefold()
    held = RunLabel.objects.filter(run__in=target.runs, label__folded=folded)
    runs = list(held.values_list("run", flat=True))
    if not runs:
        raise Refused("None of these runs has such a label.")
    name = held.values_list("label__name", flat=True)[0]
    held.delete()
    undo = {"do": "label", "value": name, **_about(target, runs)}
    many = f", {len(runs):,} runs" if len(runs) > 1 else ""
    return Done(f"Label {name} removed{many}.", [undo])


def visibility(target: Target) -> Done:
    """`value`: "team", "private", or "" for the other one of the first."""
    own = Comparison.objects.visible_to(target.user).filter(author=target.user)
    found = own.filter(pk__in=target.comparisons)
    before = dict(found.order_by("pk").values_list("pk", "visibility"))
    if not before:
        raise Refused("Only who started a run can hide or show it.")
    typed = target.posted("value") or Visibility(next(iter(before.values()))).other
    if typed not in Visibility.values:
        raise Http404
    wanted = Visibility(typed)
    Comparison.objects.move(list(before), visibility=wanted)
    changed = [pk for pk, was in before.items() if was != wanted]
    undo = {"do": "visibility", "row": wholes(changed), "value": wanted.other.value}
    many = f"{len(before):,} comparison{'' if len(before) == 1 else 's'}"
    said = wanted.said(many if len(target.rows) > 1 else "it")
    left = len(target.comparisons) - len(before)
    return Done(f"{said}{_left(left, 'to hide or show')}", [undo] if changed else [])


def trash(target: Target) -> Done:
    """What one may delete of it, always whole comparisons; what runs is stopped first."""
    membership = target.user.membership()
    managed = Comparison.objects.managed_in(membership) if membership else Comparison.objects.none()
    own = managed.filter(pk__in=target.comparisons, deleted_at=None)
    ids = sorted(own.values_list("pk", flat=True))
    if not ids:
        raise Refused("These are not yours to delete.")
    live = Run.objects.filter(comparison__in=ids, status__in=LIVE)
    if stopping := list(live):
        wait_for(runner.stop_all, stopping)
    Comparison.objects.stop(ids)
    Comparison.objects.move(ids, deleted_at=timezone.now())
    left = len(target.comparisons) - len(ids)
    undo = [{"do": "restore", "row": wholes(ids)}]
    return Done(f"{_are(ids)} in the trash.{_left(left, 'to delete')}", undo, gone=ids)


def restore(target: Target) -> Done:
    """Out of the trash; the rows were looked for there."""
    ids = target.comparisons
    Comparison.objects.move(ids, deleted_at=None)
    return Done(f"{_are(ids)} out of the trash.", [{"do": "trash", "row": wholes(ids)}], gone=ids)


ACTIONS: dict[str, Callable[[Target], Done]] = {
    "rate": rate,
    "star": star,
    "unstar": unstar,
    "label": label,
    "unlabel": unlabel,
    "visibility": visibility,
    "trash": trash,
    "restore": restore,
}


def _are(ids: Sequence[int]) -> str:
    """Comparisons as the beginning of a sentence."""
    if len(ids) == 1:
        return f"{Comparison.objects.get(pk=ids[0]).title} is"
    return f"{len(ids):,} comparisons are"


def wholes(ids: Iterable[int]) -> list[str]:
    return [f"comparison-{pk}" for pk in ids]


def singles(ids: Iterable[int]) -> list[str]:
    return [f"run-{pk}" for pk in ids]


def _about(target: Target, runs: Sequence[int]) -> Fields:
    """The rows that stand for exactly these runs, or the runs and the rows that they stand in."""
    wanted = set(runs)
    whole = [row for row, ids in target.rows.items() if wanted.issuperset(ids)]
    covered = {pk for row in whole for pk in target.rows[row]}
    part = [row for row, ids in target.rows.items() if row not in whole and wanted & set(ids)]
    rest = singles(pk for pk in runs if pk not in covered)
    return {"row": [*whole, *rest], **({"draw": ",".join(part)} if part else {})}


def of_many(target: Target) -> str:
    count = len(target.runs)
    return f", {count:,} runs" if count > 1 else ""


def _left(count: int, what: str) -> str:
    """A sentence about those that were left alone."""
    return f" {count:,} of them {'is' if count == 1 else 'are'} not yours {what}." if count else ""
