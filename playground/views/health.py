"""What browsers ask for by themselves, and what is answered when something breaks."""

import sys

from django.contrib.auth.decorators import login_not_required
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static


@login_not_required
def favicon(request: HttpRequest) -> HttpResponse:
    """Where browsers look on pages that name no icon, such as those of the admin site."""
    return redirect(static("icon.svg"), permanent=True)


def server_error(request: HttpRequest) -> HttpResponse:
    """500; or 503 with the reason where the database is away, since that passes by itself."""
    if isinstance(sys.exc_info()[1], OperationalError | InterfaceError):
        answer = render(None, "503.html", status=503)
        answer.headers["Retry-After"] = "5"
        answer.headers["X-Reason"] = "database"
        return answer
    return render(None, "500.html", status=500)
