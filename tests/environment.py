"""Loaded before Django's settings: a data folder of the test run's own, and small limits."""

import os
import tempfile
from pathlib import Path

DATA = Path(tempfile.mkdtemp(prefix="playground-tests-"))
for name in ("PUBLIC_URL", "SECRET_KEY", "ENCRYPTION_KEYS", "HOST", "PORT"):
    os.environ.pop(name, None)
os.environ.update(DATA_DIR=str(DATA), EMBEDDED="0", DJANGO_SETTINGS_MODULE="playground.settings")
