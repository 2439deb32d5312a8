"""JSON in an answer: found where it is, explained where it is not."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.structured import LONGEST, json_in


@pytest.mark.parametrize("value", [{}, [], 0, False, None, "", {"a": [1, 2.5, None]}, "x", -1])
def test_a_whole_answer_is_its_value(value: object) -> None:
    found = json_in(f"\n {json.dumps(value)}\n")
    assert found.values == [value]
    assert found.note == ""


@pytest.mark.parametrize("fence", ["```", "~~~", "````", "  ```"])
@pytest.mark.parametrize("language", ["", "json", " JSON"])
def test_it_is_found_in_a_code_block(fence: str, language: str) -> None:
    found = json_in(f'Here you are:\n{fence}{language}\n{{"a": 1}}\n{fence}\nDone.')
    assert found.values == [{"a": 1}]
    assert "code block" in found.note


def test_several_blocks_and_an_open_one() -> None:
    found = json_in('```json\n{"a": 1}\n```\nand\n```python\nprint()\n```\nand\n```\n[2]\n')
    assert found.values == [{"a": 1}, [2]]
    assert "2 code blocks" in found.note


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "The answer has no text."),
        (" \n", "The answer has no text."),
        ("A heron.", "not JSON: expecting value at line 1, character 1."),
        ('{"a": 1,\n "b": }', "expecting value at line 2, character 7."),
        ('{"a": 1, "b"', "not complete JSON: it ends at line 1, character 13."),
        ('{"a": NaN}', "NaN is no JSON value"),
        ("[1, Infinity]", "Infinity is no JSON value"),
        ("{'a': 1}", "not JSON: expecting property name"),
        ('{"a": 1} and more', "not JSON: extra data at line 1, character 10."),
        ("[" * 100_000, "nested too deeply"),
        ("```json\nno\n```", "not JSON"),
        (" " * LONGEST + "x1", "more than 1,000,000 characters"),
    ],
    ids=lambda text: text[:20],
)
def test_a_plain_sentence_says_why_there_is_none(text: str, said: str) -> None:
    found = json_in(text)
    assert found.values == []
    assert said in found.note
    assert found.note.endswith(".")


@given(st.text(alphabet='`~ \n{}[]",:01ajson', max_size=200))
def test_no_text_raises(text: str) -> None:
    found = json_in(text)
    assert found.values or found.note
