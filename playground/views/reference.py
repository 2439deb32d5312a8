"""The reference page: every parameter of every API, from the table."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from playground.views import Request


@require_GET
def reference(request: Request) -> HttpResponse:
    return render(request, "reference.html", {})
