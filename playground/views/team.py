"""The team: who is in it, in which role, who is invited; and the page behind an invitation."""

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import BaseUserCreationForm
from django.contrib.auth.password_validation import validate_password
from django.db import IntegrityError, transaction
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_POST

from playground.models import Invitation, LastOwner, Membership, User
from playground.models.invitations import MOST_USES
from playground.views import Request, membership_of, owner_of
from playground.views.entrance import first_page, let_in, remember_device

LISTED = 100
TAKEN = "This user name is taken. Choose another one."
LAST_OWNER = "A team keeps at least one owner. Make somebody else an owner first."
UNSEEN = {"Referrer-Policy": "no-referrer", "Cache-Control": "no-store, private"}


class InvitationForm(forms.ModelForm):
    most_uses = forms.IntegerField(
        min_value=1,
        max_value=MOST_USES,
        error_messages={
            "required": f"Say how many may join: 1 to {MOST_USES}.",
            "invalid": f"Say how many may join: 1 to {MOST_USES}.",
            "min_value": "At least one.",
            "max_value": f"At most {MOST_USES} with one link.",
        },
    )

    class Meta:
        model = Invitation
        fields = ["role", "note", "most_uses"]


class JoinForm(BaseUserCreationForm):
    class Meta:
        model = User
        fields = ["username"]

    def clean_username(self) -> str:
        """Two people whose names differ only in case would be taken for one."""
        name = str(self.cleaned_data["username"])
        if User.objects.filter(username__iexact=name).exists():
            raise forms.ValidationError(TAKEN)
        return name

    def validate_password_for_user(self, user: User) -> None:
        """All faults at once: of what was typed first, whatever stands in the other fields."""
        user.username = user.username or self.data.get("username", "")
        try:
            validate_password(self.cleaned_data.get("password1", ""), user)
        except forms.ValidationError as error:
            self.add_error("password1", error)

    def so_far(self) -> "JoinForm":
        """Without the faults of fields in which nothing is typed yet."""
        for name in [each for each in self.errors if not self.data.get(each)]:
            del self.errors[name]
        return self


def invitation_address(token: str) -> str:
    return f"{settings.PUBLIC_URL.rstrip('/')}/join/{token}/"


def _page(request: Request, status: int = 200, **more: object) -> HttpResponse:
    membership = membership_of(request)
    members = Membership.objects.filter(team=membership.team).select_related("user")
    context: dict[str, object] = {
        "me": membership,
        "members": members.order_by("-user__is_active", "user__username"),
        "roles": Membership.Role.choices,
    }
    if membership.owns:
        listed = Invitation.objects.filter(team=membership.team).select_related("made_by")
        context["invitations"] = listed[:LISTED]
        context["form"] = InvitationForm(initial={"most_uses": 1, "role": Membership.Role.MEMBER})
    response = render(request, "team/team.html", {**context, **more}, status=status)
    response["Cache-Control"] = "no-store"
    return response


@require_GET
def team(request: Request) -> HttpResponse:
    return _page(request)


@require_POST
def invite(request: Request) -> HttpResponse:
    """Make an invitation. Its address is shown once."""
    membership = owner_of(request)
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return _page(request, 422, form=form)
    made, token = Invitation.objects.make(membership.team, request.user, **form.cleaned_data)
    return _page(request, made=made, address=invitation_address(token))


@require_POST
def revoke(request: Request, pk: int) -> HttpResponse:
    found = get_object_or_404(Invitation, team_id=owner_of(request).team_id, pk=pk)
    found.revoke()
    messages.success(request, "The invitation is revoked. Nobody can join by it any more.")
    return redirect("team_page")


@require_POST
def member(request: Request, pk: int) -> HttpResponse:
    """`role`: another one; or `remove`. An owner, of anybody; whoever is here may leave."""
    mine = membership_of(request)
    if not mine.owns and not (mine.pk == pk and "remove" in request.POST):
        raise Http404
    found = get_object_or_404(Membership.objects.select_related("user"), team=mine.team_id, pk=pk)
    name = found.user.get_username()
    try:
        if "remove" in request.POST:
            found.end()
            left = found.user_id == request.user.pk
            said = f"You have left {mine.team}." if left else f"{name} is not in the team any more."
            messages.success(request, said)
            return redirect("compose" if left else "team_page")
        role = request.POST.get("role", "")
        if role not in Membership.Role.values:
            raise Http404
        found.become(role)
    except LastOwner:
        return _page(request, 409, failed=pk, refused=LAST_OWNER)
    messages.success(request, f"{name} is now {'an' if role == 'owner' else 'a'} {role}.")
    return redirect("team_page")


@login_not_required
@never_cache
@sensitive_post_parameters()
def join(request: Request, token: str) -> HttpResponse:
    """With the account that is logged in, or with a new one."""
    found = Invitation.objects.opened(token)
    if found is None:
        return _unseen(render(request, "team/gone.html", status=404))
    context: dict[str, object] = {"invitation": found, "token": token}
    form = JoinForm(None if request.user.is_authenticated else request.POST or None)
    if request.method == "POST":
        if request.user.is_authenticated:
            joined = found.accept(request.user)
            if joined is None:
                return _unseen(render(request, "team/gone.html", status=404))
            messages.success(request, f"You are in {found.team}, as {joined.role}.")
            return _unseen(redirect(first_page(joined)))
        if "check" in request.POST:  # while the form is filled in
            return _unseen(render(request, "team/_password.html", {"form": form.so_far()}))
        if form.is_valid() and (joining := _joined(request, found, form)):
            return _unseen(joining)
    context["form"] = form
    status = 422 if form.errors else 200
    return _unseen(render(request, "team/join.html", context, status=status))


def _joined(request: Request, found: Invitation, form: JoinForm) -> HttpResponse | None:
    """None where somebody has taken the name just now."""
    try:
        with transaction.atomic():
            user = form.save()
            if found.accept(user) is None:  # the last place went to somebody else just now
                transaction.set_rollback(True)
                return render(request, "team/gone.html", status=404)
    except IntegrityError:
        form.add_error("username", TAKEN)
        return None
    messages.success(request, f"Welcome. You are in {found.team}, as {found.role}.")
    response = let_in(request, user, "invitation")
    remember_device(request, response, user.get_username())
    return response


def _unseen(response: HttpResponse) -> HttpResponse:
    """The token in the address is not for caches, other sites and the log."""
    for name, value in UNSEEN.items():
        response[name] = value
    response._has_been_logged = True  # type: ignore[attr-defined]
    return response
