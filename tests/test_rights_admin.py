"""Every address of the admin site × everybody: staff alone, and staff by their permissions."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection as database
from django.db import transaction
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver

from playground.models import AuditEntry, Limit, Membership, Memory, User
from tests.conftest import person
from tests.test_rights import MISSING, PEOPLE, WORD, World

YES, NO, AWAY = {200}, {403}, {302}  # what an admin is answered; AWAY: to another page
NEVER = {405}  # this way it is not asked for
SENDS = {"connection_test"}  # other threads write: `tests/test_checkup.py`

# Name of each address → what an admin gets by GET and by an empty POST.
ADMIN: dict[str, tuple[set[int], set[int]]] = {
    "index": (YES, YES),
    "app_list": (YES, YES),
    "login": (AWAY, AWAY),
    "logout": (NEVER, AWAY),
    "password_change": (AWAY, AWAY),
    "password_change_done": (AWAY, AWAY),
    "autocomplete": (NO, NEVER),
    "jsi18n": (YES, NEVER),
    "view_on_site": ({404}, {404}),
    "connection_test": (NEVER, {200, 302}),
    "connection_dialect": (NEVER, {200, 302, 400}),
    "key_erase": (NEVER, {302, 404}),
    "auth_user_password_change": (YES, YES),
}
CHANGED = ("auth_group", "playground_connection", "playground_limit", "playground_team",
           "playground_user")  # fmt: skip
READ_ONLY = {"playground_auditentry": set[str](), "playground_run": set[str](),
             "playground_memory": {"delete"},
             "playground_invitation": {"add"}}  # what may be done all the same  # fmt: skip
for model in CHANGED:
    ADMIN |= {f"{model}_{page}": (YES, {200, 302}) for page in ("changelist", "add", "change")}
    ADMIN |= {f"{model}_delete": (YES, {200, 302}), f"{model}_history": (YES, YES)}
for model, more in READ_ONLY.items():
    for page in ("add", "change", "delete"):
        allowed = (YES, {200, 302}) if page in more else (NO, NO)
        ADMIN[f"{model}_{page}"] = allowed
    ADMIN[f"{model}_change"] = (YES, NO)
    ADMIN |= {f"{model}_changelist": (YES, YES), f"{model}_history": (YES, YES)}


def routes(patterns: list[Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """(name, route) of every address; those without a name lead to one that has."""
    for each in patterns:
        if isinstance(each, URLResolver):
            yield from routes(each.url_patterns, prefix + str(each.pattern))
        elif isinstance(each, URLPattern) and each.name:
            yield each.name, prefix + str(each.pattern)


def admin_routes() -> dict[str, str]:
    [site] = [
        each for each in get_resolver().url_patterns if getattr(each, "namespace", "") == "admin"
    ]
    return dict(routes(site.url_patterns))  # type: ignore[attr-defined]


ROUTES = admin_routes()


class AdminWorld(World):
    def __init__(self, base_url: str) -> None:
        super().__init__("team", base_url)
        clerk = person("clerk", self.team, "member")
        clerk.is_staff = True
        clerk.save()
        self.people["clerk"] = clerk
        self.clients["clerk"] = self.client("clerk", anew=True)
        memory = Memory.objects.create(
            connection=self.connection, model="m", path="top_k", kind="ignored", sentence=WORD[::-1]
        )
        limit = Limit.objects.create(kind="parallel", amount=3, connection=self.connection)
        entry = AuditEntry.objects.order_by("-pk").first()
        assert entry is not None
        self.of_model = {
            "auth/group": Group.objects.create(name="Helpers").pk,
            "playground/auditentry": entry.pk,
            "playground/memory": memory.pk,
            "playground/connection": self.connection.pk,
            "playground/limit": limit.pk,
            "playground/run": self.things["run"],
            "playground/team": self.team.pk,
            "playground/invitation": self.things["invitation"],
            "playground/user": self.people["author"].pk,
        }

    def path(self, route: str, missing: bool = False) -> str:
        model = "/".join(route.split("/")[:2])
        pk = MISSING if missing else self.of_model.get(model, 1)
        found = re.sub(r"^\^.*", "playground/", route)  # the list of an app
        found = re.sub(r"<int:key>|<path:content_type_id>", "1", found)
        return "/admin/" + re.sub(r"<[^>]*>", str(pk), found)


def ask(client: Client, method: str, path: str) -> HttpResponse:
    """What it changes is undone."""
    with transaction.atomic():
        answer: Any = getattr(client, method)(path)
        transaction.set_rollback(True)
    return answer  # type: ignore[no-any-return]


@pytest.fixture
def world(db: None, provider: Any) -> AdminWorld:
    return AdminWorld(provider.url)


def test_every_address_of_the_admin_site_has_a_line_here() -> None:
    assert set(ROUTES) == set(ADMIN)


def test_an_admin_gets_what_the_table_says_and_never_reads_a_prompt(world: AdminWorld) -> None:
    faults = []
    for name, route in ROUTES.items():
        for method, wanted in zip(("get", "post"), ADMIN[name], strict=True):
            if name in SENDS and method == "post":
                continue
            client = world.client("admin", anew=name == "logout")
            answer = ask(client, method, world.path(route))
            if answer.status_code not in wanted:
                faults.append(f"{method} {name}: {answer.status_code}, not {wanted}")
            if WORD in answer.content.decode():
                faults.append(f"{method} {name} shows a prompt")
    assert not faults, "\n".join(faults)


def test_the_list_of_runs_reads_no_text_of_them(world: AdminWorld) -> None:
    with CaptureQueriesContext(database) as captured:
        page = world.clients["admin"].get("/admin/playground/run/").content.decode()
    assert "bob" in page
    assert "fake" in page
    assert WORD not in page
    read = [each["sql"] for each in captured if '"playground_run"."status"' in each["sql"]]
    assert read
    for sql in read:
        for column in ("prompt_preview", "output_preview", "error_message", "request"):
            assert f'"{column}"' not in sql
    assert len(captured) < 25


def test_no_page_of_a_person_takes_the_last_owner_from_a_team(world: AdminWorld) -> None:
    """Nor of who may change people, but only look at their teams."""
    [owned] = Membership.objects.filter(team=world.team, role="owner").select_related("user")
    page = world.path(ROUTES["playground_user_change"]).replace(
        str(world.of_model["playground/user"]), str(owned.user_id)
    )
    clerk = world.people["clerk"]
    rights = clerk.user_permissions.model.objects
    names = ("change_user", "view_user", "view_membership")
    clerk.user_permissions.set(rights.filter(codename__in=names))
    form = {
        "username": owned.user.username, "is_active": "on", "first_name": "Ann",
        "memberships-TOTAL_FORMS": "1", "memberships-INITIAL_FORMS": "1",
        "memberships-0-id": owned.pk, "memberships-0-user": owned.user_id,
        "memberships-0-team": world.team.pk,
    }  # fmt: skip
    for change in ({"role": "member"}, {"role": "owner", "DELETE": "on"}):
        more = {f"memberships-0-{name}": value for name, value in change.items()}
        answer = world.clients["admin"].post(page, form | more)
        assert "keeps at least one owner" in answer.content.decode()
    for who in ("admin", "clerk"):
        assert (
            world.clients[who].post(page, {**form, "memberships-0-role": "owner"}).status_code
            == 302
        )
    owned.refresh_from_db()
    assert owned.role == "owner"
    assert User.objects.get(pk=owned.user_id).first_name == "Ann"


def test_no_address_of_the_list_of_runs_tells_what_is_in_a_prompt(world: AdminWorld) -> None:
    """Django takes any column as a filter: one could guess a text letter by letter."""
    admin = world.clients["admin"]
    for column in ("prompt_preview", "output_preview", "request", "metadata", "error_message"):
        assert admin.get(f"/admin/playground/run/?{column}__contains=a").status_code == 400
    for known in ("status__exact=completed", "team__id__exact=1", "connection__id__exact=1"):
        assert admin.get(f"/admin/playground/run/?{known}").status_code == 200


@pytest.mark.parametrize("who", sorted(set(PEOPLE) - {"admin"}))
def test_for_others_there_is_no_admin_site(world: AdminWorld, who: str) -> None:
    """Every address, what is there and what is not alike: to the door of the admin site."""
    faults = []
    before = AuditEntry.objects.count()
    for name, route in ROUTES.items():
        if name in ("login", "logout"):
            continue
        for method in ("get", "post"):
            for missing in (False, True):
                path = world.path(route, missing)
                answer = ask(world.clients[who], method, path)
                doors = [f"{front}/login/?next={path}" for front in ("", "/admin")]
                if answer.status_code != 302 or answer.headers["Location"] not in doors:
                    faults.append(f"{method} {path}: {answer.status_code}")
    assert not faults, "\n".join(faults)
    assert AuditEntry.objects.count() == before


def test_staff_without_a_permission_sees_the_overview_only(world: AdminWorld) -> None:
    faults = []
    for name, route in ROUTES.items():
        if name in ("index", "jsi18n", "login", "logout") or name.startswith("password_change"):
            continue
        for method in ("get", "post"):
            answer = ask(world.clients["clerk"], method, world.path(route))
            if answer.status_code not in (403, 404, 405):
                faults.append(f"{method} {name}: {answer.status_code}")
    assert not faults, "\n".join(faults)
    overview = world.clients["clerk"].get("/admin/")
    assert overview.status_code == 200
    for hidden in ("/admin/playground/connection/", "/admin/playground/auditentry/"):
        assert hidden not in overview.content.decode()


def test_staff_who_may_see_connections_may_not_change_them(world: AdminWorld) -> None:
    """Nor test them, which sends a key, nor erase one."""
    view = world.people["clerk"].user_permissions.model.objects.get(codename="view_connection")
    world.people["clerk"].user_permissions.add(view)
    clerk = Client()
    clerk.force_login(User.objects.get(username="clerk"))
    assert ask(clerk, "get", world.path(ROUTES["playground_connection_change"])).status_code == 200
    for name in ("playground_connection_change", "playground_connection_delete",
                 "playground_connection_add", "connection_test", "connection_dialect",
                 "key_erase"):  # fmt: skip
        answer = ask(clerk, "post", world.path(ROUTES[name]))
        assert answer.status_code in (403, 404), name
