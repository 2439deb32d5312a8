"""The admin site: connections and their keys, teams and people, runs without texts, the log."""

from playground.admin import audit, connections, limits, people, runs

__all__ = ["audit", "connections", "limits", "people", "runs"]
