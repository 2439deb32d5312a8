"""How every page bears fingers, zoom, the narrowest screens and a system's own few colours."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.people import prepare
from tests.browser.steps import finished, number, run
from tests.fake_provider import FakeProvider, words
from tests.server import Server

OpenPage = Callable[..., Page]

PAGES = (
    "/",
    "/history/",
    "/stats/",
    "/review/",
    "/review/new/",
    "/labels/",
    "/export/",
    "/import/",
    "/trash/",
    "/shares/",
    "/reference/",
    "/password/",
    "/two-factor/",
    "/sessions/",
    "/team/",
    "/no-such-page/",
)
HERE = Path(__file__).parent / "js"
TOO_SMALL = (HERE / "too_small.js").read_text(encoding="utf-8")
TOLD_APART = (HERE / "told_apart.js").read_text(encoding="utf-8")
TOO_WIDE = (HERE / "too_wide.js").read_text(encoding="utf-8")


@pytest.fixture
def pages(fake: FakeProvider, server: Server, open_page: OpenPage) -> list[str]:
    """Addresses; two columns have run."""
    fake.clear()
    fake.reply_with(words(5, None))
    page = open_page()
    page.goto(server.url)
    page.click("[data-add-column]")
    columns = run(page)
    finished(columns.first)
    finished(columns.nth(1))
    return [*PAGES, page.url.removeprefix(server.url), str(columns.first.get_attribute("data-url"))]


def test_every_target_is_large_enough_for_a_finger(
    pages: list[str], server: Server, open_page: OpenPage
) -> None:
    page = open_page(390, 844, has_touch=True, is_mobile=True)
    found = {}
    for address in pages:
        page.goto(f"{server.url}{address}")
        found[address] = page.evaluate(TOO_SMALL, "body")
        opener = page.locator(".usermenu")
        if opener.count():
            opener.click()
            expect(page.locator("#menu-user")).to_be_visible()
            found[f"{address} menu"] = page.evaluate(TOO_SMALL, "#menu-user")
    assert not {address: all_ for address, all_ in found.items() if all_}


def test_nothing_is_cut_at_twice_the_size_or_scrolls_sideways(
    pages: list[str], server: Server, open_page: OpenPage
) -> None:
    zoomed = open_page(720, 450, device_scale_factor=2)  # 1440 × 900 at 200 %
    narrow = open_page(320, 640)  # 1280 at 400 % (WCAG 1.4.10)
    found = {}
    for address in pages:
        for name, page in (("720", zoomed), ("320", narrow)):
            page.goto(f"{server.url}{address}")
            found[f"{address} at {name}"] = page.evaluate(TOO_WIDE)
    assert not {address: all_ for address, all_ in found.items() if all_}


LONG = """
from playground.models import Label, Panel, Queue, RunLabel
admin, other = User.objects.get(is_superuser=True), person("w" * 120)
other.current_team = team
comparison = None
runs = []
for n in range(16):
    output, model = f"{'Z' * 900}{n}", f"{'m' * 150}{n}"
    made = make_run(other, "P" * 300, output, comparison=comparison, model=model)
    comparison = made.comparison
    runs.append(made)
RunLabel.objects.put([made.pk for made in runs], Label.objects.named(team.pk, ["l" * 64]))
ids, maker = [made.pk for made in runs[:3]], admin.membership()
print("MADE", comparison.pk, ids[0], ids[1], end=" ")
print(Queue.objects.begin(maker, "q" * 60, ids).pk, Panel.objects.begin(maker, "n" * 60, ids).pk)
"""


def test_names_and_labels_of_one_long_word_and_sixteen_columns_scroll_no_page(
    server: Server, open_page: OpenPage
) -> None:
    said = prepare(server, LONG).rpartition("MADE ")[2].split()
    comparison, first, second, queue, panel = said
    page = open_page(390, 844)
    found = {}
    for address in (
        f"/comparisons/{comparison}/",
        f"/runs/{first}/",
        f"/compare/?rows=run-{first},run-{second}",
        f"/history/?whose=team&q=label:{'l' * 64}",
        f"/review/queues/{queue}/",
        f"/review/panels/{panel}/",
    ):
        page.goto(f"{server.url}{address}")
        found[address] = page.evaluate(TOO_WIDE)
    assert not {address: all_ for address, all_ in found.items() if all_}


def test_what_is_chosen_is_told_apart_in_the_colours_of_the_system(
    pages: list[str], server: Server, open_page: OpenPage
) -> None:
    page = open_page(forced_colors="active")
    found = {}
    for address in pages:
        page.goto(f"{server.url}{address}")
        found[address] = page.evaluate(TOLD_APART)
    assert not {address: all_ for address, all_ in found.items() if all_}
    page.goto(server.url)
    for ring in (".prompt", ".range >> nth=0"):
        page.locator(ring).focus()
        expect(page.locator(ring)).to_have_css("outline-style", "solid")


CUT = """() => [...document.querySelectorAll("[data-variable] textarea")].filter(
  (box) => box.scrollHeight > box.clientHeight).map((box) => box.getAttribute("aria-label"))"""


@pytest.mark.parametrize("width", [1440, 390])
def test_boxes_of_variables_show_whole_lines(
    fake: FakeProvider, server: Server, open_page: OpenPage, width: int
) -> None:
    page = open_page(width, 844)
    page.goto(server.url)
    prompt = page.locator("#prompt")
    prompt.fill("{{city}} {{time}}")
    page.get_by_label("Value of city").fill("Paris\nRome")
    page.get_by_label("Value of time").fill("at a time of the day that is long to tell\nat noon")
    prompt.fill("{{city}}")
    expect(page.locator("[data-var=unused]")).to_be_visible()
    page.wait_for_function(f"!({CUT})().length")
    expect(page.locator("[data-draft-state]")).to_contain_text("Saved")
    page.reload()
    expect(page.get_by_label("Value of city")).to_be_visible()
    page.wait_for_function(f"!({CUT})().length")


def test_a_setting_of_a_column_leaves_its_connection_the_room_on_a_phone(
    fake: FakeProvider, server: Server, open_page: OpenPage
) -> None:
    page = open_page(390, 844)
    page.goto(server.url)
    page.locator("[data-add-column]").click()
    page.locator("[data-column] [data-pick]").last.click()
    number(page, "temperature", "1.4")
    first, second = (page.locator("[data-connection]").nth(at).bounding_box() for at in (0, 1))
    assert first
    assert second
    assert first["width"] == second["width"]
    bar, card = (page.locator(each).bounding_box() for each in (".runbutton", ".composer"))
    assert bar
    assert card
    assert bar["x"] + bar["width"] == card["x"] + card["width"]
