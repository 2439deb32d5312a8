"""How outputs are looked at: views, white space, the prompt, copying; by mouse and by keyboard."""

import re
import threading
from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.browser.steps import columns, finished, number, run, text_of
from tests.fake_provider import DONE, FIN, FakeProvider, Reply, json_reply, text_event, until
from tests.server import Server, document

OpenPage = Callable[..., Page]

MARKDOWN = "# A bird\n\nIt is *small* and **bright**.\n\n[guide](https://example.org/a)\n"


@pytest.fixture
def page(open_page: OpenPage, server: Server, fake: FakeProvider) -> Iterator[Page]:
    fake.clear()
    opened = open_page()
    opened.context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened.goto(server.url)
    return opened


def reply(fake: FakeProvider, *texts: str) -> None:
    fake.reply_with(Reply(pieces=[*(text_event(text) for text in texts), FIN, DONE]))


def tab(column: Locator, name: str) -> Locator:
    return column.get_by_role("tab", name=name)


def panel(column: Locator) -> Locator:
    return column.locator("[data-panel]:visible")


def clean(page: Page) -> None:
    found = Axe().run(page).response["violations"]
    assert not found, [(each["id"], each["nodes"][0]["target"]) for each in found]


def test_each_view_shows_the_same_answer_its_own_way(page: Page, fake: FakeProvider) -> None:
    reply(fake, MARKDOWN)
    column = run(page)
    finished(column)
    tab(column, "Markdown").click()
    expect(panel(column).locator("h1")).to_have_text("A bird")
    expect(panel(column).get_by_role("link", name="guide")).to_have_attribute(
        "rel", "noopener noreferrer"
    )
    expect(panel(column)).to_contain_text("example.org")
    tab(column, "JSON").click()
    expect(panel(column)).to_contain_text("The answer is not JSON")
    tab(column, "As sent").click()
    expect(panel(column)).to_contain_text('"prompt": "Hi"')
    clean(page)
    tab(column, "Text").click()
    assert text_of(column) == MARKDOWN
    expect(panel(column)).to_have_count(1)


def test_a_view_that_could_not_be_had_is_asked_for_again(
    page: Page, fake: FakeProvider, server: Server
) -> None:
    reply(fake, "**so**")
    found = columns(page, server, {})
    page.route("**/markdown/", lambda route: route.fulfill(status=503))
    tab(found, "Markdown").click()
    expect(page.locator("#notice")).to_contain_text("try again")
    page.unroute("**/markdown/")
    tab(found, "Markdown").click()
    expect(panel(found).locator("strong")).to_have_text("so")


def test_the_row_of_views_is_one_tab_stop_with_arrow_keys(page: Page, fake: FakeProvider) -> None:
    reply(fake, '{"a": 1}')
    column = run(page)
    finished(column)
    assert column.locator("[data-views] [tabindex='-1']").count() >= 3
    tab(column, "Text").focus()
    page.keyboard.press("ArrowRight")
    expect(tab(column, "Markdown")).to_be_focused()
    expect(tab(column, "Markdown")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Home")
    expect(tab(column, "Text")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(tab(column, "As sent")).to_be_focused()
    page.keyboard.press("Tab")
    expect(column.get_by_role("button", name="Copy the output")).to_be_focused()
    page.keyboard.press("Tab")
    expect(panel(column)).to_be_focused()


def test_one_view_for_all_columns_by_a_key_and_by_a_switch(
    page: Page, fake: FakeProvider, server: Server
) -> None:
    reply(fake, MARKDOWN)
    found = columns(page, server, {}, {"model": "n"}, {"model": "o"})
    tab(found.nth(1), "Markdown").click()
    expect(panel(found.nth(1)).locator("h1")).to_be_visible()
    expect(tab(found.nth(0), "Text")).to_have_attribute("aria-selected", "true")
    tab(found.nth(0), "Markdown").click(modifiers=["Shift"])
    for position in range(3):
        expect(panel(found.nth(position)).locator("h1")).to_be_visible()
    page.get_by_role("button", name="One view").click()
    tab(found.nth(2), "As sent").click()
    for position in range(3):
        expect(panel(found.nth(position))).to_contain_text("POST")
    expect(panel(found.nth(1))).to_contain_text('A: "m"')
    clean(page)


def test_a_view_is_remembered(page: Page, fake: FakeProvider, server: Server) -> None:
    reply(fake, MARKDOWN)
    found = columns(page, server, {}, {})
    tab(found.nth(1), "Markdown").click()
    tab(found.nth(0), "Probabilities").click()
    expect(panel(found.nth(0))).to_contain_text("No token probabilities were asked for")
    page.reload()  # there are none: that is no reason to hide the text
    expect(tab(found.nth(0), "Text")).to_have_attribute("aria-selected", "true")
    expect(panel(found.nth(1)).locator("h1")).to_be_visible()


def test_a_view_of_a_live_run_grows_and_is_right_at_the_end(
    page: Page, fake: FakeProvider, server: Server
) -> None:
    more, end = threading.Event(), threading.Event()
    fake.reply_with(
        Reply(pieces=[text_event("# One\n\n"), until(more), text_event("two\n\n"), until(end),
                      text_event("three"), FIN, DONE])
    )  # fmt: skip
    column = run(page)
    tab(column, "Markdown").click()
    expect(panel(column).locator("h1")).to_have_text("One")
    more.set()
    expect(panel(column)).to_contain_text("two")
    end.set()
    finished(column)
    expect(panel(column)).to_contain_text("three")
    tab(column, "Text").click()
    assert text_of(column) == "# One\n\ntwo\n\nthree"
    # Remembered probabilities do not hide the text while it streams.
    tab(column, "Probabilities").click()
    number(page, "logprobs", "2")
    end.clear()
    likely = {"tokens": ["Four"], "token_logprobs": [-0.1], "top_logprobs": [{"Four": -0.1}]}
    four = text_event("Four", logprobs=likely)
    fake.reply_with(Reply(pieces=[four, until(end), FIN, DONE]))
    column = run(page, "Then")
    expect(panel(column)).to_contain_text("Four")
    # The clock of a live run goes on after a reload.
    aged = "datetime(started_at, '-100 seconds')"
    server.rows(
        f"UPDATE playground_run SET started_at = {aged} WHERE status = 'running' RETURNING id"
    )
    page.reload()
    expect(column.locator("[data-metric=total]")).to_have_text(re.compile(r"^1\d\d\.\d s$"))
    expect(tab(column, "Text")).to_have_attribute("aria-selected", "true")
    expect(panel(column)).to_contain_text("Four")
    end.set()
    finished(column)
    expect(tab(column, "Probabilities")).to_have_attribute("aria-selected", "true")


ODD = " a  b\tc\u00a0d\u200b\r\n<|im_end|>\n\nזה é\n"


@pytest.mark.parametrize("when", ["before", "while", "after"])
def test_white_space_is_visible_and_the_text_stays_exact(
    page: Page, fake: FakeProvider, when: str
) -> None:
    half = threading.Event()
    fake.reply_with(
        Reply(pieces=[text_event(ODD), until(half), text_event(ODD), text_event(" end"), FIN, DONE])
    )
    switch = page.get_by_role("button", name="White space")
    if when == "before":  # from the run before
        half.set()
        finished(run(page))
        switch.click()
        half.clear()
    column = run(page)
    expect(column.locator(".out").first).to_contain_text(" a  b")
    if when == "while":
        switch.click()
        expect(column.locator(".ws").first).to_be_visible()
    half.set()
    finished(column)
    if when == "after":
        switch.click()
    expect(column.locator(".special")).to_have_count(2)
    expect(column.locator(".ws")).to_have_count(
        2 * sum(each.isspace() or each == "\u200b" for each in ODD) + 1
    )
    signs = column.locator(".ws").evaluate_all("all => [...new Set(all.map(e => e.dataset.sign))]")
    assert set(signs) == {"·", "→", "⍽", "ZWSP", "␍", "↵"}
    assert text_of(column) == ODD * 2 + " end"
    column.get_by_role("button", name="Copy the output").click()
    expect(page.locator("#announce")).to_contain_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == ODD * 2 + " end"
    clean(page)
    switch.click()
    expect(column.locator(".ws, .special")).to_have_count(0)
    assert text_of(column) == ODD * 2 + " end"


def test_the_prompt_stands_before_the_output(
    page: Page, fake: FakeProvider, server: Server
) -> None:
    reply(fake, " upon a time")
    found = columns(page, server, {}, {"operation": "chat"}, prompt="Once <b>")
    switch = page.get_by_role("button", name="Prompt", exact=True)
    expect(found.nth(0).locator("[data-given]")).to_have_count(0)
    switch.click()
    expect(found.nth(0).locator("[data-given]")).to_have_text("Once <b>")
    expect(found.nth(1).locator("[data-given]")).to_contain_text("user")
    assert text_of(found.nth(0)) == " upon a time"
    same_line = found.nth(0).evaluate(
        "(c) => c.querySelector('[data-given]').getBoundingClientRect().top ==="
        " c.querySelector('.out').getClientRects()[0].top"
    )
    assert same_line
    clean(page)
    page.reload()
    expect(found.nth(0).locator("[data-given]")).to_have_text("Once <b>")
    page.get_by_role("button", name="Prompt", exact=True).click()
    expect(found.nth(0).locator("[data-given]")).to_be_hidden()


def test_copying_by_a_key_gives_the_whole_of_a_text_that_is_shown_in_part(
    page: Page, fake: FakeProvider, server: Server
) -> None:
    long = "".join(f"line {number} of a long text\n" for number in range(10_000))
    reply(fake, long)
    found = columns(page, server, {})
    expect(found.locator("[data-tail]")).to_have_count(1)
    panel(found).focus()
    page.evaluate("navigator.clipboard.writeText('before')")
    page.route("**/text/*", lambda route: route.fulfill(status=503))
    page.keyboard.press("y")
    expect(page.locator("#notice")).to_contain_text("Nothing was copied")
    assert page.evaluate("navigator.clipboard.readText()") == "before"
    page.unroute("**/text/*")
    page.keyboard.press("y")
    expect(page.locator("#announce")).to_contain_text("Copied")
    expect(page.locator("#notice")).to_be_empty()
    assert page.evaluate("navigator.clipboard.readText()") == long


def test_copying_gives_the_whole_of_a_very_long_text_that_still_comes(
    page: Page, fake: FakeProvider
) -> None:
    more = threading.Event()
    long = "".join(f"line {number} of a long text\n" for number in range(10_000))
    fake.reply_with(Reply(pieces=[text_event(long), until(more), text_event("end"), FIN, DONE]))
    found = run(page)
    expect(found.locator("[data-tail]")).to_have_count(1)
    panel(found).focus()
    page.keyboard.press("y")
    expect(page.locator("#announce")).to_contain_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == long
    more.set()
    finished(found)


def test_nothing_in_a_markdown_answer_acts(page: Page, fake: FakeProvider) -> None:
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    reply(
        fake,
        "<script>alert(1)</script><img src=x onerror=alert(1)>\n\n"
        "![p](https://evil.example/p.png)\n\n[x](javascript:alert(1))\n\n"
        "<svg onload=alert(1)>\n\n[y](/logout/)",
    )
    column = run(page)
    finished(column)
    tab(column, "Markdown").click()
    expect(panel(column)).to_contain_text("<script>alert(1)</script>")
    assert panel(column).locator("script, img, svg, [onerror], [onload]").count() == 0
    assert panel(column).locator("a[href]").count() == 1
    assert not [url for url in asked if "evil" in url]


def test_the_word_diff_of_two_columns_by_keyboard_alone(
    page: Page, fake: FakeProvider, server: Server
) -> None:
    fake.on("n", Reply(pieces=[text_event("a tiny bird that sings loud"), FIN, DONE]))
    reply(fake, "a small bird that sings")
    found = columns(page, server, {}, {"model": "n"})
    expect(found).to_have_count(2)
    page.get_by_role("button", name="Diff").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("select").first).to_be_focused()
    expect(dialog).to_contain_text("2 changes")
    expect(dialog.locator("del").last).to_contain_text("small")
    expect(dialog.locator("ins").last).to_contain_text("loud")
    clean(page)
    dialog.get_by_role("button", name="Next").focus()
    page.keyboard.press("j")
    expect(dialog.locator("[data-change]").first).to_be_focused()
    page.keyboard.press("j")
    expect(dialog.locator("[data-change]").nth(1)).to_be_focused()
    page.keyboard.press("k")
    expect(dialog.locator("[data-change]").first).to_have_attribute("aria-current", "true")
    dialog.locator("select").first.select_option(label="B · n")
    expect(dialog).to_contain_text("The two outputs are equal")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("button", name="Diff")).to_be_focused()


def test_a_very_long_change_does_not_halt_the_page(
    page: Page, fake: FakeProvider, server: Server
) -> None:
    for text in ("short", "word " * 60_000):
        fake.queue(Reply(pieces=[text_event(text), FIN, DONE]))
    found = columns(page, server, {}, {})
    runs = [str(found.nth(at).get_attribute("data-run")) for at in range(2)]
    page.goto(f"{server.url}/runs/difference/?ids={','.join(runs)}", timeout=10_000)
    changed = page.locator("[data-change] :is(ins, del)")
    assert "word word" in "".join(changed.all_text_contents())


def test_a_stop_is_proved_and_the_proof_stays(page: Page, fake: FakeProvider) -> None:
    fake.reply_with(Reply(pieces=[text_event("half an answer")], end="hold"))
    column = run(page)
    expect(column.locator(".out").first).to_contain_text("half")
    page.keyboard.press("Escape")
    finished(column, "cancelled")
    steps = column.get_by_role("list", name="How the stop went").get_by_role("listitem")
    expect(steps).to_have_count(3)
    expect(steps.nth(1)).to_contain_text("Connection to the backend closed")
    expect(steps.nth(2)).to_contain_text("Saved with 14 characters")
    said = steps.all_inner_texts()
    page.reload()
    expect(steps).to_have_count(3)
    assert steps.all_inner_texts() == said


def test_the_best_of_each_metric_is_marked_when_all_are_done(
    page: Page, fake: FakeProvider, server: Server
) -> None:
    hold = threading.Event()
    fake.on("slow", Reply(pieces=[until(hold), text_event("late"), FIN, DONE]))
    reply(fake, "early")
    [row] = server.rows("SELECT id FROM playground_connection WHERE name = 'fake'")
    settings = [{"connection": row["id"], "model": model} for model in ("quick", "slow")]
    comparison, _ = server.user().run(document(*settings))
    page.goto(f"{server.url}/comparisons/{comparison}/")
    found = page.locator("article[data-run]")
    finished(found.nth(0))
    expect(page.locator(".is-best")).to_have_count(0)
    hold.set()
    finished(found.nth(1))
    expect(found.nth(0).locator("[data-metric=total]")).to_have_class("is-best")
    expect(found.nth(0).locator("[data-metric=total]")).to_contain_text("best")
    expect(found.nth(1).locator(".is-best")).to_have_count(0)
    page.reload()
    expect(found.nth(0).locator("[data-metric=first]")).to_have_class("is-best")
    clean(page)


def test_figures_that_look_alike_have_no_best(
    page: Page, fake: FakeProvider, server: Server
) -> None:
    found = columns(page, server, {"model": "m"}, {"model": "m"})
    total = page.locator("[data-metric=total]")

    def took(position: int, ms: float) -> None:
        run_id = found.nth(position).get_attribute("data-run")
        sql = "UPDATE playground_run SET total_ms = ? WHERE id = ? RETURNING id"
        server.rows(sql, ms, int(run_id or 0))

    took(0, 32_410)
    took(1, 32_440)
    page.reload()
    expect(total).to_have_text(["32.4 s", "32.4 s"])
    took(1, 33_440)
    page.reload()
    expect(total).to_have_text(["32.4 s, best", "33.4 s"])


def test_the_context_that_is_left_counts_max_tokens(page: Page, fake: FakeProvider) -> None:
    row = {"id": 1, "piece": "Hi"}
    fake.on_path("/tokenize", json_reply({"tokens": [row, row, row]}))
    fake.on_path("/props", json_reply({"default_generation_settings": {"n_ctx": 1024}}))
    page.get_by_role("textbox", name="Prompt", exact=True).fill("three of them")
    count = page.locator("[data-count-tokens]")
    expect(count).to_have_text("3 tokens, 1,021 of 1,024 left")
    most = page.get_by_role("textbox", name="max_tokens", exact=True)
    most.fill("1000")
    expect(count).to_have_text("3 tokens, 21 of 1,024 left after max_tokens 1,000")
    most.fill("2000")
    expect(count).to_have_text("3 tokens, 979 over the context of 1,024, with max_tokens 2,000")
