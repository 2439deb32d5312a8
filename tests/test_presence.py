"""Who is watching: told once for each change, across processes, and forgotten when silent."""

import pytest

from playground import presence
from playground.presence import Person, Presence

ALICE, BOB = Person(1, "alice", "A"), Person(2, "Bob", "B")


class Socket:
    def __init__(self) -> None:
        self.told: list[list[str]] = []

    def watched(self, comparison: int, people: list[Person]) -> None:
        self.told.append([person.name for person in people])


class World:
    """Two processes with a wire between them; `cut` loses what is said."""

    def __init__(self) -> None:
        self.cut = False
        self.said = 0
        self.one = Presence(lambda c, people: self.carry(self.two, c, "one", people))
        self.two = Presence(lambda c, people: self.carry(self.one, c, "two", people))

    def carry(self, to: Presence, comparison: int, process: str, people: list[Person]) -> None:
        self.said += 1
        if not self.cut:
            to.heard(comparison, process, people)


def test_they_see_each_other_come_and_go() -> None:
    world, a, b = World(), Socket(), Socket()
    world.one.come(7, a, ALICE)
    world.one.come(7, b, BOB)
    assert a.told[-1] == b.told[-1] == ["alice", "Bob"]
    world.one.go(7, b)
    assert a.told[-1] == ["alice"]
    world.one.go_everywhere(a)
    assert world.one.people(7) == []
    assert not world.one._places


def test_a_person_with_two_windows_is_there_once_until_both_are_closed() -> None:
    world, a, b, c = World(), Socket(), Socket(), Socket()
    world.one.come(7, a, ALICE)
    world.one.come(7, b, BOB)
    told = len(a.told)
    world.one.come(7, c, BOB)
    world.one.go(7, b)
    assert len(a.told) == told
    world.one.go(7, c)
    assert a.told[-1] == ["alice"]


def test_comparisons_do_not_mix() -> None:
    world, a, b = World(), Socket(), Socket()
    world.one.come(7, a, ALICE)
    world.one.come(8, b, BOB)
    assert a.told[-1] == ["alice"]
    assert b.told[-1] == ["Bob"]


def test_other_processes_are_heard_whoever_was_first() -> None:
    world, a, b = World(), Socket(), Socket()
    world.one.come(7, a, ALICE)
    world.two.come(7, b, BOB)
    assert a.told[-1] == b.told[-1] == ["alice", "Bob"]
    assert world.said < 8
    world.two.go(7, b)
    assert a.told[-1] == ["alice"]


def test_a_process_that_falls_silent_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(presence.time, "monotonic", lambda: now[0])
    world, a, b = World(), Socket(), Socket()
    world.one.come(7, a, ALICE)
    world.two.come(7, b, BOB)
    for _ in range(4):  # it says its list again
        now[0] += presence.SAY_AGAIN + 1
        world.two.refresh(7)
        world.one.refresh(7)
    assert a.told[-1] == ["alice", "Bob"]
    world.cut = True  # killed
    now[0] += presence.FORGET + 1
    world.one.refresh(7)
    assert a.told[-1] == ["alice"]
    world.cut = False
    now[0] += presence.SAY_AGAIN + 1
    world.two.refresh(7)
    assert a.told[-1] == ["alice", "Bob"]


def test_what_nobody_watches_here_is_not_kept() -> None:
    world = World()
    world.one.heard(9, "two", [BOB])
    assert not world.one._places
