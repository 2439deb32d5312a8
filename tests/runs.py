"""Runs that have ended, made without a backend, for tests of what stands on the record."""

import hashlib
import json
from datetime import datetime
from typing import Any

from django.utils import timezone

from playground.completion import CompletionRequest
from playground.models import Choice, Comparison, Run, SearchText, User
from playground.models.runs import preview


def _comparison(user: User, visibility: str, created_at: datetime) -> Comparison:
    membership = user.membership()
    assert membership is not None
    made: Comparison = Comparison.objects.create(
        team_id=membership.team_id,
        author=user,
        author_name=user.get_username(),
        visibility=visibility,
        created_at=created_at,
    )
    return made


def make_run(
    user: User,
    prompt: str = "Hi",
    output: str = "Hello",
    *,
    created_at: datetime | None = None,
    visibility: str = "team",
    comparison: Comparison | None = None,
    values: dict[str, Any] | None = None,
    index: bool = True,
    **fields: Any,
) -> Run:
    """A completed run of the user's current team, in the search index."""
    model = fields.pop("model", "m")
    request = CompletionRequest("local", "completions", model, prompt=prompt, values=values or {})
    comparison = comparison or _comparison(user, visibility, created_at or timezone.now())
    run = Run.objects.create(
        comparison=comparison,
        position=comparison.runs.count(),
        column=comparison.runs.count(),
        team_id=comparison.team_id,
        author=user,
        author_name=user.get_username(),
        visibility=comparison.visibility,
        created_at=comparison.created_at,
        request=request.to_json(),
        prompt_preview=preview(prompt),
        output_preview=preview(output),
        **{
            "connection_name": "fake",
            "provider": "local",
            "operation": "completions",
            "model": model,
            "status": "completed",
            "metadata": json.dumps({"id": "cmpl-1"}),
            **fields,
        },
    )
    digest = hashlib.sha256(output.encode()).hexdigest()
    Choice.objects.create(run=run, index=0, text=output, finish_reason="stop", sha256=digest)
    if index:
        SearchText.objects.write([run.pk])
    return run
