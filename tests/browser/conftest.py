"""A real Chromium against a real server. Errors of the page and breaches of its policy fail."""

import os
import shutil
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Playwright,
    expect,
    sync_playwright,
)

from tests.fake_provider import FakeProvider, words
from tests.server import Server, started_before

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WAIT = 15_000  # ms that a page may take, also on a busy machine

expect.set_options(timeout=WAIT)


def chromium_path() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


# Not longer than this package: while it is open, no other event loop can run in the main thread.
@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="package")
def browser(playwright: Playwright) -> Iterator[Browser]:
    path = chromium_path()
    if path is None:
        if os.environ.get("REQUIRE_ALL"):
            pytest.fail("Chromium is required here and is not installed.")
        pytest.skip("Chromium is not installed; on Debian: sudo apt install chromium")
    started = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
    yield started
    started.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(started_before(tmp_path_factory.mktemp("browser"))) as running:
        yield running


@pytest.fixture(scope="module")
def fake(server: Server) -> Iterator[FakeProvider]:
    """The backend of the connection `fake`."""
    with FakeProvider() as provider:
        server.connect("fake", provider.url, "--model", "m")
        yield provider


@pytest.fixture
def open_page(browser: Browser, server: Server) -> Iterator[Callable[..., Page]]:
    """Logged in, in a context of its own; the page's errors fail the test at its end."""
    contexts: list[BrowserContext] = []
    problems: list[str] = []
    cookies = server.user().http.cookies
    server.rows("DELETE FROM playground_draft RETURNING id")  # every test begins with an empty form

    def make(width: int = 1440, height: int = 900, **options: object) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            **options,  # type: ignore[arg-type]
        )
        context.add_cookies(
            [
                {"name": cookie.name, "value": cookie.value or "", "url": server.url}
                for cookie in cookies.jar
            ]
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(WAIT)
        listen(page, problems)
        return page

    yield make
    for context in contexts:
        context.close()
    assert not problems, problems


@pytest.fixture
def page(open_page: Callable[..., Page], server: Server, fake: FakeProvider) -> Page:
    """The page to compose, empty; the backend says five words."""
    fake.clear()
    fake.reply_with(words(5, None))
    opened = open_page()
    opened.goto(server.url)
    return opened


def listen(page: Page, problems: list[str]) -> None:
    """Errors of the page, and what its policy forbids, which Chromium says in the console."""

    def heard(said: ConsoleMessage) -> None:
        if said.type == "error" and not expected(said.text):
            problems.append(said.text)

    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", heard)


def expected(text: str) -> bool:
    """What Chromium and htmx themselves say of an answer or a socket that the test made fail."""
    return text.startswith(
        ("Failed to load resource", "WebSocket connection", "htmx:", "Response Status")
    )
