"""Teams, their members and people: invited, deactivated, with their second factor."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.forms.models import BaseInlineFormSet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html

from playground.models import Invitation, Login, Membership, SecondFactor, Team, User
from playground.models.invitations import MOST_USES
from playground.views.team import invitation_address


class MembershipFormSet(BaseInlineFormSet):
    def clean(self) -> None:
        """A team that has owners keeps one."""
        super().clean()
        owners = Membership.objects.filter(team_id=self.instance.pk, role=Membership.Role.OWNER)
        kept = [
            form.cleaned_data
            for form in self.forms
            if form.is_valid() and form.cleaned_data and not form.cleaned_data.get("DELETE")
        ]
        if owners.exists() and not any(each.get("role") == Membership.Role.OWNER for each in kept):
            raise ValidationError("A team keeps at least one owner.")


class MembershipInline(admin.TabularInline):
    model = Membership
    formset = MembershipFormSet
    extra = 1


class OwnMembershipFormSet(BaseInlineFormSet):
    def clean(self) -> None:
        """No team loses its last owner here either."""
        super().clean()
        owned = Membership.objects.filter(user_id=self.instance.pk, role=Membership.Role.OWNER)
        kept = {
            form.instance.team_id
            for form in self.forms
            if form.is_valid()
            and form.cleaned_data.get("role") == Membership.Role.OWNER
            and not form.cleaned_data.get("DELETE")
        }
        for left in owned.exclude(team__in=kept).select_related("team"):
            others = Membership.objects.filter(team=left.team_id, role=Membership.Role.OWNER)
            if not others.exclude(pk=left.pk).exists():
                raise ValidationError(f"{left.team} keeps at least one owner.")


class OwnMembershipInline(admin.TabularInline):
    """The teams of a person."""

    model = Membership
    formset = OwnMembershipFormSet
    extra = 0


@admin.register(Team)
class TeamAdmin(admin.ModelAdmin):
    list_display = ["name", "members", "created_at"]
    inlines = [MembershipInline]

    @admin.display(description="members")
    def members(self, team: Team) -> int:
        return team.memberships.count()


@admin.register(Invitation)
class InvitationAdmin(admin.ModelAdmin):
    """Made here for any team. Its address is shown once, after it was made."""

    fields = ["team", "role", "note", "most_uses"]
    list_display = ["team", "role", "note", "joined", "until", "state", "made_by_name"]
    list_display_links = None
    list_filter = ["team"]
    list_select_related = ["team"]
    search_fields = ["note", "made_by_name"]
    actions = ["revoke"]

    def get_form(self, request: HttpRequest, *arguments: Any, **more: Any) -> Any:
        form = super().get_form(request, *arguments, **more)
        if uses := form.base_fields.get("most_uses"):  # not where one may only look
            uses.widget.attrs |= {"min": 1, "max": MOST_USES}
            uses.help_text = f"1 to {MOST_USES}; the link is good for seven days."
        return form

    def save_model(self, request: HttpRequest, obj: Invitation, form: Any, change: bool) -> None:
        by: Any = request.user
        made, token = Invitation.objects.make(
            obj.team, by, obj.role, obj.note, min(max(obj.most_uses, 1), MOST_USES)
        )
        obj.pk = made.pk
        obj.__dict__.update(made.__dict__)
        said = "Send this link; it is shown this once: {}"
        self.message_user(request, format_html(said, invitation_address(token)), messages.WARNING)

    def has_change_permission(self, request: HttpRequest, obj: Invitation | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Invitation | None = None) -> bool:
        return False

    @admin.display(description="joined")
    def joined(self, invitation: Invitation) -> str:
        return f"{invitation.used} of {invitation.most_uses}"

    @admin.display(description="until", ordering="expires_at")
    def until(self, invitation: Invitation) -> str:
        return f"{invitation.expires_at:%Y-%m-%d %H:%M}"

    @admin.display(description="state")
    def state(self, invitation: Invitation) -> str:
        return invitation.state

    @admin.action(description="Revoke the chosen invitations", permissions=["add"])
    def revoke(self, request: HttpRequest, invitations: QuerySet[Invitation]) -> None:
        for each in invitations:
            each.revoke()
        self.message_user(request, "Nobody can join by them any more.")


@admin.register(User)
class PeopleAdmin(UserAdmin):
    """Deactivated is out: within a second sockets close and running requests stop.

    Deleting erases a person's private runs too (`retention.purge_ownerless`).
    """

    list_display = ["username", "email", "teams", "is_active", "is_staff", "two_factor"]
    list_filter = ["is_active", "is_staff", "is_superuser", "memberships__team"]
    actions = ["deactivate", "activate", "log_out", "reset_second_factor"]
    inlines = [OwnMembershipInline]
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        ("Who", {"fields": ("first_name", "last_name", "email")}),
        ("Sign-in", {"fields": ("is_active", "may_link", "last_login", "date_joined")}),
        (
            "Rights in the admin site",
            {"fields": ("is_staff", "is_superuser", "groups", "user_permissions")},
        ),
    )
    readonly_fields = ("last_login", "date_joined")

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return super().get_queryset(request).prefetch_related("memberships__team")

    def get_inlines(self, request: HttpRequest, obj: User | None) -> Any:
        return self.inlines if obj else []

    @admin.display(description="teams")
    def teams(self, user: User) -> str:
        return ", ".join(f"{each.team} ({each.role})" for each in user.memberships.all()) or "–"

    @admin.display(description="two-factor", boolean=True)
    def two_factor(self, user: User) -> bool:
        return SecondFactor.of(user) is not None

    def _one_by_one(self, people: QuerySet[User], active: bool) -> int:
        """By `save`, so that the log and this process hear of each."""
        changed = list(people.exclude(is_active=active))
        for user in changed:
            user.is_active = active
            user.save(update_fields=["is_active"])
        return len(changed)

    @admin.action(description="Deactivate the chosen people", permissions=["change"])
    def deactivate(self, request: HttpRequest, people: QuerySet[User]) -> None:
        if any(each.pk == request.user.pk for each in people):
            said = "You cannot deactivate yourself; another admin can."
            self.message_user(request, said, messages.ERROR)
            return
        count = self._one_by_one(people, False)
        said = f"{count} deactivated. Their pages close and their running requests stop now."
        self.message_user(request, said)

    @admin.action(description="Activate the chosen people", permissions=["change"])
    def activate(self, request: HttpRequest, people: QuerySet[User]) -> None:
        self.message_user(request, f"{self._one_by_one(people, True)} activated.")

    @admin.action(description="Log out everywhere", permissions=["change"])
    def log_out(self, request: HttpRequest, people: QuerySet[User]) -> None:
        count = Login.objects.filter(user__in=people).end()
        self.message_user(request, f"{count} logins ended. Their pages close now.")

    @admin.action(description="Reset the second factor", permissions=["change"])
    def reset_second_factor(self, request: HttpRequest, people: QuerySet[User]) -> None:
        count = 0
        for factor in SecondFactor.objects.filter(user__in=people).select_related("user"):
            factor.end()
            count += 1
        said = f"{count} reset. Until they set up a new one, their password alone lets them in."
        self.message_user(request, said)

    def response_change(self, request: HttpRequest, obj: User) -> HttpResponse:
        if not obj.is_active and obj.pk == request.user.pk:
            self.message_user(request, "You have deactivated yourself.", messages.WARNING)
        return super().response_change(request, obj)
