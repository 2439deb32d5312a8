"""The rest of the pages for the pictures: selection, trash, labels, links, palette, keys, refusals.

What they show is made in the database when first asked for, beside what `reviewed` makes.
"""

from collections.abc import Callable

from playwright.sync_api import Page

from tests.browser import reviewed
from tests.browser.people import logged_in
from tests.browser.people import prepare as run_in
from tests.browser.steps import number
from tests.server import Server

PROGRAM = """
from django.utils import timezone
from playground.models import Comparison, Membership, Team
for n, bird in enumerate(("grey heron", "mallard", "coot")):
    run = make_run(admin_user, f"Subject: {bird}. Entry:", f" The {bird} is easy to see.")
    Comparison.objects.filter(pk=run.comparison_id).update(deleted_at=timezone.now())
other, _ = Team.objects.get_or_create(name="Empty house")
newcomer = User.objects.create(username="newcomer", current_team=other)
Membership.objects.create(user=newcomer, team=other, role="member")
"""

_server: list[Server] = []
_made: list[bool] = []


def begin(server: Server) -> None:
    _server[:], _made[:] = [server], []


def made() -> None:
    reviewed.made()
    if not _made:
        run_in(_server[0], "admin_user = User.objects.get(is_superuser=True)\n" + PROGRAM)
        _made.append(True)


def row_menu(page: Page, root: str) -> None:
    made()
    page.goto(f"{root}history/?whose=team&q=incident")
    page.keyboard.press("j")
    page.keyboard.press("m")
    page.wait_for_selector("#menu-row:popover-open")


def selected(page: Page, root: str) -> None:
    """All that are shown, with the dialog for a label, which was left empty."""
    made()
    page.goto(f"{root}history/?whose=team&q=incident")
    page.get_by_label("All shown").check()
    page.wait_for_selector("[data-selection]:not([hidden])")
    page.keyboard.press("l")
    page.get_by_role("dialog").get_by_label("Name").press("Enter")
    page.wait_for_selector('[role="alert"]:visible')


def filters(page: Page, root: str) -> None:
    """The builder of filters, or the facets on a phone."""
    made()
    page.goto(f"{root}history/?whose=team&q=model:writer+rating:>%3D2")
    page.wait_for_selector(".facets__list", state="attached")


def nothing(page: Page, root: str) -> None:
    made()
    page.goto(f"{root}history/?whose=team&q=nosuchword+label:gone")


def unknown(page: Page, root: str) -> None:
    made()
    page.goto(f"{root}history/?whose=team&q=foo:bar+rating:>9")


def visit(path: str) -> Callable[[Page, str], None]:
    def go(page: Page, root: str) -> None:
        made()
        page.goto(f"{root}{path}")
        page.wait_for_load_state("networkidle")

    return go


def as_newcomer(path: str) -> Callable[[Page, str], None]:
    """A page of somebody whose team has nothing yet."""

    def go(page: Page, root: str) -> None:
        made()
        browser = page.context.browser
        assert browser
        newcomer = logged_in(browser, _server[0], "newcomer")
        kept = page.context.cookies()
        page.context.clear_cookies()
        page.context.add_cookies(newcomer.cookies())  # type: ignore[arg-type]
        newcomer.close()
        page.goto(f"{root}{path}")
        page.wait_for_load_state("networkidle")
        page.context.clear_cookies()
        page.context.add_cookies(kept)  # type: ignore[arg-type]

    return go


def palette(page: Page, root: str) -> None:
    made()
    page.goto(root)
    page.keyboard.press("Control+k")
    page.wait_for_selector("#palette [role=option]")
    page.keyboard.type("col")


def keys(page: Page, root: str) -> None:
    page.goto(f"{root}history/")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")


def _begin(page: Page, root: str) -> None:
    page.goto(root)
    page.fill("#prompt", "The kingfisher is a small bird. It")
    number(page, "max_tokens", "60")


def ghost(page: Page, root: str) -> None:
    _begin(page, root)
    page.focus("#prompt")
    page.keyboard.press("Alt+g")
    page.wait_for_selector("[data-ghost-text]:not(:empty)")


def grown(page: Page, root: str) -> None:
    """An output was appended, and the next one runs."""
    _begin(page, root)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector('.col[data-status="completed"]', timeout=30_000)
    page.focus("#prompt")
    page.keyboard.press("Alt+a")
    page.wait_for_selector('.col[data-status="completed"]', timeout=30_000)
    page.wait_for_timeout(300)


def forbidden(page: Page, root: str) -> None:
    """A form without its token."""
    page.goto(root)
    page.evaluate(
        "() => { const f = document.createElement('form'); f.method = 'post';"
        " f.action = '/trash/rules/'; document.body.append(f); f.submit(); }"
    )
    page.wait_for_load_state()


def wrong_login(page: Page, root: str) -> None:
    page.context.clear_cookies()
    page.goto(f"{root}login/")
    page.get_by_label("User name").fill("admin")
    page.get_by_label("Password").fill("nothing like it")
    page.keyboard.press("Enter")
    page.wait_for_selector('[role="alert"]')


STATES: dict[str, Callable[[Page, str], None]] = {
    "history-menu": row_menu,
    "history-selected": selected,
    "history-filtered": filters,
    "history-nothing": nothing,
    "history-unknown": unknown,
    "around-trash": visit("trash/"),
    "around-labels": visit("labels/"),
    "around-shares": visit("shares/"),
    "around-reference": visit("reference/"),
    "around-palette": palette,
    "around-keys": keys,
    "compose-ghost": ghost,
    "compose-grown": grown,
    "empty-compose": as_newcomer(""),
    "empty-history": as_newcomer("history/"),
    "empty-stats": as_newcomer("stats/"),
    "empty-reviews": as_newcomer("review/"),
    "empty-trash": as_newcomer("trash/"),
    "empty-labels": as_newcomer("labels/"),
    "empty-shares": as_newcomer("shares/"),
    "error-missing": visit("nothing/"),
    "error-forbidden": forbidden,
    "error-link": visit("s/nosuchlink/"),
    "login-wrong": wrong_login,
}
