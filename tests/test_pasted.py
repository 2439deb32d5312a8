"""What is copied from a provider's page, from a browser or from “view code” fills the form."""

import json
import shlex
import shutil
import subprocess
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playground.building import build
from playground.completion import CompletionRequest
from playground.inputs import Given
from playground.models import Connection
from playground.parameters import (
    LLAMA_CHAT,
    LLAMA_COMPLETIONS,
    OGX_COMPLETIONS,
    PULZE_COMPLETIONS,
    Api,
    for_api,
)
from playground.pasted import BadPaste, Pasted, read_pasted
from playground.pasted.command import words
from playground.snippets import SNIPPETS, Call
from tests.samples import APIS, everything, exact, request_to_api

URL = "https://api.example.com/v1"
BASH = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")


def curl(request: CompletionRequest, needs_key: bool = True) -> str:
    return SNIPPETS["curl"].program(Call(request, URL, needs_key))


def asked(pasted: Pasted, api: Api) -> CompletionRequest:
    """The request that the form makes of it."""
    changes = pasted.changes
    built = build(
        Connection(provider=api.provider, dialect=api.dialect),
        changes["operation"],
        model=changes["model"],
        given=Given.of(changes),
        raw_values=changes["values"],
        headers=changes["headers"],
        extra=changes["extra"],
        force=True,
    )
    assert built.request, built.errors
    return built.request


def again(request: CompletionRequest) -> CompletionRequest:
    pasted = read_pasted(curl(request), request.provider, request.dialect)
    return asked(pasted, request.api)


def same(one: CompletionRequest, other: CompletionRequest) -> bool:
    return exact([one.body(), one.headers()]) == exact([other.body(), other.headers()])


# --- There and back ------------------------------------------------------------------------


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.key)
def test_all_parameters_at_once_come_back(api: Api) -> None:
    request = request_to_api(api, everything(api))
    found = again(request)
    assert same(found, request)
    assert found.values == request.values  # each in its own row
    assert found.extra == request.extra


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.key)
def test_each_parameter_alone_comes_back(api: Api) -> None:
    for path, value in everything(api).items():
        request = request_to_api(api, {path: value}, extra={})
        found = again(request)
        assert same(found, request), path
        assert found.values == {path: value}


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
TAKEN = ("model", "prompt", "messages")


@settings(max_examples=150, deadline=None)
@given(
    api=st.sampled_from(APIS),
    text=TEXTS,
    model=TEXTS,
    temperature=st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False),
    stop=st.lists(st.text(min_size=1, max_size=8), max_size=3),
    extra=st.dictionaries(st.text(max_size=10).filter(lambda key: key not in TAKEN), JSON),
)
def test_whatever_is_typed_comes_back(
    api: Api, text: str, model: str, temperature: float, stop: list[str], extra: dict[str, Any]
) -> None:
    chat = api.operation == "chat"
    request = request_to_api(
        api,
        {"temperature": temperature, "stop": stop},
        model=model.strip(),
        prompt="" if chat else text,
        messages=({"role": "user", "content": text},) if chat else (),
        extra=extra,
    )
    assert same(again(request), request)


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_python_reads_the_same_words(text: str) -> None:
    """`shlex` as another reader of the shell's quotes."""
    program = curl(request_to_api(LLAMA_COMPLETIONS, {}, prompt=text)).replace("\\\n", "")
    found = shlex.split(program)
    body = json.loads(found[found.index("--data-raw") + 1])
    assert body["prompt"] == text


# --- Other people's commands ---------------------------------------------------------------

BODY = '{"model": "m", "prompt": "Hi"}'


@pytest.mark.parametrize(
    "command",
    [
        f"curl {URL}/completions -d '{BODY}'",
        f"curl {URL}/completions/ -d'{BODY}'",
        f"curl -sS -XPOST --url {URL}/completions --json '{BODY}'",
        f"curl -N --data-binary '{BODY}' -H 'Content-Type: application/json' {URL}/completions",
        f"$ curl \\\n  --request POST \\\n  {URL}/completions \\\r\n  --data-raw '{BODY}'",
        f"API_KEY=secret curl {URL}/completions -d '{BODY}' | jq . > out",
        f"curl {URL}/completions -d '{BODY}' 2>/dev/null\necho done",
        f"curl {URL}/completions -d '{BODY}' # as in the manual's it's",
        f"curl '{URL}/completions' --data-raw $'{BODY}' --compressed -m 10 -o out.json",
        f'curl "{URL}/completions" -d "{{\\"model\\": \\"m\\", \\"prompt\\": \\"Hi\\"}}"',
        f'curl {URL}/completions --json \'{{"model": "m",\' --json \'"prompt": "Hi"}}\'',
        f"curl.exe {URL}/completions -d '{BODY}'",
    ],
)
def test_it_reads_a_command(command: str) -> None:
    pasted = read_pasted(command)
    assert pasted.changes == {
        "operation": "completions",
        "model": "m",
        "mode": "text",
        "prompt": "Hi",
        "values": {},
        "extra": "",
        "headers": "",
    }
    assert pasted.base_url == URL
    assert pasted.notes == [f"It was sent to {URL}."]


QUOTED = {
    r"$'a\'b\n\t\\ \x41\101 é \u2028 \U0001F600'": "a'b\n\t\\ A\101 é \u2028 😀",
    r"$'\xc3\xa9 \ud83d\ude00'": "é 😀",
    r"'a'\''b'": "a'b",
    r'"a\"b\\c \$x \n"': r'a"b\c $x \n',
    r"a\ b#c'd'": "a b#cd",
    "x$'y'z": "xyz",
    "'a\nb'": "a\nb",
    '"a\\\nb"': "ab",
    "a\\\nb": "ab",
}


@pytest.mark.parametrize("quoted", QUOTED)
def test_it_reads_the_shells_quotes(quoted: str) -> None:
    [word] = words(quoted)
    assert word.text == QUOTED[quoted]
    assert not word.shell


@BASH
@pytest.mark.parametrize("quoted", [each for each in QUOTED if "\\ud83d" not in each])
def test_bash_reads_them_so_too(quoted: str) -> None:
    script = f"printf %s {quoted}"
    done = subprocess.run(["bash"], input=script.encode(), capture_output=True, check=True)
    assert done.stdout.decode() == QUOTED[quoted]


def test_a_bare_body_is_enough() -> None:
    body = '\ufeff {"messages": [{"role": "user", "content": "Hi"}], "temperature": 0}\n'
    pasted = read_pasted(body, "pulze")
    assert pasted.changes["operation"] == "chat"
    assert pasted.changes["messages"] == [{"role": "user", "content": "Hi"}]
    assert pasted.changes["mode"] == "messages"
    assert pasted.changes["values"] == {"temperature": "0"}
    assert pasted.changes["model"] == ""
    assert pasted.base_url == ""
    assert pasted.notes == []


@pytest.mark.parametrize(
    ("body", "path", "operation"),
    [
        ({"prompt": "Hi"}, "/chat/completions", "completions"),
        ({"messages": []}, "/completions", "chat"),
        ({"messages": [], "prompt": "Hi"}, "/chat/completions", "chat"),
        ({"messages": [], "prompt": "Hi"}, "/completions", "completions"),
        ({}, "/completions", "completions"),
    ],
)
def test_body_and_path_say_the_operation(body: Any, path: str, operation: str) -> None:
    pasted = read_pasted(f"curl {URL}{path} -d '{json.dumps(body)}'")
    assert pasted.operation == operation


@pytest.mark.parametrize("prompt", [["a", "b\n"], [1, 2], [[1, 2], [3]], ["one"]])
def test_lists_of_prompts_and_token_ids_come_back(prompt: Any) -> None:
    request = request_to_api(LLAMA_COMPLETIONS, {}, prompt=prompt)
    assert same(again(request), request)


def test_a_body_too_long_for_an_argument_comes_back() -> None:
    request = request_to_api(LLAMA_COMPLETIONS, {"top_k": 1}, prompt='It\'s "long" $x. ' * 9000)
    assert "<<'" in curl(request)
    assert same(again(request), request)


def test_a_conversation_with_tools_comes_back() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = (
        {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "5", "tool_call_id": "1"},
        {"role": "user", "content": "Hi", "name": "ann"},
    )
    request = request_to_api(LLAMA_CHAT, {}, messages=messages)
    assert same(again(request), request)
    pasted = read_pasted('{"messages": [{"role": "user", "content": "Hi", "refusal": null}]}')
    assert pasted.notes == ["Left out of the messages: refusal."]


# --- Rows ----------------------------------------------------------------------------------


def values(body: Any, api: Api = LLAMA_COMPLETIONS) -> tuple[dict[str, Any], str, list[str]]:
    pasted = read_pasted(json.dumps({"prompt": "", **body}), api.provider, api.dialect)
    return pasted.changes["values"], pasted.changes["extra"], pasted.notes


def test_another_name_finds_its_row_where_it_is_the_name() -> None:
    assert values({"repeat_penalty": 1.1})[0] == {"repetition_penalty": "1.1"}
    assert values({"repeat_penalty": 1.1}, OGX_COMPLETIONS)[0] == {"repeat_penalty": "1.1"}


def test_what_has_no_row_goes_into_the_extra_body() -> None:
    found, extra, notes = values({"top_k": 1, "min_q": 2, "repetition_penalty": 1.1})
    assert found == {"top_k": "1"}
    assert json.loads(extra) == {"min_q": 2, "repetition_penalty": 1.1}
    assert notes == ["Without a field of their own, in the extra body: min_q, repetition_penalty."]


def test_a_wrong_value_is_not_said_to_have_no_field() -> None:
    asked = {"temperature": "hot", "max_tokens": -5, "top_p": "0.5, 1", "foo": 1}
    found, extra, notes = values(asked)
    assert found == {"temperature": "hot", "max_tokens": "-5"}
    assert json.loads(extra) == {"top_p": "0.5, 1", "foo": 1}
    assert notes == [
        "temperature: “hot” is not a number. It stands in its field; correct it there.",
        "Without a field of their own, in the extra body: foo.",
        "With values that their fields do not take, in the extra body: top_p.",
    ]


@pytest.mark.parametrize(
    "body",
    [
        {"temperature": "0.7"},
        {"temperature": None},
        {"max_tokens": 5.0},
        {"echo": 1},
        {"stop": ["a", ""]},
        {"stop": None},
        {"stream_options": {"include_usage": True, "other": 1}},
        {"stream_options": {}},
        {"stream_options": None},
        {"logit_bias": {"1": 200}},
    ],
)
def test_what_a_row_would_change_is_kept_as_it_is(body: Any) -> None:
    found, extra, _ = values(body)
    assert found == {}
    assert exact(json.loads(extra)) == exact(body)


def test_one_stop_text_becomes_a_list_and_says_so() -> None:
    found, extra, notes = values({"stop": "\n"})
    assert (found, extra) == ({"stop": "\\n"}, "")
    assert notes == ["“stop” was one text; it is sent as a list with one text in it."]


def test_nested_members_find_their_rows() -> None:
    found, extra, _ = values({"stream": True, "stream_options": {"include_usage": False}})
    assert found == {"stream": "true", "stream_options.include_usage": "false"}
    assert extra == ""


# --- Headers and keys ----------------------------------------------------------------------


def test_pulzes_headers_find_their_rows() -> None:
    command = (
        f"curl {URL}/completions -d '{BODY}' -H 'pulze-weights: {{\"cost\": 1, \"quality\": 0}}' "
        '-H \'Pulze-Labels: {"a": "b"}\' -H \'Pulze-Policies: {"new": 1}\''
    )
    pasted = read_pasted(command, "pulze")
    found = asked(pasted, PULZE_COMPLETIONS)
    assert found.headers() == {
        "Pulze-Labels": '{"a": "b"}',
        "Pulze-Weights": '{"cost": 1, "quality": 0}',
    }
    said = "The header Pulze-Policies is not taken over: its value has no field here."
    assert said in pasted.notes
    elsewhere = read_pasted(command, "local", "llama.cpp")
    assert 'Pulze-Labels: {"a": "b"}' in elsewhere.changes["headers"]


def test_a_header_that_curl_leaves_out_is_none() -> None:
    body = "-d '{}'"
    assert read_pasted(f"curl http://x/v1 -H 'X-A:' -H 'X-B: ' {body}").changes["headers"] == ""
    assert read_pasted(f"curl http://x/v1 -H 'X-A;' {body}").changes["headers"] == "X-A: "


def test_own_headers_come_back_without_what_programs_say_of_themselves() -> None:
    own = {"X-Trace": 'it\'s "1"', "X-Empty": ""}
    request = request_to_api(LLAMA_COMPLETIONS, {}, own_headers=own)
    found = again(request)
    assert found.own_headers == request.own_headers
    assert same(found, request)
    browser = "-H 'sec-ch-ua: x' -H 'Origin: x' -H 'User-Agent: x' -H 'Accept: */*'"
    pasted = read_pasted(f"curl {URL}/completions {browser} -d '{BODY}'")
    assert pasted.changes["headers"] == ""
    assert len(pasted.notes) == 1


SECRETS = [
    "-H 'Authorization: Bearer sk-sesame'",
    "-H 'x-api-key: sk-sesame'",
    "-H 'api-key:sk-sesame'",
    "-H 'Cookie: session=sk-sesame'",
    "-H 'X-Auth-Token: sk-sesame'",
    "-u user:sk-sesame",
    "--user sk-sesame",
    "-b sk-sesame",
    "-H 'X-Own: Bearer sk-sesame'",
    '-H \'X-OGX-Provider-Data: {"x": "sk-sesame"}\'',
    "-usk-sesame",
    "--oauth2-bearer sk-sesame",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_keys_are_never_taken_over(secret: str) -> None:
    pasted = read_pasted(f"curl {URL}/completions {secret} -d '{BODY}'")
    assert "sesame" not in repr(pasted)
    assert any(note.startswith("Keys are never taken over") for note in pasted.notes)


@pytest.mark.parametrize(
    "url",
    [
        "https://user:sk-sesame@api.example.com/v1/completions",
        "https://api.example.com/v1/completions?key=sk-sesame",
        "https://sk-sesame@api.example.com/v1/completions#sk-sesame",
    ],
)
def test_nor_those_in_an_address(url: str) -> None:
    pasted = read_pasted(f"curl '{url}' -d '{BODY}'")
    assert "sesame" not in repr(pasted)
    assert pasted.base_url == URL
    assert any(note.startswith("Keys are never taken over") for note in pasted.notes)


@pytest.mark.parametrize(
    ("url", "base_url"),
    [
        ("localhost:8080/v1/completions", "http://localhost:8080/v1"),
        ("http://[::1]:8080/v1/completions", "http://[::1]:8080/v1"),
        ("https://API.example.com/generate", "https://api.example.com/generate"),
        ("$BASE/completions", ""),
    ],
)
def test_the_address_is_reported(url: str, base_url: str) -> None:
    assert read_pasted(f"curl {url} -d '{BODY}'").base_url == base_url


# --- Refusals ------------------------------------------------------------------------------

REFUSED = {
    "": "Paste a curl command",
    "hello": "Paste a curl command",
    "curly {}": "Paste a curl command",
    "[1]": "Paste a curl command",
    f"curl {URL}/models": "no JSON body",
    f"curl {URL} -d @body.json": "comes from a file",
    f"curl {URL} --json @-": "comes from a file",
    f"curl {URL} -d @- <<EOF\n{BODY}\nEOF": "comes from a file",
    f"curl {URL} ^\n -d '{BODY}'": "for Windows",
    f'curl ^"{URL}^" ^\r\n -d ^"x^"': "for Windows",
    f"curl {URL} -F file=x": "form or a file",
    f"curl {URL} -G -d '{BODY}'": "form or a file",
    f"curl -X PUT {URL} -d '{BODY}'": "sends PUT",
    f"curl {URL} --frobnicate -d '{BODY}'": "--frobnicate is not known",
    f"curl {URL} -d": "After -d something is missing",
    f"curl {URL} -d '{BODY}": "never closed",
    f"curl {URL} other -d '{BODY}'": "two addresses",
    f"curl 'http://[::1' -d '{BODY}'": "not a web address",
    f'curl {URL} -d "$BODY"': "variable or command of the shell",
    f"curl {URL} -d $BODY": "variable or command of the shell",
    f'curl {URL} -d "`cat body`"': "variable or command of the shell",
    f"curl {URL} -d 'a=b' -d 'c=d'": "Line 1 is not valid JSON",
    '{"prompt": "a",\n "n": 1,\n}': "Line 3 is not valid JSON: remove the comma",
    '{"prompt": "a", "n": NaN}': "JSON has no NaN",
    '{"a": 1, "a": 2}': "occurs twice",
    '{"model": 5}': "“model” must be text",
    '{"prompt": 5}': "“prompt” must be text",
    '{"messages": "Hi"}': "“messages” must be a list",
    '{"messages": ["Hi"]}': "“messages” must be a list",
}


@pytest.mark.parametrize("text", REFUSED)
def test_it_says_what_to_paste_instead(text: str) -> None:
    with pytest.raises(BadPaste) as refused:
        read_pasted(text)
    assert REFUSED[text] in str(refused.value)
    assert "\n" not in str(refused.value)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60), st.sampled_from(["", "curl ", "curl x -d ", '{"prompt": ', "curl -"]))
def test_any_text_is_read_or_refused_with_a_sentence(text: str, start: str) -> None:
    try:
        read_pasted(start + text)
    except BadPaste as refused:
        said = str(refused)
    else:
        said = "It was read."
    assert said.endswith((".", "”."))


def test_every_row_can_be_pasted() -> None:
    """The reader knows rows by their wire names: two rows must not share one."""
    for api in APIS:
        names = [support.name for _, support in for_api(api)]
        assert len(names) == len(set(names))
