"""What a filter of a search means: a condition on the run, or a list that stands elsewhere."""

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from playground.models.among import Among
from playground.models.annotations import Comment
from playground.models.facts import RunFact
from playground.models.labels import Label, RunLabel
from playground.models.live import LIVE
from playground.models.runs import Run
from playground.models.search import SearchText
from playground.models.teams import User
from playground.models.visible import Visibility
from playground.query import Filter
from playground.words import BEGINS

FEW = 10_000  # runs that a source names at most
SLICE = 2_000  # ids in one query
OFTEN = 0.1  # share of the runs looked at above which beginnings of words are not listed,
ENOUGH = 50  # where so many were looked at


class Source:
    """A list of runs that stands elsewhere."""

    def __init__(self, minus: bool = False) -> None:
        self.minus = minus

    def few(self) -> list[int] | None:
        """All of its runs, or None where they are more than FEW."""
        return None

    def holds(self, runs: Sequence[int]) -> set[int]:
        raise NotImplementedError

    def among(self, runs: Sequence[int]) -> list[int]:
        """Those that pass, in order."""
        held: set[int] = set()
        for start in range(0, len(runs), SLICE):
            held |= self.holds(runs[start : start + SLICE])
        return [run for run in runs if (run in held) != self.minus]


class Words(Source):
    def __init__(self, team_id: int, words: Sequence[str]) -> None:
        super().__init__()
        self.team_id, self.words = team_id, words
        self.begins = any(word.endswith(BEGINS) for word in words)
        self.asked = self.held = 0  # runs, until now

    def few(self) -> list[int] | None:
        # A database reads the lists of all words that begin so before it says that they are many.
        if self.begins and self.held > OFTEN * max(self.asked, ENOUGH):
            return None
        return SearchText.objects.found(self.team_id, self.words, FEW)

    def holds(self, runs: Sequence[int]) -> set[int]:
        held = SearchText.objects.among(self.team_id, self.words, runs)
        self.asked, self.held = self.asked + len(runs), self.held + len(held)
        return held


class Literally(Source):
    def __init__(self, texts: Sequence[str], minus: bool = False) -> None:
        super().__init__(minus)
        self.texts = texts

    def holds(self, runs: Sequence[int]) -> set[int]:
        return SearchText.objects.literally(self.texts, runs)


class Listed(Source):
    """Rows with a `run_id`."""

    def __init__(self, rows: "QuerySet[Any]", minus: bool = False) -> None:
        super().__init__(minus)
        self.rows = rows.order_by()

    def few(self) -> list[int] | None:
        found = list(self.rows.values_list("run_id", flat=True)[: FEW + 1])
        return None if len(found) > FEW else list(dict.fromkeys(found))

    def holds(self, runs: Sequence[int]) -> set[int]:
        return set(self.rows.filter(Among("run_id", runs)).values_list("run_id", flat=True))


class Live(Source):
    """Runs that have not ended. A database that is asked for two statuses walks over all runs."""

    def __init__(self, team_id: int, minus: bool = False) -> None:
        super().__init__(minus)
        self.team_id = team_id

    def few(self) -> list[int] | None:
        found: list[int] = []
        for status in LIVE:
            rows = Run.objects.filter(team_id=self.team_id, status=status).order_by()
            found += rows.values_list("pk", flat=True)[: FEW + 1]
        return None if len(found) > FEW else found

    def holds(self, runs: Sequence[int]) -> set[int]:
        live = Run.objects.filter(Among("pk", runs), status__in=LIVE)
        return set(live.values_list("pk", flat=True))


def _midnight(day: date) -> datetime:
    """In the time zone of whoever asks."""
    return timezone.make_aware(datetime.combine(day, time.min))


def _text(field: str, value: str) -> Q:
    if value.endswith("*") and len(value) > 1:
        return Q(**{f"{field}__startswith": value[:-1]})
    return Q(**{field: value})


def _user(value: str, user: User) -> Q:
    if value == "me":
        return Q(author_id=user.pk)
    found = User.objects.filter(username__iexact=value).values_list("pk", flat=True)
    if pk := found.first():
        return Q(author_id=pk)
    return Q(author=None, author_name__iexact=value)


IS = {
    "starred": Q(starred=True),
    "private": Q(visibility=Visibility.PRIVATE),
    "team": Q(visibility=Visibility.TEAM),
    "rated": Q(rating__isnull=False),
    "trashed": Q(),  # says where is looked, see `Finder.rows`
}
LOOKUPS = {"=": "", "<": "__lt", "<=": "__lte", ">": "__gt", ">=": "__gte"}


def condition(each: Filter, user: User) -> Q | None:
    """What the run itself must be; None where a source knows."""
    match each.name:
        case "model":
            return _text("model", each.value)
        case "connection":
            return _text("connection_name", each.value)
        case "provider":
            return Q(provider=each.value.lower())
        case "status":
            return Q(status=each.value)
        case "user":
            return _user(each.value, user)
        case "rating":
            return _compared("rating", each)
        case "is" if each.value in IS:
            return IS[each.value]
        case "is" if each.value == "mine":
            return Q(author_id=user.pk)
        case "has" if each.value == "rating":
            return Q(rating__isnull=False)
    return _days(each.name, each.day) if each.day else None


def _days(name: str, day: date) -> Q:
    """Not 24 hours later ends a day: one of changing clocks has 23 or 25."""
    after = Q(created_at__gte=_midnight(day))
    if name == "after":
        return after
    if name == "before":
        return Q(created_at__lt=_midnight(day))
    return after & Q(created_at__lt=_midnight(day + timedelta(days=1)))


def _compared(field: str, each: Filter) -> Q:
    if each.op == "!=":
        return Q(**{f"{field}__isnull": False}) & ~Q(**{field: each.number})
    return Q(**{f"{field}{LOOKUPS[each.op]}": each.number})


def source(each: Filter, team_id: int) -> Source:
    """Of a filter that is no condition."""
    if each.name == "label":
        return Listed(_labelled(each.value, team_id), each.minus)
    if each.name in ("param", "meta"):
        return Listed(_facts(each), each.minus)
    if each.name == "is" and each.value == "live":
        return Live(team_id, each.minus)
    if each.value == "comment":
        return Listed(Comment.objects.all(), each.minus)
    if each.value in ("label", "labelled"):
        return Listed(RunLabel.objects.filter(label__team_id=team_id), each.minus)
    said = RunFact.objects.filter(source=RunFact.Source.ANSWER, key="has", text=each.value)
    return Listed(said, each.minus)


def _labelled(value: str, team_id: int) -> "QuerySet[Any]":
    """The label itself, or every label of the key."""
    labels = Label.objects.meant(team_id, value).values_list("pk", flat=True)
    return RunLabel.objects.filter(label_id__in=list(labels))


def _facts(each: Filter) -> "QuerySet[Any]":
    parameter = RunFact.Source.PARAMETER
    facts = RunFact.objects.filter(key=each.key)
    if each.name == "param":
        facts = facts.filter(source=parameter)
    else:
        facts = facts.exclude(source=parameter)
    if not each.op:
        return facts
    if each.number is None:
        return facts.exclude(text=each.value) if each.op == "!=" else facts.filter(text=each.value)
    return facts.filter(_compared("number", each))
