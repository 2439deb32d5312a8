"""`manage.py prepare`: the database and the static files made ready, once before servers start."""

from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand

from playground.embedded import locked
from playground.management.database import prepare_database
from playground.models import first_start


class Command(BaseCommand):
    help = "Migrate the database and collect the static files, as every start does too."

    def handle(self, **options: Any) -> None:
        with locked(settings.DATA_DIR / "prepare.lock"):
            prepare_database(self.stdout.write)
            call_command("collectstatic", interactive=False, verbosity=0)
            first_start()
