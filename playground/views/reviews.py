"""Review: queues of runs and blind panels, how they are made, and the page of a queue."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Count, Q
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from playground.models import (
    Comment,
    Judge,
    Membership,
    Panel,
    Queue,
    QueueItem,
    Round,
    Run,
    User,
)
from playground.models.panels import MOST_RUNS, votes_asked
from playground.models.reviews import MOST, on_request
from playground.views import Request, membership_of
from playground.views.apart import in_rows
from playground.views.asked import Asked
from playground.views.selection import ids_of, noticed, rows_of

SHOWN = 100  # queues and panels on the page
LISTED = 500  # items of a queue that its list shows at once
TAKEN = 20  # that "take the next" assigns
KINDS = ("queue", "panel")


@require_GET
def reviews(request: Request) -> HttpResponse:
    """What there is to review, and what can be judged."""
    queues = Queue.objects.visible_to(request.user).with_progress(request.user)
    context = {
        "queues": queues.select_related("author").order_by("-pk")[:SHOWN],
        "panels": _panels(request.user),
    }
    return render(request, "reviews/reviews.html", context)


def _panels(user: User) -> list[dict[str, Any]]:
    """The newest, each with how many rounds this user sees and how far they are. Three queries."""
    panels = list(Panel.objects.visible_to(user).select_related("author").order_by("-pk")[:SHOWN])
    membership = user.membership()
    if membership is None:
        return []
    seen = Round.objects.visible_in(membership).filter(panel__in=panels)
    counts = dict(seen.order_by().values_list("panel").annotate(count=Count("pk")))
    voted = Count("ballots", filter=~Q(ballots__value="") & Q(ballots__round__in=seen))
    judges = Judge.objects.filter(panel__in=panels, user=user).annotate(voted=voted)
    own = {judge.panel_id: judge for judge in judges}
    return [
        {
            "panel": panel,
            "judge": own.get(panel.pk),
            "rounds": counts.get(panel.pk, 0),
            "voted": own[panel.pk].voted if panel.pk in own else 0,
        }
        for panel in panels
    ]


def new(request: Request) -> HttpResponse:
    """Of selected `rows`, or of a search `q`, `whose`: as `kind` with a `name`; a panel `together`
    shows all outputs of a prompt at once; `previews`, and in a queue `rated`, `failed` and
    `private` runs, are in it only where these are ticked. `look` shows only what these come to."""
    membership = membership_of(request)
    fields = request.POST if request.method == "POST" else request.GET
    kind = fields.get("kind", KINDS[0])
    rows = rows_of(fields)
    asked = Asked.of(request, fields)
    if kind not in KINDS:
        raise Http404
    context: dict[str, Any] = {"kind": kind, "rows": ",".join(rows), "asked": asked}
    context["typed"] = fields.get("name", "")
    context["together"] = fields.get("together") == "1"
    if not rows and asked.query.problems:
        context["error"] = " ".join(each.sentence for each in asked.query.problems)
        return render(request, "reviews/new.html", context, status=422)
    ids, complete = _chosen(request.user, rows, asked, MOST if kind == "queue" else MOST_RUNS)
    context |= {"count": len(ids), "complete": complete}
    special = on_request(ids, panel=kind == "panel")
    ticked = _ticked(ids, special) if request.method != "POST" else set(fields)
    context["special"] = [(name, len(of), name in ticked) for name, of in special.items() if of]
    left_out = set().union(*(of for name, of in special.items() if name not in ticked))
    ids = [pk for pk in ids if pk not in left_out]
    if kind == "panel":
        context["asks"] = votes_asked(ids)
    if request.method != "POST" or "look" in fields:
        return render(request, "reviews/new.html", context)
    try:
        made = _made(membership, ids, asked, context)
    except ValidationError as error:
        context["error"] = " ".join(error.messages)
        return render(request, "reviews/new.html", context, status=422)
    return redirect(made)


def _ticked(ids: list[int], special: dict[str, set[int]]) -> set[str]:
    """What the form begins with: rated runs, and others where there would be nothing else."""
    plain = set(ids).difference(*(of for name, of in special.items() if name != "rated"))
    return {"rated"} if plain else set(special)


def _chosen(user: User, rows: list[str], asked: Asked, most: int) -> tuple[list[int], bool]:
    """(runs, whether these are all of them)"""
    if rows:
        ids = ids_of(user, rows)
        return ids[:most], len(ids) <= most
    counted = asked.finder.counted("comparison", most=most)
    return [row[0] for row in counted.runs], counted.complete


def _made(membership: Membership, ids: list[int], asked: Asked, typed: dict[str, Any]) -> str:
    """The address of what was made."""
    name = typed["typed"]
    if typed["special"] and not ids:
        raise ValidationError("All of these runs are left out. Tick below which it should have.")
    if typed["kind"] == "panel":
        panel = Panel.objects.begin(membership, name, ids, together=typed["together"])
        return reverse("panel", args=[panel.pk])
    queue = Queue.objects.begin(membership, name, ids, asked.typed)
    return reverse("queue", args=[queue.pk])


def _queue(request: Request, pk: int) -> Queue:
    found = Queue.objects.visible_to(request.user).with_progress(request.user)
    queue: Queue = get_object_or_404(found.select_related("author"), pk=pk)
    return queue


def _items(request: Request, queue: Queue) -> Any:
    return queue.items.visible_to(request.user)


@require_GET
def queue(request: Request, pk: int) -> HttpResponse:
    """`show`: all, waiting, mine; `item`: which one is open."""
    found = _queue(request, pk)
    items = _items(request, found)
    show = request.GET.get("show", "all")
    if show == "mine":
        items = items.filter(assignee=request.user)
    elif show == "waiting":
        items = items.waiting()
    listed = light_items(items, LISTED + 1)
    more, listed = len(listed) > LISTED, listed[:LISTED]
    first = next((each for each in listed if each.state == "waiting"), None)
    opened = request.GET.get("item", "")
    chosen = next((each for each in listed if str(each.pk) == opened), first)
    chosen = chosen or (listed[0] if listed else None)
    noticed(request.user, [each.run_id for each in listed])
    membership = membership_of(request)
    context = {
        **_progress(request, found),
        "items": listed,
        "more": more,
        "show": show,
        "taken": TAKEN,
        "free": _items(request, found).waiting().filter(assignee=None).count(),
        "members": User.objects.filter(memberships__team=membership.team_id, is_active=True),
        "may_delete": found.may_be_deleted_by(membership),
        **(read(chosen) if chosen else {"item": None}),
    }
    return render(request, "reviews/queue.html", context)


def light_items(items: Any, most: int | None = None) -> list[QueueItem]:
    """With what the list shows of each, also how columns of one comparison differ."""
    big = [f"run__{name}" for name in (*Run.BIG, "error_message")]
    rows = items.select_related("run", "assignee").defer(*big)
    rows = rows.prefetch_related("run__labels", "run__ratings__user")
    listed = list(rows[:most])
    in_rows([each.run for each in listed])
    return listed


def read(item: QueueItem) -> dict[str, Any]:
    """What the pane shows of an item: the whole prompt and every output."""
    run = Run.objects.select_related("author", "connection", "comparison__author").get(
        pk=item.run_id
    )
    asked = run.request_value()
    values = {**asked.values, **asked.extra}
    return {
        "item": item,
        "run": run,
        "prompt": asked.prompt_text(),
        "choices": list(run.choices.defer("packed_logprobs", "packed_timeline")),
        "settings": [
            each
            for each in values.items()
            if each[0] not in ("stream", "stream_options.include_usage")
        ],
        "comments": Comment.objects.filter(run=run).select_related("author"),
    }


@require_GET
def item(request: Request, pk: int, item_pk: int) -> HttpResponse:
    """The pane of one item; as a page of its own the queue with it."""
    found = _queue(request, pk)
    one = get_object_or_404(
        _items(request, found).select_related("run", "assignee").prefetch_related("run__labels"),
        pk=item_pk,
    )
    if not request.htmx:
        return HttpResponseRedirect(f"{reverse('queue', args=[pk])}?item={item_pk}")
    noticed(request.user, [one.run_id])
    return render(request, "reviews/_pane.html", {"queue": found, **read(one)})


@require_GET
def progress(request: Request, pk: int) -> HttpResponse:
    found = _queue(request, pk)
    return render(request, "reviews/_progress.html", _progress(request, found))


def _progress(request: Request, found: Queue) -> dict[str, Any]:
    rated = _items(request, found).filter(run__ratings__user=request.user)
    return {"queue": found, "yours": rated.count()}


@require_POST
def take(request: Request, pk: int) -> HttpResponse:
    """The next TAKEN that wait for nobody; or to the member `to`."""
    found = _queue(request, pk)
    members = User.objects.filter(Q(memberships__team=found.team_id), is_active=True)
    typed = request.POST.get("to", "")
    to = request.user
    if typed:
        if not typed.isdecimal() or len(typed) > 18:
            raise Http404
        to = get_object_or_404(members, pk=int(typed))
    _items(request, found).take(to, TAKEN)
    mine = "?show=mine" if to == request.user else ""
    return HttpResponseRedirect(f"{reverse('queue', args=[pk])}{mine}")


@require_POST
def delete_queue(request: Request, pk: int) -> HttpResponse:
    """The queue, not its runs. By whoever made it, or an owner."""
    found = _queue(request, pk)
    if not found.may_be_deleted_by(request.user.membership()):
        raise Http404
    found.delete()
    return redirect("reviews")
