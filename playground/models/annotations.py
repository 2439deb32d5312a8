"""What people say about a run: a rating each, and comments."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models, transaction
from django.db.models import Avg, Exists, OuterRef, Subquery
from django.utils import timezone

from playground.completion import storable
from playground.models.labels import Label
from playground.models.runs import Run
from playground.models.teams import Membership, User
from playground.models.visible import Named

LONGEST_COMMENT = 10_000  # characters
BEST = 5


def labels_seen_in(membership: Membership, folded: str) -> Any:
    """The team's labels that hold this text, of runs that the person may see: the name of a label
    that only others' private runs have is private too.
    """
    seen = Run.objects.visible_in(membership).filter(run_labels__label=OuterRef("pk"))
    labels = Label.objects.filter(team_id=membership.team_id, folded__contains=folded)
    return labels.filter(Exists(seen))


def clean_comment(text: str) -> str:
    """Trimmed and storable; ValidationError where nothing is left or it is too long."""
    comment = storable(text.replace("\r\n", "\n")).strip()
    if not comment:
        raise ValidationError("Write something first; an empty comment was not saved.")
    if len(comment) > LONGEST_COMMENT:
        raise ValidationError(f"A comment has at most {LONGEST_COMMENT:,} characters.")
    return comment


def clean_rating(text: str) -> int | None:
    """1 to 5; None for "", which takes a rating back."""
    if text == "":
        return None
    if text not in [str(value) for value in range(1, BEST + 1)]:
        raise ValidationError(f"A rating is a number from 1 to {BEST}.")
    return int(text)


class RatingQuerySet(models.QuerySet["Rating"]):
    @transaction.atomic
    def give(self, run: Run, user: User, value: int | None) -> None:
        """One rating a person and run; None takes it back. The run keeps the mean."""
        Run.objects.select_for_update().get(pk=run.pk)  # two at once: the later mean is right
        if value is None:
            self.filter(run=run, user=user).delete()
        else:
            self.update_or_create(run=run, user=user, defaults={"value": value})
        run.rating = self.filter(run=run).aggregate(mean=Avg("value"))["mean"]
        Run.objects.filter(pk=run.pk).update(rating=run.rating)

    @transaction.atomic
    def give_all(self, run_ids: Sequence[int], user: User, value: int | None) -> None:
        """The same for many runs at once."""
        runs = Run.objects.filter(pk__in=run_ids)
        list(runs.order_by("pk").select_for_update().values_list("pk"))
        if value is None:
            self.filter(run__in=run_ids, user=user).delete()
        else:
            self.bulk_create(
                [self.model(run_id=pk, user=user, value=value) for pk in run_ids],
                update_conflicts=True,
                unique_fields=["run", "user"],
                update_fields=["value"],
            )
        means = self.model._default_manager.filter(run=OuterRef("pk")).order_by().values("run")
        runs.update(rating=Subquery(means.annotate(mean=Avg("value")).values("mean")))


class Rating(Named):
    """1 to 5 by one person. It stays when the person is deleted."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="ratings")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="ratings"
    )
    value = models.PositiveSmallIntegerField(
        validators=[MinValueValidator(1), MaxValueValidator(BEST)]
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = RatingQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "user"], name="one_rating_per_run_and_user"),
            models.CheckConstraint(
                condition=models.Q(value__gte=1, value__lte=BEST), name="rating_from_1_to_5"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.value} for run {self.run_id}"

    @property
    def named(self) -> str:
        return self.imported_from or (self.user.get_username() if self.user else "")


class CommentQuerySet(models.QuerySet["Comment"]):
    def visible_to(self, user: User) -> Any:
        """Of the runs that this user may see."""
        return self.filter(run__in=Run.objects.visible_to(user))


class Comment(Named):
    """A note with author and time; only its author changes it."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="comments")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="comments"
    )
    author_name = models.CharField(max_length=150, blank=True)
    text = models.TextField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    edited_at = models.DateTimeField(null=True, blank=True)

    objects = CommentQuerySet.as_manager()

    class Meta:
        ordering = ["created_at", "pk"]

    def __str__(self) -> str:
        return f"comment on run {self.run_id}"

    @classmethod
    def write(cls, run: Run, user: User, text: str) -> "Comment":
        """Raises ValidationError with what is wrong."""
        return cls.objects.create(
            run=run, author=user, author_name=user.get_username(), text=clean_comment(text)
        )

    def rewrite(self, text: str) -> None:
        """Raises ValidationError with what is wrong."""
        changed = clean_comment(text)
        if changed != self.text:
            self.text, self.edited_at = changed, timezone.now()
            self.save(update_fields=["text", "edited_at"])
