"""Sign-in through OpenID Connect: allauth speaks the protocol, people and rights are ours.

Imported only where OIDC_ISSUER is set. allauth keeps which account a subject of the provider is
(`SocialAccount`); it makes, finds and changes no person by itself: `pre_social_login` always
answers, before it would.
"""

import logging
import re
import secrets
from typing import Any, cast

import requests
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.internal import jwtkit
from allauth.socialaccount.models import SocialAccount, SocialLogin
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView, OAuth2LoginView
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.db import IntegrityError, transaction
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import path
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache

from playground.models import Membership, Team, User
from playground.models.audit import record
from playground.models.teams import free_name
from playground.views.entrance import let_in, refuse

logger = logging.getLogger(__name__)

PROVIDER = settings.OIDC_PROVIDER
SECONDS = 10  # for each request to the provider
NONCES = "oidc_nonces"  # in the session: of the sign-ins that were begun in this browser
MOST_NONCES = 5  # at once: a sign-in a tab
FAILED = "The sign-in did not work. Try again; if it goes on so, ask an admin."
CANCELLED = "The sign-in was cancelled."
INACTIVE = "This account is deactivated. Ask an admin."
NOT_LINKED = (
    "There is an account with this e-mail address already. Log in with its password, "
    "or ask an admin to allow that it is linked."
)


class Session(requests.Session):
    """No proxy but ours, no redirects, no waiting without end."""

    def __init__(self) -> None:
        super().__init__()
        self.trust_env = False
        if settings.OUTBOUND_PROXY:
            self.proxies = {"http": settings.OUTBOUND_PROXY, "https": settings.OUTBOUND_PROXY}

    def request(self, *arguments: Any, **more: Any) -> requests.Response:
        more["timeout"] = SECONDS
        more["allow_redirects"] = False
        answer = super().request(*arguments, **more)
        if answer.is_redirect:
            raise requests.RequestException("The provider redirects.")
        return answer


class People(DefaultSocialAccountAdapter):
    """Named by SOCIALACCOUNT_ADAPTER."""

    def get_requests_session(self) -> requests.Session:
        return Session()

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        raise ImmediateHttpResponse(_answer(request, sociallogin))

    def on_authentication_error(self, request: HttpRequest, provider: Any, **more: Any) -> None:
        cancelled = str(more.get("error")).endswith("cancelled")
        raise ImmediateHttpResponse(refused(request, CANCELLED if cancelled else FAILED))


class Protocol(OpenIDConnectOAuth2Adapter):
    """Checks the signature of the ID token, too, and that both answers are about one person."""

    @property
    def openid_config(self) -> dict[str, Any]:
        found: dict[str, Any] = super().openid_config
        if str(found["issuer"]).rstrip("/") != settings.OIDC_ISSUER:
            raise OAuth2Error("The provider calls itself otherwise than OIDC_ISSUER does.")
        return found

    def _decode_id_token(self, app: Any, id_token: str) -> dict[str, Any]:
        found: dict[str, Any] = jwtkit.verify_and_decode(
            credential=id_token,
            keys_url=self.openid_config["jwks_uri"],
            issuer=self.openid_config["issuer"],
            audience=app.client_id,
            lookup_kid=jwtkit.lookup_kid_jwk,
        )
        return found

    def complete_login(self, request: HttpRequest, app: Any, token: Any, **more: Any) -> Any:
        if not more["response"].get("id_token"):
            raise OAuth2Error("The provider sent no ID token.")
        found = super().complete_login(request, app, token, **more)
        data = found.account.extra_data
        if data["id_token"]["sub"] != data["userinfo"]["sub"]:
            raise OAuth2Error("ID token and user info are about different people.")
        _use_nonce(request, str(data["id_token"].get("nonce") or ""))
        return found


def _make_nonce(request: HttpRequest) -> str:
    made = secrets.token_urlsafe(24)
    request.session[NONCES] = [*request.session.get(NONCES, []), made][-MOST_NONCES:]
    return made


def _use_nonce(request: HttpRequest, nonce: str) -> None:
    """A token is for a sign-in that this browser began, and for one only."""
    begun = request.session.get(NONCES, [])
    if nonce not in begun:
        raise OAuth2Error("The ID token is not for a sign-in that was begun here.")
    request.session[NONCES] = [each for each in begun if each != nonce]


def refused(request: HttpRequest, sentence: str) -> HttpResponse:
    refuse(request, f"OpenID Connect: {sentence}")
    messages.warning(request, sentence)
    return redirect("login")


def _answer(request: HttpRequest, found: SocialLogin) -> HttpResponse:
    try:
        with transaction.atomic():
            user, why_not = _person(found.account)
    except IntegrityError:  # the same person in two browsers at once
        return refused(request, FAILED)
    if user is None:
        return refused(request, why_not)
    there = str(found.state.get("next") or "")
    return let_in(request, user, settings.OIDC_NAME, there)


def _person(account: SocialAccount) -> tuple[User | None, str]:
    """Whose sign-in this is: of an account that is linked, may be linked, or is made now."""
    data = account.extra_data["userinfo"]
    email = str(data.get("email") or "") if data.get("email_verified") is True else ""
    known = SocialAccount.objects.filter(provider=account.provider, uid=account.uid)
    known.update(extra_data={})  # allauth has just put in what it was told
    if linked := known.select_related("user").first():
        user: User = linked.user
        return (user, "") if user.is_active else (None, INACTIVE)
    same = list(User.objects.filter(email__iexact=email)) if email else []
    allowed = [each for each in same if each.may_link and each.is_active]
    if len(allowed) == 1:
        [user] = allowed
        user.may_link = False
        user.save(update_fields=["may_link"])
    elif same:
        return None, NOT_LINKED
    else:
        user = _newcomer(data, email)
    # What the provider tells of a person is not kept: neither tokens nor profile.
    SocialAccount.objects.create(user=user, provider=account.provider, uid=account.uid)
    record("linked a sign-in", user, {"of": settings.OIDC_NAME})
    return user, ""


def _newcomer(data: dict[str, Any], email: str) -> User:
    """In no team until they are invited, or in that of OIDC_DEFAULT_TEAM."""
    wanted = str(data.get("preferred_username") or email.partition("@")[0] or "person")
    base = re.sub(r"[^\w.@+-]+", "-", wanted)[:140].strip("-") or "person"
    user = User(
        username=free_name(base),
        email=email,
        first_name=str(data.get("given_name") or "")[:150],
        last_name=str(data.get("family_name") or "")[:150],
    )
    user.set_unusable_password()
    team = Team.objects.filter(name=settings.OIDC_DEFAULT_TEAM).first()
    user.current_team = team
    user.save()
    if team is not None:
        Membership.objects.create(team=team, user=user)
    return user


@login_not_required
@never_cache
def log_in(request: HttpRequest) -> HttpResponse:
    """To the provider. A link and no form: our policy lets forms lead nowhere else.

    Of what the address says only `next` counts: allauth would take scopes and more from there.
    """
    asked = QueryDict(mutable=True)
    if there := request.GET.get("next"):
        asked["next"] = there
    asked["auth_params"] = urlencode({"nonce": _make_nonce(request)})
    request.GET = cast(Any, asked)
    return _carried_out(request, OAuth2LoginView, PROVIDER)


@login_not_required
@never_cache
def callback(request: HttpRequest, provider_id: str) -> HttpResponse:
    """And back."""
    return _carried_out(request, OAuth2CallbackView, provider_id)


def _carried_out(request: HttpRequest, view: Any, provider: str) -> HttpResponse:
    if provider != PROVIDER:
        raise Http404
    try:
        answer: HttpResponse = view.adapter_view(Protocol(request, provider))(request)
    except (requests.RequestException, OAuth2Error, ValueError, KeyError, TypeError):
        logger.exception("A sign-in through OpenID Connect failed")
        return refused(request, FAILED)
    return answer


urlpatterns = [
    path("login/", log_in, name="oidc_login"),
    path("<str:provider_id>/callback/", callback, name="openid_connect_callback"),
]
