"""The runs that go out, with all that hangs on them, a few at a time."""

from collections.abc import Iterator, Sequence

from django.db.models import Prefetch, Sum
from django.db.models.functions import Length

from playground.models import Choice, Comment, Comparison, Rating, Run, RunFact, User
from playground.models.live import LIVE

SLICE = 20  # runs that are read at once
HEAVY = 4_000_000  # characters that are read at once, where not a single run has more
PACKED = 10  # how much larger probabilities are once they are unpacked


def slices(runs: Sequence[int]) -> Iterator[Sequence[int]]:
    """So few that what is read at once stays small, however long the texts are. Two queries."""
    weight = dict(Run.objects.filter(pk__in=runs).values_list("pk", Length("request")))
    size = Length("text") + Length("reasoning") + Length("packed_logprobs") * PACKED
    outputs = Choice.objects.filter(run__in=runs).order_by().values_list("run")
    for pk, characters in outputs.annotate(size=Sum(size)):
        weight[pk] = weight.get(pk, 0) + characters
    part: list[int] = []
    held = 0
    for pk in runs:
        more = weight.get(pk, 0)
        if part and (len(part) == SLICE or held + more > HEAVY):
            yield part
            part, held = [], 0
        part.append(pk)
        held += more
    if part:
        yield part


def load(user: User, runs: Sequence[int]) -> list[Run]:
    """These runs with all that hangs on them, in this order; not what went away meanwhile."""
    visible = Run.objects.visible_to(user) | Run.objects.trashed_for(user)
    rows = (
        visible.filter(pk__in=runs)
        .exclude(status__in=LIVE)
        .select_related("author")
        .prefetch_related(
            Prefetch(
                "comparison",
                queryset=Comparison.objects.select_related("author").defer("document"),
            ),
            "choices",
            "labels",
            Prefetch("ratings", queryset=Rating.objects.select_related("user")),
            Prefetch("comments", queryset=Comment.objects.select_related("author")),
            Prefetch(
                "facts",
                queryset=RunFact.objects.filter(source=RunFact.Source.USER).order_by("pk"),
                to_attr="pairs",
            ),
        )
    )
    found = {run.pk: run for run in rows}
    return [found[pk] for pk in runs if pk in found]
