"""Many requests of one press, by hand: sweeps, variables, files of rows, repeats, the grid."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.steps import number
from tests.fake_provider import DONE, FIN, FakeProvider, Reply, text_event, words
from tests.fake_services import transcript
from tests.server import Server

pytestmark = pytest.mark.browser


@pytest.fixture
def page(open_page: Callable[..., Page], server: Server, fake: FakeProvider) -> Page:
    opened = open_page()
    opened.goto(server.url)
    return opened


def plan(page: Page) -> str:
    """What the run bar says, once it is sure."""
    expect(page.locator("#plan")).not_to_have_attribute("aria-busy", re.compile(".*"))
    return page.locator("#plan").inner_text()


def prompt(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="Prompt", exact=True).fill(text)


def parameter(page: Page, path: str, value: str) -> None:
    page.locator(f"#params [data-path={path}] [data-box]").first.fill(value)


def test_a_variable_gets_a_box_and_its_values_make_rows(page: Page) -> None:
    prompt(page, "Say {{word}} to {{who}}")
    box = page.get_by_label("Value of word")
    expect(box).to_be_visible()
    expect(page.locator("[data-variable=word]")).to_have_attribute("data-var", "undefined")
    box.fill("yes\nno")
    page.get_by_label("Value of who").fill("Ann")
    expect(page.locator("[data-variable=word]")).to_contain_text("2 values")
    expect(page.locator("#plan")).to_contain_text("2 rows = 2 requests")
    prompt(page, "Say it to {{who}}")
    expect(page.locator("[data-variable=word]")).to_have_attribute("data-var", "unused")
    expect(page.locator("#plan")).to_contain_text("1 request")


def test_a_file_gives_the_rows(page: Page, tmp_path: Path) -> None:
    prompt(page, "{{text}} is {{label}}")
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text('text,label\n"a, b",x\nc,y\nd,z\n')
    bad.write_text("text,label\na\n")
    page.locator("[data-table-file]").set_input_files(bad)
    expect(page.locator("[data-error-for=variables]")).to_contain_text("Line 2 has 1 value")
    page.locator("[data-table-file]").set_input_files(good)
    expect(page.locator("[data-table-chip]")).to_contain_text("good.csv: 3 rows of text, label")
    expect(page.locator("[data-error-for=variables]")).to_be_hidden()
    expect(page.locator("#plan")).to_contain_text("3 rows = 3 requests")
    prompt(page, "{{text}}")
    expect(page.get_by_text("Not in the prompt: label.")).to_be_visible()
    page.get_by_role("button", name="New", exact=True).click()
    expect(page.get_by_text("Not in the prompt: label.")).to_be_hidden()


def press(page: Page) -> None:
    page.get_by_role("textbox", name="Prompt", exact=True).press("Control+Enter")


def test_a_grid_of_six_by_five_fills_and_was_counted_right(
    page: Page, fake: FakeProvider, server: Server
) -> None:
    fake.clear()
    fake.reply_with(lambda request: words(6, 40, prefix=f"t{request.json['temperature']}-"))
    prompt(page, "Grid")
    parameter(page, "temperature", "0..1/0.2")
    parameter(page, "top_p", "0.2, 0.4, 0.6, 0.8, 1")
    expect(page.locator("#plan")).to_contain_text("temperature 6 × top_p 5 = 30 requests")
    expect(page.locator("[data-run-label]")).to_have_text("Run 30")
    expect(page.locator("[data-path=temperature] [data-sweep]")).to_contain_text("6 values")
    press(page)
    cells = page.locator(".grid .cell")
    expect(cells).to_have_count(30)
    expect(page.locator(".grid tbody tr")).to_have_count(6)
    page.reload()
    expect(page.locator(".grid .cell[data-status=completed]")).to_have_count(30, timeout=60_000)
    assert len(fake.posts) == 30
    pairs = {(post.json["temperature"], post.json["top_p"]) for post in fake.posts}
    assert len(pairs) == 30
    assert 0 in {temperature for temperature, _ in pairs}
    third = page.get_by_role("article", name="Column A, temperature 0.4, top_p 0.6")
    expect(third).to_contain_text("t0.4-5")
    saved = "SELECT count(*) AS n FROM playground_run WHERE status = 'completed'"
    assert server.rows(saved + " AND coordinates LIKE '%top_p%'")[0]["n"] == 30


def test_a_cell_opens_to_its_full_column(page: Page, fake: FakeProvider) -> None:
    fake.clear()
    fake.reply_with(transcript("llama_stream_logprobs_words"))
    prompt(page, "Open me")
    parameter(page, "temperature", "0, 1")
    number(page, "logprobs", "5")
    press(page)
    expect(page.locator(".cell[data-status=completed]")).to_have_count(2)
    link = page.get_by_role("link", name="Open Column A, temperature 1")
    link.focus()
    link.press("Enter")
    dialog = page.get_by_role("dialog", name="Column A, temperature 1")
    expect(dialog.locator(".col .out")).to_contain_text(" in the ocean")
    expect(dialog.locator("[data-metric=tokens]")).not_to_have_text("–")
    dialog.get_by_role("tab", name="Probabilities").click()
    dialog.get_by_role("option", name="ocean").click()
    alternatives = page.get_by_role("dialog", name=re.compile("Alternatives of"))
    alternatives.locator("button.alt").nth(1).click()
    expect(alternatives.get_by_role("button", name="Continue from here")).to_be_focused()
    page.keyboard.press("Escape")
    expect(alternatives).to_be_hidden()
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_a_cell_that_ran_again_shows_its_new_run_in_the_grid(
    page: Page, fake: FakeProvider
) -> None:
    fake.clear()
    fake.reply_with(words(2, prefix="old"))
    prompt(page, "Again {{n}}")
    page.get_by_label("Value of n").fill("1\n2")
    press(page)
    expect(page.locator(".cell[data-status=completed]")).to_have_count(2)
    fake.reply_with(words(2, prefix="new"))
    page.locator("[data-open-cell]").first.press("Enter")
    dialog = page.locator("#cell-dialog")
    dialog.get_by_role("button", name="Run column A again").click()
    expect(dialog.locator(".col .out")).to_have_text("new0 new1 ")
    expect(dialog.locator("article[data-status=completed]")).to_be_visible()
    url = dialog.locator("article[data-run]").get_attribute("data-url")
    expect(dialog.locator("[data-cell-page]")).to_have_attribute("href", str(url))
    page.keyboard.press("Escape")
    expect(page.locator(".cell .out").first).to_have_text("new0 new1 ")
    expect(page.locator(".cell .out").nth(1)).to_have_text("old0 old1 ")
    expect(page.locator("[data-open-cell]").first).to_be_focused()
    page.locator("[data-open-cell]").first.press("Enter")
    expect(dialog.locator(".col .out")).to_have_text("new0 new1 ")


def test_a_cell_that_is_closed_before_it_came_goes_on_in_the_grid(
    page: Page, fake: FakeProvider
) -> None:
    fake.clear()
    fake.reply_with(words(200, 20))
    prompt(page, "Cell {{n}}")
    page.get_by_label("Value of n").fill("1\n2")
    press(page)
    cell = page.locator(".cell").first
    expect(cell.locator(".out")).to_contain_text("w1 ")
    opens = cell.get_by_role("link", name="Open")
    held: list[Route] = []
    page.route(f"**{opens.get_attribute('href')}", lambda route: held.append(route))
    opens.click()
    expect(page.locator("#cell-dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#cell-dialog")).to_be_hidden()
    with page.expect_response(held[0].request.url):
        held[0].continue_()
    page.wait_for_timeout(500)
    expect(page.locator("#cell-dialog-body > *")).to_have_count(0)
    before = cell.locator(".out").text_content() or ""
    expect(cell.locator(".out")).to_have_text(re.compile(rf"^{before}.+"))
    page.keyboard.press("Escape")
    expect(page.locator(".cell[data-status=cancelled]")).to_have_count(2)


def test_ten_repeats_are_grouped(page: Page, fake: FakeProvider) -> None:
    fake.clear()
    said = ["The heron waits.", "The heron  waits.", "The heron hunts."]
    answers = iter([said[i % 3] for i in range(10)])
    fake.reply_with(lambda _: Reply(pieces=[text_event(next(answers)), FIN, DONE]))
    prompt(page, "Ten")
    page.get_by_label("Repeat", exact=True).fill("10")
    expect(page.locator("#plan")).to_contain_text("10 repeats = 10 requests")
    press(page)
    expect(page.locator(".same")).to_have_count(2)
    assert len(fake.posts) == 10
    pile = page.locator(".pile")
    expect(pile).to_contain_text("2 different of 10")
    expect(pile).to_contain_text("70 % agree")
    expect(pile).to_contain_text("same up to word 2")
    expect(page.locator(".same").first).to_contain_text("7×")
    expect(page.locator(".same").first).to_contain_text("but for white space")
    expect(page.locator(".same").first.get_by_role("link")).to_have_count(7)


def test_two_hundred_wait_in_sight_and_stop_at_once(
    page: Page, fake: FakeProvider, server: Server
) -> None:
    fake.clear()
    fake.reply_with(Reply(pieces=[text_event("Par")], end="hold"))
    server.connect("six", fake.url, "--model", "m", "--parallel", "6")
    page.reload()
    prompt(page, "Many")
    page.locator("[data-connection]").select_option(label="six")
    parameter(page, "temperature", "0, 0.5, 1, 1.5")
    page.get_by_label("Repeat", exact=True).fill("50")
    expect(page.locator("[data-run-label]")).to_have_text("Run 200")
    press(page)
    expect(page.locator(".cell")).to_have_count(200)
    expect(page.locator(".cell[data-status=running]")).to_have_count(6)
    expect(page.locator(".cell [data-badge]").nth(6)).to_have_text("Next")
    expect(page.locator(".cell [data-badge]").nth(21)).to_have_text("Waits, 15 before it")
    fake.wait_for_request(6)
    assert len(fake.posts) == 6
    page.reload()
    expect(page.locator(".cell[data-status=running]")).to_have_count(6)
    page.keyboard.press("Escape")
    expect(page.locator(".cell[data-status=cancelled]")).to_have_count(200, timeout=30_000)
    assert len(fake.posts) == 6


def test_a_csv_is_dropped_in_and_the_number_on_the_button_was_right(
    page: Page, fake: FakeProvider
) -> None:
    fake.clear()
    fake.reply_with(words(2, None))
    prompt(page, "{{text}} in {{tongue}}")
    page.evaluate(
        """() => {
          const carried = new DataTransfer();
          const rows = ["\\ufefftext;label", "water;a", "fire;b", ""].join("\\r\\n");
          carried.items.add(new File([rows], "drop.csv"));
          const how = { dataTransfer: carried, bubbles: true, cancelable: true };
          const drop = new DragEvent("drop", how);
          document.getElementById("prompt").dispatchEvent(drop);
        }"""
    )
    expect(page.locator("[data-table-chip]")).to_contain_text("drop.csv: 2 rows of text, label")
    expect(page.locator("[data-table-note]")).to_have_text("Not in the prompt: label.")
    page.get_by_label("Value of tongue").fill("French\nDutch")
    parameter(page, "temperature", "0, 1")
    page.get_by_role("button", name="Add column").click()
    page.get_by_role("button", name="Repeat column B").click()
    more = page.get_by_role("button", name="More repeats")
    more.focus()
    more.press("Enter")
    more.press("Enter")
    # Column A 4 rows × 2 values, column B three times as many.
    expect(page.locator("[data-run-label]")).to_have_text("Run 32")
    expect(page.locator("#plan")).to_contain_text("A 8 + B 24 = 32 requests")
    press(page)
    expect(page.locator(".grid tbody tr")).to_have_count(4)
    expect(page.locator("[data-progress]")).to_be_empty(timeout=60_000)
    expect(page.locator(".grid [aria-busy]")).to_have_count(0, timeout=60_000)
    assert len(fake.posts) == 32
    assert {post.json["prompt"] for post in fake.posts} == {
        f"{text} in {tongue}" for text in ("water", "fire") for tongue in ("French", "Dutch")
    }


def test_repeats_are_asked_by_n_where_the_slots_are_known(
    page: Page, fake: FakeProvider, server: Server
) -> None:
    fake.clear()
    server.connect("four", fake.url, "--model", "m", "--parallel", "4")
    page.reload()
    prompt(page, "By n")
    page.locator("[data-connection]").select_option(label="four")
    page.get_by_label("Repeat", exact=True).fill("6")
    page.get_by_label("Ask by n").check()
    expect(page.locator("#plan")).to_contain_text("2 requests, 6 completions")
    press(page)
    expect(page.locator(".pile__sum")).to_be_visible(timeout=60_000)  # both have ended
    assert sorted(post.json["n"] for post in fake.posts) == [2, 4]


def test_of_several_variables_the_one_without_a_value_is_shown(
    page: Page, fake: FakeProvider
) -> None:
    prompt(page, "Tell {{who}} of {{what}}")
    page.get_by_label("Value of who").fill("ann")
    press(page)
    box = page.get_by_label("Value of what")
    expect(box).to_be_focused()
    expect(page.locator("[data-vars] [aria-invalid]")).to_have_count(1)
    expect(box).to_have_attribute("aria-invalid", "true")
    box.fill("birds")
    expect(page.locator("[data-vars] [aria-invalid]")).to_have_count(0)


def test_an_undefined_variable_is_refused_at_its_box(page: Page, fake: FakeProvider) -> None:
    fake.clear()
    prompt(page, "Hi {{name}}")
    press(page)
    box = page.get_by_label("Value of name")
    expect(box).to_be_focused()
    expect(page.locator("[data-error-for=variables]")).to_contain_text("{{name}} has no value")
    page.get_by_role("button", name="Send anyway").click()
    expect(page.locator(".col[data-status=completed]")).to_have_count(1)
    [post] = fake.posts
    assert post.json["prompt"] == "Hi {{name}}"
