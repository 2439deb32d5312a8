"""What a page weighs, and what its browser works while four columns stream.

`python -m tests.bench.page [--tokens 5000] [--rate 100]`, in Chromium. Weight: everything that a
first visit of the compose page fetches, as it travels. Work: of the page's main thread, from the
press of Run until the record is in the page, in seconds of that thread's own (other load on the
machine does not count); a task over 50 ms by the clock is a "long" one.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from playwright.sync_api import BrowserContext, CDPSession, Page, expect, sync_playwright

from tests.bench.streams import clock, served
from tests.browser.conftest import ARGUMENTS, chromium_path
from tests.server import Person, Server, document

COLUMNS = 4
LONG_TASKS = """
window.tasks = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.tasks.push([entry.startTime, entry.duration]);
}).observe({ type: "longtask", buffered: true });
"""


def log_in(context: BrowserContext, server: Server, person: Person) -> None:
    cookies = [
        {"name": each.name, "value": each.value or "", "url": server.url}
        for each in person.http.cookies.jar
    ]
    context.add_cookies(cookies)  # type: ignore[arg-type]


def weight(context: BrowserContext, url: str) -> tuple[float, int]:
    """(KB, requests) of a first visit, as they travel."""
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    sizes: list[float] = []
    session.on("Network.loadingFinished", lambda each: sizes.append(each["encodedDataLength"]))
    page.goto(url)
    page.wait_for_load_state("networkidle")
    page.close()
    return sum(sizes) / 1024, len(sizes)


def metrics(session: CDPSession) -> dict[str, float]:
    found: list[dict[str, Any]] = session.send("Performance.getMetrics")["metrics"]
    return {each["name"]: each["value"] for each in found}


def stream(page: Page, session: CDPSession, address: str, seconds: float) -> dict[str, float]:
    """Metrics of the main thread while the runs of a comparison stream, in seconds."""
    session.send("Performance.setTimeDomain", {"timeDomain": "threadTicks"})
    session.send("Performance.enable")
    before = metrics(session)
    page.goto(address)
    page.wait_for_selector("[data-run][data-status=completed]", timeout=(seconds + 120) * 1000)
    live = page.locator("[data-status=queued], [data-status=running]")
    expect(live).to_have_count(0, timeout=(seconds + 120) * 1000)
    after = metrics(session)
    names = ("TaskDuration", "ScriptDuration", "LayoutDuration", "RecalcStyleDuration")
    return {name: after[name] - before[name] for name in names} | {
        "JSHeapUsedSize": after["JSHeapUsedSize"]
    }


def measure(tokens: int, rate: float) -> Iterator[str]:
    """The lines of the table."""
    with (
        clock() as url,
        served(url) as (server, person, connection),
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=ARGUMENTS)
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        log_in(context, server, person)
        size, requests = weight(context, server.url + "/")
        yield f"compose page, first visit: {size:.0f} KB compressed in {requests} requests"
        prompt = f"rate={rate:g} n={tokens}"
        columns = [{"connection": connection}] * COLUMNS
        comparison, _ = person.run(document(*columns, prompt=prompt))
        page = context.new_page()
        page.add_init_script(LONG_TASKS)
        session = context.new_cdp_session(page)
        address = f"{server.url}/comparisons/{comparison}/"
        found = stream(page, session, address, tokens / rate)
        tasks: list[tuple[float, float]] = json.loads(page.evaluate("JSON.stringify(window.tasks)"))
        browser.close()
        yield (
            f"{COLUMNS} columns × {tokens} tokens at {rate:g} a second: main thread"
            f" {found['TaskDuration']:.2f} s (script {found['ScriptDuration']:.2f}, style"
            f" {found['RecalcStyleDuration']:.2f}, layout {found['LayoutDuration']:.2f});"
            f" {1e6 * found['TaskDuration'] / (COLUMNS * tokens):.0f} µs a token"
        )
        which = ", ".join(f"{ms:.0f} ms at {at / 1000:.1f} s" for at, ms in tasks) or "none"
        yield (
            f"tasks over 50 ms: {len(tasks)} ({which}); JavaScript's memory"
            f" {found['JSHeapUsedSize'] / 1e6:.1f} MB; load {os.getloadavg()[0]:.1f}"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tokens", type=int, default=5000)
    options.add_argument("--rate", type=float, default=100)
    asked = options.parse_args(arguments)
    if chromium_path() is None:
        sys.exit("Chromium is not installed; the page is not measured.")
    for text in measure(asked.tokens, asked.rate):
        print(text, flush=True)


if __name__ == "__main__":
    main()
