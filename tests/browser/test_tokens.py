"""Token probabilities are seen, by mouse and by keyboard alone, on stored answers: of the real
llama.cpp (recorded, `content` shape) and as vLLM writes them (parallel arrays)."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.browser.steps import finished
from tests.fake_provider import FakeProvider, words
from tests.fake_services import transcript
from tests.server import Server, document

OpenPage = Callable[..., Page]
LLAMA, WARM = "llama_stream_logprobs_words", "llama_stream_logprobs_warm"
EMOJI, VLLM = "llama_stream_logprobs_emoji", "vllm_legacy_logprobs_words"
ECHO = "vllm_legacy_logprobs_echo"
PROMPT = "The common kingfisher is a small bird 🐦. It lives"
TEXT = {
    LLAMA: " in the ocean, and it is a predator of fish. It is also a predator of other animals."
    "\n\nThe",
    VLLM: " in the rivers, and it dives 🐟 for fish.",
}


@pytest.fixture
def page(open_page: OpenPage, server: Server, fake: FakeProvider) -> Iterator[Page]:
    fake.clear()
    for name in (LLAMA, WARM, EMOJI, VLLM, ECHO):
        fake.on(name, transcript(name))
    opened = open_page()
    opened.goto(server.url)
    return opened


def stored(
    page: Page, server: Server, *models: str, prompt: str = PROMPT, **values: Any
) -> Locator:
    """A comparison of these answers, all ended."""
    [row] = server.rows("SELECT id FROM playground_connection WHERE name = 'fake'")
    settings = [
        {"connection": row["id"], "model": model, "values": {"logprobs": 5, **values}}
        for model in models
    ]
    comparison, _ = server.user().run(document(*settings, prompt=prompt))
    page.goto(f"{server.url}/comparisons/{comparison}/")
    found = page.locator("article[data-run]")
    for position in range(len(models)):
        finished(found.nth(position))
    return found


def heat(column: Locator) -> Locator:
    """The list box of a column, drawn."""
    column.get_by_role("tab", name="Probabilities").click()
    box = column.get_by_role("listbox")
    expect(box).not_to_have_attribute("aria-busy", "true")
    return box


def popover(page: Page) -> Locator:
    return page.get_by_role("dialog", name=re.compile("Alternatives of"))


def clean(page: Page) -> None:
    found = Axe().run(page).response["violations"]
    assert not found, [(each["id"], each["nodes"][0]["target"]) for each in found]


def shown(box: Locator) -> str:
    """The text of the map without its signs."""
    return str(
        box.evaluate(
            """(box) => {
              const copy = box.cloneNode(true);
              copy.querySelectorAll("i").forEach((sign) => sign.remove());
              return copy.textContent;
            }"""
        )
    )


# --- Heat map ---


def test_every_token_is_marked_and_the_map_holds_the_whole_text(page: Page, server: Server) -> None:
    columns = stored(page, server, LLAMA, VLLM)
    for column, name in zip(columns.all(), (LLAMA, VLLM), strict=True):
        box = heat(column)
        assert shown(box) == TEXT[name]
    llama = columns.first.get_by_role("listbox")
    expect(llama.locator(".tok")).to_have_count(24)
    surprising = llama.locator('.tok[data-heat="5"], .tok[data-heat="4"]').first
    assert surprising.evaluate("tok => getComputedStyle(tok).textDecorationLine") == "underline"
    expect(columns.first.locator(".legend")).to_be_visible()
    clean(page)


def test_a_character_over_several_tokens_is_one_and_minus_infinity_the_rarest(
    page: Page, server: Server
) -> None:
    box = heat(stored(page, server, VLLM))
    expect(box.locator(".tok")).to_have_count(14)
    expect(box.locator(".tok").nth(8)).to_have_text(" 🐟")
    expect(box.locator(".tok").nth(9)).to_have_text("·")
    expect(box.locator(".tok").last).to_have_attribute("data-heat", "5")


def test_alternatives_open_by_keyboard_alone_and_the_focus_comes_back(
    page: Page, server: Server
) -> None:
    column = stored(page, server, LLAMA)
    column.get_by_role("tab", name="Text").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(column.get_by_role("tab", name="Probabilities")).to_have_attribute(
        "aria-selected", "true"
    )
    box = column.get_by_role("listbox")
    expect(box).not_to_have_attribute("aria-busy", "true")
    box.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    chosen = box.locator('[aria-selected="true"]')
    expect(chosen).to_have_text(" ocean")
    expect(chosen).to_have_attribute("aria-label", re.compile(r"ocean, .*%, token 3/24"))
    page.keyboard.press("Enter")
    expect(popover(page)).to_be_visible()
    expect(popover(page)).to_contain_text("3/24")
    expect(popover(page)).to_contain_text("entropy")
    rows = popover(page).locator("button.alt")
    expect(rows).to_have_count(5)
    expect(rows.locator("rect").first).to_have_attribute("width", re.compile(r"^\d+\.\d\d%$"))
    expect(popover(page).locator('[aria-current="true"]')).to_be_focused()
    clean(page)
    page.keyboard.press("ArrowRight")  # the next token, without closing
    expect(popover(page)).to_contain_text("4/24")
    page.keyboard.press("Escape")
    expect(popover(page)).to_be_hidden()
    expect(box).to_be_focused()
    expect(chosen).to_have_text(",")
    page.keyboard.press("End")
    expect(chosen).to_have_text("The")
    page.keyboard.press("Home")
    expect(chosen).to_have_text(" in")


def test_alternatives_open_by_mouse(page: Page, server: Server) -> None:
    box = heat(stored(page, server, VLLM))
    box.locator(".tok").nth(2).click()
    expect(popover(page)).to_contain_text("␣rivers")
    rows = popover(page).locator(".alt")
    expect(rows.first).to_contain_text("␣forest")
    expect(rows.first).to_contain_text("22.3")
    box.locator(".tok").nth(5).click()
    expect(popover(page)).to_contain_text("6/14")
    page.get_by_role("button", name="Close alternatives").click()
    expect(popover(page)).to_be_hidden()


def test_an_emojis_alternatives_are_emojis(page: Page, server: Server) -> None:
    """llama.cpp tells only the last byte of them."""
    box = heat(stored(page, server, EMOJI))
    box.locator(".tok").first.click()
    expect(popover(page).locator('[aria-current="true"]')).to_contain_text("␣🦆")
    expect(popover(page).locator(".alt").nth(1)).to_contain_text("␣🦇")


def test_tokens_of_an_echoed_prompt_are_marked(page: Page, server: Server) -> None:
    box = heat(stored(page, server, ECHO, prompt="The step", echo=True))
    expect(box.locator(".tok--prompt")).to_have_count(2)
    expect(box.locator(".tok--unknown")).to_have_text("The")
    box.focus()
    page.keyboard.press("ArrowRight")
    expect(box.locator('[aria-selected="true"]')).to_have_text(" is")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(popover(page)).to_contain_text("prompt 1/2")
    expect(popover(page)).to_contain_text("No probability came")


def test_without_probabilities_the_view_says_how_to_get_them(
    page: Page, server: Server, fake: FakeProvider
) -> None:
    fake.reply_with(words(5))
    column = stored(page, server, "m", logprobs=None)
    column.get_by_role("tab", name="Probabilities").click()
    expect(column).to_contain_text("No token probabilities came back")
    expect(column).to_contain_text("Set logprobs under Output")
    clean(page)


def test_it_works_on_the_page_of_the_run(page: Page, server: Server) -> None:
    stored(page, server, LLAMA).get_by_role("link", name="Details of column A").click()
    box = heat(page.locator("article[data-run]"))
    box.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(popover(page)).to_contain_text("1/24")
    clean(page)


# --- Going on from an alternative ---


def test_it_goes_on_from_an_alternative_by_keyboard(
    page: Page, server: Server, fake: FakeProvider
) -> None:
    box = heat(stored(page, server, VLLM, temperature=0, stop=["x"]))
    fake.on(VLLM, words(3))
    box.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(popover(page).locator('[aria-current="true"]')).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(popover(page)).to_contain_text("Starts 1 run with the same settings")
    sent = len(fake.posts)
    expect(popover(page).get_by_role("button", name="Continue from here")).to_be_focused()
    old = page.url
    page.keyboard.press("Enter")
    expect(popover(page).locator("[data-pop-error]")).to_be_hidden()
    page.wait_for_url(lambda url: url != old, timeout=30_000)
    column = page.locator("article[data-run]")
    expect(column).to_contain_text("From run")
    expect(column).to_contain_text("token 3")
    finished(column)
    first, second = fake.posts[-2].json, fake.posts[-1].json
    assert len(fake.posts) == sent + 1
    assert second == {**first, "prompt": f"{PROMPT} in the forest"}
    expect(page.get_by_role("textbox", name="Prompt", exact=True)).to_have_value(
        f"{PROMPT} in the forest"
    )
    column.get_by_role("link", name=re.compile(r"run \d+A")).click()
    expect(page.locator("article[data-run] .out").first).to_have_text(TEXT[VLLM])
