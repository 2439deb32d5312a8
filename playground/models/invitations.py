"""Links by which people join a team: for one or several, for a week, revocable, stored hashed."""

import hashlib
import secrets
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models, transaction
from django.db.models import F
from django.utils import timezone

from playground.models.audit import audited, record
from playground.models.teams import Membership, Team, User

INVITATION_LIFE = timedelta(days=7)
MOST_USES = 100


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def open(self) -> "InvitationQuerySet":
        """Those by which somebody can still join."""
        return self.filter(revoked_at=None, expires_at__gt=timezone.now(), used__lt=F("most_uses"))

    def opened(self, token: str) -> "Invitation | None":
        """None for a link that is unknown, late, used up or revoked."""
        return self.open().filter(digest=_digest(token)).select_related("team").first()

    def make(
        self, team: Team, by: User, role: str, note: str = "", most_uses: int = 1
    ) -> tuple["Invitation", str]:
        """The invitation and its token, which is never shown again."""
        token = secrets.token_urlsafe(32)
        made = self.create(
            team=team,
            role=role,
            note=note,
            most_uses=most_uses,
            digest=_digest(token),
            ending=token[-4:],
            made_by=by,
            made_by_name=by.get_username(),
        )
        return made, token


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def week_from_now() -> Any:
    return timezone.now() + INVITATION_LIFE


@audited("team", "role", "note", "most_uses", "expires_at", "revoked_at")
class Invitation(models.Model):
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=10, choices=Membership.Role, default=Membership.Role.MEMBER)
    note = models.CharField("for whom", max_length=200, blank=True)  # a name or an address
    digest = models.CharField(max_length=64, unique=True, editable=False)
    ending = models.CharField(max_length=4, editable=False)  # of the token, to tell links apart
    most_uses = models.PositiveIntegerField(
        "how many may join",
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(MOST_USES)],
    )
    used = models.PositiveIntegerField(default=0, editable=False)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        editable=False,
    )
    made_by_name = models.CharField("by", max_length=150, editable=False)
    created_at = models.DateTimeField("made", default=timezone.now, editable=False)
    expires_at = models.DateTimeField("until", default=week_from_now, editable=False)
    revoked_at = models.DateTimeField(null=True, editable=False)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"invitation …{self.ending} to {self.team}"

    @property
    def state(self) -> str:
        """open, used, expired or revoked."""
        if self.revoked_at:
            return "revoked"
        if self.used >= self.most_uses:
            return "used"
        return "open" if self.expires_at > timezone.now() else "expired"

    def revoke(self) -> None:
        if self.revoked_at is None:
            self.revoked_at = timezone.now()
            self.save(update_fields=["revoked_at"])

    @transaction.atomic
    def accept(self, user: User) -> Membership | None:
        """Join the team; None where the link has just been used up. Who is in it stays as they are.

        Of two people at once one gets the last place; one in two tabs takes one place.
        """
        list(Invitation.objects.select_for_update().filter(pk=self.pk))
        present = Membership.objects.filter(team=self.team, user=user).first()
        if present is not None:
            return present
        if not Invitation.objects.open().filter(pk=self.pk).update(used=F("used") + 1):
            return None
        joined, _ = Membership.objects.get_or_create(
            team=self.team, user=user, defaults={"role": self.role}
        )
        user.current_team = self.team
        user.save(update_fields=["current_team"])
        record("joined by", self, {"person": user.get_username()})
        return joined
