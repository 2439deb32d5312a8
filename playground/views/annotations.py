"""What everybody who may see a run may say about it: star, rating, comments, labels."""

from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from playground.completion import storable
from playground.models import Comment, Label, Rating, Run, RunFact, RunLabel
from playground.models.annotations import clean_rating, labels_seen_in
from playground.models.pairs import USER, set_pair
from playground.views import Request, is_id, membership_of

OFFERED = 20  # labels that the completion shows


def _visible(request: Request, pk: int) -> Run:
    found: Run = get_object_or_404(
        Run.objects.visible_to(request.user).prefetch_related("ratings", "labels"), pk=pk
    )
    return found


def _marks(request: Request, run: Run, error: str = "", status: int = 200) -> HttpResponse:
    if not request.htmx:
        return redirect(run)
    context = {"run": run, "marks_error": error}
    response = render(request, "annotations/_marks.html", context, status=status)
    if error:
        response["HX-Retarget"], response["HX-Reswap"] = f"#marks-{run.pk}", "outerHTML"
    return response


@require_POST
def star(request: Request, pk: int) -> HttpResponse:
    """`on`: "1" stars, "" takes the star away. Says what is wanted, so twice is no harm."""
    run = _visible(request, pk)
    run.starred = request.POST.get("on") == "1"
    Run.objects.filter(pk=run.pk).update(starred=run.starred)
    return _marks(request, run)


@require_POST
def rate(request: Request, pk: int) -> HttpResponse:
    """`value`: 1 to 5; or `clear`, to take one's rating back."""
    run = _visible(request, pk)
    value = "" if "clear" in request.POST else request.POST.get("value", "0")
    try:
        Rating.objects.give(run, request.user, clean_rating(value))
    except ValidationError as error:
        return _marks(request, run, " ".join(error.messages), 422)
    return _marks(request, _visible(request, pk))


def _comments(request: Request, run: Run, status: int = 200, **more: object) -> HttpResponse:
    if not request.htmx and "edited" not in more:
        return redirect(f"{run.get_absolute_url()}#comments")
    context = {"run": run, "comments": run.comments.select_related("author"), **more}
    template = "annotations/_comments.html" if request.htmx else "annotations/comments.html"
    response = render(request, template, context, status=status)
    if status >= 400:
        response["HX-Retarget"], response["HX-Reswap"] = "#comments", "outerHTML"
    return response


def comments(request: Request, pk: int) -> HttpResponse:
    """GET: all of a run. POST: write one; if it is refused, it comes back in its field."""
    run = _visible(request, pk)
    if request.method != "POST":
        return _comments(request, run)
    text = request.POST.get("text", "")
    try:
        Comment.write(run, request.user, text)
    except ValidationError as error:
        return _comments(request, run, 422, typed=text, error=" ".join(error.messages))
    return _comments(request, run)


def _own_comment(request: Request, pk: int) -> Comment:
    own = Comment.objects.visible_to(request.user).filter(author=request.user)
    found: Comment = get_object_or_404(own.select_related("run"), pk=pk)
    return found


def comment(request: Request, pk: int) -> HttpResponse:
    """GET: the comment as a field. POST: its new `text`, or `delete`."""
    own = _own_comment(request, pk)
    if request.method != "POST":
        return _comments(request, own.run, edited=own.pk, typed=own.text)
    if "delete" in request.POST:
        own.delete()
        return _comments(request, own.run)
    text = request.POST.get("text", "")
    try:
        own.rewrite(text)
    except ValidationError as error:
        said = " ".join(error.messages)
        return _comments(request, own.run, 422, edited=own.pk, typed=text, error=said)
    return _comments(request, own.run)


@require_POST
def facts(request: Request, pk: int) -> HttpResponse:
    """Set `key` to `value`; or take `remove`, a key, away. One value of a key."""
    run = _visible(request, pk)
    context: dict[str, object] = {"run": run}
    if "remove" in request.POST:
        key = storable(request.POST["remove"])
        RunFact.objects.filter(run=run, source=USER, key=key).delete()
    else:
        key, value = request.POST.get("key", ""), request.POST.get("value", "")
        try:
            set_pair(run, key, value)
        except ValidationError as error:
            said = " ".join(error.messages)
            context |= {"fact_error": said, "typed_key": key, "typed_value": value}
    if not request.htmx:
        return redirect(run)
    return render(request, "annotations/_facts.html", context)


@require_POST
def labels(request: Request, pk: int) -> HttpResponse:
    """Add `label`, or take `remove` (its id) away."""
    found = _visible(request, pk)
    error = ""
    if removed := request.POST.get("remove", ""):
        _unlabel(found, removed)
    else:
        error = _label(found, request.POST.get("label", ""))
    if not request.htmx:
        return redirect(found)
    return render(request, "runs/_labels.html", {"run": _visible(request, pk), "error": error})


def _unlabel(found: Run, label_id: str) -> None:
    if is_id(label_id):
        RunLabel.objects.filter(run=found, label_id=int(label_id)).delete()


def _label(found: Run, name: str) -> str:
    """What is wrong with the name; "" where it has been set."""
    try:
        RunLabel.objects.put([found.pk], Label.objects.named(found.team_id, [name]))
    except ValidationError as error:
        return " ".join(error.messages)
    return ""


@require_GET
def known_labels(request: Request) -> HttpResponse:
    """Options for a field: the team's labels that hold `label`, of runs that one may see."""
    membership = membership_of(request)
    typed = storable(" ".join(request.GET.get("label", "").split())).casefold()
    found = labels_seen_in(membership, typed)[:OFFERED]
    return render(request, "annotations/_options.html", {"labels": found})
