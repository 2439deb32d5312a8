"""The layouts that are text: JSONL, CSV, Markdown, HTML. What is not whole says so at its end."""

import csv
import html
import io
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from playground.completion import storable
from playground.exchange.lines import HEADER, line_of, moment, plain_number
from playground.exchange.record import (
    comments_of,
    comparison_line,
    labels_of,
    pairs_of,
    request_of,
    run_line,
)
from playground.models import Run
from playground.parameters import common
from playground.tables import safe

BROKEN = "This export is not whole: it broke off after {} runs. {}"


class Jsonl:
    """Complete, and what an import reads. A comparison stands before its runs."""

    ending, kind = "jsonl", "application/x-ndjson"

    def __init__(self) -> None:
        self._comparison = 0

    def head(self) -> str:
        return line_of(HEADER)

    def run(self, run: Run) -> str:
        before = ""
        if run.comparison_id != self._comparison:
            self._comparison = run.comparison_id
            before = line_of(comparison_line(run.comparison))
        return before + line_of(run_line(run))

    def tail(self, runs: int) -> str:
        return line_of({"type": "end", "runs": runs})

    def broken(self, runs: int, said: str) -> str:
        return line_of({"type": "error", "runs": runs, "message": said})


COLUMNS = (
    "run",
    "id",
    "comparison",
    "created_at",
    "author",
    "visibility",
    "connection",
    "provider",
    "model",
    "operation",
    "status",
    "error",
    "prompt",
    "choice",
    "output",
    "reasoning",
    "finish_reason",
    "parameters",
    "labels",
    "rating",
    "starred",
    "comments",
    "own_values",
    "prompt_tokens",
    "completion_tokens",
    "cost_usd",
    "first_token_ms",
    "total_ms",
)


class Csv:
    """One row a choice, and one for a run without any. No cell is a formula. After COLUMNS stands
    one for each common parameter; `parameters` has all of them."""

    ending, kind = "csv", "text/csv; charset=utf-8"

    def __init__(self) -> None:
        self._common = common()

    def head(self) -> str:
        columns = [*COLUMNS, *self._common]
        return "\ufeff" + _row(columns)  # by the mark spreadsheets know that it is UTF-8

    def run(self, run: Run) -> str:
        request = run.request_value()
        parameters = {**request.values, **request.extra}
        first = [
            run.pk,
            str(run.origin_id),
            str(run.comparison.origin_id),
            moment(run.created_at),
            run.named,
            run.visibility,
            run.connection_name,
            run.provider,
            run.model,
            run.operation,
            str(run.status),
            run.error_message,
            request.prompt_text(),
        ]
        last = [
            json.dumps(parameters, ensure_ascii=False) if parameters else "",
            ", ".join(labels_of(run)),
            run.rating,
            "yes" if run.starred else "",
            "\n\n".join(f"{each['author']}: {each['text']}" for each in comments_of(run)),
            "\n".join(f"{key}={value}" for key, value in pairs_of(run)),
            run.prompt_tokens,
            run.completion_tokens,
            plain_number(run.cost),
            run.first_token_ms and round(run.first_token_ms, 1),
            run.total_ms and round(run.total_ms, 1),
            *(_cell(parameters[path]) if path in parameters else "" for path in self._common),
        ]
        answers: list[list[Any]] = [
            [choice.index, choice.text, choice.reasoning, choice.finish_reason]
            for choice in run.choices.all()
        ]
        return "".join(_row([*first, *each, *last]) for each in answers or [[""] * 4])

    def tail(self, runs: int) -> str:
        return ""

    def broken(self, runs: int, said: str) -> str:
        return _row([BROKEN.format(runs, said)])


def _cell(value: Any) -> object:
    """A number as a number, a text as it is, everything else as JSON."""
    plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    return value if plain else json.dumps(value, ensure_ascii=False)


def _row(cells: Sequence[object]) -> str:
    out = io.StringIO(newline="")
    plain = [storable(cell) if isinstance(cell, str) else cell for cell in cells]
    csv.writer(out, lineterminator="\r\n").writerow([safe(cell) for cell in plain])
    return out.getvalue()


def facts_of(run: Run) -> list[tuple[str, str]]:
    """What a reader wants to know of a run, in order."""
    request = request_of(run)
    parameters = {**request["values"], **request["extra"]}
    rows: list[tuple[str, object]] = [
        ("Run", f"{run.pk} ({run.origin_id})"),
        ("Time", moment(run.created_at)),
        ("By", run.by),
        ("Connection", run.connection_name),
        ("Model", run.model),
        ("Status", str(run.status)),
        ("Error", run.error_message),
        ("Parameters", json.dumps(parameters, ensure_ascii=False) if parameters else ""),
        ("Headers", ", ".join(request["own_headers"])),
        ("Labels", ", ".join(labels_of(run))),
        ("Own values", ", ".join(f"{key}={value}" for key, value in pairs_of(run))),
        ("Rating", run.rating),
        ("Starred", "yes" if run.starred else ""),
        ("Tokens", _tokens(run)),
        ("Cost", f"{plain_number(run.cost)} USD" if run.cost is not None else ""),
        ("Total time", f"{run.total_ms:.0f} ms" if run.total_ms is not None else ""),
    ]
    return [(name, storable(str(value))) for name, value in rows if value not in ("", None)]


def _tokens(run: Run) -> str:
    known = {"prompt": run.prompt_tokens, "answer": run.completion_tokens}
    return ", ".join(f"{count} {name}" for name, count in known.items() if count is not None)


def texts_of(run: Run) -> list[tuple[str, str]]:
    """(title, text) of the prompt or messages, the outputs and the comments."""
    request = run.request_value()
    found = [
        (f"Message: {message.get('role')}", _said(message.get("content")))
        for message in request.messages
    ]
    if run.operation != "chat":
        found = [("Prompt", request.prompt_text())]
    choices = list(run.choices.all())
    for choice in choices:
        number = f" {choice.index + 1}" if len(choices) > 1 else ""
        parts = {"Reasoning": choice.reasoning, "Tool calls": choice.tool_calls}
        found += [(f"{name}{number}", text) for name, text in parts.items() if text]
        found.append((f"Output{number}", choice.text))
    for each in comments_of(run):
        found.append((f"Comment by {each['author']}, {each['created_at']}", each["text"]))
    return [(storable(title), storable(text)) for title, text in found]


def _said(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


class Markdown:
    ending, kind = "md", "text/markdown; charset=utf-8"

    def head(self) -> str:
        return "# Runs\n\n"

    def run(self, run: Run) -> str:
        parts = [f"## Run {run.pk}\n"]
        parts += [f"- {name}: {inline(value)}" for name, value in facts_of(run)]
        for title, text in texts_of(run):
            parts.append(f"\n### {inline(title)}\n\n{fenced(text)}")
        return "\n".join(parts) + "\n\n"

    def tail(self, runs: int) -> str:
        return f"{runs} runs.\n"

    def broken(self, runs: int, said: str) -> str:
        return f"\n\n**{inline(BROKEN.format(runs, said))}**\n"


def inline(text: str) -> str:
    """Text that is no markup, in one line."""
    return re.sub(r"([\\`*_{}\[\]()#+!|<>&~$])", r"\\\1", " ".join(text.split()))


def fenced(text: str) -> str:
    """The text as it is, between fences that it cannot close."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


STYLE = """
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
article{border-top:1px solid #8886;padding:1rem 0}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;margin:0}
dt{opacity:.7}dd{margin:0;overflow-wrap:anywhere}
h2{font-size:1.2rem}h3{font-size:1rem;margin:1rem 0 .25rem}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#8881;padding:.75rem;border-radius:.4rem}
"""


class Html:
    """One page with everything in it: no script, nothing from elsewhere."""

    ending, kind = "html", "text/html; charset=utf-8"

    def head(self) -> str:
        policy = "default-src 'none'; style-src 'unsafe-inline'"
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
            '<meta name="viewport" content="width=device-width">\n<title>Runs</title>\n'
            f"<style>{STYLE}</style>\n</head>\n<body>\n<h1>Runs</h1>\n"
        )

    def run(self, run: Run) -> str:
        facts = "".join(
            f"<dt>{escaped(name)}</dt><dd>{escaped(value)}</dd>" for name, value in facts_of(run)
        )
        # The first line feed of a `pre` is not part of it.
        texts = "".join(
            f'<h3>{escaped(title)}</h3>\n<pre dir="auto">\n{escaped(text)}</pre>\n'
            for title, text in texts_of(run)
        )
        return f"<article>\n<h2>Run {run.pk}</h2>\n<dl>{facts}</dl>\n{texts}</article>\n"

    def tail(self, runs: int) -> str:
        return f"<p>{runs} runs.</p>\n</body>\n</html>\n"

    def broken(self, runs: int, said: str) -> str:
        sentence = escaped(BROKEN.format(runs, said))
        return f"<p><strong>{sentence}</strong></p>\n</body>\n</html>\n"


def escaped(text: str) -> str:
    return html.escape(text).replace("\r", "&#13;")


LAYOUTS: dict[str, Callable[[], "Jsonl | Csv | Markdown | Html"]] = {
    "jsonl": Jsonl,
    "csv": Csv,
    "markdown": Markdown,
    "html": Html,
}
