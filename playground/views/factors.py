"""One's own second factor: set up, new recovery codes, switched off."""

import segno
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_POST

from playground.models import Attempts, RecoveryCode, SecondFactor
from playground.models.throttle import code_gates, wait_sentence
from playground.views import Request
from playground.views.account import WRONG_CODE
from playground.views.entrance import PASSED, prove_first, refuse, safe_next

NAME = "Playground"


def _picture(address: str) -> str:
    """The address as a QR code: an SVG in the page, since our policy allows no data: addresses."""
    return mark_safe(  # noqa: S308 (drawn by the library out of our own address)
        segno.make(address, error="m").svg_inline(
            scale=4, border=3, dark="#000", light="#fff", svgclass="qr", lineclass=None,
            omitsize=True, title="QR code for the authenticator app",
        )
    )  # fmt: skip


def _page(request: Request, status: int = 200, **more: object) -> HttpResponse:
    there = request.POST.get("next", request.GET.get("next", ""))
    factor = SecondFactor.of(request.user)
    must = settings.REQUIRE_TWO_FACTOR and request.user.is_staff
    context = {"factor": factor, "must": must, "next": there, **more}
    if factor is None:
        begun = SecondFactor.begun(request.user)
        context["qr"] = _picture(begun.address(NAME))
        context["secret"] = " ".join(begun.secret[at : at + 4] for at in range(0, 32, 4))
    else:
        context["left"] = RecoveryCode.left(request.user)
    response = render(request, "two_factor/two_factor.html", context, status=status)
    response["Cache-Control"] = "no-store"
    return response


def _codes(request: Request, codes: list[str], title: str) -> HttpResponse:
    there = safe_next(request, request.POST.get("next", ""))
    context = {"codes": codes, "title": title, "next": there}
    response = render(request, "two_factor/codes.html", context)
    response["Cache-Control"] = "no-store"
    return response


def _refusal(request: Request, factor: SecondFactor) -> tuple[str, int] | None:
    """Why the code that was typed is not taken, or None. A recovery code does as well."""
    gates = code_gates(request.user.pk)
    if wait := Attempts.objects.attempt(gates):
        return wait_sentence(wait), 429
    code = request.POST.get("code", "")[:100]
    spare = factor.confirmed_at is not None
    if not factor.takes(code) and not (spare and RecoveryCode.take(request.user, code)):
        refuse(request, "code of the second factor, in the account", request.user)
        return WRONG_CODE, 422
    Attempts.objects.forgive(gates)
    return None


@never_cache
@require_GET
def two_factor(request: Request) -> HttpResponse:
    """The secret of a new one is for who has just shown who they are."""
    if SecondFactor.of(request.user) is None and (
        first := prove_first(request, request.get_full_path())
    ):
        return first
    return _page(request)


@never_cache
@sensitive_post_parameters()
@require_POST
def confirm(request: Request) -> HttpResponse:
    """Take the first code of the app; show the recovery codes."""
    if first := prove_first(request, reverse("two_factor")):
        return first
    if SecondFactor.of(request.user) is not None:
        return redirect("two_factor")
    factor = SecondFactor.begun(request.user)
    if refusal := _refusal(request, factor):
        return _page(request, refusal[1], error=refusal[0])
    codes = factor.confirm()
    request.session[PASSED] = factor.pk
    return _codes(request, codes, "Two-factor login is on")


@never_cache
@sensitive_post_parameters()
@require_POST
def change(request: Request) -> HttpResponse:
    """`do`: codes (new ones) or off. Either asks for a code."""
    factor = SecondFactor.of(request.user)
    if factor is None:
        return redirect("two_factor")
    if refusal := _refusal(request, factor):
        return _page(request, refusal[1], error=refusal[0])
    if request.POST.get("do") == "codes":
        return _codes(request, RecoveryCode.renew(request.user), "New recovery codes")
    factor.end()
    request.session.pop(PASSED, None)
    messages.success(request, "Two-factor login is off.")
    return redirect("two_factor")
