"""The database goes away in the middle: the page says so, loses nothing, and goes on by itself."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import finished, run, text_of
from tests.fake_provider import FakeProvider, words
from tests.server import Server
from tests.services.conftest import Cluster, running_cluster

COUNT = 160


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster(synchronous_commit="on") as made:
        yield made


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, cluster: Cluster) -> Iterator[Server]:
    folder = Path(tmp_path_factory.mktemp("outage"))
    with Server(folder, DATABASE_URL=cluster.create("outage")) as running:
        yield running


def test_the_page_says_that_the_database_is_away_and_goes_on(
    open_page: Callable[..., Page], server: Server, fake: FakeProvider, cluster: Cluster
) -> None:
    fake.reply_with(words(COUNT, 20.0))
    page = open_page()
    page.goto(server.url)
    column = run(page).first
    expect(column.locator(".out").first).to_contain_text("w9 ")
    other = page.context.new_page()
    cluster.stop()
    banner = page.locator("#live-trouble")
    expect(banner).to_contain_text("Not saved yet: the database cannot be written")
    answer = other.goto(f"{server.url}/history/")
    assert answer is not None
    assert answer.status == 503
    expect(other.get_by_role("heading")).to_have_text("The database cannot be reached")
    cluster.go()
    expect(banner).to_have_count(0, timeout=60_000)
    finished(column, seconds=60)
    assert text_of(column) == "".join(f"w{n} " for n in range(COUNT))
    other.get_by_role("link", name="Try again").click()
    expect(other.get_by_role("heading", name="History")).to_be_visible()
