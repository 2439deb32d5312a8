"""Who a command acts for."""

from django.core.management.base import CommandError

from playground.models import User


def member(admin: User, username: str | None, team: str | None) -> User:
    """The named user, in the named team for as long as the command runs; nothing is saved."""
    user = User.objects.filter(username=username).first() if username else admin
    if user is None:
        raise CommandError(f"There is no user named {username}.")
    if team:
        found = user.memberships.filter(team__name=team).first()
        if found is None:
            raise CommandError(f"{user} is in no team named {team}.")
        user.current_team_id = found.team_id
    elif user.membership() is None:
        raise CommandError(f"{user} is in no team.")
    return user
