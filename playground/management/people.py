"""Who a command acts for."""

from django.core.management.base import CommandError

from playground.models import Membership, User


def named(username: str) -> User:
    user = User.objects.filter(username=username).first()
    if user is None:
        raise CommandError(f"There is no user named {username}.")
    return user


def member(admin: User, username: str | None, team: str | None) -> User:
    """The named user, in the named team for as long as the command runs; nothing is saved."""
    user = named(username) if username else admin
    if team:
        found = user.memberships.filter(team__name=team).first()
        if found is None:
            raise CommandError(f"{user} is in no team named {team}.")
        user.current_team_id = found.team_id
    elif user.membership() is None:
        raise CommandError(f"{user} is in no team.")
    return user


def starter(admin: User, username: str | None, team: str | None) -> Membership:
    """Who starts or imports runs, which reviewers may not."""
    user = member(admin, username, team)
    found = user.membership()
    if found is None or not found.may_run:
        raise CommandError(f"{user} is a reviewer and cannot start or import runs.")
    return found
