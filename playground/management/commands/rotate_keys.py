"""`manage.py rotate_keys`: encrypt everything anew, under the first of ENCRYPTION_KEYS."""

from typing import Any

from cryptography.fernet import Fernet
from django.core.management.base import BaseCommand, CommandError, CommandParser

from playground.models.secrets import rotate


class Command(BaseCommand):
    help = (
        "Encrypt all stored secrets anew, under the first of ENCRYPTION_KEYS. "
        "docs/security.md says how to change the master key without a break."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--generate", action="store_true", help="print a new master key, only")
        parser.add_argument("--check", action="store_true", help="say what would be done, only")

    def handle(self, **options: Any) -> None:
        if options["generate"]:
            self.stdout.write(Fernet.generate_key().decode())
            return
        done = rotate(dry=options["check"])
        verb = "would be" if options["check"] else "were"
        self.stdout.write(
            f"{done.renewed} values {verb} encrypted anew; {done.current} were under the first "
            "key already."
        )
        if done.unreadable:
            listed = "\n  ".join(done.unreadable)
            raise CommandError(
                f"{len(done.unreadable)} values cannot be decrypted with any of the keys:\n"
                f"  {listed}\nAdd the key that they are under to ENCRYPTION_KEYS, and start this "
                "again; or enter those secrets again in the admin site."
            )
        if not options["check"] or not done.renewed:
            self.stdout.write("The other keys are not needed any more.")
