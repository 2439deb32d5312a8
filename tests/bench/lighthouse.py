"""Lighthouse's scores of compose, history and a run, as a member who is logged in.

`python -m tests.bench.lighthouse [--only compose,history,run] [--limit 95] [--save FOLDER]`, with
Chromium and npm: Lighthouse is fetched by `npx` and is no part of the playground. Each page as on
a phone (a slow network and a processor a quarter as fast are simulated) and as on a desktop; on a
machine that is busy the phone blocks longer. A score below the limit is named with what it lost,
and the exit code is 1. Not under a priority of real time: its trace of the page is then broken.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from tests.bench.page import log_in
from tests.bench.streams import clock, served
from tests.browser.conftest import ARGUMENTS, chromium_path
from tests.server import Person, Server, document, free_port

VERSION = "12.2.3"  # 13 wants Node 22
CATEGORIES = ("performance", "accessibility", "best-practices")
FORMS = {"phone": (), "desktop": ("--preset=desktop",)}


@contextmanager
def logged_in(server: Server, person: Person) -> Iterator[int]:
    """The port at which a new browser of that person listens to Lighthouse."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="lighthouse-") as folder, sync_playwright() as started:
        context = started.chromium.launch_persistent_context(
            folder,
            executable_path=chromium_path(),
            args=[*ARGUMENTS, f"--remote-debugging-port={port}"],
        )
        log_in(context, server, person)
        yield port
        context.close()


def lighthouse(url: str, port: int, *options: str) -> dict[str, Any]:
    """Its report of a first visit; the browser keeps its cookies."""
    with tempfile.TemporaryDirectory(prefix="lighthouse-") as folder:
        path = Path(folder) / "report.json"
        command = [
            *("npx", "--yes", f"lighthouse@{VERSION}", url),
            *("--quiet", "--output=json", f"--output-path={path}"),
            f"--only-categories={','.join(CATEGORIES)}",
            f"--port={port}",
            "--disable-storage-reset",
            *options,
        ]
        subprocess.run(command, check=True, timeout=300)
        report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return report


def scores(report: dict[str, Any]) -> dict[str, int]:
    return {each: round(100 * report["categories"][each]["score"]) for each in CATEGORIES}


def losses(report: dict[str, Any], category: str) -> Iterator[str]:
    """What took points, the heaviest first."""
    references = report["categories"][category]["auditRefs"]
    for each in sorted(references, key=lambda reference: -reference["weight"]):
        audit = report["audits"][each["id"]]
        if each["weight"] and audit["score"] is not None and audit["score"] < 0.9:
            yield f"{audit['title']} {audit.get('displayValue', '')}".strip()


def measure(only: Sequence[str], limit: int, save: Path | None) -> Iterator[tuple[str, bool]]:
    """Lines of the table, and whether the limit holds."""
    with clock() as url, served(url) as (server, person, connection):
        columns = [{"connection": connection}] * 2
        _, runs = person.run(document(*columns, prompt="rate=200 n=400"))
        while server.rows("SELECT id FROM playground_run WHERE status IN ('queued', 'running')"):
            time.sleep(0.1)
        pages = {"compose": "/", "history": "/history/", "run": f"/runs/{runs[0]}/"}
        for page, form in [(each, form) for each in pages if each in only for form in FORMS]:
            with logged_in(server, person) as port:
                report = lighthouse(server.url + pages[page], port, *FORMS[form])
            if save:
                save.mkdir(parents=True, exist_ok=True)
                (save / f"{page}-{form}.json").write_text(json.dumps(report), encoding="utf-8")
            found = scores(report)
            holds = min(found.values()) >= limit
            figures = "  ".join(f"{name} {score:3}" for name, score in found.items())
            yield f"{page:8} {form:8} {figures}{'' if holds else f'  below {limit}'}", holds
            for name in (each for each, score in found.items() if score < limit):
                for loss in losses(report, name):
                    yield f"    {name}: {loss}", False


def main(arguments: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", default="compose,history,run")
    options.add_argument("--limit", type=int, default=95)
    options.add_argument("--save", type=Path, help="a folder for the reports, as JSON")
    asked = options.parse_args(arguments)
    if chromium_path() is None or shutil.which("npx") is None:
        print("Lighthouse needs Chromium and npm; it is skipped.")
        return 0
    kept = True
    for text, holds in measure(asked.only.split(","), asked.limit, asked.save):
        print(text, flush=True)
        kept = kept and holds
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
