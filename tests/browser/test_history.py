"""The history in a browser: search with completion by keyboard, facets, preview, pages, back."""

import json
import re
from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.steps import eventually
from tests.fake_provider import FakeProvider, words
from tests.server import Server, document

OpenPage = Callable[..., Page]


@pytest.fixture(scope="module")
def filled(server: Server, fake: FakeProvider) -> Server:
    """Twenty-eight comparisons: birds and fish; the first one has two columns."""
    person = server.user()
    connection = server.rows("SELECT id FROM playground_connection WHERE name = 'fake'")[0]["id"]
    fake.reply_with(words(5))
    for number in range(28):
        bird = number % 2
        person.run(
            document(
                *[{"connection": connection, "values": {"temperature": str(number / 10)}}]
                * (2 if number == 0 else 1),
                prompt=f"{'A bird' if bird else 'A fish'}, number {number}",
                labels=["task=bird" if bird else "task=fish"],
            )
        )
    query = "SELECT count(*) AS n FROM playground_run WHERE NOT indexed"
    eventually(lambda: server.rows(query)[0]["n"] == 0)
    return server


@pytest.fixture
def page(open_page: OpenPage, filled: Server) -> Page:
    made = open_page()
    made.goto(f"{filled.url}/history/")
    return made


def test_a_search_is_written_by_keyboard_alone(page: Page) -> None:
    page.keyboard.press("/")
    box = page.get_by_role("combobox", name="Search runs")
    expect(box).to_be_focused()
    page.keyboard.type("la")
    offers = page.get_by_role("listbox", name="Completions")
    expect(offers.get_by_role("option")).to_have_count(1)
    page.keyboard.press("ArrowDown")
    expect(offers.get_by_role("option", selected=True)).to_contain_text("label:")
    page.keyboard.press("Enter")
    expect(box).to_have_value("label:")
    expect(offers.get_by_role("option").first).to_contain_text("task=")
    page.keyboard.type("bi")
    expect(offers.get_by_role("option")).to_have_count(1)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    expect(box).to_have_value("label:task=bird ")
    page.keyboard.type("bird")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"q=label%3Atask%3Dbird\+bird"))
    expect(page.locator("[data-row]")).to_have_count(14)
    expect(page.locator("#count")).to_contain_text("14 comparisons, 14 runs")


def test_what_is_offered_is_for_where_the_caret_is(page: Page) -> None:
    box = page.get_by_role("combobox", name="Search runs")
    box.focus()
    page.keyboard.type("bird is:")
    offers = page.get_by_role("listbox", name="Completions")
    expect(offers.get_by_role("option").first).to_contain_text("starred")
    page.keyboard.press("ArrowDown")
    expect(offers.get_by_role("option", selected=True)).to_have_count(1)
    page.keyboard.press("Home")
    expect(offers.get_by_role("option", selected=True)).to_have_count(0)
    page.keyboard.press("Tab")
    expect(box).to_have_value("bird is:")


def test_facets_narrow_and_the_back_button_widens(page: Page) -> None:
    expect(page.locator("#count")).to_contain_text("29 runs")
    page.locator("#facets").get_by_role("link", name="task=fish").click()
    expect(page.locator("#count")).to_contain_text("15 runs")
    expect(page.locator(".chip--filter")).to_have_text(["label:task=fish"])
    page.go_back()
    expect(page.locator("#count")).to_contain_text("29 runs")
    page.go_forward()
    page.get_by_role("link", name="Remove filter label task=fish").click()
    expect(page.locator("#count")).to_contain_text("29 runs")
    expect(page.get_by_role("combobox")).to_have_value("")


def test_arrows_move_the_cursor_and_show_a_preview(page: Page) -> None:
    preview = page.locator("#preview")
    page.locator("body").press("ArrowDown")
    expect(page.locator("[data-row][data-cursor]")).to_have_count(1)
    expect(preview).to_contain_text("A bird, number 27")
    expect(preview).to_contain_text("temperature 2.7")
    page.keyboard.press("j")
    expect(preview).to_contain_text("A fish, number 26")
    page.keyboard.press("k")
    expect(preview).to_contain_text("A bird, number 27")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/comparisons/\d+/"))
    expect(page.locator("#prompt")).to_have_value("A bird, number 27")


def test_hover_shows_a_preview_too(page: Page) -> None:
    page.locator("[data-row]").nth(2).hover()
    expect(page.locator("#preview")).to_contain_text("A bird, number 25")


def test_what_changed_stands_in_the_row(page: Page) -> None:
    row = page.locator("[data-row]").first
    expect(row).to_contain_text("temperature 2.6")
    expect(row.locator(".changed > span").filter(has_text="temperature")).to_contain_text("2.7")


def test_the_list_goes_on_below_and_is_as_long_when_one_comes_back(page: Page) -> None:
    rows = page.locator("[data-row]")
    expect(rows).to_have_count(17)
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    expect(rows).to_have_count(28)
    expect(page.locator("[data-day]")).to_have_count(1)
    rows.last.locator(".run__link").focus()
    page.keyboard.press("k")
    expect(page.locator("#preview")).to_contain_text("A bird, number 1")
    page.keyboard.press("Enter")
    expect(page.locator("#prompt")).to_have_value("A bird, number 1")
    page.go_back()
    expect(rows).to_have_count(28)
    expect(rows.nth(26)).to_have_attribute("data-cursor", "")
    expect(rows.nth(26).locator(".run__link")).to_be_focused()


def test_rows_are_selected_by_mouse_and_worked_on_together(page: Page, filled: Server) -> None:
    bar, boxes = page.locator("[data-selection]"), page.locator(".run__sel input")
    said = bar.locator("[data-count]")
    expect(bar).to_be_hidden()
    boxes.nth(1).click()
    boxes.nth(4).click(modifiers=["Shift"])
    expect(said).to_have_text("4 selected")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    expect(boxes).to_have_count(28)
    boxes.last.click()
    expect(said).to_have_text("5 selected")
    # A label: a wrong name is refused in the dialog, a right one set, and the undo takes it back.
    bar.get_by_role("button", name="Label").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Name")).to_be_focused()
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert").first).to_be_visible()
    dialog.get_by_label("Name").fill("picked")
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    picked = page.locator(".run__labels .chip").filter(has_text="picked")
    expect(picked).to_have_count(5)
    bar.get_by_role("button", name="Rate").click()
    page.get_by_role("button", name="4 of 5").click()
    expect(page.locator("#notice")).to_contain_text("a row for each run")  # the last one has two
    boxes.last.click()
    bar.get_by_role("button", name="Rate").click()
    page.get_by_role("button", name="4 of 5").click()
    expect(page.locator("[data-row][data-rating='4']")).to_have_count(4)
    found = Axe().run(page).response["violations"]
    assert not found, json.dumps([(each["id"], each["nodes"][0]["html"]) for each in found])
    # What is selected outlives a reload, and goes out.
    page.reload()
    expect(said).to_have_text("4 selected")
    bar.get_by_role("button", name="Export").click()
    expect(page.locator("main")).to_contain_text("4 runs of 4 rows that you selected")
    page.goto(f"{filled.url}/history/")
    # All that match: into the trash and back.
    page.get_by_role("button", name="Clear selection").click()
    page.get_by_label("All shown").check()
    expect(said).to_have_text("17 selected")
    bar.get_by_role("button", name="Select all 28 that match").click()
    expect(said).to_have_text("All 28 comparisons")
    bar.get_by_role("button", name="Delete").click()
    expect(page.locator("#found")).to_contain_text("No runs of yours yet")
    expect(bar).to_be_hidden()
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.locator("#count")).to_contain_text("28 comparisons")
    # A row of two runs says how it unfolds, and does.
    page.goto(f"{filled.url}/history/?q=number+0")
    rows = page.locator("[data-row]")
    expect(rows).to_have_count(1)
    page.keyboard.press("j")
    page.keyboard.press("4")
    expect(page.locator("#notice")).to_contain_text("Unfold it (F")
    page.keyboard.press("f")
    expect(rows).to_have_count(3)
    expect(rows.nth(1).locator(".run__link")).to_be_focused()
    page.keyboard.press("4")
    expect(rows.nth(1)).to_have_attribute("data-rating", "4")
    page.keyboard.press("m")
    page.get_by_role("button", name="Fold the runs").click()
    expect(rows).to_have_count(1)
    expect(rows.locator(".run__link")).to_be_focused()


def test_the_keys_alone_do_all_that_the_mouse_does(page: Page, filled: Server) -> None:
    said, rows = page.locator("[data-selection] [data-count]"), page.locator("[data-row]")
    expect(page.locator("#count")).to_contain_text("28 comparisons")
    for key in ("j", "x", "j", "j", "Shift+X"):
        page.keyboard.press(key)
    expect(said).to_have_text("3 selected")
    page.keyboard.press("s")
    expect(page.locator("[data-starred]")).to_have_count(3)
    page.keyboard.press("s")  # all of them have one: it is taken away
    expect(page.locator("[data-starred]")).to_have_count(0)
    page.keyboard.press("u")
    expect(page.locator("[data-starred]")).to_have_count(3)
    page.keyboard.press("v")
    expect(page.locator("[data-private]")).to_have_count(3)
    page.keyboard.press("v")
    expect(page.locator("[data-private]")).to_have_count(0)
    page.keyboard.press("Delete")
    expect(rows).to_have_count(14)
    expect(page.locator("[data-selection]")).to_be_hidden()
    expect(rows.first.locator(".run__link")).to_be_focused()
    page.keyboard.press("u")
    expect(rows).to_have_count(17)
    expect(rows.first).to_contain_text("A bird, number 27")
    page.keyboard.press("a")
    expect(said).to_have_text("17 selected")
    page.keyboard.press("Shift+A")
    expect(said).to_have_text("All 28 comparisons")
    page.keyboard.press("l")
    page.keyboard.type("everything")
    page.keyboard.press("Enter")
    labelled = page.locator(".run__labels .chip").filter(has_text="everything")
    expect(labelled).to_have_count(17)
    page.keyboard.press("u")
    expect(labelled).to_have_count(0)
    expect(page.locator("#bulk-said")).to_contain_text("“add the label everything”")
    for _ in range(2):  # what the job said, then the selection
        page.keyboard.press("Escape")
    expect(page.locator("[data-selection]")).to_be_hidden()
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(sheet).to_contain_text("Run again")
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()  # keys are silent under it
    # The menu of a row holds the same; Escape closes it and the cursor stays.
    page.keyboard.press("j")
    page.keyboard.press("m")
    menu = page.get_by_role("group", name="This row")
    expect(menu.get_by_role("link", name="Open", exact=False).first).to_be_focused()
    for name in ("Put into the form", "Run again", "Label", "Make private", "Export", "Delete"):
        expect(menu.get_by_text(name)).to_be_visible()
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(page.locator("[data-row][data-cursor] .run__link")).to_be_focused()


def test_what_is_no_filter_is_said_and_kept(page: Page, filled: Server) -> None:
    page.goto(f"{filled.url}/history/?q=foo:bar+bird")
    expect(page.get_by_role("alert").filter(has_text="is no filter")).to_be_visible()
    expect(page.get_by_role("combobox")).to_have_value("foo:bar bird")


def test_a_view_is_saved_and_opened(page: Page, filled: Server) -> None:
    page.goto(f"{filled.url}/history/?q=label:task=fish")
    page.get_by_role("button", name="Saved views").click()
    page.get_by_label("Save this search as").fill("Fish")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("button", name="Saved views")).to_contain_text("Fish")
    page.goto(f"{filled.url}/history/")
    page.get_by_role("button", name="Saved views").click()
    page.get_by_role("link", name="Fish", exact=True).click()
    expect(page.get_by_role("combobox")).to_have_value("label:task=fish")


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1024, 768), (390, 844)])
def test_nothing_is_wrong_for_a_screen_reader_or_too_wide(
    open_page: OpenPage, filled: Server, width: int, height: int
) -> None:
    page = open_page(width, height)
    page.goto(f"{filled.url}/history/?q=label:task=fish")
    expect(page.locator("#count")).to_contain_text("15 runs")
    if width > 900:
        page.locator(".run__link").first.focus()
        expect(page.locator("#preview")).to_contain_text("A fish")
    found = Axe().run(page).response["violations"]
    assert not found, json.dumps([(each["id"], each["nodes"][0]["html"]) for each in found])
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_row_goes_into_the_form_alone_or_again_and_the_draft_stays(
    page: Page, filled: Server
) -> None:
    page.goto(filled.url)
    prompt = page.locator("#prompt")
    prompt.fill("What I was writing")
    expect(page.locator("[data-draft-state]")).to_contain_text("Saved")
    page.goto(f"{filled.url}/history/?q=label:task=fish")
    page.locator("[data-row]").last.locator(".run__link").focus()  # two columns
    page.keyboard.press("e")
    expect(prompt).to_have_value("A fish, number 0")
    page.get_by_role("button", name="Back to the draft").click()
    expect(prompt).to_have_value("What I was writing")
    # By mouse, from the record of a run: alone, then again.
    page.goto(f"{filled.url}/history/?q=label:task=fish")
    page.locator("[data-row]").last.locator("a.run__model").last.click()
    record = page.url
    page.get_by_role("link", name="Put this run alone into the form").click()
    expect(prompt).to_have_value("A fish, number 0")
    # The same by key: the record of a run, and the run alone.
    page.goto(f"{filled.url}/history/?q=label:task=fish&show=runs")
    page.locator("[data-row]").last.locator(".run__link").focus()
    page.keyboard.press("o")
    expect(page).to_have_url(re.compile(r"/runs/\d+/"))
    page.wait_for_load_state()
    page.keyboard.press("d")
    expect(prompt).to_have_value("A fish, number 0")
    page.goto(record)
    page.keyboard.press("Shift+R")
    expect(page).to_have_url(re.compile(r"/comparisons/\d+/"))
    expect(page.locator("article[data-run][data-status=completed]")).to_have_count(1)


def test_what_was_found_is_marked_in_the_colours_of_the_system_too(
    open_page: OpenPage, filled: Server
) -> None:
    for forced in ("none", "active"):
        page = open_page(forced_colors=forced)
        page.goto(f"{filled.url}/history/?q=fis")
        mark = page.locator(".run mark").first
        expect(mark).to_have_text("fish")
        colours = "each => [getComputedStyle(each).backgroundColor, getComputedStyle(each).color]"
        system = mark.evaluate(
            "each => { each.style.cssText = 'background: Mark; color: MarkText';"
            f" const found = ({colours})(each); each.style.cssText = ''; return found; }}"
        )
        assert (mark.evaluate(colours) == system) == (forced == "active")
        assert not Axe().run(page).response["violations"]
