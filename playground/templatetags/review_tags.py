"""What the pages of panels and comparisons ask: percents, words for agreement, places in a plot."""

from django import template

from playground.models import Membership, QueueItem

register = template.Library()

# Landis and Koch 1977, https://doi.org/10.2307/2529310
WORDS = ((0.8, "almost perfect"), (0.6, "substantial"), (0.4, "moderate"), (0.2, "fair"))

NTH = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")

MOST_WAITING = 99  # that are counted; every page does


@register.simple_tag
def reviews_waiting(membership: Membership | None) -> str:
    """How many runs are assigned to a member and not reviewed yet; "" where none. One query."""
    if membership is None:
        return ""
    count = QueueItem.objects.waiting_for(membership)[: MOST_WAITING + 1].count()
    return f"{MOST_WAITING}+" if count > MOST_WAITING else str(count or "")


@register.filter
def percent(value: float | None) -> str:
    """Of a share; "–" where there is none."""
    return f"{value * 100:.0f}" if value is not None else "–"


@register.filter
def at(value: float) -> str:
    """A place on a scale from 0 to 100 percent, for SVG."""
    return f"{value * 100:.1f}%"


@register.filter
def nth(number: int) -> str:
    """In words, up to the ninth."""
    return NTH[number - 1]


@register.filter
def two_digits(value: float | None) -> str:
    return f"{value:.2f}".replace("-", "−") if value is not None else "–"


@register.filter
def in_words(kappa: float) -> str:
    """How strong an agreement is called."""
    low = "slight" if kappa > 0 else "none beyond chance"
    return next((word for least, word in WORDS if kappa > least), low)
