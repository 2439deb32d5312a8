"""Getting in and out: login, login link, password, team; and the page of a refused form."""

import json
from typing import Any

from django.contrib import messages
from django.contrib.auth import login, update_session_auth_hash
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.contrib.auth.views import LoginView
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from playground.models.teams import LoginLink
from playground.views import Request

BACKEND = "django.contrib.auth.backends.ModelBackend"


class Login(LoginView):
    template_name = "login.html"
    redirect_authenticated_user = True


@login_not_required
@never_cache
@require_GET
def login_link(request: Request, token: str) -> HttpResponse:
    """Once, then gone. HEAD is refused, so that a link preview does not use it up."""
    user = LoginLink.redeem(token)
    if user is None:
        return render(request, "login_link.html", status=410)
    login(request, user, backend=BACKEND)
    request.session["by_link"] = True
    return redirect("compose")


@never_cache
def password(request: Request) -> HttpResponse:
    """Set a password. The old one is asked for, unless there is none or a link was used."""
    if request.method == "POST" and "later" in request.POST:
        request.session["password_later"] = True
        return HttpResponse() if request.htmx else redirect("compose")
    knows = request.user.has_usable_password() and not request.session.get("by_link")
    form = (PasswordChangeForm if knows else SetPasswordForm)(request.user, request.POST or None)
    if form.is_valid():
        update_session_auth_hash(request, form.save())
        messages.success(request, "Your password is set. From now on you can log in with it.")
        return redirect("compose")
    return render(request, "password.html", {"form": form}, status=422 if form.errors else 200)


@require_POST
def switch_team(request: Request, pk: int) -> HttpResponse:
    membership = get_object_or_404(request.user.memberships, team_id=pk)
    request.user.current_team_id = membership.team_id
    request.user.save(update_fields=["current_team"])
    return redirect("compose")


def csrf_failure(request: Request, reason: str = "") -> HttpResponse:
    """Nothing typed is lost: an htmx page keeps itself, a plain one shows what was sent."""
    if request.htmx:
        response = render(request, "_csrf.html", status=403)
        response["HX-Retarget"] = "#notice"
        response["HX-Reswap"] = "innerHTML"
        return response
    return render(request, "csrf.html", {"typed": _typed(request)}, status=403)


def _typed(request: Request) -> str:
    """The prompt of the document that was posted, as far as there is one."""
    try:
        document: Any = json.loads(request.POST.get("document", ""))
        if document.get("mode") == "messages":
            return "\n\n".join(f"{m['role']}: {m['content']}" for m in document["messages"])
        return str(document.get("prompt", ""))
    except (ValueError, AttributeError, KeyError, TypeError):
        return ""
