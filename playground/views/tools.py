"""What helps while a request is composed: doubts, code, paste, tokens."""

import json
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET, require_POST

from playground import forms
from playground.completion import CompletionRequest
from playground.database import wait_for
from playground.documents import as_template
from playground.models import Connection
from playground.pasted import read_pasted
from playground.pasted.command import BadPaste
from playground.plan import plan_of
from playground.providers import PROVIDERS, ProviderError, Target
from playground.providers.base import Token
from playground.snippets import Call, available
from playground.tables import LARGEST, BadTable, read_table
from playground.targets import asked
from playground.views import Request, is_id, membership_of

MOST_TOKENS = 2000  # ids that are looked up one by one
EXAMPLE_URL = "http://127.0.0.1:8080/v1"  # of the embedded backend, whose port changes


def _usable(request: Request, pk: int) -> Connection:
    membership = membership_of(request)
    return get_object_or_404(Connection.objects.usable_by(membership.team_id), pk=pk)


def _draft(request: Request) -> forms.Draft | None:
    try:
        return forms.read(json.loads(request.POST.get("document", "")), request.user)
    except (ValueError, RecursionError):
        return None


@require_POST
def check(request: Request) -> HttpResponse:
    """What each column would not send, and what its backend may dislike; nothing is run."""
    draft = _draft(request)
    columns = draft.columns if draft else []
    return render(request, "_doubts.html", {"columns": columns, "several": len(columns) > 1})


@require_POST
def plan(request: Request) -> JsonResponse:
    """What a press of Run would send: {"requests", "completions", …}; nothing is run."""
    draft = _draft(request)
    if draft is None:
        return JsonResponse({"error": "The form was not understood."}, status=422)
    return JsonResponse(plan_of(draft))


@require_POST
def table(request: Request) -> JsonResponse:
    """A CSV or JSONL file as rows of values: {"names", "rows"}; else {"error"}."""
    upload = request.FILES.get("file")
    if upload is None or upload.size is None or upload.size > 4 * LARGEST:
        return JsonResponse({"error": "Choose a CSV or JSONL file of at most 1 MB."}, status=422)
    try:
        names, rows = read_table(upload.read().decode("utf-8"))
    except UnicodeDecodeError:
        return JsonResponse({"error": "The file is not UTF-8. Save it as UTF-8."}, status=422)
    except BadTable as error:
        return JsonResponse({"error": str(error)}, status=422)
    return JsonResponse({"names": names, "rows": rows})


@require_POST
def code(request: Request) -> HttpResponse:
    """The request of one column as programs; the key is an environment variable."""
    draft = _draft(request)
    position = request.POST.get("column", "0")
    columns = draft.columns if draft else []
    column = columns[int(position)] if is_id(position) and int(position) < len(columns) else None
    if column is None or column.request is None or column.connection is None:
        errors = column.errors if column else []
        return render(request, "_code.html", {"errors": errors, "snippets": []})
    snippets = snippets_of(column.connection, column.request)
    return render(request, "_code.html", {"snippets": snippets, "errors": []})


def snippets_of(connection: Connection, asked: CompletionRequest) -> list[dict[str, str]]:
    provider = PROVIDERS[connection.provider]
    call = Call(
        asked,
        connection.base_url or EXAMPLE_URL,
        needs_key=provider.wants_key(connection.base_url) or connection.key() is not None,
        path=provider.paths[asked.operation],
    )
    return [
        {"name": name, "label": each.label, "language": each.language, "text": each.program(call)}
        for name, each in available(call).items()
    ]


@require_POST
def paste(request: Request) -> HttpResponse:
    """A pasted curl command or JSON body as parts of the document: {"changes", "notes", "wrong"}.

    `wrong`: {path: sentence} of values that their fields will not take.
    """
    text = request.POST.get("text", "")
    membership = request.user.membership()
    connections = list(Connection.objects.usable_by(membership.team_id if membership else None))
    chosen = next((c for c in connections if str(c.pk) == request.POST.get("connection")), None)
    try:
        pasted = read_pasted(text, *((chosen.provider, chosen.dialect) if chosen else ()))
        found = _with_origin(connections, pasted.base_url)
        if found is not None and found != chosen:
            pasted = read_pasted(text, found.provider, found.dialect)
            pasted.changes["connection"] = found.pk
    except BadPaste as error:
        return JsonResponse({"error": str(error)}, status=422)
    changes = as_template(pasted.changes)
    return JsonResponse({"changes": changes, "notes": pasted.notes, "wrong": pasted.wrong})


def _with_origin(connections: list[Connection], base_url: str) -> Connection | None:
    wanted = urlsplit(base_url).netloc
    return next((c for c in connections if wanted and urlsplit(c.base_url).netloc == wanted), None)


@require_GET
def context(request: Request, pk: int) -> JsonResponse:
    """{"context": tokens that prompt and answer may have together, or null}."""
    connection = _usable(request, pk)
    model = request.GET.get("model", "")

    async def ask(target: Target) -> int | None:
        return await PROVIDERS[connection.provider].context(target, model, connection.dialect)

    try:
        return JsonResponse({"context": wait_for(asked, connection, ask)})
    except ProviderError:
        return JsonResponse({"context": None})  # nobody asked for it: no word about it


def _tokens_by(
    connection: Connection, request: Request, model: str, ids: Any
) -> Callable[[Target], Awaitable[list[Token]]]:
    provider = PROVIDERS[connection.provider]
    if isinstance(ids, list):
        numbers = [each for each in ids if type(each) is int][:MOST_TOKENS]
        return lambda target: provider.pieces(target, model, numbers, connection.dialect)
    text = request.POST.get("text", "")
    return lambda target: provider.tokens(target, model, text, connection.dialect)


@require_POST
def tokens(request: Request, pk: int) -> HttpResponse:
    """{"tokens": [[id, piece]…]} of `text`, or of `ids` (a JSON list); else {"error"}."""
    connection = _usable(request, pk)
    model = request.POST.get("model", "")
    try:
        ids = json.loads(request.POST.get("ids", "null"))
    except (ValueError, RecursionError):
        ids = None
    try:
        found = wait_for(asked, connection, _tokens_by(connection, request, model, ids))
    except ProviderError as error:
        return JsonResponse({"error": error.message})
    return JsonResponse({"tokens": found})
