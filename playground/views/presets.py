"""Presets of parameters: a list that htmx swaps into its dialog."""

import json
from typing import Any

from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_http_methods, require_POST

from playground import parameters
from playground.documents import INITIAL
from playground.models import Preset
from playground.views import Request

PARTS = ("extra", "headers")  # beside the values: parts of the document that are one text
BROKEN = "The parameters were not understood. Reload the page and try again."


@require_http_methods(["GET", "POST"])
def presets(request: Request) -> HttpResponse:
    """The list; a post saves `settings` under `name`."""
    if request.method == "GET":
        return _list(request)
    try:
        settings = read(request.POST.get("settings", ""))
        shared = request.POST.get("shared") == "on"
        saved = Preset.objects.keep(
            request.user, request.POST.get("name", ""), settings, shared=shared
        )
    except ValidationError as error:
        return _list(request, error=error.messages[0])
    return _list(request, saved=saved)


@require_POST
def change(request: Request, pk: int) -> HttpResponse:
    """Another `name`, or shared or not: only one's own."""
    preset = get_object_or_404(Preset.objects.filter(author=request.user), pk=pk)
    try:
        if "name" in request.POST:
            preset.rename(request.POST["name"])
        if "share" in request.POST:
            preset.share(request.user, request.POST["share"] == "on")
            preset.save()
    except ValidationError as error:
        return _list(request, error=error.messages[0], renaming=pk)
    return _list(request, saved=preset)


@require_POST
def delete(request: Request, pk: int) -> HttpResponse:
    get_object_or_404(Preset.objects.filter(author=request.user), pk=pk).delete()
    return _list(request)


def read(text: str) -> dict[str, Any]:
    """`{"values": {path: raw}, "extra": text, "headers": text}`; null is what the form would set by
    itself and does not send. Raises ValidationError."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise ValidationError(BROKEN) from None
    values = found.get("values") if isinstance(found, dict) else None
    if not isinstance(values, dict):
        raise ValidationError(BROKEN)
    for path in values:
        try:
            parameters.parameter(path)
        except KeyError:
            raise ValidationError(f"There is no parameter {path}.") from None
    kept = {path: raw for path, raw in values.items() if raw is not None or path in INITIAL}
    texts = {part: str(found[part]) for part in PARTS if found.get(part)}
    if not kept and not texts:
        raise ValidationError("No parameter is set, so there is nothing to save.")
    return {"values": kept, **texts}


def _list(request: Request, **more: Any) -> HttpResponse:
    listed = Preset.objects.visible_to(request.user).listed()
    membership = request.user.membership()
    context = {"presets": listed, "team": membership.team if membership else None, **more}
    response = render(request, "_presets.html", context, status=422 if more.get("error") else 200)
    if more.get("error"):  # told in its place
        response["HX-Retarget"], response["HX-Reswap"] = "#presets", "outerHTML"
    return response
