"""The strip of arrivals: what is drawn, what is a stall, who may see it."""

import itertools
import re

import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from playground.models import Connection, User
from playground.timeline import HEIGHT, WIDTH, merged, stalls, strip, ticks
from tests.conftest import request_to
from tests.test_view_outputs import begun, ended

ARRIVALS = st.lists(st.tuples(st.floats(0, 1e6), st.integers(1, 10_000)), max_size=300).map(sorted)


@given(ARRIVALS)
def test_any_timeline_can_be_drawn(arrivals: list[tuple[float, int]]) -> None:
    span = arrivals[-1][0] if arrivals else 0.0
    found = strip(arrivals, span)
    assert found.chunks == len(arrivals)
    bars = [part.split(" ") for part in found.bars.split("M")[1:]]
    assert len(bars) <= WIDTH + 1
    for x, rest in bars:
        assert 0 <= int(x) <= WIDTH
        low, high = rest.split("V")
        assert int(low) == HEIGHT
        assert 0 <= int(high) < HEIGHT
    assert all(float(x) + float(width) <= WIDTH + 0.2 for x, width in found.stalls)


def test_a_steady_stream_has_no_stall_and_a_pause_is_one() -> None:
    steady = [(40.0 * n, 4) for n in range(50)]
    assert stalls(steady) == []
    late = [(ms + (390 if ms >= 1000 else 0), count) for ms, count in steady]
    assert stalls(late) == [(960.0, 1390.0)]
    assert stalls([(1000.0 * n, 4) for n in range(5)]) == []  # slow, but always so
    assert stalls([]) == stalls([(5.0, 1)]) == []


def test_choices_are_one_stream() -> None:
    assert merged([[[1, 2], [5, 1]], [[3, 4]]]) == [(1, 2), (3, 4), (5, 1)]


@given(st.floats(0.01, 1e7))
def test_an_axis_has_a_few_round_steps(span: float) -> None:
    found = ticks(span)
    assert 2 <= len(found) <= 8
    places = [float(x) for x, _ in found]
    assert places == sorted(places)
    assert places[0] == 0
    assert places[-1] <= 100
    said = [text for _, text in found]
    if span > 10:
        assert len(set(said)) == len(said)
    steps = [float(b) - float(a) for a, b in itertools.pairwise(said)]
    assert max(steps) - min(steps) < 0.01 * max(steps) + 0.002


def timed(*pieces: tuple[str, float], choice: int = 0) -> list[object]:
    at = [[ms, len(said)] for said, ms in pieces]
    return ["text", choice, "".join(said for said, _ in pieces), at]


@pytest.mark.django_db
def test_strips_and_times_of_runs_that_one_may_see(
    alice: User, bob: User, charlie: User, connection: Connection
) -> None:
    a, b, live = begun(alice, *[(connection, request_to(connection))] * 3)
    ended(a, timed(("one", 10.0), (" two", 20.0)))
    ended(b, timed(("x", 5.0), ("y", 1000.0)), timed(("z", 7.0), choice=1))
    query = {"ids": f"{a.pk},{b.pk},{live.pk}"}
    client = Client()
    client.force_login(bob)
    html = client.get(reverse("timeline"), query).content.decode()
    assert html.count('<svg class="chunks"') == 2
    assert "2 chunks" in html
    found = client.get(reverse("arrivals"), query).json()["runs"]
    assert found[str(a.pk)]["choices"] == {"0": [[10.0, 3], [20.0, 4]]}
    assert found[str(b.pk)]["end"] == 1000.0
    assert set(found[str(b.pk)]["choices"]) == {"0", "1"}
    client.force_login(charlie)
    assert "<svg" not in client.get(reverse("timeline"), query).content.decode()
    assert client.get(reverse("arrivals"), query).json() == {"runs": {}}
    for ids in ("x", "-1", ",".join(["1"] * 33)):
        assert client.get(reverse("timeline"), {"ids": ids}).status_code == 404


@pytest.mark.django_db
def test_the_slider_reaches_the_end_of_a_run_of_a_few_milliseconds(
    client: Client, alice: User, connection: Connection
) -> None:
    """Its steps are parts of its own way, not of ten milliseconds."""
    [run] = begun(alice, (connection, request_to(connection)))
    ended(run, timed(("one", 1.5), (" two", 9.25)))
    client.force_login(alice)
    html = client.get(reverse("timeline"), {"ids": run.pk}).content.decode()
    span = re.findall(r'data-span="([^"]+)"', html)
    assert re.findall(r'max="([^"]+)" step="any" value="([^"]+)"', html) == [(*span, *span)]
    assert float(span[0]) >= 9.25


@pytest.mark.django_db
def test_the_stream_of_a_run_stands_below_its_output_and_not_among_its_facts(
    client: Client, alice: User, connection: Connection
) -> None:
    [run] = begun(alice, (connection, request_to(connection)))
    ended(run, timed(("one", 1.5), (" two", 9.25)))
    client.force_login(alice)
    html = client.get(reverse("run", args=[run.pk])).content.decode()
    marks = (
        'id="outputs"',
        "data-timeline=",
        'id="sent-title"',
        'class="side"',
        'id="facts-title"',
    )
    assert html.count("data-timeline=") == 1
    assert (places := [html.index(each) for each in marks]) == sorted(places)
