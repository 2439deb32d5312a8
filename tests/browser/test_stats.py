"""Statistics in Chromium, by keyboard alone, in both themes."""

import re
from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.past import make_past
from tests.server import Server


@pytest.fixture(scope="module")
def past(server: Server) -> int:
    return make_past(server, 20)


def tab_to(page: Page, name: str) -> None:
    """Tab until the link or control of this name has the focus."""
    for _ in range(120):
        page.keyboard.press("Tab")
        found = page.evaluate(
            "() => (document.activeElement.getAttribute('aria-label')"
            " || document.activeElement.textContent).trim()"
        )
        if found.startswith(name):
            return
    raise AssertionError(f"Tab never comes to {name}")


def test_by_keyboard_to_the_table_beside_a_plot_and_to_its_runs(
    past: int, server: Server, open_page: Callable[..., Page]
) -> None:
    page = open_page()
    page.goto(f"{server.url}/history/?whose=team")
    tab_to(page, "Statistics of these runs")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Stats", level=1)).to_be_visible()
    expect(page.locator(".kpi .big").first).to_have_text(f"{past:,}")
    tab_to(page, "Show as a table: Runs")
    page.keyboard.press("Enter")
    rows = page.get_by_role("group", name="Runs as a table", exact=True).locator("tbody tr")
    expect(rows).to_have_count(20)
    total = sum(
        int(text) for text in rows.locator("td").all_inner_texts() if text.strip().isdigit()
    )
    assert total == past
    page.keyboard.press("Tab")
    focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused == "Runs as a table"  # so that it scrolls by keyboard
    tab_to(page, "Pulze")
    page.keyboard.press("Enter")
    expect(page.locator(".chip--filter")).to_contain_text("Pulze")
    page.locator("#runs-link").focus()
    said = page.locator(".kpi .big").first.inner_text()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="History", level=1)).to_be_visible()
    expect(page.locator("#facets-count")).to_have_text(f"{said} runs")


def test_days_are_chosen_by_keyboard(
    past: int, server: Server, open_page: Callable[..., Page]
) -> None:
    page = open_page()
    page.goto(f"{server.url}/stats/?period=7d")
    tab_to(page, "Days")
    page.keyboard.press("Enter")
    first = page.get_by_label("First day")
    expect(first).to_be_visible()
    day = first.input_value()
    page.get_by_label("Last day").fill(day)
    page.get_by_label("Last day").press("Enter")
    expect(page).to_have_url(re.compile(f"from={day}&to={day}"))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_nothing(
    theme: str, width: int, past: int, server: Server, open_page: Callable[..., Page]
) -> None:
    page = open_page(width, 844, color_scheme=theme)
    page.goto(f"{server.url}/stats/?period=30d")
    expect(page.locator(".fig__plot").first).to_be_visible()
    found = Axe().run(page).response["violations"]
    assert [each["id"] for each in found] == []
    sideways = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert not sideways


def test_a_series_is_told_without_colour(
    past: int, server: Server, open_page: Callable[..., Page]
) -> None:
    page = open_page()
    page.goto(f"{server.url}/stats/?period=30d")
    lines = page.locator("section:has(#chart-first) .fig__plot .ln")
    expect(lines).to_have_count(3)
    dashes = {
        lines.nth(n).evaluate("line => getComputedStyle(line).strokeDasharray") for n in range(3)
    }
    assert len(dashes) == 3
    bars = page.locator("section:has(#chart-runs) .fig__plot .col")
    textures = {
        bars.nth(n).evaluate("bar => getComputedStyle(bar).strokeDasharray") for n in range(3)
    }
    assert len(textures) == 3
