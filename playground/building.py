"""One request from raw values: cleaned, held against its bounds, with warnings.

The form and `manage.py complete` share it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from playground.completion import CompletionRequest, storable
from playground.doubts import doubts, logprobs_as_switch
from playground.inputs import Given, Problem, read_headers, read_input
from playground.models import Connection
from playground.parameters import WANT_MODEL, Api, Json, Parameter, Status, Support, for_api
from playground.parameters import parameter as parameter_at

LONGEST_MODEL = 300  # characters
WITHOUT_MODEL = "Choose a model; this backend refuses a request without one."
RESERVED = ("model", "prompt", "messages")  # fields of the request, not of the extra body


@dataclass
class Built:
    request: CompletionRequest | None
    errors: list[Problem]
    warnings: list[str]


def build(
    connection: Connection,
    operation: str,
    *,
    model: str,
    given: Given,
    raw_values: Mapping[str, Any],
    headers: Any = "",
    extra: Any = "",
    labels: tuple[str, ...] = (),
    force: bool = False,
) -> Built:
    """A request from raw values; the form and `manage.py complete` share it.

    Refused is only what is of the wrong type or outside a documented bound (`force` sends the
    latter); what a backend may dislike is a warning.
    """
    api = Api(connection.provider, connection.dialect, operation)
    built = Built(None, [], [])
    values = _values(api, logprobs_as_switch(api, raw_values), built, force)
    _check_pairs(api, values, built, force)
    body_extra = _extra(extra, built)
    own_headers = read_headers(headers, built.errors)
    messages, prompt = read_input(given, api, built.errors, force)
    if len(model) > LONGEST_MODEL or model != storable(model):
        problem = Problem("model", f"A model's name has at most {LONGEST_MODEL} characters.")
        built.errors.append(problem)
    elif refusal := connection.model_refusal(model):
        built.errors.append(Problem("model", refusal))
    elif not model and api in WANT_MODEL and not force:
        built.errors.append(Problem("model", WITHOUT_MODEL, bound=True))
    if not built.errors:
        built.request = CompletionRequest(
            provider=connection.provider,
            dialect=connection.dialect,
            operation=operation,
            model=model,
            prompt=prompt,
            messages=messages,
            values=values,
            extra=body_extra,
            own_headers=own_headers,
            labels=labels,
        )
    return built


def _values(api: Api, raw_values: Mapping[str, Any], built: Built, force: bool) -> dict[str, Any]:
    supports = {row.path: (row, support) for row, support in for_api(api)}
    values: dict[str, Any] = {}
    for path, raw in raw_values.items():
        if path in supports:
            _value(*supports[path], raw, values, built, force)
        elif _known(path):
            built.warnings.append(f"{path} is not sent: this API has no such parameter.")
        else:
            built.errors.append(Problem(path, f"There is no parameter {path}."))
    return {path: values[path] for path in supports if path in values}


def _known(path: str) -> bool:
    try:
        parameter_at(path)
    except KeyError:
        return False
    return True


def _value(
    row: Parameter,
    support: Support,
    raw: Any,
    values: dict[str, Any],
    built: Built,
    force: bool,
) -> None:
    try:
        value = support.kind.clean(raw)
    except ValueError as error:
        built.errors.append(Problem(row.path, str(error)))
        return
    values[row.path] = value
    outside = support.kind.outside(value)
    if outside and not force:
        built.errors.append(Problem(row.path, outside, bound=True))
    if support.status in (Status.IGNORED, Status.REFUSED, Status.COMING_SOON) and support.note:
        # `stream_options` goes with every request of the form where it is of use.
        built.warnings.append(f"{row.path}: {support.note}")


def _check_pairs(api: Api, values: Mapping[str, Any], built: Built, force: bool) -> None:
    """Pairs that a provider refuses: only `best_of` below `n` is refused here too."""
    n, best_of = values.get("n"), values.get("best_of")
    if isinstance(n, int) and isinstance(best_of, int) and best_of < n and not force:
        message = f"best_of ({best_of}) must be at least n ({n}): it makes best_of and returns n."
        built.errors.append(Problem("best_of", message, bound=True))
    built.warnings += [sentence for found, sentence in doubts(api, values) if found]


def _extra(raw: Any, built: Built) -> dict[str, Any]:
    if raw == "" or (isinstance(raw, str) and not raw.strip()):
        return {}
    try:
        extra: dict[str, Any] = Json("object").clean(raw)
    except ValueError as error:
        built.errors.append(Problem("extra", str(error)))
        return {}
    for name in RESERVED:
        if name in extra:
            message = f"“{name}” has its own place in the form; take it out of the extra body."
            built.errors.append(Problem("extra", message))
    return extra


def with_stream(api: Api, raw_values: Mapping[str, Any]) -> dict[str, Any]:
    """What the form sets by itself: `stream`, and usage in the stream where the API knows it."""
    values = dict(raw_values)
    values.setdefault("stream", True)
    usage = "stream_options.include_usage"
    if values["stream"] in (True, "true") and usage not in values and knows_usage(api):
        values[usage] = True
    return values


def knows_usage(api: Api) -> bool:
    known = (Status.ACCEPTED, Status.EXTENSION)
    return any(
        row.path == "stream_options.include_usage" and support.status in known
        for row, support in for_api(api)
    )
