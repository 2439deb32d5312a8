"""The main job, as `make run` leads to it: login link, prompt, Ctrl+Enter, text, history."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from playground.embedded import ensure_model
from tests.server import Server

MODEL_HOME = Path(".pytest_cache/d/models")


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """With the embedded model, whose file is downloaded once."""
    data = Path(tmp_path_factory.mktemp("main"))
    MODEL_HOME.parent.mkdir(parents=True, exist_ok=True)
    model = ensure_model(MODEL_HOME.parent, print)
    assert model is not None
    (data / "models").mkdir(parents=True)
    (data / "models" / model.name).hardlink_to(model)
    with Server(data, EMBEDDED="1") as running:
        yield running


def test_the_login_link_leads_to_text_that_streams_and_stays_in_history(
    server: Server, browser: Browser
) -> None:
    page = browser.new_page()
    page.goto(server.link)
    expect(page).to_have_url(f"{server.url}/")
    prompt = page.get_by_role("textbox", name="Prompt", exact=True)
    prompt.fill("Once upon a time there was")
    page.get_by_role("textbox", name="max_tokens", exact=True).fill("40")
    prompt.press("Control+Enter")

    column = page.locator("article[data-run]")
    expect(column).to_have_attribute("data-status", "completed", timeout=90_000)
    text = column.locator(".out").text_content() or ""
    assert len(text) > 40
    assert "/comparisons/" in page.url
    expect(column.locator("[data-metric=finish]")).to_contain_text("length")
    expect(column.locator("[data-metric=tokens]")).to_contain_text("/ 40")

    page.reload()
    assert page.locator("article[data-run] .out").text_content() == text
    expect(prompt).to_have_value("Once upon a time there was")
    page.goto(f"{server.url}/history/")
    row = page.get_by_role("link").filter(has_text="Once upon a time there was")
    row.click()
    assert page.locator("article[data-run] .out").text_content() == text
    page.context.close()
    works_once(server, browser)


def works_once(server: Server, browser: Browser) -> None:
    page = browser.new_page()
    page.goto(server.link)
    expect(page.get_by_role("heading")).to_have_text("This login link is used up")
    page.context.close()
