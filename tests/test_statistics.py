"""Statistics: equal to the list of the same search, and to a calculation by hand."""

import csv
import io
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from playground.figures import Figures, Latencies, bin_of, middle, nice_ticks, pack
from playground.models import (
    Comment,
    Connection,
    Label,
    Limit,
    Membership,
    Run,
    RunLabel,
    Team,
    User,
)
from playground.periods import Period, named, spoken
from tests.conftest import person
from tests.runs import make_run

TODAY = date(2026, 11, 29)


def ago(days: float) -> datetime:
    return timezone.now() - timedelta(days=days)


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def page(user: User, **state: str) -> Any:
    answer = client_of(user).get("/stats/?" + urlencode(state))
    assert answer.status_code == 200
    return answer


def table(user: User, name: str, **state: str) -> list[dict[str, str]]:
    answer = client_of(user).get("/stats/csv/?" + urlencode({"table": name, **state}))
    assert answer.status_code == 200
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))


# --- By hand -------------------------------------------------------------------------------


@pytest.fixture
def small(alice: User, bob: User) -> None:
    """Five runs of this week, one of the week before, one private, one in the trash. How soon
    those ended that came to no whole answer counts nowhere."""
    common: dict[str, Any] = {"connection_name": "local", "provider": "local", "model": "small"}
    a = make_run(
        alice, created_at=ago(0), prompt_tokens=10, completion_tokens=20, cost=Decimal("0.5"),
        first_token_ms=100.0, total_ms=1000.0, **common,
    )  # fmt: skip
    b = make_run(
        alice, created_at=ago(1), prompt_tokens=30, completion_tokens=40, cost=Decimal("0.25"),
        first_token_ms=200.0, total_ms=3000.0, **common,
    )  # fmt: skip
    make_run(
        bob, created_at=ago(1), status="failed", error_kind="timeout", total_ms=16.0, **common
    )  # fmt: skip
    make_run(
        bob, created_at=ago(2), connection_name="pulze", provider="pulze", model="large",
        prompt_tokens=1, completion_tokens=2, first_token_ms=400.0, total_ms=9000.0,
    )  # fmt: skip
    make_run(
        bob, created_at=ago(3), status="cancelled", model="large", prompt_tokens=5, total_ms=50.0
    )
    make_run(alice, created_at=ago(9), prompt_tokens=100, cost=Decimal("2"), **common)
    make_run(bob, created_at=ago(1), visibility="private", prompt_tokens=10_000, **common)
    make_run(alice, created_at=ago(1), deleted_at=ago(0), prompt_tokens=20_000, **common)
    [task] = Label.objects.named(a.team_id, ["task=qa"])
    RunLabel.objects.put([a.pk], [task, *Label.objects.named(a.team_id, ["gold"])])
    RunLabel.objects.put([b.pk], [task])


def test_the_figures_are_those_by_hand(small: None, alice: User) -> None:
    answer = page(alice, period="7d")
    now = answer.context["now"]
    assert (now.runs, now.failed, now.ended) == (5, 1, 5)
    assert (now.tokens_in, now.tokens_out, now.cost) == (46, 62, Decimal("0.75"))
    assert (now.first_at(0.5), now.first_at(0.95)) == (200.0, pytest.approx(380.0))
    assert now.total_at(0.5) == 3000.0
    values = {each["name"]: (each["value"], each["delta"]) for each in answer.context["kpis"]}
    assert values == {
        "Runs": ("5", "400 % more than before"),
        "Tokens": ("108", "46 in, 62 out"),
        "Cost": ("$0.75", "$2.00 before"),
        "Failed": ("20 %", "0 % before"),
        "First token, median": ("200 ms", ""),
    }


def test_a_cost_that_nobody_knows_is_none_neither_now_nor_before(alice: User) -> None:
    make_run(alice)
    make_run(alice, created_at=ago(9))
    costs = {each["name"]: each for each in page(alice, period="7d").context["kpis"]}["Cost"]
    assert (costs["value"], costs["delta"]) == ("–", "– before")


def test_the_tables_are_those_by_hand(small: None, alice: User) -> None:
    rows = {row["connection"]: row for row in table(alice, "connection", period="7d")}
    assert [(name, row["runs"]) for name, row in rows.items()] == [
        ("local", "3"), ("fake", "1"), ("pulze", "1"),
    ]  # fmt: skip
    local = rows["local"]
    assert (local["completed"], local["failed"], local["tokens_in"]) == ("2", "1", "40")
    assert (local["cost_usd"], local["cost_usd_before"]) == ("0.75", "2")
    assert (local["first_token_p50_ms"], local["latency_p95_ms"]) == ("150.0", "2900.0")
    assert (rows["pulze"]["cost_usd"], rows["fake"]["stopped"]) == ("", "1")
    by_model = {row["model"]: row["runs"] for row in table(alice, "model", period="7d")}
    assert by_model == {"small": "3", "large": "2"}
    by_label = {row["label"]: row["runs"] for row in table(alice, "label", period="7d")}
    assert by_label == {"task=qa": "2", "gold": "1", "no label": "3"}
    by_member = {row["member"]: row["runs"] for row in table(alice, "member", period="7d")}
    assert by_member == {"bob": "3", "alice": "2"}
    days = table(alice, "day", period="7d")
    assert [row["runs"] for row in days] == ["0", "0", "0", "1", "1", "2", "1"]
    both = table(alice, "day-connection", period="7d")
    assert sum(int(row["runs"]) for row in both) == 5


def test_months_are_held_against_months() -> None:
    month = named("month", TODAY)
    assert (month, month.before) == (
        Period(date(2026, 11, 1), TODAY, "month"),
        Period(date(2026, 10, 1), date(2026, 10, 29)),
    )
    last = named("last-month", TODAY)
    assert last == Period(date(2026, 10, 1), date(2026, 10, 31), "last-month")
    assert last.before == Period(date(2026, 9, 1), date(2026, 9, 30))
    assert named("month", date(2026, 3, 31)).before == Period(date(2026, 2, 1), date(2026, 2, 28))
    assert named("7d", TODAY).before == Period(date(2026, 11, 16), date(2026, 11, 22))
    assert named("year", date(2024, 2, 29)).first == date(2023, 3, 1)
    assert named("all", TODAY, date(2020, 1, 1)).before is None
    assert spoken(last) == "1 to 31 October 2026"
    assert spoken(Period(date(2025, 12, 30), date(2026, 1, 2))) == (
        "30 December 2025 to 2 January 2026"
    )


@pytest.mark.parametrize("name", ["7d", "30d", "90d", "month", "last-month", "year", "all"])
def test_every_day_has_a_place_in_the_plot(name: str) -> None:
    period = named(name, TODAY, date(2019, 5, 5))
    steps = period.steps()
    assert steps[0] == period.first
    assert steps == sorted(steps)
    assert len(steps) <= 120
    assert {period.step_of(day) for day in period.each_day()} == set(steps)


def test_percentiles_of_values_and_of_bins() -> None:
    exact = Figures()
    for ms in range(1, 1001):
        exact.first.count(float(ms))
    assert exact.first_at(0.5) == pytest.approx(500.5)
    assert Figures().first_at(0.5) is None
    near = Figures()
    bins = Counter[int]()
    for ms in range(1, 1001):
        bins[bin_of(ms)] += 1
    near.first = Latencies(pack(bins) + " " + pack(bins))
    assert near.first.counted().total() == 2000
    for share in (0.05, 0.5, 0.95):
        assert near.first_at(share) == pytest.approx(exact.first_at(share), rel=0.02)
    for ms in (0.01, 1.0, 77.7, 5e6):
        assert middle(bin_of(ms)) == pytest.approx(ms, rel=0.01)


@pytest.mark.parametrize(
    ("most", "ticks"),
    [(0, [0, 1]), (4, [0, 1, 2, 3, 4]), (1.1, [0, 0.5, 1, 1.5]), (900, [0, 250, 500, 750, 1000])],
)
def test_ticks_are_round(most: float, ticks: list[float]) -> None:
    assert list(nice_ticks(most)) == ticks


def test_there_is_no_half_of_a_run() -> None:
    assert list(nice_ticks(2, whole=True)) == [0, 1, 2]
    assert list(nice_ticks(9, whole=True)) == [0, 3, 6, 9]


# --- Equal to the list ---------------------------------------------------------------------

SEARCHES = [
    "",
    "label:task",
    "label:task=qa",
    "-label:task",
    "-has:label",
    "model:small",
    "model:l*",
    "connection:local",
    "provider:pulze",
    "user:bob",
    "user:me",
    "status:failed",
    "-status:failed",
    "is:starred",
    "is:private",
    "is:trashed",
    "rating:>=4",
    "has:error",
    "has:comment",
    "param:temperature>0.5",
    "meta:finish_reason=stop",
    "heron",
    '"grey heron"',
    '-"grey heron"',
    "heron status:completed param:temperature<=0.5",
    "100%",
    "%",
]


@pytest.fixture
def varied(small: None, alice: User, bob: User, rita: User) -> None:
    make_run(alice, "A grey heron", "100% sure", created_at=ago(2), values={"temperature": 0.2})
    rated = make_run(bob, "heron", created_at=ago(4), values={"temperature": 0.9}, rating=4.0)
    make_run(bob, "grey heron", visibility="private", created_at=ago(4), starred=True)
    make_run(alice, "grey heron", visibility="private", created_at=ago(5), starred=True)
    make_run(alice, "a heron, grey", created_at=ago(40), comparison=rated.comparison)
    Comment.objects.create(run=rated, author=alice, author_name="alice", text="good")


def listed(user: User, address: str) -> set[int]:
    """All runs of the list at this address, page by page."""
    client, found = client_of(user), set()
    while address:
        answer = client.get(address)
        assert answer.status_code == 200
        found |= {run.pk for row in answer.context["rows"] for run in row.runs}
        older = answer.context.get("older")
        address = f"/history/{older}" if older else ""
    return found


@pytest.mark.parametrize("search", SEARCHES)
def test_they_are_equal_to_the_list(
    search: str, varied: None, alice: User, bob: User, rita: User, charlie: User
) -> None:
    """For each person: as many runs, and the same tokens."""
    for user, whose in ((alice, ""), (alice, "mine"), (bob, ""), (rita, ""), (charlie, "")):
        answer = page(user, q=search, whose=whose, period="30d")
        assert answer.context["problems"] == ()
        now = answer.context["now"]
        ids = listed(user, answer.context["span"].list_address)
        assert now.runs == len(ids), (user.username, whose)
        tokens = Run.objects.filter(pk__in=ids).values_list("prompt_tokens", flat=True)
        assert now.tokens_in == sum(each or 0 for each in tokens)


def test_days_of_the_search_become_the_period(small: None, alice: User) -> None:
    today = timezone.localdate()
    day = today - timedelta(days=1)
    answer = page(alice, q=f"on:{day} model:small")
    span = answer.context["span"]
    assert (span.period.first, span.period.last, span.asked.typed) == (day, day, "model:small")
    assert answer.context["now"].runs == 2
    answer = page(alice, q=f"after:{day}")
    assert (answer.context["span"].period, answer.context["now"].runs) == (Period(day, today), 3)
    answer = page(alice, q=f"before:{day}")
    assert answer.context["now"].runs == 3
    # Where all runs are later, the list is empty, and so is this.
    before = today - timedelta(days=400)
    for state in ({"q": f"before:{before}"}, {"to": str(before - timedelta(days=1))}):
        answer = page(alice, **state)
        assert answer.context["now"].runs == 0
        assert answer.context["span"].period.last < before
    # No day is both, either.
    answer = page(alice, q="after:2026-02-02 before:2026-02-01")
    assert answer.context["now"].runs == 0


def test_the_way_to_the_list_and_back_keeps_what_is_asked(small: None, alice: User) -> None:
    answer = page(
        alice, q="model:small", whose="mine", **{"from": "2026-11-01", "to": "2026-11-03"}
    )
    asked = parse_qs(urlsplit(answer.context["span"].list_address).query)
    assert asked == {
        "q": ["model:small after:2026-11-01 before:2026-11-04"],
        "whose": ["mine"],
        "show": ["runs"],
    }
    back = client_of(alice).get(answer.context["span"].list_address).context["stats_url"]
    answer = client_of(alice).get(back)
    span = answer.context["span"]
    assert (span.asked.typed, span.asked.mine) == ("model:small", True)
    assert (str(span.period.first), str(span.period.last)) == ("2026-11-01", "2026-11-03")


@pytest.mark.parametrize(
    "state",
    [
        {"period": "nonsense"},
        {"from": "2026-13-40", "to": "x"},
        {"from": "2026-11-20", "to": "2026-11-01"},
        {"from": "0001-01-01"},
        {"to": "9998-01-01"},
        {"from": "9998-01-01"},
        {"from": "１２３４-11-01"},
        {"q": "\0"},
    ],
)
def test_odd_addresses_are_answered(state: dict[str, str], small: None, alice: User) -> None:
    assert "now" in page(alice, **state).context


def test_a_problem_of_the_search_is_said(alice: User) -> None:
    answer = page(alice, q="nosuch:filter")
    assert "is no filter" in answer.content.decode()
    assert client_of(alice).get("/stats/csv/?table=day&q=nosuch:filter").status_code == 404


# --- Who may what --------------------------------------------------------------------------


def test_only_owners_see_members(small: None, alice: User, bob: User, rita: User) -> None:
    assert "By member" in page(alice).content.decode()
    for user in (bob, rita):
        assert "By member" not in page(user).content.decode()
        assert client_of(user).get("/stats/csv/?table=member").status_code == 404
    assert client_of(alice).get("/stats/csv/?table=nosuch").status_code == 404


def test_nothing_of_another_team_or_of_a_private_run_is_counted(
    small: None, alice: User, bob: User, charlie: User
) -> None:
    assert page(charlie, period="7d").context["now"].runs == 0
    assert table(charlie, "label", period="7d") == []
    assert page(alice, period="7d").context["now"].tokens_in == 46
    assert page(bob, period="7d").context["now"].tokens_in == 10_046


def test_someone_without_a_team_gets_an_empty_page(db: None) -> None:
    user = User.objects.create_user("nobody")
    answer = page(user)
    assert "now" not in answer.context
    assert client_of(user).get("/stats/csv/?table=day").status_code == 404


def test_owners_see_who_is_near_a_limit(
    small: None, alice: User, bob: User, connection: Connection, team: Team
) -> None:
    Limit.objects.create(team=team, each_member=True, kind="tokens_month", amount=50)
    Limit.objects.create(team=team, kind="tokens_month", amount=10**9)
    Run.objects.filter(author=bob).update(counted_tokens=0)
    newest = Run.objects.filter(author=bob).latest("created_at")
    Run.objects.filter(pk=newest.pk).update(counted_tokens=45, created_at=timezone.now())
    text = page(alice).content.decode()
    assert "Near a limit" in text
    assert "90 %" in text
    assert "Near a limit" not in page(bob).content.decode()


# --- Days, CSV -----------------------------------------------------------------------------


def test_a_run_at_23_59_stands_under_that_day_for_that_person(alice: User) -> None:
    make_run(alice, created_at=datetime(2026, 11, 20, 18, 14, 59, tzinfo=UTC))  # 23:59 there
    state = {"from": "2026-11-20", "to": "2026-11-21"}
    client = client_of(alice)
    for zone, expected in {"Asia/Kathmandu": ["1", "0"], "Pacific/Auckland": ["0", "1"]}.items():
        client.cookies["time_zone"] = zone
        answer = client.get("/stats/csv/?table=day&" + urlencode(state))
        rows = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))
        assert [row["runs"] for row in rows] == expected


def test_no_cell_begins_as_a_formula(alice: User) -> None:
    make_run(alice, model="=1+2", connection_name="@cmd")
    assert table(alice, "model")[0]["model"] == "'=1+2"
    assert table(alice, "connection")[0]["connection"] == "'@cmd"


def test_names_are_escaped_and_found_again(alice: User) -> None:
    make_run(alice, model='<b>"two words"</b>')
    answer = page(alice)
    assert "<b>" not in answer.content.decode()
    [row] = next(each["rows"] for each in answer.context["tables"] if each["name"] == "model")
    assert client_of(alice).get("/stats/" + row.url).context["problems"] == ()


def test_many_connections_are_few_series(alice: User) -> None:
    for number in range(7):
        make_run(alice, connection_name=f"c{number}", provider="local")
    [chart] = [each for each in page(alice).context["charts"] if each.name == "runs"]
    names = [line.series.where.name for line in chart.lines]
    assert names == ["c0", "c1", "c2", "others"]
    assert len({line.series.look for line in chart.lines}) == 4
    assert chart.rows[0][1] == ["1", "1", "1", "4"]


def test_live_runs_are_counted_and_do_not_lower_the_share_of_failures(alice: User) -> None:
    make_run(alice, status="failed")
    make_run(alice, status="running", index=False)
    now = page(alice).context["now"]
    assert (now.runs, now.failure_rate) == (2, 1.0)


def test_the_page_says_what_is_too_much_to_read(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("playground.models.finder.WALK", 2)
    for _ in range(4):
        make_run(alice, "100% sure")
    answer = page(alice, q="%")
    assert answer.context["now"].runs == 2
    assert "only the newest 2 runs" in answer.content.decode()


def test_very_many_runs_are_counted_in_bins(
    small: None, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("playground.models.statistics.EXACT", 0)
    now = page(alice, period="7d").context["now"]
    assert now.first_at(0.5) == pytest.approx(200.0, rel=0.01)
    assert now.first_at(0.5) != 200.0
    assert now.total_at(0.95) == pytest.approx(8400.0, rel=0.02)


def test_another_team_is_another_page(alice: User) -> None:
    make_run(alice)
    other = Team.objects.create(name="Second")
    Membership.objects.create(team=other, user=alice, role=Membership.Role.MEMBER)
    person("dora", other, Membership.Role.OWNER)
    alice.current_team = other
    alice.save()
    assert page(alice).context["now"].runs == 0
