"""What multiplies one press of Run: values of a sweep, rows of variables, repeats.

Values only: nothing here knows a form, a database or HTTP.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Place:
    """Where a run stands: the index of its column in the form, and its place on the axes.

    `coordinates` has only what its column multiplies by: `values` {path: text}, `row` (index of
    the row of variables) and `repeat` (index among the repeats).
    """

    column: int
    coordinates: Mapping[str, Any] = field(default_factory=dict)
