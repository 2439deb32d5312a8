"""What a request costs: the price it was asked for at, and what limits count of it."""

from django.db import models

from playground.completion import CompletionRequest
from playground.costs import Rates, completion_limit, prompt_estimate
from playground.models.gate import WAITING, Waiting
from playground.models.limits import MOST_UNITS, units


class Charged(models.Model):
    # US dollars; None: unknown. By the price below, or the provider's own word.
    cost = models.DecimalField(max_digits=20, decimal_places=10, null=True)
    cost_is_own = models.BooleanField(default=False)  # the provider's own word
    # Dollars for a million tokens when it was asked for; a later price rewrites nothing.
    price_input = models.DecimalField(max_digits=14, decimal_places=6, null=True)
    price_cached = models.DecimalField(max_digits=14, decimal_places=6, null=True)
    price_output = models.DecimalField(max_digits=14, decimal_places=6, null=True)
    # What limits count: while it is live the most that it may take, then what it took.
    counted_tokens = models.PositiveBigIntegerField(default=0)
    counted_money = models.PositiveBigIntegerField(default=0)  # `limits.UNITS` of a dollar

    class Meta:
        abstract = True

    def price_at(self, rates: Rates | None) -> None:
        """Note what it will be charged at; not saved."""
        if rates:
            self.price_input, self.price_output = rates.input, rates.output
            self.price_cached = rates.cached

    @property
    def rates(self) -> Rates | None:
        """What it is charged at; None where no price was known."""
        if self.price_input is None or self.price_output is None:
            return None
        return Rates(self.price_input, self.price_output, self.price_cached)

    def reserve(self, request: CompletionRequest, assumed: int) -> None:
        """Note the most that it may take, with its price; not saved. `assumed`: tokens."""
        prompt, answers = prompt_estimate(request), completion_limit(request, assumed)
        self.counted_tokens = min(prompt + answers, MOST_UNITS)
        self.counted_money = units(self.rates.most(prompt, answers)) if self.rates else 0

    @property
    def waiting(self) -> Waiting:
        return Waiting(*(getattr(self, name) for name in WAITING))
