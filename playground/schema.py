"""Whether an answer that was asked for in JSON keeps to its schema."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError, best_match
from jsonschema.validators import extend
from referencing import Registry

from playground.completion import CompletionRequest
from playground.structured import TOO_DEEP

# By itself jsonschema would fetch what a `$ref` names, from any address or file of the server.
NOTHING_ELSE: Registry[Any] = Registry()
MOST_REFERENCES = 100_000  # that are followed for one answer: a few lines can ask for 2 to the 30th
MOST_UNIQUE = 2_000  # items of a list that are held against each other
RULES = Draft202012Validator.VALIDATORS
NOT_LOOKED_AT = ("pattern", "patternProperties", "unevaluatedProperties")


def _compiled(_: Any, pattern: str, *__: Any) -> Iterator[ValidationError]:
    """A pattern is read, not looked for: some take for ever, and the server waits meanwhile."""
    re.compile(pattern)
    yield from ()


def _each_compiled(_: Any, patterns: Mapping[str, Any], *__: Any) -> Iterator[ValidationError]:
    for pattern in patterns:
        re.compile(pattern)
    yield from ()


def _additional(
    validator: Any, allowed: Any, value: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    """Which properties are additional, patterns say too."""
    if "patternProperties" not in schema:
        yield from RULES["additionalProperties"](validator, allowed, value, schema) or ()


def _unique(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(value, list) and len(value) <= MOST_UNIQUE:
        yield from RULES["uniqueItems"](validator, wanted, value, schema) or ()


def _unchecked(*_: Any) -> Iterator[ValidationError]:
    yield from ()


Validator = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {
        "pattern": _compiled,
        "patternProperties": _each_compiled,
        "additionalProperties": _additional,
        "unevaluatedProperties": _unchecked,
        "uniqueItems": _unique,
    },
)


def _counting() -> Any:
    """For one answer; ValueError where a schema refers to itself without end."""
    steps = count(1)

    def counted(name: str) -> Any:
        def follow(*given: Any) -> Iterator[ValidationError]:
            if next(steps) > MOST_REFERENCES:
                raise ValueError("it refers to itself too often")
            yield from RULES[name](*given) or ()

        return follow

    names = "$ref", "$dynamicRef"
    return extend(Validator, {name: counted(name) for name in names})  # type: ignore[no-untyped-call]


def schema_of(request: CompletionRequest) -> Any:
    """The JSON schema that the answer should keep to; None where none was sent."""
    asked = request.values.get("response_format")
    if isinstance(asked, dict):
        inner = asked.get("json_schema")
        if isinstance(inner, dict):
            return inner.get("schema", inner)
        return asked.get("schema")
    return request.values.get("json_schema")


def problem_with(text: str, schema: Any) -> str:
    """What is wrong with an answer, with its path; "" where it keeps to the schema, but for
    patterns and unevaluated properties, which are not looked at."""
    if not isinstance(schema, dict | bool):
        return ""
    try:
        value = json.loads(text)
    except ValueError as error:
        return f"The answer is not JSON: {error}."
    except RecursionError:
        return TOO_DEEP
    try:
        Draft202012Validator.check_schema(schema)
        validator = _counting()(schema, registry=NOTHING_ELSE)
        worst = best_match(validator.iter_errors(value))
    except SchemaError as wrong:
        return f"The schema itself is not valid: {wrong.message}."
    except Exception as wrong:  # an unresolvable reference, a pattern that is no pattern
        return f"The schema cannot be applied: {wrong}."
    return f"{worst.json_path}: {worst.message}" if worst else ""


def is_in_part(schema: Any) -> bool:
    """Whether there is something in it that `problem_with` does not look at."""
    text = json.dumps(schema)
    return any(f'"{name}"' in text for name in NOT_LOOKED_AT)
