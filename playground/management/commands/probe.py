"""`manage.py probe CONNECTION`: fill the memory of what a backend ignores or refuses."""

import asyncio
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from playground.lessons import Lesson
from playground.models import Connection
from playground.parameters import OPERATIONS
from playground.probe import probe
from playground.providers import ProviderError, outbound


class Command(BaseCommand):
    help = "Send one small request a parameter, and remember what was ignored or refused."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("connection")
        parser.add_argument("--operation", choices=OPERATIONS, default=OPERATIONS[0])
        parser.add_argument("--model", default="")

    def handle(self, **options: Any) -> None:
        connection = Connection.objects.filter(name=options["connection"]).first()
        if connection is None:
            raise CommandError(f"There is no connection named {options['connection']}.")
        try:
            learned = asyncio.run(asked(connection, options["operation"], options["model"]))
        except ProviderError as error:
            raise CommandError(error.message) from error
        for path, kind, sentence in learned:
            self.stdout.write(f"{path}: {kind}. {sentence}")
        self.stdout.write(f"{len(learned)} things learned.")


async def asked(connection: Connection, operation: str, model: str) -> list[Lesson]:
    try:
        return await probe(connection, operation, model)
    finally:
        await outbound.close()
