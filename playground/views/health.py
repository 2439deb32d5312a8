"""What answers without a login: whether the server is up, and its icon."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.templatetags.static import static


@login_not_required
def healthz(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok\n", content_type="text/plain")


@login_not_required
def favicon(request: HttpRequest) -> HttpResponse:
    """Where browsers look on pages that name no icon, such as those of the admin site."""
    return redirect(static("icon.svg"), permanent=True)
