"""The compose page, which shows a finished comparison too; running.py has what Run does."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from playground import documents, embedded, first_steps, panel
from playground.database import wait_for
from playground.listed import note
from playground.models import Comparison, Connection, Memory, Run, previews, reruns
from playground.models.notices import all_notices
from playground.models.prices import Price
from playground.models.teams import Membership, User
from playground.parameters import OPERATIONS, Api
from playground.providers import ProviderError
from playground.targets import list_models
from playground.views import Request, drafts, membership_of, starts
from playground.views.refusals import refusal
from playground.views.running import runs_of
from playground.views.selection import noticed


@require_GET
def compose(request: Request) -> HttpResponse:
    context = _page(request.user, None, [])
    document = starts.asked_for(request, context["connections"])
    if document is not None:
        context["document"] = document
        context["draft"] |= starts.beside(request.user)
    else:
        _with_draft(context, request.user, None)
    return render(request, "compose.html", context)


def _with_draft(context: dict[str, Any], user: User, page: Comparison | None) -> None:
    """Put the draft into the form; what the comparison itself has stays at hand."""
    found, facts = drafts.present(user, page)
    document = drafts.restored(found) if found else None
    if document:
        facts["other"] = page is not None and document != context["document"]
        context["document"] = document
    context["draft"] = facts


@require_GET
def comparison(request: Request, pk: int) -> HttpResponse:
    found = get_object_or_404(Comparison.objects.visible_to(request.user), pk=pk)
    runs = runs_of(request.user, found)
    noticed(request.user, runs)
    context = _page(request.user, found, runs)
    if "as-run" in request.GET:
        context["draft"]["fresh"] = True  # what is in the draft is kept when this is edited
    else:
        _with_draft(context, request.user, found)
    return render(request, "compose.html", context)


def _is_new(user: User) -> bool:
    return not Comparison.objects.filter(author=user).exists()


def _page(user: User, found: Comparison | None, runs: Sequence[Run]) -> dict[str, Any]:
    membership = user.membership()
    connections = _connections(membership)
    apis = [Api(**api) for each in connections for api in each.pop("_apis")]
    blank = documents.new_document(_first_column(connections))
    return {
        "groups": panel.groups(),
        "support": panel.support_map(apis),
        "document": starts.document_of(found, runs) if found else blank,
        "blank": blank,
        "samples": [each.to_dict() for each in first_steps.SAMPLES],
        "hints": first_steps.HINTS,
        "newcomer": membership is not None and membership.may_run and _is_new(user),
        "connections": connections,
        "comparison": found,
        "preview_label": previews.LABEL,
        "last": None if found else Comparison.objects.newest_of(user),
        "column_ids": reruns.column_ids(found.document) if found else [],
        "runs": runs,
        "refusal": refusal(membership, connections),
        "backends": _backends(membership),
        "limit": settings.MAX_BODY,
        "notices": all_notices() if user.has_perm("playground.view_connection") else [],
        "priced": Price.objects.filter(
            connection__in=[each["id"] for each in connections]
        ).exists(),
        "draft": drafts.present(user, found)[1],
        "memories": _memories([each["id"] for each in connections]),
    }


def _memories(connections: Sequence[int]) -> dict[int, dict[str, dict[str, Any]]]:
    """What was ignored or refused: {connection: {model: {path: {kind, sentence, seen}}}}."""
    found: dict[int, dict[str, dict[str, Any]]] = {}
    for each in Memory.objects.filter(connection__in=connections):
        by_path = found.setdefault(each.connection_id, {}).setdefault(each.model, {})
        seen = f"{each.seen_at:%Y-%m-%d}"
        by_path[each.path] = {"kind": each.kind, "sentence": each.sentence, "seen": seen}
    return found


def _connections(membership: Membership | None) -> list[dict[str, Any]]:
    """What the page's script knows of each backend; `_apis` is for the server."""
    if membership is None:
        return []
    return [
        {
            "id": each.pk,
            "name": each.name,
            "provider": each.provider,
            "title": panel.title(each.provider, each.dialect),
            "model": each.default_model,
            "models": reverse("models", args=[each.pk]),
            "tokens": reverse("tokens", args=[each.pk]),
            "context": reverse("context", args=[each.pk]),
            "apis": {op: Api(each.provider, each.dialect, op).key for op in OPERATIONS},
            "_apis": [
                {"provider": each.provider, "dialect": each.dialect, "operation": op}
                for op in OPERATIONS
            ],
        }
        for each in Connection.objects.usable_by(membership.team_id)
    ]


def _first_column(connections: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    if not connections:
        return None
    first = connections[0]
    return {"connection": first["id"], "operation": OPERATIONS[0], "model": first["model"]}


def _backends(membership: Membership | None) -> str:
    """`ready`, `none`, or the state of the embedded backend where that is another one."""
    usable = Connection.objects.usable_by(membership.team_id if membership else None)
    found = list(usable.values_list("embedded", flat=True))
    if not found:
        return "none"
    return embedded.status(settings.DATA_DIR) if True in found else "ready"


@require_GET
def backends(request: Request) -> HttpResponse:
    """The page asks again while there is something to say."""
    found = _backends(request.user.membership())
    return render(request, "_backends.html", {"backends": found})


@require_GET
def models(request: Request, pk: int) -> HttpResponse:
    """The ids that the backend lists, or why it does not list them."""
    membership = membership_of(request)
    usable = Connection.objects.usable_by(membership.team_id)
    connection = get_object_or_404(usable, pk=pk)
    try:
        listed = wait_for(list_models, connection)
    except ProviderError as error:
        return JsonResponse({"error": str(error), "models": connection.offered([])})
    note(connection, listed)
    return JsonResponse({"models": connection.offered(listed)})
