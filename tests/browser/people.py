"""People and finished runs in the database of a server under test."""

from playwright.sync_api import Browser, BrowserContext

from tests.server import Server

SETUP = """
from playground.models import Membership, Team, User
from tests.runs import make_run
team = Team.objects.get()
def person(name, role="member"):
    user, _ = User.objects.get_or_create(username=name, defaults={"current_team": team})
    Membership.objects.get_or_create(user=user, team=team, defaults={"role": role})
    return user
"""


def prepare(server: Server, program: str) -> str:
    """Run a program with `person(name, role)` and `make_run(user, prompt, output, …)`; what it
    printed."""
    done = server.manage("shell", "--no-imports", "-c", SETUP + program)
    assert done.returncode == 0, done.stderr
    return done.stdout


def logged_in(browser: Browser, server: Server, name: str, **options: object) -> BrowserContext:
    """A browser of this person."""
    context = browser.new_context(**options)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(server.manage("login_link", name).stdout.split("Open ")[-1].split()[0])
    page.close()
    return context
