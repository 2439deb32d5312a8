"""An export while it goes out: batch after batch, with its progress, and an honest end."""

import asyncio
import logging
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

from playground.database import in_thread
from playground.exchange import llm_file
from playground.exchange.llm_file import LogFile
from playground.exchange.source import load, slices
from playground.exchange.texts import LAYOUTS, Csv, Html, Jsonl, Markdown
from playground.models import Transfer, User
from playground.models.walk import Selection, Walk

logger = logging.getLogger(__name__)

LONGEST_PAUSE = 0.05  # seconds after each part; as long as it took: half of the time is for others
PIECE = 256 * 1024  # bytes of a file that are sent at once
FAILED = "The server failed here; its log says more."
STOPPED = "The download was broken off."
NAMES = {
    "jsonl": "JSONL",
    "csv": "CSV",
    "markdown": "Markdown",
    "html": "HTML",
    "sqlite": "SQLite",
}

_ending: set[asyncio.Future[None]] = set()  # so that none is collected before it is done

Text = Jsonl | Csv | Markdown | Html


def ending(layout: str) -> str:
    return llm_file.ENDING if layout == "sqlite" else LAYOUTS[layout]().ending


def kind(layout: str) -> str:
    return llm_file.KIND if layout == "sqlite" else LAYOUTS[layout]().kind


class Export:
    """One way through the runs; notes in its transfer how far it is."""

    def __init__(self, user: User, transfer: Transfer) -> None:
        self.user, self.transfer = user, transfer
        self.walk = Walk(user, Selection.from_json(transfer.selection))

    async def stream(self) -> AsyncIterator[bytes]:
        """The file. What goes wrong is said inside it, and in the transfer."""
        try:
            await in_thread(self.transfer.begin, None)
            parts = self._file() if self.transfer.layout == "sqlite" else self._text()
            async for part in parts:
                yield part
        except (asyncio.CancelledError, GeneratorExit):
            # The task is at its end and may wait for nothing more.
            task = asyncio.ensure_future(in_thread(self._stop))
            _ending.add(task)
            task.add_done_callback(_ending.discard)
            raise

    def _stop(self) -> None:
        self.transfer.end(Transfer.State.STOPPED, STOPPED)

    async def _text(self) -> AsyncIterator[bytes]:
        writer = LAYOUTS[self.transfer.layout]()
        yield writer.head().encode()
        try:
            async for ids in self._slices():
                yield await in_thread(self._written, writer, ids)
        except Exception:
            logger.exception("Export %s broke off", self.transfer.pk)
            await in_thread(self.transfer.end, Transfer.State.FAILED, FAILED)
            yield writer.broken(self.transfer.runs, FAILED).encode()
            return
        yield writer.tail(self.transfer.runs).encode()
        await in_thread(self._finish)

    def _beat(self) -> None:
        self.transfer.done, total = self.walk.way()
        self.transfer.beat(total=total)

    def _finish(self) -> None:
        self._beat()
        self.transfer.end(Transfer.State.FINISHED)

    def _written(self, writer: Text, ids: list[int]) -> bytes:
        runs = load(self.user, ids)
        text = "".join(map(writer.run, runs))
        self.transfer.runs += len(runs)
        return text.encode()

    async def _slices(self) -> AsyncIterator[list[int]]:
        """Ids of a few runs; after each batch the progress is noted, and others have a turn."""
        while (ids := await in_thread(self.walk.batch)) is not None:
            for part in await in_thread(_sliced, ids):
                began = time.monotonic()
                yield part
                await asyncio.sleep(min(time.monotonic() - began, LONGEST_PAUSE))
            await in_thread(self._beat)

    async def _file(self) -> AsyncIterator[bytes]:
        """Built beside, sent, and removed, whatever happens."""
        with tempfile.TemporaryDirectory(prefix="playground-export-") as folder:
            path = Path(folder) / "logs.db"
            log = await in_thread(LogFile, path)
            try:
                said = ""
                try:
                    async for ids in self._slices():
                        await in_thread(self._added, log, ids)
                except Exception:
                    logger.exception("Export %s broke off", self.transfer.pk)
                    said = FAILED
                await in_thread(log.close, self.transfer.runs, said)
            finally:
                with suppress(Exception):
                    log.drop()
            with path.open("rb") as file:
                while part := await in_thread(file.read, PIECE):
                    yield part
        if said:
            await in_thread(self.transfer.end, Transfer.State.FAILED, said)
        else:
            await in_thread(self._finish)

    def _added(self, log: LogFile, ids: list[int]) -> None:
        runs = load(self.user, ids)
        log.add(runs)
        self.transfer.runs += len(runs)


def _sliced(ids: list[int]) -> list[list[int]]:
    return [list(part) for part in slices(ids)]


def written(user: User, selection: Selection, layout: str) -> Iterator[tuple[bytes, int]]:
    """The same without a server, for the command: (bytes, runs so far)."""
    writer, walk, count = LAYOUTS[layout](), Walk(user, selection), 0
    yield writer.head().encode(), 0
    while (ids := walk.batch()) is not None:
        for part in slices(ids):
            runs = load(user, part)
            count += len(runs)
            yield "".join(map(writer.run, runs)).encode(), count
    yield writer.tail(count).encode(), count


def write_file(user: User, selection: Selection, path: Path) -> Iterator[int]:
    """The SQLite file at `path`; yields the runs so far."""
    walk, count, log = Walk(user, selection), 0, LogFile(path)
    while (ids := walk.batch()) is not None:
        for part in slices(ids):
            runs = load(user, part)
            log.add(runs)
            count += len(runs)
            yield count
    log.close(count)
