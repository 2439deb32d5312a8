"""A person's own key=value pairs on a run, kept among its facts so that the search finds them."""

import unicodedata

from django.core.exceptions import ValidationError
from django.db import transaction

from playground.completion import storable
from playground.models.facts import LONGEST_KEY, LONGEST_TEXT, RunFact
from playground.models.runs import Run

USER = RunFact.Source.USER
MOST = 50  # pairs of one run


@transaction.atomic
def set_pair(run: Run, key: str, value: str) -> None:
    """One value of a key, whatever its case. Raises ValidationError with what is wrong."""
    key = " ".join(unicodedata.normalize("NFC", storable(key)).split())
    value = " ".join(unicodedata.normalize("NFC", storable(value)).split())
    if not key or not value:
        raise ValidationError("A pair needs a key and a value.")
    if len(key) > LONGEST_KEY or len(value) > LONGEST_TEXT or "=" in key:
        raise ValidationError(
            f"A key has at most {LONGEST_KEY} characters and no “=”, a value {LONGEST_TEXT}."
        )
    own = RunFact.objects.filter(run=run, source=USER)
    own.filter(key__iexact=key).delete()
    if own.count() >= MOST:
        raise ValidationError(f"A run has at most {MOST} pairs of your own.")
    fact = RunFact.said(USER, key, value).of(run.pk)
    fact.save()
