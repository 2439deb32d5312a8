"""What tokens cost at a connection, as an admin says; a run keeps the price it was asked for at."""

from collections.abc import Iterable
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models

from playground.costs import Rates
from playground.models.audit import audited
from playground.models.connections import Connection


class PriceQuerySet(models.QuerySet["Price"]):
    def of(self, connection: Connection | None, model: str) -> "Price | None":
        """The exact model's, else that of the longest fitting pattern, else the one for all."""
        if connection is None:
            return None
        return best(self.filter(connection=connection), model)


def best(prices: Iterable["Price"], model: str) -> "Price | None":
    """Of one connection's prices the one for this model."""
    fitting = [price for price in prices if price.fits(model)]
    return max(fitting, key=lambda price: price.closeness, default=None)


@audited("model", "input_per_million", "cached_per_million", "output_per_million")
class Price(models.Model):
    """US dollars for a million tokens of a connection's model."""

    connection = models.ForeignKey(Connection, on_delete=models.CASCADE, related_name="prices")
    model = models.CharField(
        max_length=300,
        blank=True,
        help_text="A model's name, or the beginning of names with * at the end, such as gpt-4*. "
        "Empty: all other models.",
    )
    input_per_million = models.DecimalField(
        "prompt",
        max_digits=14,
        decimal_places=6,
        validators=[MinValueValidator(0)],
        help_text="US dollars for a million tokens.",
    )
    cached_per_million = models.DecimalField(
        "cached prompt",
        max_digits=14,
        decimal_places=6,
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text="For prompt tokens that the backend had in its cache. Empty: as the prompt.",
    )
    output_per_million = models.DecimalField(
        "answer",
        max_digits=14,
        decimal_places=6,
        validators=[MinValueValidator(0)],
        help_text="US dollars for a million tokens, reasoning included.",
    )

    objects = PriceQuerySet.as_manager()

    class Meta:
        ordering = ["connection", "model"]
        constraints = [
            models.UniqueConstraint(fields=["connection", "model"], name="one_price_per_model")
        ]

    def __str__(self) -> str:
        return f"{self.model or 'all models'} at {self.connection}"

    def clean(self) -> None:
        self.model = self.model.strip()
        if self.model == "*":
            self.model = ""
        if "*" in self.model[:-1]:
            raise ValidationError({"model": "Put * at the end of the name only."})

    def fits(self, model: str) -> bool:
        if self.model.endswith("*"):
            return model.startswith(self.model[:-1])
        return not self.model or self.model == model

    @property
    def closeness(self) -> tuple[bool, int]:
        """Exact names before patterns, long patterns before short ones, the rest last."""
        return bool(self.model) and not self.model.endswith("*"), len(self.model)

    @property
    def rates(self) -> Rates:
        return Rates(self.input_per_million, self.output_per_million, self.cached_per_million)


class PriceBook:
    """The prices of some connections, read once."""

    def __init__(self, connections: Iterable[Connection]) -> None:
        self._prices: dict[Any, list[Price]] = {}
        for price in Price.objects.filter(connection__in={each.pk for each in connections}):
            self._prices.setdefault(price.connection_id, []).append(price)

    def rates(self, connection: Connection, model: str) -> Rates | None:
        found = best(self._prices.get(connection.pk, []), model)
        return found.rates if found else None
