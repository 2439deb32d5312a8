"""Links that show a frozen copy of a run to whoever has them, until they are revoked.

The copy is made once and holds only what may be shown: no person, connection, address, header,
label, comment or metadata, and of the request only what the model was asked.
"""

import hashlib
import json
import secrets
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from playground import parameters
from playground.completion import CompletionRequest
from playground.models.comparisons import Comparison
from playground.models.runs import Run
from playground.models.teams import Membership, Team, User
from playground.models.visible import Visibility

# Parameters that say who asked.
PERSONAL = {"user", "metadata", "safety_identifier", "prompt_cache_key"}


def copied_request(asked: CompletionRequest) -> CompletionRequest:
    """Without headers, labels, free keys and whatever names a person."""
    headers = {each.path for each in parameters.PARAMETERS if each.header}
    values = {
        path: value
        for path, value in asked.values.items()
        if path not in headers and path.partition(".")[0] not in PERSONAL
    }
    return CompletionRequest(
        provider=asked.provider,
        dialect=asked.dialect,
        operation=asked.operation,
        model=asked.model,
        prompt=asked.prompt,
        messages=tuple(
            {key: value for key, value in message.items() if key != "name"}
            for message in asked.messages
        ),
        values=values,
    )


def copied(run: Run) -> dict[str, Any]:
    """A column as the link shows it."""
    return {
        "letter": run.letter,
        "request": json.loads(copied_request(run.request_value()).to_json()),
        "status": str(run.status),
        "error_kind": run.error_kind,
        "error_status": run.error_status,
        "choices": [
            {
                "index": choice.index,
                "text": choice.text,
                "reasoning": choice.reasoning,
                "finish_reason": choice.finish_reason,
            }
            for choice in run.choices.defer("packed_logprobs", "packed_timeline")
        ],
        "first_token_ms": run.first_token_ms,
        "total_ms": run.total_ms,
        "tokens_per_second": run.tokens_per_second,
        "prompt_tokens": run.prompt_tokens,
        "completion_tokens": run.completion_tokens,
    }


class ShareQuerySet(models.QuerySet["Share"]):
    def visible_to(self, user: User) -> Any:
        """Own ones; an owner sees those of runs that the team sees. Of nothing that was purged."""
        membership = user.membership()
        if membership is None:
            return self.none()
        rows = self.filter(team_id=membership.team_id, comparison__purged_at=None)
        own = Q(author=user)
        team = Q(comparison__visibility=Visibility.TEAM)
        return rows.filter(own | team if membership.owns else own)

    def make(self, comparison: Comparison, user: User, runs: Sequence[Run]) -> tuple["Share", str]:
        """The link and its token, which is stored hashed and never shown again."""
        token = secrets.token_urlsafe(32)
        share = self.create(
            comparison=comparison,
            team_id=comparison.team_id,
            author=user,
            author_name=user.get_username(),
            digest=digest_of(token),
            ending=token[-4:],
            letters="".join(run.letter for run in runs)[:100],
            snapshot=json.dumps({"runs": [copied(run) for run in runs]}),
        )
        return share, token

    def opened(self, token: str) -> "Share | None":
        """None for a link that is unknown, revoked, or whose run is in the trash or gone.

        A link to a private run also closes when its author leaves: nobody else could revoke it.
        """
        author = Membership.objects.filter(
            team=OuterRef("team"), user=OuterRef("author"), user__is_active=True
        )
        found = self.filter(digest=digest_of(token), revoked_at=None)
        found = found.filter(comparison__deleted_at=None, comparison__purged_at=None)
        found = found.filter(Q(comparison__visibility=Visibility.TEAM) | Exists(author))
        return found.select_related("comparison").first()


def digest_of(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


class Share(models.Model):
    comparison = models.ForeignKey(Comparison, on_delete=models.CASCADE, related_name="shares")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="shares"
    )
    author_name = models.CharField(max_length=150, blank=True)
    digest = models.CharField(max_length=64, unique=True)
    ending = models.CharField(max_length=4)  # of the token, to tell links apart
    letters = models.CharField(max_length=100)  # of the columns
    snapshot = models.TextField()  # JSON
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    revoked_at = models.DateTimeField(null=True)

    objects = ShareQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"link …{self.ending} to {self.comparison}"

    @property
    def by(self) -> str:
        return self.author.get_username() if self.author else self.author_name

    @property
    def paused(self) -> bool:
        return self.comparison.deleted_at is not None

    def revoke(self) -> None:
        Share.objects.filter(pk=self.pk, revoked_at=None).update(revoked_at=timezone.now())
        self.refresh_from_db(fields=["revoked_at"])

    @property
    def runs(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.snapshot)["runs"]
        return found
