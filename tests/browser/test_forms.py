"""The form for every parameter: what is typed is what the backend receives."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.steps import finished, parameter, run
from tests.fake_provider import (
    FakeProvider,
    Received,
    Reply,
    error_reply,
    json_reply,
    words,
)
from tests.server import Server, document

OpenPage = Callable[..., Page]


def tokenized(request: Received) -> Reply:
    """Each word is a token; its id is 100 and its length."""
    words = request.json["content"].split(" ")
    return json_reply({"tokens": [{"id": 100 + len(word), "piece": word} for word in words]})


def detokenized(request: Received) -> Reply:
    [number] = request.json["tokens"]
    return json_reply({"content": f" w{number}\n"})


@pytest.fixture
def page(open_page: OpenPage, server: Server, fake: FakeProvider) -> Page:
    fake.clear()
    fake.reply_with(words(5, None))
    fake.on_path("/tokenize", tokenized)
    fake.on_path("/detokenize", detokenized)
    opened = open_page()
    opened.goto(server.url)
    return opened


def press_run(page: Page) -> Locator:
    """The column of the new run, ended."""
    column = page.locator("article[data-run]")
    before = column.get_attribute("data-run") if column.count() else ""
    page.locator("[data-run-button]").click()
    expect(column).not_to_have_attribute("data-run", before or "none")
    finished(column)
    return column


def body(fake: FakeProvider, n: int = 1) -> Any:
    return json.loads(fake.wait_for_request(n).body)


def answer(**choice: Any) -> Reply:
    whole = {"object": "chat.completion", "model": "m", "choices": [{"index": 0, **choice}]}
    return json_reply(whole)


def violations(page: Page) -> list[str]:
    return [each["id"] for each in Axe().run(page).response["violations"]]


# --- The input -----------------------------------------------------------------------------


def test_a_trailing_blank_is_pointed_out_and_tokens_are_counted(page: Page) -> None:
    box = page.get_by_role("textbox", name="Prompt", exact=True)
    box.fill("one two ")
    expect(page.locator("[data-ending]")).to_have_text("ends with a space")
    expect(page.locator("[data-count-tokens]")).to_have_text("3 tokens")
    box.fill("one\n")
    expect(page.locator("[data-ending]")).to_have_text("ends with a line break")
    box.fill("one")
    expect(page.locator("[data-ending]")).to_be_hidden()


def test_a_backend_that_cannot_count_says_nothing(page: Page, fake: FakeProvider) -> None:
    fake.on_path("/tokenize", error_reply(500, {"error": {"message": "no"}}))
    page.get_by_role("textbox", name="Prompt", exact=True).fill("never asked before")
    page.wait_for_timeout(1_000)
    expect(page.locator("[data-count-tokens]")).to_have_text("")
    expect(page.locator("#notice")).to_be_empty()


def test_a_list_of_prompts_goes_out_as_a_list_and_comes_back_as_a_matrix(
    page: Page, fake: FakeProvider
) -> None:
    texts = ["a1", "a2", "b1", "b2"]
    fake.reply_with(
        json_reply(
            {
                "choices": [
                    {"index": i, "text": t, "finish_reason": "stop"} for i, t in enumerate(texts)
                ]
            }
        )
    )
    page.get_by_role("tab", name="Prompt list").click()
    page.get_by_role("textbox", name="Prompt 1").fill("A")
    page.get_by_role("button", name="Add prompt").click()
    page.keyboard.type("B")
    page.get_by_role("button", name="Add prompt").click()
    page.get_by_role("button", name="Remove prompt 3").click()
    parameter(page, "n").locator("[data-box]").fill("2")
    expect(page.locator("#plan")).to_contain_text("4 completions")
    column = press_run(page)
    assert body(fake)["prompt"] == ["A", "B"]
    titles = column.locator(".out").evaluate_all(
        "(all) => all.map((out) => [out.dataset.title, out.textContent])"
    )
    assert titles == [
        ["Prompt 1, choice 1", "a1"],
        ["Prompt 1, choice 2", "a2"],
        ["Prompt 2, choice 1", "b1"],
        ["Prompt 2, choice 2", "b2"],
    ]
    assert not violations(page)


def test_token_ids_are_shown_as_pieces_and_sent_as_numbers(page: Page, fake: FakeProvider) -> None:
    page.get_by_role("tab", name="Token ids").click()
    box = page.get_by_role("textbox", name="Token ids")
    box.fill("5 6, 7")
    expect(page.locator(".ids > span")).to_have_text([" w5\\n5", " w6\\n6", " w7\\n7"])
    expect(page.locator("#ids-note")).to_contain_text("3 tokens")
    expect(page.locator("#ids-note")).to_contain_text("ends with a line break")
    assert not violations(page)
    press_run(page)
    assert body(fake)["prompt"] == [5, 6, 7]
    box.fill("5 x")
    expect(page.locator("#ids-note")).to_contain_text("Only whole numbers")
    page.keyboard.press("Control+Enter")
    wanted = "Write whole numbers with blanks or commas between, one prompt a line."
    expect(page.locator("#problems li")).to_have_text(f"Token ids{wanted}")
    box.fill("")
    expect(page.locator("#ids-note")).to_have_text(wanted)


def test_a_kind_of_prompt_leads_to_where_one_types(page: Page) -> None:
    tab = page.get_by_role("tab", name="Token ids")
    tab.click()
    expect(page.get_by_role("textbox", name="Token ids")).to_be_focused()
    tab.focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("tab", name="Prompt list")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Prompt 1")).to_be_focused()
    page.get_by_role("tab", name="Prompt list").focus()
    page.keyboard.press("Alt+ArrowRight")  # is the browser's
    page.wait_for_timeout(200)
    expect(page.get_by_role("tab", name="Prompt list")).to_have_attribute("aria-selected", "true")


def test_messages_carry_tool_calls_and_their_answers(page: Page, fake: FakeProvider) -> None:
    chat = page.locator('[data-operation="chat"]')
    for mode, pressed in (("Messages", "true"), ("Text", "false"), ("Messages", "true")):
        page.get_by_role("tab", name=mode).click()
        expect(chat).to_have_attribute("aria-pressed", pressed)
    expect(page.locator("[data-went-to-chat]")).to_contain_text("The column is on Chat now")
    page.get_by_role("button", name="Remove message 1").click()
    expect(page.get_by_text("A chat needs at least one.")).to_be_visible()
    page.get_by_role("button", name="Add message").click()
    expect(page.get_by_text("A chat needs at least one.")).to_be_hidden()
    page.get_by_role("textbox", name="Message 1").fill("Hi")
    page.get_by_role("button", name="Add message").click()
    page.get_by_role("button", name="Tool calls").click()
    calls = page.get_by_role("textbox", name="Tool calls of message 2")
    calls.fill('[{"id": "c1"\n "type": "function"}]')
    expect(page.locator("[data-calls-error]:visible")).to_have_text(
        'Line 2: a comma is missing before “"type"”.'
    )
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    calls.fill(json.dumps([call]))
    page.get_by_role("button", name="Add message").click()
    page.get_by_role("combobox", name="Role of message 3").select_option("tool")
    page.get_by_role("textbox", name="Id of the tool call that message 3 answers").fill("c1")
    page.get_by_role("textbox", name="Message 3", exact=True).fill("7")
    assert not violations(page)
    press_run(page)
    assert body(fake)["messages"] == [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "7", "tool_call_id": "c1"},
    ]


def test_a_refusal_of_tool_calls_leads_to_their_message(page: Page, fake: FakeProvider) -> None:
    page.get_by_role("tab", name="Messages").click()
    for _ in range(2):
        page.get_by_role("button", name="Add message").click()
    page.get_by_label("Role of message 1").select_option("assistant")
    page.locator("[data-add-calls]").first.click()
    calls, last = (
        page.get_by_label("Tool calls of message 1"),
        page.get_by_role("textbox", name="Message 3"),
    )
    calls.fill("[{]")
    last.fill("Hi")
    last.press("Control+Enter")
    expect(page.locator("[data-error-for=messages]")).to_contain_text("Message 1, tool calls:")
    expect(calls).to_be_focused()
    wrong = page.locator("[data-messages] [aria-invalid]")
    expect(wrong).to_have_count(1)
    expect(calls).to_have_attribute("aria-invalid", "true")
    last.fill("Hi!")
    expect(page.locator("[data-error-for=messages]")).to_be_hidden()
    expect(calls).to_have_attribute("aria-invalid", "true")  # which it still is
    calls.fill('[{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]')
    expect(wrong).to_have_count(0)
    assert not fake.posts


def test_an_answer_is_appended_and_a_tool_call_is_answered(page: Page, fake: FakeProvider) -> None:
    finished(run(page, "Once"))
    page.get_by_role("link", name="Continue").click()
    box = page.get_by_role("textbox", name="Prompt", exact=True)
    expect(box).to_have_value("Oncew0 w1 w2 w3 w4 ")
    call = {
        "id": "c9",
        "type": "function",
        "function": {"name": "now", "arguments": '{"in": "UTC"}'},
    }
    fake.reply_with(answer(message={"tool_calls": [call]}, finish_reason="tool_calls"))
    page.locator('[data-operation="chat"]').click()
    column = run(page, "What time is it?")
    finished(column)
    expect(column.locator(".toolcall")).to_contain_text("now")
    expect(column.locator(".toolcall pre")).to_have_text('{\n  "in": "UTC"\n}')
    page.get_by_role("link", name="Answer the tool call").click()
    page.get_by_role("textbox", name="Message 3", exact=True).fill("Noon")
    fake.reply_with(answer(message={"content": "Noon it is."}, finish_reason="stop"))
    press_run(page)
    sent = body(fake, 3)["messages"]
    assert sent[1]["tool_calls"] == [call]
    assert sent[2] == {"role": "tool", "content": "Noon", "tool_call_id": "c9"}


# --- The editors of the panel --------------------------------------------------------------


def test_stop_sequences_are_chips_that_the_keyboard_makes_and_removes(
    page: Page, fake: FakeProvider
) -> None:
    stop = parameter(page, "stop")
    box = stop.get_by_role("textbox")
    box.focus()
    page.keyboard.type("\\n\\n")
    page.keyboard.press("Enter")
    page.keyboard.type("  x ")
    page.keyboard.press("Enter")
    expect(stop.locator(".chip")).to_have_text(["\\n\\n", "␣␣x␣"])
    page.keyboard.type("gone")
    page.keyboard.press("Enter")
    page.keyboard.press("Backspace")
    expect(stop.locator(".chip")).to_have_count(2)
    box.evaluate(
        "(box) => { box.value = 'one\\ntwo';"
        " box.dispatchEvent(new Event('input', {bubbles: true})); }"
    )
    expect(stop.locator(".chip")).to_have_count(4)
    box.fill("half typed")
    stop.get_by_role("button", name="Remove one").click()
    expect(stop.locator(".chip")).to_have_text(["\\n\\n", "␣␣x␣", "two"])
    expect(box).to_have_value("half typed")
    box.fill("")
    stop.get_by_role("button", name="Edit two").focus()
    page.keyboard.press("Enter")
    expect(box).to_have_value("two")
    expect(box).to_be_focused()
    page.keyboard.type("\\q")
    page.keyboard.press("Enter")
    expect(stop.locator("[data-error]")).to_contain_text("not a known escape")
    expect(box).to_have_attribute("aria-invalid", "true")
    assert not violations(page)
    box.fill("\\ttwo")
    finished(run(page, "Hi"))
    assert body(fake)["stop"] == ["\n\n", "  x ", "\ttwo"]


def test_token_biases_are_rows_of_ids_or_of_text(page: Page, fake: FakeProvider) -> None:
    bias = parameter(page, "logit_bias")
    box = bias.locator("[data-box]")
    box.fill("50256")
    box.press("Enter")
    bias.get_by_role("textbox", name="Bias of token 50256").fill("-100")
    box.fill("big birds")
    box.press("Enter")
    expect(bias.locator("[data-bias-note]")).to_have_text(
        "“big birds” is 2 tokens; each has a row."
    )
    bias.get_by_role("slider", name="Bias of token 103, slider").press("ArrowRight")
    bias.get_by_role("textbox", name="Bias of token 105").fill("101")
    expect(bias.locator("[data-error]")).to_contain_text("from -100 to 100")
    bias.get_by_role("textbox", name="Bias of token 105").fill("2.5")
    assert not violations(page)
    finished(run(page, "Hi"))
    assert body(fake)["logit_bias"] == {"50256": -100, "103": 1, "105": 2.5}
    fake.on_path("/tokenize", error_reply(404, {"error": {"message": "none"}}))
    page.reload()
    expect(parameter(page, "logit_bias").locator(".bias__row")).to_have_count(3)
    box.fill("unheard of")
    box.press("Enter")
    expect(bias.locator("[data-bias-note]")).to_contain_text("Type the token's id")


def test_json_names_the_line_and_what_is_wrong(page: Page, fake: FakeProvider) -> None:
    extra = parameter(page, "extra_body")
    box = extra.get_by_role("textbox")
    error = extra.locator("[data-error]")
    for text, sentence in {
        '{\n  "a": 1\n  "min_tokens": 2\n}': 'Line 3: a comma is missing before “"min_tokens"”.',
        '{"a": 1,\n}': "Line 1: remove the comma before “}”.",
        '{"a": True}': "Line 1: write true, not True.",
        '{"a" 1}': 'Line 1: a colon is missing after “"a"”.',
        '{"a": "b}': 'Line 1: a quote is missing at the end of “"b}”.',
        '{"a": [1, 2}': "Line 1: “}” is here, but a “]” is missing before it.",
        '{"a": 1, "a": 2}': "Line 1: the key “a” occurs twice; remove one.",
        '\n{"a": {': "Line 2: the “{” is never closed; a “}” is missing.",
        "[1]": "Type a JSON object, in { }.",
    }.items():
        box.fill(text)
        expect(error).to_have_text(sentence)
        expect(box).to_have_attribute("aria-invalid", "true")
    assert not violations(page)
    box.fill('{"a": {"b": [1, 2.5, null]}}')
    expect(error).to_be_hidden()
    finished(run(page, "Hi"))
    assert body(fake)["a"] == {"b": [1, 2.5, None]}


def test_tool_choice_is_a_word_a_function_or_json(page: Page, fake: FakeProvider) -> None:
    page.locator('[data-operation="chat"]').click()
    parameter(page, "tools").get_by_role("textbox").fill(
        '[{"type": "function", "function": {"name": "now", "parameters": {}}}]'
    )
    choice = parameter(page, "tool_choice")
    select = choice.get_by_role("combobox")
    select.select_option("required")
    finished(run(page, "Hi"))
    assert body(fake)["tool_choice"] == "required"
    select.select_option(label="one function…")
    expect(choice.get_by_role("textbox", name="name of the function")).to_be_focused()
    page.keyboard.type("now")
    press_run(page)
    named = {"type": "function", "function": {"name": "now"}}
    assert body(fake, 2)["tool_choice"] == named
    page.reload()
    expect(choice.get_by_role("textbox", name="name of the function")).to_have_value("now")
    parameter(page, "tool_choice")
    select.select_option(label="JSON or other text…")
    choice.get_by_role("textbox", name="as JSON or text").fill("sometimes")
    press_run(page)
    assert body(fake, 3)["tool_choice"] == "sometimes"


def test_own_headers_are_sent_and_secrets_refused(page: Page, fake: FakeProvider) -> None:
    headers = parameter(page, "headers").get_by_role("textbox")
    headers.fill("X-Team: evals\nAuthorization: x")
    run_nothing(page)
    expect(parameter(page, "headers").locator("[data-error]")).to_contain_text(
        "Authorization is set by"
    )
    assert not fake.posts
    headers.fill("X-Team: evals")
    expect(page.locator("#problems")).to_be_empty()  # what was refused is not there any more
    finished(run(page, "Hi"))
    assert fake.posts[0].headers["x-team"] == "evals"
    page.reload()
    expect(parameter(page, "headers").get_by_role("textbox")).to_have_value("X-Team: evals")


def run_nothing(page: Page) -> None:
    box = page.get_by_role("textbox", name="Prompt", exact=True)
    box.fill("Hi")
    box.press("Control+Enter")
    expect(page.locator("#problems")).to_contain_text("Nothing was sent")


def test_pulze_labels_follow_the_labels_until_they_are_switched_off(
    page: Page, fake: FakeProvider, server: Server
) -> None:
    done = server.manage(
        "connection", "routed", "--provider", "pulze", "--base-url", fake.url, "--model", "p",
        "--key-stdin", stdin="k\n",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    [found] = server.rows("SELECT id FROM playground_connection WHERE name = 'routed'")
    page.reload()
    labels = page.get_by_role("textbox", name="Labels")
    labels.fill("task=qa")
    labels.press("Enter")
    labels.fill("birds")
    labels.press("Enter")
    expect(parameter(page, "Pulze-Labels")).to_have_attribute("data-state", "unset")
    page.locator("[data-connection]").select_option(str(found["id"]))
    expect(parameter(page, "Pulze-Labels")).to_have_attribute("data-state", "set")
    finished(run(page, "Hi"))
    assert json.loads(fake.posts[0].headers["pulze-labels"]) == {"task": "qa", "birds": "true"}
    parameter(page, "Pulze-Labels").get_by_role("button", name="Reset Pulze-Labels").click()
    press_run(page)
    assert "pulze-labels" not in fake.wait_for_request(2).headers
    page.reload()
    expect(parameter(page, "Pulze-Labels")).to_have_attribute("data-state", "unset")


# --- Honesty -------------------------------------------------------------------------------


def test_doubts_are_said_before_the_run_without_taking_the_focus(
    page: Page, fake: FakeProvider
) -> None:
    page.get_by_role("textbox", name="Prompt", exact=True).fill("Hi")
    box = parameter(page, "best_of").locator("[data-box]")
    box.fill("3")
    expect(page.locator("#doubts")).to_contain_text("best_of")
    expect(box).to_be_focused()
    assert not page.locator("#doubts").get_attribute("aria-live")
    assert not violations(page)
    parameter(page, "best_of").get_by_role("button", name="Reset best_of").click()
    expect(page.locator("#doubts")).to_be_empty()
    assert not fake.posts


def test_what_was_ignored_is_shown_and_remembered_at_the_field(
    page: Page, fake: FakeProvider
) -> None:
    fake.reply_with(answer(text="one", finish_reason="stop"))
    parameter(page, "n").locator("[data-box]").fill("3")
    column = run(page, "Hi")
    finished(column)
    sentence = "3 choices were asked for, 1 came back."
    expect(column.locator("[data-endings]")).to_contain_text(
        f"Ignored by the backend: n {sentence}"
    )
    page.wait_for_timeout(1_500)  # it is learnt after the end
    page.reload()
    memory = parameter(page, "n").locator("[data-memory]")
    expect(memory).to_contain_text("Ignored by m on 20")
    expect(memory).to_contain_text(sentence)
    page.locator("[data-model]").fill("another")
    expect(memory).to_be_hidden()


def test_an_answer_is_held_against_its_schema(page: Page, fake: FakeProvider) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    parameter(page, "json_schema").get_by_role("textbox").fill(json.dumps(schema))
    fake.reply_with(answer(text='{"n": "x"}', finish_reason="stop"))
    column = run(page, "Hi")
    finished(column)
    expect(column.locator("[data-endings]")).to_contain_text("Breaks the schema. $.n:")
    fake.reply_with(answer(text='{"n": 1}', finish_reason="stop"))
    expect(press_run(page).locator("[data-endings]")).to_contain_text("Keeps to the schema.")


# --- Code and paste ------------------------------------------------------------------------


def test_the_code_of_each_column_is_shown_and_the_keyboard_is_enough(page: Page) -> None:
    page.get_by_role("textbox", name="Prompt", exact=True).fill("Hello code")
    page.locator("[data-add-column]").click()
    page.locator("[data-model]").nth(1).fill("second")
    page.get_by_role("button", name="View code").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="View code")
    shown = dialog.locator(".code:visible")
    expect(shown).to_contain_text('"prompt": "Hello code"')
    expect(shown).to_contain_text('"model": "m"')
    assert not violations(page)
    dialog.get_by_role("tab", name="curl").focus()
    page.keyboard.press("ArrowRight")
    expect(shown).to_contain_text("httpx")
    dialog.get_by_role("button", name="Column B").click()
    expect(shown).to_contain_text("second")
    expect(shown).to_contain_text("httpx")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    dialog.get_by_role("button", name="Copy").click()
    assert page.evaluate("navigator.clipboard.readText()") == shown.text_content()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("button", name="View code")).to_be_focused()


def test_a_pasted_value_that_is_wrong_is_red_at_once_and_until_it_is_corrected(page: Page) -> None:
    page.get_by_role("searchbox", name="Find a parameter").fill("seed")
    page.get_by_role("button", name="Paste a request").click()
    page.locator("#paste-text").fill('{"prompt": "Hi", "temperature": "hot"}')
    page.keyboard.press("Control+Enter")
    row = parameter(page, "temperature")
    expect(row.locator("[data-error]")).to_be_visible()  # also: the search does not hide it
    expect(row.locator("[data-box]")).to_have_attribute("aria-invalid", "true")
    row.locator("[data-box]").fill("0.4")
    expect(row.locator("[data-error]")).to_be_hidden()
    expect(row.locator("[data-box]")).not_to_have_attribute("aria-invalid", "true")


def test_a_pasted_request_fills_the_form_and_undo_brings_the_draft_back(
    page: Page, fake: FakeProvider
) -> None:
    box = page.get_by_role("textbox", name="Prompt", exact=True)
    box.fill("The old draft")
    parameter(page, "temperature").locator("[data-box]").fill("0.3")
    page.get_by_role("button", name="Paste a request").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Paste a request")
    text = dialog.get_by_role("textbox")
    expect(text).to_be_focused()
    page.keyboard.insert_text("wget x")
    page.keyboard.press("Control+Enter")
    expect(dialog.get_by_role("alert")).to_contain_text("Paste a curl command")
    expect(text).to_be_focused()
    assert not violations(page)
    asked = {"model": "z", "prompt": "New", "seed": 7, "stop": ["\n"], "novel": 1, "stream": False}
    command = f"curl https://example.org/v1/completions -d '{json.dumps(asked)}'"
    text.fill(command)
    page.keyboard.press("Control+Enter")
    expect(dialog).to_be_hidden()
    expect(box).to_have_value("New")
    expect(parameter(page, "seed").locator("[data-box]")).to_have_value("7")
    expect(parameter(page, "temperature")).to_have_attribute("data-state", "unset")
    expect(page.locator("#pasted")).to_contain_text("novel")
    model = page.get_by_role("textbox", name="Model").or_(
        page.get_by_role("combobox", name="Model")
    )
    said = "“z” is not in the list of models of fake."
    expect(page.locator("[data-column-note]")).to_have_text(said)
    expect(model).to_have_accessible_description(said)
    assert not violations(page)
    press_run(page)
    assert body(fake) == asked
    page.get_by_role("button", name="Undo").click()
    expect(box).to_have_value("The old draft")
    expect(parameter(page, "temperature").locator("[data-box]")).to_have_value("0.3")
    press_run(page)
    assert body(fake, 2) == {
        "model": "m",
        "prompt": "The old draft",
        "temperature": 0.3,
        "stream": True,
    }


def test_a_paste_that_is_closed_before_its_answer_changes_nothing(page: Page) -> None:
    box = page.get_by_role("textbox", name="Prompt", exact=True)
    box.fill("Mine")
    page.get_by_role("button", name="Paste a request").click()
    dialog = page.get_by_role("dialog", name="Paste a request")
    dialog.get_by_role("textbox").fill('{"prompt": "Theirs"}')
    held: list[Route] = []
    page.route("**/paste/", lambda route: held.append(route))
    page.keyboard.press("Control+Enter")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    with page.expect_response("**/paste/"):
        held[0].continue_()
    page.wait_for_timeout(200)
    expect(box).to_have_value("Mine")
    page.get_by_role("button", name="Paste a request").click()
    expect(dialog.get_by_role("textbox")).to_have_value('{"prompt": "Theirs"}')
    page.unroute("**/paste/")
    page.keyboard.press("Control+Enter")
    expect(box).to_have_value("Theirs")


# --- The record ----------------------------------------------------------------------------


def test_the_record_shows_what_was_sent_and_every_part_of_the_answer(
    page: Page, fake: FakeProvider, server: Server
) -> None:
    tokens = [f"t{i} " for i in range(250)]
    logprobs = {
        "tokens": tokens,
        "token_logprobs": [-0.1] * 250,
        "top_logprobs": [{"a": -0.1}] * 250,
    }
    costs = {"total_tokens": 0.00066}
    whole = {
        "id": "cmpl-77",
        "system_fingerprint": "fp_5",
        "choices": [{"index": 0, "text": "Hi", "finish_reason": "stop", "logprobs": logprobs}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
        "metadata": {
            "costs": costs,
            "latency": 0.601,
            "scores": {"best_models": [{"a/b": 0.93}]},
            "search_results": {"items": [{"url": "https://example.org/found"}]},
            "retries": 2,
        },
        "novelty": {"deep": [1, 2]},
    }
    fake.reply_with(json_reply(whole))
    parameter(page, "repetition_penalty").locator("[data-box]").fill("1.2")
    column = run(page, "Record me")
    finished(column)
    page.get_by_role("link", name="Details of column A").click()
    sent = page.locator('[aria-labelledby="sent-title"]')
    expect(sent).to_contain_text('"repeat_penalty": 1.2')
    expect(sent).to_contain_text("repetition_penalty → repeat_penalty")
    record = page.locator(".record")
    for name, value in {
        "id": "cmpl-77",
        "system_fingerprint": "fp_5",
        "metadata.costs.total_tokens": "$0.00066",
        "metadata.latency": "0.601 s",
        "metadata.scores.best_models[0].a/b": "0.93",
        "metadata.search_results.items[0].url": "https://example.org/found",
        "metadata.retries": "2",
        "novelty.deep": "[1, 2]",
    }.items():
        expect(record.locator(f'[data-field="{name}"]')).to_have_text(value)
    page.locator("summary", has_text="as it came").click()
    expect(page.locator(".raw pre")).to_contain_text('"cmpl-77"')
    table = page.locator(".probabilities tbody tr")
    expect(table).to_have_count(200)
    expect(table.first).to_contain_text("t0␣")
    expect(table.first).to_contain_text("90.5 %")
    assert not violations(page)
    page.get_by_role("link", name="Show all 250 tokens").click()
    expect(table).to_have_count(250)
    page.get_by_role("button", name="View code").click()
    expect(page.get_by_role("dialog").locator(".code:visible")).to_contain_text("repeat_penalty")


def test_the_record_says_what_was_not_sent_and_why(
    page: Page, fake: FakeProvider, server: Server
) -> None:
    [found] = server.rows("SELECT id FROM playground_connection WHERE name = 'fake'")
    column = {"connection": found["id"], "values": {"seed": None}}
    values = {"stream": True, "bad_words": ["x"], "seed": 1, "min_tokens": 2}
    _, [number] = server.user().run(document(column, values=values))
    page.goto(f"{server.url}/runs/{number}/")
    sent = page.locator('[aria-labelledby="sent-title"]')
    expect(sent).to_contain_text("Not sent: bad_words. llama.cpp has no such parameter here.")
    expect(sent).to_contain_text("Not sent: seed. It was left out in this column.")
    expect(sent).to_contain_text("Sent: min_tokens. Ignored by llama.cpp.")
    expect(sent).to_contain_text("content-type")


def test_a_refusal_that_names_a_parameter_is_shown_at_its_field(
    page: Page, fake: FakeProvider
) -> None:
    words_of = "max_tokens must be in 1..8192"
    fake.reply_with(error_reply(400, {"error": {"message": words_of, "param": "max_tokens"}}))
    page.locator('[data-path="max_tokens"] [data-box]').first.fill("9000")
    finished(run(page), "failed")
    expect(page.locator("article[data-run]")).to_contain_text(words_of)
    expect(page.locator('[data-path="max_tokens"] [data-memory]')).to_contain_text(words_of)


def test_a_press_that_leaves_the_model_has_its_click_before_anything_is_said(page: Page) -> None:
    """A line that appears between press and release would move what is pressed."""
    note, private = page.locator("[data-column-note]"), page.get_by_text("Private", exact=True)
    page.locator("[data-model]").fill("fake-2")
    private.hover()
    page.mouse.down()
    page.wait_for_timeout(500)
    expect(note).to_be_hidden()
    page.mouse.up()
    expect(page.get_by_role("radio", name="Private")).to_be_checked()
    expect(note).to_contain_text("is not in the list")


def test_a_typed_model_that_is_not_listed_is_said_at_its_column(page: Page) -> None:
    model, note = page.locator("[data-model]"), page.locator("[data-column-note]")
    model.fill("fake-1")
    model.press("Tab")
    expect(note).to_be_hidden()
    model.fill("fake-2")
    expect(note).to_be_hidden()  # not while one types
    model.press("Tab")
    expect(note).to_have_text("“fake-2” is not in the list of models of fake.")
    model.fill("fake-1")
    expect(note).to_be_hidden()


def test_a_parameter_is_reached_from_the_prompt_by_keys_alone(
    page: Page, open_page: OpenPage, server: Server
) -> None:
    prompt = page.get_by_role("textbox", name="Prompt", exact=True)
    search = page.get_by_role("searchbox", name="Find a parameter")
    prompt.press("Control+b")  # folded
    expect(search).to_be_hidden()
    prompt.press("Alt+p")
    expect(search).to_be_focused()
    page.keyboard.type("presence")
    page.keyboard.press("Enter")
    expect(page.locator('[data-path="presence_penalty"] [data-box]').first).to_be_focused()
    prompt.press("Control+b")
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Search or jump to")
    expect(palette.get_by_role("option", name="Parameter temperature")).to_have_count(
        0
    )  # until it is typed
    palette.get_by_role("combobox").fill("mirostat_tau")  # in a closed group
    expect(palette.get_by_role("option", selected=True)).to_have_text("Parameter mirostat_tau")
    assert not Axe().run(page).response["violations"]
    page.keyboard.press("Enter")
    expect(page.locator('[data-path="mirostat_tau"] [data-box]').first).to_be_focused()
    small = open_page(390, 800)
    small.goto(server.url)
    small.get_by_role("textbox", name="Prompt", exact=True).press("Alt+p")
    expect(small.locator("#params")).to_be_visible()
    expect(small.get_by_role("searchbox", name="Find a parameter")).to_be_focused()


def test_the_palette_leaves_a_sheet_open_that_lies_under_it(
    page: Page, open_page: OpenPage, server: Server
) -> None:
    phone = open_page(390, 844)
    phone.goto(server.url)
    sheet = phone.locator("#params")
    phone.locator('[popovertarget="params"]:not([popovertargetaction])').press("Enter")
    search = phone.get_by_role("searchbox", name="Find a parameter")
    search.focus()
    for _ in range(2):
        phone.keyboard.press("Control+k")
        expect(phone.get_by_role("dialog", name="Search or jump to")).to_be_visible()
        phone.keyboard.press("Escape")
        expect(search).to_be_focused()
    phone.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
