"""The admin site: connections and their keys, teams and people, the audit log."""

from django.contrib import admin

from playground.admin import audit, connections, limits, people

__all__ = ["audit", "connections", "limits", "people"]

admin.site.site_header = "Administration"
admin.site.site_title = "Playground"
admin.site.index_title = "Administration"
admin.site.enable_nav_sidebar = False
