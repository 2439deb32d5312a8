"""The probabilities of a run's tokens, for the page that draws them, and going on from one."""

import json
from typing import Any, cast

from django.db.models.functions import Length
from django.http import Http404, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from playground import branch, documents, forms, panel
from playground.completion import CompletionRequest
from playground.database import in_view
from playground.models import Choice, Connection, OverLimit, Run
from playground.models.teams import Membership, User
from playground.probabilities import Probabilities, Token, probabilities
from playground.runner import Draining, runner
from playground.views import Request, numbers_of
from playground.views.history import MOST_IDS
from playground.views.refusals import REVIEWER, STOPPING

PAGE = 1_000  # tokens of a choice in one answer
MOST = 20_000  # tokens in one answer
# The order of samplers by default, from the servers' own sources.
ORDERS = {
    "llama.cpp": ("top_k", "top_p", "min_p", "temperature"),
    "vllm": ("temperature", "min_p", "top_k", "top_p"),
}
ORDER = ("temperature", "top_k", "top_p", "min_p")  # of Hugging Face; assumed of all others
SAMPLERS = frozenset(ORDER)
GONE = "The connection of this run is not available any more, so nothing can be continued on it."
NOT_THERE = "There is no such alternative. Reload the page and try again."
LIVE = "This run has not ended yet."


@require_GET
def tokens(request: Request) -> HttpResponse:
    """`?runs=1,2` and optionally `&choice=0&from=1000&count=500`: the tokens of their choices.

    {"runs": [{"run", "letter", "status", "samplers", "order", "refusal", "choices": [{"index",
    "total", "prompt", "base", "unplaced", "from", "next", "after", "tokens": […]}]}]}, with tokens
    as `probabilities.Token.as_json` gives them. `next` is null where nothing follows.
    """
    ids = numbers_of(request, "runs", MOST_IDS)
    [start], [count] = (
        numbers_of(request, "from", 1) or [0],
        numbers_of(request, "count", 1) or [PAGE],
    )
    only = numbers_of(request, "choice", 1)
    found = Run.objects.visible_to(request.user).filter(pk__in=ids).prefetch_related("choices")
    runs = list(found.order_by("position", "pk"))
    if not runs:
        raise Http404
    room = MOST
    membership = request.user.membership()
    answer = []
    for run in runs:
        choices = [each for each in run.choices.all() if not only or each.index in only]
        parts = []
        for choice in choices:
            page = _page(_of(run, choice), choice.index, start, min(count, PAGE, room))
            room -= len(page["tokens"])
            parts.append(page)
        answer.append({**_about(run, membership), "choices": parts})
    return JsonResponse({"runs": answer})


def _about(run: Run, membership: Membership | None) -> dict[str, Any]:
    asked = run.request_value()
    may_run = membership is not None and membership.may_run
    chat = asked.operation == "chat"
    known = {path: asked.values[path] for path in SAMPLERS if path in asked.values}
    return {
        "run": run.pk,
        "letter": run.letter,
        "status": run.status,
        "samplers": known,
        "order": ORDERS.get(run.dialect, ORDER),
        "order_of": panel.title(run.provider, run.dialect) if run.dialect in ORDERS else "",
        "may_continue": may_run,
        "refusal": _refusal(run, asked) if may_run else "",
        "note": branch.PREFILLED if chat else "",
    }


def _refusal(run: Run, asked: CompletionRequest) -> str:
    return GONE if run.connection_id is None else branch.refusal(asked, 0)


def _of(run: Run, choice: Choice) -> Probabilities:
    return probabilities(run.request_value(), choice.result(), run.choice_extra(choice.index))


def _page(found: Probabilities, index: int, start: int, count: int) -> dict[str, Any]:
    part = found.tokens[start : start + count]
    end = start + len(part)
    return {
        "index": index,
        "total": len(found.tokens),
        "prompt": found.of_prompt,
        "base": found.base,
        "unplaced": found.unplaced,
        "from": start,
        "next": end if end < len(found.tokens) else None,
        "after": found.after if end >= len(found.tokens) else "",
        "tokens": [token.as_json() for token in part],
    }


@require_GET
def heat(request: Request, pk: int) -> HttpResponse:
    """The panel of a column, which the page fills from `tokens`."""
    run = get_object_or_404(Run.objects.visible_to(request.user), pk=pk)
    choices = run.choices.defer("packed_logprobs", "packed_timeline")
    sized = choices.annotate(size=Length("packed_logprobs")).values_list("index", "size")
    listed = [
        index for index, size in sized if size or "prompt_logprobs" in run.choice_extra(index)
    ]
    context = {"run": run, "choices": listed}
    return render(request, "runs/_probabilities.html", context)


async def continue_from(request: Request, pk: int) -> HttpResponse:
    """Start a run that goes on from `alternative` of `token` of `choice` (numbers, as `tokens`
    lists them): {"url"} of its comparison, or {"error"} and nothing was sent."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    user = cast(User, await request.auser())
    membership = await in_view(user.membership)()
    if membership is None or not membership.may_run:
        return JsonResponse({"error": REVIEWER}, status=403)
    try:
        connection, asked, document = await in_view(_continued)(request, user, pk)
        begun = await runner.start(
            membership, [(connection, asked)], document=json.dumps(document),
            visibility=document["visibility"],
        )  # fmt: skip
    except (forms.BadDocument, OverLimit) as error:
        return JsonResponse({"error": str(error)}, status=422)
    except Draining:
        return JsonResponse({"error": STOPPING}, status=503)
    return JsonResponse({"url": begun.get_absolute_url()})


def _continued(
    request: Request, user: User, pk: int
) -> tuple[Connection, CompletionRequest, dict[str, Any]]:
    """What to send and the form that sends it. Raises BadDocument with the reason why not."""
    run = get_object_or_404(Run.objects.visible_to(user), pk=pk)
    if run.live:
        raise forms.BadDocument(LIVE)
    index, position, chosen = (_number(request, n) for n in ("choice", "token", "alternative"))
    choice = get_object_or_404(run.choices.all(), index=index)
    asked = run.request_value()
    if reason := _refusal(run, asked):
        raise forms.BadDocument(reason)
    found = _of(run, choice)
    if position >= len(found.tokens) or chosen >= len(found.tokens[position].alternatives):
        raise forms.BadDocument(NOT_THERE)
    token = found.tokens[position]
    wanted = _wanted(asked, choice.index, found, token, chosen)
    document = documents.document_of([(run.connection_id, wanted)], run.visibility) | {
        "force": True
    }
    draft = forms.read(document, user)
    if not draft.ok:
        problems = [*draft.errors, *(p for column in draft.columns for p in column.errors)]
        raise forms.BadDocument(" ".join(problem.message for problem in problems))
    [(connection, _)] = draft.requests()
    taken, other = (token.alternatives[each][0].whole for each in (token.taken, chosen))
    document["force"] = False
    document["branch"] = {
        "run": run.pk,
        "comparison": run.comparison_id,
        "letter": run.letter,
        "token": position - (0 if token.of_prompt else found.of_prompt) + 1,
        "of_prompt": token.of_prompt,
        "taken": taken,
        "other": other,
    }
    return connection, wanted, document


def _number(request: Request, name: str) -> int:
    given = request.POST.get(name, "")
    if not given.isascii() or not given.isdigit() or len(given) > 9:
        raise forms.BadDocument(NOT_THERE)
    return int(given)


def _wanted(
    asked: CompletionRequest, choice: int, found: Probabilities, token: Token, chosen: int
) -> CompletionRequest:
    one, _ = token.alternatives[chosen]
    if one.whole is None or token.span is None:
        raise forms.BadDocument(branch.END if one.why == "end" else branch.HALF)
    text = token.said_before + one.whole
    echoed = token.of_prompt or found.base > 0
    return branch.branched(asked, choice, text, echoed)
