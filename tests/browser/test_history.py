"""The history in a browser: search with completion by keyboard, facets, preview, pages, back."""

import json
import re
from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.steps import eventually
from tests.fake_provider import FakeProvider, words
from tests.server import Server, document

OpenPage = Callable[..., Page]


@pytest.fixture(scope="module")
def filled(server: Server, fake: FakeProvider) -> Server:
    """Twenty-five runs: birds, fish, labels, one that failed."""
    person = server.user()
    connection = server.rows("SELECT id FROM playground_connection WHERE name = 'fake'")[0]["id"]
    fake.reply_with(words(5))
    for number in range(25):
        bird = number % 2
        person.run(
            document(
                {"connection": connection, "values": {"temperature": str(number / 10)}},
                prompt=f"{'A bird' if bird else 'A fish'}, number {number}",
                labels=["task=bird" if bird else "task=fish"],
            )
        )
    query = "SELECT count(*) AS n FROM playground_run WHERE NOT indexed"
    eventually(lambda: server.rows(query)[0]["n"] == 0)
    return server


@pytest.fixture
def page(open_page: OpenPage, filled: Server) -> Page:
    made = open_page()
    made.goto(f"{filled.url}/history/")
    return made


def test_a_search_is_written_by_keyboard_alone(page: Page) -> None:
    page.keyboard.press("/")
    box = page.get_by_role("combobox", name="Search runs")
    expect(box).to_be_focused()
    page.keyboard.type("la")
    offers = page.get_by_role("listbox", name="Completions")
    expect(offers.get_by_role("option")).to_have_count(1)
    page.keyboard.press("ArrowDown")
    expect(offers.get_by_role("option", selected=True)).to_contain_text("label:")
    page.keyboard.press("Enter")
    expect(box).to_have_value("label:")
    expect(offers.get_by_role("option").first).to_contain_text("task=")
    page.keyboard.type("bi")
    expect(offers.get_by_role("option")).to_have_count(1)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    expect(box).to_have_value("label:task=bird ")
    page.keyboard.type("bird")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"q=label%3Atask%3Dbird\+bird"))
    expect(page.locator("[data-row]")).to_have_count(12)
    expect(page.locator("#count")).to_contain_text("12 comparisons, 12 runs")


def test_facets_narrow_and_the_back_button_widens(page: Page) -> None:
    expect(page.locator("#count")).to_contain_text("25 runs")
    page.locator("#facets").get_by_role("link", name="task=fish").click()
    expect(page.locator("#count")).to_contain_text("13 runs")
    expect(page.locator(".chip--filter")).to_have_text(["label:task=fish"])
    page.go_back()
    expect(page.locator("#count")).to_contain_text("25 runs")
    page.go_forward()
    page.get_by_role("link", name="Remove filter label task=fish").click()
    expect(page.locator("#count")).to_contain_text("25 runs")
    expect(page.get_by_role("combobox")).to_have_value("")


def test_arrows_move_the_cursor_and_show_a_preview(page: Page) -> None:
    preview = page.locator("#preview")
    page.locator("body").press("ArrowDown")
    expect(page.locator("[data-row][data-cursor]")).to_have_count(1)
    expect(preview).to_contain_text("A fish, number 24")
    expect(preview).to_contain_text("temperature 2.4")
    page.keyboard.press("j")
    expect(preview).to_contain_text("A bird, number 23")
    page.keyboard.press("k")
    expect(preview).to_contain_text("A fish, number 24")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/comparisons/\d+/"))
    expect(page.locator("#prompt")).to_have_value("A fish, number 24")


def test_hover_shows_a_preview_too(page: Page) -> None:
    page.locator("[data-row]").nth(2).hover()
    expect(page.locator("#preview")).to_contain_text("A fish, number 22")


def test_what_changed_stands_in_the_row(page: Page) -> None:
    row = page.locator("[data-row]").first
    expect(row).to_contain_text("temperature 2.3")
    expect(row.locator(".chip--change").filter(has_text="temperature")).to_contain_text("2.4")


def test_pages_lead_down_and_up_again(page: Page) -> None:
    first = page.locator(".run__link").first.inner_text()
    page.get_by_role("link", name="Older").click()
    expect(page.locator("[data-row]")).to_have_count(5)
    page.get_by_role("link", name="Newer").click()
    expect(page.locator("[data-row]")).to_have_count(20)
    expect(page.locator(".run__link").first).to_have_text(first)


def test_what_is_no_filter_is_said_and_kept(page: Page, filled: Server) -> None:
    page.goto(f"{filled.url}/history/?q=foo:bar+bird")
    expect(page.get_by_role("alert").filter(has_text="is no filter")).to_be_visible()
    expect(page.get_by_role("combobox")).to_have_value("foo:bar bird")


def test_a_view_is_saved_and_opened(page: Page, filled: Server) -> None:
    page.goto(f"{filled.url}/history/?q=label:task=fish")
    page.get_by_role("button", name="Saved views").click()
    page.get_by_label("Save this search as").fill("Fish")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("button", name="Saved views")).to_contain_text("Fish")
    page.goto(f"{filled.url}/history/")
    page.get_by_role("button", name="Saved views").click()
    page.get_by_role("link", name="Fish", exact=True).click()
    expect(page.get_by_role("combobox")).to_have_value("label:task=fish")


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1024, 768), (390, 844)])
def test_nothing_is_wrong_for_a_screen_reader_or_too_wide(
    open_page: OpenPage, filled: Server, width: int, height: int
) -> None:
    page = open_page(width, height)
    page.goto(f"{filled.url}/history/?q=label:task=fish")
    expect(page.locator("#count")).to_contain_text("13 runs")
    if width > 900:
        page.locator(".run__link").first.focus()
        expect(page.locator("#preview")).to_contain_text("A fish")
    found = Axe().run(page).response["violations"]
    assert not found, json.dumps([(each["id"], each["nodes"][0]["html"]) for each in found])
    assert page.evaluate("document.documentElement.scrollWidth") <= width
