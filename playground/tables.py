"""Rows of values out of a CSV or JSONL file, and CSV that a spreadsheet opens without danger."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from typing import Any

MOST_ROWS = 1000
MOST_NAMES = 100
LARGEST = 1024 * 1024  # characters of a file
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # what may be run


class BadTable(ValueError):
    """The file cannot be read as rows; the message names the line."""


def read_table(text: str) -> tuple[list[str], list[list[str]]]:
    """(names, rows) of CSV with a header, or of one JSON object a line. Raises BadTable."""
    if len(text) > LARGEST:
        raise BadTable("The file is larger than 1 MB; split it.")
    text = text.removeprefix("\ufeff")
    if "\0" in text:
        raise BadTable("The file is not text. Save it as CSV in UTF-8.")
    names, rows = _jsonl(text) if text.lstrip().startswith("{") else _csv(text)
    if not rows:
        raise BadTable("The file has no rows below its header.")
    if len(rows) > MOST_ROWS:
        raise BadTable(f"The file has {len(rows):,} rows; at most {MOST_ROWS:,} can be used.")
    if len(names) > MOST_NAMES:
        raise BadTable(f"The file has {len(names)} columns; at most {MOST_NAMES} can be used.")
    return names, rows


def _csv(text: str) -> tuple[list[str], list[list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    names: list[str] = []
    rows: list[list[str]] = []
    begins = 1
    try:
        for cells in reader:
            line, begins = begins, reader.line_num + 1
            if not cells:
                continue
            if not names:
                names = _names(cells, line)
            elif len(cells) != len(names):
                raise BadTable(
                    f"Line {line} has {_counted(len(cells), 'value')};"
                    f" the header has {_counted(len(names), 'name')}."
                )
            else:
                rows.append(cells)
    except csv.Error as error:
        raise BadTable(f"Line {reader.line_num} is no CSV: {error}.") from None
    return names, rows


def _counted(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _delimiter(text: str) -> str:
    """Of the header: a comma, or what German spreadsheets and tables on the web use."""
    header = text.lstrip("\r\n").split("\n", 1)[0]
    return max(",;\t", key=header.count)


def _names(cells: Sequence[str], line: int) -> list[str]:
    names = [cell.strip() for cell in cells]
    if not all(names):
        raise BadTable(f"Line {line}: column {names.index('') + 1} of the header has no name.")
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise BadTable(f"Line {line}: the header has “{twice[:40]}” twice.")
    return names


def _jsonl(text: str) -> tuple[list[str], list[list[str]]]:
    names: list[str] = []
    rows: list[list[str]] = []
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if not line.strip():
            continue
        found = _object(line, number)
        names = names or _names(list(found), number)
        if missing := next((name for name in names if name not in found), ""):
            raise BadTable(f"Line {number} has no “{missing[:40]}”, which line 1 has.")
        if more := next((name for name in found if name not in names), ""):
            raise BadTable(f"Line {number} has “{more[:40]}”, which line 1 has not.")
        rows.append([_typed(found[name]) for name in names])
    return names, rows


def _object(line: str, number: int) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise BadTable(f"Line {number} is no JSON object.")
    return found


def _typed(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def csv_of(rows: Iterable[Sequence[object]]) -> str:
    """With an apostrophe before what a spreadsheet would take for a formula.

    It begins with the mark by which spreadsheets know UTF-8; `read_table` takes it away.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    for row in rows:
        writer.writerow([safe(cell) for cell in row])
    return "\ufeff" + out.getvalue()


def safe(cell: object) -> object:
    """A text that a spreadsheet would take for a formula gets an apostrophe before it."""
    if isinstance(cell, str) and cell.lstrip(" ").startswith(FORMULA):
        return "'" + cell
    return cell
