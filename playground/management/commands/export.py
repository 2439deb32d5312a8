"""`manage.py export`: the runs that a person may see, as a file."""

import sqlite3
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from playground.exchange.exporting import NAMES, write_file, written
from playground.management.people import member
from playground.models import first_start
from playground.models.walk import Selection

SAID = 1000  # runs between two words about the progress


class Command(BaseCommand):
    _said = 0  # runs
    help = "Write the runs that a person may see to a file, or to standard output."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE|-", help="where to; - is standard output")
        parser.add_argument("--layout", choices=sorted(NAMES), default="jsonl")
        parser.add_argument("--query", default="", help="as in the search box of the history")
        parser.add_argument("--mine", action="store_true", help="only the person's own runs")
        parser.add_argument("--user")
        parser.add_argument("--team")

    def handle(self, **options: Any) -> None:
        user = member(first_start(), options["user"], options["team"])
        selection = Selection.now(typed=options["query"], mine=options["mine"])
        for problem in selection.query.problems:
            raise CommandError(problem.sentence)
        try:
            if options["layout"] == "sqlite":
                count = self._sqlite(user, selection, options["file"])
            else:
                count = self._text(user, selection, options)
        except (OSError, sqlite3.OperationalError) as error:
            said = getattr(error, "strerror", None) or error
            raise CommandError(f"{options['file']} cannot be written: {said}.") from error
        self.stderr.write(f"Exported {count:,} runs.")

    def _sqlite(self, user: Any, selection: Selection, name: str) -> int:
        path = Path(name)
        if name == "-" or path.exists():
            raise CommandError("An SQLite export needs the name of a file that is not there yet.")
        count = 0
        for count in write_file(user, selection, path):
            self._say(count)
        return count

    def _text(self, user: Any, selection: Selection, options: dict[str, Any]) -> int:
        count = 0
        to_file = options["file"] != "-"
        out = Path(options["file"]).open("wb") if to_file else sys.stdout.buffer  # noqa: SIM115
        try:
            for piece, count in written(user, selection, options["layout"]):
                out.write(piece)
                self._say(count)
            out.flush()
        finally:
            if to_file:
                out.close()
        return count

    def _say(self, count: int) -> None:
        if count // SAID > self._said // SAID:
            self._said = count
            self.stderr.write(f"{count:,} runs…")
