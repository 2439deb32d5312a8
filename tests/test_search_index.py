"""Words, text and facts of runs that have ended; the same on SQLite and PostgreSQL."""

import pytest
from django.db import connection as database

from playground.completion import RunStatus
from playground.models import Connection, Run, RunFact, SearchText, User
from playground.runner import Runner
from tests.conftest import request_to, run_all
from tests.fake_provider import FakeProvider
from tests.runs import make_run

pytestmark = pytest.mark.django_db


def found(run: Run, *words: str) -> bool:
    assert run.team_id
    return run.pk in (SearchText.objects.found(run.team_id, words, 100) or [])


def test_words_of_prompt_and_output_are_found(alice: User) -> None:
    run = make_run(alice, "Common kingfisher", "A small bird")
    assert found(run, "kingfisher", "bird")
    assert not found(run, "kingfisher", "heron")
    assert SearchText.objects.among(run.team_id, ["bird"], [run.pk, run.pk + 1]) == {run.pk}
    assert SearchText.objects.among(run.team_id, ["bird"], []) == set()


def test_more_than_the_limit_is_not_listed(alice: User) -> None:
    for _ in range(3):
        run = make_run(alice, "bird")
    assert SearchText.objects.found(run.team_id, ["bird"], 2) is None
    assert len(SearchText.objects.found(run.team_id, ["bird"], 3) or []) == 3


def test_another_team_s_runs_are_not_read(alice: User, charlie: User) -> None:
    run = make_run(charlie, "bird")
    team = alice.membership()
    assert team
    assert SearchText.objects.found(team.team_id, ["bird"], 10) == []
    assert found(run, "bird")


def test_indexing_again_replaces(alice: User) -> None:
    run = make_run(alice, "bird")
    run.choices.update(text="fish")
    SearchText.objects.write([run.pk])
    assert found(run, "fish")
    assert not found(run, "hello")
    assert SearchText.objects.count() == 1


def test_a_purged_run_leaves_no_word(alice: User) -> None:
    run = make_run(alice, "zyzzyva")
    team, pk = run.team_id, run.pk
    run.comparison.delete()
    assert SearchText.objects.found(team, ["zyzzyva"], 10) == []
    with database.cursor() as cursor:
        if database.vendor == "sqlite":
            cursor.execute(
                "INSERT INTO playground_searchindex(playground_searchindex, rank)"
                " VALUES ('integrity-check', 1)"
            )
    assert not RunFact.objects.filter(run_id=pk).exists()


def test_a_live_run_waits(alice: User) -> None:
    run = make_run(alice, "bird", status=RunStatus.RUNNING)
    assert not found(run, "bird")
    Run.objects.filter(pk=run.pk).update(status=RunStatus.INTERRUPTED)
    assert SearchText.objects.write_rest() == 1
    assert SearchText.objects.write_rest() == 0
    assert found(run, "bird")


def test_only_the_beginning_of_very_long_text_is_indexed(alice: User) -> None:
    run = make_run(alice, "early " + "x " * 60_000 + "late", "soon " + "日" * 40_000 + " after")
    assert found(run, "early", "soon")
    assert not found(run, "late")
    assert not found(run, "after")


def test_a_great_many_different_words_are_no_trouble(alice: User) -> None:
    """PostgreSQL refuses a tsvector of over 1 MB."""
    words = " ".join(f"w{number:05}" for number in range(20_000))
    signs = "".join(chr(0x4E00 + number * 7919 % 20_000) for number in range(40_000))
    run = make_run(alice, words, signs)
    assert found(run, "w00001", "w13000")


def test_nul_and_half_a_character_do_not_keep_a_run_out(alice: User) -> None:
    run = make_run(alice, "zyzzyva \0 \ud83d \ud83d\ude00 after", values={"stop": ["\ud83d"]})
    assert found(run, "zyzzyva", "after")
    assert RunFact.objects.get(run=run, key="stop").text == '["\ufffd"]'


def test_facts_are_what_was_sent_and_what_came_back(alice: User) -> None:
    run = make_run(
        alice,
        values={"temperature": 0, "stop": ["###"], "echo": False},
        metadata='{"id": "cmpl-7", "deep": {"er": [1], "n": 3}, "raw": "x"}',
        usage='{"prompt_tokens": 5}',
    )
    facts = {
        (fact.source, fact.key): (fact.text, fact.number)
        for fact in RunFact.objects.filter(run=run)
    }
    assert facts == {
        ("parameter", "temperature"): ("0", 0.0),
        ("parameter", "stop"): ('["###"]', None),
        ("parameter", "echo"): ("false", None),
        ("answer", "id"): ("cmpl-7", None),
        ("answer", "deep.n"): ("3", 3.0),
        ("answer", "usage.prompt_tokens"): ("5", 5.0),
        ("answer", "finish_reason"): ("stop", None),
    }


def test_a_person_s_own_facts_outlive_a_new_index(alice: User) -> None:
    run = make_run(alice)
    RunFact.objects.create(run=run, source=RunFact.Source.USER, key="paper", text="2026-4")
    SearchText.objects.write([run.pk])
    assert RunFact.objects.filter(run=run, key="paper").exists()


def test_a_run_that_cannot_be_read_does_not_block_the_others(alice: User) -> None:
    broken = make_run(alice, index=False)
    Run.objects.filter(pk=broken.pk).update(request="{")
    fine = make_run(alice, "bird", index=False)
    SearchText.objects.write_rest()
    assert found(fine, "bird")
    assert SearchText.objects.write_rest() == 0


@pytest.mark.django_db(transaction=True)
async def test_the_runner_indexes_what_has_ended(
    runner: Runner, alice: User, connection: Connection, provider: FakeProvider
) -> None:
    [run] = await run_all(runner, alice, [(connection, request_to(connection, prompt="kestrel"))])
    await run.arefresh_from_db()
    assert run.indexed
    assert await SearchText.objects.filter(pk=run.pk, text__contains="kestrel").aexists()
