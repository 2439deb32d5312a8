"""Saved views of the history: a name for a search."""

from typing import Any

from django.db import models
from django.db.models import Q

from playground.models.teams import Membership, User


class SavedViewQuerySet(models.QuerySet["SavedView"]):
    def visible_to(self, user: User) -> "SavedViewQuerySet":
        """Own ones, and those that the current team shares."""
        membership = user.membership()
        if membership is None:
            return self.none()
        return self.filter(team_id=membership.team_id).filter(Q(shared=True) | Q(author=user))

    def keep(self, membership: Membership, name: str, **values: Any) -> "SavedView":
        """Under this name; one of the same name of the same person is replaced."""
        view, _ = self.update_or_create(
            team_id=membership.team_id, author_id=membership.user_id, name=name, defaults=values
        )
        return view


class SavedView(models.Model):
    team = models.ForeignKey("Team", on_delete=models.CASCADE, related_name="saved_views")
    author = models.ForeignKey(User, on_delete=models.CASCADE, related_name="saved_views")
    name = models.CharField(max_length=80)
    query = models.CharField(max_length=2000)  # the address's query string, without the page
    shared = models.BooleanField(default=False)

    objects = SavedViewQuerySet.as_manager()

    class Meta:
        ordering = ["name", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["team", "author", "name"], name="one_view_of_a_name_per_person"
            )
        ]

    def __str__(self) -> str:
        return self.name
