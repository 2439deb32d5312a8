"""Live output in the page: exact, quick, and there again after whatever happens to the socket."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import eventually, finished, run, text_of
from tests.fake_provider import (
    DONE,
    FIN,
    FakeProvider,
    Reply,
    error_reply,
    text_event,
    until,
    word_pieces,
    words,
)
from tests.server import Server, document

OpenPage = Callable[..., Page]

# ms of the main thread: a halt that one feels. `tests.bench.page` measures the tasks themselves.
LONGEST_TASK = 400

# Notes every long task, every socket, and can lose messages on the way to the page.
WATCH = """
window.tasks = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.tasks.push(entry.duration);
}).observe({ type: "longtask", buffered: true });
window.sockets = [];
window.lose = 0;
window.lost = 0;
const Real = window.WebSocket;
window.WebSocket = class extends Real {
  constructor(...args) {
    super(...args);
    window.sockets.push(this);
  }
  addEventListener(kind, listener, ...rest) {
    if (kind !== "message") return super.addEventListener(kind, listener, ...rest);
    return super.addEventListener(kind, (event) => {
      if (Math.random() < window.lose) window.lost += 1;
      else listener(event);
    }, ...rest);
  }
};
window.dropSocket = () => window.sockets.at(-1)?.close();
"""


@pytest.fixture
def page(open_page: OpenPage, server: Server, fake: FakeProvider) -> Iterator[Page]:
    fake.clear()
    opened = open_page()
    opened.add_init_script(WATCH)
    opened.goto(server.url)
    return opened


def longest_task(page: Page) -> float:
    return float(page.evaluate("Math.max(0, ...window.tasks)"))


EXACT = (
    "  two leading spaces\n\n\ttab\tand trailing  \r\nemoji 👨‍👩‍👧 e\u0301 combining "
    "שלום מרחב عربي\n<script>alert(1)</script><img src=x onerror=alert(1)> &lt; &amp; \"q\" 'r'\n"
    "```py\n\tprint('a  b')\n```\n{{ curly }} {% tag %}\n   "
)


def test_text_comes_out_as_it_was_sent_live_and_after_a_reload(
    page: Page, fake: FakeProvider
) -> None:
    pieces = [text_event(piece) for piece in EXACT]
    fake.reply_with(Reply(pieces=[*pieces, FIN, DONE]))
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    column = run(page)
    finished(column)
    assert text_of(column) == EXACT
    assert column.locator(".out script, .out img").count() == 0
    page.reload()
    assert text_of(page.locator("article[data-run]")) == EXACT


def test_twenty_thousand_tokens_do_not_freeze_the_page(page: Page, fake: FakeProvider) -> None:
    fake.reply_with(words(20_000, None))
    column = run(page)
    box = page.get_by_role("textbox", name="Prompt", exact=True)
    box.press_sequentially("typing goes on", delay=20)
    finished(column)
    expect(box).to_have_value("Hityping goes on")
    wanted = "".join(f"w{i} " for i in range(20_000))
    assert text_of(column) == wanted
    assert longest_task(page) <= LONGEST_TASK


@pytest.mark.parametrize("events", [1, 300], ids=["one event", "300 events"])
def test_three_megabytes_in_one_line_do_not_freeze_the_page(
    page: Page, fake: FakeProvider, events: int
) -> None:
    line = ("lorem ipsum " * 250_000)[:3_000_000]
    size = len(line) // events
    pieces = [text_event(line[i : i + size]) for i in range(0, len(line), size)]
    fake.reply_with(Reply(pieces=[*pieces, FIN, DONE]))
    column = run(page)
    finished(column)
    shown = text_of(column)
    assert 100_000 < len(shown) <= 250_000
    assert line.endswith(shown)
    assert longest_task(page) <= LONGEST_TASK
    # The button brings all of it.
    page.reload()
    page.get_by_role("link", name="Show all").click()
    expect(page.locator("article[data-run] [data-tail]")).to_have_count(0, timeout=20_000)
    assert text_of(page.locator("article[data-run]")) == line


def test_a_socket_that_drops_again_and_again_loses_nothing(page: Page, fake: FakeProvider) -> None:
    fake.reply_with(words(300, 60.0))
    column = run(page)
    for _ in range(8):
        page.wait_for_timeout(400)
        page.evaluate("window.dropSocket()")
    finished(column)
    assert text_of(column) == "".join(f"w{i} " for i in range(300))
    assert page.evaluate("window.sockets.length") > 3
    assert page.evaluate("window.sockets.filter((one) => one.readyState < 2).length") == 0


def test_one_message_in_five_lost_on_the_way_costs_no_character(
    page: Page, fake: FakeProvider
) -> None:
    fake.reply_with(words(300, 60.0))
    page.evaluate("window.lose = 0.2")
    column = run(page)
    finished(column)
    assert page.evaluate("window.lost") > 3
    assert text_of(column) == "".join(f"w{i} " for i in range(300))


def test_twelve_columns_under_drops_losses_and_a_stall_are_all_exact(
    page: Page, fake: FakeProvider, server: Server
) -> None:
    fake.reply_with(words(400, 40.0))
    [row] = server.rows("SELECT id FROM playground_connection WHERE name = 'fake'")
    person = server.user()
    comparison, runs = person.run(document(*[{"connection": row["id"]}] * 12))
    page.goto(f"{server.url}/comparisons/{comparison}/")
    page.evaluate("window.lose = 0.2")
    for _ in range(6):
        page.wait_for_timeout(300)
        page.evaluate("window.dropSocket()")
    # The page reads nothing for ten seconds, which outlasts the streams.
    page.evaluate("const end = Date.now() + 10_000; while (Date.now() < end);")
    page.evaluate("window.lose = 0")
    columns = page.locator("article[data-run]")
    for position in range(12):
        finished(columns.nth(position))
        assert text_of(columns.nth(position)) == "".join(f"w{i} " for i in range(400))
    query = f"SELECT text FROM playground_choice WHERE run_id >= {runs[0]}"
    assert {row["text"] for row in server.rows(query)} == {"".join(f"w{i} " for i in range(400))}


def test_leaving_and_coming_back_shows_the_run_exactly(
    page: Page, fake: FakeProvider, server: Server
) -> None:
    fake.reply_with(words(200, 50.0))
    run(page)
    page.wait_for_timeout(500)
    address = page.url
    page.goto(f"{server.url}/history/")
    page.wait_for_timeout(500)
    page.goto(address)
    column = page.locator("article[data-run]")
    finished(column)
    assert text_of(column) == "".join(f"w{i} " for i in range(200))
    assert len(fake.posts) == 1


def test_two_tabs_see_the_same_stream(page: Page, fake: FakeProvider, open_page: OpenPage) -> None:
    fake.reply_with(words(150, 50.0))
    column = run(page)
    other = open_page()
    other.goto(page.url)
    finished(column)
    finished(other.locator("article[data-run]"))
    assert text_of(column) == text_of(other.locator("article[data-run]"))


def test_a_reader_who_scrolls_up_is_left_there_until_the_end_is_wanted(
    page: Page, fake: FakeProvider
) -> None:
    fake.reply_with(Reply(pieces=[*_lines(400, 0.01), FIN, DONE]))
    column = run(page)
    body = column.locator(".col__body")
    expect(column.locator(".out")).to_contain_text("line 60")
    body.evaluate("(body) => { body.scrollTop = 40; }")
    page.wait_for_timeout(600)
    assert body.evaluate("(body) => body.scrollTop") == 40
    column.get_by_role("button", name="To the end").click()
    gap = "(body) => body.scrollHeight - body.scrollTop - body.clientHeight"
    eventually(lambda: body.evaluate(gap) < 60)


def _lines(count: int, pause: float) -> Iterator[bytes | float]:
    for number in range(count):
        yield text_event(f"line {number}\n")
        yield pause


def test_run_becomes_stop_in_place_and_stop_reaches_the_backend(
    page: Page, fake: FakeProvider
) -> None:
    fake.reply_with(words(10_000, 40.0))
    column = run(page)
    expect(column.locator(".out")).to_contain_text("w5 ")
    page.get_by_role("button", name="Stop", exact=False).first.click()
    finished(column, "cancelled")
    assert text_of(column).startswith("w0 w1 ")
    eventually(lambda: fake.posts[0].dropped)
    # At once the next run works, and Esc stops it.
    fake.reply_with(words(10_000, 40.0))
    column = run(page)
    expect(column.locator(".out")).to_contain_text("w5 ")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#toasts")).to_contain_text("It is still running. Esc stops it.")
    expect(page.locator("#toasts [data-undo]")).to_be_hidden()
    page.keyboard.press("Escape")
    finished(column, "cancelled")
    expect(page.locator("#toasts .toast")).to_have_count(0)
    assert len(fake.posts) == 2


def test_enter_while_composing_a_word_sends_nothing(page: Page, fake: FakeProvider) -> None:
    box = page.get_by_role("textbox", name="Prompt", exact=True)
    box.fill("にほん")
    for options in ("isComposing: true", "keyCode: 229"):
        box.evaluate(
            "(box) => box.dispatchEvent(new KeyboardEvent('keydown',"
            f" {{key: 'Enter', ctrlKey: true, bubbles: true, {options}}}))"
        )
    page.wait_for_timeout(300)
    assert not fake.posts


def test_without_a_network_nothing_runs_and_the_prompt_is_kept(
    page: Page, fake: FakeProvider
) -> None:
    fake.reply_with(words(5, None))
    page.context.set_offline(True)
    box = page.get_by_role("textbox", name="Prompt", exact=True)
    box.fill("A prompt that must not be lost")
    box.press("Control+Enter")
    expect(page.locator("#notice")).to_contain_text("cannot be reached")
    page.context.set_offline(False)
    expect(page.locator("#notice")).to_be_empty()  # the server answers again
    assert not fake.posts
    expect(box).to_have_value("A prompt that must not be lost")
    box.press("Control+Enter")
    finished(page.locator("article[data-run]"))
    assert len(fake.posts) == 1


def test_columns_never_mix_and_a_failing_or_hanging_one_harms_no_other(
    page: Page, fake: FakeProvider, server: Server
) -> None:
    release = threading.Event()
    for name, rate in (("one", 30.0), ("two", 60.0)):
        fake.on(name, words(60, rate, prefix=name))
    fake.on("broken", error_reply(500, {"error": {"message": "the backend broke"}}))
    fake.on("hangs", Reply(pieces=[text_event("before "), until(release)], end="hold"))
    [row] = server.rows("SELECT id FROM playground_connection WHERE name = 'fake'")
    columns = [{"connection": row["id"], "model": m} for m in ("one", "two", "broken", "hangs")]
    person = server.user()
    comparison, _ = person.run(document(*columns))
    page.goto(f"{server.url}/comparisons/{comparison}/")
    articles = page.locator("article[data-run]")
    finished(articles.nth(0))
    finished(articles.nth(1))
    finished(articles.nth(2), "failed")
    for position, name in enumerate(("one", "two")):
        assert text_of(articles.nth(position)) == "".join(f"{name}{i} " for i in range(60))
    expect(articles.nth(2)).to_contain_text("the backend broke")
    expect(articles.nth(2)).to_contain_text("500")
    expect(articles.nth(3)).to_have_attribute("data-status", "running")
    articles.nth(3).get_by_role("button", name="Stop column D").click()
    finished(articles.nth(3), "cancelled")
    assert text_of(articles.nth(3)) == "before "
    release.set()


def test_after_many_swaps_there_is_one_socket_at_most(page: Page, fake: FakeProvider) -> None:
    for _ in range(5):
        fake.reply_with(Reply(pieces=[*word_pieces(20, 100.0)]))
        finished(run(page))
    assert page.evaluate("window.sockets.filter((one) => one.readyState < 2).length") <= 1


def test_closing_the_tab_does_not_end_the_run(
    page: Page, fake: FakeProvider, server: Server
) -> None:
    release = threading.Event()
    fake.reply_with(Reply(pieces=[until(release), text_event("late"), FIN, DONE]))
    run(page)
    fake.wait_for_request()
    page.close()
    time.sleep(0.1)
    release.set()
    query = "SELECT status FROM playground_run ORDER BY id DESC LIMIT 1"
    eventually(lambda: server.rows(query) == [{"status": "completed"}])
    assert "took too long" not in server.output
