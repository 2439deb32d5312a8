"""How fast unfiltered statistics answer: `python -m tests.bench.rollup DATA_DIR|DATABASE_URL`.

Asks the page and a CSV as an owner of the largest team, through the whole stack in this process;
prints the fastest, the median and the slowest answer and the median of this process's own time on
a processor, all in seconds. A filtered page is there to see, without a target.
"""

import argparse
import os
import sys
import time
from statistics import median

from tests.bench.setup import configure

TARGET_S = 2.0
ROUNDS = 5
PAGES = {
    "30 days": "/stats/?period=30d",
    "this month": "/stats/?period=month",
    "90 days": "/stats/?period=90d",
    "12 months": "/stats/?period=year",
    "all": "/stats/?period=all",
    "one's own, 12 months": "/stats/?period=year&whose=mine",
    "CSV by day, 12 months": "/stats/csv/?table=day&period=year",
}
ELSEWHERE = {  # where days are not those of UTC
    "90 days, in Berlin": ("/stats/?period=90d", "Europe/Berlin"),
    "12 months, in Berlin": ("/stats/?period=year", "Europe/Berlin"),
    "CSV by day, in Kathmandu": ("/stats/csv/?table=day&period=year", "Asia/Kathmandu"),
}

FILTERED = {
    "label, 30 days": "/stats/?period=30d&q=label:task",
    "failed, 12 months": "/stats/?period=year&q=status:failed",
}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="tests.bench.rollup", description=__doc__)
    parser.add_argument("database", metavar="DATA_DIR|DATABASE_URL")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args(arguments)
    configure(options.database)
    sys.exit(measure(options.rounds))


def measure(rounds: int) -> int:
    """The table; how many lines miss their target."""
    from django.conf import settings
    from django.core.management import call_command
    from django.test import Client

    from playground.models import Run, Stale, Tally, User
    from playground.timezones import COOKIE

    settings.ALLOWED_HOSTS = ["testserver"]
    call_command("collectstatic", interactive=False, verbosity=0)
    call_command("rebuild_statistics", missing=True, verbosity=0)
    client = Client()
    client.force_login(User.objects.get(username="user1"))
    counts = f"{Run.objects.count():,} runs, {Tally.objects.count():,} rows of the roll-up"
    print(f"{counts}, {Stale.objects.count():,} marks")
    print(f"limit {TARGET_S:.0f} s at the median; load {os.getloadavg()[0]:.1f}")
    print(f"{'':26}{'best s':>8}{'p50 s':>8}{'worst s':>9}{'CPU s':>7}{'KB':>6}")
    missed = 0
    here = {name: (path, "UTC") for name, path in {**PAGES, **FILTERED}.items()}
    for name, (path, zone) in {**here, **ELSEWHERE}.items():
        times, cpu = [], []
        client.cookies[COOKIE] = zone
        for _ in range(rounds):
            began, worked = time.perf_counter(), time.process_time()
            answer = client.get(path)
            times.append(time.perf_counter() - began)
            cpu.append(time.process_time() - worked)
            assert answer.status_code == 200, name
        late = name not in FILTERED and median(times) > TARGET_S
        missed += late
        figures = f"{min(times):8.2f}{median(times):8.2f}{max(times):9.2f}{median(cpu):7.2f}"
        mark = "" if name in FILTERED else "  misses" if late else "  holds"
        print(f"{name:26}{figures}{len(answer.content) / 1000:6.0f}{mark}", flush=True)
    print(f"limit {TARGET_S:.0f} s: {'holds' if not missed else f'{missed} miss'}")
    return missed


if __name__ == "__main__":
    main(sys.argv[1:])
