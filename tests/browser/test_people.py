"""A person in a real Chromium: invited, another role, a second step, another password."""

import base64
import re
import time
from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from playground.models.factors import STEP, code_at
from tests.browser.people import logged_in, prepare
from tests.fake_provider import FakeProvider
from tests.server import Server

pytestmark = pytest.mark.browser

FIRST, SECOND = "sturgeon-paddle-17", "lantern-heron-48"


@pytest.fixture
def noor(browser: Browser) -> Iterator[Page]:
    """Somebody who has never been here; with the policy off, so that axe can look."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, bypass_csp=True)
    page = context.new_page()
    page.set_default_timeout(15_000)
    yield page
    context.close()


def clean(page: Page) -> None:
    found = Axe().run(page).response["violations"]
    assert [(each["id"], [n["target"] for n in each["nodes"]]) for each in found] == []


def log_in(page: Page, root: str, password: str) -> None:
    page.goto(f"{root}/login/")
    page.get_by_label("User name").fill("noor")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


def test_a_person_comes_in_and_guards_the_account(
    server: Server, open_page: Callable[..., Page], noor: Page
) -> None:
    # Invited by link.
    owner = open_page()
    owner.goto(f"{server.url}/team/")
    owner.get_by_role("button", name="Make the link").click()
    address = owner.locator("#invitation-link").inner_text().strip()
    noor.goto(address)
    clean(noor)
    noor.get_by_label("User name").fill("noor")
    noor.get_by_label("Password").fill("noor1")
    noor.get_by_label("Password").blur()  # all that is wrong is said before anything is sent
    expect(noor.locator("#e-password .field__error")).to_have_count(2)
    noor.get_by_label("Password").fill(FIRST)
    noor.get_by_label("The same again").fill(FIRST)
    noor.get_by_label("The same again").blur()
    expect(noor.locator("#e-password .field__error")).to_have_count(0)
    noor.get_by_role("button", name="Join").click()
    expect(noor.locator("body[data-role=member]")).to_be_attached()

    # Another role counts from the next page on.
    owner.goto(f"{server.url}/team/")
    owner.get_by_label("Role of noor").select_option("reviewer")
    owner.get_by_role("button", name="Change the role of noor").click()
    expect(owner.get_by_text("noor is now a reviewer.")).to_be_visible()
    noor.goto(server.url)
    expect(noor.locator("body[data-role=reviewer]")).to_be_attached()

    # The second step: set up by the key, with the code of now; the codes are shown once.
    noor.goto(f"{server.url}/two-factor/")
    clean(noor)
    secret = base64.b32decode(noor.locator("#secret").inner_text().replace(" ", ""))
    noor.get_by_label("Code, six digits").fill(code_at(secret, int(time.time()) // STEP))
    noor.get_by_role("button", name="Switch it on").click()
    expect(noor.get_by_role("heading", name="Two-factor login is on")).to_be_visible()
    clean(noor)

    # Another password; the old one is asked for.
    noor.goto(f"{server.url}/password/")
    noor.get_by_label("Password until now").fill(FIRST)
    noor.get_by_label("New password").fill(SECOND)
    noor.get_by_label("The same again").fill(SECOND)
    noor.get_by_role("button", name="Set the password").click()
    expect(noor.get_by_text("Your password is set.")).to_be_visible()

    # Out; the password of before opens nothing.
    noor.get_by_role("button", name="Your menu, noor").click()
    noor.get_by_role("button", name="Sign out").click()
    expect(noor).to_have_url(re.compile("/login/"))
    log_in(noor, server.url, FIRST)
    expect(noor.locator("#login-error")).to_contain_text("do not belong together")


def test_a_reviewer_is_offered_nothing_that_is_refused(
    server: Server, fake: FakeProvider, browser: Browser
) -> None:
    prepare(server, 'person("rita", "reviewer")')
    context = logged_in(browser, server, "rita")
    page = context.new_page()
    page.goto(server.url)
    page.get_by_role("button", name="Add column").click()
    expect(page.get_by_role("button", name="Remove column B")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("Run column|Preview"))).to_have_count(0)
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Search or jump to")
    expect(palette.get_by_role("option", name="Add a column")).to_be_visible()
    expect(palette.get_by_role("option", name="Preview the next tokens")).to_have_count(0)
    context.close()
