"""Who may still do what they are doing: read once a second, and at once after a change here.

`changed` is sent after the commit of whatever may have taken a right away: a person, a membership
or a session that was saved or deleted in this process. What changes elsewhere, also by another
program, is seen by the rows themselves.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models.signals import post_delete, post_save
from django.dispatch import Signal
from django.utils import timezone

from playground.models.processes import Process
from playground.models.runs import Run
from playground.models.teams import Membership, User

changed = Signal()

# In plain SQL: each second the ORM would take longer than the database.
UNALLOWED = """
SELECT run.id, run.comparison_id, run.status FROM playground_run run
JOIN playground_comparison comparison ON comparison.id = run.comparison_id
LEFT JOIN playground_membership member
       ON member.team_id = comparison.team_id AND member.user_id = comparison.author_id
LEFT JOIN playground_user person ON person.id = member.user_id AND person.is_active
WHERE run.status IN ('queued', 'running') AND run.owner_id = %s
  AND (person.id IS NULL OR (run.status = 'queued' AND member.role = 'reviewer'))
"""


class Standing(NamedTuple):
    """What a socket rests on; another value means that something was given or taken."""

    password: str  # its hash
    memberships: tuple[tuple[int, str], ...]


def standings(users: Iterable[int]) -> dict[int, Standing]:
    """Of those who are active, by primary key: two queries for all of them."""
    ids = set(users)
    active = User.objects.filter(pk__in=ids, is_active=True).values_list("pk", "password")
    roles: dict[int, list[tuple[int, str]]] = {}
    for user, team, role in Membership.objects.filter(user__in=ids).values_list(
        "user_id", "team_id", "role"
    ):
        roles.setdefault(user, []).append((team, role))
    return {pk: Standing(password, tuple(sorted(roles.get(pk, [])))) for pk, password in active}


def open_sessions(keys: Iterable[str]) -> set[str]:
    """Those that have not ended."""
    found = Session.objects.filter(session_key__in=set(keys), expire_date__gt=timezone.now())
    return set(found.values_list("session_key", flat=True))


def unallowed_runs(process: Process) -> list[Run]:
    """Live runs of a process whose author may not have them any more.

    A person who was deactivated, deleted or removed from the team has none. Who became a reviewer
    keeps what is under way, which is paid for; what still waits is not sent.
    """
    return list(Run.objects.raw(UNALLOWED, [process.pk]))


def _tell(sender: Any, update_fields: Any = None, **_: Any) -> None:
    if update_fields is None or set(update_fields) - {"last_login", "current_team"}:
        transaction.on_commit(lambda: changed.send(sender))


post_save.connect(_tell, sender=User, weak=False)
post_save.connect(_tell, sender=Membership, weak=False)
post_delete.connect(_tell, sender=User, weak=False)
post_delete.connect(_tell, sender=Membership, weak=False)
post_delete.connect(_tell, sender=Session, weak=False)
