"""The panel's data is the table's, whatever the table holds."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from django.template.loader import render_to_string

from playground import documents, panel
from playground.branch import PREFILL, branched
from playground.completion import CompletionRequest
from playground.outcome import ChoiceResult
from playground.panel import Field
from playground.parameters import (
    ESTABLISHED,
    LLAMA_CHAT,
    LLAMA_COMPLETIONS,
    PARAMETERS,
    Api,
    Float,
    Option,
    Parameter,
    Text,
    TextList,
    on,
    register,
    row,
    unregister,
)
from tests.samples import FIELDS

WIDGETS = {"number", "flag", "option", "text", "list", "bias", "choice", "json"}


def fields() -> dict[str, Field]:
    return {field.path: field for group in panel.groups() for field in group.fields}


def drawn(field: Field) -> str:
    return render_to_string("_field.html", {"field": field})


@pytest.fixture
def added() -> Iterator[Parameter]:
    new = row(
        "shimmer", Float(0, 1, slider=(0, 1)), "Sampling", "Shimmer", "A new row.", on(LLAMA_CHAT)
    )
    register(new)
    yield new
    unregister(new.path)


def test_every_row_has_a_field_and_the_free_boxes_come_last() -> None:
    paths = [field.path for group in panel.groups() for field in group.fields]
    assert set(paths) == {each.path for each in PARAMETERS} | {panel.EXTRA, panel.HEADERS}
    assert len(paths) == len(set(paths))
    assert paths[-2:] == [panel.HEADERS, panel.EXTRA]


def test_ids_are_unique_and_valid() -> None:
    ids = [field.dom_id for field in fields().values()]
    assert len(ids) == len(set(ids))
    assert all(not set(each) & set(" .#\"'") for each in ids)


@pytest.mark.parametrize("path", [each.path for each in PARAMETERS])
def test_every_row_has_a_control_for_each_widget_of_its_apis(path: str) -> None:
    each = next(each for each in PARAMETERS if each.path == path)
    kinds = [each.kind, *(support.kind for support in each.supports.values())]
    wanted = {panel.widget_of(kind) for kind in kinds}
    controls = [control.widget for control in fields()[path].controls]
    assert wanted <= set(controls) <= WIDGETS
    assert controls[0] == panel.widget_of(each.kind)
    assert len(controls) == 1 or "text" in controls


@pytest.mark.parametrize("path", [each.path for each in PARAMETERS])
def test_every_row_is_drawn_by_the_one_template(path: str) -> None:
    html = drawn(fields()[path])
    assert f'data-path="{path}"' in html
    assert html.count("data-control=") == len(fields()[path].controls)
    assert "style=" not in html
    assert "onclick" not in html


def test_a_row_added_at_run_time_is_there(added: Parameter) -> None:
    field = fields()["shimmer"]
    assert field.controls[0].low == "0"
    assert field.controls[0].high == "1"
    assert 'max="1"' in drawn(field)
    assert panel.support_map()["shimmer"][LLAMA_CHAT.key]["status"] == "accepted"


def test_help_is_escaped() -> None:
    new = row("x", Text(), "Sampling", "<b>", "a <script> & more", on(LLAMA_CHAT))
    html = drawn(panel._field(new))
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_numbers_are_not_localised(settings: object) -> None:
    new = row("x", Float(slider=(0.5, 4096)), "Sampling", "X", "Help.", on(LLAMA_CHAT))
    html = drawn(panel._field(new))
    assert 'min="0.5" max="4096" step="0.01"' in html


def test_a_list_explains_its_escapes() -> None:
    new = row("x", TextList(), "Sampling", "X", "Help.", on(LLAMA_CHAT))
    assert "\\n for a line break" in drawn(panel._field(new))


def test_an_option_without_documented_values_can_be_typed() -> None:
    closed = row("x", Option(("a", "b")), "Sampling", "X", "Help.", on(LLAMA_CHAT))
    free = row("x", Option(), "Sampling", "X", "Help.", on(LLAMA_CHAT))
    assert "<select" in drawn(panel._field(closed))
    assert "<select" not in drawn(panel._field(free))


def test_the_support_map_says_what_the_table_says() -> None:
    found = panel.support_map()
    json.dumps(found, allow_nan=False)
    for each in PARAMETERS:
        assert set(found[each.path]) == {api.key for api in ESTABLISHED if each.support(api)}
        for api in ESTABLISHED:
            if support := each.support(api):
                entry = found[each.path][api.key]
                assert entry["status"] == support.status
                assert entry["widget"] == panel.widget_of(support.kind)


def test_the_support_map_can_be_cut_to_the_backends_at_hand() -> None:
    other = Api("local", "other", "chat")
    found = panel.support_map([other])["temperature"]
    assert set(found) == {other.key}
    assert found[other.key]["status"] == "unestablished"


def test_a_new_document_streams() -> None:
    document = documents.new_document({"connection": 1, "operation": "chat", "model": "m"})
    assert document["values"] == {"stream": "true", "stream_options.include_usage": "true"}
    assert document["columns"] == [
        {"values": {}, "connection": 1, "operation": "chat", "model": "m"}
    ]


def test_a_document_is_made_again_from_requests() -> None:
    first = CompletionRequest(
        "local", "completions", "m", "llama.cpp", "Hi", values={"temperature": 0, "seed": 1}
    )
    second = CompletionRequest(
        "local", "chat", "k", "vllm", "", ({"role": "user", "content": "Hi"},), {"temperature": 0}
    )
    document = documents.document_of([(1, first), (2, second)])
    assert document["values"] == {"temperature": "0"}
    assert document["columns"][0]["values"] == {"seed": "1"}
    assert document["columns"][1] == {
        "connection": 2, "operation": "chat", "model": "k", "values": {}
    }  # fmt: skip
    assert document["prompt"] == "Hi"
    assert document["mode"] == "messages"
    assert LLAMA_COMPLETIONS.operation == document["columns"][0]["operation"]


@pytest.mark.parametrize("document", [None, [], "x", {}, {"columns": 1}])
def test_what_is_no_document_is_not_restored(document: object) -> None:
    assert documents.restored(document) is None


def test_a_stored_document_is_restored_in_the_shape_of_the_page() -> None:
    document = {
        "prompt": "Hi", "mode": "text", "messages": ["x", {"role": "user", "content": [1]}],
        "values": [], "labels": [1], "force": True,
        "columns": ["x", {"connection": 1, "values": 3}],
    }  # fmt: skip
    found = documents.restored(document)
    assert found is not None
    assert found["prompt"] == "Hi"
    assert found["messages"] == [{"role": "user", "content": [1]}]
    assert found["values"] == {}
    assert found["labels"] == ["1"]
    assert found["force"] is False
    assert found["columns"] == [{"connection": 1, "values": {}}]


def test_an_honest_document_is_restored_as_it_was() -> None:
    document = documents.new_document({"connection": 1, "operation": "chat", "model": "m"})
    assert documents.restored(json.loads(json.dumps(document))) == document


def test_what_takes_two_types_has_an_editor_for_both() -> None:
    assert [control.widget for control in fields()["logit_bias"].controls] == ["bias"]
    [control] = fields()["tool_choice"].controls
    assert control.widget == "choice"
    assert {"none", "auto", "required"} <= set(control.choices)


def test_pulze_labels_follow_the_labels_of_the_run() -> None:
    assert fields()["Pulze-Labels"].follows == "labels"
    assert 'data-follows="labels"' in drawn(fields()["Pulze-Labels"])


def test_the_answer_is_appended_to_go_on() -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "now", "arguments": "{}"}}
    asked = CompletionRequest(
        "local", "chat", "m", "llama.cpp", messages=({"role": "user", "content": "Hi"},)
    )
    document = documents.document_of([(1, asked)])
    found = documents.continued(document, asked, ChoiceResult(0, tool_calls=[call]))
    assert [each["role"] for each in found["messages"]] == ["user", "assistant", "tool"]
    assert found["messages"][2]["tool_call_id"] == "c1"
    assert documents.restored(found) is not None


def test_an_echoed_prompt_is_not_appended_again() -> None:
    asked = CompletionRequest(
        "local", "completions", "m", "vllm", prompt="Once", values={"echo": True}
    )
    document = documents.document_of([(1, asked)])
    answer = ChoiceResult(0, text="Once upon")
    assert documents.continued(document, asked, answer)["prompt"] == "Once upon"
    unechoed = replace(asked, values={})
    assert documents.continued(document, unechoed, answer)["prompt"] == "OnceOnce upon"


@pytest.mark.parametrize("dialect", PREFILL)
@pytest.mark.parametrize("answer", [" is deep", " the lake is deep"])
def test_a_chat_goes_on_from_prefill_and_answer_as_one_message(dialect: str, answer: str) -> None:
    user = {"role": "user", "content": "Where?"}
    asked = CompletionRequest(
        "local", "chat", "m", dialect, messages=(user,), values={"echo": True}, extra={"x": 1}
    )
    begun = branched(asked, 0, " the lake", False)
    document = documents.document_of([(1, begun)])
    found = documents.continued(document, begun, ChoiceResult(0, text=answer))
    whole = {"role": "assistant", "content": " the lake is deep"}
    assert found["messages"] == [user, whole, {"role": "user", "content": ""}]
    assert json.loads(found["extra"]) == {"x": 1}


def test_an_answer_after_an_assistant_message_stays_one_of_its_own_elsewhere() -> None:
    said = {"role": "assistant", "content": "Yes."}
    asked = CompletionRequest("pulze", "chat", "m", messages=(said,))
    found = documents.continued(
        documents.document_of([(1, asked)]), asked, ChoiceResult(0, text="No.")
    )
    assert [each["content"] for each in found["messages"]] == ["Yes.", "No.", ""]


def test_every_request_field_that_anyone_documents_is_in_the_form() -> None:
    """By the oracle: each field is a row, a member of a row's JSON, or the request itself."""
    ours = ("model", "prompt", "messages", "Authorization")
    shown = {field.path for group in panel.groups() for field in group.fields}
    for fact in FIELDS:
        name = fact["renamed_from"] or fact["name"]
        top = name.split("[")[0]
        if top.split(".")[0] in ours:
            continue
        parts = top.split(".")
        above = {".".join(parts[:end]) for end in range(1, len(parts) + 1)}
        members = {path for path in shown if path.startswith(f"{top}.")}
        assert above & shown or members, name


def test_what_was_sent_with_braces_is_sent_so_again() -> None:
    asked = CompletionRequest("local", "completions", "m", "llama.cpp", prompt="Hi {{name}}")
    document = documents.document_of([(1, asked)])
    assert document["prompt"] == r"Hi \{{name}}"
    chat = CompletionRequest(
        "local", "chat", "m", "llama.cpp", messages=({"role": "user", "content": "{{a}}"},)
    )
    assert documents.document_of([(1, chat)])["messages"][0]["content"] == r"\{{a}}"
    answer = ChoiceResult(0, text=" {{b}}")
    assert documents.continued(document, asked, answer)["prompt"] == r"Hi \{{name}} \{{b}}"
