"""Many requests of one press, by hand: sweeps, variables, files of rows, repeats, the grid."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.fake_provider import FakeProvider
from tests.server import Server

pytestmark = pytest.mark.browser


@pytest.fixture
def page(open_page: Callable[..., Page], server: Server, fake: FakeProvider) -> Page:
    opened = open_page()
    opened.goto(server.url)
    return opened


def plan(page: Page) -> str:
    """What the run bar says, once it is sure."""
    expect(page.locator("#plan")).not_to_have_attribute("aria-busy", re.compile(".*"))
    return page.locator("#plan").inner_text()


def prompt(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="Prompt", exact=True).fill(text)


def parameter(page: Page, path: str, value: str) -> None:
    page.locator(f"#params [data-path={path}] [data-box]").first.fill(value)


def test_a_variable_gets_a_box_and_its_values_make_rows(page: Page) -> None:
    prompt(page, "Say {{word}} to {{who}}")
    box = page.get_by_label("Value of word")
    expect(box).to_be_visible()
    expect(page.locator("[data-variable=word]")).to_have_attribute("data-var", "undefined")
    box.fill("yes\nno")
    page.get_by_label("Value of who").fill("Ann")
    expect(page.locator("[data-variable=word]")).to_contain_text("2 values")
    expect(page.locator("#plan")).to_contain_text("2 rows = 2 requests")
    prompt(page, "Say it to {{who}}")
    expect(page.locator("[data-variable=word]")).to_have_attribute("data-var", "unused")
    expect(page.locator("#plan")).to_contain_text("1 request")


def test_a_file_gives_the_rows(page: Page, tmp_path: Path) -> None:
    prompt(page, "{{text}} is {{label}}")
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text('text,label\n"a, b",x\nc,y\nd,z\n')
    bad.write_text("text,label\na\n")
    page.locator("[data-table-file]").set_input_files(bad)
    expect(page.locator("[data-error-for=variables]")).to_contain_text("Line 2 has 1 value")
    page.locator("[data-table-file]").set_input_files(good)
    expect(page.locator("[data-table-chip]")).to_contain_text("good.csv: 3 rows of text, label")
    expect(page.locator("[data-error-for=variables]")).to_be_hidden()
    expect(page.locator("#plan")).to_contain_text("3 rows = 3 requests")
