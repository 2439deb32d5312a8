"""What is left of the limits, for the person who is about to run something."""

from typing import Any

from django.http import JsonResponse
from django.views.decorators.http import require_GET

from playground.models import Connection, Run
from playground.models.ledger import NEAR, Standing, standings
from playground.models.limits import Who
from playground.views import Request, is_id

MOST_PARTS = 4  # of the tightest; a line beside the button has no room for more


@require_GET
def left(request: Request) -> JsonResponse:
    """Of the limits over runs at these connections: {"left": [{"text", "level", "renewal"}],
    "changes"}; of each kind only the tightest. `changes`: it is another in a few seconds."""
    membership = request.user.membership()
    if membership is None or not membership.may_run:
        return JsonResponse({"left": [], "changes": False})
    asked = [int(text) for text in request.GET.getlist("connection") if is_id(text)]
    usable = Connection.objects.usable_by(membership.team_id).filter(pk__in=asked)
    keys = usable.values_list("pk", flat=True)
    whose = [Who(pk, membership.team_id, request.user.pk) for pk in keys]
    tightest: dict[str, Standing] = {}
    for each in standings(Run.objects.all(), whose):
        known = tightest.get(each.limit.kind)
        if known is None or each.left < known.left:
            tightest[each.limit.kind] = each
    found = sorted(tightest.values(), key=lambda each: -each.share)
    changes = any(each.used for each in found if not each.limit.is_budget)
    return JsonResponse({"left": [_part(each) for each in found[:MOST_PARTS]], "changes": changes})


def _part(standing: Standing) -> dict[str, Any]:
    level = "none" if not standing.left else "low" if standing.share >= NEAR else ""
    if not standing.limit.is_budget and standing.limit.most:
        level = level and "low"  # what is over it waits; nothing is refused
    return {
        "text": standing.text,
        "level": level,
        "renewal": f"renews {standing.renewal}" if level and standing.renewal else "",
        "limit": str(standing.limit),
    }
