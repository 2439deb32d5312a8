"""Who changed what, and when: keys, connections, prices, limits, teams, roles, people.

A model is watched by a decorator at its class; nothing else has to be called:

    @audited("name", "role", secret=("password",))
    class Thing(models.Model): ...

Then every `save`, `create`, `delete` and `set` of a watched many-to-many field leaves an entry, be
it from the admin site, a page or a command. It says only which watched fields changed, from what to
what; of a `secret` field that it was set, changed or removed. What goes round `save`
(QuerySet.update, bulk_create), or is no change of a row (a test of a key), calls `record` itself:

    record("erased", key, {"state": ["retiring", "erased"]})

Who it was is known from the request (`playground.security.Acting`), else it is the command line;
the server's own work says so with `with acting("the playground"):`. Deleting a user keeps the name.

Signals, because forgetting one way of saving would be a hole that nobody sees.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any, TypeVar

from django.conf import settings
from django.db import models
from django.db.models.signals import m2m_changed, post_delete, post_save, pre_save
from django.utils import timezone

from playground.completion import storable
from playground.fields import Unreadable

Person = tuple[int | None, str]  # primary key and name of a user
COMMAND_LINE: Person = (None, "command line")
LONGEST_VALUE = 500  # characters of a value that are kept

_actor: ContextVar[Callable[[], Person] | None] = ContextVar("actor", default=None)

Watched = TypeVar("Watched", bound=type[models.Model])


@contextmanager
def acting(who: str | Callable[[], Person]) -> Iterator[None]:
    """What is recorded inside was done by `who`: a name, or a function asked only when needed."""
    token = _actor.set((lambda: (None, who)) if isinstance(who, str) else who)
    try:
        yield
    finally:
        _actor.reset(token)


def actor() -> str | Callable[[], Person]:
    """Who acts now, to hand it to another thread: `with acting(who):`."""
    return _actor.get() or (lambda: COMMAND_LINE)


class AuditQuerySet(models.QuerySet["AuditEntry"]):
    def about(self, *objects: models.Model) -> "AuditQuerySet":
        """Changes of any of these."""
        found = models.Q(pk=None)
        for each in objects:
            found |= models.Q(kind=kind_of(each), object_id=each.pk)
        return self.filter(found)


class AuditEntry(models.Model):
    """One change. Written once; nothing edits or deletes it."""

    at = models.DateTimeField("time", default=timezone.now, db_index=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    actor_name = models.CharField("who", max_length=150)
    action = models.CharField(max_length=30)  # created, changed, deleted, tested, …
    kind = models.CharField(max_length=50)  # of the object: connection, API key, …
    object_id = models.BigIntegerField(null=True)
    object_name = models.CharField("of", max_length=200)
    detail = models.TextField(blank=True)  # JSON: {field: [before, after]} or {field: sentence}

    objects = AuditQuerySet.as_manager()

    class Meta:
        verbose_name = "change"
        verbose_name_plural = "changes"
        ordering = ["-at", "-pk"]
        indexes = [models.Index(fields=["kind", "object_id", "-at"], name="changes_of_an_object")]

    def __str__(self) -> str:
        return f"{self.kind} {self.object_name}: {self.action}"

    @property
    def lines(self) -> list[str]:
        """What changed, a sentence a field."""
        found: dict[str, Any] = json.loads(self.detail) if self.detail else {}
        return [_line(name.replace("_", " "), value) for name, value in found.items()]


def _line(name: str, value: Any) -> str:
    if not isinstance(value, list) or len(value) != 2:
        return f"{name}: {_shown(value)}"
    before, after = map(_shown, value)
    return f"{name}: {after}" if value[0] is None else f"{name}: {before} → {after}"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value == "":
        return "nothing"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def kind_of(obj: models.Model) -> str:
    return str(obj._meta.verbose_name)


def record(action: str, obj: models.Model, detail: Mapping[str, Any] | None = None) -> AuditEntry:
    """Note that the current actor did `action` to `obj`. The detail never holds a secret."""
    ask = _actor.get()
    actor_id, actor_name = ask() if ask else COMMAND_LINE
    pk = obj.pk if isinstance(obj.pk, int) else None
    return AuditEntry.objects.create(
        actor_id=actor_id,
        actor_name=actor_name,
        action=action,
        kind=kind_of(obj),
        object_id=pk,
        object_name=storable(str(obj))[:200],
        detail=json.dumps(detail, default=str, ensure_ascii=False) if detail else "",
    )


def audited(*fields: str, secret: tuple[str, ...] = ()) -> Callable[[Watched], Watched]:
    """Watch these fields of a model; many-to-many fields too. See the module's docstring."""

    def watch(model: Watched) -> Watched:
        many = {field.name for field in model._meta.local_many_to_many}
        plain = [name for name in (*fields, *secret) if name not in many]
        _watch_rows(model, plain, secret)
        for name in many.intersection(fields):
            _watch_many(model, name)
        return model

    return watch


def _watch_rows(model: type[models.Model], fields: list[str], secret: tuple[str, ...]) -> None:
    watched = frozenset(fields)
    columns = [model._meta.get_field(name).attname for name in fields]  # type: ignore[union-attr]

    def before(sender: Any, instance: Any, raw: bool = False, **more: Any) -> None:
        touched = more.get("update_fields")
        if raw or (touched is not None and not touched & watched):
            return  # as at every login
        known = None if instance._state.adding or instance.pk is None else instance.pk
        old = sender._base_manager.filter(pk=known).values(*columns).first() if known else None
        instance._audited_before = old

    def saved(sender: Any, instance: Any, created: bool, raw: bool = False, **more: Any) -> None:
        old = instance.__dict__.pop("_audited_before", None)
        touched = more.get("update_fields")
        if raw or (touched is not None and not touched & watched):
            return
        names = [n for n in fields if touched is None or n in touched]
        detail = _difference(instance, old, names, secret)
        if created or detail:
            record("created" if created else "changed", instance, detail)

    def deleted(sender: Any, instance: Any, **_: Any) -> None:
        record("deleted", instance)

    pre_save.connect(before, sender=model, weak=False)
    post_save.connect(saved, sender=model, weak=False)
    post_delete.connect(deleted, sender=model, weak=False)


def _difference(
    instance: models.Model, old: Mapping[str, Any] | None, names: list[str], secret: tuple[str, ...]
) -> dict[str, Any]:
    """{field: [before, after]}, and for a secret field a word."""
    found: dict[str, Any] = {}
    for name in names:
        field = instance._meta.get_field(name)
        column = field.attname  # type: ignore[union-attr]
        before = old[column] if old else None
        after = getattr(instance, column)
        if field.many_to_one and before != after:
            before, after = _named(field, before), _named(field, after)
        if name in secret:
            if word := _secretly(before, after):
                found[name] = word
        elif old is None:
            if after not in (None, ""):
                found[name] = [None, _plain(after)]
        elif before != after:
            found[name] = [_plain(before) if before is not None else "", _plain(after)]
    return found


def _named(field: Any, pk: Any) -> str | None:
    """What a foreign key points to, in words."""
    found = field.related_model._base_manager.filter(pk=pk).first() if pk is not None else None
    return str(found) if found is not None else None


def _secretly(before: Any, after: Any) -> str:
    had, has = _is_there(before), _is_there(after)
    if had and has:
        same = type(before) is type(after) and before == after
        return "" if same else "changed"
    return "set" if has else "removed" if had else ""


def _is_there(value: Any) -> bool:
    """Django marks the password of somebody who has none by an exclamation mark."""
    return isinstance(value, Unreadable) or bool(value and not str(value).startswith("!"))


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    return storable(str(value))[:LONGEST_VALUE]


def _watch_many(model: type[models.Model], name: str) -> None:
    through = getattr(model, name).through

    def changed(instance: Any, action: str, reverse: bool, pk_set: Any, **more: Any) -> None:
        words = {"post_add": "added", "post_remove": "removed", "pre_clear": "cleared"}
        if action not in words or (not pk_set and action != "pre_clear"):
            return
        others = more["model"]._base_manager.filter(pk__in=pk_set or [])
        what = [str(each) for each in others] or ["all"]
        record("changed", instance, {f"{name} {words[action]}": what})

    m2m_changed.connect(changed, sender=through, weak=False)
