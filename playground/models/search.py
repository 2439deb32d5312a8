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
from typing import Any, NamedTuple

from django.db import DataError, connection, models
from django.db.models.functions import Left, Length

from playground.completion import CompletionRequest, storable
from playground.models.among import Among
from playground.models.choices import Choice
from playground.models.live import LIVE
from playground.models.runs import Run
from playground.models.turns import writing
from playground.words import fold, words_of

logger = logging.getLogger(__name__)

MOST_BYTES = 100_000  # of the folded prompt, and of the folded output
MOST_CHOICES = 20  # outputs of one run that are searched
MOST_FACTS = 60  # of one run and source
LONGEST_KEY = 100
LONGEST_TEXT = 200
DEEPEST = 4  # levels of an answer's metadata
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

    def _store(self, entries: Sequence["Entry"]) -> None:
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

    def _store_all(self, entries: Sequence["Entry"]) -> None:
        with writing():
            self._put(entries)

    def _put(self, entries: Sequence["Entry"]) -> None:
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
        rows: models.QuerySet[Any] = self.filter(Among("pk", run_ids))
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


class Entry(NamedTuple):
    """What the search keeps of one run."""

    run: int
    text: str
    words: str
    facts: list[RunFact]

    @classmethod
    def of(cls, run: Run) -> "Entry":
        """Reads its request, answer and outputs. ValueError and RecursionError of its own data."""
        request = run.request_value()
        outputs = _outputs(run)
        parts = (part for output in outputs for part in (output.text, output.tool_calls) if part)
        text = searched_text(request.prompt_text(), "\n".join(parts))
        facts = [*_asked(request), *_answered(run, outputs)]
        words = stored_words(run.team_id, text)
        return cls(run.pk, text, words, [fact.of(run.pk) for fact in facts])


class Output(NamedTuple):
    """The start of an output; a long one is not read whole."""

    text: str
    tool_calls: str
    finish_reason: str | None
    reasoning: str
    logprobs: int  # bytes


def _outputs(run: Run) -> list[Output]:
    starts = Choice.objects.filter(run=run).order_by("index")
    rows = starts.values_list(
        Left("text", MOST_BYTES),
        Left("tool_calls", MOST_BYTES),
        "finish_reason",
        Left("reasoning", 1),
        Length("packed_logprobs"),
    )
    return [Output(*row) for row in rows[:MOST_CHOICES]]


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


def _asked(request: CompletionRequest) -> list[RunFact]:
    found = {**request.values, **request.extra}
    unsent = set(request.not_sent())
    said = [(path, value) for path, value in found.items() if path not in unsent]
    return [RunFact.said(RunFact.Source.PARAMETER, *each) for each in said[:MOST_FACTS]]


def _answered(run: Run, outputs: Sequence[Output]) -> list[RunFact]:
    metadata = {k: v for k, v in run.metadata_value.items() if k not in ("raw", "raw_cut")}
    found = [*_flat("", metadata), *_flat("usage", run.usage_value or {})]
    reasons = {output.finish_reason for output in outputs}
    found += [("finish_reason", reason) for reason in reasons if reason]
    found += [("has", what) for what in _has(run, outputs)]
    return [RunFact.said(RunFact.Source.ANSWER, *each) for each in found[:MOST_FACTS]]


def _has(run: Run, outputs: Sequence[Output]) -> Iterator[str]:
    """What `has:` looks for."""
    if run.error_kind:
        yield "error"
    if run.warnings:
        yield "warning"
    if any(output.reasoning for output in outputs):
        yield "reasoning"
    if any(output.tool_calls for output in outputs):
        yield "tools"
    if any(output.logprobs for output in outputs):
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
