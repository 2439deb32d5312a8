"""What a person does, again and again."""

from playwright.sync_api import Locator, Page, expect


def run(page: Page, prompt: str = "Hi") -> Locator:
    """Press the keys; the column of the run."""
    page.evaluate("window.tasks?.splice(0)")  # what loading the page took is not meant
    box = page.get_by_role("textbox", name="Prompt", exact=True)
    box.fill(prompt)
    box.press("Control+Enter")
    expect(page.locator("article[data-run]").first).to_be_visible()
    return page.locator("article[data-run]")


def finished(column: Locator, status: str = "completed", seconds: float = 30) -> None:
    expect(column).to_have_attribute("data-status", status, timeout=seconds * 1000)


def text_of(column: Locator) -> str:
    return column.locator(".out").first.evaluate("(out) => out.textContent") or ""
