"""Drafts: what stands in a form and has not been run, of one person, on the server.

The working draft is the form of the compose page; it goes on when something is run from it. A
comparison that was opened and edited has a draft of its own, so that looking at an old run never
costs what one was writing. Replaced drafts are kept for a while.
"""

from typing import Any

from django.db import IntegrityError, models, transaction
from django.db.models import F, Q
from django.utils import timezone

from playground.models.comparisons import Comparison
from playground.models.teams import User

MOST_KEPT = 10  # replaced drafts of one person
MOST_PAGES = 20  # edited comparisons of one person


class DraftQuerySet(models.QuerySet["Draft"]):
    def of(self, user: User, page: Comparison | None) -> "Draft | None":
        """The present draft of the compose page (None) or of a comparison."""
        return self.filter(user=user, page=page, kept=False).first()

    def kept_by(self, user: User) -> "DraftQuerySet":
        return self.filter(user=user, kept=True).order_by("-saved_at", "-pk")

    def put(
        self, user: User, page: Comparison | None, document: str, version: int, **more: Any
    ) -> "Draft | None":
        """Save over version `version` (0: there is none yet); None where it is another by now.

        What stands there already is no conflict, whatever its version.

        `more`: `ran`, the comparison that was last run from this form; `keep`, whether what is
        replaced stays among the kept drafts.
        """
        keep = more.pop("keep", False)
        with transaction.atomic():
            found = self.select_for_update().filter(user=user, page=page, kept=False).first()
            if found and found.document == document and found.version != version:
                self.filter(pk=found.pk).update(**more)
                return found
            if (found.version if found else 0) != version:
                return None
            if found is None:
                return self._first(user, page, document, more)
            if keep and found.document != document:
                self.create(user=user, kept=True, document=found.document, saved_at=found.saved_at)
            changed = self.filter(pk=found.pk, version=version).update(
                document=document, version=F("version") + 1, saved_at=timezone.now(), **more
            )
            if not changed:
                return None
            self._forget_the_oldest(user)
        found.refresh_from_db()
        return found

    def set_aside(self, user: User, document: str) -> None:
        """Among the kept drafts, unless a draft holds just this."""
        if not self.filter(user=user, document=document).exists():
            self.create(user=user, kept=True, document=document)
            self._forget_the_oldest(user)

    def _first(
        self, user: User, page: Comparison | None, document: str, more: dict[str, Any]
    ) -> "Draft | None":
        try:
            with transaction.atomic():
                made = self.create(user=user, page=page, document=document, version=1, **more)
        except IntegrityError:  # another tab was first
            return None
        self._forget_the_oldest(user)
        return made

    def _forget_the_oldest(self, user: User) -> None:
        kept = self.kept_by(user).values_list("pk", flat=True)
        pages = self.filter(user=user, kept=False).exclude(page=None).order_by("-saved_at", "-pk")
        old = [*kept[MOST_KEPT:], *pages.values_list("pk", flat=True)[MOST_PAGES:]]
        if old:
            self.filter(pk__in=old).delete()


class Draft(models.Model):
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="drafts")
    page = models.ForeignKey(Comparison, null=True, on_delete=models.CASCADE, related_name="drafts")
    ran = models.ForeignKey(Comparison, null=True, on_delete=models.SET_NULL, related_name="+")
    kept = models.BooleanField(default=False)
    document = models.TextField()  # as the form posts it
    version = models.PositiveIntegerField(default=1)
    saved_at = models.DateTimeField(default=timezone.now)

    objects = DraftQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user"], condition=Q(page=None, kept=False), name="one_working_draft"
            ),
            models.UniqueConstraint(
                fields=["user", "page"], condition=Q(kept=False), name="one_draft_of_a_comparison"
            ),
        ]

    def __str__(self) -> str:
        return f"draft of {self.user}"
