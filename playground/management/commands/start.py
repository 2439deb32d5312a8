"""`manage.py start`: prepares DATA_DIR, prints a login link, and serves until it is told to stop.

Runs Daphne's `Server` itself, because Daphne neither waits for our runs when it is told to stop
nor tells them.
"""

import asyncio
import contextvars
import errno
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from channels.routing import get_default_application
from daphne.endpoints import build_endpoint_description_strings
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser
from django.db import connections

from playground.bodies import BoundedServer
from playground.embedded import (
    EmbeddedBackend,
    EmbeddedError,
    ensure_model,
    is_installed,
    locked,
)
from playground.management import supervisor
from playground.management.commands.login_link import login_line
from playground.management.database import prepare_database
from playground.management.served import remember
from playground.memory import few_arenas, give_back, settle
from playground.models import first_start
from playground.models.notices import lost_secrets
from playground.runner import runner
from playground.upkeep import Upkeep

logger = logging.getLogger(__name__)

FLUSH_SECONDS = 20  # for the last texts to reach the database, after the runs were interrupted
END_SECONDS = 15  # for what is left after that
# `make` passes a SIGTERM on to a process group that had it already: one stop, not two.
SAME_SIGNAL_SECONDS = 0.5
ENDINGS = (signal.SIGINT, signal.SIGTERM)

# The signals that came. No Event: a second signal could wait for its lock for ever.
told: list[int] = []


class Command(BaseCommand):
    help = "Prepare the data folder, print a login link and serve the playground."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--no-link", action="store_true", help="print no login link")

    def handle(self, *, no_link: bool, **options: Any) -> None:
        few_arenas()
        # Until the server runs, a SIGTERM ends this as Ctrl+C does: with everything cleaned up.
        for number in ENDINGS:
            signal.signal(number, interrupt)
        with suppress(KeyboardInterrupt):
            check_port(settings.HOST, settings.PORT)
            with locked(settings.DATA_DIR / "prepare.lock"):
                prepare_database(self.say)
                self.say("Preparing the pages…")
                call_command("collectstatic", interactive=False, verbosity=0)
            remember()
            admin = first_start()
            if lost := lost_secrets():
                self.say(lost)
            with self.embedded_backend():
                if not no_link:
                    self.say(login_line(admin))
                connections.close_all()
                Serving().run()

    def say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()

    @contextmanager
    def embedded_backend(self) -> Iterator[None]:
        backend = self.start_embedded() if settings.EMBEDDED else None
        if backend is None:
            yield
            return
        stopped = threading.Event()
        threading.Thread(target=watch, args=(backend, stopped), daemon=True).start()
        try:
            yield
        finally:
            stopped.set()
            backend.release()

    def start_embedded(self) -> EmbeddedBackend | None:
        """None, and a sentence why, where there is none to be had: the rest works without it."""
        if not is_installed():
            self.say(
                "Going on without the embedded model: llama.cpp is not built for this machine."
            )
            return None
        if ensure_model(settings.DATA_DIR, self.say) is None:
            return None
        self.say("Starting the embedded model…")
        backend = EmbeddedBackend(settings.DATA_DIR)
        try:
            backend.acquire()
        except (EmbeddedError, OSError) as error:
            self.say(f"Going on without the embedded model. {error}")
            return None
        return backend


def watch(backend: EmbeddedBackend, stopped: threading.Event) -> None:
    while not stopped.wait(1):
        try:
            backend.watch()
        except OSError:
            logger.exception("The embedded model could not be watched.")


def check_port(host: str, port: int) -> None:
    """Said before anything slow is done. The port can still be taken before it is listened on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        raise SystemExit(port_sentence(host, port, error.errno)) from error


def port_sentence(host: str, port: int, error: int | None) -> str:
    if error == errno.EADDRINUSE:
        other = port + 1 if port < 65535 else 8000
        return f"Port {port} is taken by another program; choose another, such as PORT={other}."
    if error == errno.EACCES:
        return f"Port {port} needs administrator rights; choose one above 1023, such as PORT=8000."
    return f"HOST={host} is not an address of this machine; choose 127.0.0.1 or 0.0.0.0."


# Seconds for which a busy thread (a bulk job, an export) keeps the interpreter while the loop and
# the recorder wait for it; they wait many times in each tick. Python's own 5 ms make streams stall.
TURN = 0.0005


def interrupt(number: int, frame: FrameType | None) -> None:
    """As Ctrl+C; where Python swallows that, as within a finalizer, it is noted all the same."""
    told.append(number)
    raise KeyboardInterrupt


class Serving:
    """Daphne's server in the main thread, with SIGTERM and Ctrl+C in our own hands."""

    def __init__(self) -> None:
        # Loaded now and not at the top: static files are looked up when it is made, and on a first
        # start they have only just been collected.
        self.server = BoundedServer(
            get_default_application(),
            endpoints=build_endpoint_description_strings(settings.HOST, settings.PORT),
            signal_handlers=False,
            websocket_timeout=-1,  # goes by a clock that may jump, and a page may stay open
            ready_callable=self.get_ready,
        )
        self.ready = False
        self.stopping: asyncio.Task[None] | None = None
        self.stopping_since = 0.0

    def run(self) -> None:
        sys.setswitchinterval(TURN)
        self.server.run()
        for number in ENDINGS:
            signal.signal(number, signal.SIG_DFL)  # the loop that handled them is over
        if not self.server.listening_addresses:
            raise SystemExit(port_sentence(settings.HOST, settings.PORT, errno.EADDRINUSE))

    def get_ready(self) -> None:
        """Called with the port open and the loop not running: pages wait for `bind`.

        So the runs of a dead server are closed before the first page can show them. A SIGTERM
        meanwhile still ends the start.
        """
        self.loop = asyncio.get_event_loop()
        for number in ENDINGS:
            signal.signal(number, self.heard)
        self.loop.run_until_complete(self.bind())
        if told:
            raise KeyboardInterrupt
        self.ready = True
        self.upkeep = self.loop.create_task(Upkeep().run(), context=contextvars.Context())
        self.thrift = self.loop.create_task(give_back(), context=contextvars.Context())
        settle()
        supervisor.ready()

    async def bind(self) -> None:
        binding = asyncio.ensure_future(runner.bind())
        while not binding.done() and not told:
            await asyncio.wait([binding], timeout=0.05)
        if binding.done():
            binding.result()

    def heard(self, number: int, frame: FrameType | None) -> None:
        """Not by `add_signal_handler`: uvloop loses what comes while it does not run, and between
        `bind` and the server it does not."""
        told.append(number)
        self.loop.call_soon_threadsafe(self.look)

    def look(self) -> None:
        if self.ready:
            self.signalled()

    def signalled(self) -> None:
        """The first signal lets runs finish for DRAIN_SECONDS; a second one does not wait."""
        now = time.monotonic()
        if self.stopping is None:
            if settings.DRAIN_SECONDS:
                logger.info(
                    "Stopping: running requests have %d seconds; a second signal ends them now.",
                    settings.DRAIN_SECONDS,
                )
            self.stop_within(settings.DRAIN_SECONDS)
            self.stopping_since = now
        elif now - self.stopping_since > SAME_SIGNAL_SECONDS:
            self.stopping.cancel()
            self.stop_within(0)

    def stop_within(self, seconds: float) -> None:
        self.stopping = self.loop.create_task(self.stop(seconds), context=contextvars.Context())

    async def stop(self, seconds: float) -> None:
        self.upkeep.cancel()
        self.thrift.cancel()
        longest = seconds + FLUSH_SECONDS + END_SECONDS
        supervisor.stopping(longest, "Lets running requests end, then stops")
        try:
            async with asyncio.timeout(seconds + FLUSH_SECONDS):
                if await runner.has_company():
                    # The proxy goes to the others; alone, this one still answers for its pages.
                    self.server.close_door()
                await runner.drain(seconds)
        except Exception:
            logger.exception("The running requests could not be ended in order.")
        # Not reached by a task that the second signal cancelled: its successor gets here.
        last = threading.Timer(END_SECONDS, end_now)
        last.daemon = True
        last.start()
        self.server.stop()


def end_now() -> None:
    """Everything is saved; what does not let go, such as a view that waits for a dead database,
    must not keep the process for ever."""
    logger.error("Something does not end; the process does.")
    os._exit(1)
