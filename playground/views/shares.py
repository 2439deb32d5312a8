"""Links for people without a login: made, listed, revoked, opened."""

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from playground.completion import CompletionRequest
from playground.models import Comparison, Run, Share
from playground.views import Request, is_id, membership_of
from playground.views.apart import apart, settings_of

LISTED = 200
LIVE = "Wait until every column has ended; a link shows a finished copy."
HEADERS = {
    "X-Robots-Tag": "noindex, nofollow, noarchive",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store, private",
}


@require_POST
def share(request: Request, pk: int) -> HttpResponse:
    """Make a link to a comparison, or to one `run` of it. Its address is shown once."""
    membership = membership_of(request)
    managed = Comparison.objects.managed_in(membership).filter(deleted_at=None)
    found: Comparison = get_object_or_404(managed, pk=pk)
    runs = Run.objects.filter(comparison=found).order_by("position", "pk")
    only = request.POST.get("run", "")
    if only:
        runs = runs.filter(pk=int(only) if is_id(only) else 0)
    shown = list(runs)
    if not shown:
        raise Http404
    if any(run.live for run in shown):
        return _made(request, {"refused": LIVE}, 409)
    made, token = Share.objects.make(found, request.user, shown)
    address = settings.PUBLIC_URL.rstrip("/") + "/s/" + token + "/"
    return _made(request, {"share": made, "address": address}, 200)


def _made(request: Request, context: dict[str, object], status: int) -> HttpResponse:
    template = "shares/_made.html" if request.htmx else "shares/made.html"
    response = render(request, template, context, status=status)
    response["Cache-Control"] = "no-store"
    if status >= 400:
        response["HX-Retarget"], response["HX-Reswap"] = "#share-made", "innerHTML"
    return response


@require_GET
def shares(request: Request) -> HttpResponse:
    listed = Share.objects.visible_to(request.user).select_related("comparison", "author")
    return render(request, "shares/shares.html", {"shares": listed.defer("snapshot")[:LISTED]})


@require_POST
def revoke(request: Request, pk: int) -> HttpResponse:
    found: Share = get_object_or_404(Share.objects.visible_to(request.user), pk=pk)
    found.revoke()
    if not request.htmx:
        return redirect("shares")
    return render(request, "shares/_share.html", {"share": found})


@login_not_required
@require_GET
def shared(request: Request, token: str) -> HttpResponse:
    """The frozen copy. An unknown, revoked or paused link all look the same."""
    found = Share.objects.opened(token)
    if found is None:
        response = render(request, "shares/gone.html", status=404)
    else:
        columns = found.runs
        for each in columns:
            each["asked"] = CompletionRequest(**each["request"])
        for each in columns:
            each["same"] = _prompt(each["asked"]) == _prompt(columns[0]["asked"])
        for each, differs in zip(
            columns, apart([settings_of(each["asked"]) for each in columns]), strict=True
        ):
            each["apart"] = differs
        context = {"columns": columns, "share": found, "token": token}
        if request.user.is_authenticated:
            context["copy"] = f"{reverse('compose')}?shared={token}"
        response = render(request, "shares/shared.html", context)
    for name, value in HEADERS.items():
        response[name] = value
    response._has_been_logged = True  # type: ignore[attr-defined] # a token is not for the log
    return response


def _prompt(asked: CompletionRequest) -> object:
    return asked.messages or asked.prompt
