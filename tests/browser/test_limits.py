"""What is left beside the run button, and the refusal in its place."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.fake_provider import FakeProvider, words
from tests.server import Server, started_before

SETTINGS = """
from playground.models import Connection, Limit, Price
connection = Connection.objects.get(name="fake")
Price.objects.create(connection=connection, input_per_million=0, output_per_million=1000)
Limit.objects.create(kind="money_day", amount="0.5", connection=connection)
Limit.objects.create(kind="rate", amount=60, connection=connection)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(started_before(tmp_path_factory.mktemp("limits"))) as running:
        yield running


@pytest.fixture(scope="module")
def limited(server: Server, fake: FakeProvider) -> FakeProvider:
    done = server.manage("shell", "-c", SETTINGS)
    assert done.returncode == 0, done.stderr
    fake.reply_with(words(5))
    return fake


def test_a_refusal_keeps_the_form_and_what_is_left_is_shown(
    open_page: Callable[..., Page], server: Server, limited: FakeProvider
) -> None:
    page = open_page()
    page.goto(server.url)
    left = page.locator("#left")
    expect(left).to_contain_text("$0.50 of $0.50 left today")
    expect(left).to_contain_text("60 of 60 requests left this minute")
    page.locator("#prompt").fill("Precious words")
    page.keyboard.press("Control+Enter")  # without max_tokens: 4096 are assumed, $4.10
    problems = page.locator("#problems")
    expect(problems).to_contain_text("Nothing was sent")
    expect(problems).to_contain_text(
        "The limit of $0.50 a day at fake has $0.50 left, and this may take up to $4.10."
    )
    expect(problems).to_contain_text("it renews on")
    expect(page.locator("#prompt")).to_have_value("Precious words")
    assert not limited.posts
    page.locator('[data-path="max_tokens"] [data-box]').first.fill("400")
    page.keyboard.press("Control+Enter")
    expect(page.locator("[data-run][data-status=completed]")).to_have_count(1)
    expect(problems).to_be_empty()
    expect(left).to_contain_text("59 of 60 requests left this minute")
    expect(left).to_contain_text("$0.49")
    page.locator('[data-path="max_tokens"] [data-box]').first.fill("480")
    page.keyboard.press("Control+Enter")
    expect(page.locator("[data-run][data-status=completed]")).to_have_count(1)
    expect(left).to_contain_text("58 of 60 requests left this minute")
