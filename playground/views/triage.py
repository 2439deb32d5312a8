"""Triage: one action on one or many rows, answered with the new rows and with what undoes it.

An answer is JSON: `said` a sentence, `rows` {id of the element: HTML}, `gone` [ids of elements],
`undo` [fields…], each of which is posted to the same address to take the action back. Nothing was
done where it has `error`; with `behind` the rows are too many for one request and go to
`views/bulk.py`.
"""

from collections.abc import Callable

from django.core.exceptions import ValidationError
from django.http import Http404, JsonResponse
from django.template.loader import render_to_string
from django.views.decorators.http import require_POST

from playground.models import QueueItem, Run, User
from playground.models.batches import BATCH
from playground.views import Request, acts, hits
from playground.views.acts import Done, Refused, Target
from playground.views.asked import Asked
from playground.views.reviews import light_items
from playground.views.rows import comparison_rows, run_rows
from playground.views.selection import noticed, rows_of, runs_of, trashed_of


@require_POST
def triage(request: Request) -> JsonResponse:
    """`do` of ACTIONS; `row` or `rows`; in a queue `queue`; `draw`: further rows to draw anew; `q`:
    the search that has found them."""
    do = request.POST.get("do", "")
    act = ACTIONS.get(do)
    rows = rows_of(request.POST)
    found = (trashed_of if do == "restore" else runs_of)(request.user, rows)
    queue = request.POST.get("queue", "")
    if act is None or not found or not (queue or "0").isdecimal() or len(queue) > 18:
        raise Http404
    target = Target(request, found, int(queue or 0))
    if len(target.runs) > BATCH:
        said = f"These are more than {BATCH:,} runs. Select fewer."
        return JsonResponse({"error": said, "behind": do in acts.ACTIONS}, status=422)
    try:
        done = act(target)
    except Refused as refused:
        return JsonResponse({"error": str(refused)}, status=422)
    except ValidationError as error:
        return JsonResponse({"error": " ".join(error.messages)}, status=422)
    gone = Run.objects.filter(comparison__in=done.gone).values_list("pk", flat=True)
    return JsonResponse(
        {
            "said": done.said,
            "undo": done.undo,
            "rows": drawn(target),
            "gone": [f"row-{row}" for row in [*acts.wholes(done.gone), *acts.singles(gone)]],
        }
    )


def skip(target: Target) -> Done:
    """Count as reviewed without a rating; with `value` "no" it waits again."""
    skips = target.posted("value") != "no"
    items = _items(target)
    changed = [each for each in items if bool(each.skipped_at) != skips]
    for each in changed:
        each.skip(target.user if skips else None)
    undo = {
        "do": "skip",
        "row": acts.singles([each.run_id for each in changed]),
        "value": "no" if skips else "",
        "queue": target.queue,
    }
    return Done("Skipped." if skips else "Waiting again.", [undo] if changed else [])


def assign(target: Target) -> Done:
    """`value`: "me", the id of a member of the team, or "" for nobody."""
    typed = target.posted("value")
    to = target.user if typed == "me" else _member(target, typed) if typed else None
    items = _items(target)
    undo = [
        {
            "do": "assign",
            "row": acts.singles([each.run_id]),
            "value": each.assignee_id or "",
            "queue": target.queue,
        }
        for each in items
        if each.assignee_id != (to.pk if to else None)
    ]
    for each in items:
        each.assign(to)
    return Done(f"Assigned to {to}." if to else "Assigned to nobody.", undo)


ACTIONS: dict[str, Callable[[Target], Done]] = {**acts.ACTIONS, "skip": skip, "assign": assign}


def _items(target: Target) -> list[QueueItem]:
    found = QueueItem.objects.visible_to(target.user).filter(
        queue=target.queue, queue__team=target.team, run__in=target.runs
    )
    items = list(found.select_related("run"))
    if not items:
        raise Http404
    return items


def _member(target: Target, typed: str) -> User:
    if not typed.isdecimal() or len(typed) > 18:
        raise Http404
    members = User.objects.filter(memberships__team=target.team, pk=int(typed), is_active=True)
    member = members.first()
    if member is None:
        raise Http404
    return member


def drawn(target: Target) -> dict[str, str]:
    """{id of the element: HTML}; a row that is not seen any more is not there."""
    if target.queue:
        return _queue_rows(target)
    names = rows_of(target.request.POST, "draw")
    wanted = runs_of(target.user, [*target.rows, *names])
    single = [int(row[4:]) for row in wanted if row.startswith("run-")]
    whole = [int(row[11:]) for row in wanted if row.startswith("comparison-")]
    rows = [*comparison_rows(whole), *run_rows(single)]
    hits.mark(rows, Asked.of(target.request, target.request.POST).query)
    noticed(target.user, [run for row in rows for run in row.runs])
    return {
        f"row-{row.key}": render_to_string("history/_row.html", {"row": row}, target.request)
        for row in rows
    }


def _queue_rows(target: Target) -> dict[str, str]:
    found = QueueItem.objects.visible_to(target.user).filter(
        queue=target.queue, queue__team=target.team, run__comparison__in=target.comparisons
    )
    changed = set(target.runs)
    return {
        f"item-{item.pk}": render_to_string("reviews/_item.html", {"item": item}, target.request)
        for item in light_items(found)
        if item.run_id in changed
    }
