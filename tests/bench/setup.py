"""Django on the database that is measured; the models may be imported only after that."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import django
from django.core.management import call_command


def configure(database: str, migrate: bool = True) -> None:
    """`database`: a DATA_DIR, or a DATABASE_URL."""
    if "://" in database:
        os.environ["DATABASE_URL"] = database
        os.environ.setdefault("DATA_DIR", tempfile.mkdtemp(prefix="playground-bench-"))
    else:
        Path(database).mkdir(parents=True, exist_ok=True)
        os.environ["DATA_DIR"] = database
        os.environ.pop("DATABASE_URL", None)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "playground.settings")
    os.environ.setdefault("LOG_LEVEL", "WARNING")
    django.setup()
    if migrate:
        call_command("migrate", verbosity=0)


def is_empty(database: str) -> bool:
    """Whether the database has no runs; asked in a process of its own."""
    code = (
        "import sys; from tests.bench.setup import configure; configure(sys.argv[1]);"
        "from playground.models import Run; sys.exit(Run.objects.exists())"
    )
    return not subprocess.run([sys.executable, "-c", code, database], check=False).returncode
