"""How columns side by side differ, and the heads and rows that say it."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from playground.completion import CompletionRequest
from playground.models import Connection, Run, User
from playground.views.apart import apart, settings_of
from tests.conftest import request_to
from tests.runs import make_run
from tests.test_view_outputs import begun, ended, text


def asked(**values: Any) -> CompletionRequest:
    return CompletionRequest("local", "completions", "m", values=values)


def told(*requests: CompletionRequest, without: tuple[str, ...] = ()) -> list[list[Any]]:
    found = apart([settings_of(each) for each in requests], without)
    return [list(each.settings) for each in found]


def test_only_what_differs_is_told_of_each_column() -> None:
    same = {"max_tokens": 5, "stream": True}
    first, second = asked(temperature=0.2, **same), asked(temperature=0, **same)
    assert told(first, second) == [[("temperature", "0.2")], [("temperature", "0")]]
    assert told(first, first) == [[], []]
    assert told(first) == [[]]
    assert told() == []


def test_a_setting_of_one_column_is_told_of_the_other_as_not_sent() -> None:
    assert told(asked(stop=""), asked()) == [[("stop", '""')], [("stop", "")]]
    # This API has no such parameter, so it was not sent.
    unknown = asked(**{"weights.cost": 1})
    assert told(unknown, asked()) == [[], []]


def test_what_the_form_sends_by_itself_is_told_only_where_all_send_it() -> None:
    usage = {"stream_options.include_usage": True}
    assert told(asked(stream=True, **usage), asked(stream=True)) == [[], []]
    assert told(asked(stream=True), asked(stream=False)) == [
        [("stream", "true")],
        [("stream", "false")],
    ]


def test_the_axes_of_a_grid_are_left_to_the_grid() -> None:
    first, second = asked(temperature=0, top_p=1), asked(temperature=1, top_p=0.5)
    assert told(first, second, without=("temperature",)) == [[("top_p", "1")], [("top_p", "0.5")]]


def test_a_long_value_is_shortened_and_whole_in_the_title() -> None:
    first, second = apart([{"stop": "x" * 100}, {"stop": "y"}])
    assert first.shown == [("stop", "x" * 39 + "…")]
    assert first.title == "stop " + "x" * 100
    assert second.title == ""


def test_of_many_settings_the_head_names_four() -> None:
    first, _ = apart([{str(each): "1" for each in range(6)}, {}])
    assert (len(first.shown), first.more) == (4, 2)
    assert first.title == "0 1, 1 1, 2 1, 3 1, 4 1, 5 1"


def page(user: User, address: str, **headers: str) -> str:
    client = Client()
    client.force_login(user)
    answer = client.get(address, headers=headers)
    assert answer.status_code == 200
    return answer.content.decode()


def line(html: str, run: Run) -> str:
    """What the head of a column says, without its tags."""
    start = html.index(f'id="run-{run.pk}-apart"')
    found = html[html.index(">", start) + 1 : html.index("</p>", start)]
    return re.sub("<.*?>", "", found).strip()


@pytest.mark.django_db
def test_the_heads_of_a_comparison_and_the_page_of_one_run_say_it(
    alice: User, connection: Connection
) -> None:
    cold, none = begun(
        alice,
        (connection, request_to(connection, temperature=0.2, max_tokens=5)),
        (connection, request_to(connection, max_tokens=5)),
    )
    for run in (cold, none):
        ended(run, text("Hello"))
    addresses = [
        cold.comparison.get_absolute_url(),
        f"{reverse('runs')}?ids={cold.pk},{none.pk}",
    ]
    for address in addresses:
        html = page(alice, address)
        assert line(html, cold) == "temperature 0.2"
        assert line(html, none) == "temperature not sent"
    assert line(page(alice, cold.get_absolute_url()), cold) == "temperature 0.2"
    assert line(page(alice, none.get_absolute_url()), none) == "temperature not sent"


@pytest.mark.django_db
def test_a_column_alone_and_columns_that_are_the_same_say_nothing(
    alice: User, connection: Connection
) -> None:
    [alone] = begun(alice, (connection, request_to(connection, temperature=0.2)))
    one, other = begun(alice, *[(connection, request_to(connection, temperature=0.2))] * 2)
    assert line(page(alice, alone.comparison.get_absolute_url()), alone) == ""
    html = page(alice, one.comparison.get_absolute_url())
    assert line(html, one) == line(html, other) == ""


@pytest.mark.django_db
def test_the_row_of_a_comparison_says_it_from_the_search(
    alice: User, connect: Callable[..., Connection]
) -> None:
    first = make_run(alice, values={"temperature": 0.2})
    make_run(alice, values={"temperature": 1.2}, comparison=first.comparison)
    Run.objects.update(indexed=True)
    for html in (
        page(alice, reverse("history")),
        page(alice, reverse("history_unfold", args=[first.comparison_id])),
    ):
        assert html.count("<i>temperature</i>") == 2
        assert "<b>1.2</b>" in html


@pytest.mark.django_db
def test_columns_with_inputs_of_their_own_name_how_these_end(alice: User) -> None:
    long = "A ship came in from the sea and the mate stood on deck."
    stays = make_run(alice, prompt="A ship came")
    went_on = make_run(alice, prompt=long, comparison=stays.comparison)
    html = page(alice, stays.comparison.get_absolute_url())
    assert line(html, stays) == "prompt A ship came"
    assert line(html, went_on) == f"prompt …{long[-30:]}"
