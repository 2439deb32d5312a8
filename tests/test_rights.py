"""Who may what (DESIGN 7): every address × every person × every state of a run.

A new address fails here until it has a line in `TABLE`:

    Row("name", GET or POST, rule, thing, {data})

`thing` is what the address is about ("run", "comparison", …: what stands for `<int:pk>`), or "".
The rules stand below. A person who may not see a thing gets what they get for one that is not
there, to the byte; and no answer to them holds a word of it.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.cache import cache
from django.core.management import CommandError, call_command, get_commands
from django.db import transaction
from django.http import HttpResponse
from django.test import AsyncClient, Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from playground.database import close_pool
from playground.hub import SESSION_ENDED
from playground.models import (
    Choice,
    Comment,
    Comparison,
    Connection,
    Draft,
    Entry,
    Invitation,
    Job,
    Judge,
    Label,
    Login,
    LoginLink,
    Membership,
    Panel,
    Preset,
    Queue,
    Rating,
    Round,
    Run,
    RunLabel,
    SavedView,
    Seat,
    Share,
    Team,
    Transfer,
    User,
)
from playground.models.walk import Selection
from playground.runner import Runner
from tests.conftest import person, request_to
from tests.test_annotations import begun
from tests.test_consumers import Page, enter  # noqa: F401 (a fixture)

GET, POST = "GET", "POST"
WORD = "zyzzyva"  # stands in everything of the run: prompt, output, label, comment
STATES = ("private", "team", "shared", "trashed", "purged")
PEOPLE = ("stranger", "other", "reviewer", "member", "author", "owner", "admin")
TEAM = {"reviewer", "member", "author", "owner"}
MISSING = 987_654_321


# --- Rules: (state) → who may ----------------------------------------------------------------

Rule = Callable[[str], set[str]]


def anyone(state: str) -> set[str]:
    return set(PEOPLE)


def user(state: str) -> set[str]:
    """Whoever has logged in; what they get is their own."""
    return set(PEOPLE) - {"stranger"}


def in_a_team(state: str) -> set[str]:
    return TEAM | {"other"}


def runs_here(state: str) -> set[str]:
    """In their own team, whoever may start runs."""
    return in_a_team(state) - {"reviewer"}


def read(state: str) -> set[str]:
    """Read, rate, comment, label."""
    return {"private": {"author"}, "team": TEAM, "shared": TEAM}.get(state, set())


def spend(state: str) -> set[str]:
    return read(state) - {"reviewer"}


def own(state: str) -> set[str]:
    return read(state) & {"author"}


def manage(state: str) -> set[str]:
    """Delete and share: own ones; an owner any that the team sees."""
    return read(state) & {"author", "owner"}


def manage_trashed(state: str) -> set[str]:
    return {"author", "owner"} if state == "trashed" else set()


def manage_link(state: str) -> set[str]:
    """A link to a run in the trash can be revoked too."""
    return {"private": {"author"}, "purged": set()}.get(state, {"author", "owner"})


def in_the_team(state: str) -> set[str]:
    return TEAM


def owner(state: str) -> set[str]:
    return {"owner"}


def an_owner(state: str) -> set[str]:
    """Of the own team."""
    return {"owner", "other"}


def author(state: str) -> set[str]:
    return {"author"}


def with_the_link(state: str) -> set[str]:
    return set() if state in ("trashed", "purged") else set(PEOPLE)


def copy(state: str) -> set[str]:
    """What is behind a link, into one's own draft."""
    return with_the_link(state) - {"stranger"}


# --- The table -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    name: str  # of the address, or its route where it has none
    method: str
    rule: Rule
    thing: str = ""
    data: dict[str, str] = field(default_factory=dict)  # "{run}", "{comparison}" are filled in
    public: bool = False  # no login is asked for


STREAMED = {"transfer_file"}  # their own test: what is sent is made by other threads
LIVE = {"stop", "stop_all", "again", "history_again"}  # their own test: the runner writes by itself
RUN = {"runs": "{run}", "ids": "{run}"}
FIELD = re.compile(r"\{(\w+)\}")
TABLE = [
    Row("compose", GET, user),
    Row("compose", GET, read, data={"continue": "{run}"}),
    Row("compose", GET, read, data={"from": "{run}"}),
    Row("compose", GET, read, data={"from": "{run}", "only": "1"}),
    Row("compose", GET, copy, data={"shared": "{token}"}),
    Row("palette", GET, user),
    Row("start", POST, runs_here, data={"document": "{}"}),
    Row("comparison", GET, read, "comparison"),
    Row("rows", GET, read, "comparison"),
    Row("rows_csv", GET, read, "comparison"),
    Row("stop_all", POST, spend, "comparison"),
    Row("visibility", POST, own, "comparison", {"to": "team"}),
    Row("to_trash", POST, manage, "comparison"),
    Row("restore", POST, manage_trashed, "comparison"),
    Row("purge", POST, manage_trashed, "comparison"),
    Row("share", POST, manage, "comparison"),
    Row("runs", GET, user, data=RUN),
    Row("difference", GET, user, data={"ids": "{run}"}),
    Row("cells", GET, user, data={"cells": "{run}", "stacks": "{run}"}),
    Row("timeline", GET, user, data={"ids": "{run}"}),
    Row("arrivals", GET, user, data={"ids": "{run}"}),
    Row("run", GET, read, "run"),
    Row("run_text", GET, read, "run"),
    Row("run_prompt", GET, read, "run"),
    Row("run_continuation", GET, read, "run"),
    Row("run_markdown", GET, read, "run"),
    Row("run_json", GET, read, "run"),
    Row("run_sent", GET, read, "run"),
    Row("run_tokens", GET, read, data=RUN),
    Row("run_probabilities", GET, read, "run"),
    Row("settings", GET, read, "run"),
    Row("again", POST, spend, "run"),
    Row("stop", POST, spend, "run"),
    Row("branch", POST, spend, "run", {"at": "0"}),
    Row("labels", POST, read, "run", {"label": "x"}),
    Row("facts", POST, read, "run", {"key": "a", "value": "b"}),
    Row("star", POST, read, "run", {"on": "1"}),
    Row("rate", POST, read, "run", {"value": "3"}),
    Row("comments", GET, read, "run"),
    Row("comments", POST, read, "run", {"text": "Good"}),
    Row("comment", GET, own, "comment"),
    Row("comment", POST, own, "comment", {"text": "Better"}),
    Row("history", GET, user),
    Row("history", GET, user, data={"q": "aare"}),
    Row("history_facets", GET, user),
    Row("keys", GET, user),
    Row("history_filters", GET, user),
    Row("history_complete", GET, user, data={"q": "label:", "at": "6"}),
    Row("history_preview", GET, read, "run"),
    Row("history_unfold", GET, read, "comparison"),
    Row("stats", GET, user),
    Row("stats", GET, user, data={"q": "aare", "period": "all"}),
    Row("stats_csv", GET, in_a_team, data={"table": "label"}),
    Row("stats_csv", GET, an_owner, data={"table": "member"}),
    Row("history_again", POST, spend, data={"row": "comparison-{comparison}"}),
    Row("save_view", POST, in_a_team, data={"name": "x", "query": "q=x"}),
    Row("delete_view", POST, author, "view"),
    Row("reviews", GET, user),
    Row("review_new", GET, in_a_team, data={"rows": "{row}"}),
    Row("review_new", POST, in_a_team, data={"rows": "{row}", "name": "x"}),
    Row("queue", GET, read, "queue"),
    Row("queue_item", GET, read, "item"),
    Row("queue_progress", GET, read, "queue"),
    Row("queue_take", POST, read, "queue"),
    Row("queue_delete", POST, manage, "queue"),
    Row("panel", GET, read, "panel"),
    Row("vote", POST, read, "panel", {"vote": "u"}),
    Row("reveal", POST, read, "panel"),
    Row("panel_result", GET, read, "panel"),
    Row("panel_round", GET, own, "round"),
    Row("votes_csv", GET, own, "panel"),
    Row("panel_delete", POST, manage, "panel"),
    Row("triage", POST, read, data={"do": "rate", "value": "3", "row": "{row}"}),
    Row("triage", POST, read, data={"do": "label", "value": "x", "row": "{row}"}),
    Row("triage", POST, read, data={"do": "star", "row": "comparison-{comparison}"}),
    Row("triage", POST, read, data={"do": "trash", "row": "{row}"}),
    Row("triage", POST, manage_trashed, data={"do": "restore", "row": "{row}"}),
    Row("compare", GET, read, data={"rows": "run-{run}"}),
    Row("presets", GET, user),
    Row("presets", POST, user, data={"name": "x", "settings": "{}"}),
    Row("preset", POST, author, "preset", {"name": "y"}),
    Row("preset_delete", POST, author, "preset"),
    Row("drafts", GET, user),
    Row("draft_save", POST, user, data={"document": "{}", "version": "0"}),
    Row("draft", GET, author, "draft"),
    Row("labels_page", GET, in_a_team),
    Row("known_labels", GET, in_a_team),
    Row("rename_label", POST, owner, "label", {"name": "y"}),
    Row(
        "bulk",
        POST,
        in_a_team,
        data={"do": "label", "value": "x", "row": "comparison-{comparison}"},
    ),
    Row("bulk", POST, in_a_team, data={"do": "trash", "row": "comparison-{comparison}"}),
    Row("bulk", POST, in_a_team, data={"do": "rate", "value": "3", "row": "run-{run}"}),
    Row("bulk", POST, in_a_team, data={"do": "purge", "row": "comparison-{comparison}"}),
    Row("bulk", POST, in_a_team, data={"do": "star", "row": "run-{run}"}),
    Row("job", GET, author, "job"),
    Row("undo_job", POST, author, "job"),
    Row("stop_job", POST, author, "job"),
    Row("export", GET, in_a_team),
    Row("export", GET, read, data={"comparison": "{comparison}"}),
    Row("export", POST, read, data={"comparison": "{comparison}", "layout": "csv"}),
    Row("import", GET, runs_here),
    Row("import", POST, runs_here),
    Row("transfer", GET, author, "transfer"),
    Row("stop_transfer", POST, author, "transfer"),
    Row("transfer_file", GET, author, "transfer"),
    Row("trash", GET, runs_here),
    Row("retention", POST, an_owner, data={"trash_after": "9"}),
    Row("shares", GET, user),
    Row("revoke", POST, manage_link, "share"),
    Row("shared", GET, with_the_link, "token", public=True),
    Row("reference", GET, user),
    Row("check", POST, user, data={"document": "{}"}),
    Row("plan", POST, user, data={"document": "{}"}),
    Row("table", POST, user, data={"text": "a,b\n1,2"}),
    Row("code", POST, user, data={"document": "{}"}),
    Row("paste", POST, user, data={"text": "{}"}),
    Row("tokens", POST, in_the_team, "connection", {"text": "Hi"}),
    Row("context", GET, in_the_team, "connection"),
    Row("models", GET, in_the_team, "connection"),
    Row("backends", GET, user),
    Row("left", GET, user),
    Row("login", GET, anyone, public=True),
    Row("login_link", GET, anyone, "link", public=True),
    Row("password", GET, user),
    Row("login_code", GET, anyone, public=True),
    Row("two_factor", GET, user),
    Row("two_factor_confirm", POST, user, data={"code": "1"}),
    Row("two_factor_change", POST, user, data={"code": "1"}),
    Row("sessions", GET, user),
    Row("sessions_end", POST, author, "login"),
    Row("sessions_end_others", POST, user),
    Row("confirm", GET, user),
    Row("team_page", GET, in_a_team),
    Row("invite", POST, an_owner, data={"role": "member", "most_uses": "1"}),
    Row("revoke_invitation", POST, owner, "invitation"),
    Row("team_member", POST, owner, "membership", {"role": "reviewer"}),
    Row("join", GET, anyone, "joining", public=True),
    Row("team", POST, in_the_team, "team"),
    Row("favicon.ico", GET, anyone, public=True),
    Row("logout", POST, user),
]


def addresses(patterns: list[Any], prefix: str = "") -> dict[str, str]:
    """{name or route: namespace} of all addresses; the admin site is another test's."""
    found: dict[str, str] = {}
    for each in patterns:
        if isinstance(each, URLResolver):
            if each.namespace != "admin":
                found |= addresses(each.url_patterns, prefix + str(each.pattern))
        elif isinstance(each, URLPattern):
            found[each.name or prefix + str(each.pattern)] = prefix
    return found


def test_every_address_has_a_line_in_the_table() -> None:
    known = {row.name for row in TABLE}
    there = set(addresses(get_resolver().url_patterns))
    assert not there - known, (
        f"new addresses {sorted(there - known)}: say who may use each, with a line "
        "Row(name, GET or POST, rule, thing, {data}) in TABLE of tests/test_rights.py"
    )
    assert not known - there, f"TABLE names addresses that are gone: {sorted(known - there)}"


# --- The world -----------------------------------------------------------------------------


class World:
    """One run with everything that hangs on it, in one state, and the people."""

    def __init__(self, state: str, base_url: str) -> None:
        cache.clear()  # what another world's people were shown
        self.state = state
        self.clients: dict[str, Client] = {}
        self.team = Team.objects.create(name="Evals")
        others = Team.objects.create(name="Others")
        role = Membership.Role
        self.people: dict[str, User] = {
            "other": person("charlie", others, role.OWNER),
            "reviewer": person("rita", self.team, role.REVIEWER),
            "member": person("mia", self.team, role.MEMBER),
            "author": person("bob", self.team, role.MEMBER),
            "owner": person("alice", self.team, role.OWNER),
            "admin": User.objects.create_superuser("root"),
        }
        self.connection = Connection.objects.create(
            name="fake",
            provider="local",
            dialect="llama.cpp",
            base_url=base_url,
            reaches_local=True,
            all_teams=False,
        )
        self.connection.teams.add(self.team)
        self.things: dict[str, Any] = {"team": self.team.pk, "connection": self.connection.pk}
        self._run(self.people["author"])
        self._move(state)
        self.clients = {who: self.client(who, anew=True) for who in PEOPLE}

    def _ended(self, by: User) -> Run:
        """A run that has WORD wherever it can have it."""
        run = begun(by, self.connection).runs.get()
        run.request = request_to(self.connection, prompt=f"Say {WORD}").to_json()
        run.prompt_preview = run.output_preview = f"Say {WORD}"
        run.save()
        Comparison.objects.filter(pk=run.comparison_id).update(document=f'{{"prompt": "{WORD}"}}')
        Choice.objects.create(run=run, index=0, text=f"{WORD}!", finish_reason="stop", sha256="")
        return run

    def _run(self, by: User) -> None:
        run = self._ended(by)
        made = run.comparison
        [label] = Label.objects.named(self.team.pk, [f"is={WORD}"])
        RunLabel.objects.put([run.pk], [label])
        Rating.objects.give(run, by, 4)
        comment = Comment.write(run, by, f"A {WORD}")
        share, token = Share.objects.make(made, by, [run])
        membership = by.membership()
        assert membership is not None
        job = Job.objects.begin(Job.Kind.LABEL, membership, [run.pk], label=label)
        job.step()
        view = SavedView.objects.keep(membership, "mine", query="q=x")
        preset = Preset.objects.keep(by, "mine", {}, shared=False)
        draft = Draft.objects.create(user=by, kept=True, document="{}")
        alice = self.people["owner"]
        invitation, joining = Invitation.objects.make(self.team, alice, Membership.Role.MEMBER)
        transfer = Transfer.objects.create(
            kind=Transfer.Kind.EXPORT,
            team=self.team,
            author=by,
            layout="jsonl",
            selection=Selection.now().to_json(),
            name="runs.jsonl",
        )
        login = Login.objects.create(user=by, session_key="elsewhere", browser="Firefox")
        self.things |= {
            "login": login.pk,
            "run": run.pk,
            "comparison": made.pk,
            "label": label.pk,
            "comment": comment.pk,
            "share": share.pk,
            "job": job.pk,
            "token": token,
            "link": LoginLink.make(by),
            "view": view.pk,
            "preset": preset.pk,
            "draft": draft.pk,
            "membership": self.people["reviewer"].memberships.get().pk,
            "invitation": invitation.pk,
            "joining": joining,
            "row": f"run-{run.pk}",
            "transfer": transfer.pk,
        }
        self._reviewed(by, membership, run)

    def _reviewed(self, by: User, membership: Membership, run: Run) -> None:
        """In a queue, and in a panel whose names this person knows."""
        queue = Queue.objects.begin(membership, "To review", [run.pk])
        panel = Panel.objects.create(team=self.team, author=by, name="Which?")
        sides = [
            Entry.objects.create(panel=panel, run=run, prompt=0, contestant=name) for name in "ab"
        ]
        one = Round.objects.create(panel=panel, position=1)
        for place, entry in enumerate(sides):
            Seat.objects.create(round=one, place=place, entry=entry)
        Judge.objects.of(panel, by).reveal(by, membership)
        self.things |= {
            "queue": queue.pk,
            "item": (queue.pk, queue.items.get().pk),
            "panel": panel.pk,
            "round": (panel.pk, 1),
        }

    def client(self, who: str, *, anew: bool) -> Client:
        """Logged in once, or anew for what changes the login."""
        if not anew and who in self.clients:
            return self.clients[who]
        client = Client()
        if who != "stranger":
            client.force_login(self.people[who])
        return client

    def _move(self, state: str) -> None:
        made = Comparison.objects.get(pk=self.things["comparison"])
        if state == "private":
            made.show_to("private")
        if state in ("trashed", "purged"):
            Comparison.objects.move([made.pk], deleted_at=timezone.now())
            made.refresh_from_db()
        if state == "purged":
            made.purge()

    def address(self, row: Row, thing: Any) -> str:
        if not row.thing:
            return reverse(row.name) if row.name != "favicon.ico" else "/favicon.ico"
        return reverse(row.name, args=thing if isinstance(thing, tuple) else [thing])

    def filled(self, row: Row, missing: bool) -> dict[str, str]:
        things = dict(self.things)
        if missing:
            things |= {"run": MISSING, "comparison": MISSING, "token": "never-made"}
            things |= {"row": f"run-{MISSING}"}

        def fill(value: str) -> str:
            return FIELD.sub(lambda found: str(things.get(found[1], found[0])), value)

        return {name: fill(value) for name, value in row.data.items()}


def asked(world: World, row: Row, missing: bool) -> tuple[str, dict[str, str]]:
    """The address and what goes with it; about the run, or about one that is not there."""
    thing = world.things.get(row.thing)
    if missing:
        thing = "never-made" if row.thing in ("token", "link", "joining") else MISSING
        if row.thing in ("item", "round"):
            thing = (MISSING, MISSING)
    return world.address(row, thing), world.filled(row, missing)


def ask(world: World, row: Row, who: str, *, missing: bool = False) -> HttpResponse:
    """By a session of their own; what it changes is undone."""
    address, data = asked(world, row, missing)
    with transaction.atomic():
        client = world.client(who, anew=row.name in ("login_link", "logout"))
        send = client.get if row.method == GET else client.post
        answer: HttpResponse = send(address, data)  # type: ignore[assignment]
        transaction.set_rollback(True)
    return answer


def allowed(answer: HttpResponse) -> bool:
    """Refused is: not there, not yours, or first log in."""
    if answer.status_code in (301, 302):
        return not answer["Location"].startswith("/login/?next=")
    return answer.status_code not in (401, 403, 404)


def seen(world: World, answer: HttpResponse) -> tuple[int, dict[str, str], str]:
    """All that a person can tell from an answer, without the ids and tokens that they sent."""
    sent = [str(MISSING), "never-made"]
    sent += [str(world.things[name]) for name in ("token", "link", "joining")]
    text = answer.content.decode()
    text = re.sub(r'"X-CSRFToken": "\w+"|name="csrfmiddlewaretoken" value="\w+"', "", text)
    head = {k: v for k, v in answer.headers.items() if k != "Content-Length"}
    for each in sent:
        text = text.replace(each, "…")
        head = {name: value.replace(each, "…") for name, value in head.items()}
    head["Location"] = re.sub(r"\d+|…", "…", head.get("Location", ""))
    return answer.status_code, head, text


def depends(row: Row) -> bool:
    """Whether an answer could depend on the run; else one state is enough."""
    of_a_run = row.thing not in ("", "connection", "team", "link", "invitation", "membership")
    return of_a_run or row.method == GET or any("{" in value for value in row.data.values())


def faults(world: World, row: Row) -> Iterator[str]:
    """What this address does otherwise than the table says."""
    may, readers = row.rule(world.state), read(world.state)
    for who in PEOPLE:
        answer = ask(world, row, who)
        said = f"{row.method} {row.name} of a {world.state} run: {who} "
        if allowed(answer) != (who in may):
            yield f"{said}{'may' if who in may else 'may not'}, and got {answer.status_code}"
        if who not in may and (row.thing or row.data):
            hidden = who not in readers or answer.status_code != 403
            if hidden and seen(world, answer) != seen(world, ask(world, row, who, missing=True)):
                yield said + "can tell it from one that is not there"
        if who == "stranger" and not row.public and answer.status_code != 302:
            yield said + "is not sent to the login"
        open_to = readers | (
            may if row.name in ("shared", "trash", "purge", "restore", "triage") else set()
        )
        open_to |= (
            {"author"} if row.name in ("job", "stop_job", "undo_job", "labels_page") else set()
        )
        if who not in open_to and "shared" not in row.data and WORD in answer.content.decode():
            yield said + "reads a word that is not for them"


@pytest.mark.parametrize("state", STATES)
def test_it_allows_exactly_what_the_table_says(state: str, db: None, provider: Any) -> None:
    world = World(state, provider.url)
    rows = [
        row
        for row in TABLE
        if row.name not in LIVE | STREAMED and (state == "team" or depends(row))
    ]
    found = [fault for row in rows for fault in faults(world, row)]
    assert not found, "\n".join(found)


make = sync_to_async(World)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("state", STATES)
async def test_runs_are_stopped_by_whoever_could_have_started_them(
    state: str, runner: Runner, provider: Any
) -> None:
    world = await make(state, provider.url)
    for row in [row for row in TABLE if row.name in LIVE]:
        for who in PEOPLE:
            client = AsyncClient()
            if who != "stranger":
                await client.aforce_login(world.people[who])
            answer: Any = await client.post(*asked(world, row, False))
            assert allowed(answer) == (who in row.rule(state)), f"{who}: {answer.status_code}"
            if who not in read(state):
                absent: Any = await client.post(*asked(world, row, True))
                assert seen(world, answer) == seen(world, absent)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("state", STATES)
async def test_an_export_is_sent_to_whoever_began_it(state: str, provider: Any) -> None:
    """With what they may see now; the trash is not in it."""
    world = await make(state, provider.url)
    [row] = [row for row in TABLE if row.name in STREAMED]
    for who in PEOPLE:
        client = AsyncClient()
        if who != "stranger":
            await client.aforce_login(world.people[who])
        answer: Any = await client.get(asked(world, row, False)[0])
        assert allowed(answer) == (who in row.rule(state)), f"{who}: {answer.status_code}"
        if not answer.streaming:
            absent: Any = await client.get(asked(world, row, True)[0])
            assert seen(world, answer) == seen(world, absent)
            continue
        content = b"".join([part async for part in answer])
        assert (WORD.encode() in content) == (state not in ("trashed", "purged"))
    await sync_to_async(close_pool)()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("state", STATES)
async def test_the_socket_follows_what_one_may_read(
    state: str,
    provider: Any,
    enter: Callable[..., Any],  # noqa: F811
) -> None:
    world = await make(state, provider.url)
    for who in sorted(set(PEOPLE) - {"stranger"}):
        page: Page = await enter(world.people[who])
        said = []
        for run in (world.things["run"], MISSING):
            await page.say({"follow": {run: 0}})
            said.append(await page.take())
        missing = {"error": "not found", "run": MISSING}
        assert said[1] == missing
        if who in read(state):
            assert "finished" in said[0]
        else:
            assert said[0] == {**missing, "run": world.things["run"]}
    stranger = await enter(None)
    assert await stranger.close_code() == SESSION_ENDED


# --- Commands: by whoever has a shell on the server ------------------------------------------

# What acts for a person, with the rule of who may; the rest is of the server and of no person.
FOR_A_PERSON: dict[str, Rule] = {"export": in_a_team, "import": runs_here, "complete": runs_here}
OF_THE_SERVER = {
    "connection",
    "login_link",
    "parameters",
    "prepare",
    "probe",
    "rebuild_statistics",
    "reset_two_factor",
    "rotate_keys",
    "start",
}


def test_every_command_has_a_line() -> None:
    ours = {name for name, app in get_commands().items() if app == "playground"}
    assert ours == OF_THE_SERVER | set(FOR_A_PERSON), "say in whose name it acts"


def command(world: World, name: str, who: str, *arguments: str) -> str:
    """What it complains about; "" where it does its work."""
    user = world.people[who].username if who in world.people else "nobody-here"
    try:
        call_command(name, *arguments, user=user, stdout=StringIO(), stderr=StringIO())
    except CommandError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("state", STATES)
def test_an_export_by_command_holds_what_its_person_may_see(
    state: str, db: None, provider: Any, tmp_path: Path
) -> None:
    world = World(state, provider.url)
    seen = set(read(state))
    for who in PEOPLE:
        for layout in ("jsonl", "csv"):
            path = tmp_path / f"{who}.{layout}"
            complaint = command(world, "export", who, str(path), "--layout", layout)
            assert (complaint == "") == (who in FOR_A_PERSON["export"](state)), (who, complaint)
            if not complaint:
                assert (WORD in path.read_text()) == (who in seen), f"{who} of a {state} run"
            assert WORD not in complaint


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["import", "complete"])
def test_commands_start_runs_for_whoever_could_start_them(
    name: str, provider: Any, tmp_path: Path
) -> None:
    world = World("team", provider.url)
    path = tmp_path / "runs.jsonl"
    assert command(world, "export", "author", str(path)) == ""
    what = [str(path)] if name == "import" else ["Hi", "--connection", "no-such"]
    for who in PEOPLE:
        complaint = command(world, name, who, *what)
        refused = "There is no user" in complaint or "no team" in complaint
        refused = refused or "cannot start or import runs" in complaint
        assert refused == (who not in FOR_A_PERSON[name]("team")), (who, complaint)
    assert not provider.requests
    there = Run.objects.visible_to(world.people["other"])
    assert there.count() == (1 if name == "import" else 0)


@pytest.mark.django_db
def test_a_connection_of_another_team_is_unknown_to_a_command(provider: Any) -> None:
    world = World("team", provider.url)
    said = command(world, "complete", "other", "Hi", "--connection", "fake")
    assert said == command(world, "complete", "other", "Hi", "--connection", "fame").replace(
        "fame", "fake"
    )
    assert not provider.requests


@pytest.mark.django_db
@pytest.mark.parametrize("who", PEOPLE)
def test_the_admin_site_is_for_staff(who: str, client: Any, provider: Any) -> None:
    world = World("team", provider.url)
    if who != "stranger":
        client.force_login(world.people[who])
    admin = next(
        each for each in get_resolver().url_patterns if getattr(each, "namespace", "") == "admin"
    )
    plain = [each for each in admin.url_patterns if isinstance(each, URLPattern) and each.name]
    for each in plain:
        if "<" in str(each.pattern) or each.name in ("login", "logout"):
            continue
        answer = client.get(f"/admin/{each.pattern}")
        if who == "admin":
            assert answer.status_code in (200, 302, 400, 403, 404), each
        else:
            assert answer.status_code in (302, 404), each
        assert WORD not in answer.content.decode()
