"""Star, rate, label, comment by keyboard; the lock; trash and undo; a shared link."""

from collections.abc import Callable

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.steps import eventually, finished, run
from tests.fake_provider import DONE, FIN, FakeProvider, Reply, text_event
from tests.server import Server, document

Open = Callable[..., Page]


def finished_run(page: Page, server: Server, prompt: str) -> str:
    """Run it; the address of the page of its run."""
    page.goto(server.url)
    column = run(page, prompt)
    finished(column)
    return server.url + (column.get_attribute("data-url") or "")


def has_no_faults(page: Page) -> None:
    found = Axe().run(page).response["violations"]
    assert not found, [(each["id"], each["nodes"][0]["target"]) for each in found]


def test_a_run_is_starred_rated_labelled_and_commented_by_keyboard(
    open_page: Open, server: Server, fake: FakeProvider
) -> None:
    page = open_page()
    page.goto(finished_run(page, server, "Rate me"))
    page.keyboard.press("s")
    expect(page.get_by_role("button", name="Star", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    page.keyboard.press("4")
    expect(page.get_by_role("button", name="Take my rating back")).to_be_visible()
    expect(page.get_by_role("radio", name="4 of 5")).to_be_checked()
    page.keyboard.press("2")
    # As the server says it: the next press takes it back.
    expect(page.get_by_role("radio", name="2 of 5")).to_have_attribute("checked", "")
    page.keyboard.press("2")
    expect(page.get_by_role("button", name="Take my rating back")).to_have_count(0)
    expect(page.get_by_role("radio", checked=True)).to_have_count(0)
    page.keyboard.press("3")
    expect(page.get_by_role("button", name="Take my rating back")).to_be_visible()
    page.keyboard.press("l")
    label = page.get_by_role("combobox", name="Add a label")
    expect(label).to_be_focused()
    page.keyboard.type("stage=draft")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Remove label stage=draft")).to_be_visible()
    expect(label).to_be_focused()
    page.keyboard.type("Stage=Final")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Remove label Stage=Final")).to_be_visible()
    expect(page.get_by_role("button", name="Remove label stage=draft")).to_have_count(0)
    page.keyboard.type("stage=dr")
    expect(page.locator("datalist option[value='stage=draft']")).to_have_count(0)
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("c")
    expect(page.get_by_label("Add a comment")).to_be_focused()
    page.keyboard.type("Too long. 5 of these are enough.")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".comment__text")).to_have_text("Too long. 5 of these are enough.")
    has_no_faults(page)
    page.reload()
    expect(page.get_by_role("radio", name="3 of 5")).to_be_checked()
    expect(page.locator(".comment__text")).to_have_count(1)


def test_the_lock_of_capitals_and_a_key_that_is_held_run_nothing(
    open_page: Open, server: Server, fake: FakeProvider
) -> None:
    page = open_page()
    fake.clear()
    page.goto(finished_run(page, server, "Run me"))
    page.keyboard.press("R")  # without Shift
    page.keyboard.press("s")
    star = page.get_by_role("button", name="Star", exact=True)
    expect(star).to_have_attribute("aria-pressed", "true")
    assert len(fake.posts) == 1
    page.keyboard.down("Shift")
    for _ in range(5):
        page.keyboard.down("R")
    page.keyboard.up("R")
    page.keyboard.up("Shift")
    page.wait_for_url("**/comparisons/*/")
    finished(page.locator("article[data-run]"))
    assert len(fake.posts) == 2


def test_who_comes_by_the_link_of_the_comments_can_write_one(
    open_page: Open, server: Server, fake: FakeProvider
) -> None:
    page = open_page()
    page.goto(server.url)
    column = run(page, "Talk about me")
    finished(column)
    column.get_by_role("link", name="0 comments on column A").click()
    expect(page.get_by_label("Add a comment")).to_be_focused()
    page.keyboard.type("very even")
    expect(page.get_by_label("Add a comment")).to_have_value("very even")
    page.goto(page.url.partition("#")[0])
    expect(page.locator("body")).to_be_focused()


def test_the_page_of_a_run_has_its_marks_once(
    open_page: Open, server: Server, fake: FakeProvider
) -> None:
    """Also when its column is drawn anew: at its end, or with all of a very long text."""
    whole = "word " * 60_000
    fake.on("long", Reply(pieces=[0.5, text_event(whole), FIN, DONE]))
    [row] = server.rows("SELECT id FROM playground_connection WHERE name = 'fake'")
    settings = {"connection": row["id"], "model": "long"}
    _, [pk] = server.user().run(document(settings))
    page = open_page()
    page.goto(f"{server.url}/runs/{pk}/")
    column, star = page.locator("article[data-run]"), page.locator("[data-star]")
    finished(column)
    page.get_by_role("button", name="Run column A again").wait_for()
    expect(column.locator("[data-use]")).to_have_count(0)  # there is no form to put it into
    page.reload()
    page.get_by_role("link", name="Show all 300,000 characters").click()
    expect(column.locator("[data-tail]")).to_have_count(0)
    expect(star).to_have_count(1)
    expect(column.locator("[data-use]")).to_have_count(0)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("s")
    expect(star).to_have_attribute("aria-pressed", "true")
    comparison = page.locator(".crumbs a").nth(1)
    comparison.click()
    page.get_by_role("link", name="Show all 300,000 characters").click()
    expect(column.locator("[data-tail]")).to_have_count(0)
    expect(column.locator("[data-star]")).to_have_count(1)
    expect(column.locator("[data-use]")).to_have_count(1)


def test_who_sees_it_is_said_beside_the_form_too(
    open_page: Open, server: Server, fake: FakeProvider
) -> None:
    page = open_page()
    page.goto(server.url)
    column = run(page, "Hide me here")
    finished(column)
    column.locator(".col__body").focus()
    page.keyboard.press("v")
    expect(page.locator(".toast")).to_contain_text("Only you see it now.")
    page.keyboard.press("u")
    expect(page.get_by_role("button", name="The team sees it; make it private")).to_be_visible()


def test_a_comment_is_edited_and_deleted_by_its_author(
    open_page: Open, server: Server, fake: FakeProvider
) -> None:
    page = open_page()
    page.goto(finished_run(page, server, "Comment me"))
    box = page.get_by_label("Add a comment")
    box.fill("First")
    corner = box.bounding_box()
    assert corner
    # Made larger by hand it has a style of its own, which is not copied to the next box.
    page.mouse.move(corner["x"] + corner["width"] - 4, corner["y"] + corner["height"] - 4)
    page.mouse.down()
    page.mouse.move(corner["x"] + corner["width"] - 4, corner["y"] + corner["height"] + 80)
    page.mouse.up()
    assert box.evaluate("box => box.style.height")
    page.get_by_role("button", name="Add comment").click()
    page.get_by_role("link", name="Edit this comment").click()
    box = page.get_by_label("Your comment")
    expect(box).to_be_focused()
    box.fill("Second")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".comment__text")).to_have_text("Second")
    expect(page.locator(".comment")).to_contain_text("edited")
    page.get_by_role("button", name="Delete this comment").click()
    expect(page.locator(".comment")).to_have_count(0)


def test_the_focus_stays_near_what_was_taken_away(
    open_page: Open, server: Server, fake: FakeProvider
) -> None:
    page = open_page()
    page.goto(finished_run(page, server, "Keep my place"))
    label, field = (
        page.get_by_role("combobox", name="Add a label"),
        page.get_by_label("Key", exact=True),
    )
    for name in ("one", "two"):
        label.fill(name)
        label.press("Enter")
        expect(page.get_by_role("button", name=f"Remove label {name}")).to_be_visible()
    page.get_by_role("button", name="Remove label one").press("Enter")
    expect(page.get_by_role("button", name="Remove label two")).to_be_focused()
    page.keyboard.press("Enter")
    expect(label).to_be_focused()
    field.fill("ticket")
    page.get_by_label("Value", exact=True).fill("7")
    field.press("Enter")
    page.get_by_role("button", name="Remove ticket").press("Enter")
    expect(field).to_be_focused()
    box = page.get_by_label("Add a comment")
    box.fill("First")
    box.press("Control+Enter")
    page.get_by_role("link", name="Edit this comment").press("Enter")
    page.get_by_label("Your comment").press("Control+Enter")
    expect(page.get_by_role("link", name="Edit this comment")).to_be_focused()
    page.get_by_role("button", name="Delete this comment").press("Enter")
    expect(box).to_be_focused()


def test_a_comment_that_was_begun_outlives_what_is_done_to_others(
    open_page: Open, server: Server, fake: FakeProvider
) -> None:
    page = open_page()
    page.goto(finished_run(page, server, "Begun"))
    box = page.get_by_label("Add a comment")
    box.fill("First")
    page.get_by_role("button", name="Add comment").click()
    expect(page.locator(".comment__text")).to_have_text("First")
    expect(box).to_have_value("")
    box.fill("Begun and long")
    page.get_by_role("link", name="Edit this comment").click()
    expect(page.get_by_label("Your comment")).to_be_focused()
    page.get_by_role("link", name="Cancel").click()
    expect(box).to_have_value("Begun and long")
    page.get_by_role("button", name="Delete this comment").click()
    expect(page.locator(".comment")).to_have_count(0)
    expect(box).to_have_value("Begun and long")
    page.get_by_role("button", name="Add comment").click()
    expect(page.locator(".comment__text")).to_have_text("Begun and long")
    expect(box).to_have_value("")


def test_one_key_hides_a_run_and_shows_it_again(
    open_page: Open, server: Server, fake: FakeProvider
) -> None:
    page = open_page()
    page.goto(finished_run(page, server, "Hide me"))
    page.keyboard.press("v")
    expect(page.get_by_role("button", name="Private; show it to the team")).to_be_visible()
    expect(page.locator(".toast")).to_contain_text("Only you see it now.")
    page.keyboard.press("u")
    expect(page.get_by_role("button", name="The team sees it; make it private")).to_be_visible()
    expect(page.locator(".toast")).to_have_count(0)
    page.keyboard.press("v")
    expect(page.get_by_role("button", name="Private; show it to the team")).to_be_visible()
    page.reload()
    expect(page.locator(".toast")).to_have_count(0)
    page.get_by_role("button", name="Private; show it to the team").click()
    expect(page.get_by_role("button", name="The team sees it; make it private")).to_be_visible()


def test_what_is_deleted_comes_back_with_u_and_goes_for_ever_from_the_trash(
    open_page: Open, server: Server, fake: FakeProvider
) -> None:
    page = open_page()
    address = finished_run(page, server, "Delete me twice")
    page.goto(address)
    page.locator("[data-trash]").click()
    page.wait_for_url("**/history/")
    row = page.get_by_role("link", name="Delete me twice")
    expect(page.locator(".toast")).to_contain_text("is in the trash")
    expect(row).to_have_count(0)
    page.keyboard.press("u")
    expect(row).to_be_visible()
    page.goto(address)
    page.locator("[data-trash]").click()
    page.wait_for_url("**/history/")
    page.goto(f"{server.url}/trash/")
    has_no_faults(page)
    entry = page.locator(".trash__row", has_text="Delete me twice")
    page.once("dialog", lambda dialog: dialog.dismiss())
    entry.get_by_role("button", name="for ever").click()
    expect(entry).to_be_visible()
    page.once("dialog", lambda dialog: dialog.accept())
    entry.get_by_role("button", name="for ever").click()
    expect(entry).to_have_count(0)
    run_id = int(address.rstrip("/").rpartition("/")[2])
    query = "SELECT id FROM playground_run WHERE id = ?"
    eventually(lambda: not server.rows(query, run_id))  # it is erased in the background
    page.goto(finished_run(page, server, "Delete me with all others"))
    page.locator("[data-trash]").click()
    page.wait_for_url("**/history/")
    page.goto(f"{server.url}/trash/")
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Empty the trash").click()
    expect(page.locator("#trash-list")).to_contain_text("The trash is empty")


def test_a_shared_link_opens_without_a_login_until_it_is_revoked(
    open_page: Open, server: Server, fake: FakeProvider, browser: Browser
) -> None:
    page = open_page()
    page.goto(finished_run(page, server, "Share me with the world"))
    page.get_by_role("button", name="Share a read-only copy").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    link = page.locator("#share-link").text_content() or ""
    has_no_faults(page)
    with browser.new_context() as context:  # nobody has logged in here
        visitor = context.new_page()
        answer = visitor.goto(link)
        assert answer is not None
        assert answer.status == 200
        expect(visitor.locator(".shared__prompt")).to_contain_text("Share me with the world")
        expect(visitor.get_by_role("link", name="Copy into my draft")).to_have_count(0)
        assert "admin" not in visitor.content()
        has_no_faults(visitor)
        page.goto(f"{server.url}/shares/")
        page.get_by_role("button", name="Revoke").first.click()
        expect(page.get_by_text("Revoked")).to_be_visible()
        has_no_faults(page)
        answer = visitor.goto(link)
        assert answer is not None
        assert answer.status == 404
        expect(visitor.get_by_role("heading")).to_have_text("This link is not open")
