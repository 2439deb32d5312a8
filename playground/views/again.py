"""A row of the history once more: the same requests, as a new comparison of one's own."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect

from playground.axes import Place
from playground.completion import CompletionRequest
from playground.database import in_view
from playground.models import Comparison, Connection, Membership, OverLimit, Run
from playground.runner import Draining, runner
from playground.views import Request
from playground.views.columns import GONE
from playground.views.refusals import STOPPING, refusal, refused
from playground.views.selection import named


@dataclass(frozen=True)
class Asked:
    """What is run again."""

    membership: Membership | None
    of: Comparison | Run
    columns: list[tuple[Connection, CompletionRequest]]
    places: list[Place]
    complete: bool  # every connection may be used still

    @property
    def whole(self) -> bool:
        return isinstance(self.of, Comparison)


async def again(request: Request) -> HttpResponse:
    """`row`: comparison-5 or run-7. Goes to the comparison that has begun."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    asked = await _asked(request)
    membership = asked.membership
    if membership is None or not membership.may_run:
        return await _refused(request, refusal(membership, [{}]), 403)
    if not asked.complete:
        return await _refused(request, GONE, 422)
    places = asked.places
    if not asked.whole:
        places = [Place(0)]  # alone, it stands on no axis
    try:
        begun = await runner.start(
            membership,
            asked.columns,
            document=asked.of.document if isinstance(asked.of, Comparison) else "",
            visibility=asked.of.visibility,
            places=places,
            axes=asked.of.axes_value if isinstance(asked.of, Comparison) else None,
        )
    except OverLimit as error:
        return await _refused(request, error.sentences, 422)
    except Draining:
        return await _refused(request, STOPPING, 503)
    if not request.htmx:
        return redirect(begun)
    response = HttpResponse(status=204)
    response["HX-Redirect"] = begun.get_absolute_url()
    return response


async def _refused(request: Request, said: str | Sequence[str], status: int) -> HttpResponse:
    response = await refused(request, said, status)
    response["HX-Retarget"] = "#bulk-said"
    return response


@in_view
def _asked(request: Request) -> Asked:
    found, ids = named(request.user, request.POST.get("row", ""))
    runs = list(Run.objects.filter(pk__in=ids).order_by("position", "pk"))
    membership = request.user.membership()
    usable = Connection.objects.usable_by(membership.team_id if membership else None)
    connections = {each.pk: each for each in usable}
    kept = [run for run in runs if run.connection_id in connections]
    return Asked(
        membership,
        found,
        [(connections[run.connection_id or 0], run.request_value()) for run in kept],
        [Place(run.column, json.loads(run.coordinates or "{}")) for run in kept],
        complete=len(kept) == len(runs),
    )
