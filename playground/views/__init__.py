"""Thin views: guard lines first, one render last."""

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from playground.models import User


class Request(HttpRequest):
    """What a view gets: somebody is logged in, and htmx has been looked at."""

    user: User
    htmx: HtmxDetails
