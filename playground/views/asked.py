"""What a list of runs is asked for: all of its state is in its address.

`q` the search, `whose` (mine or team), `show` (comparisons or runs), `older` or `newer` a place in
the list.
"""

from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlencode

from django.http import Http404, QueryDict
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from playground import query
from playground.completion import storable
from playground.models import User
from playground.models.finder import Finder, Key
from playground.views import Request


@dataclass(frozen=True)
class Asked:
    """The state of the list, as its address says it."""

    user: User
    typed: str
    mine: bool
    single: bool
    older: Key | None = None
    newer: Key | None = None

    @classmethod
    def of(cls, request: Request, fields: QueryDict | None = None) -> "Asked":
        """From the address, or from `fields`."""
        get = request.GET if fields is None else fields
        membership = request.user.membership()
        own = membership is not None and membership.may_run
        return cls(
            request.user,
            storable(get.get("q", "")).strip(),
            mine=get.get("whose", "mine" if own else "team") != "team",
            single=get.get("show") == "runs",
            older=cursor(get.get("older", "")),
            newer=cursor(get.get("newer", "")),
        )

    @cached_property
    def query(self) -> query.Query:
        return query.parse(self.typed, timezone.localdate())

    @cached_property
    def finder(self) -> Finder:
        parsed = self.query
        mine = self.mine and not parsed.names("user")
        return Finder(self.user, parsed, mine=mine, single=self.single)

    def address(self, **changes: str) -> str:
        """Of this list with another search, switch or place; without a place it is the top."""
        state = {
            "q": self.typed,
            "whose": "mine" if self.mine else "team",
            "show": "runs" if self.single else "",
            **changes,
        }
        return "?" + urlencode({name: value for name, value in state.items() if value})

    def terms(self) -> list[dict[str, str]]:
        """The filters as chips, each with the address of the list without it."""
        return [
            {
                "minus": "not " if each.minus else "",
                "name": each.name,
                "value": each.text.partition(":")[2].replace('"', ""),
                "url": self.address(q=query.without(self.typed, each.text)),
            }
            for each in self.query.filters
        ]

    def added(self, term: str) -> str:
        return self.address(q=query.with_term(self.typed, term))


def cursor(text: str) -> Key | None:
    """`<time>_<comparison>_<run>`; None for "", 404 for anything else."""
    if not text:
        return None
    when, *ids = text.split("_")
    try:
        created_at = parse_datetime(when)
    except ValueError:
        created_at = None
    good = len(ids) == 2 and all(each.isascii() and each.isdigit() for each in ids)
    if created_at is None or timezone.is_naive(created_at) or not good:
        raise Http404
    if len(text) > 100 or max(map(int, ids)) >= 2**63:
        raise Http404
    return Key(created_at, *map(int, ids))
