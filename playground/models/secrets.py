"""Every encrypted value of the database, whichever model it is in: counted, encrypted anew."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from cryptography.fernet import Fernet, InvalidToken
from django.apps import apps
from django.conf import settings
from django.db import models
from django.db.models.functions import Cast

from playground.fields import EncryptedTextField, Unreadable, cipher

BATCH = 200  # rows read at once; each value is written alone


class Column(NamedTuple):
    model: type[models.Model]
    name: str


@dataclass
class Rotation:
    """What was done, or would be."""

    renewed: int = 0
    current: int = 0  # under the first key already
    unreadable: list[str] = field(default_factory=list)  # which none of the keys decrypts


def encrypted_columns() -> list[Column]:
    """Found by the kind of field, so that nobody has to remember a new one."""
    return [
        Column(model, each.name)
        for model in apps.get_models()
        for each in model._meta.local_fields
        if isinstance(each, EncryptedTextField)
    ]


def rotate(dry: bool = False) -> Rotation:
    """Encrypt under the first of `ENCRYPTION_KEYS` whatever is under another one.

    Can be interrupted and started again at any time, while the playground runs: a value is written
    only where it is still the one that was read.
    """
    done = Rotation()
    first = Fernet(settings.ENCRYPTION_KEYS[0])
    for column in encrypted_columns():
        for pk, token in _tokens(column):
            if _decrypts(first, token):
                done.current += 1
                continue
            try:
                renewed = cipher().rotate(token.encode()).decode()
            except InvalidToken:
                done.unreadable.append(f"{column.model._meta.verbose_name} {pk} ({column.name})")
                continue
            if not dry:
                _replace(column, pk, token, renewed)
            done.renewed += 1
    return done


def _decrypts(key: Fernet, token: str) -> bool:
    try:
        key.decrypt(token.encode())
    except InvalidToken:
        return False
    return True


def _tokens(column: Column) -> Iterator[tuple[int, str]]:
    """(primary key, what is stored), a batch of rows at a time."""
    rows = column.model._base_manager.annotate(stored=Cast(column.name, models.TextField()))
    rows = rows.exclude(stored="").exclude(stored=None).order_by("pk")
    last = None
    while True:
        batch = rows if last is None else rows.filter(pk__gt=last)
        found = list(batch.values_list("pk", "stored")[:BATCH])
        yield from found
        if len(found) < BATCH:
            return
        last = found[-1][0]


def _replace(column: Column, pk: int, before: str, after: str) -> None:
    """`Unreadable` goes into the database as the token that it holds."""
    same = column.model._base_manager.filter(pk=pk, **{column.name: Unreadable(before)})
    same.update(**{column.name: Unreadable(after)})
