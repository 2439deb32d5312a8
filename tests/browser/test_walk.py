"""The walk of somebody who has only the README: from the login link to an added key, with pictures.

The pictures go into WALK, where that names a folder.
"""

import os
import re
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.browser.steps import finished
from tests.fake_provider import FakeProvider, words
from tests.server import Server

KEY = "sk-walk-00001234"


def picture(page: Page, name: str) -> None:
    if folder := os.environ.get("WALK"):
        page.screenshot(path=Path(folder) / f"{name}.png")


def test_from_the_login_link_to_a_reviewed_comparison_and_a_key(
    browser: Browser, server: Server
) -> None:
    with FakeProvider() as first, FakeProvider() as second:
        first.models, second.models = ["field-guide-7b"], ["field-guide-1b"]
        first.reply_with(words(12, None))
        second.reply_with(words(9, None))
        server.connect("local", first.url, "--model", "field-guide-7b")
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(server.link)
        expect(page.get_by_role("heading", name="The first minutes")).to_be_visible()
        picture(page, "1-first-page")
        add_a_key(page, second.url)
        run_side_by_side(page)
        found_again(page)
        reviewed(page, server)
        assert KEY not in page.content()
        assert any(post.headers["authorization"] == f"Bearer {KEY}" for post in second.posts)
        page.close()


def add_a_key(page: Page, address: str) -> None:
    page.get_by_role("navigation", name="Main").get_by_text("Admin").click()
    page.wait_for_load_state()
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Search or jump to")
    expect(palette.get_by_role("option", name="History").first).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("navigation", name="Administration").get_by_text("Connections").click()
    page.get_by_role("link", name=re.compile("Add connection")).click()
    page.get_by_label("Service").select_option("local")
    page.get_by_label("Name:", exact=True).fill("second")
    page.get_by_label("Address:", exact=True).fill(address)
    page.get_by_label("API key").fill(KEY)
    page.get_by_role("button", name="Save and test").click()
    expect(page.get_by_role("region", name="Test", exact=True)).to_contain_text("1 found")
    expect(page.get_by_role("region", name="Keys")).to_contain_text("…1234")
    picture(page, "2-key-added")


def run_side_by_side(page: Page) -> None:
    page.goto(page.url.partition("/admin/")[0])
    page.get_by_role("textbox", name="Prompt", exact=True).fill("Kingfishers live")
    page.get_by_role("button", name="Add column").click()
    page.get_by_label("Connection", exact=True).last.select_option(label="second")
    page.get_by_label("Model", exact=True).last.fill("field-guide-1b")
    label = page.get_by_role("textbox", name="Labels")
    label.fill("task=guide")
    label.press("Enter")
    page.get_by_role("button", name=re.compile("^Run 2")).click()
    columns = page.locator("article[data-run]")
    expect(columns).to_have_count(2)
    for column in columns.all():
        finished(column)
    picture(page, "3-side-by-side")


def found_again(page: Page) -> None:
    page.get_by_role("navigation", name="Main").get_by_text("History").click()
    search = page.locator("#search")
    search.fill("kingfishers label:task=guide")
    search.press("Enter")
    expect(page.locator("[data-row]")).to_have_count(1)
    expect(page.locator("[data-row]")).to_contain_text("Kingfishers live")
    picture(page, "4-found")


def reviewed(page: Page, server: Server) -> None:
    page.get_by_role("link", name="Review these").click()
    page.locator("#review-name").fill("Guides")
    page.get_by_role("button", name="Make the queue").click()
    page.wait_for_url("**/review/queues/*/")  # loaded: before that nobody hears a key
    progress = page.locator("[data-progress]")
    expect(progress).to_have_text("0 of 2 reviewed")
    page.keyboard.press("4")
    expect(progress).to_have_text("1 of 2 reviewed")
    page.keyboard.press("5")
    expect(progress).to_have_text("2 of 2 reviewed")
    ratings = server.rows("SELECT value FROM playground_rating ORDER BY value")
    assert [each["value"] for each in ratings] == [4, 5]
    picture(page, "5-reviewed")
