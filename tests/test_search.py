"""What a search finds. One corpus; `tests/services/test_search.py` runs this on PostgreSQL too."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import chain
from typing import Any

import pytest
from django.utils import timezone

from playground.models import Comment, Label, Rating, Run, RunFact, RunLabel, User
from playground.models import finder as finding
from playground.models.finder import Finder
from playground.query import parse
from tests.runs import make_run

pytestmark = pytest.mark.django_db

CORPUS = {
    "site": "See example.com for more",
    "site2": "an example, com port",
    "mail": "write to a@b.c today",
    "minus": "it was -5 degrees",
    "five": "it was 5 degrees",
    "percent": "50% off",
    "hundred": "500 off",
    "under": "a_b",
    "axb": "axb",
    "back": r"c\d",
    "apostrophe": "it's ' alone",
    "quote": 'she said "hello there" to me',
    "quotes": "two '' quotes",
    "accents": "Café RÉSUMÉ naïve",
    "decomposed": "cafe\u0301 again",
    "plain": "cafe",
    "cjk": "我喜欢日本語の本",
    "cjk2": "日本 語",
    "german": "STRASSE und Straße",
    "nul": "a\ufffdb",
    "markup": "<script>alert(1)</script>",
    "shell": "./run.sh -v",
    "emoji": "well 😀 done",
    "url": "http://x/y?z=1",
    "clock": "at 12:30 sharp",
    "arabic": "النص العربي",
    "hindi": "हिन्दी भाषा",
    "thai": "ภาษาไทยง่าย",
}


@pytest.fixture
def corpus(alice: User) -> dict[int, str]:
    """Half of them as prompts, half as outputs. {run: name}."""
    names = {}
    for number, (name, text) in enumerate(CORPUS.items()):
        prompt, output = (text, "nothing") if number % 2 else ("nothing", text)
        names[make_run(alice, prompt, output).pk] = name
    return names


def search(user: User, typed: str, **options: Any) -> list[int]:
    query = parse(typed, timezone.localdate())
    assert not query.problems
    found = Finder(user, query, single=True, **options).page(100)
    assert not found.walked
    return [key.run for key in found.keys]


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("example.com", "site"),
        ("example com", "site site2"),
        ("a@b.c", "mail"),
        ("-5", "minus"),
        ("5", "minus five"),
        ("50%", "percent"),
        ("50", "percent"),
        ("%", "percent"),
        ("a_b", "under"),
        ("_", "under"),
        (r"c\d", "back"),
        ("\\", "back"),
        ("'", "apostrophe quotes"),
        ("''", "quotes"),
        ('"', "quote"),
        ('"hello there"', "quote"),
        ('"there hello"', ""),
        ('"HELLO THERE"', "quote"),
        ("café", "accents decomposed"),
        ("cafe\u0301", "accents decomposed"),
        ("CAFÉ", "accents decomposed"),
        ("cafe", "plain"),
        ("日本語", "cjk"),
        ("日本", "cjk cjk2"),
        ("語", "cjk cjk2"),
        ("本語", "cjk"),
        ("の", "cjk"),
        ("strasse", "german"),
        ("straße", "german"),
        ("a\0b", "nul"),
        ("<script>", "markup"),
        ("-v", "shell"),
        ("😀", "emoji"),
        ("http://x/y?z=1", "url"),
        ("12:30", "clock"),
        ("العربي", "arabic"),
        ("हिन्दी", "hindi"),
        ("ไทย", "thai"),
        ('degrees -"-5"', "five"),
        ("zyzzyva", ""),
        ("exam", "site site2"),
        ("EXAM", "site site2"),
        ('"exam"', ""),
        ("exam com", ""),
        ("com exam", "site site2"),
        ("ex", ""),
        ("naï", "accents"),
        ("degr minus", ""),
        ("strass", "german"),
        ("العر", "arabic"),
        ("OR AND NOT", ""),
        ("a*", ""),
        ("words:", ""),
        ("^cafe", ""),
        ("{cafe}", ""),
    ],
)
def test_each_search_finds_these_and_no_others(
    alice: User, corpus: dict[int, str], typed: str, names: str
) -> None:
    assert {corpus[run] for run in search(alice, typed)} == set(names.split())


@pytest.mark.parametrize("typed", ["nothing", '"nothing"', "", 'nothing -"zyzzyva"'])
def test_everything_is_found_newest_first(alice: User, corpus: dict[int, str], typed: str) -> None:
    assert search(alice, typed) == sorted(corpus, reverse=True)


# --- Filters ---------------------------------------------------------------------------------


@pytest.fixture
def three(alice: User) -> list[Run]:
    return [
        make_run(
            alice, "one", model="a/small:1b", values={"temperature": 0.2, "seed": 0},
            connection_name="lab", starred=True, rating=5.0,
        ),
        make_run(
            alice, "two", model="b", values={"temperature": 1, "stop": "###"}, status="failed",
            error_kind="timeout", provider="ogx", rating=2.0,
        ),
        make_run(
            alice, "three", model="B", values={"temperature": "hot"}, visibility="private",
            metadata='{"id": "cmpl-9", "routing": {"model": "deep blue"}}', status="cancelled",
        ),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("model:b", "two"),
        ("model:a/small:1b", "one"),
        ("model:a*", "one"),
        ("-model:b", "one three"),
        ("connection:lab", "one"),
        ("provider:ogx", "two"),
        ("status:failed", "two"),
        ("status:stopped", "three"),
        ("-status:failed", "one three"),
        ("is:starred", "one"),
        ("-is:starred", "two three"),
        ("is:private", "three"),
        ("is:team", "one two"),
        ("is:live", ""),
        ("is:rated", "one two"),
        ("is:mine", "one two three"),
        ("user:me", "one two three"),
        ("user:ALICE", "one two three"),
        ("user:nobody", ""),
        ("rating:5", "one"),
        ("rating:>=2", "one two"),
        ("rating:<3", "two"),
        ("-rating:>=4", "two three"),
        ("rating:!=5", "two"),
        ("has:error", "two"),
        ("-has:error", "one three"),
        ("has:comment", ""),
        ("has:label", ""),
        ("param:temperature", "one two three"),
        ("param:temperature>0.5", "two"),
        ("param:temperature<=0.2", "one"),
        ("param:temperature=1.0", "two"),
        ("param:temperature=hot", "three"),
        ("param:seed=0", "one"),
        ("-param:seed", "two three"),
        ('param:stop="###"', "two"),
        ("meta:id=cmpl-9", "three"),
        ('meta:routing.model="deep blue"', "three"),
        ("meta:finish_reason=stop", "one two three"),
        ("meta:temperature", ""),
        ("on:today", "one two three"),
        ("before:today", ""),
        ("after:today", "one two three"),
        ("one model:b", ""),
        ("two model:b status:failed", "two"),
        ("is:trashed", ""),
    ],
)
def test_filters(alice: User, three: list[Run], typed: str, expected: str) -> None:
    names = {run.pk: run.prompt_preview for run in three}
    assert sorted(names[run] for run in search(alice, typed)) == sorted(expected.split())


def test_labels_are_found_by_name_and_by_key(alice: User) -> None:
    runs = [make_run(alice) for _ in range(3)]
    names = [["Task=QA"], ["task=story", "café"], ["tasks"]]
    for run, labels in zip(runs, names, strict=True):
        RunLabel.objects.put([run.pk], Label.objects.named(run.team_id, labels))
    assert search(alice, "label:task=qa") == [runs[0].pk]
    assert search(alice, "label:task") == [runs[1].pk, runs[0].pk]
    assert search(alice, "label:x") == []
    assert search(alice, "label:cafe\u0301") == [runs[1].pk]
    assert search(alice, "-label:task") == [runs[2].pk]
    assert search(alice, 'has:label -label:"Task=QA"') == [runs[2].pk, runs[1].pk]


def test_what_people_say_is_found(alice: User, bob: User) -> None:
    run, other = make_run(alice), make_run(alice)
    Comment.objects.create(run=run, author=bob, author_name="bob", text="good")
    Rating.objects.give(run, bob, 4)
    RunFact.objects.create(run=other, source=RunFact.Source.USER, key="paper", text="7", number=7)
    assert search(alice, "has:comment") == [run.pk]
    assert search(alice, "rating:>=4") == [run.pk]
    assert search(alice, "meta:paper>5") == [other.pk]
    assert search(alice, "param:paper") == []


def test_a_day_is_the_reader_s_own(alice: User) -> None:
    """A run at 23:59 in New York stands under that day there, and under the next in Berlin."""
    run = make_run(alice, created_at=datetime(2026, 11, 21, 4, 59, tzinfo=UTC))
    with timezone.override("America/New_York"):
        assert search(alice, "on:2026-11-20") == [run.pk]
        assert search(alice, "before:2026-11-21") == [run.pk]
        assert search(alice, "after:2026-11-21") == []
    with timezone.override("Europe/Berlin"):
        assert search(alice, "on:2026-11-20") == []
        assert search(alice, "on:2026-11-21") == [run.pk]


def test_a_day_of_changing_clocks_is_whole(alice: User) -> None:
    with timezone.override("Europe/Berlin"):  # 25 hours
        late = make_run(alice, created_at=datetime(2026, 10, 25, 22, 59, tzinfo=UTC))
        make_run(alice, created_at=datetime(2026, 10, 25, 23, 0, tzinfo=UTC))
        assert search(alice, "on:2026-10-25") == [late.pk]


# --- Rights ----------------------------------------------------------------------------------


def test_nobody_finds_what_they_may_not_see(alice: User, bob: User, charlie: User) -> None:
    private = make_run(alice, "zyzzyva", visibility="private")
    shared = make_run(alice, "zyzzyva")
    make_run(charlie, "zyzzyva")
    for typed in ("zyzzyva", '"zyzzyva"', "", "param:temperature -param:temperature", "user:alice"):
        assert private.pk not in search(bob, typed)
    assert search(alice, "zyzzyva") == [shared.pk, private.pk]
    assert search(bob, "zyzzyva") == [shared.pk]
    assert search(bob, "zyzzyva", mine=True) == []


def test_a_deleted_run_is_in_no_search_and_no_count(alice: User) -> None:
    run = make_run(alice, "zyzzyva")
    RunLabel.objects.put([run.pk], Label.objects.named(run.team_id, ["L1"]))
    run.comparison.trash()
    for typed in ("zyzzyva", "label:L1", "", "has:label", "meta:id=cmpl-1"):
        assert search(alice, typed) == []
        finder = Finder(alice, parse(typed, date(2026, 11, 29)))
        assert finder.counted().runs == []
    assert search(alice, "is:trashed") == [run.pk]
    assert search(alice, "zyzzyva is:trashed") == [run.pk]
    run.comparison.restore()
    assert search(alice, "zyzzyva") == [run.pk]


# --- Pages -----------------------------------------------------------------------------------


def pages(user: User, typed: str, size: int, single: bool) -> list[list[Any]]:
    """All pages down, and the same again from the bottom up."""
    finder = Finder(user, parse(typed, timezone.localdate()), single=single)
    found, older, up = [], None, None
    for _ in range(50):
        page = finder.page(size, older=older)
        found.append(page.keys)
        if page.older is None:
            break
        older = page.older
    newer = finder.page(size, older=older).newer if older else None
    up = [found[-1]]
    while newer and len(up) < 50:
        page = finder.page(size, newer=newer)
        if page.keys:
            up.insert(0, page.keys)
        newer = page.newer
    if older:
        assert list(chain(*up)) == list(chain(*found))
    return found


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("typed", ["", "bird", '"bird"', "model:m", "param:seed"])
@pytest.mark.parametrize("walk", [True, False])
def test_pages_hold_every_row_once_in_both_directions(
    alice: User, monkeypatch: pytest.MonkeyPatch, single: bool, typed: str, walk: bool
) -> None:
    if walk:  # nothing is few, and a step is short
        monkeypatch.setattr(finding, "FIRST", 2)
        monkeypatch.setattr(finding, "STEP", 3)
        monkeypatch.setattr("playground.models.sources.FEW", 1)
    moment = timezone.now() - timedelta(days=2)
    expected: list[int] = []
    for number in range(11):
        # Some at the very same moment, as an import makes them.
        at = moment + timedelta(hours=number // 3)
        first = make_run(alice, "bird", created_at=at, values={"seed": 1})
        expected.insert(0, first.pk)
        for _ in range(number % 3):
            run = make_run(alice, "bird", comparison=first.comparison, values={"seed": 1})
            expected.insert(0, run.pk)
    found: Sequence[Any] = list(chain(*pages(alice, typed, 4, single)))
    if single:
        assert [key.run for key in found] == expected
    else:
        comparisons = dict(Run.objects.values_list("pk", "comparison"))
        assert [key.comparison for key in found] == list(
            dict.fromkeys(comparisons[pk] for pk in expected)
        )


def test_a_walk_ends_and_goes_on_when_asked(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of text without a word only so many runs are read at once."""
    old = make_run(alice, "100 %")
    for _ in range(9):
        make_run(alice, "nothing")
    monkeypatch.setattr(finding, "WALK", 4)
    monkeypatch.setattr(finding, "FIRST", 2)
    monkeypatch.setattr(finding, "STEP", 2)
    finder = Finder(alice, parse("%", date(2026, 11, 29)))
    first = finder.page(10)
    assert (first.keys, first.walked) == ([], 4)
    second = finder.page(10, older=first.older)
    assert (second.keys, second.walked) == ([], 4)
    third = finder.page(10, older=second.older)
    assert [key.comparison for key in third.keys] == [old.comparison_id]
    assert (third.older, third.walked) == (None, 0)
    counted = finder.counted()
    assert (counted.complete, counted.walked, counted.runs) == (False, True, [])


def test_new_runs_do_not_move_a_page(alice: User) -> None:
    runs = [make_run(alice) for _ in range(6)]
    finder = Finder(alice, parse("", date(2026, 11, 29)), single=True)
    first = finder.page(3)
    make_run(alice)
    second = finder.page(3, older=first.older)
    assert [key.run for key in second.keys] == [run.pk for run in runs[2::-1]]


def test_counts_are_exact_where_everything_was_read(alice: User) -> None:
    for model in ("a", "a", "b"):
        make_run(alice, "bird", model=model)
    for typed in ("", "bird", '"bird"', "bird model:a"):
        counted = Finder(alice, parse(typed, date(2026, 11, 29))).counted("model")
        assert counted.complete
        assert len(counted.runs) == (2 if "model" in typed else 3)
