"""Watch together: two people of a team see one stream and each other; a stranger sees nothing."""

import threading
from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.steps import finished, run, text_of
from tests.fake_provider import DONE, FIN, FakeProvider, Reply, text_event, until
from tests.server import Server

PEOPLE = """
from playground.models import Membership, Team, User
team = Team.objects.order_by("pk").first()
for name, where in (("bob", team), ("charlie", Team.objects.create(name="Others"))):
    user = User.objects.create_user(name, current_team=where)
    Membership.objects.create(user=user, team=where, role="member")
"""


@pytest.fixture(scope="module")
def people(server: Server) -> None:
    done = server.manage("shell", "-v", "0", "-c", PEOPLE)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def enter(browser: Browser, server: Server, people: None) -> Iterator[Callable[[str], Page]]:
    """A browser of its own for a person, logged in by a link."""
    contexts: list[BrowserContext] = []

    def make(name: str) -> Page:
        link = server.manage("login_link", name).stdout.split("Open ")[-1].split()[0]
        contexts.append(browser.new_context(viewport={"width": 1440, "height": 900}))
        page = contexts[-1].new_page()
        page.set_default_timeout(15_000)
        page.goto(link)
        return page

    yield make
    for context in contexts:
        context.close()


def test_a_run_is_watched_together(
    server: Server, fake: FakeProvider, enter: Callable[[str], Page]
) -> None:
    more, end = threading.Event(), threading.Event()
    fake.reply_with(
        Reply(pieces=[text_event("one "), until(more), text_event("two "), until(end),
                      text_event("three"), FIN, DONE])
    )  # fmt: skip
    admin, bob, charlie = enter("admin"), enter("bob"), enter("charlie")
    column = run(admin)
    expect(column.locator(".out").first).to_have_text("one ")
    expect(admin.locator("[data-watching]")).to_be_hidden()

    bob.goto(admin.url)
    theirs = bob.locator("article[data-run]")
    expect(theirs.locator(".out").first).to_have_text("one ")
    expect(admin.get_by_role("group", name="bob is watching")).to_be_visible()
    expect(bob.get_by_role("group", name="admin is watching")).to_be_visible()
    found = Axe().run(admin).response["violations"]
    assert not found, [(each["id"], each["nodes"][0]["target"]) for each in found]

    answer = charlie.goto(admin.url)
    assert answer is not None
    assert answer.status == 404
    assert charlie.goto(f"{server.url}/runs/{column.get_attribute('data-run')}/").status == 404  # type: ignore[union-attr]

    more.set()
    for each in (column, theirs):
        expect(each.locator(".out").first).to_have_text("one two ")
    bob.goto(f"{server.url}/history/")
    expect(admin.locator("[data-watching]")).to_be_hidden()
    bob.go_back()
    expect(admin.get_by_role("group", name="bob is watching")).to_be_visible()
    end.set()
    for each in (column, bob.locator("article[data-run]")):
        finished(each)
        assert text_of(each) == "one two three"
    expect(admin.locator("[data-watching]")).to_be_hidden()


def test_who_watches_a_run_is_told_that_it_is_private_now(
    server: Server, fake: FakeProvider, enter: Callable[[str], Page]
) -> None:
    end = threading.Event()
    fake.reply_with(Reply(pieces=[text_event("one "), until(end), text_event("two"), FIN, DONE]))
    admin, bob = enter("admin"), enter("bob")
    column = run(admin)
    bob.goto(admin.url)
    theirs = bob.locator("article[data-run]")
    expect(theirs.locator(".out").first).to_have_text("one ")
    expect(bob.locator("form[data-running]")).to_have_count(1)
    admin.locator("[data-lock]").click()
    expect(bob.locator("#notice")).to_contain_text("private or deleted now")
    expect(theirs.locator(".badge")).to_have_text("Not shown any more")
    expect(bob.locator("form[data-running]")).to_have_count(0)  # it may run something else
    end.set()
    finished(column)
    assert text_of(theirs) == "one "
