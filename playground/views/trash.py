"""Who sees a comparison, and the trash: in, out, gone; and what goes there by itself."""

import json

from django import forms
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from playground.database import wait_for
from playground.models import Comparison, Label, Membership, Retention, Run
from playground.models.visible import Visibility
from playground.runner import runner
from playground.views import Request, membership_of

SHOWN = 200  # comparisons of the trash on its page


@require_POST
def visibility(request: Request, pk: int) -> HttpResponse:
    """`to`: "team" or "private". By the author only. The answer carries the way back, but not that
    of an undo (`undo`)."""
    own = Comparison.objects.visible_to(request.user).filter(author=request.user)
    found: Comparison = get_object_or_404(own, pk=pk)
    if request.POST.get("to", "") not in Visibility.values:
        raise Http404
    wanted = Visibility(request.POST["to"])
    found.show_to(wanted)
    if not request.htmx:
        return redirect(found)
    response = render(request, "trash/_lock.html", {"comparison": found})
    if "undo" not in request.POST:
        fields = {"to": wanted.other.value, "undo": "1"}
        undo = {"text": wanted.said(), "url": request.path, "fields": fields, "shown": f"lock-{pk}"}
        response["HX-Trigger"] = json.dumps({"undoable": undo})
    return response


def _managed(request: Request, pk: int, *, trashed: bool) -> Comparison:
    membership = membership_of(request)
    found = Comparison.objects.managed_in(membership).filter(deleted_at__isnull=not trashed)
    comparison: Comparison = get_object_or_404(found, pk=pk)
    return comparison


@require_POST
def trash(request: Request, pk: int) -> HttpResponseBase:
    """Stop what runs, then put it into the trash; the answer carries the way back."""
    found = _managed(request, pk, trashed=False)
    live = Run.objects.filter(comparison=found)
    wait_for(runner.stop_all, [run for run in live if run.live])
    found.trash()
    if not request.htmx:
        return redirect("trash")
    response = HttpResponse()
    undo = {"text": f"{found.title} is in the trash.", "url": reverse("restore", args=[pk])}
    response["HX-Trigger"] = json.dumps({"undoable": undo})
    if not (request.htmx.target or "").startswith("comparison-"):  # its own page: it is gone now
        response["HX-Redirect"] = reverse("history")
    return response


@require_POST
def restore(request: Request, pk: int) -> HttpResponse:
    found = _managed(request, pk, trashed=True)
    found.restore()
    return HttpResponse() if request.htmx else redirect(found)


@require_POST
def purge(request: Request, pk: int) -> HttpResponse:
    """For ever."""
    _managed(request, pk, trashed=True).purge()
    return HttpResponse() if request.htmx else redirect("trash")


class RetentionForm(forms.ModelForm):
    labels = forms.CharField(required=False, max_length=1000)

    class Meta:
        model = Retention
        fields = ["trash_after", "purge_after", "keep_starred"]

    def clean_labels(self) -> list[Label]:
        """The team's labels of these names, comma between them."""
        names = [name for name in str(self.cleaned_data["labels"]).split(",") if name.strip()]
        return Label.objects.named(self.instance.team_id, names)

    def keep(self) -> None:
        if self.instance.pk is None:  # another tab may have been first
            there, _ = Retention.objects.get_or_create(team_id=self.instance.team_id)
            self.instance.pk, self.instance._state.adding = there.pk, False
        self.save()
        self.instance.keep_labels.set(self.cleaned_data["labels"])


def _page(request: Request, form: RetentionForm | None, status: int = 200) -> HttpResponse:
    listed = Comparison.objects.trashed_for(request.user).select_related("author")
    listed = listed.defer("document").order_by("-deleted_at", "-pk").prefetch_related("runs")
    found = list(listed[: SHOWN + 1])
    context = {"found": found[:SHOWN], "more": len(found) > SHOWN, "form": form}
    return render(request, "trash/trash.html", context, status=status)


def _form(membership: Membership, data: object = None) -> RetentionForm | None:
    """Of an owner."""
    if not membership.owns:
        return None
    rule = Retention.objects.filter(team_id=membership.team_id).first()
    rule = rule or Retention(team_id=membership.team_id)
    names = ", ".join(label.name for label in rule.keep_labels.all()) if rule.pk else ""
    return RetentionForm(data, instance=rule, initial={"labels": names})  # type: ignore[arg-type]


def _may_delete(request: Request) -> Membership:
    membership = request.user.membership()
    if membership is None or not membership.may_run:
        raise Http404
    return membership


@require_GET
def trash_page(request: Request) -> HttpResponse:
    return _page(request, _form(_may_delete(request)))


@require_POST
def retention(request: Request) -> HttpResponse:
    form = _form(_may_delete(request), request.POST)
    if form is None:
        raise Http404
    if not form.is_valid():
        return _page(request, form, 422)
    form.keep()
    return redirect("trash")
