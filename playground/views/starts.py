"""What the form of the compose page begins with: a run, its continuation, a shared copy."""

import json
from collections.abc import Sequence
from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404

from playground import documents
from playground.completion import CompletionRequest
from playground.models import Comparison, Draft, Run, Share
from playground.models.teams import User
from playground.views import Request, drafts, is_id


def asked_for(request: Request, connections: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The document that the address asks for; None where it asks for none.

    `from` (a run): the form of its comparison, with `only` that run alone; `continue` (a run): its
    answer is appended to the prompt; `shared` (a token): one's own copy.
    """
    get = request.GET
    if source := get.get("from", ""):
        return restored(request.user, source, only="only" in get)
    if source := get.get("continue", ""):
        return continued(request.user, source)
    if token := get.get("shared", ""):
        return copied(token, connections)
    return None


def beside(user: User) -> dict[str, Any]:
    """What the form's script knows of the draft that stays: when and what it was, if anything."""
    working = Draft.objects.of(user, None)
    facts: dict[str, Any] = {"fresh": True}
    if working and drafts.opening(working):
        facts |= {"waiting": working.saved_at.isoformat(), "before": drafts.restored(working)}
    return facts


def _run(user: User, source: str) -> Run:
    if not is_id(source):
        raise Http404
    visible = Run.objects.visible_to(user).select_related("comparison")
    found: Run = get_object_or_404(visible, pk=int(source))
    return found


def restored(user: User, source: str, *, only: bool) -> dict[str, Any]:
    """The form as it was posted for this run; or for it alone; 404 for one that is not seen."""
    run = _run(user, source)
    if only:
        return documents.document_of([(run.connection_id, run.request_value())], run.visibility)
    runs = Run.objects.visible_to(user).filter(comparison=run.comparison).newest()
    return document_of(run.comparison, list(runs.order_by("position", "pk")))


def continued(user: User, source: str) -> dict[str, Any]:
    """The form of a run with its answer appended; 404 for a run that the user may not see."""
    run = _run(user, source)
    asked = run.request_value()
    document = documents.document_of([(run.connection_id, asked)], run.visibility)
    choice = run.choices.first()
    return documents.continued(document, asked, choice.result() if choice else None)


def copied(token: str, connections: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The form of a shared copy, at one's own first connection; 404 for a link that is not open."""
    share = Share.objects.opened(token)
    if share is None:
        raise Http404
    first = connections[0]["id"] if connections else None
    asked = [CompletionRequest(**each["request"]) for each in share.runs]
    return documents.document_of([(first, each) for each in asked])


def document_of(found: Comparison, runs: Sequence[Run]) -> dict[str, Any]:
    """As it was posted, or made again from the requests of a command-line completion."""
    try:
        document = documents.restored(json.loads(found.document))
    except (ValueError, RecursionError):
        document = None
    if document:
        return document
    requests = [(run.connection_id, run.request_value()) for run in runs]
    return documents.document_of(requests, found.visibility)
