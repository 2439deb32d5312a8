"""`manage.py rebuild_statistics`: count the roll-up of the statistics anew, from all runs."""

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from playground.models import Block, Run, Stale, Tally

STEP = 240  # quarters of one transaction


class Command(BaseCommand):
    help = (
        "Count the roll-up of the statistics anew. Never needed while the playground runs; it is "
        "after rows were changed with the database's triggers off, and where the notes of a "
        "release ask for it. Pages stay right meanwhile."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--missing", action="store_true", help="only what has changed since it was counted"
        )

    def handle(self, **options: Any) -> None:
        if not options["missing"]:
            Stale.objects.mark_all()
        quarters = 0
        while some := Stale.objects.roll_up(step=STEP):
            quarters += some
        while Block.objects.build(rest=timedelta()):
            pass
        self.stdout.write(
            f"{quarters:,} quarters of an hour were counted: {Run.objects.count():,} runs in "
            f"{Tally.objects.count():,} rows."
        )
