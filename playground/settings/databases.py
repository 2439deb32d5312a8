"""What `DATABASE_URL` means."""

import os
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from django.core.exceptions import ImproperlyConfigured

from playground.settings.environment import parts_of

# Who waits longer for a connection than `timeout` seconds is told that the database is away; after
# `reconnect_timeout` of failures the pool begins again at short pauses instead of ever longer ones.
POOL = {"min_size": 1, "max_size": 16, "timeout": 8, "reconnect_timeout": 5}


def database(url: str, folder: Path) -> dict[str, object]:
    """`DATABASE_URL` as Django's dictionary: postgres://user:password@host:port/name, or SQLite."""
    if not url:
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": folder / "db.sqlite3",
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                # The upkeep writes the log back; who commits does it only if nobody else does.
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                " PRAGMA wal_autocheckpoint=100000;",
            },
            # Async tests need a file: in-memory SQLite says "table is locked" with two writers.
            "TEST": {"NAME": folder / f"test-{os.getpid()}.sqlite3"},
        }
    example = "postgres://user:password@host:5432/name"
    parts = parts_of("DATABASE_URL", url, ("postgres", "postgresql"), example)
    if not parts.path.strip("/"):
        raise ImproperlyConfigured(f"DATABASE_URL must be an address such as {example}.")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.strip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": str(parts.port or ""),
        "OPTIONS": {"pool": POOL, **dict(parse_qsl(parts.query))},
    }
