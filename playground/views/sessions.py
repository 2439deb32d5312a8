"""Where one is logged in, and out there again; and the page that asks who sits here now."""

import time

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_POST

from playground.models import Attempts, Login, RecoveryCode, SecondFactor
from playground.models.throttle import code_gates, old_password_gates, wait_sentence
from playground.views import Request
from playground.views.account import WRONG_CODE
from playground.views.entrance import PROVED, prove_first, refuse, safe_next

WRONG = "That is not your password. Look at capital letters, too."


@never_cache
@require_GET
def sessions(request: Request) -> HttpResponse:
    logins = list(Login.objects.open_of(request.user))
    here = [each for each in logins if each.session_key == request.session.session_key]
    others = [each for each in logins if each not in here]
    return render(request, "sessions.html", {"here": here, "others": others})


@require_POST
def end(request: Request, pk: int) -> HttpResponse:
    get_object_or_404(Login, pk=pk, user=request.user)
    return _ended(request, pk)


@require_POST
def end_others(request: Request) -> HttpResponse:
    return _ended(request, None)


def _ended(request: Request, pk: int | None) -> HttpResponse:
    if first := prove_first(request, reverse("sessions")):
        return first
    logins = Login.objects.filter(user=request.user)
    chosen = logins.exclude(session_key=request.session.session_key)
    if pk is not None:
        chosen = logins.filter(pk=pk)
    count = chosen.end()
    said = "1 login was ended." if count == 1 else f"{count} logins were ended."
    messages.success(request, said)
    return redirect("sessions")


@never_cache
@sensitive_post_parameters()
def confirm(request: Request) -> HttpResponse:
    """Before a change of the account: the password, or a code where there is none."""
    there = safe_next(request, request.POST.get("next", request.GET.get("next", "")))
    factor = SecondFactor.of(request.user)
    by = "password" if request.user.has_usable_password() else "code" if factor else ""
    context: dict[str, object] = {"next": there, "by": by}
    if request.method != "POST" or not by:
        return render(request, "confirm.html", context)
    gates = (old_password_gates if by == "password" else code_gates)(request.user.pk)
    if wait := Attempts.objects.attempt(gates):
        context["error"] = wait_sentence(wait)
        return render(request, "confirm.html", context, status=429)
    if not _shown(request, by, factor):
        refuse(request, f"{by}, asked again", request.user)
        context["error"] = WRONG if by == "password" else WRONG_CODE
        return render(request, "confirm.html", context, status=422)
    Attempts.objects.forgive(gates)
    request.session[PROVED] = int(time.time())
    return redirect(there)


def _shown(request: Request, by: str, factor: SecondFactor | None) -> bool:
    if by == "password":
        return request.user.check_password(request.POST.get("password", ""))
    code = request.POST.get("code", "")[:100]
    return bool(factor and factor.takes(code)) or RecoveryCode.take(request.user, code)
