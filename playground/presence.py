"""Who is watching which comparison, in this process and, by what the others say, elsewhere.

Told only when somebody comes or goes, so it costs nothing for a token. Each process says its whole
list again when it changes and from time to time; a list that is not said again is forgotten, so
that a process that was killed does not watch for ever.
"""

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

SAY_AGAIN = 20.0  # seconds between two lists of a process that has not changed
FORGET = 60.0  # seconds after which a list that was not said again is gone


class Person(NamedTuple):
    id: int
    name: str
    initials: str


class Watcher(Protocol, Hashable):
    """A socket."""

    def watched(self, comparison: int, people: list[Person]) -> None:
        """Told when the list changes; must not wait."""
        ...


@dataclass
class _Place:
    """One comparison."""

    here: dict[Any, Person] = field(default_factory=dict)  # socket → who
    elsewhere: dict[str, tuple[list[Person], float]] = field(default_factory=dict)
    told: list[Person] = field(default_factory=list)
    said: float = 0.0  # when the other processes were told


class Presence:
    """Lives in one event loop. `say(comparison, people)` tells the other processes, if any."""

    def __init__(self, say: Callable[[int, list[Person]], None]) -> None:
        self._say = say
        self._places: dict[int, _Place] = {}

    def come(self, comparison: int, watcher: Watcher, person: Person) -> None:
        place = self._places.setdefault(comparison, _Place())
        place.here[watcher] = person
        self._changed(comparison, place)
        watcher.watched(comparison, place.told)

    def go(self, comparison: int, watcher: Watcher) -> None:
        place = self._places.get(comparison)
        if place is None or watcher not in place.here:
            return
        del place.here[watcher]
        self._changed(comparison, place)
        if not place.here:
            del self._places[comparison]

    def go_everywhere(self, watcher: Watcher) -> None:
        for comparison in [c for c, place in self._places.items() if watcher in place.here]:
            self.go(comparison, watcher)

    def heard(self, comparison: int, process: str, people: list[Person]) -> None:
        """What another process says. A new one is told what it could not hear before."""
        place = self._places.get(comparison)
        if place is None:
            return
        new = process not in place.elsewhere
        if people:
            place.elsewhere[process] = (people, time.monotonic())
        else:
            place.elsewhere.pop(process, None)
        self._tell(comparison, place)
        if new and people:
            self._say_now(comparison, place)

    def refresh(self, comparison: int) -> None:
        """Now and then, from whoever watches: say the list again, forget what went silent."""
        place = self._places.get(comparison)
        now = time.monotonic()
        if place is None or now - place.said < SAY_AGAIN:
            return
        silent = [who for who, (_, at) in place.elsewhere.items() if now - at > FORGET]
        for process in silent:
            del place.elsewhere[process]
        self._tell(comparison, place)
        self._say_now(comparison, place)

    def say_all(self) -> None:
        """The others may have heard nothing for a while."""
        for comparison, place in self._places.items():
            self._say_now(comparison, place)

    def people(self, comparison: int) -> list[Person]:
        """Each once, whatever number of windows they have open; in order of their names."""
        place = self._places.get(comparison)
        return self._all(place) if place else []

    def _changed(self, comparison: int, place: _Place) -> None:
        self._tell(comparison, place)
        self._say_now(comparison, place)

    def _say_now(self, comparison: int, place: _Place) -> None:
        place.said = time.monotonic()
        self._say(comparison, sorted(set(place.here.values())))

    def _tell(self, comparison: int, place: _Place) -> None:
        people = self._all(place)
        if people != place.told:
            place.told = people
            for watcher in list(place.here):
                watcher.watched(comparison, people)

    def _all(self, place: _Place) -> list[Person]:
        found = {person.id: person for person in place.here.values()}
        for people, _ in place.elsewhere.values():
            found |= {person.id: person for person in people}
        return sorted(found.values(), key=lambda person: (person.name.casefold(), person.id))
