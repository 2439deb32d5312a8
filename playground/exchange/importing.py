"""Goes through a file to import, a batch at a time; where it stands is kept in the transfer."""

import json
import math
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from django.core.files.uploadedfile import UploadedFile

from playground.exchange.checked import ComparisonDraft, RunDraft, comparison_of, run_of
from playground.exchange.given import BadLine, too_deep
from playground.exchange.lines import VERSION
from playground.exchange.llm_logs import MAGIC, BadLogs, LlmLogs
from playground.exchange.store import Item, Store, index
from playground.models import Membership, Transfer
from playground.models.work import lease

BATCH = 50  # runs of one transaction
BATCH_BYTES = 1024 * 1024  # after so much of a file it ends too
LONGEST_LINE = 64 * 1024 * 1024  # bytes
MOST_PARTS = 4_000_000  # values of one line
LONG = 1024 * 1024  # bytes of a line whose values are counted before it is read
FOREIGN = (
    "This is neither an export of a playground (JSONL) nor an SQLite file with the logs of llm."
)
EARLY = "The file ends before its end: what is missing was not imported."
BROKE = "The export itself broke off after {} runs, its last line says; these were imported."


class BadFile(ValueError):
    """Nothing of it can be imported; says why."""


def layout_of(path: Path) -> str:
    """What kind of file it is; BadFile where it is none that we read."""
    with path.open("rb") as file:
        start = file.read(4096)
    if start.startswith(MAGIC):
        try:
            LlmLogs(path).close()
        except BadLogs as error:
            raise BadFile(str(error)) from None
        return "llm"
    first = start.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0]
    try:
        head = json.loads(first)
        good = isinstance(head, dict) and head.get("type") == "playground"
    except (ValueError, RecursionError):
        good = False
    if not good:
        raise BadFile(FOREIGN)
    if head.get("version") != VERSION:
        raise BadFile("The file is of a later version of the playground. Update this one first.")
    return "jsonl"


def begin(member: Membership, name: str, keep: Callable[[Path], None]) -> Transfer:
    """Keep a copy of the file and note the import, or raise BadFile.

    It is the caller's: no server takes it meanwhile, unless it is released or left alone.
    """
    transfer = Transfer(
        kind=Transfer.Kind.IMPORT,
        team_id=member.team_id,
        author_id=member.user_id,
        name=Path(name.replace("\\", "/")).name[:200],
        state=Transfer.State.RUNNING,
    )
    folder = transfer.path.parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        keep(transfer.path)
        transfer.layout = layout_of(transfer.path)
        transfer.total = _size(transfer)
        transfer.lease = lease()
        transfer.save()
    except BaseException:
        transfer.remove_file()
        raise
    return transfer


def uploaded(upload: UploadedFile) -> Callable[[Path], None]:
    def keep(path: Path) -> None:
        with path.open("xb") as file:
            path.chmod(0o600)
            for chunk in upload.chunks():
                file.write(chunk)

    return keep


def _size(transfer: Transfer) -> int:
    if transfer.layout == "jsonl":
        return transfer.path.stat().st_size
    logs = LlmLogs(transfer.path)
    try:
        return logs.count()
    except sqlite3.Error:
        raise BadFile("This SQLite file is damaged.") from None
    finally:
        logs.close()


def step(transfer: Transfer) -> bool:
    """One batch; False when the import has ended."""
    member = transfer.member
    if member is None or not member.may_run:
        transfer.end(Transfer.State.FAILED, "Who began it may no longer import into this team.")
        return False
    if not transfer.path.exists():
        said = "The file is not here any more. Import it again: what is there is skipped."
        transfer.end(Transfer.State.FAILED, said)
        return False
    reader: Jsonl | Logs = Jsonl(transfer) if transfer.layout == "jsonl" else Logs(transfer)
    items = reader.batch()
    stored = Store(member).write(items)
    transfer.runs += stored.runs
    transfer.skipped += stored.skipped
    transfer.note(sorted(reader.problems + stored.problems))
    transfer.done, transfer.place = reader.done, json.dumps(reader.place)
    going = transfer.beat(state=Transfer.State.RUNNING)
    index(member, [item.run.origin_id for item in items])
    if going and reader.at_end:
        transfer.end(Transfer.State.FINISHED, reader.said)
        return False
    return going


class Jsonl:
    """The lines of an export. `place`: bytes, number of the last line, its comparison."""

    def __init__(self, transfer: Transfer) -> None:
        place = json.loads(transfer.place) if transfer.place else {}
        self.done: int = place.get("bytes", 0)
        self._line: int = place.get("line", 0)
        self._comparison_line: str = place.get("comparison", "")
        self._ended: bool = place.get("ended", False)
        self.said: str = place.get("said", "")
        self._comparison: ComparisonDraft | None = None
        self._path = transfer.path
        self.problems: list[tuple[int, str]] = []
        self.at_end = False

    @property
    def place(self) -> dict[str, Any]:
        return {
            "bytes": self.done,
            "line": self._line,
            "comparison": self._comparison_line,
            "ended": self._ended,
            "said": self.said,
        }

    def batch(self) -> list[Item]:
        items: list[Item] = []
        with self._path.open("rb") as file:
            file.seek(self.done)
            if self._comparison_line:
                self._comparison = comparison_of(json.loads(self._comparison_line))
            begun = self.done
            while len(items) < BATCH and file.tell() - begun < BATCH_BYTES:
                line = self._next(file)
                if line is None:
                    continue
                if not line:
                    self._end()
                    break
                try:
                    item = self._read(line)
                except BadLine as error:
                    self.problems.append((self._line, str(error)))
                else:
                    items += [item] if item else []
            self.done = file.tell()
        return items

    def _next(self, file: IO[bytes]) -> bytes | None:
        """b"" at the end; None for a line that is too long to be read."""
        line = file.readline(LONGEST_LINE + 1)
        self._line += 1
        if len(line) <= LONGEST_LINE:
            return line
        while line and not line.endswith(b"\n"):
            line = file.readline(LONG)
        self.problems.append((self._line, f"It is longer than {LONGEST_LINE // 2**20} MB."))
        return None

    def _read(self, line: bytes) -> Item | None:
        if not line.strip():
            return None
        found = parsed(line)
        match found.get("type"):
            case "playground":
                if found.get("version") != VERSION:
                    raise BadLine("It is of a later version of the playground.")
            case "comparison":
                self._comparison, self._comparison_line = None, ""
                self._comparison = comparison_of(found)
                self._comparison_line = json.dumps(found)
            case "run":
                run = run_of(found)
                return Item(self._line, run, self._of(run))
            case "end":
                self._ended = True
            case "error":
                self._ended = True
                self.said = BROKE.format(found.get("runs"))
            case other:
                raise BadLine(f"“{str(other)[:30]}” is no type of line.")
        return None

    def _of(self, run: RunDraft) -> ComparisonDraft:
        if self._comparison is None or self._comparison.origin_id != run.comparison:
            raise BadLine("The line of its comparison is missing before it.")
        return self._comparison

    def _end(self) -> None:
        self.at_end = True
        if not self._ended:
            self.said = EARLY


def parsed(line: bytes) -> dict[str, Any]:
    """An object; BadLine for anything else, also what would take too much memory."""
    if len(line) > LONG and sum(map(line.count, (b",", b"[", b"{"))) > MOST_PARTS:
        raise BadLine(f"It has more than {MOST_PARTS:,} values.")
    try:
        text = line.removeprefix(b"\xef\xbb\xbf")
        found = json.loads(text, parse_constant=_no_json, parse_float=_finite)
    except UnicodeDecodeError:
        raise BadLine("It is not UTF-8 text.") from None
    except BadLine:
        raise
    except (ValueError, RecursionError):
        raise BadLine("It is no JSON.") from None
    if not isinstance(found, dict):
        raise BadLine("It is no JSON object.")
    if too_deep(found):
        raise BadLine("Its JSON is nested too deeply.")
    return found


def _no_json(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    """What overflows would be infinity, which no form and no request can hold."""
    number = float(text)
    if not math.isfinite(number):
        raise BadLine(f"{text[:20]} is too large a number.")
    return number


class Logs:
    """The rows of `llm`'s logs. `place`: table and id of the last row."""

    def __init__(self, transfer: Transfer) -> None:
        place = json.loads(transfer.place) if transfer.place else {}
        self.place: dict[str, Any] = place or {"table": "", "id": ""}
        self.done, self.said, self.at_end = transfer.done, "", False
        self.problems: list[tuple[int, str]] = []
        self._path = transfer.path

    def batch(self) -> list[Item]:
        logs = LlmLogs(self._path)
        items = []
        try:
            rows = logs.rows((self.place["table"], self.place["id"]), BATCH)
            self.at_end = not rows
            for (table, name), row in rows:
                self.done += 1
                self.place = {"table": table, "id": name}
                try:
                    lines = [parsed(_bounded(line)) for line in logs.lines(table, row)]
                    if lines:
                        draft = run_of(lines[1])
                        items.append(Item(self.done, draft, comparison_of(lines[0])))
                except (ValueError, TypeError, AttributeError, RecursionError) as error:
                    said = str(error) if isinstance(error, ValueError) else "It cannot be read."
                    self.problems.append((self.done, said))
        except sqlite3.Error:
            self.at_end = True
            self.said = "The SQLite file is damaged; what could be read was imported."
        finally:
            logs.close()
        return items


def _bounded(line: dict[str, Any]) -> bytes:
    text = json.dumps(line).encode()
    if len(text) > LONGEST_LINE:
        raise BadLine(f"It is longer than {LONGEST_LINE // 2**20} MB.")
    return text
