"""Whether an answer that was asked for in JSON keeps to its schema."""

import json
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, best_match
from referencing import Registry

from playground.completion import CompletionRequest

# By itself jsonschema would fetch what a `$ref` names, from any address or file of the server.
NOTHING_ELSE: Registry[Any] = Registry()


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
    """What is wrong with an answer, with its path; "" where it keeps to the schema."""
    if not isinstance(schema, dict | bool):
        return ""
    try:
        value = json.loads(text)
    except ValueError as error:
        return f"The answer is not JSON: {error}."
    try:
        Draft202012Validator.check_schema(schema)
        validator = Draft202012Validator(schema, registry=NOTHING_ELSE)
        worst = best_match(validator.iter_errors(value))
    except SchemaError as wrong:
        return f"The schema itself is not valid: {wrong.message}."
    except Exception as wrong:  # an unresolvable reference, a pattern that is no pattern
        return f"The schema cannot be applied: {wrong}."
    return f"{worst.json_path}: {worst.message}" if worst else ""
