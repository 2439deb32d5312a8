"""Limits that an admin sets, and the meters that say what has been used.

A limit holds for every run that its scope covers: of a connection, a team, a person, any two of
them or all three; left empty, everybody and everything. Days and months are those of the setting
TIME_ZONE (UTC unless set), and a run counts in the period in which it was asked for.

Requests a minute and parallel requests are counted from the runs themselves: nothing can leak. For
tokens and money a run reserves the most that it may take, and `Run.counted_…` becomes what it
really took at its end; a run that ends without saying so keeps its reservation.
"""

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.utils import timezone

from playground.costs import dollars
from playground.models.audit import audited
from playground.models.connections import Connection
from playground.models.teams import Team, User

UNITS = 10**10  # of a dollar: money is counted in whole numbers, so that sums are exact everywhere
MOST_UNITS = 10**15  # of one run, so that no sum overflows; $100,000
MOST_AMOUNT = Decimal(10**11)  # of a limit: with four places the 15 digits that SQLite reads back
MINUTE = timedelta(minutes=1)


def units(amount: Decimal) -> int:
    return min(int(amount * UNITS), MOST_UNITS)


class Who(NamedTuple):
    """Whose run it is, as primary keys."""

    connection: int | None
    team: int
    author: int | None


class Kind(models.TextChoices):
    RATE = "rate", "requests a minute"
    PARALLEL = "parallel", "parallel requests"
    TOKENS_DAY = "tokens_day", "tokens a day"
    TOKENS_MONTH = "tokens_month", "tokens a month"
    MONEY_DAY = "money_day", "US dollars a day"
    MONEY_MONTH = "money_month", "US dollars a month"


MONEY = (Kind.MONEY_DAY, Kind.MONEY_MONTH)
MONTHS = (Kind.TOKENS_MONTH, Kind.MONEY_MONTH)
BUDGETS = (Kind.TOKENS_DAY, Kind.TOKENS_MONTH, *MONEY)


class LimitQuerySet(models.QuerySet["Limit"]):
    def covering(self, whose: Iterable[Who]) -> list["Limit"]:
        """Those that hold for any of these runs, in the order in which they are locked."""
        found = set(whose)
        limits = self.select_related("connection", "team", "member").order_by("pk")
        return [limit for limit in limits if any(limit.covers(who) for who in found)]

    def locked(self, whose: Iterable[Who]) -> list["Limit"]:
        """The same, for the rest of the transaction ours alone, with their newest amounts.

        Every transaction that decides by a limit takes its row first, and all of them in the order
        of their keys: two that decide at once cannot both see the last place free.
        """
        wanted = [limit.pk for limit in self.covering(whose)]
        if not wanted:
            return []
        rows = self.filter(pk__in=wanted).order_by("pk")
        related = rows.select_related("connection", "team", "member")
        return list(related.select_for_update(of=("self",), no_key=True))


@audited("connection", "team", "member", "each_member", "kind", "amount")
class Limit(models.Model):
    connection = models.ForeignKey(
        Connection,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="limits",
        help_text="Empty: all connections together.",
    )
    team = models.ForeignKey(
        Team,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="limits",
        help_text="Empty: all teams together.",
    )
    member = models.ForeignKey(
        User,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="limits",
        help_text="One person. Empty: everybody.",
    )
    each_member = models.BooleanField(
        "for each member separately",
        default=False,
        help_text="Everybody has this much for themselves. Otherwise all share it.",
    )
    kind = models.CharField(max_length=20, choices=Kind)
    amount = models.DecimalField(
        max_digits=16,
        decimal_places=4,
        validators=[MinValueValidator(0)],
        help_text="0: nothing at all.",
    )

    objects = LimitQuerySet.as_manager()

    class Meta:
        ordering = ["kind", "connection", "team", "member", "pk"]

    def __str__(self) -> str:
        return f"{self.amount_text} {self.scope}"

    def clean(self) -> None:
        if self.amount is not None and self.amount >= MOST_AMOUNT:
            raise ValidationError({"amount": f"Enter less than {MOST_AMOUNT:,}."})
        if self.amount is not None and not self.is_money and self.amount % 1:
            raise ValidationError({"amount": "Enter a whole number."})
        if self.member_id and self.each_member:
            raise ValidationError({"each_member": "This limit is for one person already."})
        same = Limit.objects.filter(
            connection=self.connection_id,
            team=self.team_id,
            member=self.member_id,
            each_member=self.each_member,
            kind=self.kind,
        )
        if same.exclude(pk=self.pk).exists():
            raise ValidationError("There is such a limit already. Change that one.")

    def covers(self, who: Who) -> bool:
        return (
            self.connection_id in (None, who.connection)
            and self.team_id in (None, who.team)
            and self.member_id in (None, who.author)
            and (who.author is not None or not self.each_member)
        )

    def subject(self, who: Who) -> int:
        """Which meter counts: the person's own, or the one (0) that all share."""
        return who.author or 0 if self.each_member else 0

    def rows_of(self, subject: int) -> models.Q:
        """The runs that it counts together."""
        found = models.Q()
        for field, value in (
            ("connection", self.connection_id),
            ("team", self.team_id),
            ("author", self.member_id or subject or None),
        ):
            if value is not None:
                found &= models.Q(**{field: value})
        return found

    @property
    def scope(self) -> str:
        """`for each member of team Evals at fake`"""
        parts = []
        if self.member:
            parts.append(f"for {self.member}")
        elif self.each_member:
            parts.append("for each member")
        if self.team:
            link = "of" if self.each_member else "in" if parts else "for"
            parts.append(f"{link} team {self.team}")
        if self.connection:
            parts.append(f"at {self.connection}")
        return " ".join(parts) or "for everybody together"

    @property
    def is_money(self) -> bool:
        return self.kind in MONEY

    @property
    def is_budget(self) -> bool:
        return self.kind in BUDGETS

    @property
    def most(self) -> int:
        """In what is counted: requests, tokens, or units of money."""
        amount = Decimal(self.amount)
        return int(amount * UNITS) if self.is_money else int(amount)

    def text(self, count: int) -> str:
        """`$3.20` or `12,000`"""
        if self.is_money:
            return dollars(Decimal(count) / UNITS).removesuffix(".00")
        return f"{count:,}"

    @property
    def amount_text(self) -> str:
        """`$10 a day`, `60 requests a minute`"""
        what = str(Kind(self.kind).label)
        return f"{self.text(self.most)} {what.removeprefix('US dollars ')}"

    def fits(self, used: int, own: int) -> bool:
        """Whether `own` more may be used: nothing at all where the limit is reached."""
        return used < self.most and used + own <= self.most

    def period(self, at: datetime) -> date:
        """The first day of the period that this moment is in."""
        day = timezone.localtime(at, timezone.get_default_timezone()).date()
        return day.replace(day=1) if self.kind in MONTHS else day

    def renews(self, period: date) -> date:
        if self.kind in MONTHS:
            return (period.replace(day=28) + timedelta(days=4)).replace(day=1)
        return period + timedelta(days=1)


def beginning(day: date) -> datetime:
    return datetime.combine(day, time(), timezone.get_default_timezone())


class MeterQuerySet(models.QuerySet["Meter"]):
    def reading(self, limit: Limit, subject: int, period: date, runs: Any) -> int:
        """What ended runs have used. The first reading of a period counts `runs`, so that a limit
        holds for what was used before it was set, too.

        Call it inside the transaction that holds the limit. A run that ends elsewhere in the very
        moment of that first reading may be left out.
        """
        which = {"limit": limit, "subject": subject, "period": period}
        if found := self.filter(**which).first():
            return found.spent
        return self.create(**which, spent=counted_before(limit, subject, period, runs)).spent

    def add(self, amounts: dict[tuple[int, int, date], int]) -> None:
        """{(limit, subject, period): used}; always in the same order, so that no two wait for each
        other. A meter that has not been read yet counts by itself when it is."""
        for (limit, subject, period), amount in sorted(amounts.items()):
            if amount:
                meter = self.filter(limit=limit, subject=subject, period=period)
                meter.update(spent=models.F("spent") + amount)


def counted_before(limit: Limit, subject: int, period: date, runs: Any) -> int:
    """What ended runs of the period have used, counted from themselves."""
    column = "counted_money" if limit.is_money else "counted_tokens"
    ended = runs.exclude(status__in=("queued", "running")).filter(
        limit.rows_of(subject),
        created_at__gte=beginning(period),
        created_at__lt=beginning(limit.renews(period)),
    )
    return int(ended.order_by().aggregate(sum=models.Sum(column))["sum"] or 0)


class Meter(models.Model):
    """What ended runs have used of a limit in one period."""

    limit = models.ForeignKey(Limit, on_delete=models.CASCADE, related_name="meters")
    subject = models.PositiveBigIntegerField(default=0)  # a user; 0: all that the limit covers
    period = models.DateField()  # its first day
    spent = models.PositiveBigIntegerField(default=0)  # tokens, or units of money

    objects = MeterQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["limit", "subject", "period"], name="one_meter_per_limit_and_period"
            )
        ]

    def __str__(self) -> str:
        return f"meter of {self.limit_id} since {self.period}"
