"""The reference page: every parameter and what each backend does with it."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from playground.reference import entries, groups
from playground.views import Request

LONGEST_QUERY = 200  # characters


@require_GET
def reference(request: Request) -> HttpResponse:
    """`?q=` hides what does not have all its words; the page's script does the same at once."""
    query = request.GET.get("q", "")[:LONGEST_QUERY]
    found = entries()
    shown = {entry.path for entry in found if entry.matches(query)}
    context = {
        "groups": groups(found),
        "shown": shown,
        "shown_groups": {entry.group for entry in found if entry.path in shown},
        "total": len(found),
        "query": query,
    }
    return render(request, "reference.html", context)
