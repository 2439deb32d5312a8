"""Blind panels: outputs of the same prompt, side by side, judged without names.

A panel is made of rounds. A round shows two outputs or more of one prompt, each by another
contestant; whoever judges it says which is the best (`models/ballots.py`).
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import Count, Exists, OuterRef, Subquery
from django.utils import timezone

from playground.models.choices import Choice
from playground.models.contestants import LONGEST_CONTESTANT, contestants, prompt_key
from playground.models.live import LIVE
from playground.models.reviews import LONGEST_NAME, clean_name, open_to
from playground.models.runs import Run
from playground.models.teams import Membership, User

MOST_RUNS = 400  # of one panel
MOST_ROUNDS = 2_000
LETTERS = "abcdefghi"  # as many as there are keys to vote by


class PanelQuerySet(models.QuerySet["Panel"]):
    def visible_to(self, user: User) -> Any:
        """Those with a round whose runs the user may see."""
        membership = user.membership()
        if membership is None:
            return self.none()
        rounds = Round.objects.visible_in(membership).filter(panel=OuterRef("pk"))
        return self.filter(Exists(rounds), team_id=membership.team_id)

    @transaction.atomic
    def begin(
        self, membership: Membership, name: str, run_ids: Sequence[int], *, together: bool = False
    ) -> "Panel":
        """Two outputs of a prompt at a time, or all `together`; ValidationError says why not."""
        name = clean_name(name)
        entries = entries_of(run_ids)
        rounds = drawn_up(entries, together=together)
        panel = self.create(
            team_id=membership.team_id,
            author=membership.user,
            author_name=membership.user.get_username(),
            name=name,
            together=any(len(each) > 2 for each in rounds),
        )
        for entry in entries:
            entry.panel = panel
        Entry.objects.bulk_create(entries, batch_size=400)
        made = [Round(panel=panel, position=n, size=len(each)) for n, each in enumerate(rounds, 1)]
        Round.objects.bulk_create(made, batch_size=400)
        seats = [
            Seat(round=one, place=place, entry=entry)
            for one, group in zip(made, rounds, strict=True)
            for place, entry in enumerate(group)
        ]
        Seat.objects.bulk_create(seats, batch_size=400)
        return panel


class Panel(models.Model):
    team = models.ForeignKey("Team", on_delete=models.CASCADE, related_name="panels")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="panels"
    )
    author_name = models.CharField(max_length=150, blank=True)
    name = models.CharField(max_length=LONGEST_NAME)  # what is asked
    together = models.BooleanField(default=False)  # rounds of more than two outputs
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = PanelQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name

    @property
    def by(self) -> str:
        return self.author.get_username() if self.author else self.author_name

    @property
    def noun(self) -> str:
        """What a round is called in the pages."""
        return "round" if self.together else "pair"

    def may_be_deleted_by(self, membership: Membership | None) -> bool:
        if membership is None or membership.team_id != self.team_id:
            return False
        return membership.owns or self.author_id == membership.user_id


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


def drawn_up(entries: Sequence[Entry], *, together: bool) -> list[tuple[Entry, ...]]:
    """The rounds; ValidationError where there are none, or too many."""
    prompts: dict[int, list[Entry]] = {}
    for entry in entries:
        prompts.setdefault(entry.prompt, []).append(entry)
    draw = _together if together else _pairs
    rounds = [each for of_prompt in prompts.values() for each in draw(of_prompt)]
    if not rounds:
        raise ValidationError(
            "These runs have no two outputs of the same prompt from different models or "
            "settings. A panel puts such outputs side by side."
        )
    if len(rounds) > MOST_ROUNDS:
        raise ValidationError(
            f"Each judge would have to vote {len(rounds):,} times; a panel has at most "
            f"{MOST_ROUNDS:,} votes. Take fewer runs{'' if together else ', or all at once'}."
        )
    if max(map(len, rounds)) > len(LETTERS):
        raise ValidationError(
            f"A prompt has outputs of {max(map(len, rounds))} models or settings; side by side "
            f"are at most {len(LETTERS)}. Show two at a time, or take fewer runs."
        )
    return rounds


def votes_asked(run_ids: Iterable[int]) -> tuple[int, int] | None:
    """How often a judge votes: two outputs at a time, or all at once; None where it is the same,
    or where no panel can be made."""
    entries = entries_of(run_ids)
    try:
        pairs, groups = (drawn_up(entries, together=each) for each in (False, True))
    except ValidationError:
        return None
    return (len(pairs), len(groups)) if max(map(len, groups)) > 2 else None


def _pairs(entries: Sequence[Entry]) -> Iterator[tuple[Entry, ...]]:
    for one, other in combinations(entries, 2):
        if one.contestant != other.contestant:
            yield one, other


def _together(entries: Sequence[Entry]) -> Iterator[tuple[Entry, ...]]:
    """The first output of every contestant, then the second of each, as long as two have one."""
    outputs: dict[str, list[Entry]] = {}
    for entry in entries:
        outputs.setdefault(entry.contestant, []).append(entry)
    for n in range(max(map(len, outputs.values()))):
        group = tuple(each[n] for each in outputs.values() if len(each) > n)
        if len(group) > 1:
            yield group


class RoundQuerySet(models.QuerySet["Round"]):
    def visible_in(self, membership: Membership) -> Any:
        """Rounds of which every run is still there and may be seen."""
        seen = Seat.objects.filter(open_to(membership, "entry__run__"), round=OuterRef("pk"))
        count = seen.order_by().values("round").annotate(count=Count("pk")).values("count")
        return self.filter(size=Subquery(count))

    def with_seats(self) -> Any:
        return self.prefetch_related(models.Prefetch("seats", Seat.objects.select_related("entry")))


class Round(models.Model):
    panel = models.ForeignKey(Panel, on_delete=models.CASCADE, related_name="rounds")
    position = models.PositiveIntegerField()  # from 1
    size = models.PositiveSmallIntegerField(default=2)  # outputs, also when a run was purged

    objects = RoundQuerySet.as_manager()

    class Meta:
        ordering = ["position"]

    def __str__(self) -> str:
        return f"round {self.position} of panel {self.panel_id}"

    @property
    def entries(self) -> list[Entry]:
        """By their letters; a query, or none after `with_seats`."""
        return [seat.entry for seat in self.seats.all()]

    @property
    def run_ids(self) -> list[int]:
        return [entry.run_id for entry in self.entries]


class Seat(models.Model):
    """Where an output stands in its round; judges see them in an order of their own."""

    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="seats")
    entry = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="+")
    place = models.PositiveSmallIntegerField()  # in LETTERS

    class Meta:
        ordering = ["place"]
        constraints = [
            models.UniqueConstraint(fields=["round", "place"], name="one_seat_per_round_and_place")
        ]

    def __str__(self) -> str:
        return f"{LETTERS[self.place]} of round {self.round_id}"
