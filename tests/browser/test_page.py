"""What the page does beside streaming: rights, restoring, the keyboard, accessibility."""

import json
import re
from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Route, expect

from tests.browser.steps import finished, run, text_of
from tests.fake_provider import (
    DONE,
    FIN,
    FakeProvider,
    Reply,
    error_reply,
    text_event,
    words,
)
from tests.server import Server, document

OpenPage = Callable[..., Page]

EVIL = '"><img src=x onerror=alert(1)><script>alert(2)</script>'


def number(page: Page, path: str, value: str) -> None:
    page.locator(f'[data-path="{path}"] [data-box]').first.fill(value)


def test_what_a_provider_or_a_person_writes_never_becomes_markup(
    page: Page, fake: FakeProvider, server: Server
) -> None:
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    fake.on("good", Reply(pieces=[text_event(EVIL), FIN, DONE]))
    fake.on(EVIL, error_reply(400, {"error": {"message": EVIL}}))
    [row] = server.rows("SELECT id FROM playground_connection WHERE name = 'fake'")
    columns = [{"connection": row["id"], "model": model} for model in ("good", EVIL)]
    form = document(*columns, prompt=EVIL, labels=[EVIL[:90]])
    comparison, [first, second] = server.user().run(form)
    for address in (f"comparisons/{comparison}/", f"runs/{first}/", f"runs/{second}/", "history/"):
        page.goto(f"{server.url}/{address}")
        page.wait_for_timeout(400)
        assert page.locator("img[src=x]").count() == 0
        assert "onerror" in (page.locator("main").text_content() or "")
    policy = page.request.get(server.url).headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy


def test_every_line_runs_in_the_direction_of_its_own_text(page: Page, fake: FakeProvider) -> None:
    fake.reply_with(
        Reply(pieces=[text_event("شغّل الأمر\n"), text_event("./run.sh -v\n"), FIN, DONE])
    )
    column = run(page)
    finished(column)
    out = column.locator(".out").first
    assert out.evaluate("(out) => getComputedStyle(out).direction") == "rtl"
    assert out.evaluate("(out) => getComputedStyle(out).unicodeBidi") == "plaintext"


def test_a_run_restores_every_value_into_the_form_and_runs_again_the_same(
    page: Page, fake: FakeProvider
) -> None:
    number(page, "temperature", "0")
    number(page, "top_p", "0.25")
    number(page, "max_tokens", "0")
    page.locator('[data-path="stop"] textarea').fill("\\n\\n\nC:\\\\new")
    finished(run(page, "Say w"))
    page.reload()
    page.get_by_role("textbox", name="Prompt", exact=True).press("Control+Enter")
    fake.wait_for_request(2)
    first, second = (post.body for post in fake.posts)
    assert first == second
    assert json.loads(first) == {
        "model": "m",
        "prompt": "Say w",
        "temperature": 0,
        "top_p": 0.25,
        "max_tokens": 0,
        "stop": ["\n\n", "C:\\new"],
        "stream": True,
    }


def test_an_untouched_form_sends_nothing_but_the_prompt(page: Page, fake: FakeProvider) -> None:
    finished(run(page, "Say w"))
    assert json.loads(fake.posts[0].body) == {"model": "m", "prompt": "Say w", "stream": True}
    fake.reply_with(words(0, None))
    column = run(page, "")
    finished(column)
    silent = "The model ended without writing any text. The prompt was empty."
    expect(column.locator("[data-silence]")).to_have_text(silent)
    assert json.loads(fake.posts[1].body) == {"model": "m", "prompt": "", "stream": True}


def test_a_set_parameter_is_marked_and_can_be_reset(page: Page, fake: FakeProvider) -> None:
    row = page.locator('[data-path="temperature"]')
    expect(row).to_have_attribute("data-state", "unset")
    expect(row).to_contain_text("not sent")
    number(page, "temperature", "0.7")
    expect(row).to_have_attribute("data-state", "set")
    assert row.locator("input[type=range]").input_value() == "0.7"
    row.get_by_role("button", name="Reset temperature").click()
    expect(row).to_have_attribute("data-state", "unset")
    row.locator("input[type=range]").focus()
    page.keyboard.press("ArrowRight")
    expect(row).to_have_attribute("data-state", "set")
    assert row.locator("[data-box]").input_value() != ""


def test_the_form_says_what_holds_without_a_limit_and_once_what_is_not_established(
    page: Page, server: Server
) -> None:
    limit = page.locator('[data-path="max_tokens"] [data-note]')
    unsure = page.locator("[data-unestablished]")
    expect(limit).to_have_text("Without it: no limit but the context.")
    expect(unsure).to_be_hidden()
    number(page, "max_completion_tokens", "9")  # which means the same
    expect(limit).to_be_hidden()
    dialect = "UPDATE playground_connection SET dialect = '{}' WHERE name = 'fake' RETURNING id"
    server.rows(dialect.format("other"))
    page.goto(server.url)
    expect(unsure).to_have_text(re.compile("^Which parameters the backend takes"))
    expect(page.locator("#params").get_by_text("not established")).to_have_count(1)
    server.rows(dialect.format("llama.cpp"))


def test_rows_of_a_closed_group_are_made_when_it_opens(page: Page, fake: FakeProvider) -> None:
    row = page.locator('[data-path="presence_penalty"]')
    expect(page.locator('[data-path="temperature"]')).to_be_visible()
    expect(row).to_have_count(0)
    page.locator("summary", has_text="Penalties").press("Enter")
    row.locator("[data-box]").fill("0.5")
    expect(row).to_have_attribute("data-state", "set")
    expect(page.locator("summary", has_text="Penalties")).to_contain_text("1 set")
    page.get_by_role("searchbox", name="Find a parameter").fill("dry")
    expect(page.locator("#params [data-path]:visible").first).to_contain_text("dry")
    # A form that is restored opens what is set in it, also for the browser's own search.
    finished(run(page, "Say w"))
    assert json.loads(fake.posts[0].body)["presence_penalty"] == 0.5
    page.reload()
    expect(row.locator("[data-box]")).to_have_value("0.5")
    expect(page.locator("#params [data-rows]")).not_to_have_count(0)
    page.keyboard.press("Control+f")
    expect(page.locator("#params [data-rows]")).to_have_count(0)


def test_help_shows_on_hover_and_by_a_key_in_the_field(page: Page) -> None:
    row = page.locator('[data-path="temperature"]')
    tip, box = row.locator("[role=tooltip]"), row.locator("[data-box]").first
    expect(tip).not_to_be_visible()
    row.locator(".help").hover()
    expect(tip).to_be_visible()
    page.mouse.move(0, 0)
    expect(tip).not_to_be_visible()
    box.focus()
    expect(box).to_have_accessible_description(re.compile("Temperature"))
    page.keyboard.press("F1")
    expect(tip).to_be_visible()
    assert not Axe().run(page).response["violations"]
    page.keyboard.press("Escape")
    expect(tip).not_to_be_visible()
    expect(box).to_be_focused()
    page.keyboard.press("F1")
    page.keyboard.press("Tab")  # from field to field
    expect(page.locator('[data-path="top_p"] input').first).to_be_focused()
    expect(tip).not_to_be_visible()


def test_a_bad_value_is_told_at_its_field_and_nothing_is_lost(
    page: Page, fake: FakeProvider
) -> None:
    number(page, "temperature", "0,7")
    box = page.get_by_role("textbox", name="Prompt", exact=True)
    box.fill("Not to be lost")
    box.press("Control+Enter")
    expect(page.locator('[data-path="temperature"]')).to_contain_text("Use a point")
    expect(page.locator("#problems")).to_contain_text("Nothing was sent")
    expect(box).to_have_value("Not to be lost")
    assert not fake.posts


def test_the_models_come_from_the_backend(page: Page, fake: FakeProvider) -> None:
    fake.models = ["tiny", "large"]
    page.locator("[data-model]").first.focus()
    for model in ("tiny", "large"):
        expect(page.locator(f'datalist option[value="{model}"]').first).to_be_attached()


@pytest.fixture
def no_default(page: Page, server: Server, fake: FakeProvider) -> Iterator[Page]:
    """The page where the connection has a list of models and no default."""
    change = "UPDATE playground_connection SET default_model = ? WHERE name = 'fake' RETURNING id"
    fake.models = ["parrot-1", "parrot-2"]
    server.rows(change, "")
    yield page
    server.rows(change, "m")


def test_a_column_without_a_model_gets_the_first_of_the_list(no_default: Page) -> None:
    page = no_default
    page.reload()
    model = page.locator("[data-model]")
    expect(model).to_have_value("parrot-1")
    page.get_by_role("button", name="Drafts").click()
    page.get_by_role("button", name="Start over").click()
    expect(model).to_have_value("parrot-1")
    model.fill("")
    model.press("Tab")
    page.get_by_role("button", name="Add column").click()
    expect(model.nth(1)).to_have_value("parrot-1")
    expect(model.first).to_have_value("")  # somebody took it out


def test_a_list_that_comes_late_does_not_mix_with_what_is_typed(no_default: Page) -> None:
    page = no_default
    held: list[Route] = []
    page.route("**/connections/*/models/", lambda route: held.append(route))
    page.reload()
    model = page.locator("[data-model]")
    model.click()
    held[0].continue_()
    expect(page.locator('datalist option[value="parrot-2"]')).to_be_attached()
    model.press_sequentially("parrot-1")
    expect(model).to_have_value("parrot-1")
    model.fill("")
    page.reload()
    model.click()
    model.press("Tab")
    held[-1].continue_()
    expect(model).to_have_value("parrot-1")


def test_two_columns_each_send_their_own_settings(page: Page, fake: FakeProvider) -> None:
    number(page, "temperature", "0.5")
    page.locator("[data-add-column]").click()
    page.locator("[data-model]").nth(1).fill("other")
    page.locator("[data-scopes] button", has_text="B").click()
    number(page, "temperature", "1")
    found = run(page, "Both")
    for position in range(2):
        finished(found.nth(position))
    sent = {post.json["model"]: post.json["temperature"] for post in fake.posts}
    assert sent == {"m": 0.5, "other": 1}
    # Two outputs without text do not “say the same”.
    fake.reply_with(words(0, None))
    silent = run(page, "Both")
    for position in range(2):
        finished(silent.nth(position))
        expect(silent.nth(position).locator("[data-silence]")).to_be_visible()
    expect(page.locator("[data-part-said]")).to_have_text("")


def test_everything_can_be_done_by_keyboard(page: Page, fake: FakeProvider, server: Server) -> None:
    page.goto(f"{server.url}/history/")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.goto(server.url)
    box = page.get_by_role("textbox", name="Prompt", exact=True)
    expect(box).to_be_focused()
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate(
                "document.activeElement.id || document.activeElement.dataset.model !== undefined"
                " && 'model' || document.activeElement.getAttribute('aria-label')"
                " || document.activeElement.textContent.trim().slice(0, 20)"
            )
        )
    assert {"model", "labels"} <= reached
    box.focus()
    page.keyboard.type("By keyboard")
    page.keyboard.press("Control+Enter")
    column = page.locator("article[data-run]")
    finished(column)
    assert text_of(column) == "w0 w1 w2 w3 w4 "


def test_a_blocked_socket_is_said_and_the_run_is_not_lost(
    page: Page, fake: FakeProvider, server: Server
) -> None:
    def elsewhere(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace('"/ws/"', '"/blocked/"'))

    page.route(f"{server.url}/", elsewhere)
    page.route(f"{server.url}/comparisons/", elsewhere)
    page.goto(server.url)
    run(page)
    expect(page.locator("#live-trouble")).to_contain_text("live connection failed", timeout=10_000)
    page.unroute(f"{server.url}/comparisons/")
    page.reload()
    assert text_of(page.locator("article[data-run]")) == "w0 w1 w2 w3 w4 "


def test_a_lost_login_keeps_the_prompt_and_says_how_to_go_on(
    page: Page, fake: FakeProvider, server: Server
) -> None:
    name = f"playground_{server.port}"
    box = page.get_by_role("textbox", name="Prompt", exact=True)
    box.fill("Typed before the login ended")
    page.context.clear_cookies(name=name)
    box.press("Control+Enter")
    expect(page.locator("#notice")).to_contain_text("login has ended")
    expect(box).to_have_value("Typed before the login ended")
    assert not fake.posts
    # Logged in again, with a key that the provider rejects: the line goes, and another comes.
    for cookie in server.user().http.cookies.jar:
        page.context.add_cookies(
            [{"name": cookie.name, "value": cookie.value or "", "url": server.url}]
        )
    done = server.manage("connection", "fake", "--key-stdin", stdin="sk-walker-0001")
    assert done.returncode == 0, done.stderr
    fake.reply_with(error_reply(401, {"error": {"message": "Not this one."}}))
    finished(run(page), "failed")
    expect(page.locator("#notice")).to_be_empty()
    page.reload()
    banner = page.locator("#connection-notices")
    expect(banner).to_contain_text("The provider rejected the key …0001")
    fake.reply_with(words(5))
    finished(run(page, "Again"))
    expect(banner).to_have_count(0)


def test_another_login_in_a_second_tab_does_not_lose_the_prompt(
    page: Page, fake: FakeProvider, server: Server
) -> None:
    box = page.get_by_role("textbox", name="Prompt", exact=True)
    box.fill("Typed before the token changed")
    link = server.manage("login_link", "admin").stdout.split("Open ")[-1].split()[0]
    other = page.context.new_page()
    other.goto(link)
    other.close()
    box.press("Control+Enter")
    page.wait_for_timeout(500)
    expect(box).to_have_value("Typed before the token changed")
    ran = bool(fake.posts)
    assert ran or "again" in (page.locator("#notice").text_content() or "").lower()


def test_a_prompt_with_nul_and_half_a_character_is_kept_or_refused_never_a_crash(
    page: Page, fake: FakeProvider, server: Server
) -> None:
    [row] = server.rows("SELECT id FROM playground_connection WHERE name = 'fake'")
    person = server.user()
    for prompt in ("a\0b", "x\ud83d", "\ud83d\ude00"):
        form = json.dumps(document({"connection": row["id"]}, prompt=prompt, labels=["a\0b"]))
        assert person.post("/comparisons/", document=form).status_code in (200, 422)
        form = json.dumps(document({"connection": row["id"]}, prompt=prompt))
        assert person.post("/comparisons/", document=form).status_code == 200
    assert "Traceback" not in server.output


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_nothing(
    open_page: OpenPage, fake: FakeProvider, server: Server, theme: str, width: int
) -> None:
    fake.clear()
    fake.reply_with(words(5, None))
    page = open_page(width, color_scheme=theme)
    page.goto(server.url)
    states = {"idle": lambda: None, "done": lambda: finished(run(page))}
    found = {}
    for name, go in states.items():
        go()
        found[name] = Axe().run(page).response["violations"]
    run_page = page.locator("article[data-run]").first.get_attribute("data-url")
    for address in ("/history/", run_page, "/password/"):
        page.goto(f"{server.url}{address}")
        found[str(address)] = Axe().run(page).response["violations"]
    page.context.clear_cookies()
    page.goto(f"{server.url}/login/")
    found["login"] = Axe().run(page).response["violations"]
    assert not {name: [one["id"] for one in all_] for name, all_ in found.items() if all_}
