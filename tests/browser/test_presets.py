"""Presets and drafts in the browser, with the mouse and by keyboard alone."""

from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.steps import finished, run
from tests.fake_provider import FakeProvider, json_reply, words
from tests.server import Server

OpenPage = Callable[..., Page]


@pytest.fixture
def page(open_page: OpenPage, server: Server, fake: FakeProvider) -> Iterator[Page]:
    fake.clear()
    fake.reply_with(words(5, None))
    server.rows("DELETE FROM playground_preset RETURNING id")
    opened = open_page()
    opened.goto(server.url)
    return opened


def box(page: Page, path: str) -> Locator:
    return page.locator(f'[data-path="{path}"][role=group] [data-box]').first


def prompt(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Prompt", exact=True)


def presets(page: Page) -> Locator:
    page.get_by_role("button", name="Presets").click()
    return page.locator("#presets-dialog")


def saved(page: Page, text: str) -> None:
    """Wait until the server has this prompt in the draft of the page."""
    page.evaluate(
        """async (text) => {
            for (const end = Date.now() + 15_000; Date.now() < end; ) {
                const page = await (await fetch(location.pathname)).text();
                const found = new DOMParser().parseFromString(page, "text/html");
                const { prompt } = JSON.parse(found.getElementById("document").textContent);
                if (prompt === text) return;
                await new Promise((done) => setTimeout(done, 100));
            }
            throw new Error(`The draft does not hold ${text}`);
        }""",
        text,
    )


# --- Presets -------------------------------------------------------------------------------


def test_a_preset_is_saved_applied_and_undone(page: Page, fake: FakeProvider) -> None:
    box(page, "temperature").fill("0")
    box(page, "top_p").fill("0.9")
    dialog = presets(page)
    expect(dialog).to_contain_text("temperature 0 · top_p 0.9")
    dialog.get_by_label("Save the parameters that are set").fill("Greedy")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("group", name="Preset Greedy")).to_be_visible()
    page.keyboard.press("Escape")
    box(page, "temperature").fill("1.5")
    box(page, "seed").fill("7")
    page.reload()
    presets(page).get_by_role("button", name="Apply Greedy").click()
    expect(dialog).to_be_hidden()
    expect(box(page, "temperature")).to_have_value("0")
    expect(box(page, "top_p")).to_have_value("0.9")
    expect(box(page, "seed")).to_have_value("")
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(box(page, "temperature")).to_have_value("1.5")
    expect(box(page, "seed")).to_have_value("7")
    presets(page).get_by_role("button", name="Apply Greedy").click()
    run(page, "Say w")
    fake.wait_for_request(1)
    assert fake.posts[0].json == {
        "model": "m", "prompt": "Say w", "temperature": 0, "top_p": 0.9, "stream": True,
    }  # fmt: skip


def test_a_preset_and_none_send_no_stream_where_it_was_switched_off(
    page: Page, fake: FakeProvider
) -> None:
    stream = page.locator('[data-path="stream"][role=group]')
    box(page, "temperature").fill("0")
    stream.locator("[data-reset]").click()
    dialog = presets(page)
    expect(dialog).to_contain_text("temperature 0 · stream not sent")
    dialog.get_by_label("Save the parameters that are set").fill("Whole")
    dialog.get_by_role("button", name="Save").click()
    dialog.get_by_role("button", name="None: send nothing").click()
    expect(box(page, "temperature")).to_have_value("")
    expect(stream).to_have_attribute("data-state", "unset")
    page.get_by_role("button", name="Reset all").click()
    expect(stream).to_have_attribute("data-state", "set")
    presets(page).get_by_role("button", name="Apply Whole").click()
    expect(stream).to_have_attribute("data-state", "unset")
    fake.reply_with(json_reply({"choices": [{"index": 0, "text": "w0", "finish_reason": "stop"}]}))
    finished(run(page, "Say w").first)
    assert fake.posts[0].json == {"model": "m", "prompt": "Say w", "temperature": 0}


def test_a_preset_goes_to_the_chosen_columns_only(page: Page, fake: FakeProvider) -> None:
    box(page, "temperature").fill("0.2")
    dialog = presets(page)
    dialog.get_by_label("Save the parameters that are set").fill("Cold")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("group", name="Preset Cold")).to_be_visible()
    page.keyboard.press("Escape")
    box(page, "temperature").fill("1")
    box(page, "seed").fill("3")
    for model in ("two", "three"):
        page.keyboard.press("Alt+c")
        page.locator("[data-model]").last.fill(model)
    page.get_by_role("button", name="Edit column B").click()
    page.get_by_role("button", name="Edit column C").click()
    expect(presets(page)).to_contain_text("Applied to columns B, C only.")
    dialog.get_by_role("button", name="Apply Cold").click()
    run(page)
    fake.wait_for_request(3)
    values = {p.json["model"]: (p.json["temperature"], p.json.get("seed")) for p in fake.posts}
    assert values == {"m": (1, 3), "two": (0.2, None), "three": (0.2, None)}


def test_a_preset_says_what_a_backend_does_not_know(page: Page, server: Server) -> None:
    server.rows(
        "INSERT INTO playground_preset (author_id, shared, name, settings, saved_at, created_at)"
        " SELECT id, FALSE, 'Routed', ?, date_joined, date_joined FROM playground_user"
        " WHERE username = 'admin' RETURNING id",
        '{"values": {"Pulze-Weights.cost": "0.5", "temperature": "0.3"}}',
    )
    presets(page).get_by_role("button", name="Apply Routed").click()
    expect(page.locator(".toast")).to_contain_text("Pulze-Weights.cost is not sent to llama.cpp.")
    row = page.locator('[data-path="Pulze-Weights.cost"][role=group]')
    expect(row).to_have_attribute("data-state", "warn")
    expect(row).to_contain_text("Not sent to llama.cpp.")


def test_presets_are_renamed_shared_deleted_and_brought_back_by_keyboard(page: Page) -> None:
    box(page, "temperature").fill("0.4")
    page.get_by_role("button", name="Presets").focus()
    page.keyboard.press("Enter")
    dialog = page.locator("#presets-dialog")
    page.get_by_label("Save the parameters that are set").focus()
    page.keyboard.type("Mild")
    page.keyboard.press("Enter")
    row = dialog.get_by_role("group", name="Preset Mild")
    expect(row).to_be_visible()
    row.get_by_role("button", name="Rename Mild").focus()
    page.keyboard.press("Enter")
    page.keyboard.type("Milder")
    page.keyboard.press("Enter")
    row = dialog.get_by_role("group", name="Preset Milder")
    expect(row).to_be_visible()
    share = row.get_by_role("switch", name="Share Milder with the team")
    share.focus()
    page.keyboard.press("Space")
    expect(share).to_have_attribute("aria-checked", "true")
    row.get_by_role("button", name="Delete Milder").focus()
    page.keyboard.press("Enter")
    expect(row).to_have_count(0)
    expect(dialog.get_by_role("button", name="Undo")).to_be_focused()
    page.keyboard.press("Enter")
    expect(row).to_be_visible()
    expect(share).to_have_attribute("aria-checked", "true")
    found = Axe().run(page).response["violations"]
    assert not found, found
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_a_name_that_will_not_do_is_told_and_kept(page: Page) -> None:
    box(page, "temperature").fill("0.4")
    dialog = presets(page)
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_contain_text("Give the preset a name.")
    expect(dialog.get_by_label("Save the parameters that are set")).to_be_focused()


def test_a_list_that_comes_late_takes_no_sentence_away(page: Page) -> None:
    held: dict[str, Route] = {}
    page.route(
        lambda url: url.endswith("/presets/"),
        lambda route: held.setdefault(route.request.method, route),
    )
    box(page, "temperature").fill("0.4")
    dialog = presets(page)
    with page.expect_request(lambda request: request.method == "POST"):
        dialog.get_by_role("button", name="Save").click()
    with page.expect_response(lambda answer: answer.request.method == "GET"):
        held["GET"].continue_()
    held["POST"].continue_()
    expect(dialog).to_contain_text("Give the preset a name.")
    expect(dialog).not_to_contain_text("Saved.")


def test_none_and_reset_all_send_nothing_and_can_be_undone(page: Page) -> None:
    box(page, "temperature").fill("0.4")
    presets(page).get_by_role("button", name="None: send nothing").click()
    expect(box(page, "temperature")).to_have_value("")
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(box(page, "temperature")).to_have_value("0.4")
    page.get_by_role("button", name="Reset all").click()
    expect(box(page, "temperature")).to_have_value("")
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(box(page, "temperature")).to_have_value("0.4")


# --- Drafts --------------------------------------------------------------------------------


def test_what_is_in_the_form_survives_a_reload_and_another_page(page: Page, server: Server) -> None:
    prompt(page).fill("Half a thought")
    box(page, "temperature").fill("0.6")
    page.keyboard.press("Alt+c")
    page.locator("[data-model]").last.fill("other")
    page.get_by_role("button", name="Edit column B").click()
    box(page, "seed").fill("5")
    saved(page, "Half a thought")
    page.reload()  # at once: what was not saved yet goes out while the page leaves
    expect(prompt(page)).to_have_value("Half a thought")
    page.goto(f"{server.url}/history/")
    page.goto(server.url)
    expect(prompt(page)).to_have_value("Half a thought")
    expect(box(page, "temperature")).to_have_value("0.6")
    expect(page.locator("[data-model]").last).to_have_value("other")
    expect(page.locator(".setup").nth(1)).to_contain_text("seed 5")


def test_what_was_typed_a_moment_before_leaving_is_saved(page: Page, server: Server) -> None:
    prompt(page).fill("Typed and gone")
    page.goto(f"{server.url}/history/")
    page.goto(server.url)
    expect(prompt(page)).to_have_value("Typed and gone")


def test_a_second_tab_is_told_and_nothing_is_lost(page: Page, server: Server) -> None:
    prompt(page).fill("Both tabs begin with this")
    saved(page, "Both tabs begin with this")
    second = page.context.new_page()
    second.goto(server.url)
    expect(prompt(second)).to_have_value("Both tabs begin with this")
    prompt(second).fill("The second tab went on")
    saved(second, "The second tab went on")
    prompt(page).fill("The first tab too")
    note = page.locator("#draft-note")
    expect(note).to_contain_text("changed in another tab")
    note.get_by_role("button", name="Take the other tab’s").click()
    expect(prompt(page)).to_have_value("The second tab went on")
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(prompt(page)).to_have_value("The first tab too")
    saved(page, "The first tab too")
    prompt(second).fill("And the second again")
    note = second.locator("#draft-note")
    note.get_by_role("button", name="Keep this one").click()
    saved(second, "And the second again")
    second.reload()
    expect(prompt(second)).to_have_value("And the second again")
    second.get_by_role("button", name="Drafts").click()
    second.get_by_role("button", name="The first tab too").click()
    expect(prompt(second)).to_have_value("The first tab too")
    saved(second, "The first tab too")
    # A reload keeps what a tab typed against the other: after it was told, and before.
    prompt(page).fill("Typed against it")
    note = page.locator("#draft-note")
    expect(note).to_contain_text("changed in another tab")
    page.reload()
    expect(prompt(page)).to_have_value("The first tab too")
    expect(note).to_contain_text("What you typed here is kept")
    note.get_by_role("button", name="Put it back").click()
    expect(prompt(page)).to_have_value("Typed against it")
    saved(page, "Typed against it")
    prompt(second).fill("Typed in haste")
    second.reload()
    expect(second.locator("#draft-note")).to_contain_text("What you typed here is kept")
    second.close()
    page.get_by_role("button", name="Drafts").click()
    expect(page.get_by_role("button", name="Typed in haste")).to_be_visible()


SLOW = """
    const real = window.fetch;
    window.fetch = async (url, ...rest) => {
        const answer = await real(url, ...rest);
        if (String(url).includes("/drafts/save/"))
            await new Promise((done) => setTimeout(done, MS));
        return answer;
    };
"""


@pytest.fixture
def saves(page: Page) -> list[int]:
    """The status of each save."""
    found: list[int] = []
    page.on("response", lambda r: found.append(r.status) if "/drafts/save/" in r.url else None)
    return found


def slowly(page: Page, server: Server, ms: int) -> None:
    """Answers to saves take this long."""
    page.add_init_script(SLOW.replace("MS", str(ms)))
    page.goto(server.url)


def test_saves_of_one_tab_do_not_overtake_each_other(
    page: Page, server: Server, saves: list[int]
) -> None:
    slowly(page, server, 600)
    prompt(page).fill("Told before")
    saved(page, "Told before")
    page.get_by_role("button", name="New").click()
    page.get_by_role("button", name="Few examples").click()
    with page.expect_response(lambda answer: answer.url.endswith("/drafts/save/")):
        page.wait_for_timeout(900)  # the sample is on its way, too
    prompt(page).press("Control+Enter")
    finished(page.locator("article[data-run]").first)
    text = prompt(page).input_value()
    prompt(page).fill(f"{text} more")
    saved(page, f"{text} more")
    expect(page.locator("#draft-note")).to_be_empty()
    assert set(saves) == {200}


def test_a_reload_before_the_answer_keeps_what_was_typed(page: Page, server: Server) -> None:
    slowly(page, server, 5_000)
    with page.expect_response(lambda answer: answer.url.endswith("/drafts/save/")):
        prompt(page).fill("Saved, which the tab does not know")
    prompt(page).press_sequentially(" yet")
    page.reload()
    expect(prompt(page)).to_have_value("Saved, which the tab does not know yet")
    prompt(page).press_sequentially(" and more")
    saved(page, "Saved, which the tab does not know yet and more")
    expect(page.locator("#draft-note")).to_be_empty()


def test_an_answer_that_is_lost_is_no_other_tab(page: Page, saves: list[int]) -> None:
    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route("**/drafts/save/", lose, times=1)
    prompt(page).fill("Arrived")
    expect(page.locator("[data-draft-state]")).to_have_text("Not saved: no connection")
    prompt(page).fill("Arrived, and on")
    saved(page, "Arrived, and on")
    expect(page.locator("[data-draft-state]")).to_contain_text("Saved")
    expect(page.locator("#draft-note")).to_be_empty()
    assert saves == [409, 200]


def test_a_reload_while_the_server_is_away_keeps_what_was_typed(page: Page) -> None:
    prompt(page).fill("x" * 300_000)
    saved(page, "x" * 300_000)
    page.route("**/drafts/save/", lambda route: route.abort())
    prompt(page).fill("Short")
    expect(page.locator("[data-draft-state]")).to_have_text("Not saved: no connection")
    page.reload()
    expect(prompt(page)).to_have_value("Short")
    page.unroute("**/drafts/save/")
    saved(page, "Short")
    expect(page.locator("#draft-note")).to_be_empty()


def test_what_is_typed_at_once_after_a_run_survives_a_reload(page: Page, server: Server) -> None:
    page.route("**/drafts/save/", lambda route: None)  # never answered
    finished(run(page, "Run this"))
    prompt(page).fill("Run this, then that")
    page.reload()
    expect(prompt(page)).to_have_value("Run this, then that")
    page.unroute("**/drafts/save/")
    saved(page, "Run this, then that")
    page.goto(server.url)
    expect(prompt(page)).to_have_value("Run this, then that")


def test_what_an_address_put_into_the_form_is_a_draft_once_it_is_changed(
    page: Page, server: Server
) -> None:
    column = run(page, "Run this").first
    finished(column)
    number = column.get_attribute("data-run")
    page.goto(server.url)
    prompt(page).fill("A draft of today")
    saved(page, "A draft of today")
    page.goto(f"{server.url}/?from={number}")
    expect(prompt(page)).to_have_value("Run this")
    prompt(page).fill("Run this, changed")
    page.reload()
    assert page.url == f"{server.url}/"
    expect(prompt(page)).to_have_value("Run this, changed")
    saved(page, "Run this, changed")
    page.get_by_role("button", name="Drafts").click()
    expect(page.get_by_role("button", name="A draft of today")).to_be_visible()


def test_an_opened_run_leaves_the_draft_alone(
    page: Page, fake: FakeProvider, server: Server
) -> None:
    finished(run(page, "An old run"))
    old = page.url
    page.get_by_role("button", name="New").click()
    page.wait_for_url(f"{server.url}/")
    expect(prompt(page)).to_have_value("")
    prompt(page).fill("A draft of today")
    saved(page, "A draft of today")
    page.goto(old)
    expect(prompt(page)).to_have_value("An old run")
    expect(page.locator("#draft-note")).to_contain_text("Your draft of")
    prompt(page).fill("An old run, edited")
    saved(page, "An old run, edited")
    page.reload()
    expect(prompt(page)).to_have_value("An old run, edited")
    page.get_by_role("link", name="Back to the draft").click()
    expect(prompt(page)).to_have_value("A draft of today")


def test_the_form_goes_on_after_its_run(page: Page, server: Server) -> None:
    finished(run(page, "Run this"))
    address = page.url
    prompt(page).fill("Run this, then that")
    expect(page.locator("[data-draft-state]")).to_contain_text("Saved")
    saved(page, "Run this, then that")
    page.reload()
    assert page.url == address
    expect(prompt(page)).to_have_value("Run this, then that")
    expect(page.locator("#draft-note")).to_contain_text("changed after this run")
    page.get_by_role("link", name="Show it as it was run").click()
    expect(prompt(page)).to_have_value("Run this")
    page.goto(server.url)
    expect(prompt(page)).to_have_value("Run this, then that")


def test_new_keeps_the_settings_and_start_over_keeps_nothing(page: Page, server: Server) -> None:
    box = page.locator('[data-path="temperature"][role=group] [data-box]').first
    page.locator("[data-model]").first.fill("mine")
    box.fill("0.3")
    page.get_by_text("Private", exact=True).click()
    finished(run(page, "Told before"))
    page.get_by_role("button", name="New").click()
    page.wait_for_url(f"{server.url}/")
    expect(prompt(page)).to_have_value("")
    expect(prompt(page)).to_be_focused()
    expect(box).to_have_value("0.3")
    expect(page.locator("[data-model]").first).to_have_value("mine")
    expect(page.get_by_role("radio", name="Private")).to_be_checked()
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(prompt(page)).to_have_value("Told before")
    search = page.get_by_role("searchbox", name="Find a parameter")
    search.fill("temperature")
    page.get_by_role("button", name="Drafts").click()
    page.get_by_role("button", name="Start over").click()
    expect(prompt(page)).to_have_value("")
    expect(prompt(page)).to_be_focused()
    expect(search).to_have_value("")
    expect(box).to_have_value("")
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(box).to_have_value("0.3")
    expect(prompt(page)).to_have_value("Told before")


def test_undo_goes_once_the_form_is_changed(page: Page) -> None:
    toast = page.locator(".toast")
    prompt(page).fill("Not to be lost")
    saved(page, "Not to be lost")
    page.get_by_role("button", name="New").click()
    expect(toast).to_contain_text("The prompt is empty")
    prompt(page).press_sequentially("N")
    expect(toast).to_have_count(0)
    page.get_by_role("button", name="New").click()
    expect(toast).to_contain_text("The prompt is empty")
    page.keyboard.press("Alt+c")
    expect(toast).to_have_count(0)
    page.get_by_role("button", name="Paste a request").click()
    page.locator("#paste-text").fill('{"model": "m", "prompt": "Pasted", "seed": 3}')
    page.locator("#paste-text").press("Control+Enter")
    expect(toast).to_contain_text("filled from what you pasted")
    box(page, "seed").fill("4")
    expect(toast).to_have_count(0)


def test_an_empty_form_can_be_undone_and_is_kept_among_the_drafts(page: Page) -> None:
    prompt(page).fill("Not to be lost")
    saved(page, "Not to be lost")
    page.get_by_role("button", name="New").click()
    expect(prompt(page)).to_have_value("")
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(prompt(page)).to_have_value("Not to be lost")
    page.get_by_role("button", name="New").click()
    expect(prompt(page)).to_have_value("")
    page.reload()
    page.get_by_role("button", name="Drafts").click()
    page.get_by_role("button", name="Not to be lost").first.click()
    expect(prompt(page)).to_have_value("Not to be lost")
