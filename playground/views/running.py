"""Run and stop: a press of Run becomes runs of this process."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from playground import forms
from playground.database import in_view, wait_for
from playground.models import Comparison, OverLimit, Run, reruns
from playground.models.teams import Membership, User
from playground.runner import Draining, runner
from playground.views import Request, apart, grid
from playground.views.history import fresh, shown
from playground.views.refusals import BROKEN, STOPPING, problems, refusal, refused


async def start(request: Request) -> HttpResponse:
    """The one async view: runs become tasks of this process's loop."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    user = cast(User, await request.auser())
    text = request.POST.get("document", "")
    try:
        membership, asked, draft, into = await _asked(user, text)
    except PermissionDenied as error:
        return await refused(request, str(error), 403)
    except forms.BadDocument as error:
        return await refused(request, str(error), 422)
    except (ValueError, RecursionError):
        return await refused(request, BROKEN, 422)
    if not draft.ok:
        return await problems(request, draft)
    try:
        if into is not None:
            made = await runner.join(
                into, membership, draft.requests(), draft.places(), document=text
            )
            return await joined(request, into, made, asked.get("replaces"))
        begun = await runner.start(
            membership,
            draft.requests(),
            document=text,
            visibility=draft.visibility,
            places=draft.places(),
            axes=draft.axes(),
        )
    except OverLimit as error:
        return await refused(request, error.sentences, 422)
    except Comparison.DoesNotExist:
        raise Http404 from None  # it went into the trash just now
    except Draining:
        return await refused(request, STOPPING, 503)
    return await _begun(request, begun) if request.htmx else redirect(begun)


class _Asked(NamedTuple):
    membership: Membership
    document: dict[str, Any]
    draft: forms.Draft
    into: Comparison | None  # that one column joins


@in_view
def _asked(user: User, text: str) -> _Asked:
    """All that is read before anything is begun: each visit of a thread costs.

    PermissionDenied, BadDocument; ValueError and RecursionError where the text is no JSON.
    """
    membership = user.membership()
    if membership is None or not membership.may_run:
        raise PermissionDenied(refusal(membership, [{}]))
    document = json.loads(text)
    draft = forms.read(document, user)
    return _Asked(membership, document, draft, _joined(user, document, draft) if draft.ok else None)


def _joined(user: User, asked: dict[str, Any], draft: forms.Draft) -> Comparison | None:
    """The comparison that one column joins: one of one's own that multiplies by the same."""
    pk = asked.get("into")
    if forms.only(asked) is None or not isinstance(pk, int):
        return None
    own = Comparison.objects.visible_to(user).filter(author=user)
    found: Comparison | None = own.filter(pk=pk).first()
    return found if found and found.axes_value == draft.axes() else None


@in_view
def joined(
    request: Request, comparison: Comparison, made: Sequence[Run], replaces: Any
) -> HttpResponse:
    """One column in the place of the one that the page shows; all of them where columns moved.

    `comparison` is as it was before the runs joined.
    """
    before = reruns.column_ids(comparison.document)
    comparison.refresh_from_db()
    if not request.htmx:
        return redirect(comparison)
    moved = reruns.column_ids(comparison.document) != before
    old = comparison.runs.filter(pk=replaces).first() if isinstance(replaces, int) else None
    if moved or old is None or len(made) != 1 or not _in_place(old, made[0]):
        return _outputs(request, comparison, runs_of(request.user, comparison))
    [run] = shown(Run.objects.filter(pk=made[0].pk))
    beside = apart.tell([run], Run.objects.visible_to(request.user))
    context = {"run": run, "comparison": comparison, "beside": beside}
    response = render(request, "runs/_joined.html", context)
    response["HX-Retarget"] = f"#run-{old.pk}"
    response["HX-Reswap"] = "outerHTML"
    response["HX-Push-Url"] = comparison.get_absolute_url()
    return response


def _in_place(old: Run, new: Run) -> bool:
    return (old.column, old.coordinates) == (new.column, new.coordinates)


@in_view
def _begun(request: Request, begun: Comparison) -> HttpResponse:
    if begun.axes:
        return _outputs(request, begun, runs_of(request.user, begun))
    runs = fresh(request.user, begun)
    apart.tell(runs)
    return _outputs(request, begun, runs)


def runs_of(user: User, comparison: Comparison) -> list[Run]:
    """Of a grid only what its cells show; it keeps the newest of each place itself."""
    visible = Run.objects.visible_to(user).filter(comparison=comparison)
    if comparison.axes:
        return grid.light(visible)
    runs = shown(visible.newest())
    apart.tell(runs)
    return runs


def _outputs(request: Request, comparison: Comparison, runs: Sequence[Run]) -> HttpResponse:
    context = {
        "comparison": comparison,
        "column_ids": reruns.column_ids(comparison.document),
        "runs": runs,
        "begun": True,
    }
    response = render(request, "_outputs.html", context)
    response["HX-Push-Url"] = comparison.get_absolute_url()
    return response


def _check_may_stop(user: User) -> None:
    """Who may not start runs may not stop those of others either."""
    membership = user.membership()
    if membership is None or not membership.may_run:
        raise PermissionDenied


@require_POST
def stop(request: Request, pk: int) -> HttpResponse:
    run = get_object_or_404(Run.objects.visible_to(request.user), pk=pk)
    _check_may_stop(request.user)
    wait_for(runner.stop, run)
    return HttpResponse(status=204) if request.htmx else redirect(run.comparison)


@require_POST
def stop_all(request: Request, pk: int) -> HttpResponse:
    found = get_object_or_404(Comparison.objects.visible_to(request.user), pk=pk)
    _check_may_stop(request.user)
    wait_for(runner.stop_all, [run for run in found.runs.all() if run.live])
    return HttpResponse(status=204) if request.htmx else redirect(found)
