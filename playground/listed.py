"""The models that connections listed when they were last asked, without asking again.

Kept in this process's cache, so that another process may know less; then the last test of the
connection tells the first of them.
"""

from collections.abc import Iterable, Sequence
from zlib import crc32

from django.core.cache import cache

from playground.checkup import Report
from playground.models import Connection

KEPT = 24 * 3600  # seconds; a name that is gone since then is said where it is used


def _key(connection: Connection) -> str:
    """Another address lists other models."""
    return f"listed-models-{connection.pk}-{crc32(connection.base_url.encode())}"


def note(connection: Connection, names: Sequence[str]) -> None:
    cache.set(_key(connection), list(names), KEPT)


def known(connections: Iterable[Connection]) -> dict[int, list[str]]:
    """{connection id: names}, those that may be used; [] where nothing is known."""
    every = list(connections)
    kept = cache.get_many([_key(each) for each in every])
    return {each.pk: each.offered(kept.get(_key(each), _tested(each))) for each in every}


def _tested(connection: Connection) -> list[str]:
    report = Report.from_json(connection.test_report)
    return list(report.listed) if report else []
