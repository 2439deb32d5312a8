"""The word diff of two outputs: which can be chosen, and by whom."""

import pytest
from django.test import Client
from django.urls import reverse

from playground.models import Connection, User
from playground.views import difference
from tests.conftest import request_to
from tests.test_view_outputs import begun, ended, text

pytestmark = pytest.mark.django_db


def get(user: User, **query: str) -> tuple[int, str]:
    client = Client()
    client.force_login(user)
    answer = client.get(reverse("difference"), query, headers={"HX-Request": "true"})
    return answer.status_code, answer.content.decode()


def test_two_columns_of_a_comparison(alice: User, rita: User, connection: Connection) -> None:
    a, b = begun(alice, *[(connection, request_to(connection))] * 2)
    ended(a, text("a small <b>bird"))
    ended(b, text("a tiny <b>bird"))
    for user in (alice, rita):
        status, html = get(user, ids=f"{a.pk},{b.pk}")
        assert status == 200
        assert "removed: </span>small</del>" in html
        assert "added: </span>tiny</ins>" in html
        assert " &lt;b&gt;bird" in html
        assert "1 change<" in html
        assert "A · m</option>" in html
    _, html = get(alice, ids=f"{a.pk},{b.pk}", a=f"{b.pk}.0", b=f"{b.pk}.0")
    assert "The two outputs are equal" in html


def test_two_choices_of_one_run(alice: User, connection: Connection) -> None:
    [run] = begun(alice, (connection, request_to(connection)))
    ended(run, text("one"), text("two", 1))
    _, html = get(alice, ids=str(run.pk))
    assert "one</del>" in html
    assert "choice 2" in html


def test_any_two_runs_by_their_outputs_alone(alice: User, connection: Connection) -> None:
    runs = [begun(alice, (connection, request_to(connection)))[0] for _ in range(2)]
    for run, said in zip(runs, ("x", "x y"), strict=True):
        ended(run, text(said))
    status, html = get(alice, a=f"{runs[0].pk}.0", b=f"{runs[1].pk}.0")
    assert status == 200
    assert " y</ins>" in html or "·y</ins>" in html
    assert f"Run {runs[1].comparison_id}A" in html


def test_what_one_may_not_see_is_not_there(
    alice: User, bob: User, charlie: User, connection: Connection
) -> None:
    a, b = begun(alice, *[(connection, request_to(connection))] * 2)
    [private] = begun(alice, (connection, request_to(connection)), visibility="private")
    for run in (a, b, private):
        ended(run, text("secret"))
    assert get(charlie, a=f"{a.pk}.0", b=f"{b.pk}.0")[0] == 404
    assert get(bob, a=f"{a.pk}.0", b=f"{private.pk}.0")[0] == 404
    status, html = get(charlie, ids=f"{a.pk},{b.pk}")
    assert status == 200
    assert "secret" not in html
    assert "no two outputs" in html


@pytest.mark.parametrize(
    "query",
    [{"ids": "x"}, {"ids": "1,-2"}, {"a": "1"}, {"a": "1.x", "b": "2.0"}, {"ids": "1", "a": "7.0"},
     {"ids": ",".join(map(str, range(101)))}, {"ids": "９"}],
)  # fmt: skip
def test_anything_else_is_not_found(alice: User, query: dict[str, str]) -> None:
    assert get(alice, **query)[0] == 404


def test_nothing_to_compare_is_said(alice: User, connection: Connection) -> None:
    live, _ = begun(alice, *[(connection, request_to(connection))] * 2)
    assert "no two outputs" in get(alice, ids=str(live.pk))[1]
    client = Client()
    client.force_login(alice)
    assert b"<h1>" in client.get(reverse("difference")).content


def test_long_equal_parts_are_folded_and_white_space_is_seen() -> None:
    same = "word " * 1000
    found = difference.shown(same + "a\n\nb", same + "a\nb")
    folded = found["parts"][0]
    assert folded.head + folded.folded + folded.tail == folded.old
    assert len(folded.folded) > 3000
    [change] = [part for part in found["parts"] if not part.same]
    assert (change.old, change.new) == ("↵\n", "")
