"""The language of the search box: what is typed → words, literal text and filters.

    kingfisher "slow rivers" label:task=qa -status:failed param:temperature>0.5 after:2026-11-01

All parts must hold. Words are looked up without case, whole but for the last one typed: outside
quotes it may be the beginning of a longer one. Quoted text and what has other characters than
letters and digits must also stand there literally. A minus takes away what a filter
or quoted text finds; before anything else it is text. What looks like a filter and is none is
refused with a sentence, unless it is plainly text, like `http://x` or `12:30`.
"""

import re
from dataclasses import dataclass, field
from datetime import date, timedelta

from playground.completion import RunStatus, storable
from playground.words import beginning, fold, is_plain, words_to_find

LONGEST = 1000  # characters of a search
MOST_PARTS = 40

STATUSES = {
    **{str(status): str(status) for status in RunStatus},
    "done": "completed",
    "stopped": "cancelled",
    "error": "failed",
}
FLAGS = ("starred", "private", "team", "live", "mine", "rated", "labelled", "trashed")
HAVE = ("error", "warning", "logprobs", "reasoning", "tools", "comment", "label", "rating")
# What completion and the help say of each filter, in this order.
FILTERS = {
    "label": "a label, or the key of one: label:task, label:task=qa",
    "model": "a model; an asterisk at the end stands for the rest",
    "connection": "a connection; an asterisk at the end stands for the rest",
    "provider": "local, ogx, pulze, octoai",
    "user": "a person, or me",
    "status": ", ".join(dict.fromkeys(STATUSES.values())),
    "is": ", ".join(FLAGS),
    "has": ", ".join(HAVE),
    "rating": "1 to 5, with >, >=, <, <= or =",
    "param": "a parameter that was sent: param:temperature>0.5, param:seed",
    "meta": "metadata and own values: meta:finish_reason=length",
    "after": "from the start of a day on: 2026-11-20, today, yesterday, thursday, 7d",
    "before": "before the start of a day",
    "on": "on a day",
}
COMPARED = re.compile(r"(?P<key>[^<>=!]*?)\s*(?P<op><=|>=|!=|=|<|>)\s*(?P<value>.*)", re.DOTALL)
_PART = re.compile(
    r'(?P<minus>-)?(?:(?P<name>[A-Za-z]+):(?P<rest>(?:"[^"]*(?:"|$)|[^\s"])*)'
    r'|"(?P<quoted>[^"]*)")(?=\s|$)|(?P<text>\S+)'
)


@dataclass(frozen=True)
class Filter:
    """One filter as typed: `op` is one of = != < <= > >=, or "" where only `key` was given."""

    name: str
    value: str = ""
    op: str = "="
    key: str = ""  # of param: and meta:
    minus: bool = False
    number: float | None = None  # the value, where it is one
    day: date | None = None  # of after:, before:, on:
    text: str = ""  # as it was typed


@dataclass(frozen=True)
class Problem:
    part: str  # as it was typed
    sentence: str


@dataclass(frozen=True)
class Query:
    words: tuple[str, ...] = ()  # folded; to be looked up, one that ends in BEGINS as a beginning
    literals: tuple[str, ...] = ()  # folded; to be checked on the hits
    absent: tuple[str, ...] = ()  # folded; must not stand there
    filters: tuple[Filter, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def has_text(self) -> bool:
        return bool(self.words or self.literals or self.absent)

    @property
    def empty(self) -> bool:
        return not (self.has_text or self.filters or self.problems)

    def names(self, name: str) -> list[Filter]:
        return [each for each in self.filters if each.name == name]


@dataclass
class _Reading:
    today: date
    words: list[str] = field(default_factory=list)
    literals: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    filters: list[Filter] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    last: str = ""  # the last text typed, folded; "" where it stands in quotes

    def text(self, typed: str, quoted: bool = False) -> None:
        folded = fold(typed)
        self.last = "" if quoted else folded
        self.words += words_to_find(folded)
        if not is_plain(folded):
            self.literals.append(folded)

    def part(self, match: re.Match[str]) -> None:
        typed, name, rest = match.group(), match["name"], match["rest"]
        if match["quoted"] is not None:
            self.quoted(match["quoted"], bool(match["minus"]))
        elif not name or not is_filter(name.lower(), rest):
            self.text(typed)
        elif name.lower() not in FILTERS:
            self.problems.append(Problem(typed, unknown(name)))
        else:
            try:
                self.filters.append(
                    read(name.lower(), unquoted(rest), bool(match["minus"]), typed, self.today)
                )
            except ValueError as error:
                self.problems.append(Problem(typed, str(error)))

    def quoted(self, inner: str, minus: bool) -> None:
        if not inner.strip():
            return
        if minus:
            self.absent.append(fold(inner))
        else:
            self.text(inner, quoted=True)

    def looked_up(self) -> tuple[str, ...]:
        """The distinct words, the last one typed as a beginning."""
        if begun := beginning(self.last):
            self.words[-1] = begun
        return tuple(dict.fromkeys(self.words))


def parse(typed: str, today: date) -> Query:
    """`today`: in the time zone of whoever asks."""
    typed = storable(typed).strip()
    if len(typed) > LONGEST:
        return Query(problems=(Problem("", f"A search has at most {LONGEST} characters."),))
    parts = list(_PART.finditer(typed))
    if len(parts) > MOST_PARTS:
        return Query(problems=(Problem("", f"A search has at most {MOST_PARTS} parts."),))
    reading = _Reading(today)
    for match in parts:
        reading.part(match)
    return Query(
        reading.looked_up(),
        tuple(dict.fromkeys(reading.literals)),
        tuple(dict.fromkeys(reading.absent)),
        tuple(reading.filters),
        tuple(reading.problems),
    )


def is_filter(name: str, rest: str) -> bool:
    """`http://x`, `std::map` and `Note:` are text; a known name without a value is unfinished."""
    return name in FILTERS or bool(rest and rest[0] not in "/:")


def unquoted(rest: str) -> str:
    return rest.replace('"', "").strip()


def unknown(name: str) -> str:
    return (
        f"“{name}:” is no filter. There are {', '.join(f'{each}:' for each in FILTERS)}. "
        "To search for the text itself, put it into quotes."
    )


def read(name: str, value: str, minus: bool, typed: str, today: date) -> Filter:
    """Raises ValueError with the sentence to show."""
    if not value:
        raise ValueError(f"“{name}:” needs a value: {FILTERS[name]}.")
    if name in ("param", "meta"):
        return _of_key(name, value, minus, typed)
    if name == "rating":
        return _rating(value, minus, typed)
    if name in ("after", "before", "on"):
        return Filter(name, value, minus=minus, day=read_day(value, today), text=typed)
    if choices := CHOICES.get(name):
        return Filter(name, _choice(name, value.lower(), choices), minus=minus, text=typed)
    return Filter(name, value, minus=minus, text=typed)


CHOICES: dict[str, dict[str, str]] = {
    "status": STATUSES,
    "is": {flag: flag for flag in FLAGS},
    "has": {thing: thing for thing in HAVE},
}


def _choice(name: str, value: str, choices: dict[str, str]) -> str:
    if value not in choices:
        known = ", ".join(dict.fromkeys(choices.values()))
        raise ValueError(f"“{name}:{value}” is not known; there are {known}.")
    return choices[value]


def _of_key(name: str, value: str, minus: bool, typed: str) -> Filter:
    match = COMPARED.fullmatch(value)
    if match is None:
        return Filter(name, op="", key=value, minus=minus, text=typed)
    key, op, wanted = match["key"].strip(), match["op"], match["value"].strip()
    if not key:
        raise ValueError(f"“{typed}” needs a name before “{op}”: {FILTERS[name]}.")
    number = _number(wanted)
    if op not in ("=", "!=") and number is None:
        raise ValueError(f"“{wanted}” is not a number, which “{op}” needs.")
    return Filter(name, wanted, op, key, minus, number, text=typed)


def _rating(value: str, minus: bool, typed: str) -> Filter:
    match = re.fullmatch(r"(<=|>=|!=|=|<|>)?\s*(\d(?:\.\d+)?)", value)
    if match is None:
        raise ValueError(f"“{value}” is no rating: {FILTERS['rating']}.")
    return Filter("rating", match[2], match[1] or "=", "", minus, float(match[2]), text=typed)


def _number(text: str) -> float | None:
    """As a person writes one; neither `nan` nor `1_000`."""
    if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", text, re.ASCII):
        return None
    number = float(text)
    return number if abs(number) < float("inf") else None


WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def read_day(text: str, today: date) -> date:
    """Raises ValueError with the sentence to show."""
    words = {"today": 0, "yesterday": 1}
    for number, name in enumerate(WEEKDAYS):  # the last one that has begun
        words[name] = words[name[:3]] = (today.weekday() - number) % 7
    days = re.fullmatch(r"(\d{1,4})d", text, re.ASCII)
    try:
        if text.lower() in words or days:
            return today - timedelta(days=int(days[1]) if days else words[text.lower()])
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, re.ASCII):
            found = date.fromisoformat(text)
            if 1 < found.year < 9999:  # a day more or less is a day too
                return found
    except (ValueError, OverflowError):
        pass
    raise ValueError(f"“{text}” is no day: write 2026-11-20, today, yesterday, thursday or 7d.")


def term(name: str, value: str) -> str:
    """A filter as it is typed; quoted where it has to be."""
    value = value.replace('"', "")
    return f'{name}:"{value}"' if re.search(r"\s", value) or not value else f"{name}:{value}"


def with_term(typed: str, added: str) -> str:
    return f"{typed.strip()} {added}".strip()


def without(typed: str, part: str) -> str:
    """Without this part, each time that it stands there."""
    kept = [match.group() for match in _PART.finditer(typed) if match.group() != part]
    return " ".join(kept)


def unfinished(typed: str, at: int) -> tuple[int, str, str]:
    """The part that the cursor is in: (where it starts, name of its filter or "", what follows)."""
    before = typed[:at]
    start = len(before)
    quotes = before.count('"') % 2
    limit = before.rfind('"') if quotes else len(before)
    start = max(before.rfind(" ", 0, limit), before.rfind("\t", 0, limit)) + 1
    part = before[start:].removeprefix("-")
    name, colon, rest = part.partition(":")
    if not colon:
        return start, "", part
    return start, name.lower(), rest.replace('"', "")
