"""Queues, panels and compared runs for the pictures; made in the database when first asked for."""

from collections.abc import Callable

from playwright.sync_api import Page

from tests.browser.people import prepare as run_in
from tests.server import Server

PROGRAM = """
from playground.models import Ballot, Judge, Label, Panel, Queue, Rating, RunLabel
admin = User.objects.get(is_superuser=True)
anna, bea, rita = person("anna"), person("bea"), person("rita", "reviewer")
place = "First paragraph of an incident note for people on call. Facts only, most urgent first."
facts = ("streams cut at 09:12", "a proxy restarted", "38 runs affected", "the cause is open")
voices = {
    "field-guide-7b": "At 09:12 streams were cut for 38 runs after one proxy restarted. No text "
    "was lost: every run keeps what had arrived and can be continued from there.",
    "field-guide-1b": "At 09:12 streams were cut, which may have been due to a proxy restart. We "
    "are sorry for any trouble. The team is working hard to find the root cause of this.",
    "writer": "A proxy restarted and streams were cut. Continue what is marked interrupted.",
}
runs, first = [], None
for n, fact in enumerate(facts):
    comparison = None
    for position, (model, text) in enumerate(voices.items()):
        run = make_run(
            anna, f"{place}\\n\\nFacts: {fact}.\\n\\nNote:", f"{text} ({fact})",
            comparison=comparison, model=model,
            values={"temperature": 0.2 + position / 4, "max_tokens": 120, "seed": 42},
            total_ms=900.0 + 310 * position + n, first_token_ms=80.0 + 45 * position,
            prompt_tokens=61, completion_tokens=52 + 3 * position,
        )
        comparison = run.comparison
        runs.append(run)
Rating.objects.give(runs[0], bea, 4)
Rating.objects.give(runs[2], bea, 2)
[label] = Label.objects.named(team.pk, ["stage=candidate"])
RunLabel.objects.put([run.pk for run in runs[:4]], [label])
ids, maker = [run.pk for run in runs], anna.membership()
queue = Queue.objects.begin(maker, "Candidates of this week", ids)
queue.items.filter(position__in=(3, 4)).update(assignee=admin)
queue.items.get(position=1).skip(bea)
blind = Panel.objects.begin(maker, "Which note would you send?", ids)
open_one = Panel.objects.begin(maker, "Which is shorter and still right?", ids)
trio = Panel.objects.begin(maker, "Which one would you sign?", ids, together=True)
for judge, votes in ((bea, "abca"), (rita, "aaba")):
    judging = Judge.objects.of(trio, judge)
    judging.deal(judge.membership())
    for ballot, letter in zip(judging.ballots.order_by("round__position"), votes):
        Ballot.objects.filter(pk=ballot.pk).update(value=letter)
for judge, votes in ((bea, "aabaabtaabab"), (rita, "aababbtaxaab"), (anna, "bbbbbbbbbbbb")):
    judging = Judge.objects.of(blind, judge)
    judging.deal(judge.membership())
    values = {"a": "a", "b": "b", "t": "tie", "x": "bad"}
    for ballot, letter in zip(judging.ballots.order_by("round__position"), votes):
        aside = "author" if judge == anna else ""
        Ballot.objects.filter(pk=ballot.pk).update(value=values[letter], aside=aside)
Judge.objects.of(blind, admin).reveal(admin, admin.membership())
print("MADE", queue.pk, blind.pk, open_one.pk, trio.pk, *[run.pk for run in runs[:3]])
"""

_server: list[Server] = []
_made: list[str] = []


def begin(server: Server) -> None:
    _server[:], _made[:] = [server], []


def made() -> list[str]:
    """Ids: queue, judged panel, open panel, panel of three, three runs."""
    if not _made:
        said = run_in(_server[0], PROGRAM)
        _made.extend(said.rpartition("MADE ")[2].split())
    return _made


def reviews(page: Page, root: str) -> None:
    made()
    page.goto(f"{root}review/")


def new_panel(page: Page, root: str) -> None:
    page.goto(f"{root}review/new/?kind=panel&rows=run-{made()[4]},run-{made()[5]},run-{made()[6]}")


def queue(page: Page, root: str) -> None:
    page.goto(f"{root}review/queues/{made()[0]}/")
    page.wait_for_selector("[data-cursor]")


def triage(page: Page, root: str) -> None:
    """Two rows of the history are selected."""
    made()
    page.goto(f"{root}history/?whose=team&show=runs&q=incident")
    for key in "jxjx":
        page.keyboard.press(key)
    page.wait_for_selector("[data-selection]:not([hidden])")


def panel(page: Page, root: str) -> None:
    page.goto(f"{root}review/panels/{made()[2]}/")


def trio(page: Page, root: str) -> None:
    page.goto(f"{root}review/panels/{made()[3]}/")


def result(page: Page, root: str) -> None:
    page.goto(f"{root}review/panels/{made()[1]}/result/")


def one_round(page: Page, root: str) -> None:
    page.goto(f"{root}review/panels/{made()[1]}/rounds/1/")


def compare(page: Page, root: str) -> None:
    rows = ",".join(f"run-{pk}" for pk in made()[4:7])
    page.goto(f"{root}compare/?rows={rows}")


STATES: dict[str, Callable[[Page, str], None]] = {
    "reviews": reviews,
    "review-new-panel": new_panel,
    "review-queue": queue,
    "review-triage": triage,
    "review-panel": panel,
    "review-panel-of-three": trio,
    "review-result": result,
    "review-round": one_round,
    "review-compare": compare,
}
