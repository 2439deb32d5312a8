"""The database made ready for this version, with a copy of the old state kept beside it."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

COPIES = 3  # kept; older ones are removed


def prepare_database(say: Callable[[str], None]) -> None:
    """Migrate, if there is anything to migrate. A used SQLite file is copied first."""
    executor = MigrationExecutor(connection)
    if not executor.migration_plan(executor.loader.graph.leaf_nodes()):
        return
    say("Preparing the database…")
    if connection.vendor == "sqlite" and executor.loader.applied_migrations:
        copy = back_up(Path(connection.settings_dict["NAME"]), settings.VERSION)
        say(f"The database before this update is kept in {copy}.")
    call_command("migrate", interactive=False, verbosity=0)


def back_up(database: Path, version: str) -> Path:
    """A copy that is whole, even while another process writes; returns its path."""
    stem = f"{database.name}.before-"
    copy = database.with_name(f"{stem}{version}-{time.strftime('%Y%m%d-%H%M%S')}")
    draft = database.with_name(f".{copy.name}")
    draft.touch(mode=0o600)
    # SQLite's own copy: the file alone lacks what is still in its write-ahead log.
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(draft)) as target:
        source.backup(target)
    draft.replace(copy)
    older = sorted(database.parent.glob(f"{stem}*"), key=lambda path: path.stat().st_mtime)
    for path in older[:-COPIES]:
        path.unlink()
    return copy
