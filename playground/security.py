"""Headers of every answer, and what htmx does when the login is gone."""

from collections.abc import Awaitable, Callable
from types import FrameType
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse
from django.middleware.gzip import GZipMiddleware
from django.shortcuts import render, resolve_url
from django.utils.datastructures import MultiValueDict
from django.utils.decorators import sync_and_async_middleware
from django.views.debug import SafeExceptionReporterFilter

from playground.models.audit import Person, acting
from playground.views.entrance import notice

Handler = Callable[[HttpRequest], Any]

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    ),
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    # Files that are named by their content say otherwise. What a page had is drawn anew by Back.
    "Cache-Control": "no-store",
}


@sync_and_async_middleware
def SecurityHeaders(get_response: Handler) -> Handler:
    def add(response: HttpResponse) -> HttpResponse:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    return _after(get_response, lambda _, response: add(response))


class Compression(GZipMiddleware):
    """Pages travel compressed, a tenth of their size, with Django's random padding so that their
    length tells no secret; what is sent while it is made is left as it is. Static files have their
    own."""

    def process_response(self, request: HttpRequest, response: Any) -> Any:
        return response if response.streaming else super().process_response(request, response)


@sync_and_async_middleware
def HtmxLogin(get_response: Handler) -> Handler:
    """A redirect to the login would be swapped into a panel: tell the page to go there instead."""

    def turn(request: HttpRequest, response: HttpResponse) -> HttpResponse:
        location = response.headers.get("Location", "")
        if response.status_code == 302 and location.startswith(resolve_url(settings.LOGIN_URL)):
            htmx = request.headers.get("HX-Request") == "true"
            if htmx:
                response = HttpResponse(status=401)
                response.headers["X-Login"] = location
        return response

    return _after(get_response, turn)


@sync_and_async_middleware
def Acting(get_response: Handler) -> Handler:
    """Whatever a request changes is recorded under the name of its user."""

    def who(request: HttpRequest) -> Person:
        user = request.user
        return (user.pk, user.get_username()) if user.is_authenticated else (None, "nobody")

    if not iscoroutinefunction(get_response):

        def handler(request: HttpRequest) -> Any:
            with acting(lambda: who(request)):
                return get_response(request)

        return handler

    async def middleware(request: HttpRequest) -> HttpResponse:
        with acting(lambda: who(request)):
            answer: HttpResponse = await get_response(request)
            return answer

    return markcoroutinefunction(middleware)


class LoggedIn(LoginRequiredMiddleware):
    """Pages are for who is logged in; that they are in use keeps a login alive."""

    def process_view(self, request: HttpRequest, view_func: Any, args: Any, kwargs: Any) -> Any:
        refusal = super().process_view(request, view_func, args, kwargs)
        open_to_all = not getattr(view_func, "login_required", True)
        if refusal is None and not open_to_all:
            notice(request)
        return refusal


@sync_and_async_middleware
def BodyLimit(get_response: Handler) -> Handler:
    """A body over the limit is refused with a sentence before anyone reads it."""

    def too_long(request: HttpRequest) -> HttpResponse | None:
        length = request.META.get("CONTENT_LENGTH") or "0"
        # In chunks nobody says how long it is, and no browser sends a form so.
        known = "HTTP_TRANSFER_ENCODING" not in request.META and length.isdecimal()
        longest, said = settings.DATA_UPLOAD_MAX_MEMORY_SIZE, settings.MAX_BODY
        if request.path == resolve_url("import"):
            longest, said = settings.MAX_IMPORT + 64 * 1024, settings.MAX_IMPORT
        if known and int(length) <= longest:
            return None
        context = {"limit": said // 1024 // 1024}
        return render(request, "413.html", context, status=413)

    if not iscoroutinefunction(get_response):
        return lambda request: too_long(request) or get_response(request)

    async def middleware(request: HttpRequest) -> HttpResponse:
        answer: HttpResponse = too_long(request) or await get_response(request)
        return answer

    return markcoroutinefunction(middleware)


def _after(
    get_response: Handler, change: Callable[[HttpRequest, HttpResponse], HttpResponse]
) -> Handler:
    """A middleware that only changes the response, for either kind of handler."""
    if not iscoroutinefunction(get_response):
        return lambda request: change(request, get_response(request))

    async def middleware(request: HttpRequest) -> HttpResponse:
        answer: Awaitable[HttpResponse] = get_response(request)
        return change(request, await answer)

    return markcoroutinefunction(middleware)


class NothingTyped(SafeExceptionReporterFilter):
    """Error reports and the page of DEBUG: where it broke, without what anybody typed or any
    variable held, since a key may be among them."""

    def is_active(self, request: HttpRequest | None) -> bool:
        return True

    def get_post_parameters(self, request: HttpRequest | None) -> MultiValueDict[str, str]:
        names = request.POST if request is not None else ()
        return MultiValueDict({name: [self.cleansed_substitute] for name in names})

    def get_traceback_frame_variables(self, request: HttpRequest, tb_frame: FrameType) -> Any:
        """[(name, the type of its value)]"""
        return [(name, type(value).__name__) for name, value in tb_frame.f_locals.items()]
