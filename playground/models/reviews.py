"""Queues of runs to review: made from a search or a selection, shared by the team."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import Count, Exists, OuterRef, Q
from django.utils import timezone

from playground.completion import RunStatus, storable
from playground.models.among import Among
from playground.models.previews import is_preview
from playground.models.runs import Run
from playground.models.teams import Membership, User
from playground.models.visible import Visibility

LONGEST_NAME = 120  # characters
MOST = 2_000  # runs of one queue


def clean_name(text: str) -> str:
    """One line; ValidationError where nothing is left or it is too long."""
    name = " ".join(storable(text).split())
    if not name:
        raise ValidationError("Give it a name, so that the team knows what it is about.")
    if len(name) > LONGEST_NAME:
        raise ValidationError(f"A name has at most {LONGEST_NAME} characters.")
    return name


def open_to(membership: Membership, prefix: str) -> Q:
    """That the run at `prefix` may be seen there: `Run.objects.visible_in` across a join."""
    seen = Q(**{f"{prefix}visibility": Visibility.TEAM})
    seen |= Q(**{f"{prefix}author_id": membership.user_id})
    return seen & Q(**{f"{prefix}team_id": membership.team_id, f"{prefix}deleted_at": None})


REVIEWED = Q(items__skipped_at__isnull=False) | Q(items__run__rating__isnull=False)


# Kinds of runs that are in a new queue only when they are asked for, beside previews.
RATED = Q(rating__isnull=False)
WORDLESS = Q(status=RunStatus.FAILED) | Q(
    status__in=(RunStatus.CANCELLED, RunStatus.INTERRUPTED), output_preview=""
)
HIDDEN = Q(visibility=Visibility.PRIVATE)


def on_request(run_ids: Sequence[int], *, panel: bool) -> dict[str, set[int]]:
    """{name of the kind: those of these runs}; a query each. A panel leaves out previews only."""
    kinds: dict[str, Q] = {}
    if not panel:
        kinds = {"rated": RATED, "failed": WORDLESS, "private": HIDDEN & ~is_preview()}
    kinds["previews"] = is_preview()
    runs = Run.objects.filter(Among("pk", run_ids))
    return {
        name: set(runs.filter(wanted).values_list("pk", flat=True))
        for name, wanted in kinds.items()
    }


class QueueQuerySet(models.QuerySet["Queue"]):
    def visible_to(self, user: User) -> Any:
        """Those with a run that the user may see."""
        membership = user.membership()
        if membership is None:
            return self.none()
        items = QueueItem.objects.filter(open_to(membership, "run__"), queue=OuterRef("pk"))
        return self.filter(Exists(items), team_id=membership.team_id)

    def with_progress(self, user: User) -> Any:
        """With `total`, `done` and `own` (waiting for this user), of the runs they may see."""
        membership = user.membership()
        if membership is None:
            return self.none()
        seen = open_to(membership, "items__run__")
        return self.annotate(
            total=Count("items", filter=seen),
            done=Count("items", filter=seen & REVIEWED),
            own=Count("items", filter=seen & Q(items__assignee=user) & ~REVIEWED),
        )

    @transaction.atomic
    def begin(
        self, membership: Membership, name: str, run_ids: Sequence[int], query: str = ""
    ) -> "Queue":
        """Of these runs, in this order. Raises ValidationError with what is wrong."""
        ids = list(dict.fromkeys(run_ids))[:MOST]
        name = clean_name(name)
        if not ids:
            raise ValidationError("There is no run in it. Search for others, or select some.")
        queue = self.create(
            team_id=membership.team_id,
            author=membership.user,
            author_name=membership.user.get_username(),
            name=name,
            query=query[:1000],
        )
        rows = [QueueItem(queue=queue, run_id=pk, position=n) for n, pk in enumerate(ids)]
        QueueItem.objects.bulk_create(rows, batch_size=400)
        return queue


class Queue(models.Model):
    """Runs to review. A run is reviewed when somebody has rated it, or skipped it here."""

    team = models.ForeignKey("Team", on_delete=models.CASCADE, related_name="queues")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="queues"
    )
    author_name = models.CharField(max_length=150, blank=True)
    name = models.CharField(max_length=LONGEST_NAME)
    query = models.CharField(max_length=1000, blank=True)  # the search that it was made from
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = QueueQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name

    @property
    def by(self) -> str:
        return self.author.get_username() if self.author else self.author_name

    def may_be_deleted_by(self, membership: Membership | None) -> bool:
        if membership is None or membership.team_id != self.team_id:
            return False
        return membership.owns or self.author_id == membership.user_id


class QueueItemQuerySet(models.QuerySet["QueueItem"]):
    def visible_to(self, user: User) -> Any:
        """Of the runs that this user may see."""
        membership = user.membership()
        return self.none() if membership is None else self.filter(open_to(membership, "run__"))

    def waiting(self) -> Any:
        return self.filter(skipped_at=None, run__rating=None)

    def waiting_for(self, membership: Membership) -> Any:
        """Assigned to this member; of the runs that they may see."""
        mine = self.waiting().filter(assignee=membership.user_id)
        return mine.filter(open_to(membership, "run__"))

    def take(self, user: User, count: int) -> int:
        """Assign the next `count` that wait for nobody yet; how many there were."""
        free = self.waiting().filter(assignee=None).order_by("position")
        ids = list(free.values_list("pk", flat=True)[:count])
        return QueueItem.objects.filter(pk__in=ids, assignee=None).update(assignee=user)


class QueueItem(models.Model):
    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="items")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="queue_items")
    position = models.PositiveIntegerField()
    assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="queue_items"
    )
    skipped_at = models.DateTimeField(null=True)
    skipped_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )

    objects = QueueItemQuerySet.as_manager()

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["queue", "run"], name="one_item_per_queue_and_run")
        ]

    def __str__(self) -> str:
        return f"run {self.run_id} in queue {self.queue_id}"

    @property
    def state(self) -> str:
        """rated, skipped or waiting"""
        if self.run.rating is not None:
            return "rated"
        return "skipped" if self.skipped_at else "waiting"

    def skip(self, user: User | None) -> None:
        """By this user; None takes it back."""
        self.skipped_at, self.skipped_by = (timezone.now(), user) if user else (None, None)
        self.save(update_fields=["skipped_at", "skipped_by"])

    def assign(self, user: User | None) -> None:
        self.assignee = user
        self.save(update_fields=["assignee"])
