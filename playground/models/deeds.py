"""What a job does to some rows at once, with the rights that its author has now.

A deed gets ids of runs, or of comparisons (`OF_COMPARISONS`), and a value: of a label its id, of a
rating 1 to 5 or "". It returns what takes it back, row by row as it was before.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from django.utils import timezone

from playground.models.annotations import Rating, clean_rating
from playground.models.comparisons import Comparison
from playground.models.labels import Label, RunLabel
from playground.models.runs import Run
from playground.models.teams import Membership
from playground.models.visible import Visibility


class Kind(StrEnum):
    LABEL = "label"
    UNLABEL = "unlabel"
    STAR = "star"
    UNSTAR = "unstar"
    RATE = "rate"
    SHOW = "show"
    HIDE = "hide"
    TRASH = "trash"
    RESTORE = "restore"
    PURGE = "purge"


class Back(NamedTuple):
    kind: str
    value: str
    ids: list[int]


SLICE = 2_000  # ids in one query
OF_LABELS = (Kind.LABEL, Kind.UNLABEL)
OF_AUTHORS = (Kind.SHOW, Kind.HIDE)  # only of one's own
OF_COMPARISONS = (Kind.TRASH, Kind.RESTORE, Kind.PURGE, *OF_AUTHORS)


def do(kind: str, member: Membership, ids: Sequence[int], value: str = "") -> list[Back]:
    """Inside a transaction. What one may not do this to is left alone."""
    return _DEEDS[Kind(kind)](member, ids, value)


def allowed(
    kind: str, member: Membership, comparisons: Sequence[int], runs: Sequence[int]
) -> list[int]:
    """The ids that the deed gets for these: of those that one may do this to."""
    if kind in OF_COMPARISONS:
        mine = Comparison.objects.managed_in(member)
        if kind == Kind.PURGE:
            mine = mine.exclude(deleted_at=None)
        if kind in OF_AUTHORS:
            mine = Comparison.objects.visible_in(member).filter(author_id=member.user_id)
        return _ids(mine, "pk", comparisons)
    visible = Run.objects.visible_in(member)
    return sorted({*_ids(visible, "comparison", comparisons), *_ids(visible, "pk", runs)})


def _ids(rows: Any, field: str, ids: Sequence[int]) -> list[int]:
    found: list[int] = []
    for start in range(0, len(ids), SLICE):
        some = {f"{field}__in": ids[start : start + SLICE]}
        found += rows.filter(**some).values_list("pk", flat=True)
    return found


def look_at(kind: str, ids: Sequence[int]) -> None:
    """Read what is going to be changed: from a cold disk that takes long, and whoever writes would
    wait for it."""
    if kind in OF_COMPARISONS:
        list(Comparison.objects.filter(pk__in=ids).values_list())
        list(Run.objects.filter(comparison__in=ids).values_list())
        return
    list(Run.objects.filter(pk__in=ids).values_list())
    hanging = Rating if kind == Kind.RATE else RunLabel
    list(hanging._default_manager.filter(run__in=ids).values_list())


def _seen(member: Membership, ids: Sequence[int]) -> list[int]:
    found = Run.objects.visible_in(member).filter(pk__in=ids)
    return list(found.order_by("pk").values_list("pk", flat=True))


def _label_of(member: Membership, value: str) -> Label | None:
    """None where it has been merged into another one meanwhile."""
    return Label.objects.filter(team_id=member.team_id, pk=int(value)).first()


def _label(member: Membership, ids: Sequence[int], value: str) -> list[Back]:
    label, runs = _label_of(member, value), _seen(member, ids)
    if label is None:
        return []
    held = RunLabel.objects.filter(run__in=runs, key=label.key)
    before = dict(held.values_list("run", "label"))
    RunLabel.objects.put(runs, [label])
    fresh = [run for run in runs if run not in before]
    return [
        *_backs(Kind.LABEL, ((run, str(old)) for run, old in before.items() if old != label.pk)),
        *_backs(Kind.UNLABEL, ((run, value) for run in fresh)),
    ]


def _unlabel(member: Membership, ids: Sequence[int], value: str) -> list[Back]:
    held = RunLabel.objects.filter(run__in=_seen(member, ids), label=int(value))
    runs = list(held.values_list("run", flat=True))
    held.filter(run__in=runs).delete()
    return _backs(Kind.LABEL, ((run, value) for run in runs))


def _star(member: Membership, ids: Sequence[int], value: str) -> list[Back]:
    return _set_stars(member, ids, stars=True)


def _unstar(member: Membership, ids: Sequence[int], value: str) -> list[Back]:
    return _set_stars(member, ids, stars=False)


def _set_stars(member: Membership, ids: Sequence[int], *, stars: bool) -> list[Back]:
    others = Run.objects.filter(pk__in=_seen(member, ids), starred=not stars)
    changed = list(others.values_list("pk", flat=True))
    Run.objects.filter(pk__in=changed).update(starred=stars)
    return _backs(Kind.UNSTAR if stars else Kind.STAR, ((run, "") for run in changed))


def _rate(member: Membership, ids: Sequence[int], value: str) -> list[Back]:
    runs, wanted = _seen(member, ids), clean_rating(value)
    own = Rating.objects.filter(run__in=runs, user=member.user_id)
    before = dict(own.values_list("run", "value"))
    changed = [run for run in runs if before.get(run) != wanted]
    Rating.objects.give_all(changed, member.user, wanted)
    return _backs(Kind.RATE, ((run, str(before.get(run, ""))) for run in changed))


def _show(member: Membership, ids: Sequence[int], value: str) -> list[Back]:
    return _set_visibility(member, ids, Visibility.TEAM)


def _hide(member: Membership, ids: Sequence[int], value: str) -> list[Back]:
    return _set_visibility(member, ids, Visibility.PRIVATE)


def _set_visibility(member: Membership, ids: Sequence[int], wanted: Visibility) -> list[Back]:
    own = Comparison.objects.visible_in(member).filter(author=member.user_id, pk__in=ids)
    changed = list(own.exclude(visibility=wanted).values_list("pk", flat=True))
    Comparison.objects.move(changed, visibility=wanted)
    back = Kind.HIDE if wanted == Visibility.TEAM else Kind.SHOW
    return _backs(back, ((pk, "") for pk in changed))


def _managed(member: Membership, ids: Sequence[int], *, trashed: bool) -> Any:
    own = Comparison.objects.managed_in(member).filter(pk__in=ids)
    return own.filter(deleted_at__isnull=not trashed)


def _trash(member: Membership, ids: Sequence[int], value: str) -> list[Back]:
    """Taken back only where it was not restored and deleted again meanwhile."""
    now = timezone.now()
    found = list(_managed(member, ids, trashed=False).values_list("pk", flat=True))
    Comparison.objects.stop(found)
    Comparison.objects.move(found, deleted_at=now)
    return _backs(Kind.RESTORE, ((pk, now.isoformat()) for pk in found))


def _restore(member: Membership, ids: Sequence[int], value: str) -> list[Back]:
    """`value`: when it was deleted; "" for whenever."""
    own = _managed(member, ids, trashed=True)
    own = own.filter(deleted_at=datetime.fromisoformat(value)) if value else own
    found = list(own.values_list("pk", flat=True))
    Comparison.objects.move(found, deleted_at=None)
    return _backs(Kind.TRASH, ((pk, "") for pk in found))


def _purge(member: Membership, ids: Sequence[int], value: str) -> list[Back]:
    _managed(member, ids, trashed=True).update(purged_at=timezone.now())
    return []


def _backs(kind: str, rows: Iterable[tuple[int, str]]) -> list[Back]:
    """One for each value."""
    found: dict[str, list[int]] = {}
    for pk, value in rows:
        found.setdefault(value, []).append(pk)
    return [Back(kind, value, ids) for value, ids in found.items()]


_DEEDS: dict[Kind, Callable[[Membership, Sequence[int], str], list[Back]]] = {
    Kind.LABEL: _label,
    Kind.UNLABEL: _unlabel,
    Kind.STAR: _star,
    Kind.UNSTAR: _unstar,
    Kind.RATE: _rate,
    Kind.SHOW: _show,
    Kind.HIDE: _hide,
    Kind.TRASH: _trash,
    Kind.RESTORE: _restore,
    Kind.PURGE: _purge,
}
