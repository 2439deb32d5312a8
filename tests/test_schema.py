"""An answer in JSON against the schema that was sent."""

import json
from pathlib import Path
from typing import Any

import pytest

from playground.completion import CompletionRequest
from playground.schema import is_in_part, problem_with, schema_of
from playground.structured import TOO_DEEP
from tests.fake_provider import FakeProvider

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "sizes": {"items": {"type": "integer"}}},
    "required": ["name"],
}


@pytest.mark.parametrize(
    ("values", "schema"),
    [
        ({}, None),
        ({"response_format": {"type": "json_object"}}, None),
        ({"response_format": {"type": "json_object", "schema": SCHEMA}}, SCHEMA),
        ({"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}}, SCHEMA),
        ({"json_schema": SCHEMA}, SCHEMA),
    ],
)
def test_it_finds_the_schema_in_the_request(values: dict[str, Any], schema: Any) -> None:
    assert schema_of(CompletionRequest("local", "chat", "m", values=values)) == schema


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"name": "a", "sizes": [1]}', ""),
        ('{"name": "a", "sizes": [1, "x"]}', "$.sizes[1]: 'x' is not of type 'integer'"),
        ("{}", "$: 'name' is a required property"),
        ("not json", "The answer is not JSON"),
    ],
)
def test_it_names_the_path_that_fails(text: str, said: str) -> None:
    assert problem_with(text, SCHEMA).startswith(said)
    assert bool(problem_with(text, SCHEMA)) == bool(said)
    assert not is_in_part(SCHEMA)


@pytest.mark.parametrize(
    "schema", [{"type": "nonsense"}, {"$ref": "#/nowhere"}, {"pattern": "("}, {"minimum": "x"}]
)
def test_a_schema_that_cannot_be_applied_is_told_not_raised(schema: Any) -> None:
    assert problem_with('"a"', schema)


@pytest.mark.timeout(60)
def test_no_answer_and_no_pattern_takes_for_ever() -> None:
    long = json.dumps({"a" * 60 + "!": "a" * 60 + "!"})
    slow = "^(a+)+$"
    for schema in (
        {"additionalProperties": {"pattern": slow}},
        {"patternProperties": {slow: {}}, "additionalProperties": False},
        {"patternProperties": {slow: {}}, "unevaluatedProperties": False},
    ):
        assert problem_with(long, schema) == ""
        assert is_in_part(schema)
    twice = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(40)}
    said = problem_with("1", {"$defs": {**twice, "a40": {}}, "$ref": "#/$defs/a0"})
    assert said == "The schema cannot be applied: it refers to itself too often."
    lists = json.dumps([[n] for n in range(50_000)] + [{}])
    assert problem_with(lists, {"uniqueItems": True}) == ""
    assert problem_with("[1, 1]", {"uniqueItems": True})
    assert "'b' was unexpected" in problem_with('{"b": 1}', {"additionalProperties": False})
    assert problem_with("[" * 100_000, {}) == TOO_DEEP


def test_nothing_is_fetched_for_a_schema(provider: FakeProvider, tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    kept.write_text('{"const": "kept here"}')
    for address in (f"{provider.url}/v1/models", kept.as_uri()):
        said = problem_with('"a"', {"$ref": address})
        assert said.startswith("The schema cannot be applied")
        assert "kept here" not in said
    assert not provider.requests
    inner = {"$defs": {"name": {"type": "string"}}, "$ref": "#/$defs/name"}
    assert (problem_with('"a"', inner), bool(problem_with("1", inner))) == ("", True)


def test_without_a_schema_there_is_nothing_to_say() -> None:
    assert problem_with("x", None) == ""
