"""Runs.

Requests, events and provider JSON are text fields, never JSON fields: PostgreSQL refuses NUL, lone
surrogates and NaN in jsonb, and reorders keys.
"""

import json
import uuid
from collections.abc import Iterable
from datetime import timedelta
from itertools import islice
from typing import Any

from django.db import models, transaction
from django.db.models import Exists, OuterRef, Q, Subquery
from django.urls import reverse
from django.utils import timezone

from playground.axes import Place
from playground.completion import CompletionRequest, RunStatus, storable
from playground.lessons import lessons_of, lessons_of_refusal
from playground.models.answered import Answered
from playground.models.charged import Charged
from playground.models.choices import Choice
from playground.models.connections import Connection
from playground.models.gate import WAITING, Gate, Waiting
from playground.models.keys import ApiKey
from playground.models.labels import Label, RunLabel
from playground.models.lessons import Memory
from playground.models.live import LIVE, IsLive
from playground.models.processes import Process
from playground.models.teams import User
from playground.models.visible import Named, Visibility, VisibleQuerySet
from playground.outcome import Outcome

PREVIEW = 200  # characters


def preview(text: str) -> str:
    return " ".join(storable(text[: 2 * PREVIEW]).split())[:PREVIEW]


def letter(position: int) -> str:
    """A, B … Z, AA: what a column is called."""
    number, letters = position + 1, ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


class RunQuerySet(VisibleQuerySet):
    PURGED = "comparison__purged_at"

    def claim(self, limit: int, process: Process) -> list["Run"]:
        """The first part of `admit`."""
        return self.admit(limit, process)[0]

    def admit(self, room: int, process: Process) -> tuple[list["Run"], list[tuple["Run", str]]]:
        """Take up to `room` queued runs of this process that every limit lets pass, oldest first.

        Returns them, and those that will never pass, with the reason. Exact across processes:
        the limits are held until the starts are committed. An empty queue costs no transaction.
        """
        queue = self.filter(IsLive(), status=RunStatus.QUEUED, cancel_requested_at=None)
        mine = queue.filter(owner=process).order_by("pk")
        if not mine.exists():
            return [], []
        with transaction.atomic():
            waiting = [Waiting(*row) for row in mine.values_list(*WAITING)]
            gate = Gate(Run.objects.all(), waiting)
            passing = list(islice((run.pk for run in waiting if gate.passes(run)), room))
            starting = {"status": RunStatus.RUNNING, "owner": process, "started_at": gate.now}
            queue.filter(pk__in=passing).update(**starting)
        runs = self.filter(pk__in=[*passing, *gate.refused]).select_related("connection")
        found = {run.pk: run for run in runs.order_by("pk")}
        started = [found[pk] for pk in passing if pk in found and found[pk].owned_by(process)]
        refused = [(found[pk], why) for pk, why in gate.refused.items() if pk in found]
        return started, refused

    def newest(self) -> "RunQuerySet":
        """Without those that a later run of the same column and place has replaced."""
        return self.filter(~Exists(self._of_the_place().filter(pk__gt=OuterRef("pk"))))

    def with_earlier(self) -> "RunQuerySet":
        """With `earlier`, the id of the run that each one has replaced, or None."""
        before = self._of_the_place().filter(pk__lt=OuterRef("pk")).order_by("-pk")
        rows: RunQuerySet = self.annotate(earlier=Subquery(before.values("pk")[:1]))
        return rows

    def _of_the_place(self) -> Any:
        return Run.objects.filter(
            comparison=OuterRef("comparison"),
            column=OuterRef("column"),
            coordinates=OuterRef("coordinates"),
            deleted_at=None,
        )

    def learn(self, pks: Iterable[int]) -> None:
        """`Run.learn` of those that are still there and were neither stopped nor interrupted."""
        whole = self.filter(pk__in=list(pks), status__in=(RunStatus.COMPLETED, RunStatus.FAILED))
        choices = models.Prefetch("choices", Choice.objects.defer("packed_timeline"))
        for run in whole.select_related("connection").prefetch_related(choices).order_by("pk"):
            run.learn()

    def stop_live(self, process: Process) -> list[tuple[int, int]]:
        """Ask all of these to stop. Those that wait in this process end at once: (id, comparison).

        Nothing was sent for them, so there is nothing to fold.
        """
        now = timezone.now()
        live = self.filter(status__in=LIVE)
        with transaction.atomic():
            waiting = live.filter(status=RunStatus.QUEUED, owner=process).select_for_update()
            closed = list(waiting.values_list("pk", "comparison_id"))
            live.update(cancel_requested_at=now)
            Run.objects.filter(pk__in=[pk for pk, _ in closed]).update(
                status=RunStatus.CANCELLED,
                owner=None,
                finished_at=now,
                counted_tokens=0,
                counted_money=0,
            )
        return closed

    def waiting(self) -> set[int]:
        """The ids of those that have not been sent yet: nothing is in their log."""
        return set(self.filter(status=RunStatus.QUEUED).values_list("pk", flat=True))

    def live_of(self, process: Process) -> "RunQuerySet":
        """Runs that this process still owns."""
        return self.filter(IsLive(), owner=process)


class Run(Charged, Answered, Named):
    """One request to one connection."""

    # Never read by lists.
    BIG = ("request", "usage", "metadata", "warnings", "lessons")

    comparison = models.ForeignKey("Comparison", on_delete=models.CASCADE, related_name="runs")
    position = models.PositiveIntegerField(default=0)  # its order in the comparison
    column = models.PositiveIntegerField(default=0)  # index of its column in the document
    coordinates = models.TextField(blank=True)  # Place.coordinates as JSON; "" where none

    # Repeated from the comparison, so that no list joins for rights. Set in `comparisons.queued`,
    # and where the comparison changes (`ComparisonQuerySet.move`).
    team = models.ForeignKey("Team", on_delete=models.CASCADE, related_name="runs")
    author = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="runs")
    author_name = models.CharField(max_length=150, blank=True)
    visibility = models.CharField(max_length=10, choices=Visibility)
    created_at = models.DateTimeField(editable=False)
    deleted_at = models.DateTimeField(null=True, blank=True)

    connection = models.ForeignKey(
        Connection, null=True, on_delete=models.SET_NULL, related_name="runs"
    )
    connection_name = models.CharField(max_length=60)
    # Which key paid; the last four stay when the connection goes.
    api_key = models.ForeignKey(ApiKey, null=True, on_delete=models.SET_NULL, related_name="runs")
    key_last_four = models.CharField(max_length=4, blank=True)
    provider = models.CharField(max_length=30)
    dialect = models.CharField(max_length=20, blank=True)
    operation = models.CharField(max_length=20)
    model = models.CharField(max_length=300, blank=True)
    request = models.TextField()  # CompletionRequest as JSON
    streams = models.BooleanField(default=True)
    prompt_preview = models.CharField(max_length=PREVIEW, blank=True)
    output_preview = models.CharField(max_length=PREVIEW, blank=True)

    status = models.CharField(
        max_length=12, choices=[(s, s) for s in RunStatus], default=RunStatus.QUEUED
    )
    owner = models.ForeignKey(Process, null=True, on_delete=models.SET_NULL, related_name="runs")
    cancel_requested_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    indexed = models.BooleanField(default=False)  # its SearchText and facts are written

    starred = models.BooleanField(default=False)
    rating = models.FloatField(null=True)  # the mean of all ratings
    labels = models.ManyToManyField(Label, through=RunLabel, related_name="runs")

    origin_id = models.UUIDField(default=uuid.uuid4, editable=False)  # the same in every copy

    objects = RunQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "origin_id"], name="run_is_here_once")
        ]
        indexes = [
            models.Index(
                fields=["team", "-created_at", "-comparison", "-id"], name="runs_of_a_team"
            ),
            *[
                models.Index(
                    fields=["team", name, "-created_at", "-comparison", "-id"],
                    name=f"runs_by_{name}",
                )
                for name in ("author", "model", "connection_name", "provider", "status")
            ],
            models.Index(fields=["id"], name="runs_to_index", condition=Q(indexed=False)),
            models.Index(
                fields=["team", "-created_at", "-comparison", "-id"],
                name="runs_starred",
                condition=Q(starred=True),
            ),
            models.Index(
                fields=["team", "-created_at", "-comparison", "-id"],
                name="runs_rated",
                condition=Q(rating__isnull=False),
            ),
            models.Index(
                fields=["owner", "status"],
                name="live_runs",
                condition=Q(status__in=["queued", "running"]),
            ),
            models.Index(fields=["started_at"], name="runs_by_start"),
        ]

    def __str__(self) -> str:
        return f"run {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("run", args=[self.pk])

    def owned_by(self, process: Process) -> bool:
        return self.status == RunStatus.RUNNING and self.owner_id == process.pk

    def take(self, process: Process) -> bool:
        """Become running, unless someone else was first or it was stopped meanwhile."""
        waiting = Run.objects.filter(pk=self.pk, status=RunStatus.QUEUED, cancel_requested_at=None)
        now = timezone.now()
        if not waiting.update(status=RunStatus.RUNNING, owner=process, started_at=now):
            return False
        self.status, self.owner, self.started_at = RunStatus.RUNNING, process, now
        return True

    @property
    def live(self) -> bool:
        return self.status in LIVE

    def request_value(self) -> CompletionRequest:
        return CompletionRequest.from_json(self.request)

    @property
    def letter(self) -> str:
        return letter(self.column)

    @property
    def title(self) -> str:
        """`Run 7A`; of a cell with where it stands: `Run 7A, temperature 0.4, row 2`."""
        return ", ".join([f"Run {self.comparison_id}{self.letter}", *self.place.words])

    @property
    def place(self) -> Place:
        """Its column and where it stands on the axes of its comparison."""
        return Place(self.column, json.loads(self.coordinates) if self.coordinates else {})

    def outcome(self, timelines: bool = True) -> Outcome:
        """What came back, as it was folded; reads the choices."""
        return Outcome(
            choices=[choice.result(timelines) for choice in self.choices.all()],
            usage=self.usage_value,
            meta=self.metadata_value,
        )

    def learn(self) -> None:
        """Note what the backend ignored or refused, on the run and in the connection's memory."""
        request = self.request_value()
        if self.status == RunStatus.COMPLETED:
            found = lessons_of(request, self.outcome(timelines=False))
        else:
            found = lessons_of_refusal(request, self.error_kind, self.error_message)
        if not found:
            return
        Run.objects.filter(pk=self.pk).update(lessons=json.dumps(found))
        if self.connection is not None:
            Memory.objects.learn(self.connection, self.model, found)

    @property
    def waited(self) -> timedelta | None:
        return self.started_at - self.created_at if self.started_at else None

    def log_after(self, seq: int) -> list[tuple[int, str]]:
        """(seq, events as JSON text) of the live log, in order."""
        rows = self.events.filter(seq__gt=seq).order_by("seq")
        return list(rows.values_list("seq", "events"))

    def ask_to_stop(self) -> bool:
        """Note the wish; False where the run has ended already."""
        live = Run.objects.filter(pk=self.pk, status__in=LIVE)
        return bool(live.update(cancel_requested_at=timezone.now()))
