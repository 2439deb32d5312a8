"""What a person does, again and again."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.server import Server, document


def run(page: Page, prompt: str = "Hi") -> Locator:
    """Press the keys; the columns of the new run."""
    columns = page.locator("article[data-run]")
    before = columns.first.get_attribute("data-run") if columns.count() else None
    page.evaluate("window.tasks?.splice(0)")  # what loading the page took is not meant
    box = page.get_by_role("textbox", name="Prompt", exact=True)
    box.fill(prompt)
    box.press("Control+Enter")
    expect(columns.first).to_be_visible()
    if before:
        expect(columns.first).not_to_have_attribute("data-run", before)
    return columns


def finished(column: Locator, status: str = "completed", seconds: float = 30) -> None:
    expect(column).to_have_attribute("data-status", status, timeout=seconds * 1000)


def eventually(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for what no page shows."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "It did not come to pass."
        time.sleep(0.1)


def columns(page: Page, server: Server, *each: dict[str, Any], prompt: str = "Hi") -> Locator:
    """A comparison of these columns, all ended."""
    [row] = server.rows("SELECT id FROM playground_connection WHERE name = 'fake'")
    settings = [{"connection": row["id"], **one} for one in each]
    comparison, _ = server.user().run(document(*settings, prompt=prompt))
    page.goto(f"{server.url}/comparisons/{comparison}/")
    found = page.locator("article[data-run]")
    for position in range(len(each)):
        finished(found.nth(position))
    return found


def text_of(column: Locator) -> str:
    return column.locator(".out").first.evaluate("(out) => out.textContent") or ""


@contextmanager
def parameters(page: Page) -> Iterator[None]:
    """The panel, which is a sheet on small screens."""
    sheet = page.locator('[popovertarget="params"]:not([popovertargetaction])')
    opened = sheet.is_visible()
    if opened:
        sheet.click()
    yield
    if opened:
        page.keyboard.press("Escape")


GROUP_OF = """(panel, path) => {
  const inside = (group) => group.querySelector("template")?.content || group;
  const groups = [...panel.querySelectorAll("[data-group]")];
  groups.find((group) => inside(group).querySelector(`[data-path="${path}"]`)).open = true;
}"""


def parameter(page: Page, path: str) -> Locator:
    """The row of a parameter, its group open."""
    page.locator("#params").evaluate(GROUP_OF, path)
    return page.locator(f'#params [data-path="{path}"]')


def number(page: Page, path: str, value: str) -> None:
    with parameters(page):
        row = parameter(page, path)
        row.locator("[data-box]:visible").fill(value)
