"""Log lines for programs."""

import json
import logging
import sys
from contextvars import copy_context

from playground.logs import Json, WithRun, present_run


def line(**changes: object) -> dict[str, object]:
    record = logging.LogRecord("playground.x", logging.ERROR, "f", 1, "It %s", ("broke",), None)
    record.__dict__.update(changes)
    assert WithRun().filter(record)
    text = Json().format(record)
    assert "\n" not in text
    found: dict[str, object] = json.loads(text)
    return found


def test_a_line_is_one_object() -> None:
    found = line()
    assert found["level"] == "ERROR"
    assert found["message"] == "It broke"
    assert str(found["time"]).endswith("+00:00")
    assert "run" not in found


def test_the_run_comes_from_the_task_or_from_the_record() -> None:
    def within() -> dict[str, object]:
        present_run.set(7)
        return line()

    assert copy_context().run(within)["run"] == 7
    assert line(run=8)["run"] == 8


def test_an_error_keeps_its_traceback_in_the_line() -> None:
    try:
        raise ValueError("odd\nthing")
    except ValueError:
        assert "odd\nthing" in str(line(exc_info=sys.exc_info())["error"])
