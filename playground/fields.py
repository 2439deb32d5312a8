"""An encrypted text field. The database alone is worthless: the keys live in the environment."""

from functools import lru_cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db import models


class Unreadable(str):
    """Stands for a value that none of our keys decrypts: falsy text, so the app goes on without.

    It keeps what is stored, so that saving the row does not destroy it.
    """

    token: str

    def __new__(cls, token: str = "") -> "Unreadable":
        self = super().__new__(cls, "")
        self.token = token
        return self


@lru_cache(maxsize=8)
def _cipher(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])


def cipher() -> MultiFernet:
    """Encrypts with the newest of `ENCRYPTION_KEYS`, decrypts with any of them."""
    return _cipher(tuple(settings.ENCRYPTION_KEYS))


SEALED = "encrypted:"  # marks a token in what `dumpdata` writes and `loaddata` reads


class EncryptedTextField(models.TextField):
    """Plain text in Python, a Fernet token in the database and in dumps; empty stays empty."""

    def value_to_string(self, obj: models.Model) -> str:
        token = self.get_prep_value(self.value_from_object(obj))
        return f"{SEALED}{token}" if token else ""

    def to_python(self, value: Any) -> Any:
        if isinstance(value, str) and value.startswith(SEALED):
            return self.from_db_value(value.removeprefix(SEALED))
        return super().to_python(value)

    def get_prep_value(self, value: Any) -> Any:
        if isinstance(value, Unreadable):
            return value.token
        text = super().get_prep_value(value)
        return cipher().encrypt(text.encode()).decode() if text else text

    def from_db_value(self, value: str | None, *_: object) -> str | None:
        if not value:
            return value
        try:
            return cipher().decrypt(value.encode()).decode()
        except InvalidToken:
            return Unreadable(value)
