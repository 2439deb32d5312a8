"""Numbers that no page of ours sends: an answer, and no error of the server."""

import pytest
from django.test import Client

from playground.models import Connection, User
from tests.runs import make_run

GETS = (
    "/runs/?ids={}", "/runs/?ends={}", "/runs/cells/?cells={}", "/runs/cells/?stacks={}",
    "/runs/difference/?ids={}", "/runs/difference/?a={}.0&b={}.0", "/runs/timeline/?ids={}",
    "/runs/arrivals/?ids={}", "/tokens/?runs={}", "/tokens/?runs=7&from={}", "/?from={}",
    "/?continue={}", "/history/complete/?q=label:a&at={}", "/compare/?rows=run-7&of={}",
    "/limits/left/?connection={}", "/export/?comparison={}",
)  # fmt: skip
DOCUMENT = {"document": '{"columns": []}'}
POSTS = (
    ("/drafts/save/", {**DOCUMENT, "version": "{}"}),
    ("/drafts/save/", {**DOCUMENT, "version": "0", "page": "{}"}),
    ("/drafts/save/", {**DOCUMENT, "version": "0", "ran": "{}"}),
    ("/code/", {**DOCUMENT, "column": "{}"}),
    ("/comparisons/7/share/", {"run": "{}"}),
    ("/runs/7/labels/", {"remove": "{}"}),
)


@pytest.mark.parametrize("number", [str(2**63), "9" * 30, "9" * 5_000])
def test_numbers_that_are_too_large_break_no_page(client: Client, alice: User, number: str) -> None:
    run = make_run(alice)
    client.force_login(alice)
    places = str(run.pk), str(run.comparison_id)
    for address in GETS:
        address = address.replace("-7", f"-{places[0]}").replace("=7", f"={places[0]}")
        assert client.get(address.format(number, number)).status_code < 500
    for address, fields in POSTS:
        address = address.replace("runs/7", f"runs/{places[0]}").replace("/7/", f"/{places[1]}/")
        values = {name: text.replace("{}", number) for name, text in fields.items()}
        assert client.post(address, values).status_code < 500


def test_token_ids_nested_without_end_are_none(
    client: Client, alice: User, connection: Connection
) -> None:
    client.force_login(alice)
    answer = client.post(f"/connections/{connection.pk}/tokens/", {"ids": "[" * 100_000})
    assert answer.status_code == 200
