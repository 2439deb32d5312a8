"""`manage.py import`: runs out of an export or out of llm's logs, into a team.

Exits with 1 where something of the file did not come in; it says what.
"""

import shutil
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from playground.exchange.importing import BadFile, begin, step
from playground.management.people import starter
from playground.models import Membership, first_start


class Command(BaseCommand):
    help = (
        "Import runs: the JSONL of an export, or the SQLite logs of llm. What is known is skipped."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--user", help="to whom the runs of unknown authors belong")
        parser.add_argument("--team")

    def handle(self, **options: Any) -> None:
        membership = starter(first_start(), options["user"], options["team"])
        self._import(membership, options["file"])

    def _import(self, membership: Membership, path: Path) -> None:
        if not path.is_file():
            raise CommandError(f"There is no file {path}.")

        def keep(copy: Path) -> None:
            shutil.copyfile(path, copy)
            copy.chmod(0o600)

        try:
            transfer = begin(membership, path.name, keep)
        except BadFile as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}.") from error
        while step(transfer):
            self.stderr.write(f"{transfer.runs:,} imported, {transfer.skipped:,} skipped…")
        for line, said in transfer.problem_list:
            self.stderr.write(f"Line {line}: {said}")
        more = transfer.bad - len(transfer.problem_list)
        if more:
            self.stderr.write(f"… and {more:,} more lines.")
        if transfer.error:
            self.stderr.write(transfer.error)
        self.stdout.write(
            f"Imported {transfer.runs:,} runs, skipped {transfer.skipped:,} that were there,"
            f" could not take {transfer.bad:,}."
        )
        if transfer.state != "finished" or transfer.bad or transfer.error:
            raise SystemExit(1)
