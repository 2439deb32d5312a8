"""`manage.py reset_two_factor USER`: for somebody who has lost phone and recovery codes."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from playground.management.people import named
from playground.models import SecondFactor


class Command(BaseCommand):
    help = "Take a user's second factor away, so that they can set up a new one."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", metavar="USER", help="the user's name")

    def handle(self, *, user: str, **options: Any) -> None:
        factor = SecondFactor.objects.filter(user=named(user)).first()
        if factor is None:
            raise CommandError(f"The user {user} has no second factor.")
        factor.end()
        self.stdout.write(f"The second factor of {user} is gone.")
