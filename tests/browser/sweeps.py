"""Pictures of many requests of one press: variables, the grid, repeats, tables."""

import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.steps import number, parameter, parameters
from tests.fake_provider import CREATED, FakeProvider, Received, Reply, by, json_reply, spoken

ROWS = """text,label
"The kingfisher was there at dawn, and I was glad",joy
"Nobody had seen the heron for weeks",loss
"We waited, cold and wet, and then went home",tired
"""
SAID = (
    " A small, bright bird that hunts from a low perch above clear water.",
    " A small, bright bird that waits above the water and dives for fish.",
    " A small bird of rivers; look for a flash of blue close to the surface.",
)
MODELS = ["sweeper", "classifier"]
FEELINGS = {"joy": (0.83, 0.09, 0.05), "loss": (0.07, 0.81, 0.08), "tired": (0.12, 0.3, 0.55)}


def swept(request: Received) -> Reply:
    """One of three sentences, rather the first at low temperatures, at thirty words a second."""
    body = request.json
    heat = float(body.get("temperature", 1)) + float(body.get("top_p", 1))
    order = sum(map(ord, str(id(request)))) % 10
    text = SAID[min(2, int(heat * order / 8))]
    return by("sweeper", spoken(text, 30, prompt_tokens=9))


def classified(request: Received) -> Reply:
    """One token with its candidates, by the label that stands in the prompt."""
    label = next((name for name in FEELINGS if name in request.json["prompt"]), "joy")
    top = {
        f" {name}": math.log(share) for name, share in zip(FEELINGS, FEELINGS[label], strict=True)
    }
    best = max(top, key=lambda token: top[token])
    logprobs = {"tokens": [best], "token_logprobs": [top[best]], "top_logprobs": [top]}
    choice = {"index": 0, "text": best, "finish_reason": "length", "logprobs": logprobs}
    usage = {"prompt_tokens": 14, "completion_tokens": 1, "total_tokens": 15}
    whole: dict[str, Any] = {"object": "text_completion", "model": "classifier", "usage": usage}
    return json_reply({**whole, "created": CREATED, "choices": [choice]})


def prepare(provider: FakeProvider) -> None:
    provider.on("sweeper", swept)
    provider.on("classifier", classified)


def _begin(page: Page, root: str, prompt: str, model: str = "sweeper") -> None:
    page.goto(root)
    page.fill("#prompt", prompt)
    page.fill("[data-model]", model)


def _press(page: Page, count: int, status: str = "completed") -> None:
    page.wait_for_selector(f'[data-run-label]:text-is("Run {count}")')
    page.locator("#prompt").press("Control+Enter")
    if status:
        cells = f'.grid [data-status="{status}"] >> nth=0'
        page.wait_for_selector(cells, timeout=60_000, state="attached")


def _shown(page: Page) -> None:
    page.locator(".outputs").evaluate("each => each.scrollIntoView()")
    page.wait_for_timeout(300)


def variables(page: Page, root: str) -> None:
    _begin(page, root, "{{text}}\nFor {{who}}, in the tone of {{tone}}: {{label}} or {{other}}?")
    page.fill('[data-variable="who"] textarea', "beginners\nexperts\nchildren")
    page.fill('[data-variable="tone"] textarea', "x")
    page.fill('[data-variable="tone"] textarea', "")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "feelings.csv"
        path.write_text(ROWS)
        page.set_input_files("[data-table-file]", path)
        page.wait_for_selector("[data-table-chip]:visible")
    page.fill("#prompt", "{{text}}\nFor {{who}}, in the tone of {{tone}}: {{label}} or {{kind}}?")
    number(page, "temperature", "0, 0.4, 0.8")
    page.wait_for_timeout(900)


def grid(page: Page, root: str) -> None:
    _begin(page, root, "The common kingfisher is")
    number(page, "temperature", "0..1/0.2")
    number(page, "top_p", "0.2, 0.4, 0.6, 0.8, 1")
    _press(page, 30)
    expect(page.locator(".grid [aria-busy]")).to_have_count(0, timeout=60_000)
    _shown(page)


def filling(page: Page, root: str) -> None:
    page.goto(root)
    narrow = page.locator("[data-connection] option", has_text="six at once")
    _begin(page, root, "The common kingfisher is")
    page.select_option("[data-connection]", narrow.first.get_attribute("value") or "")
    page.fill("[data-model]", "sweeper")
    number(page, "temperature", "0..1/0.2")
    number(page, "top_p", "0.2, 0.4, 0.6, 0.8, 1")
    _press(page, 30, "running")
    _shown(page)


def repeats(page: Page, root: str) -> None:
    _begin(page, root, "The common kingfisher is")
    page.click("[data-add-column]")
    number(page, "temperature", "0.7")
    page.fill("#repeat", "10")
    _press(page, 20, "")
    page.wait_for_selector(".same >> nth=1", timeout=60_000)
    expect(page.locator(".grid [aria-busy]")).to_have_count(0, timeout=60_000)
    _shown(page)


def opened(page: Page, root: str) -> None:
    _begin(page, root, "The common kingfisher is")
    number(page, "temperature", "0, 1")
    _press(page, 2)
    page.click("[data-open-cell] >> nth=0")
    page.wait_for_selector("#cell-dialog .col .out:not(:empty)")


def _rows(page: Page, root: str) -> None:
    _begin(page, root, "{{text}}. The writer feels {{label}}:", "classifier")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "feelings.csv"
        path.write_text(ROWS)
        page.set_input_files("[data-table-file]", path)
        page.wait_for_selector("[data-table-chip]:visible")
    page.click("[data-add-column]")
    with parameters(page):
        row = parameter(page, "logprobs")
        row.locator("[data-control]:not([hidden]) [data-box]").fill("5")
    _press(page, 6)
    expect(page.locator(".grid [aria-busy]")).to_have_count(0, timeout=60_000)
    page.click("text=As a table")
    page.wait_for_selector(".gridwrap--page")


def table(page: Page, root: str) -> None:
    _rows(page, root)


def tokens(page: Page, root: str) -> None:
    _rows(page, root)
    page.click("text=Answer tokens")
    page.wait_for_selector(".shares")


STATES: dict[str, Callable[[Page, str], None]] = {
    "sweep-variables": variables,
    "sweep-filling": filling,
    "sweep-grid": grid,
    "sweep-repeats": repeats,
    "sweep-opened": opened,
    "sweep-table": table,
    "sweep-tokens": tokens,
}
