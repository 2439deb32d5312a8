"""Comparisons, their runs, the log of a live run and what it is folded into.

Requests, events and provider JSON are text fields, never JSON fields: PostgreSQL refuses NUL, lone
surrogates and NaN in jsonb, and reorders keys.
"""

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import islice
from typing import Any

from django.db import models, transaction
from django.db.models import Exists, OuterRef, Q, Subquery
from django.urls import reverse
from django.utils import timezone

from playground.axes import Place
from playground.changes import changes
from playground.completion import CompletionRequest, Outcome, RunStatus, storable
from playground.costs import Rates, completion_limit, prompt_estimate
from playground.lessons import Lesson, lessons_of, lessons_of_refusal
from playground.models.connections import Connection
from playground.models.gate import WAITING, Gate, Waiting, check
from playground.models.keys import ApiKey
from playground.models.labels import Label, RunLabel
from playground.models.lessons import Memory
from playground.models.limits import MOST_UNITS, units
from playground.models.live import LIVE, IsLive
from playground.models.prices import PriceBook
from playground.models.processes import Process
from playground.models.teams import Membership, User

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


class Visibility(models.TextChoices):
    TEAM = "team"
    PRIVATE = "private"


class VisibleQuerySet(models.QuerySet[Any]):
    """Rows with team, author, visibility and deleted_at."""

    PURGED = "purged_at"

    def visible_to(self, user: User) -> Any:
        """Own ones, and those that the current team may see; nothing from the trash."""
        return self.visible_in(user.membership())

    def visible_in(self, membership: Membership | None) -> Any:
        """`visible_to` of a person in this team, whatever their current one is."""
        if membership is None:
            return self.none()
        rows = self.filter(team_id=membership.team_id, deleted_at=None)
        return rows.filter(Q(visibility=Visibility.TEAM) | Q(author_id=membership.user_id))

    def trashed_for(self, user: User) -> Any:
        """What this user may take out of the trash or purge: own ones; an owner the team's too."""
        membership = user.membership()
        if membership is None:
            return self.none()
        return self.managed_in(membership).exclude(deleted_at=None)

    def managed_in(self, membership: Membership) -> Any:
        """What a member may delete, restore, purge and share there, in the trash or not."""
        if not membership.may_run:
            return self.none()
        rows = self.filter(team_id=membership.team_id, **{self.PURGED: None})
        own = Q(author_id=membership.user_id)
        return rows.filter(own | Q(visibility=Visibility.TEAM) if membership.owns else own)


class Named(models.Model):
    """What has an author, who may come from elsewhere."""

    # Of the author in the file it came from, where the team knows nobody of that name.
    imported_from = models.CharField(max_length=150, blank=True)

    class Meta:
        abstract = True

    @property
    def by(self) -> str:
        return f"imported: {self.imported_from}" if self.imported_from else self.named

    @property
    def named(self) -> str:
        """As an export says it."""
        author = getattr(self, "author", None)
        own = author.get_username() if author else getattr(self, "author_name", "")
        return self.imported_from or own


class ComparisonQuerySet(VisibleQuerySet):
    def begin(
        self,
        membership: Membership,
        columns: Sequence[tuple[Connection, CompletionRequest]],
        *,
        owner: Process,
        document: str = "",
        visibility: str = Visibility.TEAM,
        places: Sequence[Place] = (),
        axes: Mapping[str, Any] | None = None,
    ) -> "Comparison":
        """Insert a comparison and its queued runs in one transaction, or raise OverLimit.

        `places` says of each request which column of the form it is of and where it stands on the
        axes; without them each request is a column of its own.
        """
        places = places or [Place(position) for position in range(len(columns))]
        with transaction.atomic():
            comparison: Comparison = self.create(
                team_id=membership.team_id,
                author_id=membership.user_id,
                author_name=membership.user.get_username(),
                visibility=visibility,
                document=document,
                axes=json.dumps(axes) if axes else "",
                changes=self._changes(membership, columns, places),
            )
            prices = PriceBook(connection for connection, _ in columns)
            runs = [
                Run.queued(comparison, position, connection, request, owner, place)
                for position, ((connection, request), place) in enumerate(
                    zip(columns, places, strict=True)
                )
            ]
            for run, (connection, request) in zip(runs, columns, strict=True):
                run.price_at(prices.rates(connection, request.model))
                run.reserve(request, connection.assumed_tokens)
            check(Run.objects.all(), [run.waiting for run in runs])
            Run.objects.bulk_create(runs)
            labelled: dict[tuple[str, ...], list[int]] = {}
            for run, (_, request) in zip(runs, columns, strict=True):
                if request.labels:
                    labelled.setdefault(tuple(request.labels), []).append(run.pk)
            for names, pks in labelled.items():
                RunLabel.objects.put(pks, Label.objects.named(membership.team_id, names))
        return comparison

    def _changes(
        self,
        membership: Membership,
        columns: Sequence[tuple[Connection, CompletionRequest]],
        places: Sequence[Place],
    ) -> str:
        """Against what this author ran last in this team, as JSON; nothing that was deleted."""
        own = Run.objects.filter(team_id=membership.team_id, author_id=membership.user_id)
        newest = own.filter(deleted_at=None).order_by("-created_at", "-comparison", "-pk")
        last = newest.values_list("comparison", flat=True).first()
        before = Run.objects.filter(comparison=last, deleted_at=None).order_by("position")
        texts = before.values_list("request", flat=True)[:1] if last else []
        # Only the first is read: a sweep has hundreds, and each may be large.
        count = before.order_by().values("column").distinct().count() if last else 0
        first = [CompletionRequest.from_json(text) for text in texts]
        own_columns: dict[int, CompletionRequest] = {}
        for place, (_, request) in zip(places, columns, strict=True):
            own_columns.setdefault(place.column, request)
        return json.dumps(changes(first * count, list(own_columns.values())))

    @transaction.atomic
    def move(self, ids: Sequence[int], **values: Any) -> int:
        """Set visibility or trash: the one place where what the runs repeat is changed."""
        kept = self.filter(pk__in=ids, purged_at=None).select_for_update()
        found = list(kept.values_list("pk", flat=True)) if ids else []
        Run.objects.filter(comparison__in=found).update(**values)
        if "deleted_at" in values and values["deleted_at"] is None:
            values["restored_at"] = timezone.now()
        return self.filter(pk__in=found).update(**values)

    def stop(self, ids: Sequence[int]) -> None:
        """Ask for the end of their live runs; the owner of a run finds it within a second."""
        live = Run.objects.filter(comparison__in=ids, status__in=LIVE)
        live.update(cancel_requested_at=timezone.now())

    def listed(self) -> Any:
        """Newest first, with their runs but without any big column."""
        runs = Run.objects.order_by("position").defer(*Run.BIG).prefetch_related("labels")
        return (
            self.select_related("author")
            .defer("document")
            .prefetch_related(models.Prefetch("runs", queryset=runs))
            .order_by("-created_at", "-pk")
        )


class Comparison(Named):
    """One press of Run: one run, or several side by side."""

    team = models.ForeignKey("Team", on_delete=models.CASCADE, related_name="comparisons")
    author = models.ForeignKey(
        User, null=True, on_delete=models.SET_NULL, related_name="comparisons"
    )
    author_name = models.CharField(max_length=150, blank=True)  # stays when the author goes
    visibility = models.CharField(max_length=10, choices=Visibility, default=Visibility.TEAM)
    document = models.TextField(blank=True)  # what the form posted, to restore it
    axes = models.TextField(blank=True)  # axes.Grid.to_dict() as JSON; "" where nothing multiplies
    changes = models.TextField(blank=True)  # changes.Chip lists as JSON, since the author's last
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    deleted_at = models.DateTimeField(null=True, blank=True)
    restored_at = models.DateTimeField(null=True, blank=True)  # retention counts from here
    purged_at = models.DateTimeField(null=True, blank=True)  # gone; its rows go in batches

    origin_id = models.UUIDField(default=uuid.uuid4, editable=False)  # the same in every copy

    objects = ComparisonQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "origin_id"], name="comparison_is_here_once")
        ]
        indexes = [
            models.Index(fields=["team", "-created_at", "-id"], name="comparisons_of_a_team"),
            models.Index(
                fields=["team", "deleted_at"],
                name="trash_of_a_team",
                condition=Q(deleted_at__isnull=False),
            ),
            models.Index(
                fields=["purged_at"],
                name="purged_comparisons",
                condition=Q(purged_at__isnull=False),
            ),
            models.Index(  # what a deleted person left and nobody may see
                fields=["id"],
                name="ownerless_comparisons",
                condition=Q(author=None, visibility="private"),
            ),
        ]

    def __str__(self) -> str:
        return f"comparison {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("comparison", args=[self.pk])

    @property
    def axes_value(self) -> dict[str, Any]:
        return json.loads(self.axes) if self.axes else {}

    @property
    def change_list(self) -> list[list[str]]:
        return json.loads(self.changes) if self.changes else []

    def may_be_managed_by(self, membership: Membership | None) -> bool:
        """Delete, restore, purge, share: own ones; an owner any that the team sees."""
        if membership is None or membership.team_id != self.team_id or not membership.may_run:
            return False
        team = self.visibility == Visibility.TEAM
        return self.author_id == membership.user_id or (membership.owns and team)

    def show_to(self, visibility: str) -> None:
        """To the team or to the author alone. Stars, ratings and comments stay."""
        Comparison.objects.move([self.pk], visibility=visibility)
        self.visibility = visibility

    def trash(self) -> None:
        """Live runs are stopped first: at once by the runner, where it is asked before."""
        Comparison.objects.stop([self.pk])
        Comparison.objects.move([self.pk], deleted_at=timezone.now())

    def restore(self) -> None:
        Comparison.objects.move([self.pk], deleted_at=None)

    def purge(self) -> None:
        """Gone for everybody at once, and out of the database soon (`retention.erase_batch`)."""
        Comparison.objects.filter(pk=self.pk).exclude(deleted_at=None).update(
            purged_at=timezone.now()
        )


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
        for run in whole.select_related("connection").prefetch_related("choices").order_by("pk"):
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


class Run(Named):
    """One request to one connection."""

    # Never read by lists.
    BIG = ("request", "usage", "metadata", "warnings", "lessons")

    comparison = models.ForeignKey(Comparison, on_delete=models.CASCADE, related_name="runs")
    position = models.PositiveIntegerField(default=0)  # its order in the comparison
    column = models.PositiveIntegerField(default=0)  # index of its column in the document
    coordinates = models.TextField(blank=True)  # Place.coordinates as JSON; "" where none

    # Repeated from the comparison, so that no list joins for rights. Set in `queued`, and where the
    # comparison changes (`ComparisonQuerySet.move`).
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

    error_kind = models.CharField(max_length=20, blank=True)
    error_message = models.TextField(blank=True)
    error_status = models.PositiveIntegerField(null=True)
    warnings = models.TextField(blank=True)  # one a line
    lessons = models.TextField(blank=True)  # JSON: what the backend ignored or refused
    prompt_tokens = models.PositiveBigIntegerField(null=True)
    completion_tokens = models.PositiveBigIntegerField(null=True)
    usage = models.TextField(blank=True)  # as the provider sent it
    # US dollars; None: unknown. By the price below, or the provider's own word.
    cost = models.DecimalField(max_digits=20, decimal_places=10, null=True)
    cost_is_own = models.BooleanField(default=False)  # the provider's own word
    # Dollars for a million tokens when it was asked for; a later price rewrites nothing.
    price_input = models.DecimalField(max_digits=14, decimal_places=6, null=True)
    price_cached = models.DecimalField(max_digits=14, decimal_places=6, null=True)
    price_output = models.DecimalField(max_digits=14, decimal_places=6, null=True)
    # What limits count: while it is live the most that it may take, then what it took.
    counted_tokens = models.PositiveBigIntegerField(default=0)
    counted_money = models.PositiveBigIntegerField(default=0)  # `limits.UNITS` of a dollar
    metadata = models.TextField(blank=True)
    first_token_ms = models.FloatField(null=True)  # since the request was sent
    total_ms = models.FloatField(null=True)

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

    @classmethod
    def queued(
        cls,
        comparison: Comparison,
        position: int,
        connection: Connection,
        request: CompletionRequest,
        owner: Process,
        place: Place | None = None,
    ) -> "Run":
        """An unsaved run of a comparison; without a place it is a column of its own."""
        place = place or Place(position)
        return cls(
            comparison=comparison,
            position=position,
            column=place.column,
            coordinates=json.dumps(place.coordinates) if place.coordinates else "",
            team_id=comparison.team_id,
            author_id=comparison.author_id,
            author_name=comparison.author_name,
            visibility=comparison.visibility,
            created_at=comparison.created_at,
            owner=owner,
            connection=connection,
            connection_name=connection.name,
            provider=request.provider,
            dialect=request.dialect,
            operation=request.operation,
            model=request.model,
            request=request.to_json(),
            streams=request.streams,
            prompt_preview=preview(request.prompt_text()),
        )

    def price_at(self, rates: Rates | None) -> None:
        """Note what it will be charged at; not saved."""
        if rates:
            self.price_input, self.price_output = rates.input, rates.output
            self.price_cached = rates.cached

    @property
    def rates(self) -> Rates | None:
        """What it is charged at; None where no price was known."""
        if self.price_input is None or self.price_output is None:
            return None
        return Rates(self.price_input, self.price_output, self.price_cached)

    def reserve(self, request: CompletionRequest, assumed: int) -> None:
        """Note the most that it may take, with its price; not saved. `assumed`: tokens."""
        prompt, answers = prompt_estimate(request), completion_limit(request, assumed)
        self.counted_tokens = min(prompt + answers, MOST_UNITS)
        self.counted_money = units(self.rates.most(prompt, answers)) if self.rates else 0

    @property
    def waiting(self) -> Waiting:
        return Waiting(*(getattr(self, name) for name in WAITING))

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
    def place(self) -> Place:
        """Its column and where it stands on the axes of its comparison."""
        return Place(self.column, json.loads(self.coordinates) if self.coordinates else {})

    @property
    def warning_list(self) -> list[str]:
        return self.warnings.splitlines()

    @property
    def lesson_list(self) -> list[Lesson]:
        return [Lesson(*each) for each in json.loads(self.lessons)] if self.lessons else []

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
    def usage_value(self) -> dict[str, Any] | None:
        return json.loads(self.usage) if self.usage else None

    @property
    def metadata_value(self) -> dict[str, Any]:
        return json.loads(self.metadata) if self.metadata else {}

    @property
    def tokens_per_second(self) -> float | None:
        """Of the time after the first token; None where it cannot be told."""
        if not self.completion_tokens or self.total_ms is None or self.first_token_ms is None:
            return None
        seconds = (self.total_ms - self.first_token_ms) / 1000
        return (self.completion_tokens - 1) / seconds if seconds > 0.001 else None

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


class RunEvent(models.Model):
    """A batch of stream events of a live run: a write-ahead log, gone when the run ends."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="events")
    seq = models.PositiveIntegerField()
    events = models.TextField()  # Batch.to_list() as JSON

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "seq"], name="one_event_per_run_and_seq")
        ]

    def __str__(self) -> str:
        return f"run {self.run_id} #{self.seq}"
