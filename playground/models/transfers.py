"""Exports and imports that are under way, and what came of them."""

import json
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils import timezone

from playground.models.teams import Membership, Team
from playground.models.work import KEPT, Work, WorkQuerySet, lease

MOST_PROBLEMS = 100  # bad lines that are named; the others are counted


class TransferQuerySet(WorkQuerySet["Transfer"]):
    def imports(self) -> "TransferQuerySet":
        return self.filter(kind=Transfer.Kind.IMPORT)

    def forget_old(self) -> None:
        for found in self.filter(created_at__lt=timezone.now() - KEPT).exclude(
            kind=Transfer.Kind.IMPORT, state__in=Transfer.OPEN
        ):
            found.remove_file()
            found.delete()


class Transfer(Work):
    class Kind(models.TextChoices):
        EXPORT = "export", "Export"
        IMPORT = "import", "Import"

    kind = models.CharField(max_length=10, choices=Kind)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="transfers")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="transfers"
    )
    layout = models.CharField(max_length=10)  # csv, jsonl …; of an import jsonl or llm
    selection = models.TextField(blank=True)  # of an export: JSON, `models.walk.Selection`
    name = models.CharField(max_length=200, blank=True)  # of the file, as its owner calls it
    key = models.UUIDField(default=uuid.uuid4, editable=False)  # names the file that we keep
    # How far: of an import bytes, or runs of a log of llm; of an export the seconds of the time
    # from which its runs are. None: nobody knows yet.
    total = models.PositiveBigIntegerField(null=True)
    done = models.PositiveBigIntegerField(default=0)
    place = models.TextField(blank=True)  # where an import goes on: JSON of its reader
    runs = models.PositiveBigIntegerField(default=0)  # written so far
    skipped = models.PositiveBigIntegerField(default=0)  # that the team had already
    bad = models.PositiveBigIntegerField(default=0)  # lines that could not be taken
    problems = models.TextField(blank=True)  # JSON: [[line, sentence]…]

    objects = TransferQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}: {self.runs} runs"

    def get_absolute_url(self) -> str:
        return reverse("transfer", args=[self.pk])

    @property
    def silent(self) -> bool:
        """An export of which nothing was heard: the server that sent it is gone."""
        return bool(self.open and self.lease and self.lease < timezone.now())

    @property
    def followed(self) -> bool:
        """Whether there is something to wait for."""
        return self.open and not (self.silent and self.kind == self.Kind.EXPORT)

    @property
    def percent(self) -> int | None:
        if self.state == self.State.FINISHED:
            return 100
        return min(100, self.done * 100 // self.total) if self.total else None

    @property
    def more(self) -> int:
        """Bad lines that are not named."""
        return self.bad - len(self.problem_list)

    @property
    def problem_list(self) -> list[tuple[int, str]]:
        return [(line, said) for line, said in json.loads(self.problems or "[]")]

    @property
    def path(self) -> Path:
        """Of the file to be imported."""
        return Path(settings.DATA_DIR) / "imports" / self.key.hex

    @property
    def member(self) -> Membership | None:
        """The author as they are now, in the team in which it began."""
        return Membership.objects.filter(team=self.team_id, user=self.author_id).first()

    def note(self, problems: Sequence[tuple[int, str]]) -> None:
        """Add bad lines; not saved."""
        self.bad += len(problems)
        kept = [*self.problem_list, *problems][:MOST_PROBLEMS]
        self.problems = json.dumps(kept) if kept else ""

    def beat(self, **values: Any) -> bool:
        """Save how far it is; False where it was stopped meanwhile."""
        values |= {name: getattr(self, name) for name in ("done", "runs", "skipped", "bad")}
        values |= {"problems": self.problems, "place": self.place}
        return bool(self.going().update(lease=lease(), **values))

    def release(self) -> None:
        """Whoever comes first goes on."""
        self.going().update(lease=None)

    def begin(self, total: int | None) -> None:
        """From the start, also where it was done before."""
        self.state, self.total, self.error = self.State.RUNNING, total, ""
        self.done = self.runs = 0
        self.lease, self.finished_at = lease(), None
        self.save()

    def end(self, state: str, said: str = "") -> None:
        self.close(state, said)
        if self.kind == self.Kind.IMPORT:
            self.remove_file()

    def remove_file(self) -> None:
        self.path.unlink(missing_ok=True)
