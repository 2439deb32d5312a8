"""Runs out into files and in again, with their progress."""

from typing import Any, cast

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpResponse, QueryDict, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from playground.completion import storable
from playground.database import in_view
from playground.exchange import importing
from playground.exchange.exporting import NAMES, Export, ending, kind
from playground.models import Transfer, User
from playground.models.walk import Selection, Walk
from playground.views import Request, is_id, membership_of
from playground.views.bulk import MOST_SELECTED
from playground.views.selection import rows_of, runs_of

KINDS = ("comparison", "run")  # of selected rows
LISTED = 10  # transfers on a page
AT_ONCE = 3  # batches of a small import that are done while one waits
LAYOUTS = {
    "jsonl": "Everything about each run, one JSON object a line. This is what an import reads.",
    "csv": "For spreadsheets: one row for each output. No cell is run as a formula.",
    "markdown": "To read or to paste: settings, prompts and outputs in blocks.",
    "html": "One page to read or print, without scripts.",
    "sqlite": "In the table layout of llm’s logs, with further columns. Datasette opens it.",
}


def _selection(request: Request, given: QueryDict) -> Selection:
    """The search of the history's address, or selected rows, or `comparison` (many)."""
    rows = [*rows_of(given), *(f"comparison-{each}" for each in given.getlist("comparison"))]
    if len(rows) > MOST_SELECTED or not all(is_id(row.partition("-")[2]) for row in rows):
        raise Http404
    if rows:
        found = [row.partition("-") for row in runs_of(request.user, rows)]
        if not found:
            raise Http404
        ids = {name: [int(pk) for kind, _, pk in found if kind == name] for name in KINDS}
        return Selection.now(
            comparisons=tuple(sorted(ids["comparison"])), runs=tuple(sorted(ids["run"]))
        )
    typed = storable(given.get("q", "")).strip()
    may_run = membership_of(request).may_run
    mine = given.get("whose", "mine" if may_run else "team") != "team"
    return Selection.now(typed=typed, mine=mine)


@require_http_methods(["GET", "HEAD", "POST"])
def export(request: Request) -> HttpResponse:
    """Choose a layout for `q` and `whose`, or for selected rows; with `layout` begin."""
    membership = membership_of(request)
    given = request.POST if request.method == "POST" else request.GET
    selection = _selection(request, given)
    problems = selection.query.problems
    layout = request.POST.get("layout", "")
    if layout and layout not in NAMES:
        raise Http404
    if layout and not problems:
        day = timezone.localdate().isoformat()
        transfer = Transfer.objects.create(
            kind=Transfer.Kind.EXPORT,
            team_id=membership.team_id,
            author=request.user,
            layout=layout,
            selection=selection.to_json(),
            name=f"runs-{day}.{ending(layout)}",
        )
        return redirect(transfer)
    counted = Walk(request.user, selection).finder.counted() if not problems else None
    context = {
        "selection": selection,
        "problems": problems,
        "count": len(counted.runs) if counted else 0,
        "complete": counted.complete if counted else True,
        "layouts": [(name, NAMES[name], said) for name, said in LAYOUTS.items()],
        "transfers": _transfers(request, Transfer.Kind.EXPORT),
    }
    return render(request, "exchange/export.html", context, status=422 if problems else 200)


async def transfer_file(request: Request, pk: int) -> HttpResponseBase:
    """The export itself, made while it is sent; each time anew."""
    user = cast(User, await request.auser())
    visible = await in_view(_visible)(user, pk)
    if request.method != "GET" or visible is None or visible.kind != Transfer.Kind.EXPORT:
        raise Http404
    made = await in_view(Export)(user, visible)
    response = StreamingHttpResponse(made.stream(), content_type=kind(visible.layout))
    response["Content-Disposition"] = f'attachment; filename="{visible.name}"'
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"  # a proxy passes it on as it comes
    return response


def _visible(user: User, pk: int) -> Transfer | None:
    found: Transfer | None = Transfer.objects.visible_to(user).filter(pk=pk).first()
    return found


@require_http_methods(["GET", "HEAD", "POST"])
def import_runs(request: Request) -> HttpResponse:
    """Upload `file`. A small one is done here and now, a large one goes on in the background."""
    membership = membership_of(request)
    if not membership.may_run:
        raise Http404
    if request.method != "POST":
        return _import_page(request)
    upload = request.FILES.get("file")
    if not isinstance(upload, UploadedFile):
        return _import_page(request, "Choose a file first.")
    if (upload.size or 0) > settings.MAX_IMPORT:
        return _import_page(request, f"The file is larger than {limit_said()}. Split it.")
    try:
        transfer = importing.begin(membership, upload.name or "", importing.uploaded(upload))
    except importing.BadFile as error:
        return _import_page(request, str(error))
    for _ in range(AT_ONCE):
        if not importing.step(transfer):
            break
    else:
        transfer.release()
    return redirect(transfer)


def limit_said() -> str:
    return f"{settings.MAX_IMPORT // 1024 // 1024:,} MB"


def _import_page(request: Request, error: str = "") -> HttpResponse:
    context = {
        "error": error,
        "limit": limit_said(),
        "owns": membership_of(request).owns,
        "transfers": _transfers(request, Transfer.Kind.IMPORT),
    }
    return render(request, "exchange/import.html", context, status=422 if error else 200)


def _transfers(request: Request, kind: str) -> Any:
    found = Transfer.objects.visible_to(request.user).filter(kind=kind).defer("place")
    return found.order_by("-pk")[:LISTED]


@require_GET
def transfer(request: Request, pk: int) -> HttpResponse:
    found: Transfer = get_object_or_404(Transfer.objects.visible_to(request.user), pk=pk)
    template = "exchange/_transfer.html" if request.htmx else "exchange/transfer.html"
    return render(request, template, {"transfer": found})


@require_POST
def stop_transfer(request: Request, pk: int) -> HttpResponse:
    """What came in stays in."""
    found: Transfer = get_object_or_404(Transfer.objects.visible_to(request.user), pk=pk)
    found.end(Transfer.State.STOPPED)
    if not request.htmx:
        return redirect(found)
    return render(request, "exchange/_transfer.html", {"transfer": found})
