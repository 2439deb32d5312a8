"""Judges of a blind panel and their votes.

In which order the rounds come, and in which the outputs of a round stand, is drawn once for each
judge and stored. A vote says at once whether it counts (`Ballot.aside`), by what the judge knew at
that time.
"""

import random
from typing import Any

from django.conf import settings
from django.db import models, transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from playground.completion import storable
from playground.models.panels import LETTERS, Entry, Panel, Round
from playground.models.runs import Run
from playground.models.seen import Seen
from playground.models.teams import Membership, User

LONGEST_NOTE = 2_000  # characters

_shuffle = random.SystemRandom()


class JudgeQuerySet(models.QuerySet["Judge"]):
    def of(self, panel: Panel, user: User) -> "Judge":
        """This user as a judge of the panel; made at the first time."""
        names = {"name": user.get_username()}
        judge, _ = self.get_or_create(panel=panel, user=user, defaults=names)
        return judge

    def known(self, panel: Panel, user: User) -> "Judge | None":
        return self.filter(panel=panel, user=user).first()


class Judge(models.Model):
    """Somebody who votes in a panel; after the names were revealed no longer."""

    panel = models.ForeignKey(Panel, on_delete=models.CASCADE, related_name="judges")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    name = models.CharField(max_length=150)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    revealed_at = models.DateTimeField(null=True)

    objects = JudgeQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["panel", "user"], name="one_judge_per_panel_and_user")
        ]

    def __str__(self) -> str:
        return f"{self.name} in panel {self.panel_id}"

    def ballots_seen(self, membership: Membership) -> Any:
        """Those whose runs they may still see, in their own order."""
        rounds = Round.objects.visible_in(membership).filter(panel=self.panel_id)
        return self.ballots.filter(round__in=rounds).order_by("place")

    def deal(self, membership: Membership) -> None:
        """Draw the order of rounds and outputs that have no ballot yet; each is drawn once."""
        rounds = Round.objects.visible_in(membership).filter(panel=self.panel_id)
        held = Ballot.objects.filter(judge=self, round=OuterRef("pk"))
        new = list(rounds.filter(~Exists(held)).values_list("pk", "size"))
        if not new:
            return
        _shuffle.shuffle(new)
        last = self.ballots.aggregate(last=models.Max("place"))["last"] or 0
        rows = [
            Ballot(judge=self, round_id=pk, place=place, order=_shuffled(size))
            for place, (pk, size) in enumerate(new, last + 1)
        ]
        # Two tabs at once: the first one's draw stays.
        Ballot.objects.bulk_create(rows, ignore_conflicts=True, batch_size=400)

    def reveal(self, user: User, membership: Membership) -> None:
        """Names from now on, and no votes any more."""
        Judge.objects.filter(pk=self.pk, revealed_at=None).update(revealed_at=timezone.now())
        rounds = Round.objects.visible_in(membership).filter(panel=self.panel_id)
        runs = rounds.order_by().values_list("seats__entry__run", flat=True)
        Seen.objects.note(user, set(runs))


def _shuffled(size: int) -> str:
    letters = list(LETTERS[:size])
    _shuffle.shuffle(letters)
    return "".join(letters)


class Ballot(models.Model):
    """One round as one judge gets it, and the vote: the letter of the best output, or a Value."""

    class Value(models.TextChoices):
        TIE = "tie"
        BAD = "bad"
        SKIP = "skip"

    class Aside(models.TextChoices):
        AUTHOR = "author", "by the author of a run"
        SEEN = "seen", "the judge had seen the names"
        NAMED = "named", "an output named its model"

    COUNTED = (*LETTERS, Value.TIE, Value.BAD)

    judge = models.ForeignKey(Judge, on_delete=models.CASCADE, related_name="ballots")
    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="ballots")
    place = models.PositiveIntegerField()  # in the order of this judge
    order = models.CharField(max_length=len(LETTERS))  # letters of the outputs from left to right
    value = models.CharField(max_length=4, blank=True)
    aside = models.CharField(max_length=6, choices=Aside, blank=True)  # why it does not count
    named = models.BooleanField(default=False)  # an output gives its name away
    voted_at = models.DateTimeField(null=True)
    note = models.TextField(blank=True)  # the judge's own words, shown with the names

    class Meta:
        ordering = ["place"]
        constraints = [
            models.UniqueConstraint(
                fields=["judge", "round"], name="one_ballot_per_judge_and_round"
            )
        ]

    def __str__(self) -> str:
        return f"{self.judge_id} on round {self.round_id}: {self.value or 'open'}"

    @property
    def shown(self) -> list[Entry]:
        """The outputs from left to right."""
        entries = self.round.entries
        return [entries[LETTERS.index(letter)] for letter in self.order]

    @property
    def said(self) -> str:
        """The vote in words, by the letters of the round."""
        words = {"": "open", "tie": "tie", "bad": "all bad", "skip": "skipped"}
        return words.get(self.value, self.value.upper())

    @transaction.atomic
    def vote(self, user: User, value: str) -> bool:
        """`value`: "1" the first from the left is best, "2" …; tie, bad, skip, or "" to take it
        back. False where it is final. ValueError where so many outputs are not there."""
        judge = Judge.objects.select_for_update().get(pk=self.judge_id)
        if judge.revealed_at is not None:
            return False
        if value.isdecimal():
            if not 0 < int(value) <= len(self.order):
                raise ValueError(value)
            value = self.order[int(value) - 1]
        self.value = value
        self.voted_at = timezone.now() if value else None
        self.aside = self.set_aside(user) if value in self.COUNTED else ""
        self.save(update_fields=["value", "voted_at", "aside"])
        return True

    @transaction.atomic
    def give_away(self, named: bool) -> bool:
        """An output names its model, so that the vote does not count. False where it is final."""
        judge = Judge.objects.select_for_update().get(pk=self.judge_id)
        if judge.revealed_at is None:
            self.named = named
            self.save(update_fields=["named"])
        return judge.revealed_at is None

    @transaction.atomic
    def write(self, note: str) -> None:
        """Not once it is final."""
        judge = Judge.objects.select_for_update().get(pk=self.judge_id)
        kept = storable(note.replace("\r\n", "\n")).strip()[:LONGEST_NOTE]
        if judge.revealed_at is None and kept != self.note:
            self.note = kept
            self.save(update_fields=["note"])

    def set_aside(self, user: User) -> str:
        """Why a vote of theirs given now does not count; "" where it does. Two queries."""
        runs = Run.objects.filter(pk__in=self.round.run_ids)
        if runs.filter(author=user).exists():
            return str(self.Aside.AUTHOR)
        if Seen.objects.filter(user=user, run__in=runs).exists():
            return str(self.Aside.SEEN)
        return str(self.Aside.NAMED) if self.named else ""


def last_vote(judge: Judge, membership: Membership) -> "Ballot | None":
    """What an undo takes back; None where its runs may not be seen any more."""
    voted = judge.ballots_seen(membership).exclude(value="")
    found: Ballot | None = voted.order_by(F("voted_at").desc(nulls_last=True), "-pk").first()
    return found


def votes_of(panel: Panel, membership: Membership, *, counted: bool) -> Any:
    """Ballots with a preference on rounds that this person may see; those that count, or not."""
    rounds = Round.objects.visible_in(membership).filter(panel=panel)
    found = Ballot.objects.filter(round__in=rounds, value__in=Ballot.COUNTED)
    found = found.filter(Q(aside="") if counted else ~Q(aside=""))
    return found.select_related("judge", "round").order_by("round__position", "judge")
