"""The table against `data/fields.json`, an independent list of what each API takes; the kinds."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground import parameters
from playground.parameters import (
    GROUPS,
    OPERATIONS,
    PARAMETERS,
    Api,
    Either,
    Flag,
    Float,
    Integer,
    Json,
    Kind,
    Member,
    Option,
    Parameter,
    Status,
    Support,
    Text,
    TextList,
    TokenBias,
    for_api,
    on,
    parameter,
    register,
    row,
    unregister,
)

FIELDS = json.loads((Path(__file__).parent / "data" / "fields.json").read_text())["requests"]
REQUEST_FIELDS = ("model", "prompt", "messages", "Authorization")  # of CompletionRequest
PARENTS = ("stream_options", "Pulze-Weights", "Pulze-Policies", "Pulze-Feature-Flags")


def _api(fact: dict[str, Any]) -> Api:
    return Api(fact["provider"], fact["dialect"] or "", fact["operation"])


def _is_row(fact: dict[str, Any]) -> bool:
    return fact["name"].partition("[")[0] not in REQUEST_FIELDS and fact["name"] not in PARENTS


# A name whose row goes out under another one: the other one's fact counts, there.
RENAMED = {(_api(f), f["renamed_from"]): f["name"] for f in FIELDS if f["renamed_from"]}
FACTS = [f for f in FIELDS if _is_row(f) and (_api(f), f["name"]) not in RENAMED]
PATHS = {each.path for each in PARAMETERS}
ROWS = [f for f in FACTS if (f["renamed_from"] or f["name"]) in PATHS]
MEMBERS = [f for f in FACTS if (f["renamed_from"] or f["name"]) not in PATHS]
APIS = sorted({_api(fact) for fact in FIELDS})
UNESTABLISHED = [
    Api("local", "other", "completions"),
    Api("local", "other", "chat"),
    Api("local", "lmstudio", "completions"),
]


def _id(fact: dict[str, Any]) -> str:
    return f"{_api(fact).key}/{fact['name']}"


def _bounds(kind: Kind) -> tuple[object, object, bool]:
    if isinstance(kind, Integer | Float):
        return kind.minimum, kind.maximum, getattr(kind, "exclusive_minimum", False)
    return None, None, False


def _choices(kind: Kind) -> tuple[str, ...]:
    if isinstance(kind, Either):
        return next(filter(None, map(_choices, kind.kinds)), ())
    return kind.choices if isinstance(kind, Option | TextList) else ()


def _members(kind: Kind) -> list[Member]:
    if isinstance(kind, Either):
        return [member for each in kind.kinds for member in _members(each)]
    return list(kind.members) if isinstance(kind, Json) else []


def _same(one: object, other: object) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)


@pytest.mark.parametrize("fact", ROWS, ids=_id)
def test_it_agrees_with_the_documented_field(fact: dict[str, Any]) -> None:
    support = parameter(fact["renamed_from"] or fact["name"]).support(_api(fact))
    assert support is not None
    assert support.name == fact["name"]
    assert support.status == fact["status"]
    assert set(support.kind.types) == set(fact["type"])
    assert support.nullable is fact["nullable"]
    assert _same(support.default, fact["default"])
    assert _choices(support.kind) == tuple(fact["enum"] or ())
    if fact["name"] != "logit_bias":  # the next test
        bounds = fact["minimum"], fact["maximum"], fact["exclusive_minimum"]
        assert _bounds(support.kind) == bounds
    assert support.source
    assert parameter(fact["renamed_from"] or fact["name"]).header == (fact["where"] == "header")


def test_it_bounds_every_logit_bias_as_openai_does() -> None:
    """Refused in the form, whatever the server would do with more."""
    for fact in (f for f in FACTS if f["name"] == "logit_bias"):
        assert (fact["minimum"], fact["maximum"]) in ((-100, 100), (None, None))
    for api in APIS:
        support = parameter("logit_bias").support(api)
        assert support is not None
        with pytest.raises(ValueError, match="50256"):
            support.kind.clean('{"50256": 101}')


@pytest.mark.parametrize("fact", MEMBERS, ids=_id)
def test_it_documents_the_members_of_json_values(fact: dict[str, Any]) -> None:
    root = fact["name"].partition(".")[0].removesuffix("[]")
    support = parameter(root).support(_api(fact))
    assert support is not None
    assert support.status == fact["status"]
    [member] = [each for each in _members(support.kind) if each.name == fact["name"]]
    assert set(member.types) == set(fact["type"])
    assert member.nullable is fact["nullable"]
    assert (member.minimum, member.maximum) == (fact["minimum"], fact["maximum"])
    assert member.enum == tuple(fact["enum"] or ())
    assert _same(member.default, fact["default"])
    assert member.required is fact["required"]


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.key)
def test_it_says_nothing_that_is_not_documented(api: Api) -> None:
    documented = {f["name"] for f in FACTS if _api(f) == api}
    supports = [support for _, support in for_api(api)]
    said = [support.name for support in supports]
    said += [member.name for support in supports for member in _members(support.kind)]
    assert sorted(said) == sorted(documented)


def test_the_parents_without_a_row_have_rows_for_their_members() -> None:
    for fact in (f for f in FIELDS if f["name"] in PARENTS):
        names = [support.name for _, support in for_api(_api(fact))]
        assert any(name.startswith(fact["name"] + ".") for name in names), fact


@pytest.mark.parametrize("api", UNESTABLISHED, ids=lambda api: api.key)
def test_a_backend_of_unknown_fields_takes_every_local_row(api: Api) -> None:
    others = [each for each in APIS if each.provider == "local" and each.operation == api.operation]
    expected = [each for each in PARAMETERS if any(each.support(other) for other in others)]
    found = for_api(api)
    assert [each for each, _ in found] == expected
    assert {support.status for _, support in found} == {Status.UNESTABLISHED}
    assert all(support.name == each.path for each, support in found)


def test_a_new_provider_follows_openai_where_it_has_no_row() -> None:
    acme = Api("acme", "", "chat")
    found = {each.path: support for each, support in for_api(acme)}
    assert found["temperature"].kind.outside(2.5)
    assert found["logprobs"].kind == Flag()
    assert "top_k" not in found
    assert "Pulze-Labels" not in found


def test_an_api_has_a_short_key() -> None:
    assert Api("local", "llama.cpp", "completions").key == "local/llama.cpp/completions"
    assert Api("pulze", "", "chat").key == "pulze/chat"
    assert OPERATIONS == ("completions", "chat")


def test_the_repetition_penalty_goes_to_llama_cpp_under_its_own_name() -> None:
    for operation in OPERATIONS:
        api = Api("local", "llama.cpp", operation)
        support = parameter("repetition_penalty").support(api)
        assert support is not None
        assert (support.name, support.status) == ("repeat_penalty", Status.EXTENSION)
        assert parameter("repeat_penalty").support(api) is None


def test_every_row_explains_itself() -> None:
    paths = [each.path for each in PARAMETERS]
    assert len(paths) == len(set(paths))
    for each in PARAMETERS:
        assert each.label
        assert each.group in GROUPS
        assert each.help.endswith(".")
        assert each.supports
    order = [GROUPS.index(each.group) for each in PARAMETERS]
    assert order == sorted(order)


def test_every_default_and_sample_is_a_value_that_can_be_typed_again() -> None:
    for fact in ROWS:
        support = parameter(fact["renamed_from"] or fact["name"]).support(_api(fact))
        assert support is not None
        value = support.kind.clean(fact["sample"])
        assert _same(value, fact["sample"])
        assert support.kind.outside(value) is None
        assert support.kind.clean(support.kind.text(value)) == value


def test_a_slider_ends_at_the_bounds() -> None:
    for each in PARAMETERS:
        for support in (each.support(api) for api in APIS):
            kind = support.kind if support else None
            if isinstance(kind, Integer | Float) and kind.slider:
                low, high = kind.slider
                assert low < high
                assert kind.outside(high) is None
                assert kind.outside(low) is None or getattr(kind, "exclusive_minimum", False)


def test_a_row_added_at_run_time_is_seen_at_once() -> None:
    local = Api("local", "vllm", "chat")
    added = row("acme_heat", Integer(0, 9), "Sampling", "Heat", "How hot.", on(local, default=3))
    register(added)
    try:
        assert parameter("acme_heat") is added
        assert (added, added.support(local)) in for_api(local)
        assert added in [each for each, _ in for_api(Api("local", "other", "chat"))]
        with pytest.raises(ValueError, match="acme_heat"):
            register(added)
    finally:
        unregister("acme_heat")
    with pytest.raises(KeyError):
        parameter("acme_heat")
    assert added not in parameters.PARAMETERS


def test_a_row_can_be_written_without_helpers() -> None:
    api = Api("acme", "", "chat")
    plain = Parameter(
        "heat", Flag(), "Heat", "Hot.", "Sampling", {api: Support(Status.ACCEPTED, "h", Flag())}
    )
    assert plain.support(api) == Support(Status.ACCEPTED, "h", Flag())
    assert plain.support(Api("pulze", "", "chat")) is None
    assert replace(plain, header=True).header


UNLIMITED = "no limit but the context"


@pytest.mark.parametrize(
    ("api", "unset"),
    [
        (Api("local", "llama.cpp", "completions"), UNLIMITED),
        (Api("local", "llama.cpp", "chat"), UNLIMITED),
        (Api("local", "vllm", "completions"), "16 tokens"),
        (Api("local", "vllm", "chat"), UNLIMITED),
        (Api("octoai", "", "chat"), "512 tokens"),
        (Api("local", "other", "completions"), "the server's own default"),
        (Api("local", "lmstudio", "completions"), "the server's own default"),
    ],
)
def test_it_says_what_holds_without_max_tokens(api: Api, unset: str) -> None:
    support = parameter("max_tokens").support(api)
    assert support
    assert support.unset == unset


@pytest.mark.parametrize("api", APIS)
def test_every_api_says_what_holds_without_max_tokens(api: Api) -> None:
    support = parameter("max_tokens").support(api)
    assert support
    assert support.unset


GOOD: list[tuple[Kind, object, object]] = [
    (Integer(), "512.0", 512),
    (Integer(), " 7 ", 7),
    (Integer(), 512.0, 512),
    (Integer(), "-1", -1),
    (Integer(), "9" * 40, int("9" * 40)),
    (Float(), "0", 0),
    (Float(), "0.7", 0.7),
    (Float(), ".5", 0.5),
    (Float(), "1e-3", 0.001),
    (Float(), 1.0, 1.0),
    (Float(0, 1), "9" * 400, int("9" * 400)),
    (Flag(), "false", False),
    (Flag(), "on", True),
    (Flag(), "Off", False),
    (Flag(), True, True),
    (Option(("a", "b")), "c", "c"),
    (Text(), "", ""),
    (TextList(), "\\n\\n\nC:\\\\new", ["\n\n", "C:\\new"]),
    (TextList(), "END\r\n\r\n User:", ["END", " User:"]),
    (TextList(), "\\x20\\t\\u00e9\\U0001f600\\r", [" \té😀\r"]),
    (TextList(), [" ", "\n"], [" ", "\n"]),
    (TextList(single=True), "END", ["END"]),
    (TokenBias(), '{"50256": -100, "1": 0.5}', {"50256": -100, "1": 0.5}),
    (TokenBias(text_keys=True), {"AI": -100}, {"AI": -100}),
    (Json(), '{"a": [1, 2.0, null]}', {"a": [1, 2.0, None]}),
    (Json("array", items="integer"), "[1, 2]", [1, 2]),
    (Json("any"), "null", None),
    (Either(Integer(), Flag()), "true", True),
    (Either(Integer(), Flag()), True, True),
    (Either(Integer(), Flag()), "5", 5),
    (Either(Json(), Option(("auto",))), "auto", "auto"),
    (Either(Json(), Option(("auto",))), '{"type": "function"}', {"type": "function"}),
]

BAD: list[tuple[Kind, object, str]] = [
    (Integer(), "6000.5", "whole number"),
    (Integer(), 6000.5, "whole number"),
    (Integer(), True, "whole number"),
    (Integer(), "0,7", "whole number"),
    (Integer(), "1_000", "whole number"),
    (Integer(), "٣", "whole number"),
    (Integer(), None, "whole number"),
    (Integer(), float("nan"), "whole number"),
    (Integer(), float("inf"), "whole number"),
    (Integer(), "9" * 5000, "fewer digits"),
    (Float(), "0,7", "decimal"),
    (Float(), "hot", "number"),
    (Float(), True, "number"),
    (Float(), "nan", "number"),
    (Float(), "1e999", "finite"),
    (Float(), float("inf"), "finite"),
    (Float(), float("nan"), "finite"),
    (Flag(), "yes", "true or false"),
    (Flag(), 1, "true or false"),
    (Flag(), "", "true or false"),
    (Option(("a",)), 1, "text"),
    (Text(), 1, "text"),
    (TextList(), ["END", ""], "Remove the empty item"),
    (TextList(item="stop sequence"), [""], "Remove the empty stop sequence"),
    (TextList(), "END\n  ", r"\\x20"),
    (TextList(), "C:\\quit", r"\\q"),
    (TextList(), "end\\", "escape"),
    (TextList(), "\\x1", r"\\x"),
    (TextList(), "\\ud83d", "not a character"),
    (TextList(), "\\U00110000", "not a character"),
    (TextList(), ["a", 1], "list of texts"),
    (TextList(), {"a": 1}, "list of texts"),
    (TokenBias(), {"AI": -100}, "AI"),
    (TokenBias(), {"50256": "x"}, "50256"),
    (TokenBias(), {"50256": 101}, "50256"),
    (TokenBias(), {"50256": True}, "50256"),
    (TokenBias(), {"50256": float("nan")}, "50256"),
    (TokenBias(), '{"50256": 1, "50256": 2}', "50256"),
    (TokenBias(), [1, 2], "object"),
    (TokenBias(), '{"1":1,}', "Line 1 .*comma"),
    (TokenBias(text_keys=True), {"AI": 101}, "AI"),
    (Json(), '{\n"a": 1\n"b": 2}', "Line 3"),
    (Json(), '{"a": 1', "ends too early"),
    (Json(), '{"a": "x\ny"}', r"\\n or"),
    (Json(), '{"a": 1, "a": 2}', "“a” occurs twice"),
    (Json(), '{"a": NaN}', "NaN"),
    (Json(), '{"a": -Infinity}', "Infinity"),
    (Json(), '{"a": 1e999}', "finite"),
    (Json(), {"a": float("nan")}, "finite"),
    (Json(), "[1]", "object"),
    (Json("array"), "{}", "list"),
    (Json("array"), "[" * 100_000, "nested"),
    (Json("array"), "[" * 101 + "]" * 101, "nested"),
    (Json("array", items="integer"), "[1, true]", "Item 2"),
    (Json("array", items="object"), '["x"]', "Item 1"),
    (Json(), '{"a": 1,]', "Line 1"),
    (Json(), "{'a': 1}", "Line 1"),
    (Either(Json(), Option(("auto",))), '{"type": ', "Line 1"),
    (Either(Integer(), Flag()), "maybe", "whole number"),
]


@pytest.mark.parametrize(("kind", "raw", "value"), GOOD)
def test_it_reads_what_was_meant(kind: Kind, raw: object, value: Any) -> None:
    found = kind.clean(raw)
    assert found == value
    assert type(found) is type(value)
    assert kind.clean(kind.text(found)) == found


@pytest.mark.parametrize(("kind", "raw", "said"), BAD)
def test_it_says_what_to_type_instead(kind: Kind, raw: object, said: str) -> None:
    with pytest.raises(ValueError, match=said) as refusal:
        kind.clean(raw)
    assert str(refusal.value).endswith(".")


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (Float(0, 2), 0, None),
        (Float(0, 2), 2, None),
        (Float(0, 2), 2.1, "0 to 2"),
        (Float(0, 1, exclusive_minimum=True), 0, "above 0"),
        (Float(0, exclusive_minimum=True), 10**400, None),
        (Integer(1), 0, "minimum is 1"),
        (Integer(None, 5), 6, "maximum is 5"),
        (Integer(), -5, None),
        (Flag(), True, None),
        (Option(("a", "b")), "c", "a, b"),
        (Option(("a", "b")), "a", None),
        (Option(), "c", None),
        (TextList(choices=("a",)), ["a", "x"], "“x”"),
        (Json(members=(Member("f.type", enum=("text",)),)), {"type": "xml"}, "“xml”"),
        (
            Json("array", (Member("t[].a.n", ("integer",), minimum=1),)),
            [{"a": {"n": 0}}],
            "minimum",
        ),
        (Json(members=(Member("f.type", enum=("text",)),)), {"type": "text"}, None),
        (Either(Json(), Option(("auto",))), "never", "“never”"),
        (Either(Json(), Option(("auto",))), {"type": "function"}, None),
    ],
)
def test_it_warns_of_what_is_not_documented(kind: Kind, value: object, said: str | None) -> None:
    found = kind.outside(value)
    assert found is None if said is None else said in (found or "")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
    max_leaves=8,
)
BIAS = st.floats(-100, 100) | st.integers(-100, 100)
VALUES: list[tuple[Kind, st.SearchStrategy[Any]]] = [
    (Integer(), st.integers()),
    (Float(), st.floats(allow_nan=False, allow_infinity=False) | st.integers()),
    (Flag(), st.booleans()),
    (Option(("a",)), st.text()),
    (Text(), st.text()),
    (TextList(), st.lists(st.text(min_size=1))),
    (TextList(single=True), st.lists(st.text(" \n\r\t\\x20u\u2028\x85", min_size=1))),
    (TokenBias(), st.dictionaries(st.integers(0).map(str), BIAS)),
    (TokenBias(text_keys=True), st.dictionaries(st.text(), BIAS)),
    (Json("any"), JSON.filter(lambda value: not isinstance(value, str))),
    (Json(), st.dictionaries(st.text(), JSON)),
    (Json("array"), st.lists(JSON)),
    (Either(Integer(), Flag()), st.integers() | st.booleans()),
    (
        Either(Json(), Option()),
        st.dictionaries(st.text(), JSON) | st.sampled_from(["auto", "none"]),
    ),
]


@given(data=st.data())
@pytest.mark.parametrize(("kind", "values"), VALUES, ids=lambda each: type(each).__name__)
def test_a_value_comes_back_from_the_form_as_it_was(
    data: st.DataObject, kind: Kind, values: st.SearchStrategy[Any]
) -> None:
    value = kind.clean(data.draw(values))
    again = kind.clean(kind.text(value))
    assert again == value
    assert json.dumps(again) == json.dumps(value)


@given(raw=st.text() | JSON)
@pytest.mark.parametrize("kind", [kind for kind, _ in VALUES], ids=lambda each: type(each).__name__)
def test_it_refuses_with_a_sentence_or_takes_for_good(raw: object, kind: Kind) -> None:
    try:
        value = kind.clean(raw)
    except ValueError as refusal:
        assert str(refusal).endswith(".")  # noqa: PT017
    else:
        assert kind.clean(kind.text(value)) == value
        kind.outside(value)


@pytest.mark.parametrize("raw", ["a\ud800", ["\udc00"]])
def test_half_a_character_is_no_item_of_a_list(raw: object) -> None:
    with pytest.raises(ValueError, match="half a character"):
        TextList().clean(raw)
