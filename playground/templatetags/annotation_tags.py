"""What templates ask about stars, ratings, comments and rights."""

from typing import Any

from django import template

from playground import panel
from playground.completion import CompletionRequest
from playground.models import Comparison, Run
from playground.models.pairs import USER
from playground.models.teams import Membership, User

register = template.Library()


@register.simple_tag
def rating_by(run: Run, user: User) -> int:
    """One's own rating; 0 where there is none."""
    return next((each.value for each in run.ratings.all() if each.user_id == user.pk), 0)


@register.simple_tag
def ratings_of(run: Run, user: User) -> dict[str, Any]:
    """`own` rating or 0, `count`, and `said`: who rated how, oneself first."""
    found = sorted(run.ratings.all(), key=lambda each: (each.user_id != user.pk, each.pk))
    names = ["you" if each.user_id == user.pk else each.by or "somebody" for each in found]
    said = ", ".join(f"{name} {each.value}" for name, each in zip(names, found, strict=True))
    return {"own": rating_by(run, user), "count": len(found), "said": said}


@register.filter
def mean(value: float | None) -> str:
    """4.5, and 4 for 4.0."""
    return f"{value:.1f}".removesuffix(".0") if value is not None else ""


@register.simple_tag
def may_manage(comparison: Comparison, membership: Membership | None) -> bool:
    return comparison.may_be_managed_by(membership)


@register.simple_tag
def steps() -> Any:
    return range(1, 6)


@register.filter
def backend_of(column: dict[str, Any]) -> str:
    """Of a shared copy: what kind of server, never which."""
    return panel.title(column["asked"].provider, column["asked"].dialect)


@register.filter
def said(message: dict[str, Any]) -> str:
    """The text of a message."""
    return CompletionRequest("", "chat", "", messages=(message,)).prompt_text()


@register.simple_tag
def own_facts(run: Run) -> Any:
    """A person's own pairs, in the order of their keys."""
    return run.facts.filter(source=USER).order_by("key", "pk")
