"""What the hands do all day: palette, shortcuts, a prompt that grows, samples, files, the title."""

import re
from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.browser.steps import finished, run
from tests.fake_provider import FakeProvider, error_reply, words
from tests.server import Server

OpenPage = Callable[..., Page]
ANSWER = "w0 w1 w2 "


@pytest.fixture(autouse=True)
def answer(page: Page, fake: FakeProvider) -> None:
    fake.reply_with(words(3, None))


def prompt(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Prompt", exact=True)


def next_run(page: Page, act: Callable[[], None]) -> None:
    """What `act` begins in the place of what is shown, to its end."""
    before = page.locator("article[data-run]").first.get_attribute("data-run")
    act()
    fresh = page.locator(f'article[data-run]:not([data-run="{before}"])').first
    expect(fresh).to_be_visible()
    finished(fresh)


def test_palette_sheet_and_jumps_lead_everywhere_by_keyboard(page: Page) -> None:
    prompt(page).press("Control+k")
    palette = page.get_by_role("dialog", name="Search or jump to")
    search = palette.get_by_role("combobox")
    expect(search).to_be_focused()
    expect(palette.get_by_role("option", name="Add a column")).to_be_visible()
    assert not Axe().run(page).response["violations"]
    search.fill("invite")
    expect(palette.get_by_role("option", selected=True)).to_have_text("Members and invitations")
    search.fill("invite a colleague or whoever comes")  # what finds nothing hides nothing
    expect(palette.get_by_role("option", selected=True)).to_have_text("Members and invitations")
    search.fill("night")
    expect(palette.locator("[data-local] [role=option]:visible")).to_have_text(
        ["Light, dark or as the system", "Dark theme"]
    )
    search.fill("add col")
    expect(palette.get_by_role("option", selected=True)).to_have_text(re.compile("Add a column"))
    search.press("Enter")
    expect(page.locator(".setup[data-column]")).to_have_count(2)
    page.keyboard.press("Control+k")
    search.fill("history")
    search.press("Enter")
    expect(page).to_have_url(re.compile("/history/"))
    page.wait_for_load_state()  # keys pressed before the scripts are there are lost
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(sheet.get_by_text("Run all columns")).to_be_visible()
    assert not Axe().run(page).response["violations"]
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("c")
    expect(prompt(page)).to_be_visible()
    page.wait_for_load_state()
    expect(prompt(page)).to_be_focused()  # who comes to write can write
    prompt(page).blur()
    page.keyboard.press("/")
    expect(page.get_by_label("Find a parameter")).to_be_focused()
    page.keyboard.type("?g")
    expect(sheet).to_be_hidden()
    expect(page.get_by_label("Find a parameter")).to_have_value("?g")


def test_a_run_and_a_model_are_found_in_the_palette(page: Page, fake: FakeProvider) -> None:
    finished(run(page, "Kingfishers dive").first)
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Search or jump to")
    palette.get_by_role("combobox").fill("kingfishers")
    expect(palette.get_by_role("option", name="Kingfishers dive").first).to_be_visible()
    palette.get_by_role("combobox").fill("model m")
    palette.get_by_role("option", name="Model m", exact=False).first.click()
    expect(page.locator("#toasts")).to_contain_text("asks m.")
    expect(page.locator("[data-model]").first).to_have_value("m")


def test_an_output_is_appended_and_taken_back(page: Page, fake: FakeProvider) -> None:
    finished(run(page, "Once").first)
    prompt(page).press("Alt+a")
    expect(prompt(page)).to_have_value("Once" + ANSWER)
    fake.wait_for_request(2)
    assert fake.posts[-1].json["prompt"] == "Once" + ANSWER
    finished(page.locator("article[data-run]").first)
    prompt(page).press("End")
    page.keyboard.type("!")
    page.keyboard.press("Alt+z")
    expect(prompt(page)).to_have_value("Once!")
    expect(page.get_by_role("button", name="Undo generation")).to_be_hidden()


def test_only_what_a_model_wrote_is_taken_back(page: Page, fake: FakeProvider) -> None:
    finished(run(page, "Once").first)
    next_run(page, lambda: prompt(page).press("Alt+a"))
    prompt(page).press("Control+Home")
    page.keyboard.type(f"See {ANSWER}")  # the same words by hand, before it and behind
    prompt(page).press("Control+End")
    page.keyboard.type(ANSWER)
    page.keyboard.press("Alt+z")
    expect(prompt(page)).to_have_value(f"See {ANSWER}Once{ANSWER}")
    finished(run(page, "Twice").first)
    next_run(page, lambda: prompt(page).press("Alt+a"))
    prompt(page).press("Control+End")
    for _ in range(4):
        page.keyboard.press("Backspace")
    page.keyboard.type(f", by hand {ANSWER}")
    by_hand = prompt(page).input_value()
    page.keyboard.press("Alt+z")
    expect(page.locator("#announce-error")).to_contain_text("was edited; it stays")
    expect(prompt(page)).to_have_value(by_hand)
    fake.reply_with(words(1, None, "a\r\n"))  # which a text box keeps as line ends of its own
    finished(run(page, "Lines").first)
    next_run(page, lambda: prompt(page).press("Alt+a"))
    expect(prompt(page)).to_have_value("Linesa\n0 ")
    expect(page.get_by_role("button", name="Undo generation")).to_be_visible()
    page.keyboard.press("Alt+z")
    expect(prompt(page)).to_have_value("Lines")
    next_run(page, lambda: prompt(page).press("Control+Enter"))
    next_run(page, lambda: prompt(page).press("Alt+a"))
    page.evaluate("document.querySelector('[data-sample]').click()")  # another prompt has none
    expect(page.get_by_role("button", name="Undo generation")).to_be_hidden()


def test_an_output_is_not_joined_to_another_prompt_without_a_word(
    page: Page, fake: FakeProvider
) -> None:
    finished(run(page, "Once").first)
    next_run(page, lambda: prompt(page).press("Alt+a"))
    page.keyboard.press("Alt+z")
    page.keyboard.press("Alt+a")  # what goes on from "Once" and more
    question = page.get_by_role("group", name="This output goes on from another prompt")
    expect(question.get_by_role("button").first).to_be_focused()
    assert not Axe().run(page).response["violations"]
    page.keyboard.press("Escape")
    expect(question).to_be_hidden()
    expect(prompt(page)).to_be_focused()
    expect(prompt(page)).to_have_value("Once")
    assert len(fake.posts) == 2
    page.keyboard.press("Alt+a")
    expect(question).to_be_visible()
    next_run(page, lambda: page.keyboard.press("Enter"))  # its own prompt
    assert fake.posts[-1].json["prompt"] == "Once" + 2 * ANSWER
    page.locator("#toasts").get_by_role("button", name="Undo").click()
    expect(prompt(page)).to_have_value("Once")
    page.get_by_role("button", name="Append and go on").click()
    here = question.get_by_role("button", name="Append it to this prompt")
    next_run(page, here.click)
    assert fake.posts[-1].json["prompt"] == "Once" + ANSWER


def test_an_output_goes_on_from_a_prompt_with_its_variables(page: Page, fake: FakeProvider) -> None:
    prompt(page).fill("Tell {{who}}")
    page.get_by_label("Value of who").fill("ann")
    finished(run(page, "Tell {{who}}").first)
    next_run(page, lambda: prompt(page).press("Alt+a"))
    assert fake.posts[-1].json["prompt"] == "Tell ann" + ANSWER
    page.keyboard.press("Alt+z")
    page.get_by_label("Value of who").fill("bob")
    prompt(page).press("Alt+a")
    question = page.get_by_role("group", name="This output goes on from another prompt")
    expect(question).to_be_visible()
    assert len(fake.posts) == 2


def test_a_ghost_shows_the_next_tokens_before_they_are_taken(
    page: Page, fake: FakeProvider, server: Server
) -> None:
    page.locator('[data-path="temperature"][role=group] [data-box]').first.fill("0")
    prompt(page).fill("Once")
    prompt(page).press("Alt+g")
    ghost = page.get_by_role("group", name="Preview of the next tokens")
    expect(ghost.locator("[data-ghost-text]")).to_have_text(ANSWER)
    asked = fake.posts[-1].json
    assert (asked["prompt"], asked["max_tokens"], asked["temperature"]) == ("Once", 16, 0)
    prompt(page).press("Escape")
    page.locator('[data-path="max_tokens"][role=group] [data-box]').first.fill("12")
    prompt(page).press("Alt+g")
    expect(ghost.locator("[data-ghost-text]")).to_have_text(ANSWER)
    assert fake.posts[-1].json["max_tokens"] == 12
    [made] = server.rows(
        "SELECT r.visibility, l.name FROM playground_run r"
        " JOIN playground_runlabel rl ON rl.run_id = r.id"
        " JOIN playground_label l ON l.id = rl.label_id ORDER BY r.id DESC LIMIT 1"
    )
    assert (made["visibility"], made["name"]) == ("private", "preview")
    prompt(page).press("Control+ArrowRight")
    expect(prompt(page)).to_have_value("Oncew0")
    expect(ghost.locator("[data-ghost-text]")).to_have_text(" w1 w2 ")
    assert not Axe().run(page).response["violations"]
    page.keyboard.press("Tab")
    expect(prompt(page)).to_have_value("Once" + ANSWER)
    expect(ghost).to_be_hidden()
    page.keyboard.press("Alt+z")
    page.keyboard.press("Alt+z")
    expect(prompt(page)).to_have_value("Once")
    asked_before = len(fake.posts)
    prompt(page).fill("Once {{who}}")
    prompt(page).press("Alt+g")
    expect(page.locator("#notice")).to_contain_text("A preview is one request")
    assert len(fake.posts) == asked_before


def test_a_preview_goes_with_the_prompt_that_it_goes_on_from(page: Page) -> None:
    prompt(page).fill("Once")
    prompt(page).press("Alt+g")
    ghost = page.get_by_role("group", name="Preview of the next tokens")
    expect(ghost.locator("[data-ghost-text]")).to_have_text(ANSWER)
    page.get_by_role("button", name="New", exact=True).click()
    expect(prompt(page)).to_have_value("")
    expect(ghost).to_be_hidden()
    page.locator("#toasts").get_by_role("button", name="Undo").click()
    expect(prompt(page)).to_have_value("Once")
    expect(ghost).to_be_hidden()


def test_a_preview_that_fails_is_an_error_with_the_backends_words(
    page: Page, fake: FakeProvider
) -> None:
    fake.queue(error_reply(404, {"error": {"message": "The model 'm' does not exist"}}))
    prompt(page).fill("Once")
    prompt(page).press("Alt+g")
    ghost = page.get_by_role("group", name="Preview of the next tokens")
    expect(ghost.locator("pre")).to_have_text("The model 'm' does not exist")
    expect(ghost.locator("[data-status]")).to_contain_text(
        re.compile(r"^HTTP 404 after [\d.]+ m?s\.$")
    )
    expect(ghost.get_by_role("button")).to_have_text(["Try againAltG", ""])
    assert not Axe().run(page).response["violations"]
    prompt(page).press("Tab")  # there is nothing to take
    expect(prompt(page)).to_have_value("Once")
    ghost.get_by_role("button", name="Try again").click()
    expect(ghost.locator("[data-ghost-text]")).to_have_text(ANSWER)
    expect(ghost.get_by_role("button", name="Take all")).to_be_visible()
    expect(ghost.locator("[data-ghost-fault]")).to_be_hidden()
    page.keyboard.press("Escape")
    page.locator('[data-path="temperature"][role=group] [data-box]').first.fill("hot")
    prompt(page).press("Alt+g")
    expect(ghost.locator("strong")).to_have_text("Nothing was sent")
    expect(ghost.locator("pre")).to_contain_text("temperature")
    expect(ghost.locator("pre")).not_to_contain_text("{")


def test_samples_fill_the_form_and_the_panel_folds(page: Page, fake: FakeProvider) -> None:
    samples = page.get_by_role("group", name="Sample prompts")
    samples.get_by_role("button", name="Few examples").click()
    expect(prompt(page)).to_have_value(re.compile("Opposite:$"))
    expect(samples).to_be_hidden()
    prompt(page).press("Shift+Enter")
    finished(page.locator("article[data-run]").first)
    sent = fake.posts[-1].json
    assert (sent["max_tokens"], sent["temperature"], sent["stop"]) == (5, 0, ["\n"])
    panel = page.locator("#params")
    page.keyboard.press("Control+b")
    expect(panel).to_be_hidden()
    page.reload()
    expect(panel).to_be_hidden()
    page.get_by_role("button", name="Parameters", exact=True).click()
    expect(panel).to_be_visible()


DROP = """([bytes, name]) => {
  const data = new DataTransfer();
  data.items.add(new File([new Uint8Array(bytes)], name));
  const how = { dataTransfer: data, bubbles: true, cancelable: true };
  const box = document.getElementById("prompt");
  ["dragover", "drop"].forEach((kind) => box.dispatchEvent(new DragEvent(kind, how)));
}"""


def test_a_dropped_file_is_in_the_prompt_or_says_why_not(page: Page) -> None:
    prompt(page).fill("Sum up: ")
    page.evaluate(DROP, [list("größe\n".encode()), "note.txt"])
    expect(prompt(page)).to_have_value("Sum up: größe\n")
    page.evaluate(DROP, [[255, 254, 0], "picture.png"])
    expect(page.locator("#notice")).to_contain_text("“picture.png” is not a text file")
    expect(prompt(page)).to_have_value("Sum up: größe\n")


def test_the_title_tells_the_end_of_a_run_out_of_sight(page: Page, fake: FakeProvider) -> None:
    fake.reply_with(words(8, 8))  # seen to run: its page comes before its end
    page.evaluate("Object.defineProperty(document, 'hidden', { get: () => window.away ?? true })")
    finished(run(page).first)
    expect(page).to_have_title(re.compile("^✓ "))
    page.evaluate("window.away = false; document.dispatchEvent(new Event('visibilitychange'))")
    expect(page).to_have_title(re.compile("^(?!✓)"))
