"""Export from a filtered list, and import with its progress, the counted skips and a bad line."""

from collections.abc import Callable
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.steps import finished, run
from tests.fake_provider import FakeProvider
from tests.server import Server

Open = Callable[..., Page]


def has_no_faults(page: Page) -> None:
    found = Axe().run(page).response["violations"]
    assert not found, [(each["id"], each["nodes"][0]["target"]) for each in found]


def test_what_is_filtered_goes_out_and_is_known_when_it_comes_in(
    open_page: Open, server: Server, fake: FakeProvider, tmp_path: Path
) -> None:
    page = open_page()
    for prompt in ("A kingfisher", "A heron"):
        page.goto(server.url)
        finished(run(page, prompt))
    page.goto(f"{server.url}/history/")
    # A run is found a moment after it has ended.
    expect(page.locator(".run--row")).to_have_count(2)
    page.goto(f"{server.url}/history/?q=kingfisher")
    expect(page.locator(".run--row")).to_have_count(1)
    page.get_by_role("link", name="Export these runs").click()
    expect(page.locator(".export__what")).to_contain_text("1 run")
    has_no_faults(page)
    with page.expect_download() as begun:
        page.get_by_role("button", name="Export").click()
    saved = tmp_path / "runs.jsonl"
    begun.value.save_as(saved)
    assert b'"A kingfisher"' in saved.read_bytes()
    assert b"heron" not in saved.read_bytes()
    expect(page.locator("[data-state=finished]")).to_contain_text("Done 1 run")
    has_no_faults(page)

    saved.write_bytes(saved.read_bytes() + b"{not JSON\n")
    page.goto(f"{server.url}/import/")
    has_no_faults(page)
    page.get_by_label("File").set_input_files(saved)
    page.get_by_role("button", name="Import").click()
    done = page.locator("[data-state=finished]")
    expect(done).to_contain_text("0 runs imported, 1 skipped that the team had already")
    expect(done).to_contain_text("1 that could not be taken")
    expect(done).to_contain_text("It is no JSON.")
    has_no_faults(page)


def test_a_file_of_another_kind_is_refused_in_place(
    open_page: Open, server: Server, fake: FakeProvider, tmp_path: Path
) -> None:
    page = open_page()
    page.goto(f"{server.url}/import/")
    other = tmp_path / "photo.jsonl"
    other.write_bytes(b"\x89PNG")
    page.get_by_label("File").set_input_files(other)
    page.get_by_role("button", name="Import").click()
    expect(page.locator("#file-error")).to_contain_text("neither an export of a playground")
    has_no_faults(page)
