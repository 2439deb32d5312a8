"""Being one of many ids, as a condition of a query."""

import json
from collections.abc import Iterable
from typing import Any

from django.db import models


class Among(models.Func):
    """That a field is one of these ids.

    They are one parameter: `__in` makes each id one, and thousands take long to write and plan.
    """

    output_field = models.BooleanField()

    def __init__(self, field: str, ids: Iterable[int]) -> None:
        super().__init__(models.F(field))
        self.ids = tuple(ids)

    def as_sql(self, compiler: Any, connection: Any, *_: Any, **__: Any) -> Any:
        column, values = compiler.compile(self.get_source_expressions()[0])
        if connection.vendor == "postgresql":
            return f"{column} = ANY(%s::bigint[])", [*values, list(self.ids)]
        listed = "(SELECT value FROM json_each(%s))"
        return f"{column} IN {listed}", [*values, json.dumps(self.ids)]
