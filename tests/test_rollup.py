"""The roll-up says what the runs say, whatever happened to them."""

import random
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection as database
from django.utils import timezone

from playground import costs
from playground.figures import SHORTEST_MS, Figures, together
from playground.models import (
    Block,
    BlockTally,
    Comparison,
    Connection,
    Job,
    Label,
    LabelTally,
    Run,
    RunLabel,
    Stale,
    Tally,
    User,
    blocks,
    tallies,
)
from playground.models import statistics as module
from playground.models.blocks import Cover, State
from playground.models.counts import quarter_of
from playground.models.finder import Finder
from playground.models.retention import erase_batch
from playground.models.statistics import Groups, groups_of
from playground.periods import Period
from playground.query import parse
from tests.runs import make_run

BEGIN = datetime(2026, 3, 27, 22, 40, tzinfo=UTC)  # the clocks of Zurich change on the 29th
PERIOD = Period(date(2026, 3, 27), date(2026, 4, 3))
ZONES = ("UTC", "Europe/Zurich", "Asia/Kathmandu", "America/St_Johns")


def roll_up() -> None:
    while Stale.objects.roll_up():
        pass


def plain(figures: Figures) -> dict[str, Any]:
    """Comparable; latencies as numbers of runs where the values are only near."""
    ends = {status: count for status, count in figures.ends.items() if count}
    live = ends.pop("queued", 0) + ends.pop("running", 0)
    return {
        "runs": figures.runs,
        "ends": ends,
        "live": live,
        "tokens": (figures.tokens_in, figures.tokens_out),
        "cost": (figures.cost, figures.priced),
        "first": figures.first.counted().total(),
        "total": figures.total.counted().total(),
    }


def said(groups: Groups) -> dict[str, Any]:
    named = {
        "days": groups.days, "models": groups.models, "members": groups.members,
        "labels": groups.labels,
    }  # fmt: skip
    return {
        name: {key: plain(figures) for key, figures in part.items() if figures.runs}
        for name, part in named.items()
    }


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """The roll-up is used for any number of runs."""
    monkeypatch.setattr(module, "FEW", -1)


def compared(user: User, mine: bool = False) -> None:
    """The roll-up, as it is, against the runs themselves."""
    finder = Finder(user, parse("", date(2026, 4, 3)), mine=mine)
    rolled = groups_of(finder, PERIOD, daily=True)
    assert rolled.rolled_up
    read = Groups()
    begin, end = module.midnight(PERIOD.first), module.midnight(PERIOD.end)
    module._read_runs(read, finder, begin, end)
    assert said(rolled) == said(read)
    for share in (0.5, 0.95):
        for name in ("first_at", "total_at"):
            near, exact = getattr(rolled.whole, name)(share), getattr(read.whole, name)(share)
            assert near == exact or abs(near - exact) <= max(0.02 * exact, SHORTEST_MS)


def one_run(dice: random.Random, user: User, connection: Connection) -> Run:
    status = dice.choice(("completed", "completed", "failed", "cancelled", "interrupted", "queued"))
    return make_run(
        user,
        index=False,
        created_at=BEGIN + timedelta(minutes=dice.randrange(6 * 24 * 60), seconds=dice.random()),
        visibility=dice.choice(("team", "team", "private")),
        status=status,
        model=dice.choice(("a", "b", "")),
        connection=connection,
        connection_name=dice.choice(("local", "ogx")),
        provider=dice.choice(("local", "ogx")),
        prompt_tokens=dice.choice((None, 3, 2**40)),
        completion_tokens=dice.choice((None, 0, 7)),
        cost=dice.choice((None, Decimal("0.0000000001"), Decimal("1.25"))),
        first_token_ms=dice.choice((None, dice.lognormvariate(5, 1))),
        total_ms=dice.choice((None, 0.0, dice.lognormvariate(7, 1))),
    )


def any_change(
    dice: random.Random, users: list[User], labels: list[Label], connection: Connection
) -> None:
    """Something that the product does to runs."""
    run = dice.choice([None, *Run.objects.all()])
    if run is None or Run.objects.count() < 15:
        one_run(dice, dice.choice(users), connection)
        return
    ids = [run.comparison_id]
    changes: list[Callable[[], Any]] = [
        lambda: Comparison.objects.move(ids, visibility=dice.choice(("team", "private"))),
        lambda: run.comparison.trash(),
        lambda: run.comparison.restore(),
        lambda: run.comparison.purge(),
        lambda: erase_batch(),
        lambda: RunLabel.objects.put([run.pk], [dice.choice(labels)]),
        lambda: RunLabel.objects.filter(run=run).delete(),
        lambda: Run.objects.filter(pk=run.pk).update(status="completed", cost=Decimal("0.5")),
        lambda: Run.objects.filter(pk=run.pk).update(prompt_tokens=5, total_ms=77.0),
        lambda: one_run(dice, dice.choice(users), connection),
        lambda: one_run(dice, dice.choice(users), connection),
    ]
    dice.choice(changes)()


@pytest.mark.parametrize("seed", range(4))
def test_it_agrees_with_the_runs_after_anything(
    seed: int, alice: User, bob: User, connection: Connection, always: None
) -> None:
    dice = random.Random(seed)
    assert alice.current_team_id is not None
    labels = Label.objects.named(alice.current_team_id, ["draft", "task=qa", "task=sum", "new"])
    for number in range(60):
        any_change(dice, [alice, bob], labels, connection)
        if dice.random() < 0.3:
            Stale.objects.roll_up()
        if dice.random() < 0.3:
            Block.objects.build(rest=dice.choice((timedelta(), timedelta(hours=1))))
        if number % 15 == 14:
            with timezone.override(dice.choice(ZONES)):
                for user in (alice, bob):
                    compared(user)
                    compared(user, mine=True)
    roll_up()
    while Block.objects.build(rest=timedelta()):
        pass
    assert not Stale.objects.exists()
    assert not Block.objects.filter(ready=False).exists()
    before = rows()
    for zone in ZONES:
        with timezone.override(zone):
            compared(bob)
            compared(bob, mine=True)
    call_command("rebuild_statistics")
    assert rows() == before


def test_the_largest_figures_fit(alice: User, always: None) -> None:
    for _ in range(20):
        make_run(
            alice, created_at=BEGIN, cost=costs.MOST - costs.SMALLEST,
            prompt_tokens=costs.MOST_TOKENS - 1, completion_tokens=costs.MOST_TOKENS - 1,
        )  # fmt: skip
    roll_up()
    compared(alice)


def rows() -> list[Any]:
    """The whole roll-up but its keys."""
    found = []
    for model in (Tally, LabelTally, BlockTally):
        names = [f.attname for f in model._meta.concrete_fields if f.attname != "id"]
        found.append(sorted(model._default_manager.values_list(*names), key=repr))
    return found


def test_a_run_at_23_59_stands_under_that_day(alice: User, always: None) -> None:
    # 23:59 in Kathmandu, which is 5:45 ahead.
    make_run(alice, created_at=datetime(2026, 3, 28, 18, 14, tzinfo=UTC))
    make_run(alice, created_at=datetime(2026, 3, 28, 18, 15, tzinfo=UTC))
    roll_up()
    finder = Finder(alice, parse("", date(2026, 4, 3)))
    with timezone.override("Asia/Kathmandu"):
        days = [day for day, _ in groups_of(finder, PERIOD).days]
    assert sorted(days) == [date(2026, 3, 28), date(2026, 3, 29)]
    with timezone.override("Europe/Zurich"):
        assert {day for day, _ in groups_of(finder, PERIOD).days} == {date(2026, 3, 28)}


def test_a_change_that_is_not_counted_yet_is_read_from_the_run(alice: User, always: None) -> None:
    run = make_run(alice, created_at=BEGIN, prompt_tokens=5)
    roll_up()
    Run.objects.filter(pk=run.pk).update(prompt_tokens=8)
    assert Tally.objects.get().tokens_in == 5
    finder = Finder(alice, parse("", date(2026, 4, 3)))
    assert groups_of(finder, PERIOD).whole.tokens_in == 8


def test_a_mark_of_meanwhile_is_not_taken_away(alice: User, monkeypatch: Any) -> None:
    """Two processes count the same quarter: one of them gives up."""
    make_run(alice, created_at=BEGIN)
    original = tallies.counted

    def other_process(*arguments: Any) -> Any:
        found = original(*arguments)
        monkeypatch.setattr("playground.models.tallies.counted", original)
        make_run(alice, created_at=BEGIN)
        assert Stale.objects.roll_up() == 1
        return found

    monkeypatch.setattr("playground.models.tallies.counted", other_process)
    assert Stale.objects.roll_up() == 0
    roll_up()
    assert sum(Tally.objects.values_list("runs", flat=True)) == 2


def test_what_nobody_counts_leaves_no_mark(alice: User) -> None:
    run = make_run(alice, created_at=BEGIN)
    roll_up()
    Run.objects.filter(pk=run.pk).update(starred=True, warnings="x", indexed=True)
    assert not Stale.objects.exists()


def test_a_merge_and_a_deleted_person_are_followed(alice: User, bob: User, always: None) -> None:
    run = make_run(bob, created_at=BEGIN)
    source, label = Label.objects.named(run.team_id, ["old", "new"])
    RunLabel.objects.put([run.pk], [source])
    roll_up()
    membership = alice.membership()
    assert membership
    job = Job.objects.merge(membership, source, label)
    while job.step():
        pass
    bob.delete()
    roll_up()
    groups = groups_of(Finder(alice, parse("", date(2026, 4, 3))), PERIOD)
    assert dict(groups.labels).keys() == {label.pk}
    assert dict(groups.members).keys() == {None}


def test_the_triggers_are_there(alice: User) -> None:
    """A migration that rebuilds a table on SQLite takes them away without a word."""
    with database.cursor() as cursor:
        if database.vendor == "postgresql":
            cursor.execute("SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'stale_%%'")
        else:
            cursor.execute("SELECT count(*) FROM sqlite_master WHERE name LIKE 'stale_run_%'")
        assert cursor.fetchone()[0] == 4


def test_quarters_before_1970_go_down(alice: User) -> None:
    moment = datetime(1969, 12, 31, 23, 59, tzinfo=UTC)
    make_run(alice, created_at=moment)
    assert {mark.quarter for mark in Stale.objects.all()} == {quarter_of(moment)} == {-1}


# --- Blocks --------------------------------------------------------------------------------


def sum_up() -> None:
    roll_up()
    while Block.objects.build(rest=timedelta()):
        pass


def test_a_year_is_read_from_large_blocks(alice: User, always: None) -> None:
    """Neither quarters nor runs: those are taken away here."""
    team = alice.current_team_id
    for day in range(0, 320, 4):
        make_run(alice, created_at=datetime(2025, 1, 10, 1, tzinfo=UTC) + timedelta(days=day))
    sum_up()
    Tally.objects.all().delete()
    LabelTally.objects.all().delete()
    finder = Finder(alice, parse("", date(2026, 4, 3)))
    year = Period(date(2025, 1, 1), date(2025, 12, 31), "year")
    groups = groups_of(finder, year)
    assert groups.whole.runs == 80
    assert sum(each.runs for each in groups.models.values()) == 80
    assert {key: each.runs for key, each in groups.members.items()} == {alice.pk: 80}
    assert {key: each.runs for key, each in groups.labels.items()} == {0: 80}
    assert {day.weekday() for day, _ in groups.days} <= {
        0,
        2,
    }  # weeks; the year began on a Wednesday
    sizes = BlockTally.objects.filter(team_id=team, by="connection").values_list("size", flat=True)
    assert set(sizes) == {4, 24, 96, 768}


def test_a_block_is_left_alone_for_a_while_and_until_it_is_over(alice: User) -> None:
    make_run(alice, created_at=BEGIN)
    roll_up()
    assert Block.objects.filter(ready=False).count() == 4
    assert Block.objects.build() == 0
    assert Block.objects.build(rest=timedelta()) == 1
    Block.objects.all().delete()
    make_run(alice, created_at=timezone.now())
    roll_up()
    assert Block.objects.build(rest=timedelta()) == 0


def test_a_block_that_changed_meanwhile_is_not_ready(alice: User, monkeypatch: Any) -> None:
    make_run(alice, created_at=BEGIN)
    roll_up()
    original = blocks._summed

    def meanwhile(*arguments: Any) -> Any:
        found = list(original(*arguments))
        make_run(alice, created_at=BEGIN)
        roll_up()
        return found

    monkeypatch.setattr(blocks, "_summed", meanwhile)
    assert Block.objects.build(rest=timedelta()) == 1
    assert not Block.objects.filter(ready=True).exists()
    assert not BlockTally.objects.exists()


def test_blocks_that_change_while_they_are_read_are_read_again(
    alice: User, always: None, monkeypatch: Any
) -> None:
    make_run(alice, created_at=BEGIN)
    sum_up()
    original = module._Reading._team

    def meanwhile(self: Any, state: Any) -> None:
        monkeypatch.setattr(module._Reading, "_team", original)
        make_run(alice, created_at=BEGIN)
        sum_up()
        original(self, state)

    monkeypatch.setattr(module._Reading, "_team", meanwhile)
    groups = groups_of(Finder(alice, parse("", date(2026, 4, 3))), PERIOD)
    # The old or the new sum, each whole: never a part.
    assert {figures.runs for figures in groups.models.values()} == {groups.whole.runs}


def test_any_stretch_is_covered_once() -> None:
    dice = random.Random(7)
    for _ in range(200):
        first = dice.randrange(-3000, 3000)
        end = first + dice.randrange(0, 4000)
        unready = frozenset(
            (size, dice.randrange(-4, 8) * size) for size in dice.choices(blocks.SIZES, k=5)
        )
        stale = sorted({dice.randrange(first - 5, end + 5) for _ in range(3)})
        cover = Cover(blocks.SIZES, State(unready, None, 0), stale)
        cover.add(first, end, "x")
        found = [quarter for a, b, _ in cover.pieces for quarter in range(a, b)]
        for size, starts in cover.blocks.items():
            for start in starts:
                assert (size, start) not in unready
                assert not set(stale) & set(range(start, start + size))
                found += range(start, start + size)
        assert sorted(found) == list(range(first, end))


def test_parts_come_to_the_whole() -> None:
    halves = [Figures(runs=2), Figures(runs=3)]
    assert together(halves).runs == 5


def test_few_runs_of_many_are_read_one_by_one(alice: User, bob: User, monkeypatch: Any) -> None:
    """Of a team with many runs, somebody who sees few of them."""
    monkeypatch.setattr(module, "FEW", 2)
    for _ in range(3):
        make_run(bob, created_at=BEGIN, visibility="private")
    make_run(alice, created_at=BEGIN)
    sum_up()
    query = parse("", date(2026, 4, 3))
    of_alice, of_bob = (groups_of(Finder(user, query), PERIOD) for user in (alice, bob))
    assert (of_alice.rolled_up, of_alice.whole.runs) == (False, 1)
    assert (of_bob.rolled_up, of_bob.whole.runs) == (True, 4)
