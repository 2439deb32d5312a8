"""Teams, their members and people."""

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin

from playground.models import Membership, Team, User


class MembershipInline(admin.TabularInline):
    model = Membership
    extra = 1


@admin.register(Team)
class TeamAdmin(admin.ModelAdmin):
    list_display = ["name", "created_at"]
    inlines = [MembershipInline]


admin.site.register(User, UserAdmin)
