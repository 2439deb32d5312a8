"""Writers of a process come one after the other on SQLite; none waits inside a transaction."""

import threading
import time

import pytest
from django.db import connection, transaction

from playground.models import Team
from playground.models.turns import SHORT, Pace, writing
from playground.upkeep import LONG_LOG, write_back


def test_it_is_a_transaction(db: None) -> None:
    def fail() -> None:
        with writing():
            Team.objects.create(name="gone")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not Team.objects.filter(name="gone").exists()


@pytest.mark.django_db(transaction=True)
def test_many_writers_lose_nothing() -> None:
    def write(name: str) -> None:
        try:
            for number in range(10):
                with writing():
                    Team.objects.create(name=f"{name}{number}")
        finally:
            connection.close()

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Team.objects.count() == 40
    write_back()


@pytest.mark.django_db(transaction=True)
def test_nobody_waits_inside_a_transaction() -> None:
    """Whoever has the turn may wait for that transaction: both would wait for ever."""
    with transaction.atomic(), writing(), writing():
        Team.objects.create(name="inside")
    assert Team.objects.filter(name="inside").exists()


@pytest.mark.django_db(transaction=True)
def test_a_long_log_of_the_database_begins_anew() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL keeps its log itself")
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE large (content)")
        cursor.execute("INSERT INTO large VALUES (zeroblob(?))", [2 * LONG_LOG * 4096])
        write_back()
        cursor.execute("INSERT INTO large VALUES (1)")  # the next one to write begins it anew
        _, pages, _ = cursor.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        cursor.execute("DROP TABLE large")
    assert pages < LONG_LOG


# --- Pace ----------------------------------------------------------------------------------


def test_it_takes_as_many_rows_as_fit_into_a_short_transaction() -> None:
    pace = Pace(100)
    for _ in range(5):
        pace.took(SHORT / 10)
    assert pace.size == 100  # never more
    pace.took(4 * SHORT)
    assert pace.size == 25
    for _ in range(5):
        pace.took(10 * SHORT)
    assert pace.size == pace.least  # never none
    pace.took(0)
    assert pace.size == 2 * pace.least  # and not all at once


@pytest.mark.django_db(transaction=True)
def test_the_time_of_a_transaction_sets_the_pace() -> None:
    pace = Pace(100)
    with writing(pace):
        time.sleep(2 * SHORT)
    assert pace.size < 25
