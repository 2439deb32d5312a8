"""The compose page: write, run, stop. The same page shows a finished comparison."""

import json
from collections.abc import Sequence
from typing import Any, cast

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import (
    Http404,
    HttpResponse,
    HttpResponseNotAllowed,
    JsonResponse,
)
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from playground import embedded, first_steps, forms, panel
from playground.database import in_view, wait_for
from playground.inputs import Problem
from playground.models import Comparison, Connection, Memory, OverLimit, Run, reruns
from playground.models.notices import all_notices
from playground.models.prices import Price
from playground.models.runs import letter
from playground.models.teams import Membership, User
from playground.parameters import OPERATIONS, Api
from playground.providers import ProviderError
from playground.runner import Draining, runner
from playground.targets import list_models
from playground.views import Request, drafts, grid, starts
from playground.views.history import shown
from playground.views.selection import noticed

REVIEWER = "Reviewers read and rate; they cannot start runs."
NO_BACKEND = "There is no backend yet."
STOPPING = "The playground is being stopped and takes no new runs. Try again in a moment."
BROKEN = "The form was not understood. Reload the page and try again."
NO_TEAM = "You are in no team yet. Ask an admin to add you to one."


# --- Pages ---------------------------------------------------------------------------------


@require_GET
def compose(request: Request) -> HttpResponse:
    context = _page(request.user, None, [])
    document = starts.asked_for(request, context["connections"])
    if document is not None:
        context["document"] = document
        context["draft"] |= starts.beside(request.user)
    else:
        _with_draft(context, request.user, None)
    return render(request, "compose.html", context)


def _with_draft(context: dict[str, Any], user: User, page: Comparison | None) -> None:
    """Put the draft into the form; what the comparison itself has stays at hand."""
    found, facts = drafts.present(user, page)
    document = drafts.restored(found) if found else None
    if document:
        facts["other"] = page is not None and document != context["document"]
        context["document"] = document
    context["draft"] = facts


@require_GET
def comparison(request: Request, pk: int) -> HttpResponse:
    found = get_object_or_404(Comparison.objects.visible_to(request.user), pk=pk)
    runs = _runs_of(request.user, found)
    noticed(request.user, runs)
    context = _page(request.user, found, runs)
    if "as-run" in request.GET:
        context["draft"]["fresh"] = True  # what is in the draft is kept when this is edited
    else:
        _with_draft(context, request.user, found)
    return render(request, "compose.html", context)


def _is_new(user: User) -> bool:
    return not Comparison.objects.filter(author=user).exists()


def _runs_of(user: User, comparison: Comparison) -> list[Run]:
    """Of a grid only what its cells show; it keeps the newest of each place itself."""
    visible = Run.objects.visible_to(user).filter(comparison=comparison)
    return grid.light(visible) if comparison.axes else shown(visible.newest())


def _page(user: User, found: Comparison | None, runs: Sequence[Run]) -> dict[str, Any]:
    membership = user.membership()
    connections = _connections(membership)
    apis = [Api(**api) for each in connections for api in each.pop("_apis")]
    document = (
        starts.document_of(found, runs) if found else panel.new_document(_first_column(connections))
    )
    return {
        "groups": panel.groups(),
        "support": panel.support_map(apis),
        "document": document,
        "blank": panel.new_document(_first_column(connections)),
        "samples": [each.to_dict() for each in first_steps.SAMPLES],
        "hints": first_steps.HINTS,
        "newcomer": membership is not None and membership.may_run and _is_new(user),
        "connections": connections,
        "comparison": found,
        "column_ids": reruns.column_ids(found.document) if found else [],
        "runs": runs,
        "refusal": refusal(membership, connections),
        "backends": _backends(membership),
        "limit": settings.MAX_BODY,
        "notices": all_notices() if user.is_staff else [],
        "priced": Price.objects.filter(
            connection__in=[each["id"] for each in connections]
        ).exists(),
        "draft": drafts.present(user, found)[1],
        "memories": _memories([each["id"] for each in connections]),
    }


def _memories(connections: Sequence[int]) -> dict[int, dict[str, dict[str, Any]]]:
    """What was ignored or refused: {connection: {model: {path: {kind, sentence, seen}}}}."""
    found: dict[int, dict[str, dict[str, Any]]] = {}
    for each in Memory.objects.filter(connection__in=connections):
        by_path = found.setdefault(each.connection_id, {}).setdefault(each.model, {})
        seen = f"{each.seen_at:%Y-%m-%d}"
        by_path[each.path] = {"kind": each.kind, "sentence": each.sentence, "seen": seen}
    return found


def _connections(membership: Membership | None) -> list[dict[str, Any]]:
    """What the page's script knows of each backend; `_apis` is for the server."""
    if membership is None:
        return []
    return [
        {
            "id": each.pk,
            "name": each.name,
            "provider": each.provider,
            "title": panel.title(each.provider, each.dialect),
            "model": each.default_model,
            "models": reverse("models", args=[each.pk]),
            "tokens": reverse("tokens", args=[each.pk]),
            "context": reverse("context", args=[each.pk]),
            "apis": {op: Api(each.provider, each.dialect, op).key for op in OPERATIONS},
            "_apis": [
                {"provider": each.provider, "dialect": each.dialect, "operation": op}
                for op in OPERATIONS
            ],
        }
        for each in Connection.objects.usable_by(membership.team_id)
    ]


def _first_column(connections: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    if not connections:
        return None
    first = connections[0]
    return {"connection": first["id"], "operation": OPERATIONS[0], "model": first["model"]}


def refusal(membership: Membership | None, connections: Sequence[dict[str, Any]]) -> str:
    """Why nothing can be run; "" where it can."""
    if membership is None:
        return NO_TEAM
    if not membership.may_run:
        return REVIEWER
    return "" if connections else NO_BACKEND


def _backends(membership: Membership | None) -> str:
    """`ready`, `none`, or the state of the embedded backend where that is another one."""
    usable = Connection.objects.usable_by(membership.team_id if membership else None)
    found = list(usable.values_list("embedded", flat=True))
    if not found:
        return "none"
    return embedded.status(settings.DATA_DIR) if True in found else "ready"


@require_GET
def backends(request: Request) -> HttpResponse:
    """The page asks again while there is something to say."""
    found = _backends(request.user.membership())
    return render(request, "_backends.html", {"backends": found})


# --- Run and stop --------------------------------------------------------------------------


async def start(request: Request) -> HttpResponse:
    """The one async view: runs become tasks of this process's loop."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    user = cast(User, await request.auser())
    membership = await in_view(user.membership)()
    if membership is None or not membership.may_run:
        return await refused(request, refusal(membership, [{}]), 403)
    text = request.POST.get("document", "")
    try:
        asked = json.loads(text)
        draft = await in_view(forms.read)(asked, user)
    except forms.BadDocument as error:
        return await refused(request, str(error), 422)
    except (ValueError, RecursionError):
        return await refused(request, BROKEN, 422)
    if not draft.ok:
        return await _problems(request, draft)
    into = await _joined(user, asked, draft)
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
    except Draining:
        return await refused(request, STOPPING, 503)
    return await _begun(request, begun) if request.htmx else redirect(begun)


@in_view
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
        return _outputs(request, comparison)
    [run] = shown(Run.objects.filter(pk=made[0].pk))
    response = render(request, "runs/_run.html", {"run": run, "comparison": comparison})
    response["HX-Retarget"] = f"#run-{old.pk}"
    response["HX-Reswap"] = "outerHTML"
    response["HX-Push-Url"] = comparison.get_absolute_url()
    return response


def _in_place(old: Run, new: Run) -> bool:
    return (old.column, old.coordinates) == (new.column, new.coordinates)


@in_view
def _begun(request: Request, begun: Comparison) -> HttpResponse:
    return _outputs(request, begun)


def _outputs(request: Request, comparison: Comparison) -> HttpResponse:
    runs = _runs_of(request.user, comparison)
    context = {
        "comparison": comparison,
        "column_ids": reruns.column_ids(comparison.document),
        "runs": runs,
        "begun": True,
    }
    response = render(request, "_outputs.html", context)
    response["HX-Push-Url"] = comparison.get_absolute_url()
    return response


@in_view
def _problems(request: Request, draft: forms.Draft) -> HttpResponse:
    errors = [_error(None, problem) for problem in draft.errors]
    errors += [_error(c.position, problem) for c in draft.columns for problem in c.errors]
    return _refusal_page(
        request,
        {
            "errors": errors,
            "lines": _lines(errors, len(draft.columns)),
            "only_bounds": draft.only_bounds,
        },
        422,
    )


def _error(column: int | None, problem: Problem) -> dict[str, Any]:
    """For the page's script; `column` None: of the whole form."""
    return {
        "column": column,
        "path": problem.path,
        "message": problem.message,
        "bound": problem.bound,
    }


def _lines(errors: Sequence[dict[str, Any]], columns: int) -> list[dict[str, Any]]:
    """One line for each thing that is wrong, with the letters of the columns that have it."""
    found: dict[tuple[str, str], list[str]] = {}
    for error in errors:
        letters = found.setdefault((error["path"], error["message"]), [])
        if error["column"] is not None:
            letters.append(letter(error["column"]))
    return [
        {"path": path, "message": message, "letters": letters if columns > 1 else []}
        for (path, message), letters in found.items()
    ]


@in_view
def refused(request: Request, said: str | Sequence[str], status: int) -> HttpResponse:
    sentences = [said] if isinstance(said, str) else said
    lines = [{"path": "", "message": sentence, "letters": []} for sentence in sentences]
    return _refusal_page(request, {"errors": [], "lines": lines, "only_bounds": False}, status)


def _refusal_page(request: Request, context: dict[str, Any], status: int) -> HttpResponse:
    template = "_problems.html" if request.htmx else "problems.html"
    response = render(request, template, context, status=status)
    response["HX-Retarget"] = "#problems"
    response["HX-Reswap"] = "innerHTML"
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


@require_GET
def models(request: Request, pk: int) -> HttpResponse:
    """The ids that the backend lists, or why it does not list them."""
    membership = request.user.membership()
    if membership is None:
        raise Http404
    usable = Connection.objects.usable_by(membership.team_id)
    connection = get_object_or_404(usable, pk=pk)
    try:
        listed = wait_for(list_models, connection)
    except ProviderError as error:
        return JsonResponse({"error": str(error), "models": connection.offered([])})
    return JsonResponse({"models": connection.offered(listed)})
