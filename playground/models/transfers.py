"""Exports and imports that are under way, and what came of them."""

import json
import uuid
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from playground.models.teams import Membership, Team, User

LEASE = timedelta(seconds=30)  # after which another process takes an import over
KEPT = timedelta(days=7)  # that one that has ended is listed
MOST_PROBLEMS = 100  # bad lines that are named; the others are counted


class TransferQuerySet(models.QuerySet["Transfer"]):
    def visible_to(self, user: User) -> Any:
        """Own ones in the current team: what they found may be private."""
        membership = user.membership()
        if membership is None:
            return self.none()
        return self.filter(team_id=membership.team_id, author=user)

    def take(self) -> "Transfer | None":
        """The oldest import that nobody works on; from now on it is ours for `LEASE`."""
        now = timezone.now()
        free = self.filter(kind=Transfer.Kind.IMPORT, state__in=Transfer.OPEN)
        free = free.filter(Q(lease=None) | Q(lease__lt=now))
        for found in free.order_by("pk")[:5]:
            taken = {"lease": now + LEASE, "state": Transfer.State.RUNNING}
            if free.filter(pk=found.pk).update(**taken):
                found.refresh_from_db()
                return found
        return None

    def hold(self, transfer: "Transfer") -> bool:
        """Take this one, unless somebody was first."""
        free = self.filter(pk=transfer.pk, lease=None, state=Transfer.State.WAITING)
        return bool(free.update(lease=timezone.now() + LEASE, state=Transfer.State.RUNNING))

    def forget_old(self) -> None:
        for found in self.filter(created_at__lt=timezone.now() - KEPT).exclude(
            kind=Transfer.Kind.IMPORT, state__in=Transfer.OPEN
        ):
            found.remove_file()
            found.delete()


class Transfer(models.Model):
    class Kind(models.TextChoices):
        EXPORT = "export", "Export"
        IMPORT = "import", "Import"

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        RUNNING = "running", "Running"
        FINISHED = "finished", "Done"
        STOPPED = "stopped", "Stopped"
        FAILED = "failed", "Failed"

    OPEN = (State.WAITING, State.RUNNING)

    kind = models.CharField(max_length=10, choices=Kind)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="transfers")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="transfers"
    )
    layout = models.CharField(max_length=10)  # csv, jsonl …; of an import jsonl or llm
    selection = models.TextField(blank=True)  # of an export: JSON, `exchange.source.Selection`
    name = models.CharField(max_length=200, blank=True)  # of the file, as its owner calls it
    key = models.UUIDField(default=uuid.uuid4, editable=False)  # names the file that we keep
    # Runs; of an import of JSONL the bytes read and of how many. None: nobody has counted.
    total = models.PositiveBigIntegerField(null=True)
    done = models.PositiveBigIntegerField(default=0)
    place = models.TextField(blank=True)  # where an import goes on: JSON of its reader
    runs = models.PositiveBigIntegerField(default=0)  # written so far
    skipped = models.PositiveBigIntegerField(default=0)  # that the team had already
    bad = models.PositiveBigIntegerField(default=0)  # lines that could not be taken
    problems = models.TextField(blank=True)  # JSON: [[line, sentence]…]
    error = models.TextField(blank=True)
    lease = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    finished_at = models.DateTimeField(null=True)

    objects = TransferQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}: {self.runs} runs"

    def get_absolute_url(self) -> str:
        return reverse("transfer", args=[self.pk])

    @property
    def open(self) -> bool:
        return self.state in self.OPEN

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
        going = Transfer.objects.filter(pk=self.pk, state__in=self.OPEN)
        values |= {name: getattr(self, name) for name in ("done", "runs", "skipped", "bad")}
        values |= {"problems": self.problems, "place": self.place}
        return bool(going.update(lease=timezone.now() + LEASE, **values))

    def release(self) -> None:
        """Whoever comes first goes on."""
        Transfer.objects.filter(pk=self.pk, state__in=self.OPEN).update(lease=None)

    def begin(self, total: int | None) -> None:
        """From the start, also where it was done before."""
        self.state, self.total, self.error = self.State.RUNNING, total, ""
        self.done = self.runs = 0
        self.lease, self.finished_at = timezone.now() + LEASE, None
        self.save()

    def end(self, state: str, said: str = "") -> None:
        going = Transfer.objects.filter(pk=self.pk, state__in=self.OPEN)
        ended = {"state": state, "error": said, "finished_at": timezone.now(), "lease": None}
        if going.update(**ended):
            self.state, self.error = state, said
        if self.kind == self.Kind.IMPORT:
            self.remove_file()

    def remove_file(self) -> None:
        self.path.unlink(missing_ok=True)
