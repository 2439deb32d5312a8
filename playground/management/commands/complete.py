"""`manage.py complete`: one completion through the same runner, kept in the same history."""

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urljoin

import orjson
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from playground.building import Built, build, with_stream
from playground.database import in_thread
from playground.embedded import EmbeddedBackend, EmbeddedError, ensure_model, is_installed, locked
from playground.forms import read_labels
from playground.inputs import Given, Problem
from playground.management.database import prepare_database
from playground.management.people import starter
from playground.management.served import address
from playground.models import Connection, Membership, OverLimit, Run, first_start
from playground.parameters import PARAMETERS, Api
from playground.providers import ProviderError
from playground.runner import runner
from playground.targets import list_models

LOOK = 0.05  # seconds between two looks at the log


class Command(BaseCommand):
    help = "Run one completion and keep it in history. Standard output is only its text."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("prompt", metavar="PROMPT|-", help="the prompt, or - to read it")
        parser.add_argument("--connection", required=True)
        parser.add_argument("--user")
        parser.add_argument("--team")
        parser.add_argument("--chat", action="store_true", help="send it as one user message")
        parser.add_argument("--model")
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="PATH=VALUE",
            help="a parameter, its value as JSON or else as text",
        )
        parser.add_argument("--label", action="append", default=[])
        parser.add_argument("--force", action="store_true", help="send what is out of bounds too")
        parser.add_argument("--json", action="store_true", help="print the finished record")

    def handle(self, **options: Any) -> None:
        logging.getLogger("playground").setLevel(logging.WARNING)
        with locked(settings.DATA_DIR / "prepare.lock"):
            prepare_database(self.stderr.write)
            admin = first_start()
        membership = starter(admin, options["user"], options["team"])
        connections = Connection.objects.usable_by(membership.team_id)
        connection = connections.filter(name=options["connection"]).first()
        if connection is None:
            raise CommandError(f"There is no connection named {options['connection']} here.")
        prompt = read_prompt() if options["prompt"] == "-" else options["prompt"]
        try:
            with embedded_backend(connection, self.stderr.write):
                run = asyncio.run(self.complete(membership, connection, prompt, options))
        except BrokenPipeError:  # as in `| head`
            # Python's own last flush would say it again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(1) from None
        except KeyboardInterrupt:  # before there was a run
            raise SystemExit(1) from None
        if options["json"]:
            self.stdout.write(json.dumps(record(run), ensure_ascii=False))
        elif run.error_message:
            self.stderr.write(run.error_message)
        if run.status != "completed":
            raise SystemExit(1)

    async def complete(
        self, membership: Membership, connection: Connection, prompt: str, options: dict[str, Any]
    ) -> Run:
        await runner.bind()
        try:
            built = await self.built(connection, prompt, options)
            for warning in built.warnings:
                self.stderr.write(warning)
            if built.request is None:
                raise CommandError(refusal(built.errors))
            asked = asyncio.Event()
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, asked.set)
            try:
                comparison = await runner.start(membership, [(connection, built.request)])
            except OverLimit as error:
                raise CommandError(str(error)) from error
            run = await comparison.runs.aget()
            stopping = asyncio.create_task(stop_when(asked, run))
            written = await self.follow(run, quiet=options["json"])
            stopping.cancel()
        finally:
            await runner.drain(0)
        ended: Run = await Run.objects.prefetch_related("choices").aget(pk=run.pk)
        if not options["json"]:
            self.rest(ended, written)
        return ended

    async def follow(self, run: Run, quiet: bool) -> int:
        """Write the text of the first choice as it is saved; how many characters that were."""
        ended = asyncio.create_task(runner.wait([run.pk]))
        cursor = written = 0
        while not ended.done():
            await asyncio.wait([ended], timeout=LOOK)
            for seq, events in await in_thread(run.log_after, cursor):
                cursor = seq
                text = "" if quiet else first_text(events)
                try:
                    self.write(text)
                except BrokenPipeError:
                    await runner.stop(run)  # nobody reads on
                    await ended
                    raise
                written += len(text)
        await ended
        return written

    async def built(self, connection: Connection, prompt: str, options: dict[str, Any]) -> Built:
        operation = "chat" if options["chat"] else "completions"
        api = Api(connection.provider, connection.dialect, operation)
        labels, problems = read_labels(options["label"])
        if problems:
            raise CommandError(" ".join(problem.message for problem in problems))
        return build(
            connection,
            operation,
            model=options["model"] or await self.default_model(connection),
            given=Given(prompt),
            raw_values=with_stream(api, values(options["set"])),
            labels=labels,
            force=options["force"],
        )

    async def default_model(self, connection: Connection) -> str:
        """The connection's own, else the first that is listed, else none."""
        if connection.default_model:
            return connection.default_model
        try:
            return next(iter(await list_models(connection)), "")
        except ProviderError as error:
            # The request may work without one; if it does not, the run says why, and is kept.
            self.stderr.write(f"The models could not be listed. {error.message}")
            return ""

    def rest(self, run: Run, written: int) -> None:
        """Whatever did not come live: all of an answer in one piece, and the further choices."""
        choices = list(run.choices.all())
        if choices and choices[0].index == 0:
            self.write(choices.pop(0).text[written:])
        for choice in choices:
            self.write(f"\n{choice.text}")

    def write(self, text: str) -> None:
        self.stdout.write(text, ending="")
        self.stdout.flush()


async def stop_when(asked: asyncio.Event, run: Run) -> None:
    await asked.wait()
    await runner.stop(run)


def read_prompt() -> str:
    """Standard input as it is: line ends are part of the prompt."""
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError:
        raise CommandError("The prompt on standard input is not UTF-8 text.") from None


def refusal(problems: Sequence[Problem]) -> str:
    sentences = [f"{problem.path}: {problem.message}" for problem in problems]
    if all(problem.bound for problem in problems):
        sentences.append("--force sends it anyway.")
    return " ".join(sentences)


def first_text(events: str) -> str:
    """What a row of the log adds to the text of the first choice."""
    rows = orjson.loads(events)
    return "".join(data for kind, choice, data, _ in rows if kind == "text" and choice == 0)


def values(assignments: Sequence[str]) -> dict[str, Any]:
    """{path: raw} of `PATH=VALUE`s; an object above paths of the table is spread over them."""
    found: dict[str, Any] = {}
    for assignment in assignments:
        path, equals, text = assignment.partition("=")
        if not equals:
            raise CommandError(f"--set needs PATH=VALUE, for example temperature=0: {assignment}")
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        found |= spread(path.strip(), value)
    return found


def spread(path: str, value: Any) -> dict[str, Any]:
    below = any(row.path.startswith(f"{path}.") for row in PARAMETERS)
    if not (below and isinstance(value, dict)):
        return {path: value}
    found: dict[str, Any] = {}
    for name, member_value in value.items():
        found |= spread(f"{path}.{name}", member_value)
    return found


@contextmanager
def embedded_backend(connection: Connection, say: Any) -> Iterator[None]:
    """The embedded backend for as long as we need it, if this is its connection."""
    if not connection.embedded:
        yield
        return
    if not is_installed() or ensure_model(settings.DATA_DIR, say) is None:
        raise CommandError("The embedded backend is not available on this machine.")
    try:
        with EmbeddedBackend(settings.DATA_DIR):
            yield
    except EmbeddedError as error:
        raise CommandError(str(error)) from error


def record(run: Run) -> dict[str, Any]:
    """The finished record, as one object."""
    failed = run.error_kind or run.error_message
    return {
        "status": run.status,
        "choices": [
            {"index": c.index, "text": c.text, "finish_reason": c.finish_reason}
            for c in run.choices.all()
        ],
        "usage": run.usage_value,
        "error": {
            "kind": run.error_kind or run.status,
            "message": run.error_message,
            "status": run.error_status,
        }
        if failed
        else None,
        "timings": {"first_token_ms": run.first_token_ms, "total_ms": run.total_ms},
        "warnings": run.warning_list,
        "url": urljoin(address(), run.get_absolute_url()),
    }
