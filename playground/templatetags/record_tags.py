"""What a column says when its run has ended: tool calls, the schema, what was ignored."""

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django import template
from django.urls import reverse
from django.utils import timezone

from playground.completion import RunStatus
from playground.lessons import Lesson, lessons_of, lessons_of_refusal
from playground.models import Run
from playground.parameters import Json
from playground.probabilities import visible
from playground.schema import is_in_part, problem_with, schema_of
from playground.structured import LONGEST

register = template.Library()

USAGE = "stream_options.include_usage"
LEARNING = timedelta(seconds=15)  # after its end a run's lessons may not be stored yet


@register.filter
def at_page_of(request: Any, run: Run) -> bool:
    """Whether the run's own page is shown, which has beside the column what else stands in it."""
    if not request.htmx:
        return bool(request.resolver_match.url_name == "run")
    here = request.htmx.current_url_abs_path or ""
    return bool(here.partition("?")[0] == reverse("run", args=[run.pk]))


@register.filter
def per_prompt(run: Run) -> int | str:
    """Choices for each prompt of a list; "" where the prompt is one."""
    if '"prompt": [' not in run.request:
        return ""
    asked = run.request_value()
    if not isinstance(asked.prompt, list) or all(isinstance(each, int) for each in asked.prompt):
        return ""
    n = asked.values.get("n") or asked.values.get("n_cmpl")
    return n if isinstance(n, int) and n > 0 else 1


# In the request as JSON; quotes in a prompt are escaped there, so a name in a text is none.
ASKS = re.compile(r'"(?:(?:top_|prompt_)?logprobs|n_probs|loglikelihood)": (?!null|false)')


@register.filter
def asks_probabilities(run: Run) -> bool:
    """Whether token probabilities were asked for; none may have come all the same."""
    return ASKS.search(run.request) is not None


@register.filter
def origin(run: Run) -> dict[str, Any] | None:
    """The answer that this run goes on from: run, comparison, letter, token, taken, other."""
    document = run.comparison.document
    if '"branch"' not in document:
        return None
    try:
        found = json.loads(document).get("branch")
    except (ValueError, RecursionError, AttributeError):
        return None
    numbers = ("run", "comparison", "token")
    if isinstance(found, dict) and all(type(found.get(each)) is int for each in numbers):
        return found
    return None


@register.simple_tag
def samplers() -> list[tuple[str, str, str, str, str]]:
    """The sliders of the lens: name, label, lowest, highest, step."""
    return [
        ("temperature", "Temperature", "0", "2", "0.05"),
        ("top_k", "Top K, 0 is off", "0", "40", "1"),
        ("top_p", "Top P, 1 is off", "0", "1", "0.01"),
        ("min_p", "Min P, 0 is off", "0", "1", "0.01"),
    ]


@register.filter
def signs(text: Any) -> str:
    """A token with blanks and line ends as signs; a part of a character has none."""
    return visible(text) if isinstance(text, str) and text else "a part of a character"


@register.filter
def continues(run: Run) -> bool:
    """Whether the answer can be appended to what was asked."""
    ended = run.status in (RunStatus.COMPLETED, RunStatus.CANCELLED, RunStatus.INTERRUPTED)
    return ended and bool(run.choices.all()) and '"prompt": [' not in run.request


@register.filter
def tool_calls(run: Run) -> list[dict[str, Any]]:
    """Of all choices: name, id, arguments to read."""
    choices = list(run.choices.all())
    return [
        {**_call(call), "choice": choice.index + 1 if len(choices) > 1 else 0}
        for choice in choices
        if choice.tool_calls
        for call in json.loads(choice.tool_calls)
    ]


def _call(call: dict[str, Any]) -> dict[str, str]:
    function = call.get("function") or {}
    arguments = str(function.get("arguments") or "")
    with suppress(ValueError):  # else shown as they came
        arguments = Json("any").text(json.loads(arguments))
    return {
        "name": str(function.get("name") or ""),
        "id": str(call.get("id") or ""),
        "arguments": arguments,
    }


@dataclass(frozen=True)
class Stage:
    """One step of a stop; `at`: milliseconds since the run began, None where it has not come."""

    words: str
    at: float | None


@register.filter
def stages(run: Run) -> list[Stage]:
    """How a stop went: asked → connection closed → saved; [] where nobody asked."""
    if run.cancel_requested_at is None or not (run.live or run.status == RunStatus.CANCELLED):
        return []
    began = run.started_at or run.created_at
    asked = _ms(run.cancel_requested_at - began)
    saved = _ms(run.finished_at - began) if run.finished_at else None
    found = [Stage("Asked to stop", asked)]
    if run.started_at is None and not run.live:
        found.append(Stage("Never sent", asked))
    else:
        # Nothing that came can be closed before it was asked for; two clocks measure the two.
        closed = None if run.live else max(asked, run.total_ms or asked)
        found.append(Stage("Connection to the backend closed", closed))
    return [*found, Stage("Saved" if run.live else _kept(run), saved)]


def _ms(span: timedelta) -> float:
    return max(0.0, span.total_seconds() * 1000)


def _kept(run: Run) -> str:
    characters = sum(len(choice.text) for choice in run.choices.all())
    if not characters:
        return "Saved, without text"
    billed = f", {run.completion_tokens:,} tokens counted" if run.completion_tokens else ""
    return f"Saved with {characters:,} characters{billed}"


@register.filter
def elapsed(run: Run) -> int:
    """Milliseconds since a live run was sent, or since it waits for its turn."""
    return round(_ms(timezone.now() - (run.started_at or run.created_at)))


@register.filter
def silence(run: Run) -> str:
    """What stands in the place of text where a completed run has none; "" where it has."""
    if run.status != RunStatus.COMPLETED:
        return ""
    choices = list(run.choices.all())
    silent = [choice for choice in choices if not choice.text and not choice.tool_calls]
    if choices and not silent:
        return ""
    if len(silent) < len(choices):
        numbers = ", ".join(str(choice.index + 1) for choice in silent)
        return f"Without any text: choice {numbers}."
    thought = any(choice.reasoning for choice in silent)
    after = " after its reasoning" if thought else ""
    empty = " The prompt was empty." if not run.request_value().prompt_text() else ""
    return f"The model ended without writing any text{after}.{empty}"


@register.filter
def verdicts(run: Run) -> list[tuple[int, str, bool]]:
    """[(choice or 0 where there is one, what breaks the schema or "", whether not all of it was
    looked at)…]; [] without a schema. What is too long to be read as JSON is left out."""
    if run.status != RunStatus.COMPLETED or "schema" not in run.request:
        return []
    schema = schema_of(run.request_value())
    if not isinstance(schema, dict | bool):
        return []
    choices, part = list(run.choices.all()), is_in_part(schema)
    return [
        (choice.index + 1 if len(choices) > 1 else 0, problem_with(choice.text, schema), part)
        for choice in choices
        if (choice.text or not choice.tool_calls) and len(choice.text) <= LONGEST
    ]


@register.filter
def lessons(run: Run) -> list[Lesson]:
    """What the backend ignored or refused; read from the answer where it is not stored yet."""
    if run.lessons or run.finished_at is None or timezone.now() - run.finished_at > LEARNING:
        return run.lesson_list
    if run.status == RunStatus.COMPLETED:
        return lessons_of(run.request_value(), run.outcome())
    if run.status == RunStatus.FAILED:
        return lessons_of_refusal(run.request_value(), run.error_kind, run.error_message)
    return []


@register.filter
def counted_by(run: Run) -> str:
    """Where the figures marked with `~` come from, and what would give exact ones."""
    said = "Counted pieces of the stream: the backend did not say how many tokens."
    if run.request_value().values.get(USAGE):
        return said
    return f"{said} {USAGE} asks for exact counts, where the backend knows it."
