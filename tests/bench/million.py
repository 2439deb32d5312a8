"""A history of a year, made by bulk SQL: 20 people, 4 teams, 300 labels, a million runs.

    python -m tests.bench.million DATA_DIR|DATABASE_URL [--runs 1000000] [--seed 1]

Outputs have a median of 800 characters, one in a thousand has 200 kB; words are drawn from 50,000
by Zipf's law. The same seed makes the same history. The database must be empty of runs.
"""

import argparse
import json
import random
import sys
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import accumulate
from typing import Any

from django.core.management import call_command
from django.db import connection, models

from tests.bench.setup import configure

PEOPLE, TEAMS, LABELS, VOCABULARY = 20, 4, 300, 50_000
DRAWN = 2_000_000  # words drawn once; every text is a stretch of them
LAST = datetime(2026, 11, 29, 12, tzinfo=UTC)
SPAN = timedelta(days=365)
CHUNK = 5_000  # comparisons written at once
MODELS = [f"{family}-{size}" for family in ("smol", "qwen", "llama", "gemma") for size in "1378"]
STATUSES = {"completed": 930, "failed": 40, "cancelled": 20, "interrupted": 10}
PROVIDERS = ("local", "ogx", "pulze", "local")
RARE, COMMON = "zyzzyva", "w1"  # a word of ten runs, and the most frequent one


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="tests.bench.million", description=__doc__)
    parser.add_argument("database", metavar="DATA_DIR|DATABASE_URL")
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    configure(options.database)
    make(options.runs, options.seed)


def make(runs: int, seed: int = 1) -> None:
    from playground.models import Run

    if Run.objects.exists():
        sys.exit("There are runs already: give an empty database.")
    began = time.monotonic()
    history = History(runs, random.Random(seed))
    history.people()
    with bulk():
        for number, tables in enumerate(history.chunks()):
            for model, rows in tables.items():
                write(model, rows)
            if number % 10 == 0:
                print(f"{history.made:>9} runs, {time.monotonic() - began:.0f} s", flush=True)
        print(f"{history.made:>9} runs written, {time.monotonic() - began:.0f} s", flush=True)
    print(f"indexed, {time.monotonic() - began:.0f} s", flush=True)
    call_command("rebuild_statistics")
    print(f"rolled up, {time.monotonic() - began:.0f} s", flush=True)


class Rows:
    """Tuples of one table, from its model's defaults: a new column needs no change here."""

    def __init__(self, model: type[models.Model]) -> None:
        self.model = model
        self.fields = list(model._meta.concrete_fields)
        self.defaults = {
            field.attname: field.get_default() if field.has_default() else self._blank(field)
            for field in self.fields
        }
        self.names = [field.column for field in self.fields]
        self.ids = [f.attname for f in self.fields if isinstance(f, models.UUIDField)]

    @staticmethod
    def _blank(field: Any) -> Any:
        return "" if field.empty_strings_allowed and not field.null else None

    def row(self, **values: Any) -> tuple[Any, ...]:
        fresh = {name: uuid.uuid4() for name in self.ids}
        return tuple({**self.defaults, **fresh, **values}.values())


class History:
    def __init__(self, runs: int, dice: random.Random) -> None:
        from playground import models as ours

        self.ours, self.runs, self.dice = ours, runs, dice
        self.rows = {
            model: Rows(model)
            for model in (
                ours.Comparison, ours.Run, ours.Choice, ours.SearchText, ours.RunFact, ours.RunLabel
            )
        }  # fmt: skip
        weights = list(accumulate(1 / (rank + 1) for rank in range(VOCABULARY)))
        vocabulary = [
            f"w{rank + 1}" if rank < 10 else self.word(rank) for rank in range(VOCABULARY)
        ]
        self.drawn = dice.choices(vocabulary, cum_weights=weights, k=DRAWN)
        self.made = 0

    @staticmethod
    def word(rank: int) -> str:
        """Pronounceable and its own for each rank."""
        text = ""
        while rank:
            rank, rest = divmod(rank, 70)
            text += "bcdfghjklmnprs"[rest // 5] + "aeiou"[rest % 5]
        return text

    def words(self, count: int) -> list[str]:
        start = self.dice.randrange(DRAWN - count)
        return self.drawn[start : start + count]

    def people(self) -> None:
        ours = self.ours
        self.teams = [ours.Team.objects.create(name=f"Team {n + 1}") for n in range(TEAMS)]
        self.users = []
        for number in range(PEOPLE):
            team = self.teams[number % TEAMS]
            user = ours.User.objects.create_user(f"user{number + 1}", current_team=team)
            role = "owner" if number < TEAMS else "member"
            ours.Membership.objects.create(team=team, user=user, role=role)
            self.users.append(user)
        self.connections = [
            ours.Connection.objects.create(
                name=f"backend {number + 1}", provider=provider, base_url="http://127.0.0.1:9/v1"
            )
            for number, provider in enumerate(PROVIDERS)
        ]
        self.labels = {}
        for team in self.teams:
            names = [f"label{n}" for n in range(50)] + [f"task=kind{n}" for n in range(25)]
            self.labels[team.pk] = ours.Label.objects.named(team.pk, names)
        assert sum(map(len, self.labels.values())) == LABELS

    def chunks(self) -> Iterator[dict[type[models.Model], list[tuple[Any, ...]]]]:
        comparison = 0
        while self.made < self.runs:
            tables: dict[type[models.Model], list[tuple[Any, ...]]] = {m: [] for m in self.rows}
            for _ in range(CHUNK):
                if self.made >= self.runs:
                    break
                comparison += 1
                self.comparison(comparison, tables)
            yield tables

    def comparison(self, pk: int, tables: dict[Any, list[tuple[Any, ...]]]) -> None:
        dice, ours = self.dice, self.ours
        # Four tenths of all runs are of the first team.
        team = dice.choices(range(TEAMS), cum_weights=(4, 7, 9, 10))[0]
        user = self.users[dice.randrange(PEOPLE // TEAMS) * TEAMS + team]
        shared = {
            "team_id": user.current_team_id,
            "author_id": user.pk,
            "author_name": user.username,
            "visibility": "private" if dice.random() < 0.1 else "team",
            "created_at": LAST - SPAN * (1 - self.made / self.runs),
        }
        chips = [["changed", "temperature", "0.7", "0.2"]]
        tables[ours.Comparison].append(
            self.rows[ours.Comparison].row(
                id=pk, document="{}", changes=json.dumps(chips), **shared
            )
        )
        count = 1 if dice.random() < 0.7 else dice.randint(2, 4)
        prompt = " ".join(self.words(max(3, int(dice.lognormvariate(3.4, 0.8)))))
        for position in range(min(count, self.runs - self.made)):
            self.made += 1
            self.run(self.made, pk, position, prompt, shared, tables)

    def run(
        self,
        pk: int,
        comparison: int,
        position: int,
        prompt: str,
        shared: dict[str, Any],
        tables: dict[Any, list[tuple[Any, ...]]],
    ) -> None:
        dice, ours, rows = self.dice, self.ours, self.rows
        output = self.output(pk)
        connection = dice.choice(self.connections)
        model = dice.choices(MODELS, cum_weights=range(1, len(MODELS) + 1))[0]
        status = dice.choices(list(STATUSES), weights=STATUSES.values())[0]
        values = {
            "temperature": dice.randint(0, 20) / 10,
            "max_tokens": dice.choice((80, 160, 400)),
        }
        request = {
            "provider": connection.provider, "dialect": "", "operation": "completions",
            "model": model, "prompt": prompt, "messages": [], "values": values, "extra": {},
            "own_headers": {}, "labels": [],
        }  # fmt: skip
        total = dice.lognormvariate(7, 0.7)
        rating = float(dice.randint(1, 5)) if dice.random() < 0.05 else None
        tables[ours.Run].append(
            rows[ours.Run].row(
                id=pk, comparison_id=comparison, position=position, column=position, **shared,
                connection_id=connection.pk, connection_name=connection.name,
                provider=connection.provider, operation="completions", model=model,
                request=json.dumps(request), prompt_preview=prompt[:200],
                output_preview=output[:200], status=status,
                error_kind="timeout" if status == "failed" else "",
                started_at=shared["created_at"], finished_at=shared["created_at"],
                prompt_tokens=len(prompt) // 4, completion_tokens=len(output) // 4,
                cost=self.cost(connection, prompt, output),
                first_token_ms=total / 5, total_ms=total, indexed=True,
                starred=dice.random() < 0.02, rating=rating,
            )
        )  # fmt: skip
        tables[ours.Choice].append(
            rows[ours.Choice].row(
                id=pk, run_id=pk, index=0, text=output, finish_reason="stop",
                packed_logprobs=b"", packed_timeline=b"",
            )
        )  # fmt: skip
        text = f"{prompt}\n{output[:100_000]}"
        words = " ".join(dict.fromkeys([f"_t{shared['team_id']}", *text.split()]))
        tables[ours.SearchText].append(rows[ours.SearchText].row(run_id=pk, words=words, text=text))
        self.facts(pk, values, status, tables)
        self.label(pk, shared["team_id"], tables)

    def output(self, pk: int) -> str:
        """Now and then a very long one, and ten times the rare word."""
        long = self.dice.random() < 0.001
        count = 33_000 if long else max(1, int(self.dice.lognormvariate(4.9, 0.6)))
        text = " ".join(self.words(count))
        return f"{text} {RARE}" if pk % max(1, self.runs // 10) == 7 else text

    def label(self, pk: int, team: int, tables: dict[Any, list[tuple[Any, ...]]]) -> None:
        dice, ours, rows, labels = self.dice, self.ours, self.rows, self.labels[team]
        for key in range(dice.choices((0, 1, 2), cum_weights=(60, 85, 100))[0]):
            label = labels[min(int(dice.expovariate(0.08)), len(labels) - 1)]
            tables[ours.RunLabel].append(
                rows[ours.RunLabel].row(
                    id=2 * pk + key, run_id=pk, label_id=label.pk, key=f"{key}{label.folded}"
                )
            )

    @staticmethod
    def cost(connection: Any, prompt: str, output: str) -> Decimal | None:
        """Two dollars for a million tokens, where anything is charged."""
        if connection.provider == "local":
            return None
        return Decimal(len(prompt) // 4 + len(output) // 4) * 2 / 1_000_000

    def facts(self, pk: int, values: dict[str, Any], status: str, tables: dict[Any, Any]) -> None:
        found = [("parameter", path, str(value), float(value)) for path, value in values.items()]
        found.append(("answer", "finish_reason", "stop", None))
        found.append(("answer", "usage.completion_tokens", "200", 200.0))
        if status == "failed":
            found.append(("answer", "has", "error", None))
        fact = self.rows[self.ours.RunFact]
        tables[self.ours.RunFact] += [
            fact.row(id=10 * pk + n, run_id=pk, source=source, key=key, text=text, number=number)
            for n, (source, key, text, number) in enumerate(found)
        ]


# --- Writing ---------------------------------------------------------------------------------


def write(model: type[models.Model], rows: list[tuple[Any, ...]]) -> None:
    names = [field.column for field in model._meta.concrete_fields]
    table = model._meta.db_table
    columns = ", ".join(f'"{name}"' for name in names)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
            return
        marks = ", ".join("?" * len(names))
        raw = connection.connection
        raw.executemany(
            f"INSERT INTO {table} ({columns}) VALUES ({marks})",
            (tuple(map(plain, row)) for row in rows),
        )


def plain(value: Any) -> Any:
    if isinstance(value, uuid.UUID):
        return value.hex
    return value.strftime("%Y-%m-%d %H:%M:%S.%f") if isinstance(value, datetime) else value


@contextmanager
def bulk() -> Iterator[None]:
    """Without indexes, triggers and checks of keys, which come back at the end."""
    if connection.vendor == "postgresql":
        yield from postgresql()
    else:
        yield from sqlite()


TABLES = ("comparison", "run", "choice", "searchtext", "runfact", "runlabel")


def execute(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def fetch(statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def named(tables: Iterable[str]) -> str:
    return ", ".join(f"'playground_{table}'" for table in tables)


def sqlite() -> Iterator[None]:
    execute(
        "PRAGMA foreign_keys = OFF",
        "PRAGMA journal_mode = OFF",  # a write-ahead log of all of it would be read again and again
        "PRAGMA synchronous = OFF",
        "PRAGMA cache_size = -1000000",
        "PRAGMA mmap_size = 17179869184",
        "PRAGMA threads = 2",
    )
    made = fetch(
        "SELECT type, name, sql FROM sqlite_master WHERE type IN ('index', 'trigger')"
        f" AND sql IS NOT NULL AND tbl_name IN ({named(TABLES)})"
    )
    execute(*(f'DROP {kind} "{name}"' for kind, name, _ in made))
    connection.connection.isolation_level = None
    execute("BEGIN")
    yield
    execute("COMMIT")
    execute(
        *(sql for _, _, sql in made),
        "INSERT INTO playground_searchindex(playground_searchindex) VALUES ('rebuild')",
        "ANALYZE",
        "PRAGMA journal_mode = WAL",
        "PRAGMA foreign_keys = ON",
    )


def postgresql() -> Iterator[None]:
    made = fetch(
        "SELECT indexname, indexdef FROM pg_indexes WHERE tablename IN"
        f" ({named(TABLES)}) AND indexname NOT IN (SELECT conname FROM pg_constraint)"
    )
    execute(
        "SET session_replication_role = replica",
        "SET maintenance_work_mem = '1GB'",
        *(f'DROP INDEX "{name}"' for name, _ in made),
    )
    yield
    execute(*(sql for _, sql in made), "SET session_replication_role = origin", "VACUUM ANALYZE")
    for table in TABLES:
        [[last]] = fetch(f"SELECT count(*) FROM playground_{table}")
        if table != "searchtext":
            execute(
                f"SELECT setval(pg_get_serial_sequence('playground_{table}', 'id'),"
                f" {last + 1} * 11)"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
