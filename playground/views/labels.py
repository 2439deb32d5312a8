"""The labels of the team."""

from django.core.exceptions import ValidationError
from django.db.models import Count, Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from playground.models import Job, Label
from playground.models.labels import labelled_elsewise
from playground.models.visible import Visibility
from playground.views import Request, membership_of, owner_of

JOBS_SHOWN = 20


def _page(request: Request, status: int = 200, **more: object) -> HttpResponse:
    membership = membership_of(request)
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
    membership = owner_of(request)
    label = get_object_or_404(Label, team_id=membership.team_id, pk=pk)
    typed = request.POST.get("name", "")
    try:
        other = label.rename(typed)
        if other is None:
            return redirect("labels_page")
        replaced = labelled_elsewise(label, other)
        if "merge" not in request.POST and (replaced or other.run_labels.exists()):
            more = {"failed": label.pk, "typed": typed, "other": other, "replaced": replaced}
            return _page(request, 409, **more)
        Job.objects.merge(membership, label, other)
    except ValidationError as error:
        said = " ".join(error.messages)
        return _page(request, 422, failed=label.pk, typed=typed, error=said)
    return redirect("labels_page")
