"""What the search looks in: words and folded text of a run that has ended, and facts about it.

The words are indexed by FTS5 on SQLite (`playground_searchindex`, kept up by triggers) and by a GIN
index over a tsvector on PostgreSQL. Both get the same words from our own tokenizer, so that both
find the same. `_t3` among the words is the team: it makes the lists that are read shorter, and is
never relied on for rights.
"""

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import DataError, connection, models
from django.db.models import Value
from django.db.models.functions import Concat, StrIndex

from playground.models.among import Among
from playground.models.entries import Entry
from playground.models.facts import RunFact
from playground.models.live import LIVE
from playground.models.runs import Run
from playground.models.turns import writing
from playground.words import BEGINS

logger = logging.getLogger(__name__)

BATCH = 50  # runs that one sweep takes
MOST_ENTRIES = 20  # runs that are written in one transaction,
ENOUGH = 50_000  # or so many characters: the recorder waits meanwhile


class WordsField(models.TextField):
    """Distinct words, blank between them; on PostgreSQL a tsvector without positions."""

    def db_type(self, connection: Any) -> str:
        return "tsvector" if connection.vendor == "postgresql" else "text"

    def get_placeholder(self, value: Any, compiler: Any, connection: Any) -> str:
        return "%s::tsvector" if connection.vendor == "postgresql" else "%s"


class SearchTextQuerySet(models.QuerySet["SearchText"]):
    def write(self, run_ids: Iterable[int]) -> None:
        """Index these runs again: words, text and facts, a few runs in one transaction."""
        entries: list[Entry] = []
        for run in Run.objects.filter(pk__in=list(run_ids)).exclude(status__in=LIVE):
            try:
                entries.append(Entry.of(run))
            except (ValueError, RecursionError):
                self._leave_out(run.pk)
            if len(entries) == MOST_ENTRIES or sum(len(each.text) for each in entries) > ENOUGH:
                self._store(entries)
                entries = []
        if entries:
            self._store(entries)

    def _store(self, entries: Sequence[Entry]) -> None:
        try:
            self._store_all(entries)
        except (ValueError, DataError):  # the data of one; the others go on
            for entry in entries:
                try:
                    self._store_all([entry])
                except (ValueError, DataError):
                    self._leave_out(entry.run)

    def _leave_out(self, run: int) -> None:
        logger.exception("Run %s cannot be indexed", run)
        Run.objects.filter(pk=run).update(indexed=True)

    def write_rest(self) -> int:
        """Index some of the runs that have none yet (after a crash, an import, an update)."""
        rest = Run.objects.filter(indexed=False).exclude(status__in=LIVE)
        found = list(rest.order_by("pk").values_list("pk", flat=True)[:BATCH])
        self.write(found)
        return len(found)

    def _store_all(self, entries: Sequence[Entry]) -> None:
        with writing(behind=True):
            self._put(entries)

    def _put(self, entries: Sequence[Entry]) -> None:
        runs = Run.objects.filter(pk__in=[entry.run for entry in entries])
        # Some may have been purged meanwhile.
        there = set(runs.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
        kept = [entry for entry in entries if entry.run in there]
        Run.objects.filter(pk__in=there).update(indexed=True)
        self.bulk_create(
            [self.model(run_id=entry.run, text=entry.text, words=entry.words) for entry in kept],
            update_conflicts=True,
            unique_fields=["run"],
            update_fields=["words", "text"],
        )
        ours = RunFact.objects.filter(run__in=there).exclude(source=RunFact.Source.USER)
        ours.delete()
        RunFact.objects.bulk_create([fact for entry in kept for fact in entry.facts])

    def found(self, team_id: int, words: Sequence[str], limit: int) -> list[int] | None:
        """Runs of the team with all these words; None where there are more than `limit`."""
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute(
                    "SELECT run_id FROM playground_searchtext WHERE words @@ %s::tsquery LIMIT %s",
                    [_tsquery(team_id, words), limit + 1],
                )
            else:
                cursor.execute(
                    "SELECT rowid FROM playground_searchindex WHERE playground_searchindex MATCH %s"
                    " LIMIT %s",
                    [_match(team_id, words), limit + 1],
                )
            rows = [row[0] for row in cursor.fetchall()]
        return None if len(rows) > limit else rows

    def among(self, team_id: int, words: Sequence[str], run_ids: Sequence[int]) -> set[int]:
        """Those of the runs that have all these words."""
        if not run_ids:
            return set()
        if connection.vendor == "sqlite" and any(word.endswith(BEGINS) for word in words):
            # FTS5 puts the lists of all words that begin so together before it gives one run.
            spaced = Concat(Value(" "), "words", Value(" "), output_field=models.TextField())
            return self._holding(spaced, [f" {word} ".split(BEGINS)[0] for word in words], run_ids)
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute(
                    "SELECT run_id FROM playground_searchtext"
                    " WHERE run_id = ANY(%s) AND words @@ %s::tsquery",
                    [list(run_ids), _tsquery(team_id, words)],
                )
            else:
                cursor.execute(
                    "SELECT rowid FROM playground_searchindex WHERE playground_searchindex MATCH %s"
                    " AND rowid BETWEEN %s AND %s",
                    [_match(team_id, words), min(run_ids), max(run_ids)],
                )
            rows = {row[0] for row in cursor.fetchall()}
        return rows.intersection(run_ids)

    def literally(self, texts: Sequence[str], run_ids: Sequence[int]) -> set[int]:
        """Those of the runs whose folded text holds all these, to the character."""
        return self._holding(models.F("text"), texts, run_ids)

    def _holding(self, column: Any, texts: Sequence[str], run_ids: Sequence[int]) -> set[int]:
        rows: models.QuerySet[Any] = self.filter(Among("pk", run_ids))
        for text in texts:
            rows = rows.annotate(at=StrIndex(column, Value(text)))
            rows = rows.filter(at__gt=0)
        return set(rows.values_list("pk", flat=True))


class SearchText(models.Model):
    """A run as the search sees it. Its table has triggers on SQLite (migration 0008)."""

    run = models.OneToOneField(
        Run, primary_key=True, on_delete=models.CASCADE, related_name="search_text"
    )
    words = WordsField()
    text = models.TextField()  # folded: prompt, line feed, outputs

    objects = SearchTextQuerySet.as_manager()

    def __str__(self) -> str:
        return f"text of run {self.run_id}"


def _match(team_id: int, words: Sequence[str]) -> str:
    """For FTS5, which writes a beginning as `"king"*`."""
    return " AND ".join(_term(word, '"', "*") for word in (*words, f"_t{team_id}"))


def _tsquery(team_id: int, words: Sequence[str]) -> str:
    """For PostgreSQL, which writes a beginning as `'king':*`."""
    return " & ".join(_term(word, "'", ":*") for word in (*words, f"_t{team_id}"))


def _term(word: str, quote: str, begins: str) -> str:
    whole = word.removesuffix(BEGINS)
    return f"{quote}{whole}{quote}{begins if whole != word else ''}"
