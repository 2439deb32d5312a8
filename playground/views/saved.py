"""Saved views: searches under a name, for oneself or the team."""

from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from playground.completion import storable
from playground.models import SavedView, User
from playground.views import Request
from playground.views.asked import Asked


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
    """Keep a search under a name."""
    membership = request.user.membership()
    if membership is None:
        raise Http404
    name = " ".join(storable(request.POST.get("name", "")).split())[:80]
    state = QueryDict(request.POST.get("query", ""))
    kept = {key: storable(state[key]) for key in ("q", "whose", "show") if state.get(key)}
    text = urlencode(kept)
    if name and len(text) <= 2000:
        shared = request.POST.get("shared") == "on"
        SavedView.objects.keep(membership, name, query=text, shared=shared)
    return redirect(f"{reverse('history')}?{text}")


@require_POST
def delete_view(request: Request, pk: int) -> HttpResponse:
    view = get_object_or_404(SavedView.objects.visible_to(request.user), pk=pk)
    if view.author_id != request.user.pk:
        raise Http404
    view.delete()
    return redirect(f"{reverse('history')}?{view.query}")
