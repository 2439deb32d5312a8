"""What an admin should know about keys and secrets before it hurts: expiry, rejection, loss."""

from collections.abc import Iterable
from typing import NamedTuple

from django.utils import timezone

from playground.models.connections import Connection
from playground.models.keys import ApiKey

LOST = (
    "Put the former master key back (the file secrets/master-key in the data folder, or "
    "ENCRYPTION_KEYS) and restart, or enter {what} again."
)


class Notice(NamedTuple):
    level: str  # "warn" or "err"
    connection: Connection
    text: str


def notices(connections: Iterable[Connection]) -> list[Notice]:
    """Of these connections, the gravest first."""
    found = [Notice(level, each, text) for each in connections for level, text in _of(each)]
    return sorted(found, key=lambda notice: (notice.level != "err", notice.connection.name))


def all_notices() -> list[Notice]:
    """Of every connection that is switched on. Two queries."""
    return notices(Connection.objects.filter(enabled=True).prefetch_related("keys"))


def lost_secrets() -> str:
    """What to say at the start where the master key does not fit the database; "" where it does."""
    stored = Connection.objects.prefetch_related("keys")
    names = [each.name for each in stored if each.locked or each.headers_locked]
    if not names:
        return ""
    return (
        f"The stored secrets of {', '.join(names)} cannot be decrypted: the master key is another "
        "one than they were stored under. "
    ) + LOST.format(what="them in the admin site")


def _of(connection: Connection) -> list[tuple[str, str]]:
    found = []
    if connection.locked:
        found.append(("err", "Its key cannot be decrypted. " + LOST.format(what="the key")))
    if connection.headers_locked:
        sentence = "Its extra headers cannot be decrypted. " + LOST.format(what="the headers")
        found.append(("err", sentence))
    stored = [key for key in connection.keys.all() if key.state != ApiKey.State.ERASED]
    retiring = any(_stands_in(key) for key in stored)
    for key in stored:
        if key.state == ApiKey.State.RETIRING:
            continue
        if key.expiry:
            sentence = f"The key …{key.last_four} {key.expiry}. Enter its successor before that."
            if key.days_left is not None and key.days_left < 0:
                sentence = f"The key …{key.last_four} {key.expiry}. Enter its successor."
            found.append(("err" if key.urgent else "warn", sentence))
        if key.rejected_at is not None:
            found.append(("err", _rejection(key, retiring)))
    return found


def _stands_in(key: ApiKey) -> bool:
    return (
        key.state == ApiKey.State.RETIRING
        and key.retires_at is not None
        and key.retires_at > timezone.now()
    )


def _rejection(key: ApiKey, retiring: bool) -> str:
    words = key.rejection.rstrip(".")
    sentence = f"The provider rejected the key …{key.last_four}: “{words}”. "
    if key.state == ApiKey.State.NEW:
        return sentence + "It still waits; the former key stays in use."
    if retiring:
        return sentence + "The former key stands in until its date; enter a working key before."
    return sentence + "Requests fail until a working key is entered."
