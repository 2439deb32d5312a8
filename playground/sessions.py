"""How long a login lasts: named by SESSION_ENGINE; Django's rows, with an end that is ours.

A session ends SESSION_IDLE_HOURS after it was last used, and a login SESSION_DAYS after it began.
Whoever reads sessions (pages, sockets) looks at the one date of the row, which a page moves on by
`Login.objects.noticed`.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.sessions.backends import db
from django.utils import timezone

SINCE = "since"  # in a session: when the login began, in seconds since 1970


def end_of(since: float | None) -> datetime:
    """When a session ends that is used just now."""
    now = timezone.now()
    begun = now if since is None else datetime.fromtimestamp(since, UTC)
    idle = timedelta(hours=settings.SESSION_IDLE_HOURS)
    return min(now + idle, begun + timedelta(days=settings.SESSION_DAYS))


class SessionStore(db.SessionStore):
    def create_model_instance(self, data: dict[str, Any]) -> Any:
        return self._ending(super().create_model_instance(data), data)

    async def acreate_model_instance(self, data: dict[str, Any]) -> Any:
        return self._ending(await super().acreate_model_instance(data), data)

    def _ending(self, row: Any, data: dict[str, Any]) -> Any:
        row.expire_date = min(row.expire_date, end_of(data.get(SINCE)))
        return row
