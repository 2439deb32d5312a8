"""What the pages of the admin site need: its parts in plain words, notices, the latest changes."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import template

from playground.models import AuditEntry
from playground.models.notices import Notice, all_notices

register = template.Library()

# Group → {model: what it is, in a sentence}. Whatever else is registered comes under “More”.
# What a model is called where Django's own name says little.
NAMES = {"Memory": "Ignored or refused", "Group": "Groups of rights", "AuditEntry": "Audit log"}
GROUPS: dict[str, dict[str, str]] = {
    "Backends": {
        "Connection": "Where requests go: services, addresses, keys, prices, who may use them.",
        "Limit": "Requests, tokens and money for connections, teams and people, and who is near.",
        "Memory": "What backends ignored or refused. Clear it after an update of a backend.",
    },
    "People": {
        "User": "Who can log in, who is an admin, who has left.",
        "Team": "Who works together, and in which role.",
        "Invitation": "Links by which people join a team.",
        "Group": "Sets of rights for admins who may not do everything.",
    },
    "Records": {
        "Run": "Who asked which backend, when, and what it cost; never a prompt or an output.",
        "AuditEntry": "Who changed what, and when. It cannot be edited.",
    },
}


@register.simple_tag
def sections(apps: Sequence[Mapping[str, Any]] | None) -> list[dict[str, Any]]:
    """[{name, models: [{name, about, admin_url, add_url}]}] of what this admin may see."""
    models = {each["object_name"]: each for app in apps or [] for each in app["models"]}
    found = []
    for name, members in GROUPS.items():
        here = [(each, models.pop(each)) for each in members if each in models]
        shown = [
            model | {"about": members[each], "name": NAMES.get(each, model["name"])}
            for each, model in here
        ]
        found.append({"name": name, "models": shown})
    found.append({"name": "More", "models": [each | {"about": ""} for each in models.values()]})
    return [group for group in found if group["models"]]


@register.simple_tag
def secret_notices() -> list[Notice]:
    return all_notices()


@register.simple_tag
def latest_changes() -> list[AuditEntry]:
    return list(AuditEntry.objects.all()[:8])
