"""From the posted document to requests: what is sent, what is refused, and at which field."""

import json
from typing import Any

import pytest
from django.utils import translation

from playground.building import Built, build, knows_usage, with_stream
from playground.completion import CompletionRequest
from playground.forms import MOST_COLUMNS, MOST_LABELS, BadDocument, Draft, read, read_labels
from playground.inputs import Given
from playground.models import Connection, Membership, Team, User
from playground.parameters import (
    OPERATIONS,
    Api,
    Either,
    Flag,
    Float,
    Integer,
    Json,
    Kind,
    Status,
    Support,
    TextList,
    TokenBias,
    for_api,
)
from tests.server import document

pytestmark = pytest.mark.django_db

DIALECTS = ["llama.cpp", "vllm", "ollama", "lmstudio", "other"]
APIS = [Api("local", dialect, operation) for dialect in DIALECTS for operation in OPERATIONS]


def backend(dialect: str = "llama.cpp", provider: str = "local") -> Connection:
    return Connection(name="b", provider=provider, dialect=dialect, base_url="http://h/v1")


def built(
    values: dict[str, Any],
    dialect: str = "llama.cpp",
    operation: str = "completions",
    prompt: Any = "Hi",
    messages: Any = None,
    **more: Any,
) -> Built:
    given = Given(prompt) if messages is None else Given(mode="messages", messages=messages)
    fields = {"model": "m", "given": given, "raw_values": values, **more}
    return build(backend(dialect), operation, **fields)


def body(values: dict[str, Any], *api: str, **more: Any) -> dict[str, Any]:
    found = built(values, *api, **more)
    assert found.errors == []
    assert found.request is not None
    return found.request.body()


def refusal(values: dict[str, Any], *api: str, **more: Any) -> tuple[str, str]:
    """The field and the sentence of the one problem."""
    found = built(values, *api, **more)
    assert found.request is None
    [problem] = found.errors
    assert problem.message.endswith((".", "”."))
    return problem.path, problem.message


# --- One request ---------------------------------------------------------------------------


def test_what_is_not_set_is_not_sent() -> None:
    assert body({}) == {"model": "m", "prompt": "Hi"}
    assert body({}, operation="chat") == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
    }


@pytest.mark.parametrize(
    "path", ["seed", "top_p", "top_k", "logprobs", "presence_penalty", "max_tokens", "n_probs"]
)
@pytest.mark.parametrize("raw", ["0", 0])
def test_zero_is_sent_as_zero(path: str, raw: Any) -> None:
    assert json.dumps(body({path: raw})[path]) == "0"


@pytest.mark.parametrize(
    ("path", "raw", "sent"),
    [
        ("max_tokens", "-1", -1),
        ("max_tokens", "512.0", 512),
        ("max_tokens", 512.0, 512),
        ("top_k", "40", 40),
        ("temperature", "0.7", 0.7),
        ("temperature", "1", 1),
        ("stop", "\\n\\n\nC:\\\\new", ["\n\n", "C:\\new"]),
        ("stop", "END\n\n", ["END"]),
        ("stop", ["a", " "], ["a", " "]),
        ("ignore_eos", "true", True),
        ("ignore_eos", "false", False),
        ("stream", "false", False),
        ("logit_bias", '{"50256": -100}', {"50256": -100}),
        ("grammar", "", ""),
    ],
)
def test_a_value_goes_out_as_it_was_meant(path: str, raw: Any, sent: Any) -> None:
    found = body({path: raw})[path]
    assert found == sent
    assert type(found) is type(sent)


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_decimal_comma_is_refused_in_every_language(language: str) -> None:
    with translation.override(language):
        assert body({"temperature": "0.7"})["temperature"] == 0.7
        path, sentence = refusal({"temperature": "0,7"})
    assert path == "temperature"
    assert "0.7, not 0,7" in sentence


@pytest.mark.parametrize(
    ("path", "raw", "said"),
    [
        ("max_tokens", "6000.5", "whole number"),
        ("max_tokens", "", "whole number"),
        ("temperature", "hot", "number"),
        ("stop", "END\n  ", "\\x20"),
        ("stop", "C:\\quit", "\\q"),
        ("stop", [""], "Remove the empty"),
        ("logit_bias", '{"50256": "x"}', "50256"),
        ("logit_bias", '{"50256": 101}', "50256"),
        ("logit_bias", "[1,2]", "object"),
        ("logit_bias", '{"1":1,}', "comma"),
        ("ignore_eos", "yes", "true or false"),
        ("no_such", 1, "no parameter no_such"),
    ],
)
def test_a_wrong_value_is_refused_at_its_field(path: str, raw: Any, said: str) -> None:
    for force in (False, True):  # "Send anyway" does not make it right
        found = refusal({"seed": 1, path: raw}, force=force)
        assert found[0] == path
        assert said in found[1]


def test_a_word_as_a_token_is_refused_with_the_word() -> None:
    assert "AI" in refusal({"logit_bias": {"AI": -100}}, "vllm")[1]


@pytest.mark.parametrize(
    ("values", "path"),
    [({"temperature": "2.5"}, "temperature"), ({"n": "3", "best_of": "2"}, "best_of")],
)
def test_send_anyway_overrides_a_bound(values: dict[str, str], path: str) -> None:
    found = built(values, "vllm")
    assert [(problem.path, problem.bound) for problem in found.errors] == [(path, True)]
    assert built(values, "vllm", force=True).errors == []
    assert set(values) <= set(body(values, "vllm", force=True))


@pytest.mark.parametrize("best_of", [None, "3", "4"])
def test_best_of_that_is_not_below_n_is_fine(best_of: str | None) -> None:
    values = {"n": "3", **({"best_of": best_of} if best_of else {})}
    assert body(values).get("best_of") == (int(best_of) if best_of else None)


def test_a_parameter_of_another_api_is_a_warning_and_not_sent() -> None:
    found = built({"grammar": "root ::= x", "temperature": "0"}, "vllm")
    assert found.request is not None
    assert "grammar" not in found.request.body()
    assert found.warnings == ["grammar is not sent: this API has no such parameter."]


def test_a_parameter_that_a_backend_ignores_is_a_warning_and_sent() -> None:
    found = built({"best_of": "2"})
    assert found.request is not None
    assert found.request.body()["best_of"] == 2
    assert found.warnings == ["best_of: Ignored by llama.cpp; older builds answer with an error."]


# --- Every parameter of every local API ----------------------------------------------------


def sample(kind: Kind, number: int) -> Any:
    """A value within the bounds that no other number gives."""
    if isinstance(kind, Either):
        return sample(kind.kinds[0], number)
    if isinstance(kind, Integer | Float):
        low = 1 if kind.minimum is None else kind.minimum
        high = 1000 if kind.maximum is None else kind.maximum
        if isinstance(kind, Integer):
            return max(low, min(int(high), int(low) + number))
        return low + (high - low) * (number + 1) / 997
    if isinstance(kind, Flag):
        return number % 2 == 0
    if isinstance(kind, TextList):
        return [f"item {number}"]
    if isinstance(kind, TokenBias):
        return {str(number): 1}
    if isinstance(kind, Json):
        item = {"integer": number, "string": f"t{number}"}.get(kind.items, {"of": number})
        return [item] if kind.shape == "array" else {"of": number}
    return (getattr(kind, "choices", ()) or (f"text {number}",))[0]


def typed(api: Api) -> list[tuple[str, Support, Any]]:
    """(path, support, value) of every row of an API; no two values are the same by design."""
    return [
        (row.path, support, sample(support.kind, number))
        for number, (row, support) in enumerate(for_api(api))
    ]


def at(sent: dict[str, Any], name: str) -> Any:
    for part in name.split("."):
        sent = sent[part]
    return sent


def leaves(sent: dict[str, Any], supports: list[Support]) -> int:
    names = {support.name for support in supports}
    return sum(
        len(value) if any(name.startswith(f"{key}.") for name in names) else 1
        for key, value in sent.items()
        if key not in ("model", "prompt", "messages")
    )


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.key)
def test_each_parameter_alone_arrives_under_its_own_key_and_nothing_else(api: Api) -> None:
    for path, support, value in typed(api):
        for raw in (value, support.kind.text(value)):
            sent = body({path: raw}, api.dialect, api.operation)
            assert at(sent, support.name) == value, path
            assert leaves(sent, [support]) == 1, path


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.key)
def test_all_parameters_at_once_arrive_each_under_its_own_key(api: Api) -> None:
    rows = typed(api)
    values = {path: support.kind.text(value) for path, support, value in rows}
    sent = body(values, api.dialect, api.operation, force=True)
    assert [at(sent, support.name) for _, support, _ in rows] == [value for *_, value in rows]
    assert leaves(sent, [support for _, support, _ in rows]) == len(rows)


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.key)
def test_a_saved_request_gives_the_same_form_and_the_same_body(api: Api) -> None:
    rows = typed(api)
    values = {path: value for path, _, value in rows}
    first = built(values, api.dialect, api.operation, force=True).request
    assert first is not None
    saved = CompletionRequest.from_json(first.to_json())
    again = {path: support.kind.text(saved.values[path]) for path, support, _ in rows}
    assert json.dumps(body(again, api.dialect, api.operation, force=True)) == json.dumps(
        first.body()
    )


# --- Extra body, prompt, messages, model ---------------------------------------------------


@pytest.mark.parametrize("extra", ["", "  \n", "{}", {}])
def test_no_extra_body_adds_nothing(extra: Any) -> None:
    assert body({}, extra=extra) == {"model": "m", "prompt": "Hi"}


def test_the_extra_body_is_merged() -> None:
    assert body({}, extra='{"mine": [1, null]}') == {
        "model": "m",
        "prompt": "Hi",
        "mine": [1, None],
    }


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ("[1]", "object"),
        ("{", "ends too early"),
        ('{"a": NaN}', "NaN"),
        ('{"model": "x"}', "“model”"),
        ('{"prompt": "x"}', "“prompt”"),
        ('{"messages": []}', "“messages”"),
        (7, "object"),
    ],
)
def test_a_bad_extra_body_is_refused(extra: Any, said: str) -> None:
    path, sentence = refusal({}, extra=extra)
    assert path == "extra"
    assert said in sentence


MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": ""}]


def test_messages_go_to_chat_as_they_are() -> None:
    sent = body({}, operation="chat", messages=[{**MESSAGES[0], "more": 1}, MESSAGES[1]])
    assert sent["messages"] == MESSAGES


@pytest.mark.parametrize(
    "messages",
    [[], {}, "x", [1], [{}], [{"role": "user"}], [{"role": "", "content": "a"}],
     [{"role": "user", "content": None}], [{"role": 1, "content": "a"}],
     [{"role": "x" * 41, "content": "a"}]],
)  # fmt: skip
def test_malformed_messages_are_refused(messages: Any) -> None:
    assert refusal({}, operation="chat", messages=messages)[0] == "messages"


def test_messages_in_a_completions_column_are_refused_there() -> None:
    path, sentence = refusal({}, messages=MESSAGES)
    assert path == "operation"
    assert "Choose Chat" in sentence


@pytest.mark.parametrize("prompt", [None, 1, ["a"], {}])
def test_a_prompt_that_is_no_text_is_refused(prompt: Any) -> None:
    assert refusal({}, prompt=prompt)[0] == "prompt"


@pytest.mark.parametrize("prompt", ["", " \n", "a\0b", "\ud83d", "x" * 100_000])
def test_any_text_is_a_prompt(prompt: str) -> None:
    assert body({}, prompt=prompt)["prompt"] == prompt


@pytest.mark.parametrize("model", ["x" * 301, "a\0"])
def test_an_impossible_model_name_is_refused(model: str) -> None:
    assert refusal({}, model=model)[0] == "model"


def test_a_model_is_asked_for_only_where_requests_without_one_are_refused() -> None:
    assert refusal({}, "ollama", model="")[0] == "model"
    assert body({}, "ollama", model="", force=True) == {"prompt": "Hi"}
    assert body({}, "vllm", model="") == body({}, "other", model="") == {"prompt": "Hi"}


# --- What the form sets by itself ----------------------------------------------------------


@pytest.mark.parametrize(
    ("api", "known"),
    [
        (Api("octoai", "", "chat"), True),
        (Api("ogx", "", "completions"), True),
        (Api("pulze", "", "chat"), False),
        (Api("local", "vllm", "completions"), True),
        (Api("local", "ollama", "chat"), True),
        (Api("local", "llama.cpp", "chat"), True),
        (Api("local", "llama.cpp", "completions"), False),
        (Api("local", "other", "chat"), False),
    ],
)
def test_usage_is_asked_for_where_it_is_known(api: Api, known: bool) -> None:
    assert knows_usage(api) is known
    expected = {"stream": True, **({"stream_options.include_usage": True} if known else {})}
    assert with_stream(api, {}) == expected


@pytest.mark.parametrize("off", [False, "false"])
def test_usage_in_the_stream_goes_only_with_the_stream(off: Any) -> None:
    assert with_stream(Api("local", "vllm", "chat"), {"stream": off}) == {"stream": off}


def test_usage_that_was_switched_off_stays_off() -> None:
    values = {"stream": True, "stream_options.include_usage": False}
    assert with_stream(Api("local", "vllm", "chat"), values) == values


# --- The document --------------------------------------------------------------------------


@pytest.fixture
def fake(db: None) -> Connection:
    return Connection.objects.create(
        name="fake", provider="local", dialect="llama.cpp", base_url="http://h/v1"
    )


def drafted(user: User, *columns: dict[str, Any], **changes: Any) -> Draft:
    return read(document(*columns, **changes), user)


@pytest.mark.parametrize(
    "posted",
    [None, [], "x", {}, {"columns": []}, {"columns": {}}, {"columns": [1]},
     {"columns": [{}] * (MOST_COLUMNS + 1)}],
)  # fmt: skip
def test_what_is_no_document_is_refused_as_a_whole(alice: User, posted: Any) -> None:
    with pytest.raises(BadDocument):
        read(posted, alice)


@pytest.mark.parametrize(
    "changes",
    [{"values": None}, {"values": [1]}, {"labels": None}, {"labels": "x"}, {"mode": 7},
     {"visibility": []}, {"extra": None}, {"force": "true"}, {"messages": None}],
)  # fmt: skip
def test_odd_parts_of_a_document_do_not_raise(
    alice: User, fake: Connection, changes: dict[str, Any]
) -> None:
    assert drafted(alice, {"connection": fake.pk}, **changes).ok


@pytest.mark.parametrize(
    ("values", "ok"),
    [(None, True), ([], True), ("x", True), ({"": 1}, False), ({"temperature": {"a": 1}}, False)],
)
def test_odd_values_of_a_column_do_not_raise(
    alice: User, fake: Connection, values: Any, ok: bool
) -> None:
    assert drafted(alice, {"connection": fake.pk, "values": values}).ok is ok


def test_each_column_has_its_own_settings_over_the_common_ones(
    alice: User, fake: Connection
) -> None:
    draft = drafted(
        alice,
        {"connection": fake.pk, "values": {"temperature": "0"}},
        {"connection": str(fake.pk), "values": {"temperature": None, "seed": "1"}, "model": " x "},
        {"connection": fake.pk, "operation": "chat"},
        values={"temperature": "1", "stop": ["a"]},
        prompt="Hello",
    )
    assert draft.ok
    assert [request.body() for _, request in draft.requests()] == [
        {"model": "m", "prompt": "Hello", "temperature": 0, "stop": ["a"]},
        {"model": "x", "prompt": "Hello", "seed": 1, "stop": ["a"]},  # null: not sent here
        {"model": "m", "messages": [{"role": "user", "content": "Hello"}],
         "temperature": 1, "stop": ["a"]},
    ]  # fmt: skip


def test_a_bad_column_says_so_and_the_others_are_fine(alice: User, fake: Connection) -> None:
    draft = drafted(
        alice,
        {"connection": fake.pk},
        {"connection": fake.pk, "values": {"temperature": "hot"}},
        {"connection": fake.pk, "operation": "edit"},
    )
    assert not draft.ok
    problems = [[problem.path for problem in column.errors] for column in draft.columns]
    assert problems == [[], ["temperature"], ["operation"]]
    assert draft.columns[0].request is not None
    assert not draft.only_bounds


def test_messages_are_refused_only_in_the_completions_column(alice: User, fake: Connection) -> None:
    draft = drafted(
        alice,
        {"connection": fake.pk},
        {"connection": fake.pk, "operation": "chat"},
        mode="messages",
        messages=MESSAGES,
    )
    assert [bool(column.errors) for column in draft.columns] == [True, False]
    assert draft.columns[0].errors[0].path == "operation"


def test_only_bounds_can_be_sent_anyway(alice: User, fake: Connection) -> None:
    columns = [{"connection": fake.pk, "values": {"n": 3, "best_of": 2}}, {"connection": fake.pk}]
    draft = drafted(alice, *columns)
    assert draft.only_bounds
    assert not draft.ok
    assert drafted(alice, *columns, force=True).ok
    assert not drafted(alice, columns[1]).only_bounds


@pytest.mark.parametrize("raw", [None, "", "x", [], 10**30, -1, True, 1.5, "1e3", float("inf")])
def test_an_impossible_connection_is_refused_in_its_column(
    alice: User, fake: Connection, raw: Any
) -> None:
    draft = drafted(alice, {"connection": raw})
    assert [problem.path for problem in draft.columns[0].errors] == ["connection"]


def test_a_connection_of_another_team_is_refused_without_naming_it(
    alice: User, charlie: User, fake: Connection
) -> None:
    fake.all_teams = False
    fake.name = "secret backend"
    fake.save()
    team = charlie.current_team
    assert team is not None
    fake.teams.set([team])
    refused = drafted(alice, {"connection": fake.pk}).columns[0]
    unknown = drafted(alice, {"connection": fake.pk + 1000}).columns[0]
    assert refused.errors == unknown.errors
    assert "secret" not in repr(refused)
    assert refused.connection is None
    assert drafted(charlie, {"connection": fake.pk}).ok


def test_a_disabled_connection_is_refused(alice: User, fake: Connection) -> None:
    fake.enabled = False
    fake.save()
    assert not drafted(alice, {"connection": fake.pk}).ok


def test_who_is_in_no_team_has_the_connections_of_all(db: None, fake: Connection) -> None:
    loner = User.objects.create_user("loner")
    assert drafted(loner, {"connection": fake.pk}).ok
    fake.all_teams = False
    fake.save()
    assert not drafted(loner, {"connection": fake.pk}).ok


def test_labels_are_cleaned_and_go_with_each_request(alice: User, fake: Connection) -> None:
    draft = drafted(alice, {"connection": fake.pk}, labels=["  a  b ", "k=v"])
    assert draft.labels == ("a b", "k=v")
    assert draft.requests()[0][1].labels == ("a b", "k=v")


@pytest.mark.parametrize("labels", [[""], ["x" * 101], ["a\0"], [" "], ["a"] * (MOST_LABELS + 1)])
def test_a_bad_label_is_an_error_of_the_form(
    alice: User, fake: Connection, labels: list[str]
) -> None:
    draft = drafted(alice, {"connection": fake.pk}, labels=labels)
    assert not draft.ok
    assert {problem.path for problem in draft.errors} == {"labels"}
    assert read_labels(labels)[1] == draft.errors


@pytest.mark.parametrize(
    ("raw", "visibility"),
    [("private", "private"), ("team", "team"), ("", "team"), (None, "team"), ("all", "team")],
)
def test_a_run_is_for_the_team_unless_it_is_private(
    alice: User, fake: Connection, raw: Any, visibility: str
) -> None:
    assert drafted(alice, {"connection": fake.pk}, visibility=raw).visibility == visibility


def test_a_user_reads_as_a_member_of_the_current_team(
    alice: User, fake: Connection, team: Team
) -> None:
    other = Team.objects.create(name="Second")
    Membership.objects.create(team=other, user=alice)
    fake.all_teams = False
    fake.save()
    fake.teams.set([other])
    assert not drafted(alice, {"connection": fake.pk}).ok
    alice.current_team = other
    assert drafted(alice, {"connection": fake.pk}).ok


def test_every_status_is_one_that_the_form_knows() -> None:
    statuses = {support.status for api in APIS for _, support in for_api(api)}
    assert statuses <= set(Status)
