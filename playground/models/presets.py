"""Presets: parameters under a name, of one person, shared with the team where they say so."""

import json
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, models, transaction
from django.db.models import Q, Value
from django.db.models.functions import Lower
from django.utils import timezone

from playground.models.teams import Team, User

LONGEST_NAME = 60  # characters
MOST = 200  # presets of one person
BIGGEST = 256 * 1024  # characters of all parameters of one preset


class PresetQuerySet(models.QuerySet["Preset"]):
    def visible_to(self, user: User) -> "PresetQuerySet":
        """One's own, and what others share with the current team."""
        membership = user.membership()
        shared = Q(shared=True, team_id=membership.team_id) if membership else Q(pk=None)
        return self.filter(Q(author=user) | shared)

    def listed(self) -> "PresetQuerySet":
        return self.select_related("author").order_by(Lower("name"), "pk")

    def keep(self, user: User, name: str, settings: Mapping[str, Any], shared: bool) -> "Preset":
        """Save under a name; one's own preset of that name is replaced. Raises ValidationError."""
        name = clean_name(name)
        text = json.dumps(settings)
        if len(text) > BIGGEST:
            raise ValidationError("A preset holds at most 256 kB; this is more.")
        try:
            with transaction.atomic():
                return self._put(user, name, text, shared)
        except IntegrityError:  # another tab has just saved the first one of this name
            return self._put(user, name, text, shared)

    def called(self, name: str) -> "PresetQuerySet":
        """In whatever case, as the database compares names."""
        return self.alias(lower=Lower("name")).filter(lower=Lower(Value(name)))

    def _put(self, user: User, name: str, text: str, shared: bool) -> "Preset":
        mine = self.filter(author=user)
        found = mine.called(name).first() or Preset(author=user)
        if found.pk is None and mine.count() >= MOST:
            raise ValidationError(f"You have {MOST} presets; delete one first.")
        found.name, found.settings = name, text
        found.share(user, shared)
        found.save()
        return found


def clean_name(name: str) -> str:
    """Raises ValidationError with a sentence."""
    name = " ".join(name.split())
    if not name:
        raise ValidationError("Give the preset a name.")
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise ValidationError(f"A name has at most {LONGEST_NAME} characters, all of them visible.")
    return name


class Preset(models.Model):
    """`settings`: `{"values": {path: raw}, "extra": text, "headers": text}`."""

    author = models.ForeignKey(User, on_delete=models.CASCADE, related_name="presets")
    team = models.ForeignKey(
        Team, null=True, on_delete=models.SET_NULL, related_name="presets"
    )  # that it is shared with
    shared = models.BooleanField(default=False)
    name = models.CharField(max_length=LONGEST_NAME)
    settings = models.TextField()
    saved_at = models.DateTimeField(auto_now=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = PresetQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint("author", Lower("name"), name="one_preset_of_a_name")
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def settings_value(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.settings)
        return found

    def share(self, user: User, shared: bool) -> None:
        """With the current team of the person, or with nobody; unsaved."""
        membership = user.membership() if shared else None
        self.shared, self.team = membership is not None, membership.team if membership else None

    def rename(self, name: str) -> None:
        """Raises ValidationError where the name will not do or another preset has it."""
        self.name = clean_name(name)
        try:
            with transaction.atomic():
                self.save(update_fields=["name", "saved_at"])
        except IntegrityError:
            raise ValidationError(f"You have another preset called “{self.name}”.") from None
