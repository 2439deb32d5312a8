"""`manage.py connection`: create or update a connection. Who has the shell is the admin."""

import ipaddress
import socket
import sys
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from playground.embedded import locked
from playground.management.database import prepare_database
from playground.models import Connection, first_start
from playground.models.connections import clean_base_url
from playground.models.keys import clean_key
from playground.providers import PROVIDERS
from playground.providers.outbound import is_public


class Command(BaseCommand):
    help = "Create or update a connection to a provider."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--provider", choices=sorted(PROVIDERS))
        parser.add_argument("--dialect", choices=[d for d in Connection.Dialect.values if d])
        parser.add_argument("--base-url", help="for example http://127.0.0.1:8080/v1")
        parser.add_argument(
            "--key-stdin", action="store_true", help="read the API key from standard input"
        )
        parser.add_argument("--model", help="the default model")
        parser.add_argument("--parallel", type=int, help="requests at once; further ones wait")

    def handle(self, **options: Any) -> None:
        with locked(settings.DATA_DIR / "prepare.lock"):
            prepare_database(self.stderr.write)
            first_start()
        try:
            key = read_key() if options["key_stdin"] else ""
            self.save(options, key)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error

    def save(self, options: dict[str, Any], key: str) -> None:
        connection = Connection.objects.filter(name=options["name"]).first()
        verb = "Updated" if connection else "Created"
        if connection is None:
            connection = Connection(name=options["name"], provider=options["provider"] or "")
        if connection.embedded:
            raise CommandError(
                "This connection belongs to the embedded backend; choose another name."
            )
        if not (options["provider"] or connection.provider):
            raise CommandError("A new connection needs --provider and --base-url.")
        before = connection.base_url
        connection.provider = options["provider"] or connection.provider
        connection.dialect = options["dialect"] or connection.dialect
        default = PROVIDERS[connection.provider].default_base_url
        connection.base_url = clean_base_url(options["base_url"] or before or default)
        connection.default_model = options["model"] or connection.default_model
        connection.parallel = options["parallel"] or connection.parallel
        connection.reaches_local = connection.reaches_local or is_local(connection.base_url)
        connection.full_clean()
        connection.save()
        if before and before != connection.base_url and (dropped := connection.drop_secrets()):
            self.stderr.write(
                f"The address has changed, so this was dropped: {', '.join(dropped)}. "
                "Give the key again with --key-stdin."
            )
        if key:
            connection.set_key(key)
        self.stdout.write(f"{verb} connection {connection.name}: {connection.base_url}")


def read_key() -> str:
    """From standard input. Raises ValidationError where that holds no key."""
    key = clean_key(sys.stdin.buffer.read().decode("utf-8", "replace"))
    if not key:
        raise ValidationError("There is no key on standard input.")
    return key


def is_local(base_url: str) -> bool:
    """Whether the address is, or resolves to, one that is not on the open internet."""
    host = urlsplit(base_url).hostname or ""
    try:
        return not is_public(str(ipaddress.ip_address(host)))
    except ValueError:
        pass
    try:
        found = socket.getaddrinfo(host, None)
    except OSError:
        return False
    return any(not is_public(str(address[4][0])) for address in found)
