"""The admin site: connections and their keys, teams and people, the audit log."""

from playground.admin import audit, connections, limits, people

__all__ = ["audit", "connections", "limits", "people"]
