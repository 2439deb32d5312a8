"""What a page weighs, and what its browser works while four columns stream.

`python -m tests.bench.page [--tokens 5000] [--rate 100] [--loads 10]`, in Chromium. Weight:
everything that a first visit of the compose page fetches, as it travels. Work: of the page's main
thread, from the press of Run until the record is in the page, in seconds of that thread's own
(other load on the machine does not count); a task over 50 ms by the clock is a "long" one. The
load of that page alone is repeated, each in a browser of its own. A page is asked for in a window
that stands, as a user's does: a new one of Chromium's renders pages of its own at first, for its
address bar, and takes both cores for 0.3 s.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from playwright.sync_api import (
    Browser,
    BrowserContext,
    CDPSession,
    Page,
    Playwright,
    ViewportSize,
    expect,
    sync_playwright,
)

from tests.bench.streams import clock, served
from tests.browser.conftest import ARGUMENTS, chromium_path
from tests.server import Person, Server, document

COLUMNS = 4
LOAD_TOKENS = 300  # of each column while a load alone is measured
VIEWPORT: ViewportSize = {"width": 1440, "height": 900}
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


def launch(playwright: Playwright) -> Browser:
    return playwright.chromium.launch(executable_path=chromium_path(), args=ARGUMENTS)


def opened(browser: Browser, context: BrowserContext) -> Page:
    """A page in a window that stands: the browser's processes have nothing to do any more."""
    page = context.new_page()
    page.add_init_script(LONG_TASKS)
    session = browser.new_browser_cdp_session()
    used, before = cpu_seconds(session), 0.0
    for _ in range(60):
        page.wait_for_timeout(500)
        before, used = used, cpu_seconds(session)
        if used - before < 0.025:
            break
    return page


def cpu_seconds(session: CDPSession) -> float:
    """Of all processes of the browser."""
    found: list[dict[str, Any]] = session.send("SystemInfo.getProcessInfo")["processInfo"]
    return float(sum(each["cpuTime"] for each in found))


def long_tasks(page: Page) -> list[tuple[float, float]]:
    """(Start, duration) of each, in ms."""
    found: list[tuple[float, float]] = json.loads(page.evaluate("JSON.stringify(window.tasks)"))
    return found


def loads(
    playwright: Playwright, server: Server, person: Person, connection: int, count: int
) -> Iterator[float]:
    """The longest task of each load of four columns that stream, 0 where none is over 50 ms."""
    for _ in range(count):
        browser = launch(playwright)
        context = browser.new_context(viewport=VIEWPORT)
        log_in(context, server, person)
        weight(context, server.url + "/")
        page = opened(browser, context)
        columns = [{"connection": connection}] * COLUMNS
        comparison, _ = person.run(document(*columns, prompt=f"rate=100 n={LOAD_TOKENS}"))
        page.goto(f"{server.url}/comparisons/{comparison}/")
        ended(page, 60)
        yield max((ms for _, ms in long_tasks(page)), default=0)
        browser.close()


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


def ended(page: Page, seconds: float) -> None:
    """When all runs of the page have."""
    page.wait_for_selector("[data-run][data-status=completed]", timeout=seconds * 1000)
    live = page.locator("[data-status=queued], [data-status=running]")
    expect(live).to_have_count(0, timeout=seconds * 1000)


def metrics(session: CDPSession) -> dict[str, float]:
    found: list[dict[str, Any]] = session.send("Performance.getMetrics")["metrics"]
    return {each["name"]: each["value"] for each in found}


def stream(page: Page, session: CDPSession, address: str, seconds: float) -> dict[str, float]:
    """Metrics of the main thread while the runs of a comparison stream, in seconds."""
    session.send("Performance.setTimeDomain", {"timeDomain": "threadTicks"})
    session.send("Performance.enable")
    before = metrics(session)
    page.goto(address)
    ended(page, seconds + 120)
    after = metrics(session)
    names = ("TaskDuration", "ScriptDuration", "LayoutDuration", "RecalcStyleDuration")
    return {name: after[name] - before[name] for name in names} | {
        "JSHeapUsedSize": after["JSHeapUsedSize"]
    }


def measure(tokens: int, rate: float, repeats: int) -> Iterator[str]:
    """The lines of the table."""
    with (
        clock() as url,
        served(url) as (server, person, connection),
        sync_playwright() as playwright,
    ):
        browser = launch(playwright)
        context = browser.new_context(viewport=VIEWPORT)
        log_in(context, server, person)
        size, requests = weight(context, server.url + "/")
        yield f"compose page, first visit: {size:.0f} KB compressed in {requests} requests"
        page = opened(browser, context)
        prompt = f"rate={rate:g} n={tokens}"
        columns = [{"connection": connection}] * COLUMNS
        comparison, _ = person.run(document(*columns, prompt=prompt))
        session = context.new_cdp_session(page)
        address = f"{server.url}/comparisons/{comparison}/"
        found = stream(page, session, address, tokens / rate)
        tasks = long_tasks(page)
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
        longest = list(loads(playwright, server, person, connection, repeats))
        over = [ms for ms in longest if ms]
        yield (
            f"{repeats} loads of {COLUMNS} columns that stream: {len(over)} with a task over 50 ms"
            f" ({', '.join(f'{ms:.0f}' for ms in sorted(over)) or 'none'});"
            f" load {os.getloadavg()[0]:.1f}"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tokens", type=int, default=5000)
    options.add_argument("--rate", type=float, default=100)
    options.add_argument("--loads", type=int, default=10)
    asked = options.parse_args(arguments)
    if chromium_path() is None:
        sys.exit("Chromium is not installed; the page is not measured.")
    for text in measure(asked.tokens, asked.rate, asked.loads):
        print(text, flush=True)


if __name__ == "__main__":
    main()
