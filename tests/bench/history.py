"""How fast the history answers: `python -m tests.bench.history DATA_DIR|DATABASE_URL`.

Asks every page several times, as a member of the largest team, through the whole stack of the
application in this process; prints median and 95th percentile in ms, the median of this process's
own time on a processor (which foreign load does not lengthen much), and the page's weight, plain
and compressed.
"""

import argparse
import gzip
import os
import sys
import time
from statistics import median, quantiles
from typing import Any, NamedTuple
from urllib.parse import urlencode

from tests.bench.million import COMMON, MODELS, RARE
from tests.bench.setup import configure

TARGET_MS = 200
TARGET_KB = 60
ROUNDS = 20
# What is asked, by name; each with several values, so that no one answer is measured warm only.
SEARCHES = {
    "one's own": [{"whose": "mine"}],
    "first page": [{}],
    "first page of runs": [{"show": "runs"}],
    "rare word": [{"q": RARE}],
    "common word": [{"q": COMMON}, {"q": "w2"}, {"q": "w3"}],
    "words between": [{"q": word} for word in ("bara", "gogo", "fafa", "mimi")],
    "beginning of a word": [{"q": word} for word in ("bar", "gog", "fam")],
    "two words": [{"q": "w1 w2"}, {"q": "w4 bara"}],
    "quoted text": [{"q": '"w1 w2"'}, {"q": '"w2 w1 w1"'}],
    "word and filter": [{"q": f"{COMMON} status:failed"}, {"q": f"w5 model:{MODELS[0]}"}],
    "label": [{"q": "label:label0"}, {"q": "label:label49"}, {"q": "label:task"}],
    "model": [{"q": f"model:{model}"} for model in MODELS[::4]],
    "model, part": [{"q": "model:smol*"}],
    "connection": [{"q": 'connection:"backend 2"'}],
    "provider": [{"q": "provider:pulze"}],
    "user": [{"q": "user:user5"}, {"q": "user:me"}],
    "status": [{"q": "status:failed"}, {"q": "status:interrupted"}, {"q": "status:completed"}],
    "is": [{"q": "is:starred"}, {"q": "is:private"}, {"q": "is:live"}, {"q": "is:rated"}],
    "rating": [{"q": "rating:>=4"}, {"q": "rating:5"}],
    "has": [{"q": "has:error"}, {"q": "has:comment"}, {"q": "has:logprobs"}, {"q": "has:label"}],
    "param": [{"q": "param:temperature>1.9"}, {"q": "param:temperature=0.3"}, {"q": "param:seed"}],
    "meta": [{"q": "meta:finish_reason=stop"}, {"q": "meta:usage.completion_tokens>300"}],
    "dates": [{"q": "on:2026-03-03"}, {"q": "before:2026-01-01"}, {"q": "after:2026-11-20"}],
    "not": [{"q": "-status:completed"}, {"q": "-label:task"}],
    "several": [{"q": "status:failed label:task param:temperature>1 after:2026-06-01"}],
    "no word at all": [{"q": "%"}, {"q": "'"}],
}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="tests.bench.history", description=__doc__)
    parser.add_argument("database", metavar="DATA_DIR|DATABASE_URL")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", default="")
    options = parser.parse_args(arguments)
    configure(options.database)
    sys.exit(measure(options.rounds, options.only))


class Measured(NamedTuple):
    """Milliseconds of each answer, on the clock and of the CPU; bytes of the largest."""

    times: list[float]
    cpu: list[float]
    weight: int
    packed: int


def asked(client: Any, path: str, states: list[dict[str, str]], rounds: int) -> Measured:
    """Each state so many times; the first of each only warms."""
    from django.core.cache import cache

    found = Measured([], [], 0, 0)
    for turn in range(rounds):
        for state in states:
            cache.clear()
            began, worked = time.perf_counter(), time.process_time()
            answer = client.get(f"{path}?{urlencode({'whose': 'team', **state})}")
            took = (time.perf_counter() - began) * 1000
            own = (time.process_time() - worked) * 1000
            assert answer.status_code == 200, (path, state)
            if turn:
                found.times.append(took)
                found.cpu.append(own)
            elif len(answer.content) > found.weight:
                packed = len(gzip.compress(answer.content))
                found = found._replace(weight=len(answer.content), packed=packed)
    return found


def line(name: str, found: Measured) -> int:
    """Printed; 1 where it misses a target."""
    cuts = quantiles(found.times, n=20, method="inclusive")
    late, heavy = cuts[18] > TARGET_MS, found.weight > TARGET_KB * 1000
    said = [f"misses {TARGET_MS} ms"] * late + [f"misses {TARGET_KB} KB"] * heavy
    print(
        f"{name:26}{cuts[9]:8.0f}{cuts[18]:8.0f}{median(found.cpu):8.0f}"
        f"{found.weight / 1000:6.0f}{found.packed / 1000:6.0f}  {', '.join(said) or 'holds'}",
        flush=True,
    )
    return int(late or heavy)


def measure(rounds: int, only: str = "") -> int:
    """The table; how many of its lines miss their target."""
    from django.conf import settings
    from django.core.management import call_command
    from django.test import Client

    from playground.models import Run, User

    settings.ALLOWED_HOSTS = ["testserver"]
    call_command("collectstatic", interactive=False, verbosity=0)
    client = Client()
    client.force_login(User.objects.get(username="user1"))
    runs = Run.objects.order_by("-pk").first()
    print(f"{Run.objects.count():,} runs, {Run._meta.db_table} up to {runs and runs.pk}")
    print(f"limits: {TARGET_MS} ms at p95, {TARGET_KB} KB; load {os.getloadavg()[0]:.1f}")
    print(f"{'':26}{'p50 ms':>8}{'p95 ms':>8}{'CPU ms':>8}{'KB':>6}{'gzip':>6}")

    deep = Run.objects.order_by("pk").filter(pk__gt=runs.pk // 10 if runs else 0).first()
    assert deep
    place = {"older": f"{deep.created_at.isoformat()}_{deep.comparison_id}_0"}
    pages = {name: ("/history/", states) for name, states in SEARCHES.items()} | {
        "deep page": ("/history/", [place, {**place, "q": COMMON}]),
        "facets (after the page)": (
            "/history/facets/",
            [{}, {"q": COMMON}, {"q": RARE}, {"q": "label:task"}],
        ),
        "completion": ("/history/complete/", [{"q": "label:la"}, {"q": "model:"}, {"q": "st"}]),
    }
    missed = sum(
        line(name, asked(client, path, states, rounds))
        for name, (path, states) in pages.items()
        if only in name
    )
    print(f"limit {TARGET_MS} ms, {TARGET_KB} KB: {'holds' if not missed else f'{missed} miss'}")
    return missed


if __name__ == "__main__":
    main(sys.argv[1:])
