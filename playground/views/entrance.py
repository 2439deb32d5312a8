"""What every way in shares: the second step, whose address counts, a browser that is known."""

import logging
import secrets
import time
from typing import Any, cast

from django.conf import settings
from django.contrib.auth import login
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode

from playground.models import Login, Membership, SecondFactor, User
from playground.models.audit import record
from playground.models.logins import browser_name
from playground.sessions import SINCE

logger = logging.getLogger(__name__)

BACKEND = "django.contrib.auth.backends.ModelBackend"
WAITING = "second_step"  # in the session: who has done the first step, and what comes after
PASSED = "second_factor"  # in the session: the factor that was shown
PROVED = "proved"  # in the session: when this person last showed who they are
PROVED_SECONDS = 900  # that it counts, before a change of the account
STEP_SECONDS = 600  # between the two steps
KNOWN_DAYS = 180
KNOWN_SALT = "known browser"


def client_address(request: HttpRequest) -> str:
    """Of whoever sits there; behind a proxy what the trusted header says, its last address."""
    if name := settings.CLIENT_ADDRESS_HEADER:
        return request.headers.get(name, "").rpartition(",")[2].strip()
    return str(request.META.get("REMOTE_ADDR") or "")


def agent_of(request: HttpRequest) -> str:
    return str(request.META.get("HTTP_USER_AGENT") or "")


def whence(request: HttpRequest) -> dict[str, str]:
    """For the audit log."""
    return {"from": client_address(request), "with": browser_name(agent_of(request))}


def notice(request: HttpRequest, how: str = "") -> None:
    """The session is in use."""
    session = request.session
    Login.objects.noticed(
        cast(User, request.user),
        session.session_key or "",
        session.get(SINCE),
        client_address(request),
        agent_of(request),
        how,
    )


def refuse(request: HttpRequest, how: str, user: User | None = None) -> None:
    """Note a login that failed. What was typed is not kept: a name may be a password."""
    name = repr(user.get_username()) if user else "an unknown account"
    logger.warning("Login refused: %s, %s, from %r", how, name, client_address(request))
    if user is not None:
        record("login failed", user, {"by": how, **whence(request)})


def first_page(membership: Membership | None) -> str:
    """Who only reads and rates begins with what waits for that."""
    reads = membership is not None and not membership.may_run
    return reverse("reviews" if reads else "compose")


def safe_next(request: HttpRequest, there: str) -> str:
    """An address of our own, or the first page."""
    own = url_has_allowed_host_and_scheme(
        there, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return there if own else reverse("compose")


def _cookie() -> str:
    return f"{settings.SESSION_COOKIE_NAME}_known"


def known_device(request: HttpRequest, account: str) -> str:
    """The name of this browser, if this account has logged in with it; else ""."""
    try:
        cookie = request.COOKIES.get(_cookie(), "")
        found = signing.loads(cookie, salt=KNOWN_SALT, max_age=KNOWN_DAYS * 86_400)
        return str(found["device"]) if account.casefold() in found["accounts"] else ""
    except (signing.BadSignature, KeyError, TypeError):
        return ""


def remember_device(request: HttpRequest, response: HttpResponse, account: str) -> None:
    """A signed name; it opens nothing, and only keeps strangers' attempts from counting here."""
    device, accounts = secrets.token_urlsafe(12), {account.casefold()}
    try:
        found = signing.loads(request.COOKIES.get(_cookie(), ""), salt=KNOWN_SALT)
        accounts |= set(found["accounts"][-4:])
    except (signing.BadSignature, KeyError, TypeError):
        pass
    response.set_cookie(
        _cookie(),
        signing.dumps({"device": device, "accounts": sorted(accounts)}, salt=KNOWN_SALT),
        max_age=KNOWN_DAYS * 86_400,
        path=settings.SESSION_COOKIE_PATH,
        secure=settings.SECURE,
        httponly=True,
        samesite="Lax",
    )


def let_in(request: HttpRequest, user: User, how: str, there: str = "") -> HttpResponse:
    """After the first step: in, or to the second one. `how` is a word for the audit log."""
    there = safe_next(request, there or first_page(user.membership()))
    if SecondFactor.of(user) is None:
        return enter(request, user, how, there)
    return _to_second_step(request, user, how, there)


def _to_second_step(request: HttpRequest, user: User, how: str, there: str) -> HttpResponse:
    request.session[WAITING] = {
        "user": user.pk,
        "hash": user.get_session_auth_hash(),
        "how": how,
        "next": there,
        "until": int(time.time()) + STEP_SECONDS,
    }
    return redirect("login_code")


def waiting(request: HttpRequest) -> tuple[User, dict[str, Any]] | None:
    """Who has done the first step of a login here, while it counts."""
    found = request.session.get(WAITING)
    if not found or found["until"] < time.time():
        return None
    user = User.objects.filter(pk=found["user"], is_active=True).first()
    if user is None or user.get_session_auth_hash() != found["hash"]:
        return None
    return user, found


def enter(
    request: HttpRequest, user: User, how: str, there: str, factor: int | None = None
) -> HttpResponse:
    """Log in. `factor` is the second factor that was shown."""
    request.session.pop(WAITING, None)
    login(request, user, backend=BACKEND)
    if how == "login link":
        request.session["by_link"] = True
    if factor:
        request.session[PASSED] = factor
    request.session[SINCE] = request.session[PROVED] = int(time.time())
    request.session.save()
    by = how + (" and second factor" if factor else "")
    notice(request, by)
    record("logged in", user, {"by": by, **whence(request)})
    if settings.REQUIRE_TWO_FACTOR and user.is_staff and not factor:
        there = f"{reverse('two_factor')}?{urlencode({'next': there})}"
    return redirect(there)


def second_step_first(request: HttpRequest, there: str = "") -> HttpResponse | None:
    """Where this person has to go before the admin site, or None where they may enter.

    Who has a second factor has to have shown it in this session, also where none is required.
    """
    user = cast(User, request.user)
    factor = SecondFactor.of(user)
    if factor is None:
        if not settings.REQUIRE_TWO_FACTOR:
            return None
        return redirect(f"{reverse('two_factor')}?{urlencode({'next': there})}")
    if request.session.get(PASSED) == factor.pk:
        return None
    return _to_second_step(request, user, "session", safe_next(request, there)) if there else _no()


def proved(request: HttpRequest) -> bool:
    """Whether this person has shown just now, in this session, who they are."""
    return bool(time.time() - request.session.get(PROVED, 0) < PROVED_SECONDS)


def prove_first(request: HttpRequest, there: str) -> HttpResponse | None:
    """Where to go before a change of the account, or None. A session left open is not enough."""
    if proved(request):
        return None
    return redirect(f"{reverse('confirm')}?{urlencode({'next': there})}")


def _no() -> HttpResponse:
    return redirect("login_code")
