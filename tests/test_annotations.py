"""Stars, ratings, comments, visibility: what they change, and what they leave alone."""

import pytest
from django.core.exceptions import ValidationError

from playground.completion import CompletionRequest
from playground.models import Comment, Comparison, Connection, Process, Rating, Run, User
from playground.models.annotations import LONGEST_COMMENT
from playground.models.visible import Visibility
from tests.conftest import request_to


def begun(user: User, connection: Connection, columns: int = 1, **changes: str) -> Comparison:
    """A comparison with queued runs, which nobody carries out."""
    membership = user.membership()
    assert membership is not None
    owner, _ = Process.objects.get_or_create(host="test", pid=1, started="x")
    requests: list[tuple[Connection, CompletionRequest]] = [(connection, request_to(connection))]
    made = Comparison.objects.begin(membership, requests * columns, owner=owner, **changes)
    made.runs.update(status="completed")
    return made


def one(user: User, connection: Connection, **changes: str) -> Run:
    return begun(user, connection, **changes).runs.get()


def test_a_run_keeps_the_mean_of_all_ratings(
    alice: User, bob: User, connection: Connection
) -> None:
    run = one(bob, connection)
    Rating.objects.give(run, alice, 5)
    Rating.objects.give(run, bob, 2)
    run.refresh_from_db()
    assert run.rating == 3.5
    Rating.objects.give(run, alice, 3)
    Rating.objects.give(run, bob, None)
    run.refresh_from_db()
    assert run.rating == 3
    Rating.objects.give(run, alice, None)
    run.refresh_from_db()
    assert run.rating is None


def test_what_a_person_said_stays_when_they_are_deleted(
    alice: User, bob: User, connection: Connection
) -> None:
    run = one(bob, connection)
    Rating.objects.give(run, bob, 2)
    Comment.write(run, bob, "Too long.")
    bob.delete()
    connection.delete()
    run.refresh_from_db()
    assert (run.author, run.author_name, run.rating) == (None, "bob", 2)
    assert run.comparison.by == "bob"
    assert run.comments.get().by == "bob"
    assert (run.connection, run.connection_name) == (None, "fake")
    assert run in Run.objects.visible_to(alice)


@pytest.mark.parametrize("text", ["", "  \n ", "x" * (LONGEST_COMMENT + 1)])
def test_a_comment_that_cannot_be_is_refused_with_a_sentence(
    text: str, bob: User, connection: Connection
) -> None:
    with pytest.raises(ValidationError, match="comment"):
        Comment.write(one(bob, connection), bob, text)


def test_a_comment_is_storable_and_says_when_it_was_edited(
    bob: User, connection: Connection
) -> None:
    comment = Comment.write(one(bob, connection), bob, " a\x00b\r\nc ")
    assert comment.text == "a�b\nc"
    comment.rewrite(comment.text)
    assert comment.edited_at is None
    comment.rewrite("d")
    comment.refresh_from_db()
    assert comment.edited_at is not None
    assert comment.text == "d"


def test_visibility_and_trash_are_set_on_a_comparison_and_all_its_runs(
    alice: User, bob: User, connection: Connection
) -> None:
    made = begun(bob, connection, columns=3)
    made.show_to(Visibility.PRIVATE)
    assert Run.objects.visible_to(alice).count() == 0
    assert Run.objects.visible_to(bob).count() == 3
    made.show_to(Visibility.TEAM)
    assert Run.objects.visible_to(alice).count() == 3
    made.trash()
    assert Run.objects.visible_to(bob).count() == Comparison.objects.visible_to(bob).count() == 0
    assert Run.objects.trashed_for(bob).count() == Run.objects.trashed_for(alice).count() == 3
    made.restore()
    assert Run.objects.visible_to(bob).count() == 3


def test_the_trash_of_others_is_for_owners_and_private_runs_for_their_author(
    alice: User, bob: User, rita: User, charlie: User, connection: Connection
) -> None:
    shown, private = begun(bob, connection), begun(bob, connection, visibility="private")
    for made in (shown, private):
        made.trash()
    assert set(Comparison.objects.trashed_for(bob)) == {shown, private}
    assert set(Comparison.objects.trashed_for(alice)) == {shown}
    for user in (rita, charlie):
        assert not Comparison.objects.trashed_for(user).exists()
