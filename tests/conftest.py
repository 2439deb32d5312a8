"""Fixtures: Alice owns the team, Bob is a member, Rita reviews, Charlie must be refused."""

import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import hypothesis
import pytest
from django.conf import settings
from django.core.management import call_command

from playground import database
from playground.completion import CompletionRequest
from playground.models import Connection, Membership, Run, Team, User
from playground.runner import Runner
from playground.runner import runner as the_runner
from tests.environment import DATA
from tests.fake_provider import FakeProvider

Role = Membership.Role

# In CI the same examples every time; `--hypothesis-profile thorough` looks for new ones.
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None)
hypothesis.settings.register_profile("thorough", max_examples=2000, deadline=None)
if os.environ.get("CI"):
    hypothesis.settings.load_profile("repeatable")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """In CI one second try, printed, where a real browser or service may be late on a busy machine.

    Elsewhere a test that fails now and then is seen to fail.
    """
    if os.environ.get("CI"):
        for item in items:
            if {"browser", "services", "test_setup.py"} & set(item.path.parts):
                item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_unconfigure() -> None:
    shutil.rmtree(DATA, ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def static_files() -> None:
    call_command("collectstatic", interactive=False, verbosity=0)
    # It looks at every static file for each new test client: four fifths of the time of the tests
    # of pages. The servers that tests start serve them as always.
    settings.MIDDLEWARE.remove("servestatic.middleware.ServeStaticMiddleware")


@pytest.fixture
def quick_hashes(settings: Any) -> None:
    """For tests that log in often: a real password hash takes most of a second."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with FakeProvider() as fake:
        yield fake


def person(name: str, team: Team, role: str) -> User:
    user = User.objects.create_user(name, current_team=team)
    Membership.objects.create(user=user, team=team, role=role)
    return user


@pytest.fixture
def team(db: None) -> Team:
    return Team.objects.create(name="Evals")


@pytest.fixture
def alice(team: Team) -> User:
    return person("alice", team, Role.OWNER)


@pytest.fixture
def bob(team: Team) -> User:
    return person("bob", team, Role.MEMBER)


@pytest.fixture
def rita(team: Team) -> User:
    return person("rita", team, Role.REVIEWER)


@pytest.fixture
def charlie(db: None) -> User:
    return person("charlie", Team.objects.create(name="Others"), Role.OWNER)


@pytest.fixture
def connect(db: None, provider: FakeProvider) -> Callable[..., Connection]:
    """A connection to the fake provider, or to `base_url`."""

    def make(name: str = "fake", key: str = "", **changes: Any) -> Connection:
        values = {
            "provider": "local",
            "dialect": "llama.cpp",
            "base_url": provider.url,
            "reaches_local": True,
            **changes,
        }
        connection = Connection.objects.create(name=name, **values)
        if key:
            connection.set_key(key)
        return connection

    return make


@pytest.fixture
def connection(connect: Callable[..., Connection]) -> Connection:
    return connect()


@pytest.fixture
async def runner() -> AsyncIterator[Runner]:
    """The one runner, in the test's loop; drained afterwards."""
    await the_runner.bind()
    yield the_runner
    await the_runner.drain(0)
    database.close_pool()


def request_to(
    connection: Connection, operation: str = "completions", prompt: str = "Hi", **values: Any
) -> CompletionRequest:
    """A streaming request with these values, {path: value}."""
    chat = operation == "chat"
    return CompletionRequest(
        provider=connection.provider,
        dialect=connection.dialect,
        operation=operation,
        model=values.pop("model", "m"),
        prompt="" if chat else prompt,
        messages=({"role": "user", "content": prompt},) if chat else (),
        values={"stream": True, **values},
    )


async def run_all(
    runner: Runner, user: User, requests: list[tuple[Connection, CompletionRequest]]
) -> list[Run]:
    """Start one comparison, wait until all of it is saved, return its runs with their choices."""
    membership = await database.in_thread(user.membership)
    assert membership is not None
    comparison = await runner.start(membership, requests)
    ids = [pk async for pk in comparison.runs.values_list("pk", flat=True)]
    await runner.wait(ids)
    return await saved(ids)


async def saved(ids: list[int]) -> list[Run]:
    runs = Run.objects.filter(pk__in=ids).order_by("position").prefetch_related("choices")
    return [run async for run in runs]
