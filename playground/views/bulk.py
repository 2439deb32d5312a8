"""Work on many rows of the history at once, and the jobs that do it."""

import json
from typing import Any

from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from playground.models import Job, Label, Membership, Run, deeds
from playground.models.annotations import clean_rating, labels_seen_in
from playground.models.batches import BATCH
from playground.models.gathering import SOME_SEVERAL, Gathering
from playground.models.labels import clean_label
from playground.models.walk import Selection
from playground.views import Request, membership_of
from playground.views.asked import Asked
from playground.views.selection import rows_of

MOST_SELECTED = 1_000  # comparisons that one address may name
KINDS = (*Job.OF_LABELS, Job.Kind.STAR, Job.Kind.UNSTAR, Job.Kind.RATE, *Job.OF_COMPARISONS)
VISIBLE = {"team": Job.Kind.SHOW, "private": Job.Kind.HIDE}
NO_SUCH_LABEL = "None of these runs has such a label."
NOTHING = "Nothing is selected."


class Refused(Exception):
    """What to say; nothing was done."""


@require_POST
def bulk(request: Request) -> HttpResponse:
    """`do` of KINDS on selected rows (`views/selection.py`), or on `all` that a search finds.

    `value`: for a label its name, for a rating 1 to 5 or "", for `visibility` team or private. The
    search: `q`, `whose`, `show` as in the address of the list.
    """
    membership = membership_of(request)
    do, value = request.POST.get("do", ""), request.POST.get("value", "")
    kind = VISIBLE.get(value, "") if do == "visibility" else do
    if kind not in KINDS:
        raise Http404
    try:
        return _begin(request, membership, kind)
    except Refused as refused:
        return _refused(request, str(refused), kind)


def _values(request: Request, membership: Membership, kind: str) -> dict[str, Any]:
    """Of the job."""
    if kind in Job.OF_LABELS:
        return {"label": _label(request, membership, kind)}
    if kind != Job.Kind.RATE:
        return {}
    try:
        return {"value": str(clean_rating(request.POST.get("value", "")) or "")}
    except ValidationError as error:
        raise Refused(" ".join(error.messages)) from None


def _label(request: Request, membership: Membership, kind: str) -> Label:
    name = request.POST.get("value", "")
    try:
        if kind == Job.Kind.LABEL:
            [made] = Label.objects.named(membership.team_id, [name])
            return made
        folded = clean_label(name).casefold()
    except ValidationError as error:
        raise Refused(" ".join(error.messages)) from None
    found: Label | None = labels_seen_in(membership, folded).filter(folded=folded).first()
    if found is None:
        raise Refused(NO_SUCH_LABEL)
    return found


def _refused(request: Request, said: str, kind: str) -> HttpResponse:
    response = render(request, "labels/_job.html", {"error": said}, status=422)
    place = "#bulk-error" if kind in Job.OF_LABELS else "#bulk-said"
    response["HX-Retarget"], response["HX-Reswap"] = place, "innerHTML"
    return response


def _begin(request: Request, membership: Membership, kind: str) -> HttpResponse:
    """The job, with the answer to who has asked for it."""
    values = _values(request, membership, kind)
    if "all" in request.POST:
        asked = Asked.of(request, request.POST)
        if asked.query.problems:
            raise Refused(asked.query.problems[0].sentence)
        selection = Selection.now(typed=asked.typed, mine=asked.mine)
        first = Gathering(kind, membership, selection, single=asked.single)
        first.step()
        if first.refused:
            raise Refused(first.refused)
        if not first.over:  # the job looks for the rest, so that nobody waits here
            job = Job.objects.search(kind, membership, selection, single=asked.single, **values)
            return _begun(request, job)
        chosen, ids = len(first.chosen), sorted(first.ids)
    else:
        wholes, runs = _selected(request, membership, kind)
        chosen, ids = len(wholes) + len(runs), deeds.allowed(kind, membership, wholes, runs)
        if kind == Job.Kind.RATE and len(ids) > chosen:
            raise Refused(SOME_SEVERAL)
    if not chosen:
        raise Refused(NOTHING)
    left = chosen - len(ids) if kind in Job.OF_COMPARISONS else 0
    return _begun(request, Job.objects.begin(kind, membership, ids, **values), left)


def _selected(request: Request, membership: Membership, kind: str) -> tuple[list[int], list[int]]:
    """(comparisons, runs)"""
    rows = rows_of(request.POST)
    wholes = [int(row[11:]) for row in rows if row.startswith("comparison-")]
    runs = [int(row[4:]) for row in rows if row.startswith("run-")]
    if kind in Job.OF_COMPARISONS and runs:
        known = Run.objects.visible_in(membership) | Run.objects.managed_in(membership)
        found = known.filter(pk__in=runs).values_list("comparison", flat=True)
        wholes, runs = sorted({*wholes, *found}), []
    return wholes, runs


def _begun(request: Request, job: Job, left: int = 0) -> HttpResponse:
    """A small one is done here and now; a large one goes on in the background."""
    if job.looked is None and job.total <= BATCH:
        while job.step():
            pass
    return _shown(request, job, left) if request.htmx else redirect(job)


def _shown(request: Request, job: Job, left: int = 0) -> HttpResponse:
    response = render(request, "labels/_job.html", {"job": job, "left": left})
    if not job.open:  # the rows of the page are out of date
        response["HX-Trigger"] = "changed"
        if job.kind == Job.Kind.TRASH and job.may_be_undone:
            response["HX-Trigger"] = json.dumps({"changed": {}, "undoable": way_back(job)})
    return response


def way_back(job: Job) -> dict[str, str]:
    moved = f"{job.done:,} comparison{'' if job.done == 1 else 's'}"
    return {"text": f"{moved} moved to the trash.", "url": reverse("undo_job", args=[job.pk])}


def _job(request: Request, pk: int) -> Job:
    found: Job = get_object_or_404(Job.objects.visible_to(request.user), pk=pk)
    return found


@require_GET
def job(request: Request, pk: int) -> HttpResponse:
    found = _job(request, pk)
    return (
        _shown(request, found)
        if request.htmx
        else render(request, "labels/job.html", {"job": found})
    )


@require_POST
def stop_job(request: Request, pk: int) -> HttpResponse:
    found = _job(request, pk)
    found.stop()
    return _shown(request, found) if request.htmx else redirect(found)


@require_POST
def undo_job(request: Request, pk: int) -> HttpResponse:
    """Take back what the job has done."""
    found = _job(request, pk)
    job = Job.objects.undo(found, membership_of(request)) if found.may_be_undone else None
    if job is None:
        raise Http404
    return _begun(request, job)
