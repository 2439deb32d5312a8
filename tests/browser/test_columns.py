"""Columns of the compose page: order, choice, settings of several, one run again, the table."""

import json
import re
from collections.abc import Callable
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.browser.steps import finished, run, text_of
from tests.fake_provider import FakeProvider, error_reply, words
from tests.server import Server, document

OpenPage = Callable[..., Page]


def setups(page: Page) -> Locator:
    return page.locator(".setup[data-column]")


def models(page: Page) -> list[str]:
    return [each.input_value() for each in page.locator("[data-model]").all()]


def column(page: Page, model: str) -> None:
    """One more column with this model."""
    page.keyboard.press("Alt+c")
    page.locator("[data-model]").last.fill(model)


def three(page: Page) -> None:
    page.locator("[data-model]").first.fill("one")
    column(page, "two")
    column(page, "three")
    expect(setups(page)).to_have_count(3)


def box(page: Page, path: str) -> Locator:
    return row(page, path).locator("[data-box]").first


def row(page: Page, path: str) -> Locator:
    return page.locator(f'[data-path="{path}"][role=group]')


def sent(fake: FakeProvider, path: str) -> dict[str, Any]:
    return {post.json["model"]: post.json.get(path) for post in fake.posts}


def outputs(page: Page) -> Locator:
    return page.locator("#outputs article[data-run]")


def test_columns_are_added_copied_moved_and_removed(page: Page) -> None:
    three(page)
    setups(page).nth(0).get_by_role("button", name="More about column A").click()
    page.get_by_role("button", name="Duplicate").click()
    assert models(page) == ["one", "one", "two", "three"]
    setups(page).nth(3).get_by_role("button", name="More about column D").click()
    page.get_by_role("button", name="Move up").click()
    assert models(page) == ["one", "one", "three", "two"]
    letters = [each.inner_text() for each in page.locator("[data-pick]").all()]
    assert letters == ["A", "B", "C", "D"]
    setups(page).nth(1).get_by_role("button", name="Remove column B").click()
    assert models(page) == ["one", "three", "two"]
    page.locator(".toast").get_by_role("button", name="Undo").click()
    assert models(page) == ["one", "one", "three", "two"]


def test_a_copy_shares_no_settings_with_its_original(page: Page, fake: FakeProvider) -> None:
    three(page)
    page.get_by_role("button", name="Edit column C").click()
    box(page, "temperature").fill("0.3")
    setups(page).nth(2).get_by_role("button", name="More about column C").click()
    page.get_by_role("button", name="Duplicate").click()
    page.locator("[data-model]").nth(3).fill("four")
    page.get_by_role("button", name="Edit column D").click()
    box(page, "temperature").fill("0.9")
    run(page)
    fake.wait_for_request(4)
    assert sent(fake, "temperature") == {"one": None, "two": None, "three": 0.3, "four": 0.9}


def test_columns_are_dragged(page: Page) -> None:
    three(page)
    page.locator("[data-grip]").nth(2).drag_to(
        setups(page).nth(0), target_position={"x": 200, "y": 2}
    )
    expect(page.locator("[data-model]").first).to_have_value("three")
    assert models(page) == ["three", "one", "two"]


def test_one_parameter_is_edited_for_several_columns(page: Page, fake: FakeProvider) -> None:
    three(page)
    page.get_by_role("button", name="Edit column A").click()
    box(page, "temperature").fill("0.1")
    page.get_by_role("button", name="Edit column C").click()
    expect(page.locator("[data-selected]")).to_have_text("2 of 3 are edited together")
    expect(row(page, "temperature")).to_contain_text("A: 0.1, C: not sent.")
    expect(box(page, "temperature")).to_have_attribute("placeholder", "differs")
    box(page, "temperature").fill("0.7")
    expect(setups(page).nth(0)).to_contain_text("temperature 0.7")
    expect(setups(page).nth(1).locator("[data-changed]")).to_be_hidden()
    expect(setups(page).nth(2)).to_contain_text("temperature 0.7")
    page.locator("[data-scopes] button").first.click()
    box(page, "top_p").fill("0.5")
    run(page)
    fake.wait_for_request(3)
    assert sent(fake, "temperature") == {"one": 0.7, "two": None, "three": 0.7}
    assert sent(fake, "top_p") == {"one": 0.5, "two": 0.5, "three": 0.5}


def test_ctrl_and_shift_choose_columns_and_all_means_what_they_share(page: Page) -> None:
    three(page)
    scopes = page.locator("[data-scopes] button")
    scopes.nth(1).click()
    scopes.nth(3).click(modifiers=["Control"])
    pressed = [each.get_attribute("aria-pressed") for each in scopes.all()]
    assert pressed == ["false", "true", "false", "true"]
    scopes.nth(1).click()
    scopes.nth(3).click(modifiers=["Shift"])
    expect(page.locator("[data-selected]")).to_have_text("3 of 3 are edited together")
    box(page, "temperature").fill("0.4")
    expect(page.locator("[data-changed]:visible")).to_have_count(0)
    page.get_by_role("button", name="Select all").click()
    expect(scopes.first).to_have_attribute("aria-pressed", "true")
    expect(box(page, "temperature")).to_have_value("0.4")


def test_the_badge_opens_what_a_column_sets_for_itself(page: Page) -> None:
    three(page)
    page.get_by_role("button", name="Edit column B").click()
    box(page, "seed").fill("7")
    page.locator("[data-scopes] button").first.click()
    expect(box(page, "seed")).to_have_value("")
    expect(row(page, "seed")).to_contain_text("Own value in B: 7.")
    page.get_by_role("button", name="1 changed in column B, edit").click()
    expect(box(page, "seed")).to_have_value("7")


def test_what_the_last_column_has_of_its_own_is_what_the_form_shows(
    page: Page, fake: FakeProvider
) -> None:
    three(page)
    page.get_by_role("button", name="Edit column B").click()
    box(page, "seed").fill("7")
    page.get_by_role("button", name="Remove column C").click()
    page.get_by_role("button", name="Remove column A").click()
    expect(box(page, "seed")).to_have_value("7")
    box(page, "seed").fill("8")
    run(page)
    fake.wait_for_request(1)
    assert sent(fake, "seed") == {"two": 8}
    page.click("[data-reset-all]")
    expect(box(page, "seed")).to_have_value("")
    expect(page.locator("[data-changed]:visible")).to_have_count(0)


def test_reset_all_takes_away_what_columns_have_of_their_own(page: Page) -> None:
    three(page)
    page.get_by_role("button", name="Edit column B").click()
    box(page, "seed").fill("7")
    page.locator("[data-scopes] button").first.click()
    page.click("[data-reset-all]")
    expect(page.locator("[data-changed]:visible")).to_have_count(0)
    expect(row(page, "seed")).not_to_contain_text("Own value")
    page.get_by_role("button", name="Undo").click()
    expect(row(page, "seed")).to_contain_text("Own value in B: 7.")


def test_one_column_runs_again_and_the_others_stay(
    page: Page, fake: FakeProvider, server: Server
) -> None:
    three(page)
    run(page)
    for at in range(3):
        finished(outputs(page).nth(at))
    before = [each.get_attribute("data-run") for each in outputs(page).all()]
    heads = page.locator("#outputs .apart")
    expect(heads.filter(visible=True)).to_have_count(0)  # nothing differs yet
    page.get_by_role("button", name="Edit column B").click()
    box(page, "temperature").fill("0.6")
    fake.reply_with(words(2, None))
    setups(page).nth(1).get_by_role("button", name="Run column B").click()
    again = page.locator("#outputs article[data-column='1']")
    expect(again).not_to_have_id(f"run-{before[1]}")
    finished(again)
    assert text_of(again) == "w0 w1 "
    settings = ["temperature not sent", "temperature 0.6", "temperature not sent"]
    expect(heads).to_have_text(settings, use_inner_text=True)
    after = [each.get_attribute("data-run") for each in outputs(page).all()]
    assert (after[0], after[2]) == (before[0], before[2])
    assert len(fake.posts) == 4
    assert fake.posts[3].json["temperature"] == 0.6
    page.reload()
    expect(heads).to_have_text(settings, use_inner_text=True)
    assert [each.get_attribute("data-run") for each in outputs(page).all()] == after
    expect(again).to_contain_text("w0 w1")
    again.get_by_role("link", name="The earlier run of column B").click()
    expect(page.locator(f"#run-{before[1]}")).to_contain_text("w0 w1 w2 w3 w4")
    page.goto(f"{server.url}/history/")
    for pk in (*before, after[1]):
        expect(page.locator(f'a[href="/runs/{pk}/"]').first).to_be_attached()


def test_what_could_not_be_loaded_is_taken_back_when_it_can(page: Page, fake: FakeProvider) -> None:
    finished(run(page).first)
    notice, use = page.locator("#notice"), page.get_by_role("button", name="Use the settings of")
    page.route("**/settings/", lambda route: route.abort())
    use.click()
    expect(notice).to_contain_text("could not be loaded")
    page.unroute("**/settings/")
    use.click()
    expect(page.locator("#toasts")).to_contain_text("The form has the settings of column A")
    expect(notice).to_be_empty()
    page.route("**/continuation/", lambda route: route.abort())
    page.keyboard.press("Alt+a")
    expect(notice).to_contain_text("The output could not be read")
    assert len(fake.posts) == 1
    page.unroute("**/continuation/")
    page.keyboard.press("Alt+a")
    fake.wait_for_request(2)
    expect(notice).to_be_empty()


def test_all_columns_go_on_from_an_output_that_is_appended(page: Page, fake: FakeProvider) -> None:
    page.get_by_role("button", name="Add column").click()
    columns = run(page, "Once")
    finished(columns.nth(0))
    finished(columns.nth(1))
    go_on = columns.nth(1).get_by_role("button", name="Append and go on")
    expect(go_on).to_have_attribute("title", re.compile("run all columns"))
    go_on.click()
    fake.wait_for_request(4)
    longer = "Once" + "".join(f"w{n} " for n in range(5))
    assert [post.json["prompt"] for post in fake.posts] == ["Once", "Once", longer, longer]
    expect(page.locator(".apart:visible")).to_have_count(0)


def test_a_failed_column_is_tried_again_alone(page: Page, fake: FakeProvider) -> None:
    fake.on("two", error_reply(500, {"error": {"message": "Out of memory"}}))
    three(page)
    run(page)
    finished(outputs(page).nth(0))
    finished(outputs(page).nth(1), "failed")
    finished(outputs(page).nth(2))
    expect(outputs(page).nth(1)).to_contain_text("Out of memory")
    fake.clear()
    fake.reply_with(words(3, None))
    outputs(page).nth(1).get_by_role("button", name="Run again", exact=True).click()
    finished(outputs(page).nth(1))
    assert text_of(outputs(page).nth(1)) == "w0 w1 w2 "
    assert [post.json["model"] for post in fake.posts] == ["two"]
    expect(outputs(page)).to_have_count(3)


def test_one_column_is_stopped_and_the_others_go_on(page: Page, fake: FakeProvider) -> None:
    fake.on("two", words(500, 20))
    three(page)
    run(page)
    finished(outputs(page).nth(0))
    expect(outputs(page).nth(1)).to_contain_text("w0")
    outputs(page).nth(1).get_by_role("button", name="Stop column B").press("Enter")
    finished(outputs(page).nth(1), "cancelled")
    expect(outputs(page).nth(1).get_by_role("tabpanel")).to_be_focused()  # Stop is gone
    finished(outputs(page).nth(2))


def test_a_moved_column_keeps_its_output(page: Page, fake: FakeProvider) -> None:
    three(page)
    run(page)
    for at in range(3):
        finished(outputs(page).nth(at))
    page.locator("[data-model]").nth(2).focus()
    page.keyboard.press("Alt+ArrowUp")
    page.keyboard.press("Alt+ArrowUp")
    assert models(page) == ["three", "one", "two"]
    page.keyboard.press("Alt+Enter")
    fake.wait_for_request(4)
    assert fake.posts[3].json["model"] == "three"
    titles = page.locator("#outputs h3")
    expect(titles.nth(0)).to_contain_text("three")
    expect(titles.nth(1)).to_contain_text("one")
    expect(titles.nth(2)).to_contain_text("two")
    finished(outputs(page).nth(0))


def second_edited(page: Page) -> None:
    """Three columns with a common setting; the second has one more."""
    three(page)
    box(page, "top_p").fill("0.5")
    page.get_by_role("button", name="Edit column B").click()
    box(page, "temperature").fill("0.2")


def test_use_this_one_takes_a_columns_settings_and_can_be_undone(
    page: Page, fake: FakeProvider
) -> None:
    second_edited(page)
    run(page)
    finished(outputs(page).nth(1))
    outputs(page).nth(1).get_by_role("button", name="Use the settings of column B").click()
    expect(setups(page)).to_have_count(1)
    assert models(page) == ["two"]
    expect(box(page, "temperature")).to_have_value("0.2")
    expect(box(page, "top_p")).to_have_value("0.5")
    page.locator(".toast").get_by_role("button", name="Undo").click()
    assert models(page) == ["one", "two", "three"]
    setups(page).nth(1).get_by_role("button", name="More about column B").click()
    page.get_by_role("button", name="Use this one for all").click()
    assert models(page) == ["two"]
    expect(box(page, "temperature")).to_have_value("0.2")
    run(page)
    fake.wait_for_request(4)
    assert fake.posts[3].json == {
        "model": "two", "prompt": "Hi", "temperature": 0.2, "top_p": 0.5, "stream": True,
    }  # fmt: skip


def test_the_table_shows_and_edits_the_parameters_of_all_columns(
    page: Page, fake: FakeProvider
) -> None:
    second_edited(page)
    page.get_by_role("button", name="All parameters").click()
    table = page.locator("#overview-dialog")
    expect(table.locator('tr[data-path="temperature"]')).to_have_attribute("data-differs", "")
    expect(table.locator('tr[data-path="model"]')).to_have_attribute("data-differs", "")
    expect(table.locator('tr[data-path="top_p"]')).not_to_have_attribute("data-differs", "")
    table.get_by_role("switch", name="Only what differs").check()
    expect(table.locator('tr[data-path="top_p"]')).to_be_hidden()
    table.get_by_role("textbox", name="temperature of column C").fill("0.9")
    table.get_by_label("Add a parameter").select_option("seed")
    seed = table.get_by_role("textbox", name="seed of column A")
    expect(seed).to_be_focused()
    seed.fill("3")
    expect(table.locator('tr[data-path="seed"]')).to_have_attribute("data-differs", "")
    table.get_by_role("button", name="temperature", exact=True).click()
    expect(table).to_be_hidden()
    expect(box(page, "temperature")).to_be_focused()
    run(page)
    fake.wait_for_request(3)
    assert sent(fake, "temperature") == {"one": None, "two": 0.2, "three": 0.9}
    assert sent(fake, "seed") == {"one": 3, "two": None, "three": None}
    assert sent(fake, "top_p") == {"one": 0.5, "two": 0.5, "three": 0.5}


def test_the_table_shows_an_empty_text_that_is_sent(page: Page, fake: FakeProvider) -> None:
    three(page)
    page.get_by_label("Find a parameter").fill("suffix")
    box(page, "suffix").fill("x")
    box(page, "suffix").fill("")
    page.get_by_role("button", name="All parameters").click()
    cells = page.locator("#overview-dialog").get_by_role("button", name="suffix of column")
    expect(cells).to_have_text(["empty text"] * 3)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Edit column B").click()
    row(page, "suffix").get_by_role("button", name="Do not send suffix in column B").click()
    page.get_by_role("button", name="All parameters").click()
    expect(cells).to_have_text(["empty text", "not sent", "empty text"])
    line = page.locator('#overview-dialog tr[data-path="suffix"]')
    expect(line).to_have_attribute("data-differs", "")
    page.keyboard.press("Escape")
    run(page)
    fake.wait_for_request(3)
    assert sent(fake, "suffix") == {"one": "", "two": None, "three": ""}


def test_columns_by_keyboard_alone(page: Page, fake: FakeProvider) -> None:
    page.locator("#prompt").focus()
    page.keyboard.type("Keys")
    page.keyboard.press("Alt+c")
    page.keyboard.press("Alt+c")
    expect(setups(page)).to_have_count(3)
    page.keyboard.press("Alt+2")
    expect(setups(page).nth(1).locator("[data-connection]")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Control+a")
    page.keyboard.type("typed")
    page.keyboard.press("Alt+ArrowDown")
    assert models(page) == ["m", "m", "typed"]
    page.keyboard.press("Alt+Enter")
    fake.wait_for_request(1)
    assert fake.posts[0].json["model"] == "typed"
    expect(outputs(page)).to_have_count(1)
    page.keyboard.press("Alt+1")
    page.keyboard.press("Alt+w")
    assert models(page) == ["m", "typed"]
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Space")
    expect(setups(page).nth(0).locator("[data-pick]")).to_have_attribute("aria-pressed", "true")


def test_alt_keys_go_by_place_and_leave_altgr_alone(page: Page) -> None:
    def press(**event: Any) -> None:
        page.evaluate(
            "init => document.activeElement.dispatchEvent(new KeyboardEvent('keydown',"
            " {bubbles: true, cancelable: true, altKey: true, ...init}))",
            event,
        )

    page.locator("#prompt").focus()
    press(code="KeyC", key="ç", modifierAltGraph=True)
    expect(setups(page)).to_have_count(1)
    press(code="KeyC", key="ç")  # a Mac; where the letter c is
    expect(setups(page)).to_have_count(2)
    press(code="KeyJ", key="c")
    expect(setups(page)).to_have_count(2)


def test_sixteen_columns_are_fluent_and_scroll_sideways(
    page: Page, fake: FakeProvider, server: Server
) -> None:
    fake.reply_with(words(40, 50))
    [row] = server.rows("SELECT id FROM playground_connection WHERE name = 'fake'")
    form = document(*({"connection": row["id"], "model": f"m{i}"} for i in range(16)))
    comparison, _ = server.user().run(form)
    page.goto(f"{server.url}/comparisons/{comparison}/")
    expect(setups(page)).to_have_count(16)
    expect(outputs(page)).to_have_count(16)
    widths = [each.bounding_box() for each in outputs(page).all()]
    assert all(each and each["width"] >= 300 for each in widths)
    assert page.locator(".columns").evaluate("(each) => each.scrollWidth > each.clientWidth")
    page.locator("#prompt").press_sequentially(" and so on")
    expect(page.locator("#prompt")).to_have_value(re.compile("and so on$"))
    box(page, "temperature").press_sequentially("0.25")
    expect(box(page, "temperature")).to_have_value("0.25")
    for at in range(16):
        finished(outputs(page).nth(at), seconds=60)


def test_a_phone_shows_one_column_and_tabs(
    open_page: OpenPage, server: Server, fake: FakeProvider
) -> None:
    fake.clear()
    fake.reply_with(words(5, None))
    page = open_page(390, 844, has_touch=True)
    page.goto(server.url)
    three(page)
    run(page)
    finished(outputs(page).nth(2))
    tabs = page.locator(".colswitch a")
    expect(tabs).to_have_count(3)
    tabs.nth(1).click()
    expect(outputs(page).nth(1)).to_be_in_viewport(ratio=0.5)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_columns_table_and_menu_pass_axe(page: Page) -> None:
    three(page)
    page.get_by_role("button", name="Edit column B").click()
    box(page, "temperature").fill("0.2")
    finished(run(page).nth(0))
    setups(page).nth(1).get_by_role("button", name="More about column B").click()
    found = Axe().run(page).response["violations"]
    page.keyboard.press("Escape")
    page.get_by_role("button", name="All parameters").click()
    found += Axe().run(page).response["violations"]
    assert not found, json.dumps(found, indent=1)[:3000]


def test_a_refused_column_is_told_where_it_is(page: Page, fake: FakeProvider) -> None:
    three(page)
    page.get_by_role("button", name="Edit column B").click()
    box(page, "temperature").fill("hot")
    setups(page).nth(1).get_by_role("button", name="Run column B").click()
    expect(page.locator("#problems")).to_contain_text("Nothing was sent")
    assert not fake.posts
    setups(page).nth(2).get_by_role("button", name="Run column C").click()
    fake.wait_for_request(1)
    assert fake.posts[0].json["model"] == "three"


def test_a_column_that_is_slow_to_answer_runs_beside_its_new_run(
    page: Page, fake: FakeProvider
) -> None:
    """Two columns are pressed one after the other, without waiting."""
    three(page)
    run(page)
    for at in range(3):
        finished(outputs(page).nth(at))
    fake.clear()
    fake.reply_with(words(4, 20, delay=0.3))
    setups(page).nth(0).get_by_role("button", name="Run column A").click()
    setups(page).nth(2).get_by_role("button", name="Run column C").click()
    fake.wait_for_request(2)
    assert sorted(post.json["model"] for post in fake.posts) == ["one", "three"]
    for at in (0, 2):
        expect(outputs(page).nth(at).locator(".out").first).to_have_text("w0 w1 w2 w3 ")
        finished(outputs(page).nth(at))
