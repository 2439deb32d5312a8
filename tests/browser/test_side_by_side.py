"""Eight columns over four providers, among them the real llama.cpp and OGX, in Chromium."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from playground.embedded import MODEL, address
from tests.fake_provider import FakeProvider
from tests.fake_services import serve_octoai, serve_pulze
from tests.server import Server
from tests.services.conftest import model, with_model
from tests.services.ogx import config, starter

__all__ = ["model"]  # a fixture of the other package

# Where OGX is installed first, that takes its time.
pytestmark = [pytest.mark.services, pytest.mark.timeout(900)]

PROMPT = "The kingfisher 🐦 sat above the"
# Connection, model, operation, temperature: of each column its own.
COLUMNS = [
    ("embedded", MODEL, "completions", "0"),
    ("ogx", f"local/{MODEL}", "completions", "0.1"),
    ("pulze", "openai/gpt-4", "completions", "0.2"),
    ("octoai", "meta-llama-3-8b-instruct", "chat", "0.3"),
    ("embedded", MODEL, "chat", "0.4"),
    ("ogx", f"local/{MODEL}", "chat", "0.5"),
    ("pulze", "openai/gpt-4", "chat", "0.6"),
    ("octoai", "meta-llama-3-8b-instruct", "chat", "0.7"),
]


@pytest.fixture(scope="module")
def server(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = with_model(tmp_path_factory.mktemp("side"), model)
    with Server(folder, EMBEDDED="1") as running:
        yield running


@pytest.fixture(scope="module")
def services(
    server: Server, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Connections `ogx`, `pulze` and `octoai` beside `embedded`."""
    llama = address(server.data_dir)
    assert llama
    start = starter(request.config, tmp_path_factory)
    with FakeProvider() as pulze, FakeProvider() as octoai:
        serve_pulze(pulze)
        serve_octoai(octoai)
        with start(config(llama, pulze.url)) as ogx:
            for name, url in (("ogx", ogx), ("pulze", pulze.url), ("octoai", octoai.url)):
                to = ("--provider", name, "--base-url", url, "--key-stdin")
                done = server.manage("connection", name, *to, stdin="key-of-a-test")
                assert done.returncode == 0, done.stderr
            yield


def compose(page: Page) -> None:
    """Fill the form: eight columns, each with its own temperature."""
    setups = page.locator(".setup[data-column]")
    for index, (connection, name, operation, _) in enumerate(COLUMNS):
        if index:
            page.keyboard.press("Alt+c")
        expect(setups).to_have_count(index + 1)
        setup = setups.nth(index)
        setup.locator("[data-connection]").select_option(label=connection)
        setup.locator("[data-model]").fill(name)
        setup.locator(f'[data-operation="{operation}"]').click()
    scopes = page.locator("[data-scopes] button")
    for index, (*_, heat) in enumerate(COLUMNS):
        scopes.filter(has_text=re.compile(f"^{chr(ord('A') + index)}$")).click()
        row = page.locator('[data-path="temperature"][role=group]')
        row.locator("[data-box]").first.fill(heat)
    page.locator("[data-scopes] button").first.click()
    longest = page.locator('[data-path="max_tokens"][role=group]')
    longest.locator("[data-box]").first.fill("40")


def requests_of(server: Server) -> list[dict[str, Any]]:
    rows = server.rows(
        "SELECT request, status, error_message FROM playground_run WHERE comparison_id ="
        " (SELECT max(comparison_id) FROM playground_run) ORDER BY position"
    )
    assert all(row["status"] == "completed" for row in rows), rows
    return [json.loads(row["request"]) for row in rows]


def test_eight_columns_over_four_providers(
    open_page: Callable[..., Page], server: Server, services: None
) -> None:
    page = open_page()
    page.goto(server.url)
    compose(page)
    box = page.get_by_role("textbox", name="Prompt", exact=True)
    box.fill(PROMPT)
    box.press("Control+Enter")
    columns = page.locator("#outputs article[data-run]")
    expect(columns).to_have_count(len(COLUMNS))
    order = columns.evaluate_all("(all) => all.map((one) => one.dataset.run)")
    strip = page.locator("#outputs .columns")
    # Where a column begins, so that nothing snaps.
    place = strip.evaluate(
        "(each) => { each.scrollLeft = each.children[2].offsetLeft - each.children[0].offsetLeft;"
        " return each.scrollLeft; }"
    )
    assert place > 300
    box.press_sequentially(" river", delay=30)  # while the text streams
    for index in range(len(COLUMNS)):
        expect(columns.nth(index)).to_have_attribute("data-status", "completed", timeout=120_000)
        expect(columns.nth(index).locator(".out").first).not_to_be_empty()
    expect(box).to_have_value(f"{PROMPT} river")
    assert columns.evaluate_all("(all) => all.map((one) => one.dataset.run)") == order
    assert strip.evaluate("(each) => each.scrollLeft") == place
    asked = requests_of(server)
    for (_, name, operation, heat), request in zip(COLUMNS, asked, strict=True):
        assert (request["model"], request["operation"]) == (name, operation)
        assert request["values"]["temperature"] == float(heat)
        assert request["values"]["max_tokens"] == 40
        assert PROMPT in json.dumps(request, ensure_ascii=False)
    real = (
        "SELECT started_at, finished_at FROM playground_run WHERE provider IN ('local', 'ogx')"
        " AND comparison_id = (SELECT max(comparison_id) FROM playground_run)"
    )
    spans = server.rows(real)
    assert max(row["started_at"] for row in spans) < min(row["finished_at"] for row in spans)
