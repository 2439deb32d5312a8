"""`manage.py parameters`: the reference of all parameters as Markdown."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from playground.reference import markdown

PAGE = "docs/parameters.md"


class Command(BaseCommand):
    help = f"Prints the reference of all parameters, or writes {PAGE}."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        group = parser.add_mutually_exclusive_group()
        group.add_argument("--write", action="store_true", help=f"write {PAGE}")
        group.add_argument("--check", action="store_true", help=f"fail if {PAGE} is out of date")

    def handle(self, *args: Any, **options: Any) -> None:
        page = settings.BASE_DIR / PAGE
        text = markdown()
        if options["write"]:
            page.write_text(text, encoding="utf-8")
        elif not options["check"]:
            self.stdout.write(text, ending="")
        elif not page.exists() or page.read_text(encoding="utf-8") != text:
            raise CommandError(f"{PAGE} is out of date: run manage.py parameters --write.")
