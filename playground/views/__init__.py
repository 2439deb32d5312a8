"""Thin views: guard lines first, one render last."""

from django.http import Http404, HttpRequest
from django_htmx.middleware import HtmxDetails

from playground.models import Membership, User


class Request(HttpRequest):
    """What a view gets: somebody is logged in, and htmx has been looked at."""

    user: User
    htmx: HtmxDetails


def is_id(text: str) -> bool:
    """Whether it is a number that a column of the database has room for."""
    return text.isascii() and text.isdigit() and len(text) < 19


def numbers_of(request: Request, name: str, most: int) -> list[int]:
    """`?name=7,9` of an address; 404 for anything else than so many numbers."""
    found = [each for each in request.GET.get(name, "").split(",") if each]
    if len(found) > most or not all(map(is_id, found)):
        raise Http404
    return [int(each) for each in found]


def membership_of(request: Request) -> Membership:
    """In the team in which they are now; who is in none finds nothing."""
    membership = request.user.membership()
    if membership is None:
        raise Http404
    return membership


def owner_of(request: Request) -> Membership:
    """The same, of an owner; for others there is no such page."""
    membership = membership_of(request)
    if not membership.owns:
        raise Http404
    return membership
