"""The decisions by limits: who may be queued, who may start, and what a run has used at its end.

What a run over a limit does: over requests a minute or parallel requests it waits in the queue;
over tokens or money, or where a limit is 0, nothing of the press is queued. A limit that was
lowered or set while runs wait closes those that can never fit any more.
"""

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple

from django.utils import timezone

from playground.completion import RunStatus
from playground.models.connections import Connection
from playground.models.ledger import WHOSE, Ledger, renewal
from playground.models.limits import Limit, Meter, Who

SAYS_ITS_COSTS = ("pulze",)  # providers whose answers cost money also without a price of ours


class Waiting(NamedTuple):
    """What decides about a queued run."""

    pk: int
    connection: int | None
    team: int
    author: int | None
    provider: str
    created_at: datetime
    tokens: int  # reserved
    money: int  # reserved; `limits.UNITS` of a dollar

    @property
    def who(self) -> Who:
        return Who(self.connection, self.team, self.author)

    def own(self, limit: Limit) -> int:
        return self.money if limit.is_money else self.tokens

    def counts_for(self, limit: Limit) -> bool:
        """What costs nothing that we could ever see is not held back by a limit of money."""
        free = limit.is_money and not self.money and self.provider not in SAYS_ITS_COSTS
        return limit.covers(self.who) and not free


WAITING = ("pk", *WHOSE, "provider", "created_at", "counted_tokens", "counted_money")


class OverLimit(Exception):
    """Nothing was queued; `sentences` say why, one a limit."""

    def __init__(self, sentences: Sequence[str]) -> None:
        super().__init__(" ".join(sentences))
        self.sentences = sentences


def check(runs: Any, fresh: Sequence[Waiting]) -> None:
    """Raises OverLimit where these may not be queued; holds the limits until the transaction ends.

    Requests that only have to wait are no reason; nor is what limits of 0 do not cover.
    """
    limits = Limit.objects.locked(run.who for run in fresh)
    if not limits:
        return
    ledger = Ledger(runs, timezone.now())
    sentences = []
    for limit in limits:
        by_subject: dict[int, list[Waiting]] = {}
        for run in fresh:
            if run.counts_for(limit):
                by_subject.setdefault(limit.subject(run.who), []).append(run)
        for subject, covered in by_subject.items():
            sentences += _refusals(ledger, limit, subject, covered)
    if sentences:
        raise OverLimit(sentences)


def _refusals(ledger: Ledger, limit: Limit, subject: int, covered: Sequence[Waiting]) -> list[str]:
    if not limit.is_budget:
        return [] if limit.most else [refusal(limit, 0, 0)]
    own = sum(run.own(limit) for run in covered)
    period = limit.period(covered[0].created_at)
    reserved = ledger.reserved(limit, subject, period)
    used = ledger.spent(limit, subject, period) + reserved
    return [] if limit.fits(used, own) else [refusal(limit, used, own, period, reserved)]


def refusal(
    limit: Limit, used: int, own: int, period: date | None = None, reserved: int = 0
) -> str:
    """Which limit, what is left of it, when it renews."""
    if not limit.most or period is None:
        return f"Nothing may be sent here: the limit is {limit.amount_text} {limit.scope}."
    left = max(0, limit.most - used)
    name = f"The limit of {limit.amount_text} {limit.scope}"
    held = f", {limit.text(reserved)} of it reserved by runs that go on" if reserved else ""
    if not left:
        return f"{name} is used up{held}. It renews {renewal(limit, period)}."
    what = "" if limit.is_money else " tokens"
    return (
        f"{name} has {limit.text(left)}{what} left{held}, and this may take up to "
        f"{limit.text(own)}. Set a lower max_tokens or run less at once; "
        f"it renews {renewal(limit, period)}."
    )


class Gate:
    """Lets queued runs start, one after the other, as long as every limit has room for them.

    Make it inside the transaction that starts them: it holds what it decides by until the end.
    Locks: connections by key, then limits by key.
    """

    def __init__(self, runs: Any, waiting: Sequence[Waiting]) -> None:
        self.refused: dict[int, str] = {}  # runs that can never start, and why
        self._places = _places(run.connection for run in waiting)
        self._limits = Limit.objects.locked(run.who for run in waiting)
        self.now = timezone.now()  # not before the locks are ours: it dates the starts
        self._ledger = Ledger(runs, self.now)
        self._busy = self._ledger.by_connection() if self._places else {}
        self._used: dict[tuple[int, int, date | None], int] = {}

    def passes(self, run: Waiting) -> bool:
        """Whether it may start now; it counts from then on."""
        takes: dict[tuple[int, int, date | None], int] = {}
        free = self._has_place(run)
        for limit in self._limits:
            if not run.counts_for(limit):
                continue
            subject = limit.subject(run.who)
            period = limit.period(run.created_at) if limit.is_budget else None
            own = run.own(limit) if limit.is_budget else 1
            used = self._used_of(limit, subject, period)
            if not limit.fits(used, own):
                self._note_if_never(limit, subject, period, own, run.pk)
                free = False
            takes[limit.pk, subject, period] = used + own
        if free:
            self._used |= takes
            self._busy[run.connection] = self._busy.get(run.connection, 0) + 1
        return free

    def _has_place(self, run: Waiting) -> bool:
        places = self._places.get(run.connection)
        return not places or self._busy.get(run.connection, 0) < places

    def _used_of(self, limit: Limit, subject: int, period: date | None) -> int:
        key = (limit.pk, subject, period)
        if key not in self._used:
            self._used[key] = (
                self._ledger.requests(limit, subject)
                if period is None
                else self._ledger.spent(limit, subject, period)
                + self._ledger.reserved(limit, subject, period, (RunStatus.RUNNING,))
            )
        return self._used[key]

    def _note_if_never(
        self, limit: Limit, subject: int, period: date | None, own: int, run: int
    ) -> None:
        """The limit was lowered or set after the run was queued; else it only has to wait."""
        spent = self._ledger.spent(limit, subject, period) if period else 0
        if not limit.fits(spent, own):
            self.refused[run] = refusal(limit, spent, own, period)


def _places(connections: Iterable[int | None]) -> dict[int | None, int]:
    """{connection: its parallel requests}, locked."""
    wanted = {pk for pk in connections if pk is not None}
    rows = Connection.objects.filter(pk__in=wanted, parallel__gt=0).order_by("pk")
    locked = rows.select_for_update(no_key=True).values_list("pk", "parallel")
    return {pk: parallel for pk, parallel in locked if parallel}


def settle(runs: Any, ended: Iterable[int]) -> None:
    """Add what these runs took to the meters of the limits over them.

    Call it once, in the transaction that ends them, when `counted_…` says what they took.
    """
    limits = [limit for limit in Limit.objects.all() if limit.is_budget]
    if not limits:
        return
    amounts: dict[tuple[int, int, date], int] = {}
    fields = (*WHOSE, "created_at", "counted_tokens", "counted_money")
    for *whose, created_at, tokens, money in runs.filter(pk__in=list(ended)).values_list(*fields):
        who = Who(*whose)
        for limit in limits:
            if limit.covers(who):
                key = (limit.pk, limit.subject(who), limit.period(created_at))
                amounts[key] = amounts.get(key, 0) + (money if limit.is_money else tokens)
    Meter.objects.add(amounts)
