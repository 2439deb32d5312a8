"""Writers of a process come one after the other on SQLite; none waits inside a transaction."""

import threading

import pytest
from django.db import connection, transaction

from playground.models import Team
from playground.models.turns import writing
from playground.upkeep import write_back


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
