"""What the search looks in: words and folded text of a run that has ended, and facts about it.

The words are indexed by FTS5 on SQLite (`playground_searchindex`, kept up by triggers) and by a GIN
index over a tsvector on PostgreSQL. Both get the same words from our own tokenizer, so that both
find the same. `_t3` among the words is the team: it makes the lists that are read shorter, and is
never relied on for rights.
"""

import json
import logging
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.db import DataError, connection, models, transaction
from django.db.models.functions import Left

from playground.completion import CompletionRequest, storable
from playground.models.choices import Choice
from playground.models.runs import LIVE, Run
from playground.words import fold, words_of

logger = logging.getLogger(__name__)

MOST_BYTES = 100_000  # of the folded prompt, and of the folded output
MOST_CHOICES = 20  # outputs of one run that are searched
MOST_FACTS = 60  # of one run and source
LONGEST_KEY = 100
LONGEST_TEXT = 200
DEEPEST = 4  # levels of an answer's metadata
BATCH = 50  # runs that one sweep takes


class WordsField(models.TextField):
    """Distinct words, blank between them; on PostgreSQL a tsvector without positions."""

    def db_type(self, connection: Any) -> str:
        return "tsvector" if connection.vendor == "postgresql" else "text"

    def get_placeholder(self, value: Any, compiler: Any, connection: Any) -> str:
        return "%s::tsvector" if connection.vendor == "postgresql" else "%s"


class SearchTextQuerySet(models.QuerySet["SearchText"]):
    def write(self, run_ids: Iterable[int]) -> None:
        """Index these runs again: words, text and facts, each run in a transaction of its own."""
        for run in Run.objects.filter(pk__in=list(run_ids)).exclude(status__in=LIVE):
            try:
                self._write(run)
            except (ValueError, RecursionError, DataError):  # its own data; the others go on
                logger.exception("Run %s cannot be indexed", run.pk)
                Run.objects.filter(pk=run.pk).update(indexed=True)

    def write_rest(self) -> int:
        """Index some of the runs that have none yet (after a crash, an import, an update)."""
        rest = Run.objects.filter(indexed=False).exclude(status__in=LIVE)
        found = list(rest.order_by("pk").values_list("pk", flat=True)[:BATCH])
        self.write(found)
        return len(found)

    def _write(self, run: Run) -> None:
        request = run.request_value()
        text = searched_text(request.prompt_text(), _outputs(run))
        facts = [*_asked(request), *_answered(run)]
        row = self.model(run=run, text=text, words=stored_words(run.team_id, text))
        with transaction.atomic():
            # It may have been purged meanwhile.
            if not Run.objects.filter(pk=run.pk).update(indexed=True):
                return
            self.bulk_create(
                [row],
                update_conflicts=True,
                unique_fields=["run"],
                update_fields=["words", "text"],
            )
            ours = RunFact.objects.filter(run=run).exclude(source=RunFact.Source.USER)
            ours.delete()
            RunFact.objects.bulk_create([fact.of(run.pk) for fact in facts])

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
        rows: models.QuerySet[Any] = self.filter(pk__in=run_ids)
        for text in texts:
            rows = rows.annotate(at=models.functions.StrIndex("text", models.Value(text)))
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


class RunFact(models.Model):
    """One thing that is known of a run, for search by parameter and metadata."""

    class Source(models.TextChoices):
        PARAMETER = "parameter"  # set by the user and sent
        ANSWER = "answer"  # said by the provider
        USER = "user"  # a key=value pair of a person

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="facts")
    source = models.CharField(max_length=10, choices=Source)
    key = models.CharField(max_length=LONGEST_KEY)
    text = models.CharField(max_length=LONGEST_TEXT, blank=True)
    number = models.FloatField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["key", "number", "run"], name="facts_by_number"),
            models.Index(fields=["key", "text", "run"], name="facts_by_text"),
        ]

    def __str__(self) -> str:
        return f"{self.key}={self.text} of run {self.run_id}"

    @classmethod
    def said(cls, source: str, key: str, value: Any) -> "RunFact":
        """An unsaved fact; any JSON value."""
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return cls(
            source=source,
            key=storable(key)[:LONGEST_KEY],
            text=storable(text)[:LONGEST_TEXT],
            number=number_of(value),
        )

    def of(self, run_id: int) -> "RunFact":
        self.run_id = run_id
        return self


def number_of(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def searched_text(prompt: str, output: str) -> str:
    """Folded, the first 100 kB of each."""
    return f"{_start(fold(storable(prompt)))}\n{_start(fold(output))}"


def stored_words(team_id: int, text: str) -> str:
    return " ".join([f"_t{team_id}", *words_of(text)])


def _start(text: str) -> str:
    if len(text) * 4 <= MOST_BYTES:
        return text
    return text.encode()[:MOST_BYTES].decode(errors="ignore")


def _outputs(run: Run) -> str:
    """The starts of its outputs; a long one is not read whole."""
    starts = Choice.objects.filter(run=run).order_by("index")
    rows = starts.values_list(Left("text", MOST_BYTES), Left("tool_calls", MOST_BYTES))
    return "\n".join(part for row in rows[:MOST_CHOICES] for part in row if part)


def _asked(request: CompletionRequest) -> list[RunFact]:
    found = {**request.values, **request.extra}
    unsent = set(request.not_sent())
    said = [(path, value) for path, value in found.items() if path not in unsent]
    return [RunFact.said(RunFact.Source.PARAMETER, *each) for each in said[:MOST_FACTS]]


def _answered(run: Run) -> list[RunFact]:
    metadata = {k: v for k, v in run.metadata_value.items() if k not in ("raw", "raw_cut")}
    found = [*_flat("", metadata), *_flat("usage", run.usage_value or {})]
    choices = Choice.objects.filter(run=run).order_by("index")[:MOST_CHOICES]
    rows = list(choices.values_list("finish_reason", Left("reasoning", 1), Left("tool_calls", 1)))
    found += [("finish_reason", reason) for reason in {row[0] for row in rows} if reason]
    found += [("has", what) for what in _has(run, rows)]
    return [RunFact.said(RunFact.Source.ANSWER, *each) for each in found[:MOST_FACTS]]


def _has(run: Run, rows: Sequence[tuple[Any, ...]]) -> Iterator[str]:
    """What `has:` looks for."""
    if run.error_kind:
        yield "error"
    if run.warnings:
        yield "warning"
    if any(row[1] for row in rows):
        yield "reasoning"
    if any(row[2] for row in rows):
        yield "tools"
    if Choice.objects.filter(run=run).exclude(packed_logprobs=b"").exists():
        yield "logprobs"


def _flat(prefix: str, value: Any, level: int = 0) -> Iterator[tuple[str, Any]]:
    """`a.b` and its value, of every plain value."""
    if isinstance(value, dict) and level < DEEPEST:
        for key, inner in value.items():
            yield from _flat(f"{prefix}.{key}" if prefix else str(key), inner, level + 1)
    elif value is not None and not isinstance(value, dict | list):
        yield prefix, value


def _match(team_id: int, words: Sequence[str]) -> str:
    return " AND ".join(f'"{word}"' for word in (*words, f"_t{team_id}"))


def _tsquery(team_id: int, words: Sequence[str]) -> str:
    return " & ".join(f"'{word}'" for word in (*words, f"_t{team_id}"))
