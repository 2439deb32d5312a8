"""What a preview of the next tokens is: a private run with the label LABEL, which the form sets.

It is kept like every request, but nobody has pressed Run for it: it is nothing to go back to, what
comes next is not compared with it, and it is reviewed only where somebody asks for that.
"""

from typing import Any

from django.db.models import Exists, OuterRef, Q

from playground.models.labels import RunLabel
from playground.models.visible import Visibility

LABEL = "preview"


def is_preview() -> Any:
    """A condition on runs."""
    labelled = RunLabel.objects.filter(run=OuterRef("pk"), key=LABEL, label__folded=LABEL)
    return Q(visibility=Visibility.PRIVATE) & Q(Exists(labelled))
