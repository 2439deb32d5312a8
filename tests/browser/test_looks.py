"""Theme, size and density; what is said while text streams; where keys and commands lead."""

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from playwright.sync_api import Page, expect

from tests.browser.steps import finished, run
from tests.fake_provider import FakeProvider, words
from tests.server import Server

OpenPage = Callable[..., Page]


def test_theme_text_size_and_density_are_remembered_before_the_first_paint(
    page: Page, server: Server
) -> None:
    page.get_by_role("button", name="Your menu").click()
    before = page.locator("[data-run-button]").bounding_box()
    page.get_by_role("button", name="Dark", exact=True).click()
    page.get_by_role("button", name="Large", exact=True).click()
    page.get_by_role("button", name="Dense", exact=True).click()
    dense = page.locator("[data-run-button]").bounding_box()
    assert before
    assert dense
    assert dense["height"] < before["height"]
    expect(page.locator("#prompt")).to_have_css("font-size", "15px")
    # The style of the root at the time when the body begins: nothing can have been painted yet.
    page.add_init_script(
        "new MutationObserver((_, seen) => { if (!document.body) return; seen.disconnect();"
        " window.first = { ...document.documentElement.dataset }; })"
        ".observe(document, { childList: true, subtree: true });"
    )
    page.goto(f"{server.url}/history/")
    assert page.evaluate("window.first") == {"theme": "dark", "mono": "l", "density": "dense"}
    page.get_by_role("button", name="Your menu").click()
    expect(page.get_by_role("button", name="Dense", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    page.get_by_role("button", name="Usual", exact=True).click()
    page.reload()
    assert page.evaluate("document.documentElement.dataset.density") is None


def test_one_polite_status_tells_of_a_stream_that_is_not_live_itself(
    page: Page, fake: FakeProvider
) -> None:
    fake.reply_with(words(30, 20))
    page.evaluate(
        "window.heard = []; for (const id of ['announce', 'announce-error'])"
        " new MutationObserver(() => heard.push(document.getElementById(id).textContent))"
        " .observe(document.getElementById(id), { childList: true, characterData: true });"
    )
    column = run(page).first
    body = column.locator(".col__body")
    expect(body).to_have_attribute("aria-busy", "true")
    expect(body).to_have_attribute("aria-live", "off")
    expect(column.locator(".out")).to_contain_text("w3")
    # Nothing around the text or the figures that run speaks.
    live = column.evaluate(
        "each => [...each.querySelectorAll('[aria-live], [role=status], [role=alert], [role=log]')]"
        ".filter(one => one.getAttribute('aria-live') !== 'off').map(one => one.outerHTML)"
    )
    assert live == []
    finished(column)
    expect(page.locator("#announce")).to_have_text("A finished, 30 tokens")
    expect(body).not_to_have_attribute("aria-busy", "true")
    heard = [each for each in page.evaluate("window.heard") if each]
    assert heard == ["A started", "A finished, 30 tokens"]


def test_with_less_motion_nothing_moves(
    fake: FakeProvider, server: Server, open_page: OpenPage
) -> None:
    fake.clear()
    fake.reply_with(words(30, 10))
    page = open_page(reduced_motion="reduce", locale="de-DE", timezone_id="Europe/Berlin")
    page.goto(server.url)
    column = run(page).first
    expect(column.locator(".out")).to_contain_text("w3")
    page.wait_for_function("document.getAnimations().every((each) => each.playState !== 'running')")
    finished(column)
    # A time in full, as the reader's browser writes it.
    page.goto(f"{server.url}{column.get_attribute('data-url')}")
    time = page.locator("main time").first
    time.hover()
    expect(time).to_have_attribute("title", re.compile(r"^\w+tag|^Mittwoch"))


def test_jumps_and_commands_lead_where_they_say(page: Page) -> None:
    page.locator("#prompt").blur()
    for key, path in (("h", "/history/"), ("r", "/review/"), ("s", "/stats/"), ("c", "/")):
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_url(lambda url, path=path: urlsplit(url).path == path)  # type: ignore[misc]
        page.wait_for_load_state()
    prompt = page.locator("#prompt")
    prompt.fill("Something")
    for words_, opened in (
        ("view code", "#code-dialog"),
        ("paste a request", "#paste-text"),
        ("presets", "#presets-dialog"),
        ("drafts", "#drafts-menu"),
    ):
        command(page, words_)
        expect(page.locator(opened)).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator(opened)).to_be_hidden()
    command(page, "light, dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    command(page, "new prompt")
    expect(prompt).to_have_value("")


def command(page: Page, typed: str) -> None:
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Search or jump to")
    palette.get_by_role("combobox").fill(typed)
    first = palette.get_by_role("option", selected=True)
    expect(first).to_have_text(re.compile(typed, re.IGNORECASE))
    page.keyboard.press("Enter")
    expect(palette).to_be_hidden()
