"""Log lines: which run they are of, and how they look. LOG_FORMAT=json writes one object a line."""

import json
import logging
from contextvars import ContextVar
from datetime import UTC, datetime

# The run that the present task carries out. Each run is a task with a context of its own.
present_run: ContextVar[int | None] = ContextVar("present_run", default=None)


class WithRun(logging.Filter):
    """Notes the run at every record that does not name one itself, by `extra={"run": id}`."""

    def filter(self, record: logging.LogRecord) -> bool:
        if not hasattr(record, "run"):
            record.run = present_run.get()
        return True


class Json(logging.Formatter):
    """time (UTC, ISO 8601), level, logger, message, process; run and error where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        found: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.process,
        }
        if (run := getattr(record, "run", None)) is not None:
            found["run"] = run
        found |= getattr(record, "facts", {})
        if record.exc_info:
            found["error"] = self.formatException(record.exc_info)
        return json.dumps(found, ensure_ascii=False, default=str)
