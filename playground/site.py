"""The admin site itself: for staff, and with the second step where it is asked for."""

from typing import Any, cast

from django.contrib import admin
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from playground.views import Request
from playground.views.account import log_out
from playground.views.entrance import second_step_first


class Site(admin.AdminSite):
    site_header = "Administration"
    site_title = "Playground"
    index_title = "Administration"
    enable_nav_sidebar = False

    def has_permission(self, request: HttpRequest) -> bool:
        return super().has_permission(request) and second_step_first(request) is None

    def password_change(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """There is one page for it, which counts guesses and ends other logins."""
        return redirect("password")

    def password_change_done(self, request: HttpRequest, extra_context: Any = None) -> Any:
        return redirect("password")

    def logout(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """As everywhere, so that it is in the audit log."""
        return log_out(cast(Request, request))

    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """There is one door, with one count of attempts; here it is only said who may enter."""
        there = request.GET.get("next") or reverse("admin:index")
        if not request.user.is_authenticated:
            return redirect_to_login(there, reverse("login"))
        if super().has_permission(request):
            return second_step_first(request, there) or redirect("admin:index")
        return super().login(request, extra_context)
