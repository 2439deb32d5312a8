"""Everybody's own days: times are shown and days are meant in the browser's time zone."""

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.decorators import sync_and_async_middleware

from playground.security import Handler

# Set by static/js/site.js; until then TIME_ZONE holds.
COOKIE = f"{'__Secure-' if settings.SECURE else ''}time_zone"
LONGEST = 60


def zone_of(request: HttpRequest) -> ZoneInfo | None:
    """The browser's, where it names one that is known."""
    name = request.COOKIES.get(COOKIE, "")
    if not name or len(name) > LONGEST:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


@sync_and_async_middleware
def TimeZone(get_response: Handler) -> Handler:
    if not iscoroutinefunction(get_response):

        def in_turn(request: HttpRequest) -> HttpResponse:
            with timezone.override(zone_of(request)):
                answer: HttpResponse = get_response(request)
            return answer

        return in_turn

    async def middleware(request: HttpRequest) -> HttpResponse:
        with timezone.override(zone_of(request)):
            answer: HttpResponse = await get_response(request)
        return answer

    return markcoroutinefunction(middleware)
