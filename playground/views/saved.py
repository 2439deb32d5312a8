"""Saved views: searches under a name, for oneself or the team."""

from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from playground.completion import storable
from playground.models import SavedView, User
from playground.views import Request, membership_of
from playground.views.asked import Asked

LONGEST_NAME: int = SavedView._meta.get_field("name").max_length or 0
LONGEST_QUERY: int = SavedView._meta.get_field("query").max_length or 0


def views_of(user: User, asked: Asked) -> dict[str, Any]:
    saved = list(SavedView.objects.visible_to(user).select_related("author")[:100])
    here = asked.address()
    return {
        "saved": saved,
        "current": next((view for view in saved if f"?{view.query}" == here), None),
        "here": here.removeprefix("?"),
    }


@require_POST
def save_view(request: Request) -> HttpResponse:
    """Keep a search under a name; what is refused comes back in its field."""
    membership = membership_of(request)
    name = " ".join(storable(request.POST.get("name", "")).split())
    state = QueryDict(request.POST.get("query", ""))
    kept = {key: storable(state[key]) for key in ("q", "whose", "show") if state.get(key)}
    text = urlencode(kept)
    shared = request.POST.get("shared") == "on"
    error = _wrong(name, text)
    if error:
        context = {"error": error, "typed": name, "shared": shared, "here": text}
        template = "history/_save.html" if request.htmx else "history/save.html"
        response = render(request, template, context, status=422)
        response["HX-Retarget"], response["HX-Reswap"] = "#save-view", "outerHTML"
        return response
    SavedView.objects.keep(membership, name, query=text, shared=shared)
    address = f"{reverse('history')}?{text}"
    if not request.htmx:
        return redirect(address)
    response = HttpResponse(status=204)
    response["HX-Redirect"] = address
    return response


def _wrong(name: str, query: str) -> str:
    """A sentence, or ""."""
    if not name:
        return "Give the view a name."
    if len(name) > LONGEST_NAME:
        return f"A name has at most {LONGEST_NAME} characters; this one has {len(name)}."
    if len(query) > LONGEST_QUERY:
        return "This search is too long to be saved. Take some words or filters out of it."
    return ""


@require_POST
def delete_view(request: Request, pk: int) -> HttpResponse:
    view = get_object_or_404(SavedView.objects.visible_to(request.user), pk=pk)
    if view.author_id != request.user.pk:
        raise Http404
    view.delete()
    return redirect(f"{reverse('history')}?{view.query}")
