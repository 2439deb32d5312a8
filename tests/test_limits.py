"""Limits: whom they cover, what they count, who may start, and that they hold exactly."""

import asyncio
import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connections
from django.utils import timezone

from playground.completion import CompletionRequest, ErrorKind, RunStatus
from playground.database import in_thread
from playground.log import Ending, close_run, settle_runs
from playground.models import (
    Comparison,
    Connection,
    Limit,
    Membership,
    Meter,
    OverLimit,
    Price,
    Process,
    Run,
    Team,
    User,
)
from playground.models.gate import settle
from playground.models.ledger import standings
from playground.models.limits import UNITS, Who
from playground.reaper import Reaper, start_time, this_host
from playground.runner import Runner
from tests.conftest import person, request_to, saved
from tests.fake_provider import DONE, FakeProvider, Reply, error_reply, text_event

pytestmark = pytest.mark.django_db(transaction=True)

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)  # the last day of a month
USAGE = {"prompt_tokens": 1, "completion_tokens": 10}
USED = 11
MOST = 101  # what request() reserves: one token of prompt, and max_tokens


@pytest.fixture
def process(db: None) -> Process:
    pid = os.getpid()
    return Process.objects.create(host=this_host(), pid=pid, started=start_time(pid))


def request(connection: Connection, **values: Any) -> CompletionRequest:
    return request_to(connection, **{"max_tokens": 100, **values})


def member(user: User) -> Membership:
    found = user.membership()
    assert found is not None
    return found


def begin(user: User, connection: Connection, process: Process, n: int = 1, **values: Any) -> Any:
    """Runs, queued."""
    columns = [(connection, request(connection, **values))] * n
    comparison = Comparison.objects.begin(member(user), columns, owner=process)
    return list(comparison.runs.order_by("pk"))


def limit(kind: str, amount: Any, **scope: Any) -> Limit:
    made = Limit(kind=kind, amount=Decimal(str(amount)), **scope)
    made.full_clean()
    made.save()
    return made


def price(connection: Connection, dollars: Any) -> Price:
    """For a token of either kind."""
    rate = Decimal(str(dollars)) * 1_000_000
    return Price.objects.create(
        connection=connection, input_per_million=rate, output_per_million=rate
    )


def end(run: Run, status: str = "completed", usage: Any = USAGE, **ending: Any) -> None:
    rows: list[list[Any]] = [["text", 0, "Yes", [[1.0, 3]]], ["finish", 0, "stop", 1.0]]
    rows = rows if status == "completed" else []
    rows += [["usage", -1, usage, 2.0]] if usage else []
    close_run(run.pk, Ending(RunStatus(status), **ending), rows)
    settle_runs([run.pk])


def spent(limit: Limit) -> int:
    return sum(meter.spent for meter in limit.meters.all())


def pks(runs: list[Run]) -> list[int]:
    return [run.pk for run in runs]


# --- Whom a limit covers -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "covered"),
    [
        ({}, {"alice", "bob", "charlie", "other"}),
        ({"team"}, {"alice", "bob", "other"}),
        ({"member"}, {"alice", "other"}),
        ({"connection"}, {"alice", "bob", "charlie"}),
        ({"team", "connection"}, {"alice", "bob"}),
        ({"team", "member", "connection"}, {"alice"}),
    ],
)
def test_a_limit_covers_what_its_scope_names(
    alice: User,
    bob: User,
    charlie: User,
    team: Team,
    connect: Callable[..., Connection],
    scope: set[str],
    covered: set[str],
) -> None:
    fake, second = connect("fake"), connect("second")
    values = {"team": team, "member": alice, "connection": fake}
    made = limit("rate", 1, **{name: values[name] for name in scope})
    others = charlie.membership()
    assert others is not None
    whose = {
        "alice": Who(fake.pk, team.pk, alice.pk),
        "bob": Who(fake.pk, team.pk, bob.pk),
        "charlie": Who(fake.pk, others.team_id, charlie.pk),
        "other": Who(second.pk, team.pk, alice.pk),
    }
    assert {name for name, who in whose.items() if made.covers(who)} == covered


@pytest.mark.parametrize(
    ("kind", "amount", "scope", "words"),
    [
        ("rate", 60, set(), "60 requests a minute for everybody together"),
        ("parallel", 2, {"connection"}, "2 parallel requests at fake"),
        ("tokens_day", 10000, {"team"}, "10,000 tokens a day for team Evals"),
        ("money_day", "0.5", {"member"}, "$0.50 a day for alice"),
        ("money_month", 10, {"each", "team"}, "$10 a month for each member of team Evals"),
        ("money_month", "3.2", {"member", "team", "connection"},
         "$3.20 a month for alice in team Evals at fake"),
    ],
)  # fmt: skip
def test_a_limit_says_what_it_is(
    alice: User,
    team: Team,
    connection: Connection,
    kind: str,
    amount: Any,
    scope: set[str],
    words: str,
) -> None:
    values = {"team": team, "member": alice, "connection": connection, "each_member": True}
    named = {name.replace("each", "each_member") if name == "each" else name for name in scope}
    made = limit(kind, amount, **{name: values[name] for name in named})
    assert str(made) == words


def test_a_limit_that_makes_no_sense_is_refused(alice: User, team: Team) -> None:
    for kind, amount, scope, words in (
        ("rate", "1.5", {}, "whole number"),
        ("rate", -1, {}, "greater than or equal to 0"),
        ("rate", 1, {"member": alice, "each_member": True}, "one person already"),
    ):
        with pytest.raises(ValidationError, match=words):
            limit(kind, amount, **scope)  # type: ignore[arg-type]
    limit("rate", 1, team=team)
    with pytest.raises(ValidationError, match="such a limit already"):
        limit("rate", 2, team=team)
    limit("rate", 2)


# --- Requests a minute, parallel requests --------------------------------------------------


def test_parallel_requests_wait_for_a_place(
    alice: User, connection: Connection, process: Process
) -> None:
    limit("parallel", 2, connection=connection)
    runs = begin(alice, connection, process, 4)
    assert pks(Run.objects.claim(9, process)) == pks(runs[:2])
    assert Run.objects.claim(9, process) == []
    end(runs[0])
    assert pks(Run.objects.claim(9, process)) == [runs[2].pk]


def test_the_narrowest_of_several_limits_decides(
    alice: User, bob: User, connection: Connection, process: Process, team: Team
) -> None:
    limit("parallel", 5, connection=connection)
    limit("parallel", 3, team=team)
    limit("parallel", 2, each_member=True, team=team)
    of_alice, of_bob = (begin(user, connection, process, 3) for user in (alice, bob))
    # Two are Alice's; of the team's third place Bob gets one: a full queue holds nobody else up.
    assert pks(Run.objects.claim(9, process)) == pks([*of_alice[:2], of_bob[0]])


def test_the_connections_own_parallel_requests_hold_beside_limits(
    alice: User, connect: Callable[..., Connection], process: Process
) -> None:
    narrow = connect("narrow", parallel=1)
    limit("parallel", 2, connection=narrow)
    runs = begin(alice, narrow, process, 2)
    assert pks(Run.objects.claim(9, process)) == [runs[0].pk]


def test_no_minute_has_more_requests_than_allowed(
    alice: User, connection: Connection, process: Process
) -> None:
    limit("rate", 3, connection=connection)
    runs = begin(alice, connection, process, 6)
    started = Run.objects.claim(9, process)
    assert pks(started) == pks(runs[:3])
    for run in started:
        end(run)  # an ended one counts as well
    assert Run.objects.claim(9, process) == []
    ago = timezone.now() - timedelta(seconds=59)
    Run.objects.filter(pk=runs[0].pk).update(started_at=ago)
    assert Run.objects.claim(9, process) == []
    Run.objects.filter(pk=runs[0].pk).update(started_at=ago - timedelta(seconds=2))
    assert pks(Run.objects.claim(9, process)) == [runs[3].pk]


def test_a_clock_that_was_set_back_holds_nobody_up_for_long(
    alice: User, connection: Connection, process: Process
) -> None:
    limit("rate", 1)
    runs = begin(alice, connection, process, 2)
    ahead = timezone.now() + timedelta(hours=1)
    Run.objects.filter(pk=runs[0].pk).update(status="completed", started_at=ahead)
    assert pks(Run.objects.claim(9, process)) == [runs[1].pk]


@pytest.mark.parametrize("kind", ["rate", "parallel", "tokens_day", "money_month"])
def test_a_limit_of_zero_queues_nothing(
    alice: User, connection: Connection, process: Process, kind: str
) -> None:
    price(connection, "0.001")
    made = limit(kind, 0, connection=connection)
    with pytest.raises(OverLimit, match="Nothing may be sent here: the limit is"):
        begin(alice, connection, process)
    assert not Comparison.objects.exists()
    made.amount = Decimal(100_000)
    made.save()
    begin(alice, connection, process)


# --- Tokens and money ----------------------------------------------------------------------


def test_tokens_are_reserved_and_settled(
    alice: User, connection: Connection, process: Process
) -> None:
    made = limit("tokens_day", 2 * MOST, connection=connection)
    runs = begin(alice, connection, process, 2)
    assert runs[0].counted_tokens == MOST
    with pytest.raises(OverLimit, match="is used up, 202 of it reserved by runs that go on"):
        begin(alice, connection, process)
    Run.objects.claim(9, process)
    end(runs[0])
    assert spent(made) == USED
    with pytest.raises(OverLimit, match=r"has 90 tokens left, 101 of it reserved .* up to 101"):
        begin(alice, connection, process)
    begin(alice, connection, process, max_tokens=89)
    with pytest.raises(OverLimit, match="is used up"):
        begin(alice, connection, process, max_tokens=1)


def test_without_max_tokens_the_assumed_maximum_is_reserved(
    alice: User, connect: Callable[..., Connection], process: Process
) -> None:
    long = connect("long", assumed_tokens=1000)
    columns = [(long, request_to(long, n=2))]
    comparison = Comparison.objects.begin(member(alice), columns, owner=process)
    assert comparison.runs.get().counted_tokens == 2001


def test_money_is_exact_to_the_last_digit(
    alice: User, connection: Connection, process: Process
) -> None:
    price(connection, "0.1")  # 0.1 + 0.2 is not 0.3 in binary
    made = limit("money_day", "0.6", team=member(alice).team)
    for max_tokens in (1, 2):
        [run] = begin(alice, connection, process, max_tokens=max_tokens)
        Run.objects.claim(1, process)
        end(run, usage={"prompt_tokens": 0, "completion_tokens": max_tokens})
    assert spent(made) == int(Decimal("0.3") * UNITS)
    [run] = begin(alice, connection, process, max_tokens=2)
    with pytest.raises(OverLimit, match=r"\$0.60 a day for team Evals is used up"):
        begin(alice, connection, process, max_tokens=1)
    Run.objects.claim(1, process)
    end(run, usage={"prompt_tokens": 1, "completion_tokens": 1})
    assert Run.objects.get(pk=run.pk).cost == Decimal("0.2")
    begin(alice, connection, process, prompt="", max_tokens=1)


def test_what_costs_nothing_is_not_held_back_by_money(
    alice: User, connect: Callable[..., Connection], process: Process
) -> None:
    free, unpriced, dear = connect("free"), connect("unpriced"), connect("dear")
    price(free, 0)
    price(dear, 1)
    limit("money_day", 1)
    with pytest.raises(OverLimit):
        begin(alice, dear, process)
    begin(alice, free, process)
    begin(alice, unpriced, process)


def test_a_provider_that_says_its_costs_is_stopped_when_they_reach_the_limit(
    alice: User, connect: Callable[..., Connection], process: Process
) -> None:
    pulze = connect("pulze", provider="pulze", dialect="")
    made = limit("money_day", 1, connection=pulze)
    [run] = begin(alice, pulze, process)
    Run.objects.claim(1, process)
    meta = ["meta", -1, {"metadata": {"costs": {"total_tokens": 1.25}}}, 1.0]
    close_run(run.pk, Ending(RunStatus.COMPLETED), [meta])
    settle_runs([run.pk])
    assert spent(made) == int(Decimal("1.25") * UNITS)
    with pytest.raises(OverLimit, match=r"The limit of \$1 a day at pulze is used up"):
        begin(alice, pulze, process)


@pytest.mark.parametrize(
    ("ending", "usage", "counted"),
    [
        ({"status": "completed"}, USAGE, USED),
        ({"status": "completed"}, None, MOST),
        ({"status": "cancelled"}, None, MOST),
        ({"status": "interrupted"}, None, MOST),
        ({"status": "failed", "error_kind": ErrorKind.TIMEOUT}, None, MOST),
        ({"status": "failed", "error_kind": ErrorKind.UNAVAILABLE, "error_status": 500}, None,
         MOST),
        ({"status": "failed", "error_kind": ErrorKind.TRUNCATED}, USAGE, MOST),
        ({"status": "failed", "error_kind": ErrorKind.AUTH, "error_status": 401}, None, 0),
        ({"status": "failed", "error_kind": ErrorKind.RATE_LIMIT, "error_status": 429}, None, 0),
        ({"status": "failed", "error_kind": ErrorKind.CONNECTION}, None, 0),
    ],
)  # fmt: skip
def test_a_run_counts_what_it_took_or_keeps_its_reservation(
    alice: User,
    connection: Connection,
    process: Process,
    ending: dict[str, Any],
    usage: Any,
    counted: int,
) -> None:
    price(connection, "0.01")
    tokens, money = limit("tokens_day", 1000), limit("money_month", 100)
    [run] = begin(alice, connection, process)
    Run.objects.claim(1, process)
    end(run, usage=usage, **ending)
    assert spent(tokens) == counted
    assert spent(money) == counted * UNITS // 100
    assert Run.objects.get(pk=run.pk).counted_tokens == counted


def test_a_run_that_was_never_sent_gives_all_back(
    alice: User, connection: Connection, process: Process
) -> None:
    made = limit("tokens_day", MOST)
    [run] = begin(alice, connection, process)
    end(run, "cancelled", usage=None)
    assert spent(made) == 0
    begin(alice, connection, process)


def test_after_a_crash_reservations_are_right(
    alice: User, connection: Connection, process: Process
) -> None:
    made = limit("tokens_day", 3 * MOST)
    gone = Process.objects.create(host=process.host, pid=process.pid, started="1")
    runs = begin(alice, connection, gone, 3)
    assert len(Run.objects.claim(2, gone)) == 2
    with pytest.raises(OverLimit):
        begin(alice, connection, process)
    Reaper(process).reap()
    assert [Run.objects.get(pk=run.pk).status for run in runs] == ["interrupted"] * 3
    assert spent(made) == 2 * MOST  # what was sent keeps its reservation, what waited does not
    begin(alice, connection, process)
    with pytest.raises(OverLimit):
        begin(alice, connection, process)
    Reaper(process).reap()
    settle(Run.objects.all(), [])
    assert spent(made) == 2 * MOST


def test_a_deleted_run_holds_no_reservation(
    alice: User, connection: Connection, process: Process
) -> None:
    limit("tokens_day", MOST)
    [run] = begin(alice, connection, process)
    with pytest.raises(OverLimit):
        begin(alice, connection, process)
    run.comparison.delete()
    assert len(begin(alice, connection, process)) == 1


# --- Limits that change ---------------------------------------------------------------------


def test_a_new_limit_counts_what_was_used_before_it(
    alice: User, connection: Connection, process: Process
) -> None:
    old, ended, running, waiting = begin(alice, connection, process, 4)
    yesterday = timezone.now() - timedelta(days=1)
    Run.objects.filter(pk=old.pk).update(created_at=yesterday)
    assert len(Run.objects.claim(3, process)) == 3
    end(old)
    end(ended)
    made = limit("tokens_day", 2 * MOST + USED)
    with pytest.raises(OverLimit, match="is used up, 202 of it reserved"):
        begin(alice, connection, process)
    end(running)
    end(waiting, "cancelled", usage=None)
    begin(alice, connection, process)
    assert spent(made) == 2 * USED


def test_a_limit_set_or_lowered_while_runs_wait_holds_for_them(
    alice: User, connection: Connection, process: Process
) -> None:
    runs = begin(alice, connection, process, 4)
    assert len(Run.objects.claim(1, process)) == 1
    made = limit("tokens_day", 2 * MOST)
    started, refused = Run.objects.admit(9, process)
    assert (pks(started), refused) == ([runs[1].pk], [])  # the others may fit when these have ended
    made.amount = Decimal(MOST + USED)
    made.save()
    assert Run.objects.admit(9, process) == ([], [])
    end(runs[0])
    assert Run.objects.admit(9, process) == ([], [])
    end(runs[1])
    started, refused = Run.objects.admit(9, process)
    assert started == []
    assert pks([run for run, _ in refused]) == pks(runs[2:])
    assert "has 90 tokens left, and this may take up to 101" in refused[0][1]
    made.delete()
    assert pks(Run.objects.claim(9, process)) == pks(runs[2:])


def test_a_limit_that_is_raised_lets_waiting_runs_go(
    alice: User, connection: Connection, process: Process
) -> None:
    made = limit("parallel", 1)
    runs = begin(alice, connection, process, 3)
    assert len(Run.objects.claim(9, process)) == 1
    made.amount = Decimal(3)
    made.save()
    assert pks(Run.objects.claim(9, process)) == pks(runs[1:])


# --- Periods -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "at", "zone", "period", "renews"),
    [
        ("tokens_day", NOON, "UTC", "2026-11-30", "2026-12-01"),
        ("money_month", NOON, "UTC", "2026-11-01", "2026-12-01"),
        ("money_month", datetime(2026, 12, 31, 23, tzinfo=UTC), "UTC", "2026-12-01", "2027-01-01"),
        ("tokens_day", NOON, "Pacific/Kiritimati", "2026-12-01", "2026-12-02"),
        ("tokens_month", NOON, "Pacific/Kiritimati", "2026-12-01", "2027-01-01"),
    ],
)
def test_days_and_months_are_those_of_the_playground(
    settings: Any, kind: str, at: datetime, zone: str, period: str, renews: str
) -> None:
    settings.TIME_ZONE = zone
    made = Limit(kind=kind, amount=1)
    assert str(made.period(at)) == period
    assert str(made.renews(made.period(at))) == renews


def test_a_new_day_begins_at_nothing(alice: User, connection: Connection, process: Process) -> None:
    day, month = limit("tokens_day", MOST), limit("tokens_month", 3 * MOST)
    [run] = begin(alice, connection, process)
    Run.objects.claim(1, process)
    end(run, usage=None)
    with pytest.raises(OverLimit, match=r"101 tokens a day .* It renews on \d+ \w+ at 00:00 UTC"):
        begin(alice, connection, process)
    for meter in Meter.objects.filter(limit=day):
        meter.period -= timedelta(days=1)
        meter.save()
    Run.objects.update(created_at=timezone.now() - timedelta(days=1))
    begin(alice, connection, process)
    assert spent(month) == MOST


# --- What is left --------------------------------------------------------------------------


def test_it_says_what_is_left(alice: User, bob: User, connection: Connection) -> None:
    process = Process.objects.create(host="h", pid=1, started="1")
    price(connection, "0.01")
    limit("rate", 60, connection=connection)
    limit("parallel", 2, team=member(alice).team)
    limit("money_day", 10, each_member=True)
    limit("tokens_month", 1000)
    limit("tokens_day", 7, member=bob)
    runs = begin(alice, connection, process, 3)
    Run.objects.claim(9, process)
    end(runs[0])
    who = Who(connection.pk, member(alice).team_id, alice.pk)
    found = {each.limit.kind: each.text for each in standings(Run.objects.all(), [who])}
    assert found == {
        "rate": "58 of 60 requests left this minute",
        "parallel": "1 of 2 parallel requests free",
        "money_day": "$7.87 of $10 left today",
        "tokens_month": "787 of 1,000 tokens left this month",
    }
    assert not Meter.objects.filter(limit__kind="tokens_day").exists()


# --- Fifty at once -------------------------------------------------------------------------


@pytest.fixture
def many(team: Team) -> Callable[[Callable[[int], Any], int], list[Any]]:
    """Call a function in n threads at once, with numbers; its results, or OverLimit."""

    def at_once(function: Callable[[int], Any], n: int = 50) -> list[Any]:
        start, results = threading.Barrier(n), [None] * n

        def work(number: int) -> None:
            start.wait()
            try:
                results[number] = function(number)
            except OverLimit as error:
                results[number] = error
            finally:
                connections.close_all()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(n)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results

    return at_once


def test_of_fifty_presses_at_once_as_many_are_queued_as_fit(
    alice: User, connection: Connection, process: Process, many: Any
) -> None:
    limit("tokens_day", 20 * MOST + 7)
    results = many(lambda _: begin(alice, connection, process), 50)
    refused = [result for result in results if isinstance(result, OverLimit)]
    assert len(refused) == 30
    assert Run.objects.count() == 20


@pytest.mark.parametrize("kind", ["rate", "parallel"])
def test_of_fifty_claims_at_once_as_many_start_as_fit(
    alice: User, connection: Connection, many: Any, kind: str
) -> None:
    limit(kind, 20, connection=connection)
    processes = [Process.objects.create(host="h", pid=n, started="1") for n in range(50)]
    for process in processes:
        begin(alice, connection, process, 2)
    results = many(lambda n: Run.objects.claim(1, processes[n]), 50)
    assert sum(len(result) for result in results) == 20
    assert Run.objects.filter(status="running").count() == 20
    assert Run.objects.claim(9, processes[0]) == []


# --- Through the runner --------------------------------------------------------------------


async def begun(runner: Runner, user: User, connection: Connection, n: int) -> list[Run]:
    columns = [(connection, request(connection))] * n
    membership = await in_thread(member, user)
    comparison = await runner.start(membership, columns)
    return [run async for run in comparison.runs.order_by("pk")]


async def ended(runner: Runner, runs: list[Run]) -> list[Run]:
    await asyncio.wait_for(runner.wait(pks(runs)), 20)
    return await saved(pks(runs))


async def test_runs_over_the_limit_of_parallel_requests_wait_and_run(
    runner: Runner, alice: User, connection: Connection, provider: FakeProvider
) -> None:
    await in_thread(limit, "parallel", 2, connection=connection)
    piece = [text_event("Yes"), 0.02, text_event("", finish="stop", usage=USAGE), DONE]
    provider.reply_with(Reply(pieces=piece))
    runs = await ended(runner, await begun(runner, alice, connection, 6))
    assert [run.status for run in runs] == ["completed"] * 6
    times = [(run.started_at, run.finished_at) for run in runs]
    for started, _ in times:  # at each start at most two were on their way
        assert started is not None
        assert sum(s <= started and (f or NOON) > started for s, f in times if s) <= 2


async def test_runs_that_can_never_start_are_closed_with_the_reason(
    runner: Runner, alice: User, connection: Connection, provider: FakeProvider
) -> None:
    narrow = await in_thread(limit, "parallel", 1)
    provider.reply_with(Reply(pieces=[text_event("Par")], end="hold"))
    first, *waiting = await begun(runner, alice, connection, 3)
    await asyncio.to_thread(provider.wait_for_request)
    narrow.amount = Decimal(0)
    await narrow.asave()
    closed = await ended(runner, waiting)
    assert {(run.status, run.error_kind, run.started_at) for run in closed} == {
        ("failed", "limit", None)
    }
    assert closed[0].error_message == (
        "Not sent. Nothing may be sent here: the limit is 0 parallel requests for everybody "
        "together."
    )
    assert len(provider.posts) == 1
    await runner.stop(first)
    await ended(runner, [first])


async def test_a_refused_request_gives_its_reservation_back(
    runner: Runner, alice: User, connection: Connection, provider: FakeProvider
) -> None:
    made = await in_thread(limit, "tokens_day", 1000)
    provider.reply_with(error_reply(400, {"error": {"message": "no"}}))
    [run] = await ended(runner, await begun(runner, alice, connection, 1))
    assert (run.status, run.counted_tokens) == ("failed", 0)
    assert await in_thread(spent, made) == 0


def test_people_of_other_teams_are_not_counted(
    alice: User, charlie: User, connection: Connection, process: Process, team: Team
) -> None:
    limit("parallel", 1, team=team)
    person("dora", team, Membership.Role.MEMBER)
    begin(charlie, connection, process, 3)
    begin(alice, connection, process, 2)
    assert len(Run.objects.claim(9, process)) == 4
