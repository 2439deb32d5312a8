"""One column of a comparison: run it again, take its settings into the form."""

import json

from django.http import Http404, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_GET

from playground import documents
from playground.axes import Place
from playground.database import in_view
from playground.models import Comparison, Connection, Membership, OverLimit, Run
from playground.runner import Draining, runner
from playground.views import Request
from playground.views.refusals import STOPPING, refusal, refused
from playground.views.running import joined

GONE = "The connection of this run is not available any more. Choose another one in the form."


@require_GET
def settings(request: Request, pk: int) -> JsonResponse:
    """What the form would hold for this run alone: a document with one column."""
    run = get_object_or_404(Run.objects.visible_to(request.user), pk=pk)
    return JsonResponse(documents.document_of([(run.connection_id, run.request_value())]))


async def again(request: Request, pk: int) -> HttpResponse:
    """The same request once more, at the same column; the other columns stay as they are."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    run, membership, connection = await _asked(request, pk)
    if membership is None or not membership.may_run:
        return await refused(request, refusal(membership, [{}]), 403)
    if connection is None:
        return await refused(request, GONE, 422)
    columns = [(connection, run.request_value())]
    try:
        if run.comparison.author_id != membership.user_id:
            begun = await runner.start(membership, columns, visibility=run.visibility)
            return _elsewhere(request, begun)
        place = Place(run.column, json.loads(run.coordinates) if run.coordinates else {})
        made = await runner.join(run.comparison, membership, columns, [place])
    except OverLimit as error:
        return await refused(request, error.sentences, 422)
    except Comparison.DoesNotExist:
        raise Http404 from None  # it went into the trash just now
    except Draining:
        return await refused(request, STOPPING, 503)
    if _from_page(request, run.comparison):
        return await joined(request, run.comparison, made, run.pk)
    return _elsewhere(request, run.comparison)


def _elsewhere(request: Request, comparison: Comparison) -> HttpResponse:
    """The page that asked cannot show it: go where it runs."""
    response = HttpResponse(status=204 if request.htmx else 302)
    response["HX-Redirect" if request.htmx else "Location"] = comparison.get_absolute_url()
    return response


@in_view
def _asked(request: Request, pk: int) -> tuple[Run, Membership | None, Connection | None]:
    run = Run.objects.visible_to(request.user).select_related("comparison").filter(pk=pk).first()
    if run is None:
        raise Http404
    membership = request.user.membership()
    usable = Connection.objects.usable_by(membership.team_id if membership else None)
    return run, membership, usable.filter(pk=run.connection_id).first()


def _from_page(request: Request, comparison: Comparison) -> bool:
    """Whether the page that asks shows the comparison, so that one column can be swapped in it."""
    return request.htmx.current_url_abs_path == reverse("comparison", args=[comparison.pk])
