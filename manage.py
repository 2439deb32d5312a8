#!/usr/bin/env python
"""Django's command line."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db.utils import OperationalError
from twisted.internet import asyncioreactor

from playground import __version__

try:
    import uvloop as loops
except ImportError:  # there is none for Windows
    import asyncio as loops  # type: ignore[no-redef]


def install_event_loop() -> None:
    """Before Daphne, which Django loads first of all, makes a slower one."""
    if sys.argv[1:2] == ["start"]:
        asyncioreactor.install(loops.new_event_loop())  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "playground.settings")
    if sys.argv[1:] == ["--version"]:  # ours; Django's would be said
        print(__version__)
        sys.exit()
    install_event_loop()
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:  # a sentence for whoever set the variable
        sys.exit(str(error))
    except OperationalError as error:
        if "--traceback" in sys.argv:
            raise
        sys.exit(f"The database cannot be used: {error}")
