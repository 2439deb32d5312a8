"""Drafts: the form is saved while one types, and given back."""

import json
from typing import Any

from django.conf import settings
from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from playground import documents
from playground.completion import told_apart_by
from playground.models import Comparison, Draft
from playground.models.teams import User
from playground.views import Request, is_id

TOO_BIG = "The form holds more than {limit} MB. It is not saved as a draft."
BROKEN = "The draft was not understood. Reload the page and try again."


@require_GET
def drafts(request: Request) -> HttpResponse:
    """The kept drafts, newest first."""
    kept = [(each, opening(each)) for each in Draft.objects.kept_by(request.user)]
    return render(request, "_drafts.html", {"drafts": kept})


@require_http_methods(["GET", "POST"])
def draft(request: Request, pk: int) -> JsonResponse:
    """One kept draft; a post takes it from the list."""
    found = get_object_or_404(Draft.objects.kept_by(request.user), pk=pk)
    document = restored(found)
    if request.method == "POST":
        found.delete()
    return JsonResponse({"document": document})


@require_POST
def save(request: Request) -> JsonResponse:
    """`document` over `version`. 409 with what is there now where another tab was first.

    `leaving`: the page goes away, so nobody can be asked; then such a document is kept.
    """
    document = request.POST.get("document", "")
    if len(document.encode("utf-8", "surrogatepass")) > settings.MAX_BODY:
        said = TOO_BIG.format(limit=settings.MAX_BODY // 2**20)
        return JsonResponse({"error": said}, status=413)
    version = request.POST.get("version", "")
    if not _is_document(document) or not is_id(version):
        return JsonResponse({"error": BROKEN}, status=422)
    page = _comparison(request, "page")
    saved = Draft.objects.put(
        request.user,
        page,
        document,
        int(version),
        keep=request.POST.get("keep") == "1",
        **({"ran": _comparison(request, "ran")} if "ran" in request.POST else {}),
    )
    if saved is None:
        if request.POST.get("leaving") == "1":
            Draft.objects.set_aside(request.user, document)
        return JsonResponse(_there(request.user, page), status=409)
    return JsonResponse({"version": saved.version})


def _comparison(request: Request, name: str) -> Comparison | None:
    pk = request.POST.get(name, "")
    if not is_id(pk):
        return None
    visible = Comparison.objects.visible_to(request.user)
    found: Comparison = get_object_or_404(visible, pk=int(pk))
    return found


def _is_document(text: str) -> bool:
    try:
        return documents.restored(json.loads(text)) is not None
    except (ValueError, RecursionError):
        return False


def _there(user: User, page: Comparison | None) -> dict[str, Any]:
    found = Draft.objects.of(user, page)
    if found is None:  # it went with its comparison, or was never saved
        return {"version": 0, "document": None, "saved_at": ""}
    return {
        "version": found.version,
        "document": restored(found),
        "saved_at": found.saved_at.isoformat(),
    }


def restored(found: Draft) -> dict[str, Any] | None:
    try:
        return documents.restored(json.loads(found.document))
    except (ValueError, RecursionError):
        return None


def opening(found: Draft) -> str:
    """Its first words: of the input that is in use, else of another one."""
    document = restored(found)
    if document is None:
        return ""
    inputs = {
        "text": [document["prompt"]],
        "messages": told_apart_by(document["messages"]),
        "list": document["prompts"],
        "ids": [document["ids"]],
    }
    in_use = inputs.get(document["mode"], [])
    texts = (text for each in (in_use, *inputs.values()) for text in each)
    first = next((text for text in texts if text.strip()), "")
    return " ".join(first.split())[:80]


def present(user: User, page: Comparison | None) -> tuple[Draft | None, dict[str, Any]]:
    """The draft that the form of a page shows, if any, and what its script knows of it.

    `page`: the comparison, None for the compose page. A comparison that was run from the working
    draft goes on with it.
    """
    working = Draft.objects.of(user, None)
    found = working
    if page is not None and (working is None or working.ran_id != page.pk):
        found = Draft.objects.of(user, page)
    is_working = page is None or (found is not None and found is working)
    other = working if working and not is_working and opening(working) else None
    facts = {
        "user": user.pk,
        "page": "" if is_working or page is None else page.pk,
        "version": found.version if found else 0,
        "saved_at": found.saved_at.isoformat() if found else "",
        "working": working.version if working else 0,
        "waiting": other.saved_at.isoformat() if other else "",
    }
    return found, facts
