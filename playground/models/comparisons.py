"""A comparison: one press of Run, with its runs side by side."""

import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.db import models, transaction
from django.db.models import Exists, OuterRef, Q
from django.urls import reverse
from django.utils import timezone

from playground.axes import Place
from playground.changes import changes
from playground.completion import CompletionRequest
from playground.models.connections import Connection
from playground.models.gate import check
from playground.models.labels import Label, RunLabel
from playground.models.live import LIVE
from playground.models.previews import is_preview
from playground.models.prices import PriceBook
from playground.models.processes import Process
from playground.models.runs import Run, preview
from playground.models.teams import Membership, User
from playground.models.visible import Named, Visibility, VisibleQuerySet

RECENT = timedelta(days=2)  # a last run that is older is looked for in the history


def queued(
    comparison: "Comparison",
    position: int,
    connection: Connection,
    request: CompletionRequest,
    owner: Process,
    place: Place | None = None,
) -> Run:
    """An unsaved run of a comparison; without a place it is a column of its own."""
    place = place or Place(position)
    return Run(
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
        prompt_preview=preview(request.name()),
    )


class ComparisonQuerySet(VisibleQuerySet):
    def newest_of(self, user: User) -> "Comparison | None":
        """What this person has run last, where that is not long ago; no preview."""
        runs = Run.objects.filter(~is_preview(), comparison=OuterRef("pk"))
        recent = self.visible_to(user).filter(
            Exists(runs),
            author_id=user.pk,
            deleted_at=None,
            created_at__gte=timezone.now() - RECENT,
        )
        found: Comparison | None = recent.order_by("-created_at", "-id").only("pk").first()
        return found

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
                queued(comparison, position, connection, request, owner, place)
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
        """Against what this author ran last in this team, as JSON; nothing deleted, no preview."""
        own = Run.objects.filter(team_id=membership.team_id, author_id=membership.user_id)
        newest = own.filter(~is_preview(), deleted_at=None).order_by(
            "-created_at", "-comparison", "-pk"
        )
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

    def called(self, several: bool) -> str:
        """What it is to people: a run, unless it holds more than one."""
        return f"{'Comparison' if several else 'Run'} {self.pk}"

    @property
    def title(self) -> str:
        """As `called`; reads where its runs stand. One that was replaced does not count."""
        places = self.runs.order_by().values_list("column", "coordinates").distinct()
        return self.called(len(places[:2]) > 1)

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
