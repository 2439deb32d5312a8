"""The labels of the team, and work on many runs at once."""

from django.core.exceptions import ValidationError
from django.db.models import Count, Q
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from playground.models import Comparison, Job, Label, Membership, Run
from playground.models.jobs import BATCH, labelled_elsewise
from playground.models.runs import Visibility
from playground.views import Request

MOST_SELECTED = 1000  # rows that one selection may hold
JOBS_SHOWN = 20


def _membership(request: Request) -> Membership:
    membership = request.user.membership()
    if membership is None:
        raise Http404
    return membership


def _owner(request: Request) -> Membership:
    membership = _membership(request)
    if not membership.owns:
        raise Http404
    return membership


# --- The page ------------------------------------------------------------------------------


def _page(request: Request, status: int = 200, **more: object) -> HttpResponse:
    membership = _membership(request)
    seen = Q(run_labels__run__visibility=Visibility.TEAM)
    seen |= Q(run_labels__run__author_id=membership.user_id)
    counted = Label.objects.filter(team_id=membership.team_id).annotate(
        seen=Count("run_labels", filter=seen & Q(run_labels__run__deleted_at=None))
    )
    jobs = Job.objects.visible_to(request.user).select_related("label", "author")
    context = {
        # The name of a label that only others' private runs have is private too.
        "labels": counted.filter(seen__gt=0),
        "owns": membership.owns,
        "jobs": jobs.order_by("-pk")[:JOBS_SHOWN],
        **more,
    }
    return render(request, "labels/labels.html", context, status=status)


@require_GET
def team_labels(request: Request) -> HttpResponse:
    return _page(request)


@require_POST
def rename(request: Request, pk: int) -> HttpResponse:
    """Give a label another `name`; where another label has it, and `merge` is said, merge."""
    membership = _owner(request)
    label = get_object_or_404(Label, team_id=membership.team_id, pk=pk)
    typed = request.POST.get("name", "")
    try:
        other = label.rename(typed)
    except ValidationError as error:
        said = " ".join(error.messages)
        return _page(request, 422, failed=label.pk, typed=typed, error=said)
    if other is None:
        return redirect("labels_page")
    replaced = labelled_elsewise(label, other)
    if "merge" not in request.POST and (replaced or other.run_labels.exists()):
        more = {"failed": label.pk, "typed": typed, "other": other, "replaced": replaced}
        return _page(request, 409, **more)
    Job.objects.merge(membership, label, other)
    return redirect("labels_page")


# --- Many at once --------------------------------------------------------------------------


def is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19


def _ids(request: Request) -> list[int]:
    found = request.POST.getlist("comparison")
    if len(found) > MOST_SELECTED or not all(map(is_id, found)):
        raise Http404
    return sorted({int(each) for each in found})


@require_POST
def bulk(request: Request) -> HttpResponse:
    """`do`: label, unlabel, trash or restore, on the rows `comparison` (many) of the history."""
    membership = _membership(request)
    kind = request.POST.get("do", "")
    chosen = _ids(request)
    if kind in Job.OF_COMPARISONS:
        own = Comparison.objects.managed_in(membership).filter(pk__in=chosen)
        ids = list(own.values_list("pk", flat=True))
        return _begun(request, Job.objects.begin(kind, membership, ids))
    if kind not in (Job.Kind.LABEL, Job.Kind.UNLABEL):
        raise Http404
    runs = Run.objects.visible_in(membership).filter(comparison__in=chosen).order_by("pk")
    return label_all(request, membership, kind, list(runs.values_list("pk", flat=True)))


def label_all(request: Request, membership: Membership, kind: str, runs: list[int]) -> HttpResponse:
    """Add or remove the posted `label` on these runs."""
    try:
        [label] = Label.objects.named(membership.team_id, [request.POST.get("label", "")])
    except ValidationError as error:
        context = {"error": " ".join(error.messages)}
        return render(request, "labels/_job.html", context, status=422)
    return _begun(request, Job.objects.begin(kind, membership, runs, label=label))


def _begun(request: Request, job: Job) -> HttpResponse:
    """A small one is done here and now; a large one goes on in the background."""
    if job.total <= BATCH:
        while job.step():
            pass
    if not request.htmx:
        return redirect(job)
    response = render(request, "labels/_job.html", {"job": job})
    if not job.open:
        response["HX-Trigger"] = "changed"  # the rows of the page are out of date
    return response


@require_GET
def job(request: Request, pk: int) -> HttpResponse:
    found: Job = get_object_or_404(Job.objects.visible_to(request.user), pk=pk)
    template = "labels/_job.html" if request.htmx else "labels/job.html"
    return render(request, template, {"job": found})


@require_POST
def stop_job(request: Request, pk: int) -> HttpResponse:
    found: Job = get_object_or_404(Job.objects.visible_to(request.user), pk=pk)
    found.stop()
    return render(request, "labels/_job.html", {"job": found}) if request.htmx else redirect(found)
