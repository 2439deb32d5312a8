"""Blind panels: judges vote on pairs of saved outputs without knowing what wrote them.

Which output stands left, and in which order the pairs come, is drawn once for each judge and
stored. A vote says at once whether it counts (`Ballot.aside`), by what the judge knew at that time.
"""

import json
import random
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from playground.completion import CompletionRequest
from playground.models.choices import Choice
from playground.models.reviews import LONGEST_NAME, clean_name, open_to
from playground.models.runs import LIVE, Run
from playground.models.seen import Seen
from playground.models.teams import Membership, User

MOST_RUNS = 400  # of one panel
MOST_PAIRS = 2_000
LONGEST_CONTESTANT = 200  # characters
QUIET = ("stream", "stream_options.include_usage")  # settings that write no other text
_shuffle = random.SystemRandom()


class PanelQuerySet(models.QuerySet["Panel"]):
    def visible_to(self, user: User) -> Any:
        """Those with a pair whose runs the user may see."""
        membership = user.membership()
        if membership is None:
            return self.none()
        pairs = Pair.objects.visible_in(membership).filter(panel=OuterRef("pk"))
        return self.filter(Exists(pairs), team_id=membership.team_id)

    @transaction.atomic
    def begin(self, membership: Membership, name: str, run_ids: Sequence[int]) -> "Panel":
        """Each two outputs of one prompt as a pair. Raises ValidationError with what is wrong."""
        name = clean_name(name)
        entries = entries_of(run_ids)
        pairs = [
            (one, other)
            for one, other in combinations(entries, 2)
            if one.prompt == other.prompt and one.contestant != other.contestant
        ]
        if not pairs:
            raise ValidationError(
                "These runs have no two outputs of the same prompt from different models or "
                "settings. A panel puts such outputs side by side."
            )
        if len(pairs) > MOST_PAIRS:
            raise ValidationError(
                f"That would be {len(pairs):,} pairs; a panel has at most {MOST_PAIRS:,}. "
                "Take fewer runs."
            )
        panel = self.create(
            team_id=membership.team_id,
            author=membership.user,
            author_name=membership.user.get_username(),
            name=name,
        )
        for entry in entries:
            entry.panel = panel
        Entry.objects.bulk_create(entries, batch_size=400)
        rows = [Pair(panel=panel, position=n, a=a, b=b) for n, (a, b) in enumerate(pairs, 1)]
        Pair.objects.bulk_create(rows, batch_size=400)
        return panel


class Panel(models.Model):
    team = models.ForeignKey("Team", on_delete=models.CASCADE, related_name="panels")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="panels"
    )
    author_name = models.CharField(max_length=150, blank=True)
    name = models.CharField(max_length=LONGEST_NAME)  # what is asked
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = PanelQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name

    @property
    def by(self) -> str:
        return self.author.get_username() if self.author else self.author_name

    def may_be_deleted_by(self, membership: Membership | None) -> bool:
        if membership is None or membership.team_id != self.team_id:
            return False
        return membership.owns or self.author_id == membership.user_id

    def judge(self, user: User) -> "Judge":
        """This user as a judge; made, with the order of their pairs, at the first time."""
        names = {"name": user.get_username()}
        judge, _ = Judge.objects.get_or_create(panel=self, user=user, defaults=names)
        return judge

    def judging(self, user: User) -> "Judge | None":
        return Judge.objects.filter(panel=self, user=user).first()


# --- What is compared ------------------------------------------------------------------------


class Entry(models.Model):
    """An output in a panel, and by what it was written: the contestant."""

    panel = models.ForeignKey(Panel, on_delete=models.CASCADE, related_name="entries")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="+")
    index = models.PositiveIntegerField(default=0)  # of its choice
    prompt = models.PositiveIntegerField()  # equal where the prompt is the same
    contestant = models.CharField(max_length=LONGEST_CONTESTANT)

    def __str__(self) -> str:
        return f"run {self.run_id}, choice {self.index}"

    def text(self) -> str:
        texts = Choice.objects.filter(run=self.run_id, index=self.index)
        return texts.values_list("text", flat=True).first() or ""


def entries_of(run_ids: Iterable[int]) -> list[Entry]:
    """Unsaved entries: every output of runs that have ended, with its contestant's name."""
    ids = list(dict.fromkeys(run_ids))[:MOST_RUNS]
    found = Run.objects.filter(pk__in=ids).exclude(status__in=LIVE)
    runs = {run.pk: run for run in found.only("request", "model", "connection_name")}
    indices: dict[int, list[int]] = {}
    outputs = Choice.objects.filter(run__in=runs).exclude(text="")
    for pk, index in outputs.order_by("index").values_list("run", "index"):
        indices.setdefault(pk, []).append(index)
    requests = {pk: runs[pk].request_value() for pk in ids if pk in indices}
    prompts: dict[str, int] = {}
    names = contestants(runs, requests)
    return [
        Entry(
            run_id=pk,
            index=index,
            prompt=prompts.setdefault(prompt_key(asked), len(prompts)),
            contestant=names[pk],
        )
        for pk, asked in requests.items()
        for index in indices[pk]
    ]


def prompt_key(asked: CompletionRequest) -> str:
    """Equal where two requests ask the same; a text is the same as one message that says it."""
    messages = [dict(each) for each in asked.messages]
    if len(messages) == 1 and isinstance(messages[0].get("content"), str):
        return json.dumps(messages[0]["content"])
    return json.dumps(messages or asked.prompt, sort_keys=True)


def contestants(runs: dict[int, Run], asked: dict[int, CompletionRequest]) -> dict[int, str]:
    """A name for each run: model and connection, and the settings in which equal ones differ."""
    base = {pk: f"{runs[pk].model or 'not named'} · {runs[pk].connection_name}" for pk in asked}
    settings_of = {
        pk: {
            path: json.dumps(value, ensure_ascii=False)
            for path, value in {**request.values, **request.extra}.items()
            if path not in QUIET
        }
        for pk, request in asked.items()
    }
    found = {}
    for pk, name in base.items():
        alike = [settings_of[other] for other, other_name in base.items() if other_name == name]
        own = settings_of[pk]
        paths = sorted({path for each in alike for path in each})
        differing = [p for p in paths if len({each.get(p) for each in alike}) > 1 and p != "seed"]
        parts = [f"{path} {own.get(path, 'not sent')}" for path in differing]
        found[pk] = ", ".join([name, *parts])[:LONGEST_CONTESTANT]
    return found


class PairQuerySet(models.QuerySet["Pair"]):
    def visible_in(self, membership: Membership) -> Any:
        return self.filter(open_to(membership, "a__run__") & open_to(membership, "b__run__"))


class Pair(models.Model):
    panel = models.ForeignKey(Panel, on_delete=models.CASCADE, related_name="pairs")
    position = models.PositiveIntegerField()  # from 1
    a = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="+")
    b = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="+")

    objects = PairQuerySet.as_manager()

    class Meta:
        ordering = ["position"]

    def __str__(self) -> str:
        return f"pair {self.position} of panel {self.panel_id}"


# --- Judges and their votes ------------------------------------------------------------------


class Judge(models.Model):
    """Somebody who votes in a panel; after the names were revealed no longer."""

    panel = models.ForeignKey(Panel, on_delete=models.CASCADE, related_name="judges")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    name = models.CharField(max_length=150)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    revealed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["panel", "user"], name="one_judge_per_panel_and_user")
        ]

    def __str__(self) -> str:
        return f"{self.name} in panel {self.panel_id}"

    def ballots_seen(self, membership: Membership) -> Any:
        """Those whose runs they may still see, in their own order."""
        pairs = Pair.objects.visible_in(membership).filter(panel=self.panel_id)
        return self.ballots.filter(pair__in=pairs).order_by("place")

    def deal(self, membership: Membership) -> None:
        """Draw order and sides of the pairs that have no ballot yet; each is drawn once."""
        pairs = Pair.objects.visible_in(membership).filter(panel=self.panel_id)
        held = Ballot.objects.filter(judge=self, pair=OuterRef("pk"))
        new = list(pairs.filter(~Exists(held)).values_list("pk", flat=True))
        if not new:
            return
        _shuffle.shuffle(new)
        last = self.ballots.aggregate(last=models.Max("place"))["last"] or 0
        rows = [
            Ballot(judge=self, pair_id=pk, place=place, swapped=_shuffle.random() < 0.5)
            for place, pk in enumerate(new, last + 1)
        ]
        # Two tabs at once: the first one's draw stays.
        Ballot.objects.bulk_create(rows, ignore_conflicts=True, batch_size=400)

    def reveal(self, user: User, membership: Membership) -> None:
        """Names from now on, and no votes any more."""
        Judge.objects.filter(pk=self.pk, revealed_at=None).update(revealed_at=timezone.now())
        pairs = Pair.objects.visible_in(membership).filter(panel=self.panel_id)
        runs = {pk for pair in pairs.values_list("a__run", "b__run") for pk in pair}
        Seen.objects.note(user, runs)


class Ballot(models.Model):
    """One pair as one judge gets it, and the vote."""

    class Value(models.TextChoices):
        A = "a"  # of the pair, wherever it stood
        B = "b"
        TIE = "tie"
        BAD = "bad"
        SKIP = "skip"

    class Aside(models.TextChoices):
        AUTHOR = "author", "by the author of a run"
        SEEN = "seen", "the judge had seen the names"
        NAMED = "named", "an output named its model"

    COUNTED = (Value.A, Value.B, Value.TIE, Value.BAD)

    judge = models.ForeignKey(Judge, on_delete=models.CASCADE, related_name="ballots")
    pair = models.ForeignKey(Pair, on_delete=models.CASCADE, related_name="ballots")
    place = models.PositiveIntegerField()  # in the order of this judge
    swapped = models.BooleanField()  # b stands left
    value = models.CharField(max_length=4, choices=Value, blank=True)
    aside = models.CharField(max_length=6, choices=Aside, blank=True)  # why it does not count
    named = models.BooleanField(default=False)  # an output gives its name away
    voted_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["place"]
        constraints = [
            models.UniqueConstraint(fields=["judge", "pair"], name="one_ballot_per_judge_and_pair")
        ]

    def __str__(self) -> str:
        return f"{self.judge_id} on pair {self.pair_id}: {self.value or 'open'}"

    @transaction.atomic
    def vote(self, user: User, value: str) -> bool:
        """`value`: left, right, tie, bad, skip, or "" to take it back. False where it is final."""
        judge = Judge.objects.select_for_update().get(pk=self.judge_id)
        if judge.revealed_at is not None:
            return False
        sides = ("b", "a") if self.swapped else ("a", "b")
        self.value = {"left": sides[0], "right": sides[1]}.get(value, value)
        self.voted_at = timezone.now() if value else None
        self.aside = self._aside(user) if self.value in self.COUNTED else ""
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

    def _aside(self, user: User) -> str:
        runs = Run.objects.filter(pk__in=[self.pair.a.run_id, self.pair.b.run_id])
        if runs.filter(author=user).exists():
            return str(self.Aside.AUTHOR)
        if Seen.objects.filter(user=user, run__in=runs).exists():
            return str(self.Aside.SEEN)
        return str(self.Aside.NAMED) if self.named else ""


def last_vote(judge: Judge) -> "Ballot | None":
    """What an undo takes back."""
    voted = judge.ballots.exclude(value="").order_by(F("voted_at").desc(nulls_last=True), "-pk")
    return voted.select_related("pair__a", "pair__b").first()


def votes_of(panel: Panel, membership: Membership, *, counted: bool) -> Any:
    """Ballots with a preference on pairs that this person may see; those that count, or not."""
    pairs = Pair.objects.visible_in(membership).filter(panel=panel)
    found = Ballot.objects.filter(pair__in=pairs, value__in=Ballot.COUNTED)
    found = found.filter(Q(aside="") if counted else ~Q(aside=""))
    return found.select_related("judge", "pair__a", "pair__b").order_by("pair__position", "judge")
