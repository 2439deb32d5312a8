"""Who may see what: rows of a team and an author, private or not, in the trash or not."""

from typing import Any

from django.db import models
from django.db.models import Q

from playground.models.teams import Membership, User


class Visibility(models.TextChoices):
    TEAM = "team"
    PRIVATE = "private"

    @property
    def other(self) -> "Visibility":
        return Visibility.PRIVATE if self is Visibility.TEAM else Visibility.TEAM

    def said(self, what: str = "it") -> str:
        """Once it is so."""
        return (
            f"The team sees {what} now." if self is Visibility.TEAM else f"Only you see {what} now."
        )


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
