"""The stream as a picture, and its replay: in step, by keyboard, never sending anything."""

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.browser.steps import finished
from tests.fake_provider import DONE, FIN, FakeProvider, Reply, text_event
from tests.server import Server, document

OpenPage = Callable[..., Page]
WORDS = [f"w{n} 👨‍👩‍👧é\n" for n in range(12)]


def paced(pause: float) -> Reply:
    pieces: list[bytes | float] = []
    for word in WORDS:
        pieces += [pause, text_event(word)]
    return Reply(pieces=[*pieces, FIN, DONE])


@pytest.fixture
def opened(open_page: OpenPage, server: Server, fake: FakeProvider) -> Callable[..., Page]:
    """A comparison of two columns that have ended, in a new page."""
    fake.clear()
    fake.on("quick", paced(0.02))
    fake.on("slow", paced(0.15))
    [row] = server.rows("SELECT id FROM playground_connection WHERE name = 'fake'")
    settings = [{"connection": row["id"], "model": model} for model in ("quick", "slow")]
    comparison, _ = server.user().run(document(*settings))

    def go(**options: object) -> Page:
        page = open_page(**options)
        page.goto(f"{server.url}/comparisons/{comparison}/")
        for position in range(2):
            finished(page.locator("article[data-run]").nth(position))
        expect(page.locator("[data-replay]")).to_be_visible()
        return page

    return go


def texts(page: Page) -> list[str]:
    """What can be seen in each column."""
    return page.locator("article[data-run]").evaluate_all(
        "all => all.map(c => [...c.querySelectorAll('.out')].find(o => !o.hidden).textContent)"
    )


def scrub(page: Page, ms: int) -> None:
    page.get_by_role("slider", name="Position in the stream").evaluate(
        "(e, ms) => { e.value = ms; e.dispatchEvent(new Event('input', {bubbles: true})); }", ms
    )


def replayed(page: Page) -> Locator:
    return page.locator(".out--replay")


def test_the_picture_says_what_came_when(opened: Callable[..., Page]) -> None:
    page = opened()
    expect(page.get_by_role("img", name="Column A: first at")).to_be_visible()
    expect(page.locator("[data-replay]")).to_contain_text("12 chunks")
    at_its_end = "e => e.value === e.max"
    slider = page.get_by_role("slider", name="Position in the stream")
    assert slider.evaluate(at_its_end)
    slider.press("ArrowLeft")
    expect(replayed(page)).not_to_have_count(0)
    slider.press("End")
    expect(replayed(page)).to_have_count(0)
    assert slider.evaluate(at_its_end)
    found = Axe().run(page).response["violations"]
    assert not found, [(each["id"], each["nodes"][0]["target"]) for each in found]


def test_columns_are_replayed_in_step_and_end_with_their_own_text(
    opened: Callable[..., Page], fake: FakeProvider
) -> None:
    page = opened()
    whole = "".join(WORDS)
    assert texts(page) == [whole, whole]
    sent = len(fake.posts)
    scrub(page, 700)
    expect(replayed(page)).to_have_count(2)
    quick, slow = texts(page)
    assert quick == whole
    assert whole.startswith(slow)
    assert len(slow) < len(whole)
    assert not slow or slow.endswith("\n")  # never half of a piece
    scrub(page, 0)
    assert texts(page) == ["", ""]
    page.get_by_role("button", name="4×").click()
    page.get_by_role("button", name="Go on Space").click()
    expect(replayed(page)).to_have_count(0, timeout=15_000)
    assert texts(page) == [whole, whole]
    expect(page.locator("#announce")).to_have_text("Replay finished")
    assert len(fake.posts) == sent


def test_space_plays_and_pauses(opened: Callable[..., Page]) -> None:
    page = opened()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Space")
    button = page.locator("[data-play]")
    expect(button).to_have_text("PauseSpace")
    expect(replayed(page).first).to_contain_text("w0")
    page.keyboard.press("Space")
    expect(button).to_have_text("Go onSpace")
    seen = texts(page)
    page.wait_for_timeout(400)
    assert texts(page) == seen
    # In the prompt a blank is a blank.
    box = page.get_by_role("textbox", name="Prompt", exact=True)
    box.focus()
    page.keyboard.press("End")
    page.keyboard.press("Space")
    expect(button).to_have_text("Go onSpace")


def test_the_slider_goes_by_keyboard_and_another_view_ends_the_replay(
    opened: Callable[..., Page],
) -> None:
    page = opened()
    slider = page.get_by_role("slider", name="Position in the stream")
    slider.focus()
    page.keyboard.press("Home")
    expect(replayed(page)).to_have_count(2)
    assert (slider.get_attribute("aria-valuetext") or "").startswith("0.00 seconds of")
    page.get_by_role("tab", name="As sent").first.click()
    expect(replayed(page)).to_have_count(0)
    page.keyboard.press("End")


def test_the_view_of_a_column_comes_back_after_the_replay(opened: Callable[..., Page]) -> None:
    page = opened()
    markdown = page.get_by_role("tab", name="Markdown")
    for column in range(2):
        markdown.nth(column).click()
    scrub(page, 700)
    expect(replayed(page)).to_have_count(2)
    expect(markdown.first).to_have_attribute("aria-selected", "false")
    page.locator("[data-views] [data-view=text]").nth(1).click()  # chosen meanwhile: it stays
    scrub(page, 10**6)
    expect(replayed(page)).to_have_count(0)
    expect(markdown.first).to_have_attribute("aria-selected", "true")
    expect(markdown.nth(1)).to_have_attribute("aria-selected", "false")


def test_white_space_that_is_shown_meanwhile_does_not_halt_it(
    opened: Callable[..., Page],
) -> None:
    page = opened()
    whole, slow = "".join(WORDS), page.locator(".out--replay").last
    scrub(page, 700)
    expect(slow).to_contain_text("w0")
    page.get_by_role("button", name="White space").click()
    expect(slow.locator(".ws").first).to_be_visible()
    before = len(texts(page)[1])
    scrub(page, 1400)
    expect(replayed(page)).to_have_count(2)
    assert len(texts(page)[1]) > before
    assert whole.startswith(texts(page)[1])
    page.get_by_role("button", name="White space").click()
    scrub(page, 700)
    assert len(texts(page)[1]) == before
    scrub(page, 10**6)
    expect(replayed(page)).to_have_count(0)
    assert texts(page) == [whole, whole]


def test_the_speed_stays_pressed_in_a_new_picture(opened: Callable[..., Page]) -> None:
    page = opened()
    page.get_by_role("button", name="4×").click()
    before = page.locator("article[data-run]").first.get_attribute("data-run")
    page.get_by_role("button", name="Run column A again").click()
    expect(page.locator(f'article[data-run="{before}"]')).to_have_count(0)
    finished(page.locator("article[data-run]").first)
    expect(page.locator(f"#played-{before}")).to_have_count(0)
    expect(page.locator("[data-speed][aria-pressed=true]")).to_have_text(["4×"])


def test_with_less_motion_it_goes_in_steps(opened: Callable[..., Page]) -> None:
    page = opened(reduced_motion="reduce")
    page.get_by_role("button", name="Replay").click()
    page.get_by_role("button", name="4×").click()
    expect(replayed(page)).to_have_count(0, timeout=15_000)
    whole = "".join(WORDS)
    assert texts(page) == [whole, whole]
