"""People and teams: who belongs where, in which role, and how they get in."""

import hashlib
import secrets
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models, transaction
from django.utils import timezone

from playground.models.audit import audited
from playground.models.connections import Connection

LINK_LIFE = timedelta(minutes=15)


@audited("name")
class Team(models.Model):
    name = models.CharField(max_length=100, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


@audited(
    "username",
    "first_name",
    "last_name",
    "email",
    "is_active",
    "is_staff",
    "is_superuser",
    "groups",
    "user_permissions",
    "may_link",
    secret=("password",),
)
class User(AbstractUser):
    """A person; runs that they start belong to their current team."""

    current_team = models.ForeignKey(
        Team, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    may_link = models.BooleanField(
        "may link a sign-in",
        default=False,
        help_text="The next sign-in through OpenID Connect with this e-mail address, verified "
        "there, becomes a sign-in of this account. Then this is switched off again.",
    )

    def membership(self) -> "Membership | None":
        """In the current team, or in the first one where that is gone."""
        memberships = self.memberships.select_related("team").order_by("pk")
        current = memberships.filter(team_id=self.current_team_id or 0).first()
        return current or memberships.first()

    @property
    def initials(self) -> str:
        names = [self.first_name, self.last_name] if self.first_name else [self.username]
        return ("".join(name[:1] for name in names if name) or "?").upper()


class LastOwner(Exception):
    """A team keeps at least one owner."""


@audited("team", "user", "role")
class Membership(models.Model):
    class Role(models.TextChoices):
        OWNER = "owner"
        MEMBER = "member"
        REVIEWER = "reviewer"

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.MEMBER)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "user"], name="one_membership_per_team")
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.team}: {self.role}"

    @property
    def may_run(self) -> bool:
        """Reviewers read, rate and comment; they do not spend."""
        return self.role != self.Role.REVIEWER

    @property
    def owns(self) -> bool:
        return self.role == self.Role.OWNER

    @transaction.atomic
    def become(self, role: str) -> None:
        """Take another role, or raise LastOwner."""
        self._keep_an_owner(role)
        self.role = role
        self.save(update_fields=["role"])

    @transaction.atomic
    def end(self) -> None:
        """Leave the team, or raise LastOwner. What they ran stays."""
        self._keep_an_owner("")
        self.delete()

    def _keep_an_owner(self, role: str) -> None:
        """Of two owners who leave at once one stays: the team's row is held meanwhile."""
        list(Team.objects.select_for_update().filter(pk=self.team_id))
        others = Membership.objects.filter(
            team_id=self.team_id, role=self.Role.OWNER, user__is_active=True
        ).exclude(pk=self.pk)
        self.refresh_from_db(fields=["role"])
        if self.owns and role != self.Role.OWNER and not others.exists():
            raise LastOwner


class LoginLink(models.Model):
    """A link that logs one person in once. Only its hash is stored."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"login link for {self.user}"

    @classmethod
    def make(cls, user: User) -> str:
        """A new token for the address `/login/<token>/`."""
        token = secrets.token_urlsafe(32)
        cls.objects.filter(created_at__lt=timezone.now() - LINK_LIFE).delete()
        cls.objects.create(user=user, digest=cls._digest(token))
        return token

    @classmethod
    def redeem(cls, token: str) -> User | None:
        """The user, once; None for a used, old or unknown token. Two browsers at once: one wins."""
        links = cls.objects.filter(
            digest=cls._digest(token),
            used_at=None,
            created_at__gt=timezone.now() - LINK_LIFE,
            user__is_active=True,
        )
        if not links.update(used_at=timezone.now()):
            return None
        return cls.objects.select_related("user").get(digest=cls._digest(token)).user

    @classmethod
    def whose(cls, token: str) -> User | None:
        """Of a link that is kept, also when it is used or late."""
        link = cls.objects.select_related("user").filter(digest=cls._digest(token)).first()
        return link.user if link else None

    @staticmethod
    def _digest(token: str) -> str:
        return hashlib.sha256(token.encode()).hexdigest()


def free_name(base: str) -> str:
    """`base`, or with a number behind it where somebody is called so, in whatever case."""
    name, number = base, 1
    while User.objects.filter(username__iexact=name).exists():
        number += 1
        name = f"{base}-{number}"
    return name


@transaction.atomic
def first_start() -> User:
    """The first admin; made with a team and the embedded connection where there is none yet, or
    none that is active."""
    admin = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    if admin is None:
        team = Team.objects.order_by("pk").first() or Team.objects.create(name="Team")
        name = free_name("admin")
        admin = User(username=name, is_staff=True, is_superuser=True, current_team=team)
        admin.set_unusable_password()
        admin.save()
        Membership.objects.create(team=team, user=admin, role=Membership.Role.OWNER)
    if settings.EMBEDDED:
        Connection.objects.ensure_embedded()
    return admin
