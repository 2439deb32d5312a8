"""Every page, state, width and theme as a picture, for the eye: `make screenshots`.

    python -m tests.browser.screenshots [FOLDER] [--axe] [--only compose-idle | --pictures]

The best of them are copied into docs/pictures, and with `--pictures` no others are taken.
Starts a playground of its own with a backend that works and one that does not. With `--axe`,
every picture's page is checked too and what breaks a rule is printed.
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Error, Page, sync_playwright

from tests.browser import around, past, pictures, reviewed, sweeps
from tests.browser.conftest import ARGUMENTS, chromium_path
from tests.browser.steps import number, parameters
from tests.fake_provider import (
    CREATED,
    FakeProvider,
    Received,
    Reply,
    by,
    error_reply,
    json_reply,
    spoken,
)
from tests.fake_services import transcript
from tests.server import Server

SIZES = {1440: 900, 1024: 768, 390: 844}
THEMES = ("light", "dark")
PROMPT = """The following is a short field guide entry for beginners.
Keep to what can be checked, and say where something is uncertain.

Subject: common kingfisher
Habitat: slow rivers, lakes

Entry:"""


def idle(page: Page, root: str) -> None:
    page.goto(root)


def running(page: Page, root: str) -> None:
    page.goto(root)
    page.fill("#prompt", PROMPT)
    number(page, "max_tokens", "400")
    number(page, "temperature", "0.7")
    page.click("[data-add-column]")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".out:not(:empty)", timeout=20_000)
    page.wait_for_timeout(1_500)


def done(page: Page, root: str) -> None:
    page.goto(root)
    page.fill("#prompt", PROMPT)
    number(page, "max_tokens", "60")
    number(page, "seed", "42")
    page.fill("#labels", "task=field-guide")
    page.press("#labels", "Enter")
    page.click("[data-add-column]")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector('.col[data-status="completed"] >> nth=1', timeout=30_000)
    page.wait_for_timeout(200)


def failed(page: Page, root: str) -> None:
    """A model that no backend has, or whatever else the backend says to it."""
    page.goto(root)
    page.fill("#prompt", PROMPT)
    options = page.eval_on_selector_all(
        "[data-connection] option", "all => all.map(o => [o.textContent, o.value])"
    )
    broken = [value for name, value in options if "broken" in name]
    if broken:
        page.select_option("[data-connection]", broken[0])
    page.fill("[data-model]", "no-such-model")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(
        '.col:not([data-status="running"],[data-status="queued"])', timeout=30_000
    )


def refused(page: Page, root: str) -> None:
    """What the form refuses: nothing was sent."""
    page.goto(root)
    page.fill("#prompt", PROMPT)
    number(page, "temperature", "hot")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#problems .notice", timeout=10_000)


def messages(page: Page, root: str) -> None:
    page.goto(root)
    page.click('[data-operation="chat"]')
    page.click("#t-mode-messages")
    page.fill("[data-content]", "Which of these two rivers is longer?")
    page.click("[data-add-message]")


def prompt_list(page: Page, root: str) -> None:
    page.goto(root)
    page.click("#t-mode-list")
    page.fill("[data-prompts] textarea", "Field guide entry. Subject: common kingfisher. Entry:")
    page.click("[data-add-prompt]")
    page.fill("[data-prompts] textarea >> nth=1", "Field guide entry. Subject: grey heron. Entry: ")
    page.wait_for_timeout(900)


def token_ids(page: Page, root: str) -> None:
    page.goto(root)
    page.click("#t-mode-ids")
    page.fill("#ids", "504 1695 314 253 1890 2175 5097 4180 327")
    page.wait_for_selector(".ids span")


def tools(page: Page, root: str) -> None:
    page.goto(root)
    page.click('[data-operation="chat"]')
    page.click("#t-mode-messages")
    page.fill("[data-content]", "How high is the water at Basel?")
    page.click("[data-add-message]")
    page.click("[data-add-calls]:visible")
    page.click("[data-add-message]")
    page.select_option("[data-messages] [data-role] >> nth=2", "tool")
    page.fill("[data-call-id] >> nth=2", "call_1")
    page.fill("[data-content] >> nth=2", '{"metres": 5.4}')


def editors(page: Page, root: str) -> None:
    """Chips, token biases, JSON with an error, a choice, what the column would not do."""
    page.goto(root)
    page.fill("#prompt", PROMPT + " ")
    with parameters(page):
        page.evaluate("document.querySelectorAll('[data-group]').forEach(each => each.open = true)")
        page.fill('[data-path="stop"] textarea', "\\n\\n\nSubject:\n  two spaces")
        page.fill('[data-path="logit_bias"] [data-box]', "kingfisher bird")
        page.press('[data-path="logit_bias"] [data-box]', "Enter")
        page.wait_for_selector("[data-bias-rows] > *")
        page.fill('[data-path="tools"] textarea', '[\n  {"type": "function"}\n  {}\n]')
        page.select_option('[data-path="tool_choice"] select', "{function}")
        page.fill('[data-path="tool_choice"] [data-choice-name]', "water_level")
        page.wait_for_timeout(1_500)
        page.locator('[data-path="stop"]').evaluate("each => each.scrollIntoView()")
        page.wait_for_timeout(100)
    if page.viewport_size and page.viewport_size["width"] < 900:
        page.click('[popovertarget="params"]:not([popovertargetaction])')


def code(page: Page, root: str) -> None:
    page.goto(root)
    page.fill("#prompt", PROMPT)
    number(page, "max_tokens", "40")
    page.click("[data-add-column]")
    page.click("[data-view-code]")
    page.wait_for_selector("#code-dialog .code")


def paste(page: Page, root: str) -> None:
    page.goto(root)
    page.click("[data-paste]")
    page.fill("#paste-text", "wget https://example.org")
    page.click("[data-apply]")
    page.wait_for_selector("[data-paste-error]:not([hidden])")


def pasted(page: Page, root: str) -> None:
    page.goto(root)
    page.click("[data-paste]")
    page.fill("#paste-text", '{"model": "m", "prompt": "Hi", "stop": "x", "novelty": 1}')
    page.click("[data-apply]")
    page.wait_for_selector(".toast")
    page.wait_for_timeout(800)


def tool_call(page: Page, root: str) -> None:
    """An answer that calls a tool; with probabilities, and routed as Pulze does it."""
    page.goto(root)
    page.click('[data-operation="chat"]')
    page.fill("#prompt", "How high is the water at Basel?")
    page.fill("[data-model]", "tool-caller")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector('.col[data-status="completed"]', timeout=30_000)
    page.wait_for_timeout(300)


def matrix(page: Page, root: str) -> None:
    page.goto(root)
    page.click("#t-mode-list")
    page.fill("[data-prompts] textarea", "Subject: common kingfisher. Entry:")
    page.click("[data-add-prompt]")
    page.fill("[data-prompts] textarea >> nth=1", "Subject: grey heron. Entry:")
    page.fill("[data-model]", "matrix")
    number(page, "n", "2")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector('.col[data-status="completed"]', timeout=30_000)
    page.wait_for_timeout(300)


def undoable(page: Page, root: str) -> None:
    """All that match were labelled; the job offers the way back."""
    page.goto(urljoin(root, "history/?q=label:gold"))
    page.get_by_label("All shown").check()
    page.keyboard.press("Shift+A")
    page.keyboard.press("l")
    page.keyboard.type("checked")
    page.keyboard.press("Enter")
    page.wait_for_selector("#bulk-said [data-undo-job]")


def trashed(page: Page, root: str) -> None:
    page.goto(urljoin(root, "history/?q=label:gold"))
    page.keyboard.press("Escape")  # a selection outlives its page
    for _ in range(2):
        page.keyboard.press("j")
        page.keyboard.press("Delete")
        page.wait_for_selector(".toast")
    page.goto(urljoin(root, "trash/"))
    page.wait_for_selector(".trash__row")


def searched(page: Page, root: str) -> None:
    done(page, root)
    page.goto(urljoin(root, "history/?whose=team&q=label:task+kingfisher"))
    page.wait_for_selector(".facets__list")


def previewed(page: Page, root: str) -> None:
    done(page, root)
    failed(page, root)
    page.goto(urljoin(root, "history/"))
    page.wait_for_selector(".facets__list")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.wait_for_timeout(500)


def completed(page: Page, root: str) -> None:
    done(page, root)
    page.goto(urljoin(root, "history/"))
    page.keyboard.press("/")
    page.keyboard.type("label:")
    page.wait_for_selector("#offers li")
    page.keyboard.press("ArrowDown")


def record(page: Page, root: str) -> None:
    tool_call(page, root)
    page.click(".col__acts a")
    page.wait_for_selector("#sent-title")


def written(page: Page, root: str) -> None:
    """Two columns of Markdown, in the view that was chosen last."""
    page.goto(root)
    page.fill("#prompt", PROMPT)
    page.fill("[data-model]", "writer")
    number(page, "temperature", "0.2")
    page.click("[data-add-column]")
    page.fill("[data-model] >> nth=1", "writer-2")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector('.col[data-status="completed"] >> nth=1', timeout=30_000)


def view(name: str) -> Callable[[Page, str], None]:
    def go(page: Page, root: str) -> None:
        written(page, root)
        page.locator(f'[data-view="{name}"]').first.click(modifiers=["Shift"])
        page.wait_for_selector(f'[data-panel="{name}"]:not(:empty)')
        page.locator(".outputs").scroll_into_view_if_needed()
        page.wait_for_timeout(400)

    return go


def marks(page: Page, root: str) -> None:
    written(page, root)
    page.locator('[data-view="text"]').first.click(modifiers=["Shift"])
    for name in ("given", "marks"):
        if page.get_attribute(f'[data-view-switch="{name}"]', "aria-pressed") == "false":
            page.click(f'[data-view-switch="{name}"]')
    page.wait_for_selector("[data-given] .out__prompt")
    page.locator(".outputs").scroll_into_view_if_needed()
    page.wait_for_timeout(200)
    page.evaluate("localStorage.removeItem('views')")


def replay(page: Page, root: str) -> None:
    """The picture of a stream with a stall, in the middle of its replay."""
    page.goto(root)
    page.fill("#prompt", PROMPT)
    page.fill("[data-model]", "halting")
    page.click("[data-add-column]")
    page.fill("[data-model] >> nth=1", "steady")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("[data-replay]", timeout=30_000)
    page.locator("[data-scrub]").evaluate(
        "e => { e.value = e.max * 0.6; e.dispatchEvent(new Event('input', {bubbles: true})); }"
    )
    page.wait_for_selector(".out--replay >> nth=1")
    page.locator("[data-replay]").scroll_into_view_if_needed()
    page.wait_for_timeout(200)


def diff(page: Page, root: str) -> None:
    written(page, root)
    page.click("[data-diff]")
    page.wait_for_selector("#difference ins")


def columns(count: int) -> Callable[[Page, str], None]:
    """So many columns side by side, some with settings of their own."""

    def go(page: Page, root: str) -> None:
        page.goto(root)
        page.fill("#prompt", PROMPT)
        number(page, "max_tokens", "60")
        for _ in range(count - 1):
            page.click("[data-add-column]")
        for at in range(1, count, 2):
            page.click(f"[data-pick] >> nth={at}")
        if count > 1:
            number(page, "temperature", "0.2")
            with parameters(page):
                page.click("[data-scopes] button >> nth=0")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector(f'.col[data-status="completed"] >> nth={count - 1}', timeout=60_000)
        page.wait_for_timeout(300)

    return go


def chosen(page: Page, root: str) -> None:
    """Three of five columns edited together; they differ."""
    page.goto(root)
    page.fill("#prompt", PROMPT)
    number(page, "temperature", "0.7")
    for _ in range(4):
        page.click("[data-add-column]")
    page.click("[data-pick] >> nth=1")
    number(page, "temperature", "0.2")
    for at in (3, 4):
        page.click(f"[data-pick] >> nth={at}")


def column_menu(page: Page, root: str) -> None:
    chosen(page, root)
    if page.locator("#params:popover-open").count():
        page.keyboard.press("Escape")
    page.click("[data-column-menu] >> nth=1")


def overview(page: Page, root: str) -> None:
    chosen(page, root)
    if page.locator("#params:popover-open").count():
        page.keyboard.press("Escape")
    page.click("[data-overview]")


def presets(page: Page, root: str) -> None:
    page.goto(root)
    number(page, "temperature", "0")
    _save_preset(page, "Greedy")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")  # the sheet of a phone
    number(page, "top_p", "0.9")
    _save_preset(page, "Field guide")
    page.click('[aria-label="Share Field guide with the team"]')
    page.wait_for_selector('[aria-checked="true"] >> text=Shared')


def _save_preset(page: Page, name: str) -> None:
    sheet = page.locator('[popovertarget="params"]:not([popovertargetaction])')
    if sheet.is_visible():
        sheet.click()
    page.click("[data-presets]")
    page.fill("#preset-name", name)
    page.press("#preset-name", "Enter")
    page.wait_for_selector(f'[data-preset][data-name="{name}"]')


def one_again(page: Page, root: str) -> None:
    """The second of two columns ran again; the first one stays."""
    columns(2)(page, root)
    page.click("[data-run-column] >> nth=1")
    page.wait_for_selector('.col a:text("earlier")')
    page.wait_for_selector('.col[data-status="completed"] >> nth=1')


def conflict(page: Page, root: str) -> None:
    """Another tab was faster."""
    page.goto(root)
    page.fill("#prompt", PROMPT)
    page.wait_for_selector('[data-draft-state]:has-text("Saved")', state="attached")
    other = page.context.new_page()
    other.goto(root)
    other.fill("#prompt", PROMPT + " A small")
    other.wait_for_selector('[data-draft-state]:has-text("Saved")', state="attached")
    other.wait_for_timeout(1500)
    other.close()
    page.fill("#prompt", PROMPT + " A bright")
    page.wait_for_selector("#draft-note .notice")


def history(page: Page, root: str) -> None:
    page.goto(urljoin(root, "history/"))


def run(page: Page, root: str) -> None:
    page.goto(urljoin(root, "history/"))
    page.click(".run__each a >> nth=0")
    page.wait_for_selector(".col")


def visit(path: str) -> Callable[[Page, str], None]:
    def go(page: Page, root: str) -> None:
        page.goto(urljoin(root, path))
        page.wait_for_load_state("networkidle")

    return go


def admin(path: str) -> Callable[[Page, str], None]:
    return lambda page, root: void(page.goto(urljoin(root, f"admin/{path}")))


def void(_: object) -> None:
    """For a lambda that has nothing to give back."""


def connection(page: Page, root: str, name: str, key: str) -> None:
    page.goto(urljoin(root, "admin/playground/connection/"))
    page.get_by_role("link", name=name, exact=True).click()
    page.fill("#id_api_key", key)
    page.fill("#id_key_expires", str(date.today() + timedelta(days=20)))
    page.click("[name=_test]")
    page.wait_for_selector("#test .adm__result")


def admin_test(page: Page, root: str) -> None:
    """A backend that refuses the one token."""
    connection(page, root, "to a broken one", "sk-example-0000001")


def admin_rotation(page: Page, root: str) -> None:
    """Two keys, one after the other: the first retires."""
    connection(page, root, "local", "sk-example-0000001")
    connection(page, root, "local", "sk-example-0000002")


def login(page: Page, root: str) -> None:
    page.context.clear_cookies()
    page.goto(urljoin(root, "login/"))


def likely(page: Page, root: str) -> None:
    """Three columns with token probabilities, recorded from the real llama.cpp and as of vLLM."""
    page.goto(root)
    page.fill("#prompt", "The common kingfisher is a small bird. It lives")
    number(page, "logprobs", "5")
    for position, model in enumerate(PROBABLE):
        if position:
            page.click("[data-add-column]")
        page.fill(f"[data-model] >> nth={position}", model)
    page.keyboard.press("Control+Enter")
    for position in range(len(PROBABLE)):
        page.wait_for_selector(f'.col[data-status="completed"] >> nth={position}', timeout=30_000)
    page.wait_for_selector(".part--over")
    page.locator("#outputs").evaluate("each => each.scrollIntoView()")


def heat(page: Page, root: str) -> None:
    likely(page, root)
    for position in range(2):
        page.locator('button[data-view="probabilities"]').nth(position).click()
    page.wait_for_selector(".tokens:not([aria-busy]) >> nth=1")


def alternatives(page: Page, root: str) -> None:
    heat(page, root)
    page.locator(".col .tok").nth(2).click()
    page.wait_for_selector("#alternatives button.alt")
    page.locator("#alternatives button.alt").nth(1).click()


def lens(page: Page, root: str) -> None:
    likely(page, root)
    page.click("[data-lens-toggle]")
    page.wait_for_selector(".lens__table")
    page.click('[data-lens-step="1"]')
    page.click('[data-lens-step="1"]')
    page.locator("#lens").evaluate("each => each.scrollIntoView()")


def sampling(page: Page, root: str) -> None:
    lens(page, root)
    page.click(".lens__sampling summary")
    page.fill('[data-lens-set="top_k"][type=number]', "2")
    page.locator("#lens").evaluate("each => each.scrollIntoView()")


def export(page: Page, root: str) -> None:
    done(page, root)
    page.goto(f"{root}export/?q=kingfisher&whose=mine")


def exported(page: Page, root: str) -> Path:
    """The state after a download; the file."""
    export(page, root)
    with page.expect_download() as begun:
        page.click("form .btn--primary")
    page.wait_for_selector("[data-state=finished]", timeout=20_000)
    return Path(begun.value.path())


def export_done(page: Page, root: str) -> None:
    exported(page, root)


def import_done(page: Page, root: str) -> None:
    """With a run that is known and a line that is wrong."""
    content = exported(page, root).read_bytes() + b"{no JSON\n"
    page.goto(f"{root}import/")
    page.set_input_files("#file", {"name": "runs.jsonl", "mimeType": "", "buffer": content})
    page.click("form .btn--primary")
    page.wait_for_selector("[data-state=finished]", timeout=20_000)


def import_refused(page: Page, root: str) -> None:
    page.goto(f"{root}import/")
    page.set_input_files("#file", {"name": "photo.png", "mimeType": "", "buffer": b"PNG"})
    page.click("form .btn--primary")


# Models by the recorded answers that they give.
PROBABLE = {
    "kingfisher-135m": "llama_stream_logprobs_words",
    "kingfisher-7b": "vllm_legacy_logprobs_words",
    "kingfisher-135m-warm": "llama_stream_logprobs_warm",
}


# The login comes last: it ends the session of its browser.
def stats(query: str) -> Callable[[Page, str], None]:
    def go(page: Page, root: str) -> None:
        page.goto(urljoin(root, f"stats/{query}"))

    return go


def stats_table(page: Page, root: str) -> None:
    page.goto(urljoin(root, "stats/?period=7d"))
    page.locator(".beside summary").first.click()
    page.locator("#table-connection").scroll_into_view_if_needed()


STATES: dict[str, Callable[[Page, str], None]] = {
    "compose-idle": idle,
    "compose-messages": messages,
    "compose-list": prompt_list,
    "compose-ids": token_ids,
    "compose-tools": tools,
    "compose-editors": editors,
    "compose-code": code,
    "compose-paste": paste,
    "compose-pasted": pasted,
    "compose-calls": tool_call,
    "compose-matrix": matrix,
    "views-markdown": view("markdown"),
    "views-json": view("json"),
    "views-sent": view("sent"),
    "views-marks": marks,
    "views-diff": diff,
    "views-replay": replay,
    "compose-running": running,
    "compose-failed": failed,
    "compose-refused": refused,
    "compose-done": done,
    "columns-1": columns(1),
    "columns-2": columns(2),
    "columns-3": columns(3),
    "columns-8": columns(8),
    "columns-16": columns(16),
    "columns-chosen": chosen,
    "columns-menu": column_menu,
    "columns-table": overview,
    "columns-again": one_again,
    "presets": presets,
    "drafts-conflict": conflict,
    **sweeps.STATES,
    "tokens-part": likely,
    "tokens-heat": heat,
    "tokens-alternatives": alternatives,
    "tokens-lens": lens,
    "tokens-sampling": sampling,
    "history": history,
    "history-search": searched,
    "history-preview": previewed,
    "history-complete": completed,
    "history-undo": undoable,
    "trash": trashed,
    "labels": visit("labels/"),
    "stats": stats("?period=30d"),
    "stats-filtered": stats("?q=label:gold&period=7d"),
    "stats-nothing": stats("?q=nosuchword"),
    "stats-table": stats_table,
    "export": export,
    "export-done": export_done,
    "import-done": import_done,
    "import-refused": import_refused,
    **reviewed.STATES,
    "run": run,
    "run-record": record,
    "admin-overview": admin(""),
    "admin-add": admin("playground/connection/add/"),
    "admin-test": admin_test,
    "admin-rotation": admin_rotation,
    "admin-list": admin("playground/connection/"),
    "admin-audit": admin("playground/auditentry/"),
    "admin-limits": admin("playground/limit/add/"),
    "admin-runs": admin("playground/run/"),
    "admin-people": admin("playground/user/"),
    "admin-person": admin("playground/user/1/change/"),
    "admin-invitation": admin("playground/invitation/add/"),
    "people-team": visit("team/"),
    "people-sessions": visit("sessions/"),
    "people-two-factor": visit("two-factor/"),
    "people-password": visit("password/"),
    "people-confirm": visit("confirm/"),
    **{name: go for name, go in around.STATES.items() if name != "login-wrong"},
    "login": login,
    "login-wrong": around.wrong_login,
}


def check(page: Page, name: str) -> int:
    """Prints what axe finds; how much it was."""
    found: list[dict[str, Any]] = Axe().run(page).response["violations"]
    for violation in found:
        targets = [node["target"] for node in violation["nodes"][:3]]
        print(f"{name}: {violation['id']} ({violation['impact']}): {targets}")
    return len(found)


def shoot(
    browser: Browser,
    cookies: list[Any],
    root: str,
    folder: Path,
    only: str,
    axe: bool,
    few: bool,
    forget: Callable[[], object],
) -> int:
    problems = 0
    for width, height in SIZES.items():
        for theme in THEMES:
            context: BrowserContext = browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme=theme,  # type: ignore[arg-type]
                has_touch=width < 500,
            )
            context.add_cookies(cookies)
            for name, go in STATES.items():
                if not re.search(only, name):
                    continue
                if few and not pictures.wanted(name, width, theme):
                    continue
                title = f"{name}-{width}-{theme}"
                page = context.new_page()  # what a tab remembers goes with it
                page.on("console", lambda m: print(m.type, m.text) if m.type == "error" else None)
                page.on("pageerror", lambda error: print("page error", error))
                page.wait_for_timeout(300)
                while forget():  # the page before writes its draft as it goes
                    page.wait_for_timeout(300)
                try:
                    go(page, root)
                except (Error, AssertionError) as error:  # the other pictures are made all the same
                    print(f"{title}: not reached: {str(error).splitlines()[0]}")
                    problems += 1
                page.wait_for_timeout(300)
                page.screenshot(path=folder / f"{title}.png")
                if axe:
                    problems += check(page, title)
                page.close()
            context.close()
    return problems


ENTRY = (
    " The common kingfisher is a small, bright bird that hunts from a low perch above clear water."
    " It waits, tilts its head, and dives for fish no longer than your finger. Look for a flash of"
    " blue and orange close to the surface; it is often gone before you have raised your"
    " binoculars.\n\n"
)


def entry(rate: float, times: int) -> Reply:
    """The sentence, word by word, at `rate` words a second."""
    return spoken(ENTRY * times, rate, prompt_tokens=58)


def tokenized(request: Received) -> Reply:
    words = re.findall(r"\s*\S+|\s+", request.json["content"])
    return json_reply({"tokens": [{"id": 500 + len(word), "piece": word} for word in words]})


def detokenized(request: Received) -> Reply:
    words = {504: "The", 1695: " following", 314: " is", 253: " a", 1890: " short"}
    [number] = request.json["tokens"]
    return json_reply({"content": words.get(number, f" word{number}")})


def called() -> Reply:
    """A chat answer with a tool call, probabilities and Pulze's metadata."""
    top = [{"token": token, "logprob": p} for token, p in ((" I", -0.2), (" The", -1.9))]
    function = {"name": "water_level", "arguments": '{"place": "Basel", "unit": "m"}'}
    choice = {
        "index": 0,
        "finish_reason": "tool_calls",
        "message": {
            "role": "assistant",
            "content": " I look it up.\n",
            "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
        },
        "logprobs": {"content": [{**each, "top_logprobs": top} for each in top]},
    }
    costs = {"total_tokens": 0.00066, "prompt_tokens": 0.0004, "completion_tokens": 0.00026}
    metadata = {
        "app_id": "a1",
        "model": {"model": "mistral-small", "provider": "mistral", "namespace": "mistral/small"},
        "costs": costs,
        "cost_savings": costs,
        "latency": 0.601,
        "score": 0.93,
        "scores": {"best_models": [{"mistral/small": 0.93}, {"openai/gpt-4": 0.91}]},
        "search_results": {"items": [{"title": "Pegel Basel", "url": "https://example.org"}]},
        "retries": 0,
        "status_code": 200,
    }
    usage = {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17}
    whole = {"object": "chat.completion", "model": "tool-caller", "choices": [choice]}
    return json_reply({**whole, "created": CREATED, "usage": usage, "metadata": metadata})


def halting() -> Reply:
    reply = entry(60.0, 2)
    pieces = list(reply.pieces)
    return Reply(pieces=[*pieces[:60], 0.6, *pieces[60:]])


GUIDE = """ Entry for beginners

## Common kingfisher

A **small**, bright bird of _slow rivers_ and lakes.

| feature | seen |
|---|---|
| back | vivid blue |
| breast | warm orange |

1. Listen for a thin, piercing whistle.
2. Look low over the water.

> Often gone before you have raised your binoculars.

```json
{"species": "Alcedo atthis", "habitat": ["rivers", "lakes"], "length_cm": 16}
```

More in the [guide](https://birds.example.org/kingfisher). ![plate](https://birds.example.org/1.png)
<|im_end|>
"""


def guide(text: str) -> Reply:
    return spoken(text, prompt_tokens=58)


def four() -> Reply:
    birds = ("kingfisher", "kingfisher", "heron", "heron")
    choices = [
        {"index": i, "text": f" A {bird} stands by the water.", "finish_reason": "stop"}
        for i, bird in enumerate(birds)
    ]
    return json_reply({"object": "text_completion", "model": "matrix", "choices": choices})


def backends(works: FakeProvider, broken: FakeProvider) -> None:
    """What each model of the pictures writes, and one backend that refuses everything."""
    works.reply_with(
        lambda request: by(
            request.json["model"],
            entry(20.0, 7) if request.json.get("max_tokens") == 400 else entry(200.0, 1),
        )
    )
    works.on_path("/tokenize", tokenized)
    works.on_path("/detokenize", detokenized)
    works.on("tool-caller", called())
    works.on("matrix", four())
    for name, recorded in PROBABLE.items():
        works.on(name, by(name, transcript(recorded)))
    works.on("writer", by("writer", guide(GUIDE)))
    works.on("steady", by("steady", entry(40.0, 2)))
    works.on("halting", by("halting", halting()))
    other = GUIDE.replace("vivid", "bright").replace("Often gone", "It is gone")
    works.on("writer-2", by("writer-2", guide(other)))
    own = ["writer", "writer-2", "steady", "halting", "tool-caller", "matrix", *PROBABLE]
    works.models = ["field-guide-7b", "field-guide-1b", *sweeps.MODELS, *own]
    refusal = "body.temperature: ensure this value is less than or equal to 1"
    broken.reply_with(error_reply(422, {"detail": [{"loc": ["body"], "msg": refusal}]}))


def connect(server: Server, works: FakeProvider, broken: FakeProvider) -> None:
    server.connect("local", works.url, "--model", "field-guide-7b")
    server.connect("to a broken one", broken.url)
    server.connect("six at once", works.url, "--model", "sweeper", "--parallel", "6")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("build/screenshots"))
    parser.add_argument("--only", default="", help="states whose name holds this")
    parser.add_argument("--axe", action="store_true")
    parser.add_argument("--pictures", action="store_true", help="those of the documents alone")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as data,
        FakeProvider() as works,
        FakeProvider() as broken,
        Server(Path(data)) as server,
        sync_playwright() as playwright,
    ):
        backends(works, broken)
        connect(server, works, broken)
        sweeps.prepare(works)
        reviewed.begin(server)
        around.begin(server)
        if not options.only or "stats" in options.only:
            past.make_past(server)
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=ARGUMENTS)
        context = browser.new_context()
        context.new_page().goto(server.link)
        problems = shoot(
            browser,
            context.cookies(),
            f"{server.url}/",
            options.folder,
            options.only,
            options.axe,
            options.pictures,
            # Every picture begins with an empty form.
            lambda: server.rows("DELETE FROM playground_draft RETURNING id"),
        )
        browser.close()
    if options.pictures or not options.only:
        pictures.keep(options.folder)
    print(f"The pictures are in {options.folder}.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
