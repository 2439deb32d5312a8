"""Triage of fifty runs, and a blind panel with two judges, by keyboard alone."""

import re
from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from tests.browser.conftest import listen
from tests.browser.people import logged_in, prepare
from tests.server import Server

Open = Callable[..., Page]
RUNS = 50


@pytest.fixture(scope="module", autouse=True)
def people(server: Server) -> None:
    prepare(
        server,
        f"""
anna = person("anna")
for n in range({RUNS}):
    make_run(anna, f"Triage prompt {{n:02d}}", f"Triage output {{n:02d}}")
for n in range(4):
    comparison = None
    for model in ("alpha-7b", "beta-9b"):
        words = "short" if model == "alpha-7b" else "long and winding"
        prompt, output = f"Panel prompt {{n}}", f"A {{words}} answer {{n}}"
        comparison = make_run(anna, prompt, output, comparison=comparison, model=model).comparison
for n in range(2):
    comparison = None
    for model in ("alpha-7b", "beta-9b", "gamma-70b"):
        prompt, output = f"Trio question {{n}}", f"Said by {{model[:1]}} {{n}}"
        comparison = make_run(anna, prompt, output, comparison=comparison, model=model).comparison
for name in ("bea", "carl", "dora", "rita", "rolf"):
    person(name, "reviewer" if name[0] == "r" else "member")
""",
    )


@pytest.fixture
def as_person(browser: Browser, server: Server) -> Iterator[Callable[..., Page]]:
    contexts: list[BrowserContext] = []
    problems: list[str] = []

    def make(name: str, width: int = 1440) -> Page:
        context = logged_in(browser, server, name, viewport={"width": width, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        listen(page, problems)
        return page

    yield make
    for context in contexts:
        context.close()
    assert not problems, problems


def has_no_faults(page: Page) -> None:
    found = Axe().run(page).response["violations"]
    assert not found, [(each["id"], each["nodes"][0]["target"]) for each in found]


def tab_to(page: Page, name: str) -> None:
    """By Tab alone, to the link or button of this name."""
    for _ in range(80):
        page.keyboard.press("Tab")
        said = page.evaluate("document.activeElement.innerText || document.activeElement.ariaLabel")
        if (said or "").strip().startswith(name):
            return
    raise AssertionError(f"no {name}")


def test_fifty_runs_are_triaged_by_keyboard_alone(
    as_person: Callable[..., Page], server: Server
) -> None:
    page = as_person("rolf")  # who reviews, and may not start runs
    page.goto(f"{server.url}/history/?whose=team&show=runs")
    page.keyboard.press("/")
    page.keyboard.type("triage")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=triage*")
    tab_to(page, "Review these")
    page.keyboard.press("Enter")
    expect(page.locator("#review-name")).to_be_focused()
    page.keyboard.type("Fifty runs")
    page.keyboard.press("Enter")
    progress = page.locator("[data-progress]")
    expect(progress).to_have_text(f"0 of {RUNS} reviewed")
    for done in range(RUNS):
        cursor = page.locator(".item[data-cursor]")
        expect(cursor).to_have_attribute("data-state", "waiting")
        item = cursor.get_attribute("id")
        expect(page.locator("[data-pane]")).to_have_attribute("data-item", item or "")
        page.keyboard.press("s" if done % 10 == 9 else str(done % 5 + 1))
        expect(progress).to_have_text(f"{done + 1} of {RUNS} reviewed")
    ratings = server.rows("SELECT value, count(*) AS n FROM playground_rating GROUP BY value")
    assert {row["value"]: row["n"] for row in ratings} == {1: 10, 2: 10, 3: 10, 4: 10, 5: 5}
    page.keyboard.press("u")  # the last skip
    expect(progress).to_have_text(f"{RUNS - 1} of {RUNS} reviewed")
    page.keyboard.press("u")  # the rating before it
    expect(progress).to_have_text(f"{RUNS - 2} of {RUNS} reviewed")
    assert len(server.rows("SELECT id FROM playground_rating")) == 44
    has_no_faults(page)


def first_row_is_marked(page: Page, server: Server) -> None:
    """A label, a comment, an assignee, another visibility; all but the comment are taken back."""
    rows = page.locator(".item")
    page.keyboard.press("l")
    expect(page.locator("#triage-label")).to_be_focused()
    page.keyboard.type("x1")  # neither selects nor rates
    page.keyboard.press("Enter")
    expect(rows.first.locator(".chip")).to_have_text("x1")
    expect(rows.first).to_have_attribute("data-state", "waiting")
    page.keyboard.press("u")
    expect(rows.first.locator(".chip")).to_have_count(0)

    page.keyboard.press("n")
    expect(page.locator("#comment-new")).to_be_focused()
    page.keyboard.type("just a 4th note")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".comment__text")).to_have_text("just a 4th note")
    expect(rows.first).to_have_attribute("data-state", "waiting")

    page.keyboard.press("t")
    expect(rows.first.locator(".avatar--me")).to_be_visible()
    page.keyboard.press("u")
    expect(rows.first.locator(".avatar--me")).to_have_count(0)

    private = "SELECT visibility FROM playground_run WHERE prompt_preview = 'Key prompt 0'"
    page.keyboard.press("v")
    expect(page.locator("#announce")).to_contain_text("Only you see it now")
    expect(page.locator(".toast")).to_contain_text("Only you see it now")
    assert server.rows(private) == [{"visibility": "private"}]
    page.keyboard.press("u")
    expect(page.locator("#announce")).to_contain_text("Undone")
    expect(page.locator(".toast")).to_be_hidden()
    assert server.rows(private) == [{"visibility": "team"}]


def in_queue(as_person: Callable[..., Page], server: Server, name: str, count: int) -> Page:
    """Anna in a queue of her runs: “Said prompt 0” with “Said output 0”, and so on."""
    prepare(
        server,
        f"""
from playground.models import Queue
anna = person("anna")
runs = [make_run(anna, f"{name} prompt {{n}}", f"{name} output {{n}}") for n in range({count})]
Queue.objects.begin(anna.membership(), "{name}", [run.pk for run in runs])
""",
    )
    [queue] = server.rows("SELECT id FROM playground_queue WHERE name = ?", name)
    page = as_person("anna")
    page.goto(f"{server.url}/review/queues/{queue['id']}/")
    return page


def test_a_comment_stays_with_the_run_for_which_it_was_begun(
    as_person: Callable[..., Page], server: Server
) -> None:
    page = in_queue(as_person, server, "Said", 4)
    cursor, pane, field = (page.locator(c) for c in (".item[data-cursor]", "#pane", "#comment-new"))
    expect(pane).to_contain_text("Said output 0")
    bar, content = page.locator(".pads").bounding_box(), page.locator(".queue").bounding_box()
    assert bar
    assert content
    assert (bar["x"], bar["width"]) == (content["x"], content["width"])
    field.fill("of the first")
    page.get_by_role("button", name="Rate 4").click()  # the next one would take the comment
    expect(page.locator("#announce")).to_contain_text("Your comment is not sent yet")
    expect(cursor).to_contain_text("Said prompt 0")
    cursor.locator(".run__link").focus()
    page.keyboard.press("j")
    expect(pane).to_contain_text("Said output 1")
    expect(field).to_have_value("")
    page.keyboard.press("5")
    expect(pane).to_contain_text("Said output 2")
    expect(page.locator("[data-said]")).to_have_text(re.compile("^Run .*: your 5 is saved$"))
    expect(page.locator(".pads [aria-pressed=true]")).to_have_count(0)
    tab_to(page, "Comment on Run")
    has_no_faults(page)
    page.keyboard.press("Enter")
    expect(pane).to_contain_text("Said output 1")
    expect(field).to_be_focused()
    page.keyboard.type("of the second")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".comment__text")).to_have_text("of the second")
    expect(page.get_by_role("button", name="Rate 5", pressed=True)).to_be_visible()
    page.keyboard.press("k")
    expect(page.get_by_role("button", name="Rate 4", pressed=True)).to_be_visible()
    expect(field).to_have_value("of the first")
    field.press("Control+Enter")
    expect(page.locator(".comment__text")).to_have_text("of the first")
    query = (
        "SELECT r.prompt_preview AS run, c.text FROM playground_comment c"
        " JOIN playground_run r ON r.id = c.run_id WHERE c.text LIKE 'of the %' ORDER BY c.text"
    )
    assert [(row["run"], row["text"]) for row in server.rows(query)] == [
        ("Said prompt 0", "of the first"),
        ("Said prompt 1", "of the second"),
    ]


def second_held(page: Page) -> list[Route]:
    """Requests for the second run of the queue, which the test answers when it wants to."""
    held: list[Route] = []
    row = page.locator(".item").nth(1)
    page.route(f"**{row.get_attribute('data-row')}", lambda route: held.append(route))
    return held


def test_back_at_the_run_that_is_shown_no_other_takes_its_place(
    as_person: Callable[..., Page], server: Server
) -> None:
    """The answer for the next one is on its way when the cursor comes back."""
    page = in_queue(as_person, server, "Back", 2)
    cursor, pane = page.locator(".item[data-cursor]"), page.locator("#pane")
    expect(pane).to_contain_text("Back output 0")
    held = second_held(page)
    page.keyboard.press("j")
    expect(cursor).to_contain_text("Back prompt 1")
    page.keyboard.press("k")
    expect(cursor).to_contain_text("Back prompt 0")
    with page.expect_response(held[0].request.url):
        held[0].continue_()
    page.wait_for_timeout(200)
    expect(pane).to_contain_text("Back output 0")


def test_a_second_key_rates_no_run_that_is_not_shown_yet(
    as_person: Callable[..., Page], server: Server
) -> None:
    page = in_queue(as_person, server, "Twice", 2)
    row = page.locator(".item").nth(1)
    cursor, pane = page.locator(".item[data-cursor]"), page.locator("#pane")
    expect(pane).to_contain_text("Twice output 0")
    held = second_held(page)
    page.keyboard.press("3")
    expect(cursor).to_contain_text("Twice prompt 1")
    page.keyboard.press("4")
    expect(page.locator("#announce")).to_have_text("The next run is not there yet.")
    page.get_by_role("button", name="Skip").click()
    expect(row).to_have_attribute("data-state", "waiting")
    held[0].continue_()
    expect(pane).to_contain_text("Twice output 1")
    page.keyboard.press("4")
    expect(row).to_have_attribute("data-state", "rated")


def test_every_key_of_the_queue_does_its_work_and_none_while_typing(
    as_person: Callable[..., Page], server: Server
) -> None:
    page = in_queue(as_person, server, "Key", 3)
    cursor = page.locator(".item[data-cursor]")
    expect(cursor).to_contain_text("Key prompt 0")
    page.keyboard.press("j")
    expect(cursor).to_contain_text("Key prompt 1")
    expect(page.locator("[data-pane]")).to_contain_text("Key output 1")
    page.keyboard.press("k")
    expect(cursor).to_contain_text("Key prompt 0")
    expect(page.locator("[data-pane]")).to_contain_text("Key output 0")

    first_row_is_marked(page, server)

    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator("[data-selection] [data-count]")).to_have_text("2 selected")
    page.keyboard.press("c")
    page.wait_for_url("**/compare/?rows=*")
    expect(page.locator("h1")).to_have_text("Compare 2 runs")
    has_no_faults(page)


def test_history_rows_are_rated_labelled_selected_and_compared_by_key(
    as_person: Callable[..., Page], server: Server
) -> None:
    page = as_person("carl")
    page.goto(f"{server.url}/history/?whose=team&show=runs&q=triage")
    cursor = page.locator("[data-row][data-cursor]")
    page.keyboard.press("j")
    expect(cursor).to_have_count(1)
    row = page.locator(f"#{cursor.get_attribute('id')}")
    page.keyboard.press("5")
    expect(row.locator(".run__rate")).to_contain_text("/5")
    expect(page.locator("#announce")).to_contain_text("Rated 5")
    page.keyboard.press("l")
    page.keyboard.type("stage=chosen")
    page.keyboard.press("Enter")
    expect(row.locator(".run__labels")).to_contain_text("chosen")
    expect(page.locator("#triage-label")).to_be_hidden()  # keys are off while it is open
    page.keyboard.press("u")
    expect(row).not_to_contain_text("chosen")
    page.keyboard.press("x")
    page.keyboard.press("j")
    expect(row).not_to_have_attribute("data-cursor", "")
    page.keyboard.press("x")
    expect(page.locator("[data-selection] [data-count]")).to_have_text("2 selected")
    has_no_faults(page)
    page.keyboard.press("c")
    page.wait_for_url("**/compare/?rows=*")
    expect(page.locator("h1")).to_have_text("Compare 2 runs")


def judge_all(page: Page, votes: str) -> None:
    title = page.locator("[data-ballot-title]")
    for number, key in enumerate(votes, 1):
        expect(title).to_have_text(f"Pair {number} of {len(votes)}")
        if key == "L":  # for the longer text, wherever it stands
            longer = "1" if "winding" in page.locator("[data-output]").first.inner_text() else "2"
            page.keyboard.press(longer)
        else:
            page.keyboard.press(key)
    expect(title).to_have_text(f"You have judged all {len(votes)} pairs")


def panel_by_keyboard(maker: Page, server: Server) -> str:
    """Of four rows of the history; its address."""
    maker.goto(f"{server.url}/history/?q=panel+prompt")
    maker.keyboard.press("j")
    for _ in range(4):
        maker.keyboard.press("x")
        maker.keyboard.press("j")
    expect(maker.locator("[data-selection] [data-count]")).to_have_text("4 selected")
    tab_to(maker, "Blind panel")
    maker.keyboard.press("Enter")
    expect(maker.locator("#review-name")).to_be_focused()
    maker.keyboard.type("Which one would you send?")
    maker.keyboard.press("Enter")
    maker.wait_for_url("**/review/panels/*/")
    return maker.url


def test_a_blind_panel_with_two_judges_by_keyboard_alone(
    as_person: Callable[..., Page], server: Server
) -> None:
    address = panel_by_keyboard(as_person("anna"), server)
    first, second = as_person("rita"), as_person("dora")
    for page in (first, second):
        page.goto(address)
        expect(page.locator("h1")).to_have_text("Which one would you send?")
        assert not re.search("alpha|beta", page.content())
    has_no_faults(first)

    first.keyboard.press("1")
    expect(first.locator("[data-ballot-title]")).to_have_text("Pair 2 of 4")
    first.get_by_role("button", name="Undo last vote").press("Enter")
    expect(first.locator("[data-ballot-title]")).to_have_text("Pair 1 of 4")
    expect(first.locator("[data-ballot-title]")).to_be_focused()  # from where Tab goes on
    named = first.get_by_role("button", name="An output names its model")
    for said in ("true", "false"):
        named.press("Enter") if said == "true" else first.keyboard.press("g")
        expect(named).to_have_attribute("aria-pressed", said)
        told = expect(first.locator("#announce"))
        told.to_have_text(re.compile("gives its model away" if said == "true" else "Pair 1 of 4$"))
        expect(named).to_be_focused()
    judge_all(first, "LLL-")
    a_message_has_its_undo_for_itself(first)
    first.keyboard.press("u")
    expect(first.locator("[data-ballot-title]")).to_have_text("Pair 4 of 4")
    first.keyboard.press("0")
    second.keyboard.press("n")
    second.keyboard.type("Too 1ong")  # no vote while typing
    second.keyboard.press("Escape")
    judge_all(second, "LL0s")

    for page in (first, second):
        tab_to(page, "Reveal the names")
        page.keyboard.press("Enter")
        page.wait_for_url("**/result/", timeout=60_000)  # the ranking is a program of its own
    assert [
        row["note"] for row in server.rows("SELECT note FROM playground_ballot WHERE note <> ''")
    ] == ["Too 1ong"]
    first.reload(timeout=60_000)
    ranking = first.locator(".ranking tbody tr")
    expect(ranking.first).to_contain_text("beta-9b")
    numbers = ranking.first.locator("td.num").all_inner_texts()
    assert numbers[-4:] == ["5", "0", "2", "0"]
    votes = server.rows(
        "SELECT value, aside FROM playground_ballot WHERE value NOT IN ('', 'skip')"
    )
    assert {row["aside"] for row in votes} == {""}
    has_no_faults(first)


def a_message_has_its_undo_for_itself(page: Page) -> None:
    page.evaluate("void playground.toast('Deleted.', () => { window.undone = true; })")
    page.keyboard.press("u")
    assert page.evaluate("window.undone")
    expect(page.locator("[data-ballot-title]")).to_have_text("You have judged all 4 pairs")


def test_the_best_of_three_is_voted_for_by_key(
    as_person: Callable[..., Page], server: Server
) -> None:
    maker = as_person("anna")
    maker.goto(f"{server.url}/history/?q=trio+question")
    for _ in range(2):
        maker.keyboard.press("j")
        maker.keyboard.press("x")
    expect(maker.locator("strong[data-count]")).to_have_text("2 selected")
    tab_to(maker, "Blind panel")
    maker.keyboard.press("Enter")
    expect(maker.locator("#review-name")).to_be_focused()
    maker.keyboard.type("Who says it best?")
    expect(maker.get_by_label("All outputs of a prompt at once")).to_be_visible()
    maker.keyboard.press("Tab")
    maker.keyboard.press("ArrowDown")
    expect(maker.get_by_label("All outputs of a prompt at once")).to_be_checked()
    has_no_faults(maker)
    maker.keyboard.press("Enter")
    maker.wait_for_url("**/review/panels/*/")

    page = as_person("rita", width=390)
    page.goto(maker.url)
    title, outputs = page.locator("[data-ballot-title]"), page.locator("[data-output]")
    for number in (1, 2):
        expect(title).to_have_text(f"Round {number} of 2")
        expect(outputs).to_have_count(3)
        said = outputs.all_inner_texts()
        page.keyboard.press(str([text[:9] for text in said].index("Said by g") + 1))
    expect(title).to_have_text("You have judged all 2 rounds")
    page.keyboard.press("u")
    expect(title).to_have_text("Round 2 of 2")
    has_no_faults(page)
    page.keyboard.press("9")  # there is no ninth output
    page.keyboard.press("=")
    expect(title).to_have_text("You have judged all 2 rounds")
    tab_to(page, "Reveal the names")
    page.keyboard.press("Enter")
    page.wait_for_url("**/result/", timeout=60_000)
    first = page.locator(".ranking tbody tr").first
    expect(first).to_contain_text("gamma-70b")
    assert first.locator("td.num").all_inner_texts()[-4:] == ["1", "0", "1", "0"]
    has_no_faults(page)


def test_the_votes_of_a_new_panel_follow_a_click_on_its_ticks(
    as_person: Callable[..., Page], server: Server
) -> None:
    prepare(
        server,
        """
from playground.models import Label, RunLabel
anna = person("anna")
for name in "abc":
    make_run(anna, "Ticked prompt", f"Said by {name}", model=name)
ahead = make_run(anna, "Ticked prompt", "Said ahead", model="d", visibility="private")
RunLabel.objects.put([ahead.pk], Label.objects.named(team.pk, ["preview"]))
""",
    )
    page = as_person("anna")
    page.goto(f"{server.url}/review/new/?kind=panel&q=ticked")
    together = page.get_by_label("All outputs of a prompt at once")
    together.check()
    page.get_by_label("What do you ask the judges?").fill("Which?")
    tick = page.get_by_label("1 preview")
    for votes in ("6 votes", "3 votes"):
        tick.click()
        expect(page.get_by_label("Two at a time")).to_be_visible()
        expect(page.locator("#new-asks")).to_contain_text(votes)
        expect(together).to_be_checked()
        expect(tick).to_be_focused()
    assert page.get_by_label("What do you ask the judges?").input_value() == "Which?"
    assert not server.rows("SELECT id FROM playground_panel WHERE name = 'Which?'")
