"""Token probabilities are seen, by mouse and by keyboard alone, on stored answers: of the real
llama.cpp (recorded, `content` shape) and as vLLM writes them (parallel arrays)."""

import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.steps import columns, finished
from tests.fake_provider import DONE, FIN, FakeProvider, Reply, json_reply, text_event, until, words
from tests.fake_services import transcript
from tests.server import Server, document

OpenPage = Callable[..., Page]
LLAMA, WARM = "llama_stream_logprobs_words", "llama_stream_logprobs_warm"
EMOJI, VLLM = "llama_stream_logprobs_emoji", "vllm_legacy_logprobs_words"
ECHO = "vllm_legacy_logprobs_echo"
PROMPT = "The common kingfisher is a small bird 🐦. It lives"
TEXT = {
    LLAMA: " in the ocean, and it is a predator of fish. It is also a predator of other animals."
    "\n\nThe",
    VLLM: " in the rivers, and it dives 🐟 for fish.",
}


@pytest.fixture
def page(open_page: OpenPage, server: Server, fake: FakeProvider) -> Iterator[Page]:
    fake.clear()
    for name in (LLAMA, WARM, EMOJI, VLLM, ECHO):
        fake.on(name, transcript(name))
    opened = open_page()
    opened.goto(server.url)
    return opened


def stored(
    page: Page, server: Server, *models: str, prompt: str = PROMPT, **values: Any
) -> Locator:
    """A comparison of these answers, all ended."""
    each = [{"model": model, "values": {"logprobs": 5, **values}} for model in models]
    return columns(page, server, *each, prompt=prompt)


def heat(column: Locator) -> Locator:
    """The list box of a column, drawn."""
    column.get_by_role("tab", name="Probabilities").click()
    box = column.get_by_role("listbox")
    expect(box).not_to_have_attribute("aria-busy", "true")
    return box


def popover(page: Page) -> Locator:
    return page.get_by_role("dialog", name=re.compile("Alternatives of"))


def clean(page: Page) -> None:
    found = Axe().run(page).response["violations"]
    assert not found, [(each["id"], each["nodes"][0]["target"]) for each in found]


def shown(box: Locator) -> str:
    """The text of the map without its signs."""
    return str(
        box.evaluate(
            """(box) => {
              const copy = box.cloneNode(true);
              copy.querySelectorAll("i").forEach((sign) => sign.remove());
              return copy.textContent;
            }"""
        )
    )


# --- Heat map ---


def test_every_token_is_marked_and_the_map_holds_the_whole_text(page: Page, server: Server) -> None:
    columns = stored(page, server, LLAMA, VLLM)
    for column, name in zip(columns.all(), (LLAMA, VLLM), strict=True):
        box = heat(column)
        assert shown(box) == TEXT[name]
    llama = columns.first.get_by_role("listbox")
    expect(llama.locator(".tok")).to_have_count(24)
    surprising = llama.locator('.tok[data-heat="5"], .tok[data-heat="4"]').first
    assert surprising.evaluate("tok => getComputedStyle(tok).textDecorationLine") == "underline"
    expect(columns.first.locator(".legend")).to_be_visible()
    clean(page)


def test_a_character_over_several_tokens_is_one_and_minus_infinity_the_rarest(
    page: Page, server: Server
) -> None:
    box = heat(stored(page, server, VLLM))
    expect(box.locator(".tok")).to_have_count(14)
    expect(box.locator(".tok").nth(8)).to_have_text(" 🐟")
    expect(box.locator(".tok").nth(9)).to_have_text("·")
    expect(box.locator(".tok").last).to_have_attribute("data-heat", "5")


def test_alternatives_open_by_keyboard_alone_and_the_focus_comes_back(
    page: Page, server: Server
) -> None:
    column = stored(page, server, LLAMA)
    column.get_by_role("tab", name="Text").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(column.get_by_role("tab", name="Probabilities")).to_have_attribute(
        "aria-selected", "true"
    )
    box = column.get_by_role("listbox")
    expect(box).not_to_have_attribute("aria-busy", "true")
    box.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    chosen = box.locator('[aria-selected="true"]')
    expect(chosen).to_have_text(" ocean")
    expect(chosen).to_have_attribute("aria-label", re.compile(r"ocean, .*%, token 3/24"))
    page.keyboard.press("Enter")
    expect(popover(page)).to_be_visible()
    expect(popover(page)).to_contain_text("3/24")
    expect(popover(page)).to_contain_text("entropy")
    rows = popover(page).locator("button.alt")
    expect(rows).to_have_count(5)
    expect(rows.locator("rect").first).to_have_attribute("width", re.compile(r"^\d+\.\d\d%$"))
    expect(popover(page).locator('[aria-current="true"]')).to_be_focused()
    clean(page)
    page.keyboard.press("ArrowRight")  # the next token, without closing
    expect(popover(page)).to_contain_text("4/24")
    page.keyboard.press("Escape")
    expect(popover(page)).to_be_hidden()
    expect(box).to_be_focused()
    expect(chosen).to_have_text(",")
    page.keyboard.press("End")
    expect(chosen).to_have_text("The")
    page.keyboard.press("Home")
    expect(chosen).to_have_text(" in")


def test_alternatives_open_by_mouse(page: Page, server: Server) -> None:
    box = heat(stored(page, server, VLLM))
    box.locator(".tok").nth(2).click()
    expect(popover(page)).to_contain_text("␣rivers")
    rows = popover(page).locator(".alt")
    expect(rows.first).to_contain_text("␣forest")
    expect(rows.first).to_contain_text("22.3")
    box.locator(".tok").nth(5).click()
    expect(popover(page)).to_contain_text("6/14")
    page.get_by_role("button", name="Close alternatives").click()
    expect(popover(page)).to_be_hidden()


def test_an_emojis_alternatives_are_emojis(page: Page, server: Server) -> None:
    """llama.cpp tells only the last byte of them."""
    box = heat(stored(page, server, EMOJI))
    box.locator(".tok").first.click()
    expect(popover(page).locator('[aria-current="true"]')).to_contain_text("␣🦆")
    expect(popover(page).locator(".alt").nth(1)).to_contain_text("␣🦇")


def test_tokens_of_an_echoed_prompt_are_marked(page: Page, server: Server) -> None:
    box = heat(stored(page, server, ECHO, prompt="The step", echo=True))
    expect(box.locator(".tok--prompt")).to_have_count(2)
    expect(box.locator(".tok--unknown")).to_have_text("The")
    box.focus()
    page.keyboard.press("ArrowRight")
    expect(box.locator('[aria-selected="true"]')).to_have_text(" is")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(popover(page)).to_contain_text("prompt 1/2")
    expect(popover(page)).to_contain_text("No probability came")


def test_without_probabilities_the_view_says_how_to_get_them(
    page: Page, server: Server, fake: FakeProvider
) -> None:
    fake.reply_with(words(5))
    column = stored(page, server, "m", logprobs=None)
    column.get_by_role("tab", name="Probabilities").click()
    expect(column).to_contain_text("No token probabilities were asked for")
    expect(column).to_contain_text("Set logprobs under Output")
    clean(page)
    column.get_by_role("button", name="Go to logprobs").click()
    expect(page.locator('#params [data-path="logprobs"] [data-box]:focus')).to_have_count(1)


def test_it_works_on_the_page_of_the_run(page: Page, server: Server) -> None:
    stored(page, server, LLAMA).get_by_role("link", name="Details of column A").click()
    box = heat(page.locator("article[data-run]"))
    box.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(popover(page)).to_contain_text("1/24")
    clean(page)


# --- Going on from an alternative ---


def test_it_goes_on_from_an_alternative_by_keyboard(
    page: Page, server: Server, fake: FakeProvider
) -> None:
    box = heat(stored(page, server, VLLM, temperature=0, stop=["x"]))
    fake.on(VLLM, words(3))
    box.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(popover(page).locator('[aria-current="true"]')).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(popover(page)).to_contain_text("Starts 1 run with the same settings")
    sent = len(fake.posts)
    expect(popover(page).get_by_role("button", name="Continue from here")).to_be_focused()
    old = page.url
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: url != old, timeout=30_000)
    column = page.locator("article[data-run]")
    expect(column).to_contain_text("From run")
    expect(column).to_contain_text("token 3")
    finished(column)
    first, second = fake.posts[-2].json, fake.posts[-1].json
    assert len(fake.posts) == sent + 1
    assert second == {**first, "prompt": f"{PROMPT} in the forest"}
    expect(page.get_by_role("textbox", name="Prompt", exact=True)).to_have_value(
        f"{PROMPT} in the forest"
    )
    column.get_by_role("link", name=re.compile(r"run \d+A")).click()
    expect(page.locator("article[data-run] .out").first).to_have_text(TEXT[VLLM])


# --- The lens ---


def open_lens(page: Page) -> Locator:
    page.get_by_role("button", name="Lens", exact=True).click()
    lens = page.get_by_role("region", name="Probability lens")
    expect(lens.get_by_role("table")).to_be_visible()
    return lens


def row(lens: Locator, candidate: str) -> Locator:
    return lens.locator("tbody tr").filter(has=lens.page.locator("th").get_by_text(candidate))


def test_the_lens_shows_one_place_of_all_columns(
    page: Page, server: Server, fake: FakeProvider
) -> None:
    fake.on("silent", words(3))
    stored(page, server, LLAMA, VLLM, "silent")
    lens = open_lens(page)
    head = lens.locator("thead th")
    expect(head.nth(1)).to_contain_text("␣in")
    expect(head.nth(3)).to_contain_text("no probabilities came back")
    cells = row(lens, "␣in").first.locator("td")
    expect(cells.nth(0).locator("svg.bar")).to_be_visible()
    expect(cells.nth(1)).to_contain_text("73.3")
    expect(cells.nth(2)).to_contain_text("not returned")
    expect(lens.locator("tfoot")).to_contain_text("bit")
    expect(lens).to_contain_text("Aligned by token number")
    clean(page)


def test_a_run_leaves_the_page_where_it_is_also_above_an_open_lens(
    page: Page, server: Server
) -> None:
    columns = stored(page, server, LLAMA, WARM)
    open_lens(page)
    prompt = page.get_by_role("textbox", name="Prompt", exact=True)
    prompt.focus()
    page.evaluate("scrollTo(0, 0)")
    before = columns.first.get_attribute("data-run")
    prompt.press("Control+Enter")
    expect(columns.first).not_to_have_attribute("data-run", str(before))
    finished(columns.first)
    expect(page.get_by_role("region", name="Probability lens").get_by_role("table")).to_be_visible()
    page.wait_for_timeout(300)
    assert page.evaluate("scrollY") == 0


def test_the_lens_moves_by_keyboard_and_follows_the_pointer(page: Page, server: Server) -> None:
    columns = stored(page, server, LLAMA, WARM)
    box = heat(columns.first)
    page.get_by_role("button", name="Lens", exact=True).focus()
    page.keyboard.press("Enter")
    lens = page.get_by_role("region", name="Probability lens")
    slider = lens.get_by_role("slider", name="Token")
    expect(slider).to_have_attribute("max", "24")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(lens.locator("thead th").nth(1)).to_contain_text("␣ocean")
    expect(lens.locator("thead th").nth(2)).to_contain_text("␣Gulf")
    box.locator(".tok").nth(8).hover()
    expect(lens.locator("thead th").nth(1)).to_contain_text("␣predator")
    expect(lens.get_by_role("spinbutton", name="Token", exact=True)).to_have_value("9")
    box.focus()
    page.keyboard.press("ArrowRight")  # from the first token
    page.keyboard.press("ArrowRight")
    expect(lens.locator("thead th").nth(1)).to_contain_text("␣the")
    page.get_by_role("button", name="Close the lens").click()
    expect(lens).to_be_hidden()


def test_where_tokens_are_cut_otherwise_the_lens_goes_by_the_place_in_the_text(
    page: Page, server: Server, fake: FakeProvider
) -> None:
    def legacy(*tokens: str) -> dict[str, Any]:
        logprobs = {
            "tokens": list(tokens),
            "token_logprobs": [-0.1] * len(tokens),
            "top_logprobs": [{token: -0.1} for token in tokens],
        }
        choice = {
            "index": 0, "text": "".join(tokens), "logprobs": logprobs, "finish_reason": "stop",
        }  # fmt: skip
        return {"object": "text_completion", "model": "m", "choices": [choice]}

    fake.on("whole", json_reply(legacy(" kingfisher", " 🦆", " dives")))
    fake.on("parts", json_reply(legacy(" king", "fisher", " 🦆", " dives")))
    stored(page, server, "whole", "parts")
    lens = open_lens(page)
    lens.get_by_role("button", name="Next token").click()
    lens.get_by_role("button", name="Next token").click()
    head = lens.locator("thead th")
    expect(head.nth(1)).to_contain_text("␣dives")
    expect(head.nth(2)).to_contain_text("␣dives")
    expect(head.nth(2)).to_contain_text("4/4")
    expect(lens).to_contain_text("Aligned by place in the text")
    lens.get_by_role("button", name="Token number").click()
    expect(head.nth(2)).to_contain_text("␣🦆")
    expect(lens).to_contain_text("different places")


def test_the_sampling_lens_redraws_while_a_slider_moves_and_sends_nothing(
    page: Page, server: Server, fake: FakeProvider
) -> None:
    stored(page, server, VLLM, LLAMA)
    lens = open_lens(page)
    lens.get_by_role("button", name="Next token").click()
    lens.get_by_role("button", name="Next token").click()
    expect(lens.locator("thead th").nth(1)).to_contain_text("␣rivers")
    sent = len(fake.posts)
    page.get_by_text("What would sampling leave?").click()
    expect(lens).to_contain_text("top_k, top_p, min_p, temperature (llama.cpp)")
    expect(lens).to_contain_text("Approximate")
    top_k = lens.get_by_role("slider", name=re.compile("Top K"))
    top_k.focus()
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    forest = row(lens, "␣forest").locator("td").first
    # e^-1.5 and e^-1.7 are left: 0.2231 / (0.2231 + 0.1827)
    expect(forest.locator(".lens__cell--after")).to_contain_text("55.0")
    expect(row(lens, "␣water").locator("td").first).to_contain_text("cut")
    temperature = lens.get_by_role("spinbutton", name="Temperature, value")
    temperature.fill("0")
    expect(forest.locator(".lens__cell--after")).to_contain_text("100.0")
    expect(lens.locator("tfoot")).to_contain_text("1 of 4")
    lens.get_by_role("button", name="All off").click()
    expect(forest.locator(".lens__cell--after")).to_contain_text("22.3")
    clean(page)
    assert len(fake.posts) == sent


def test_the_sliders_begin_with_what_the_run_was_sent(page: Page, server: Server) -> None:
    stored(page, server, VLLM, temperature=0.5, top_k=3)
    lens = open_lens(page)
    page.get_by_text("What would sampling leave?").click()
    expect(lens.get_by_role("spinbutton", name="Temperature, value")).to_have_value("0.5")
    expect(lens.get_by_role("spinbutton", name=re.compile("Top K"))).to_have_value("3")


SAMPLES: list[tuple[dict[str, float], list[str], list[float | None], float]] = [
    # Probabilities 0.5, 0.25, 0.125; the rest of 0.125 is one token.
    ({}, [], [0.5, 0.25, 0.125], 0.125),
    ({"temperature": 0}, ["temperature"], [1, None, None], 0),
    ({"temperature": 0.5}, ["temperature"], [0.25 / 0.34375, 0.0625 / 0.34375, 1 / 22], 1 / 22),
    ({"top_k": 2}, ["top_k"], [2 / 3, 1 / 3, None], 0),
    ({"top_k": 0}, ["top_k"], [0.5, 0.25, 0.125], 0.125),
    ({"top_k": 3}, ["top_k"], [4 / 7, 2 / 7, 1 / 7], 0),
    ({"top_p": 0.5}, ["top_p"], [1, None, None], 0),
    ({"top_p": 0.51}, ["top_p"], [2 / 3, 1 / 3, None], 0),
    ({"top_p": 0}, ["top_p"], [1, None, None], 0),
    ({"top_p": 1}, ["top_p"], [0.5, 0.25, 0.125], 0.125),
    ({"min_p": 0.5}, ["min_p"], [2 / 3, 1 / 3, None], 0),
    ({"min_p": 0.6}, ["min_p"], [1, None, None], 0),
    # The order matters: at temperature 0.5 first, the first has 0.727; last, only one was left.
    ({"temperature": 0.5, "top_p": 0.7}, ["temperature", "top_p"], [1, None, None], 0),
    ({"temperature": 0.5, "top_p": 0.7}, ["top_p", "temperature"], [0.8, 0.2, None], 0),
    ({"top_k": 2, "temperature": 0}, ["top_k", "temperature"], [1, None, None], 0),
]


@pytest.mark.parametrize(("settings", "order", "shares", "rest"), SAMPLES)
def test_samplers_leave_what_a_calculation_by_hand_leaves(
    shared: Page,
    settings: dict[str, float],
    order: list[str],
    shares: list[float | None],
    rest: float,
) -> None:
    found = shared.evaluate(
        """([settings, order]) => playground.probability.sample(
          [0.5, 0.25, 0.125].map((p) => ({ text: "x", logprob: Math.log(p) })), settings, order)""",
        [settings, order],
    )
    assert found["shares"] == [each if each is None else pytest.approx(each) for each in shares]
    assert found["rest"] == pytest.approx(rest)


def test_figures_of_what_is_unknown_or_never(shared: Page) -> None:
    found = shared.evaluate(
        """() => { const p = playground.probability; return [
          p.share(-9999), p.share(null), p.heat(p.share(null)), p.heat(1), p.heat(0.04),
          p.entropy([{ logprob: Math.log(0.5) }, { logprob: Math.log(0.25) }]),
          p.entropy([{ logprob: null }]), p.percent(0), p.percent(1), p.percent(0.00001),
          p.sample([{ logprob: -9999 }, { logprob: null }], { top_k: 1 }, ["top_k"]).shares,
        ]; }"""
    )
    assert found[:5] == [0, None, None, 0, 5]
    assert found[5] == pytest.approx(0.5 + 0.5 + 0.5)
    assert found[6:] == [None, "0\u202f%", "100.0\u202f%", "<\u202f0.01\u202f%", [None, None]]


@pytest.fixture(scope="module")
def shared(browser: Browser, server: Server) -> Iterator[Page]:
    """One page for calculations."""
    context = browser.new_context()
    cookies = server.user().http.cookies
    context.add_cookies(
        [{"name": each.name, "value": each.value or "", "url": server.url} for each in cookies.jar]
    )
    opened = context.new_page()
    opened.goto(server.url)
    yield opened
    context.close()


# --- Where columns part ---


@pytest.mark.parametrize(
    ("texts", "at"),
    [
        (["one two", "one three"], 5),
        (["a 🦆 b", "a 🦇 b"], 2),
        (["naïve", "naïf"], 3),
        (["nai\u0308ve", "naive"], 2),
        (["👩\u200d🚀!", "👩\u200d🔬!"], 0),
        (["same", "same"], 4),
        (["short", "short and more"], 5),
        (["", "x"], 0),
        (["مرحبا بك", "مرحبا لك"], 6),
        (["x" * 300_000 + "a", "x" * 300_000 + "b"], 300_000),
    ],
)
def test_columns_part_at_a_whole_character(shared: Page, texts: list[str], at: int) -> None:
    assert shared.evaluate("texts => playground.parting(texts).at", texts) == at


def over(page: Page) -> Locator:
    return page.locator(".part--over")


def test_the_common_start_is_grey_and_the_place_marked_in_each(page: Page, server: Server) -> None:
    columns = stored(page, server, LLAMA, WARM)
    expect(over(page)).to_have_count(2)
    expect(page.locator("[data-part-said]")).to_have_text("at character 9")
    common = "() => [...CSS.highlights.get('common')].map((range) => range.toString())"
    assert page.evaluate(common) == [" in the ", " in the "]
    for column in columns.all():
        assert column.locator(".out").first.evaluate("out => out.textContent").startswith(" in the")
    page.get_by_role("button", name="Common text").click()
    expect(over(page)).to_have_count(0)
    assert page.evaluate("CSS.highlights.has('common')") is False
    page.keyboard.press("d")  # shows them again, and says where
    expect(over(page)).to_have_count(2)
    expect(page.locator("#announce")).to_contain_text("part at character 9. A: ocean")
    heat(columns.first)
    expect(columns.first.locator(".tok--part")).to_have_text(" ocean")
    clean(page)


def test_the_common_start_is_marked_in_the_colours_of_the_system(
    open_page: Callable[..., Page], server: Server
) -> None:
    page = open_page(forced_colors="active")
    columns = stored(page, server, LLAMA, WARM)
    expect(over(page)).to_have_count(2)
    mark = "out => getComputedStyle(out, '::highlight(common)').textDecorationLine"
    assert columns.first.locator(".out").first.evaluate(mark) == "underline"


def test_the_mark_comes_while_the_columns_still_stream(
    page: Page, server: Server, fake: FakeProvider
) -> None:
    hold = threading.Event()
    for model, word in (("one", " rivers"), ("two", " lakes")):
        pieces = [text_event(" by the"), until(hold), text_event(word), FIN, DONE]
        fake.on(model, Reply(pieces=pieces))
    [row] = server.rows("SELECT id FROM playground_connection WHERE name = 'fake'")
    form = document(*({"connection": row["id"], "model": each} for each in ("one", "two")))
    comparison, _ = server.user().run(form)
    page.goto(f"{server.url}/comparisons/{comparison}/")
    try:
        expect(page.locator("[data-part-said]")).to_have_text("no difference so far")
        expect(over(page)).to_have_count(0)
    finally:
        hold.set()
    expect(over(page)).to_have_count(2)
    finished(page.locator("article[data-run]").last)
    expect(page.locator("[data-part-said]")).to_have_text("at character 9")
    expect(over(page)).to_have_count(2)
    expect(page.locator("article[data-run] .out").first).to_have_text(" by the rivers")


# --- Much, and awkward ---


def test_five_thousand_tokens_are_drawn_and_reached(
    page: Page, server: Server, fake: FakeProvider
) -> None:
    tokens = [f" w{i}" for i in range(5000)]
    logprobs = {
        "tokens": tokens,
        "token_logprobs": [-(i % 40) / 10 for i in range(5000)],
        "top_logprobs": [{t: -(i % 40) / 10, " x": -1, " y": -2} for i, t in enumerate(tokens)],
    }
    choice = {
        "index": 0, "text": "".join(tokens), "logprobs": logprobs, "finish_reason": "stop",
    }  # fmt: skip
    whole = {"object": "text_completion", "model": "m", "choices": [choice]}
    fake.on("long", json_reply(whole))
    column = stored(page, server, "long")
    column.get_by_role("tab", name="Probabilities").click()
    box = column.get_by_role("listbox")
    expect(box).not_to_have_attribute("aria-busy", "true", timeout=30_000)
    expect(box.locator(".tok")).to_have_count(5000)
    box.focus()
    page.keyboard.press("End")
    expect(box.locator('[aria-selected="true"]')).to_have_text(" w4999")
    page.keyboard.press("Enter")
    expect(popover(page)).to_contain_text("5000/5000")


def test_what_could_be_had_in_part_is_not_drawn_twice(
    page: Page, server: Server, fake: FakeProvider
) -> None:
    tokens = [f" w{i}" for i in range(700)]
    top = [{token: -0.1, " x": -3} for token in tokens]
    logprobs = {"tokens": tokens, "token_logprobs": [-0.1] * 700, "top_logprobs": top}
    choice = {
        "index": 0, "text": "".join(tokens), "logprobs": logprobs, "finish_reason": "stop",
    }  # fmt: skip
    fake.on("part", json_reply({"object": "text_completion", "model": "m", "choices": [choice]}))
    column = stored(page, server, "part")
    page.route("**/*from=500*", lambda route: route.abort())
    column.get_by_role("tab", name="Probabilities").click()
    note = column.locator("[data-heat-note]")
    expect(note).to_have_text("The probabilities could not be read: the server cannot be reached.")
    page.unroute("**/*from=500*")
    column.get_by_role("tab", name="As sent").click()  # with what comes next it is tried again
    expect(note).to_be_empty()
    assert shown(heat(column)) == "".join(tokens)


def test_right_to_left_text_and_several_choices(
    page: Page, server: Server, fake: FakeProvider
) -> None:
    tokens = ["مرحبا", " 🌍", "!"]
    logprobs = {"tokens": tokens, "token_logprobs": [-0.1, None, -9999.0], "top_logprobs": None}
    choices = [
        {"index": 0, "text": "مرحبا 🌍!", "logprobs": logprobs, "finish_reason": "stop"},
        {"index": 1, "text": " none", "logprobs": None, "finish_reason": "stop"},
        {"index": 2, "text": "مرحبا 🌍!", "logprobs": logprobs, "finish_reason": "stop"},
    ]
    fake.on("rtl", json_reply({"object": "text_completion", "model": "m", "choices": choices}))
    column = stored(page, server, "rtl", n=3)
    column.get_by_role("tab", name="Probabilities").click()
    boxes = column.get_by_role("listbox")
    expect(boxes).to_have_count(2)
    for box in boxes.all():
        expect(box).not_to_have_attribute("aria-busy", "true")
    boxes.first.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")  # forward, as the text runs
    expect(boxes.first.locator('[aria-selected="true"]')).to_have_text(" 🌍")
    lens = open_lens(page)
    expect(lens.locator("thead th")).to_have_count(3)
    expect(lens.locator("thead")).to_contain_text("A3")


def test_on_a_phone_the_lens_scrolls_and_the_page_does_not(page: Page, server: Server) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    stored(page, server, LLAMA, VLLM, WARM)
    lens = open_lens(page)
    assert lens.locator(".lens__wrap").evaluate("box => box.scrollWidth > box.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
