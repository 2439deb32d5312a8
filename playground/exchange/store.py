"""Drafts into the database: nothing that is there is changed, what is known is skipped."""

import hashlib
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import DataError, IntegrityError

from playground.exchange.checked import ComparisonDraft, RunDraft
from playground.models import (
    Choice,
    Comment,
    Comparison,
    Label,
    Membership,
    Rating,
    Run,
    RunFact,
    RunLabel,
    SearchText,
    User,
)
from playground.models.turns import writing

SOMEONE_ELSES = "It belongs to a comparison that somebody else has here, or that is in the trash."


@dataclass
class Item:
    line: int  # of the file
    run: RunDraft
    comparison: ComparisonDraft


@dataclass
class Stored:
    runs: int = 0
    skipped: int = 0
    problems: list[tuple[int, str]] = field(default_factory=list)


class Store:
    """Writes for one importer into the team in which the import began."""

    def __init__(self, member: Membership) -> None:
        self.member, self.team_id = member, member.team_id
        self._people: dict[str, User | None] = {member.user.get_username(): member.user}

    def write(self, items: Sequence[Item]) -> Stored:
        """In one transaction; where the database refuses something, run by run."""
        try:
            with writing(behind=True):
                return self._write(items)
        except (DataError, IntegrityError):
            if len(items) == 1:
                said = "The database cannot keep it."
                return Stored(problems=[(items[0].line, said)])
        whole = Stored()
        for item in items:
            one = self.write([item])
            whole.runs += one.runs
            whole.skipped += one.skipped
            whole.problems += one.problems
        return whole

    def _write(self, items: Sequence[Item]) -> Stored:
        stored = Stored()
        known = self._known(Run, [item.run.origin_id for item in items])
        fresh: dict[uuid.UUID, Item] = {}
        for item in items:
            if item.run.origin_id in known or item.run.origin_id in fresh:
                stored.skipped += 1
            else:
                fresh[item.run.origin_id] = item
        comparisons = self._comparisons(list(fresh.values()))
        good = []
        for item in fresh.values():
            if item.comparison.origin_id in comparisons:
                good.append(item)
            else:
                stored.problems.append((item.line, SOMEONE_ELSES))
        runs = [self._run(item, comparisons[item.comparison.origin_id]) for item in good]
        Run.objects.bulk_create(runs)
        self._rest(list(zip(runs, (item.run for item in good), strict=True)))
        stored.runs = len(runs)
        return stored

    def _known(self, model: Any, ids: Sequence[uuid.UUID]) -> set[uuid.UUID]:
        rows = model.objects.filter(team_id=self.team_id, origin_id__in=ids)
        return set(rows.values_list("origin_id", flat=True))

    def _comparisons(self, items: Sequence[Item]) -> dict[uuid.UUID, Comparison]:
        """Those that the runs may join; made where they are missing."""
        wanted = {item.comparison.origin_id: item.comparison for item in items}
        rows = Comparison.objects.filter(team_id=self.team_id, origin_id__in=wanted)
        there = {row.origin_id: row for row in rows.defer("document")}
        missing = [
            self._comparison(each) for each in wanted.values() if each.origin_id not in there
        ]
        Comparison.objects.bulk_create(missing)
        joined = {key: row for key, row in there.items() if self._may_join(row)}
        return joined | {each.origin_id: each for each in missing}

    def _may_join(self, comparison: Comparison) -> bool:
        """An owner, also where it is private: it may be theirs who wrote it, by this import."""
        if comparison.deleted_at or comparison.purged_at:
            return False
        return self.member.owns or comparison.may_be_managed_by(self.member)

    def _person(self, name: str) -> User | None:
        """Of the team. Only an owner's import speaks for others: a member could invent them."""
        if name not in self._people:
            found = User.objects.filter(memberships__team=self.team_id, username=name).first()
            self._people[name] = found if self.member.owns else None
        return self._people[name]

    def _whose(self, name: str) -> dict[str, Any]:
        """Author of a run or comparison: without a person of that name it is the importer's."""
        person = self._person(name) if name else self.member.user
        author = person or self.member.user
        return {
            "author_id": author.pk,
            "author_name": author.get_username(),
            "imported_from": "" if person else name,
        }

    def _comparison(self, draft: ComparisonDraft) -> Comparison:
        return Comparison(
            team_id=self.team_id,
            origin_id=draft.origin_id,
            visibility=draft.visibility,
            **self._whose(draft.author),
            **draft.values,
        )

    def _run(self, item: Item, comparison: Comparison) -> Run:
        ratings = [values["value"] for _, values in item.run.ratings]
        return Run(
            comparison=comparison,
            team_id=self.team_id,
            origin_id=item.run.origin_id,
            visibility=comparison.visibility,
            rating=sum(ratings) / len(ratings) if ratings else None,
            **self._whose(item.run.author),
            **item.run.values,
        )

    def _rest(self, pairs: Sequence[tuple[Run, RunDraft]]) -> None:
        """All that hangs on the runs."""
        choices, ratings, comments, facts = [], [], [], []
        labelled: dict[tuple[str, ...], list[int]] = {}
        for run, draft in pairs:
            for values in draft.choices:
                digest = hashlib.sha256(values["text"].encode()).hexdigest()
                choices.append(Choice(run=run, sha256=digest, **values))
            ratings += self._ratings(run, draft)
            for name, values in draft.comments:
                person = self._person(name) if name else None
                comments.append(
                    Comment(
                        run=run,
                        author=person,
                        author_name=name,
                        imported_from="" if person else name,
                        **values,
                    )
                )
            facts += [
                RunFact.said(RunFact.Source.USER, key, value).of(run.pk)
                for key, value in draft.pairs
            ]
            if draft.labels:
                labelled.setdefault(tuple(draft.labels), []).append(run.pk)
        Choice.objects.bulk_create(choices)
        Rating.objects.bulk_create(ratings)
        Comment.objects.bulk_create(comments)
        RunFact.objects.bulk_create(facts)
        for names, pks in labelled.items():
            RunLabel.objects.put(pks, Label.objects.named(self.team_id, names))

    def _ratings(self, run: Run, draft: RunDraft) -> list[Rating]:
        found: list[Rating] = []
        rated: set[int] = set()
        for name, values in draft.ratings:
            person = self._person(name) if name else None
            if person and person.pk in rated:
                continue  # one a person and run
            rated |= {person.pk} if person else set()
            own = "" if person else name
            found.append(Rating(run=run, user=person, imported_from=own, **values))
        return found


def index(member: Membership, origin_ids: Sequence[uuid.UUID]) -> None:
    """What the search needs of runs that were just written."""
    rows = Run.objects.filter(team_id=member.team_id, origin_id__in=origin_ids, indexed=False)
    SearchText.objects.write(rows.values_list("pk", flat=True))
