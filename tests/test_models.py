"""State: who sees what, which labels are the same, links that work once, keys that stay shut."""

import threading
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import ValidationError
from django.db import connections
from django.utils import timezone

from playground.axes import Place
from playground.completion import CompletionRequest
from playground.models import (
    ApiKey,
    Comparison,
    Connection,
    Label,
    LoginLink,
    Membership,
    Process,
    Run,
    RunLabel,
    Team,
    User,
    first_start,
)
from playground.models.choices import packed, unpacked
from playground.models.connections import clean_base_url
from playground.models.keys import clean_key, origin
from playground.models.labels import clean_label
from playground.models.runs import preview
from tests.conftest import request_to

pytestmark = pytest.mark.django_db

KEY = "sk-test-SECRET04"


@pytest.fixture
def process(db: None) -> Process:
    return Process.objects.create(host="h", pid=1, started="1")


def begin(
    user: User, connection: Connection, process: Process, *requests: CompletionRequest, **more: Any
) -> Comparison:
    membership = user.membership()
    assert membership is not None
    columns = [(connection, request) for request in requests or [request_to(connection)]]
    return Comparison.objects.begin(membership, columns, owner=process, **more)


# --- Who sees what -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("visibility", "deleted", "seen_by"),
    [
        ("team", False, {"alice", "bob", "rita"}),
        ("private", False, {"alice"}),
        ("team", True, set()),
        ("private", True, set()),
    ],
)
def test_a_run_is_seen_by_whom_it_is_for(
    alice: User,
    bob: User,
    rita: User,
    charlie: User,
    connection: Connection,
    process: Process,
    visibility: str,
    deleted: bool,
    seen_by: set[str],
) -> None:
    loner = User.objects.create_user("loner")
    comparison = begin(alice, connection, process, visibility=visibility)
    if deleted:
        comparison.runs.update(deleted_at=timezone.now())
        Comparison.objects.update(deleted_at=timezone.now())
    people = (alice, bob, rita, charlie, loner)
    for queryset in (Comparison.objects, Run.objects):
        seen = {user.username for user in people if queryset.visible_to(user).exists()}
        assert seen == seen_by


def test_runs_are_seen_in_the_current_team_only(
    alice: User, connection: Connection, process: Process
) -> None:
    begin(alice, connection, process)
    second = Team.objects.create(name="Second")
    Membership.objects.create(team=second, user=alice)
    alice.current_team = second
    assert not Run.objects.visible_to(alice).exists()
    alice.current_team = None  # gone: the first one
    assert Run.objects.visible_to(alice).exists()


def test_who_has_left_the_team_sees_nothing_of_it(
    alice: User, bob: User, connection: Connection, process: Process
) -> None:
    begin(bob, connection, process)
    bob.memberships.all().delete()
    assert not Run.objects.visible_to(bob).exists()
    assert Run.objects.visible_to(alice).exists()


@pytest.mark.parametrize(("role", "may"), [("owner", True), ("member", True), ("reviewer", False)])
def test_reviewers_do_not_run(role: str, may: bool) -> None:
    assert Membership(role=role).may_run is may


# --- Runs ----------------------------------------------------------------------------------


def test_runs_repeat_what_lists_need(alice: User, connection: Connection, process: Process) -> None:
    requests = [request_to(connection, prompt="a \n b"), request_to(connection, "chat")]
    comparison = begin(alice, connection, process, *requests, visibility="private")
    runs = list(comparison.runs.order_by("position"))
    assert [run.letter for run in runs] == ["A", "B"]
    assert [run.prompt_preview for run in runs] == ["a b", "Hi"]
    for run, request in zip(runs, requests, strict=True):
        assert (run.team, run.author, run.visibility) == (alice.current_team, alice, "private")
        assert run.request_value() == request
        assert (run.status, run.live, run.streams) == ("queued", True, True)


def test_several_runs_share_a_column_and_know_their_place(
    alice: User, connection: Connection, process: Process
) -> None:
    places = [Place(0), Place(1, {"values": {"temperature": "0.4"}}), Place(1, {"repeat": 1})]
    comparison = begin(
        alice,
        connection,
        process,
        *[request_to(connection)] * 3,
        places=places,
        axes={"fields": ["temperature"]},
    )
    runs = list(comparison.runs.order_by("position"))
    assert [run.place for run in runs] == places
    assert [run.letter for run in runs] == ["A", "B", "B"]
    assert [run.position for run in runs] == [0, 1, 2]
    assert Comparison.objects.get().axes_value == {"fields": ["temperature"]}


def test_without_places_each_request_is_a_column(
    alice: User, connection: Connection, process: Process
) -> None:
    comparison = begin(alice, connection, process, *[request_to(connection)] * 3)
    assert [run.letter for run in comparison.runs.order_by("position")] == ["A", "B", "C"]
    assert comparison.axes_value == {}


def test_columns_are_lettered_beyond_z() -> None:
    assert [Run(column=n).letter for n in (0, 25, 26, 27, 701, 702)] == [
        "A", "Z", "AA", "AB", "ZZ", "AAA",
    ]  # fmt: skip


def test_a_run_is_claimed_once(alice: User, connection: Connection, process: Process) -> None:
    begin(alice, connection, process, *[request_to(connection)] * 3)
    other = Process.objects.create(host="h", pid=2, started="2")
    first, second, third = Run.objects.order_by("pk")
    assert first.take(process)
    assert not Run.objects.get(pk=first.pk).take(other)
    assert second.ask_to_stop()
    assert not second.take(process)
    assert [run.pk for run in Run.objects.claim(9, process)] == [third.pk]
    assert Run.objects.claim(9, other) == []


def test_a_connection_takes_no_more_than_its_parallel_requests(
    alice: User, connect: Callable[..., Connection], process: Process
) -> None:
    narrow, wide = connect("narrow", parallel=1), connect("wide")
    begin(alice, narrow, process, *[request_to(narrow)] * 3)
    begin(alice, wide, process, *[request_to(wide)] * 3)
    claimed = Run.objects.claim(3, process)
    assert [run.connection_name for run in claimed] == ["narrow", "wide", "wide"]
    Run.objects.filter(pk=claimed[0].pk).update(status="completed")
    assert [run.connection_name for run in Run.objects.claim(9, process)] == ["narrow", "wide"]


def test_a_run_that_has_ended_cannot_be_asked_to_stop(
    alice: User, connection: Connection, process: Process
) -> None:
    run = begin(alice, connection, process).runs.get()
    Run.objects.update(status="completed")
    assert not run.ask_to_stop()


@pytest.mark.parametrize(
    ("tokens", "first", "total", "expected"),
    [(11, 1000.0, 2000.0, 10.0), (None, 1.0, 2.0, None), (0, 1.0, 2.0, None),
     (1, 1.0, 2000.0, None),      (5, None, 2.0, None), (5, 1.0, None, None), (5, 2.0, 2.0, None)],
)  # fmt: skip
def test_tokens_a_second_are_of_the_time_after_the_first(
    tokens: int | None, first: float | None, total: float | None, expected: float | None
) -> None:
    run = Run(completion_tokens=tokens, first_token_ms=first, total_ms=total)
    assert run.tokens_per_second == expected


def test_lists_read_no_big_column(
    alice: User, connection: Connection, process: Process, django_assert_num_queries: Any
) -> None:
    for _ in range(3):
        begin(alice, connection, process, request_to(connection), request_to(connection))
    with django_assert_num_queries(4) as queries:
        listed = list(Comparison.objects.visible_to(alice).listed())
        assert [len(comparison.runs.all()) for comparison in listed] == [2, 2, 2]
        for comparison in listed:
            assert comparison.author == alice
            assert [list(run.labels.all()) for run in comparison.runs.all()] == [[], []]
    selected = " ".join(query["sql"].partition("FROM")[0] for query in queries.captured_queries)
    for column in (*Run.BIG, "document"):
        assert f'"{column}"' not in selected


def test_a_preview_of_the_next_tokens_is_nothing_to_go_back_to_or_to_compare_with(
    alice: User, connection: Connection, process: Process
) -> None:
    ran = begin(alice, connection, process, request_to(connection, max_tokens=24))
    ahead = replace(request_to(connection, max_tokens=16), labels=("Preview",))
    ghost = begin(alice, connection, process, ahead, visibility="private")
    assert Comparison.objects.newest_of(alice) == ran
    again = begin(alice, connection, process, request_to(connection, max_tokens=24))
    assert again.change_list == [["said", "nothing changed", "", ""]]
    ghost.show_to("team")  # whoever shows it to the team means it
    again.trash()
    assert Comparison.objects.newest_of(alice) == ghost


def test_a_preview_is_one_short_line() -> None:
    assert preview("  a\n\tb ") == "a b"
    assert len(preview("x" * 1000)) == 200


@pytest.mark.parametrize("value", [[], [1, {"a": None}], {"a": "é\ud83d"}, [[0.1, 3]]])
def test_what_is_packed_can_be_unpacked(value: Any) -> None:
    assert unpacked(packed(value)) == value
    assert unpacked(memoryview(packed(value))) == value
    assert unpacked(None) == []


# --- Labels --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["Test", "test", " test ", "TEST\n", "\u00a0Test", "\u2003test\u2003"]
)
def test_case_and_outer_space_make_no_other_label(team: Team, name: str) -> None:
    [first] = Label.objects.named(team.pk, ["Test"])
    assert Label.objects.named(team.pk, [name]) == [first]
    assert str(first) == "Test"  # as first typed
    assert Label.objects.count() == 1


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_the_unicode_form_makes_no_other_label(team: Team, form: Any) -> None:
    [first] = Label.objects.named(team.pk, ["Caf\u00e9 ß"])
    assert Label.objects.named(team.pk, [unicodedata.normalize(form, "CAFÉ  ss")]) == [first]


def test_labels_belong_to_a_team(team: Team) -> None:
    other = Team.objects.create(name="Other")
    assert Label.objects.named(team.pk, ["a"]) != Label.objects.named(other.pk, ["a"])


@pytest.mark.parametrize("name", ["", " \n", "x" * 101, "a\0b"])
def test_a_label_without_a_name_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        clean_label(name)


@pytest.mark.parametrize("name", ["x" * 100, "ΐ" * 100, "<script>", "=1+1", "a = b"])
def test_any_short_text_is_a_label(team: Team, name: str) -> None:
    [label] = Label.objects.named(team.pk, [name])
    assert label.name == unicodedata.normalize("NFC", name)


def test_a_run_has_one_value_per_key_and_a_new_one_replaces_it(
    alice: User, connection: Connection, process: Process, team: Team
) -> None:
    run = begin(alice, connection, process).runs.get()

    def put(*names: str) -> list[str]:
        RunLabel.objects.put([run.pk], Label.objects.named(team.pk, names))
        return sorted(label.name for label in run.labels.all())

    assert put("stage=draft", "good") == ["good", "stage=draft"]
    assert put("Stage = final") == ["Stage = final", "good"]
    assert put("GOOD") == ["Stage = final", "good"]
    assert len(put("a=1", "a=2")) == 3


def test_labels_of_a_request_are_on_the_run_at_once(
    alice: User, connection: Connection, process: Process
) -> None:
    request = CompletionRequest("local", "completions", "m", labels=("a", "A", "k=v"))
    run = begin(alice, connection, process, request).runs.get()
    assert sorted(label.name for label in run.labels.all()) in (["a", "k=v"], ["A", "k=v"])


# --- Login links ---------------------------------------------------------------------------


def test_a_link_works_once(alice: User) -> None:
    token = LoginLink.make(alice)
    assert LoginLink.redeem(token) == alice
    assert LoginLink.redeem(token) is None
    assert token not in repr(LoginLink.objects.values())


@pytest.mark.parametrize("token", ["", "nonsense", "a\0", "é" * 500])
def test_an_unknown_link_does_nothing(alice: User, token: str) -> None:
    LoginLink.make(alice)
    assert LoginLink.redeem(token) is None


def test_a_link_is_too_late_after_a_quarter_of_an_hour(alice: User) -> None:
    token = LoginLink.make(alice)
    LoginLink.objects.update(created_at=timezone.now() - timedelta(minutes=15))
    assert LoginLink.redeem(token) is None
    LoginLink.make(alice)
    assert LoginLink.objects.count() == 1  # old ones are cleared away


def test_a_link_of_a_deactivated_user_does_nothing(alice: User) -> None:
    token = LoginLink.make(alice)
    User.objects.update(is_active=False)
    assert LoginLink.redeem(token) is None


@pytest.mark.django_db(transaction=True)
def test_of_two_browsers_at_once_one_gets_in(alice: User) -> None:
    token = LoginLink.make(alice)
    found: list[User | None] = []
    start = threading.Barrier(8)

    def redeem() -> None:
        start.wait()
        found.append(LoginLink.redeem(token))
        connections.close_all()

    threads = [threading.Thread(target=redeem) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(user is not None for user in found) == [False] * 7 + [True]


def test_the_first_start_makes_an_admin_once(settings: Any) -> None:
    settings.EMBEDDED = True
    admin = first_start()
    assert first_start() == admin
    assert not admin.has_usable_password()
    membership = admin.membership()
    assert membership is not None
    assert membership.role == "owner"
    assert Connection.objects.get().embedded
    assert Team.objects.count() == 1


def test_a_start_without_an_active_admin_makes_one_of_another_name() -> None:
    former = first_start()
    User.objects.filter(pk=former.pk).update(is_active=False)
    again = first_start()
    assert (again.username, again.is_superuser, first_start()) == ("admin-2", True, again)


# --- Connections and keys ------------------------------------------------------------------


@pytest.mark.parametrize(
    "raw", [f"{KEY}\n", f" {KEY}", f"{KEY}\u00a0", f"\t{KEY}\r\n", f"\u2003{KEY}", KEY]
)
def test_white_space_around_a_key_is_trimmed(raw: str) -> None:
    assert clean_key(raw) == KEY


def test_no_key_is_fine() -> None:
    assert clean_key(" ") == ""


@pytest.mark.parametrize(
    "raw", [f"'{KEY}'", f'"{KEY}"', "schlüssel", "a b", "a\nb", "a\0b", "a\u200bb", "a\x7f", "“a”"]
)
def test_other_odd_characters_in_a_key_are_refused_without_printing_it(raw: str) -> None:
    with pytest.raises(ValidationError) as refused:
        clean_key(raw)
    assert raw not in str(refused.value)
    assert "SECRET" not in str(refused.value)


@pytest.mark.parametrize(("key", "shown"), [(KEY, "ET04"), ("short", ""), ("x" * 12, "xxxx")])
def test_of_a_key_only_the_last_four_are_shown(
    connection: Connection, key: str, shown: str
) -> None:
    made = connection.set_key(key)
    assert made.last_four == shown
    assert str(made) == f"…{shown} of fake"
    for text in (repr(made), repr([made]), repr(connection)):
        assert key not in text
    [row] = ApiKey.objects.raw("SELECT id, sealed AS state FROM playground_apikey")
    assert key not in row.state


def test_a_key_is_for_one_origin(connect: Callable[..., Connection]) -> None:
    connection = connect(base_url="https://api.example.com/v1", key=KEY)
    for url, usable in [
        ("https://api.example.com:443/v2", True),
        ("https://API.example.com/v1", True),
        ("http://api.example.com/v1", False),
        ("https://api.example.com:444/v1", False),
        ("https://api.example.com.evil.test/v1", False),
    ]:
        connection.base_url = url
        found = connection.key()
        assert (found is not None) is usable, url
        assert not usable or (found is not None and found.secret_for(url) == KEY)
        assert not connection.locked


@pytest.mark.parametrize("state", ["new", "retiring", "erased"])
def test_only_an_active_key_is_used(connection: Connection, state: str) -> None:
    connection.set_key(KEY)
    connection.keys.update(state=state)
    assert connection.key() is None


def test_a_key_that_cannot_be_decrypted_locks_the_connection(
    connection: Connection, settings: Any
) -> None:
    connection.set_key(KEY)
    connection.extra_headers = "X-Team: evals"
    connection.save()
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    again = Connection.objects.get(pk=connection.pk)
    assert again.locked
    assert again.key() is None
    assert again.headers() == {}
    again.set_key(KEY)
    assert not again.locked
    found = again.key()
    assert found is not None
    assert found.secret_for(again.base_url) == KEY


def test_an_older_encryption_key_still_decrypts(connection: Connection, settings: Any) -> None:
    connection.set_key(KEY)
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode(), *settings.ENCRYPTION_KEYS]
    assert Connection.objects.get(pk=connection.pk).key() is not None


def test_saving_a_locked_connection_keeps_its_headers(
    connection: Connection, settings: Any
) -> None:
    """The keys may only be away for a while."""
    connection.extra_headers = "X-Team: evals"
    connection.save()
    right = settings.ENCRYPTION_KEYS
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    locked = Connection.objects.get(pk=connection.pk)
    locked.enabled = False
    locked.save()
    settings.ENCRYPTION_KEYS = right
    assert Connection.objects.get(pk=connection.pk).headers() == {"X-Team": "evals"}


@pytest.mark.parametrize(
    "url",
    ["", "nonsense", "ftp://h/v1", "http://", "http://[", "http://h:0x/", "http://h:99999",
     "http://user:pass@h/v1", "http://h/v1?a=b", "http://h/v1#a", "javascript:alert(1)",
     "http://a..b/v1", "http://a b/v1"],
)  # fmt: skip
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ValidationError):
        clean_base_url(url)


@pytest.mark.parametrize(
    ("url", "clean"),
    [(" http://h/v1/ ", "http://h/v1"), ("https://[::1]:8080/v1", "https://[::1]:8080/v1"),
     ("http://bücher.example/v1", "http://bücher.example/v1")],
)  # fmt: skip
def test_an_address_is_trimmed(url: str, clean: str) -> None:
    assert clean_base_url(url) == clean
    assert origin(clean) == origin(url.strip())


def test_connections_are_usable_by_their_teams(
    connect: Callable[..., Connection], team: Team
) -> None:
    other = Team.objects.create(name="Other")
    connect("everyone")
    connect("ours", all_teams=False).teams.set([team, other])
    connect("theirs", all_teams=False).teams.set([other])
    connect("nobody", all_teams=False)
    connect("off", enabled=False)

    def names(team_id: int | None) -> list[str]:
        return [connection.name for connection in Connection.objects.usable_by(team_id)]

    assert names(team.pk) == ["everyone", "ours"]
    assert names(other.pk) == ["everyone", "ours", "theirs"]
    assert names(None) == ["everyone"]
