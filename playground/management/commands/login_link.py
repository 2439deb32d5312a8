"""`manage.py login_link USER`: a link that logs this user in once."""

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from playground.management.people import named
from playground.management.served import address
from playground.models import LoginLink, User
from playground.models.teams import LINK_LIFE


def login_line(user: User) -> str:
    """A line with a new link; scripts take the second word of it."""
    url = f"{address()}/login/{LoginLink.make(user)}/"
    return f"Open {url} (works once, for {LINK_LIFE // timedelta(minutes=1)} minutes)"


class Command(BaseCommand):
    help = "Print a link that logs a user in, once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", metavar="USER", help="the user's name")

    def handle(self, *, user: str, **options: Any) -> None:
        found = named(user)
        if not found.is_active:
            raise CommandError(f"The user {user} is not active.")
        self.stdout.write(login_line(found))
