"""Getting in and out: login, login link, password, team; and the page of a refused form."""

import json
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import authenticate, logout, update_session_auth_hash
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_POST

from playground.models import Attempts, LoginLink, RecoveryCode, SecondFactor, User
from playground.models.audit import record
from playground.models.throttle import (
    code_gates,
    old_password_gates,
    password_gates,
    wait_sentence,
)
from playground.views import Request
from playground.views.entrance import (
    client_address,
    enter,
    known_device,
    let_in,
    proved,
    refuse,
    remember_device,
    safe_next,
    waiting,
)

WRONG = "That user name and password do not belong together. Look at capital letters, too."
WRONG_CODE = "That code is not right, or has been used. The app shows a new one every 30 seconds."
LONGEST_NAME = 150


class _EveryFault:
    """Django's forms look at the rules only once both passwords are the same."""

    def validate_password_for_user(self, user: User, password_field_name: str = "") -> None:
        super().validate_password_for_user(user, "new_password1")  # type: ignore[misc]


class NewPassword(_EveryFault, SetPasswordForm):
    pass


class ChangedPassword(_EveryFault, PasswordChangeForm):
    pass


@login_not_required
@never_cache
@sensitive_post_parameters("password")
def log_in(request: Request) -> HttpResponse:
    there = request.POST.get("next", request.GET.get("next", ""))
    if request.user.is_authenticated:
        return redirect(safe_next(request, there))
    context = {"next": there, "oidc_name": settings.OIDC_NAME if settings.OIDC else ""}
    if request.method != "POST":
        return render(request, "login.html", context)
    name, password = request.POST.get("username", "").strip(), request.POST.get("password", "")
    context["username"] = name
    if not name or not password or len(name) > LONGEST_NAME or "\0" in name + password:
        return render(request, "login.html", {**context, "error": WRONG}, status=422)
    device = known_device(request, name)
    gates = password_gates(name, client_address(request), device)
    if wait := Attempts.objects.attempt(gates):
        refuse(request, "too many attempts")
        context |= {"error": wait_sentence(wait)}
        response = render(request, "login.html", context, status=429)
        response["Retry-After"] = str(int(wait) + 1)
        return response
    # An unknown name costs the same hash as a known one.
    user = authenticate(request, username=name, password=password)
    if not isinstance(user, User):
        refuse(request, "password", User.objects.filter(username=name).first())
        return render(request, "login.html", {**context, "error": WRONG}, status=422)
    Attempts.objects.forgive(gates)
    response = let_in(request, user, "password", there)
    remember_device(request, response, name)
    return response


@login_not_required
@never_cache
@require_GET
def login_link(request: Request, token: str) -> HttpResponse:
    """Once, then gone. HEAD is refused, so that a link preview does not use it up."""
    user = LoginLink.redeem(token)
    if user is None:
        refuse(request, "used, late or unknown login link", LoginLink.whose(token))
        return render(request, "login_link.html", status=410)
    return let_in(request, user, "login link")


@login_not_required
@never_cache
def login_code(request: Request) -> HttpResponse:
    """The second step: a code of the app, or a recovery code."""
    found = waiting(request)
    if found is None:
        return redirect("login")
    user, step = found
    context: dict[str, object] = {"name": user.get_username()}
    if request.method != "POST":
        return render(request, "two_factor/code.html", context)
    factor = SecondFactor.of(user)
    if factor is None:  # taken away meanwhile, by an admin
        return enter(request, user, step["how"], step["next"])
    code = request.POST.get("code", "")[:100]
    gates = code_gates(user.pk)
    if wait := Attempts.objects.attempt(gates):
        refuse(request, "too many attempts")
        context["error"] = wait_sentence(wait)
        return render(request, "two_factor/code.html", context, status=429)
    if not factor.takes(code) and not RecoveryCode.take(user, code):
        refuse(request, "code of the second factor", user)
        context["error"] = WRONG_CODE
        return render(request, "two_factor/code.html", context, status=422)
    Attempts.objects.forgive(gates)
    return enter(request, user, step["how"], step["next"], factor.pk)


@never_cache
@sensitive_post_parameters()
def password(request: Request) -> HttpResponse:
    """Set a password. The old one is asked for, unless there is none or a link was just used."""
    if request.method == "POST" and "later" in request.POST:
        request.session["password_later"] = True
        return HttpResponse() if request.htmx else redirect("compose")
    by_link = request.session.get("by_link") and proved(request)
    knows = request.user.has_usable_password() and not by_link
    gates = old_password_gates(request.user.pk) if knows else []
    if request.method == "POST" and (wait := Attempts.objects.attempt(gates)):
        context = {"form": ChangedPassword(request.user), "refused": wait_sentence(wait)}
        return render(request, "password.html", context, status=429)
    form = (ChangedPassword if knows else NewPassword)(request.user, request.POST or None)
    if form.is_valid():
        Attempts.objects.forgive(gates)
        former = request.session.session_key
        update_session_auth_hash(request, form.save())
        request.user.logins.filter(session_key=former).update(
            session_key=request.session.session_key
        )
        messages.success(request, "Your password is set. From now on you can log in with it.")
        return redirect("compose")
    if gates and form.errors and "old_password" not in form.errors:
        Attempts.objects.forgive(gates)
    return render(request, "password.html", {"form": form}, status=422 if form.errors else 200)


@require_POST
def log_out(request: Request) -> HttpResponse:
    """`sure`: also whoever came in by a link, which is used up, and has no password."""
    came_by_link = request.session.get("by_link") and not request.user.has_usable_password()
    if came_by_link and "sure" not in request.POST:
        return render(request, "sign_out.html")
    record("logged out", request.user)
    logout(request)
    return redirect("login")


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
