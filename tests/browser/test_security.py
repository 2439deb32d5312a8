"""Every page, the admin site's too, in Chromium with hostile text everywhere: nothing of it runs,
nothing leaves, and the strict policy is never broken."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx
import pytest
from django.urls import Resolver404, resolve
from playwright.sync_api import Page

from tests.fake_provider import (
    DONE,
    FIN,
    FakeProvider,
    Received,
    Reply,
    chat_event,
    error_reply,
    text_event,
)
from tests.server import Person, Server, document

pytestmark = pytest.mark.browser

RUN = "window.pwned=1"
CORPUS = [
    f"<script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f'"><svg onload={RUN}>',
    f"' autofocus onfocus='{RUN}",
    f'" autofocus onfocus="{RUN}',
    f"</textarea></script></style></title><script>{RUN}</script>",
    f"[click](javascript:{RUN}) <javascript:{RUN}>",
    "![x](http://evil.example/x.png)",
    "<iframe src=http://evil.example></iframe>",
    "<style>@import 'http://evil.example/x.css'</style>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<div hx-get=http://evil.example/ hx-trigger=load></div>",
    "<div hx-post=/logout/ hx-trigger=load></div>",
    f"<div hx-on:click={RUN} hx-on::load={RUN}></div>",
    "<meta http-equiv=refresh content=0;url=http://evil.example/>",
    "<base href=http://evil.example/>",
    "<form action=http://evil.example/><button>x</button></form>",
    "{{ 7|add:7 }}{% debug %}${7*7}",
    f"```html\n<script>{RUN}</script>\n",
    f"<math><mtext></p><img src=x onerror={RUN}>",
    "a\u202eb\u2066c\u0000d\u2028e",
]
ALL = "\n\n".join(CORPUS)
SHORT = [each for each in CORPUS if len(each) <= 60 and "\n" not in each and "\0" not in each]
AT_MOST = 3  # pages of one kind that are visited


def answer(request: Received) -> Reply:
    if "fail" in request.prompt:
        return error_reply(400, {"error": {"message": ALL, "type": ALL}}, {"x-request-id": "<b>"})
    if request.path.endswith("/chat/completions"):
        calls = [{"index": 0, "id": ALL, "function": {"name": ALL, "arguments": json.dumps([ALL])}}]
        pieces = [chat_event(ALL, delta={"reasoning_content": ALL, "tool_calls": calls}), FIN, DONE]
        return Reply(pieces=pieces)
    top = [{"token": each, "logprob": -1.0} for each in CORPUS[:4]]
    tokens = [{"token": each, "logprob": -0.5, "top_logprobs": top} for each in CORPUS]
    event = text_event("".join(CORPUS), logprobs={"content": tokens}, system_fingerprint=ALL,
                       metadata={ALL: [ALL]})  # fmt: skip
    return Reply(pieces=[event, FIN, DONE])


@pytest.fixture
def planted(server: Server) -> Iterator[Person]:
    """Hostile text in whatever a person or a backend can write."""
    with FakeProvider() as fake:
        fake.models = [*SHORT, "m"]
        fake.reply_with(answer)
        connection = server.connect(SHORT[0], fake.url, "--model", "m")
        person = server.user()
        plant(person, connection)
        yield person


def plant(person: Person, connection: int) -> None:
    server = person.server
    columns: list[dict[str, Any]] = [
        {"connection": connection, "model": ALL[:250].replace("\n", " ")},
        {"connection": connection, "operation": "chat"},
        {"connection": connection, "values": {"stop": ["fail", *SHORT[:3]]}},
    ]
    for prompt in (ALL, f"fail {ALL}"):
        form = document(*columns, prompt=prompt, labels=SHORT[:20], force=True)
        form["values"] |= {"logprobs": "2"}
        comparison, runs = person.run(form)
    server.rows(  # what no form takes in, another program may have written
        "UPDATE playground_user SET first_name = ? RETURNING id", CORPUS[1]
    )
    for run in runs:
        person.post(f"/runs/{run}/comments/", text=ALL)
        person.post(f"/runs/{run}/facts/", text=f"{SHORT[1]}={SHORT[2]}", key=SHORT[1],
                    value=SHORT[2])  # fmt: skip
        person.post(f"/runs/{run}/star/")
    settings = json.dumps({"values": {"stop": SHORT[:2]}})
    person.post("/presets/", name=SHORT[1], settings=settings, shared="on")
    person.post("/history/views/", name=SHORT[2], query=f'"{SHORT[0]}"')
    person.post(f"/comparisons/{comparison}/share/")
    server.manage("shell", "-c", f"""
from playground.models import *
Team.objects.create(name={CORPUS[0]!r})
user = User.objects.create(username={CORPUS[1]!r})
Membership.objects.create(user=user, team=Team.objects.first(), role="member")
""")  # fmt: skip


def links_of(page: Page, base: str) -> list[str]:
    """Same-origin addresses that the page names: links, what htmx fetches, and data-url."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll('[href], [hx-get], [data-url], [data-src]')].flatMap(
            each => ['href', 'hx-get', 'data-url', 'data-src'].map(name => each.getAttribute(name))
        ).filter(Boolean)"""
    )
    absolute = [urljoin(page.url, each).split("#")[0] for each in found]
    return [each for each in absolute if each.startswith(base)]


class Inline(HTMLParser):
    """What a strict policy forbids, in the markup as it was sent."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if tag == "script" and "src" not in known and known.get("type") != "application/json":
            self.found.append("inline script")
        if tag in ("style", "base", "iframe", "object", "embed"):
            self.found.append(f"<{tag}>")
        for name, value in attrs:
            if name == "style" or name.startswith(("on", "hx-on", "hx-vars")):
                self.found.append(f"{tag} {name}={value}")
            if name in ("href", "src", "action") and re.match(
                r"\s*(javascript|data):", value or ""
            ):
                self.found.append(f"{tag} {name}={value}")


REQUIRED = {
    "content-security-policy": r"default-src 'self'.*object-src 'none'.*base-uri 'none'.*"
    r"form-action 'self'.*frame-ancestors 'none'",
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "^(same-origin|no-referrer)$",
    "permissions-policy": r"camera=\(\)",
    "cross-origin-opener-policy": "same-origin",
}


def check_markup(answer: httpx.Response, path: str) -> None:
    for name, wanted in REQUIRED.items():
        assert re.search(wanted, answer.headers.get(name, "")), (path, name)
    assert "unsafe" not in answer.headers["content-security-policy"]
    if "html" in answer.headers.get("content-type", ""):
        reader = Inline()
        reader.feed(answer.text)
        assert reader.found == [], (path, reader.found)


def kind(url: str) -> str:
    """The name of the view, with the model for the admin site."""
    try:
        return resolve(urlsplit(url).path).view_name
    except Resolver404:
        return ""


def doors(server: Server) -> list[str]:
    """Where the walk through the pages begins."""
    waiting = [f"{server.url}/", f"{server.url}/history/", f"{server.url}/admin/"]
    for path in ("labels", "trash", "shares", "password", "reference", "presets", "drafts",
                 "admin/playground/connection", "admin/playground/user", "admin/playground/team",
                 "admin/playground/limit/add", "admin/playground/auditentry"):  # fmt: skip
        waiting.append(f"{server.url}/{path}/")
    runs = server.rows("SELECT id FROM playground_run ORDER BY id")
    for run in runs:
        views = ("", "text/", "prompt/", "markdown/", "json/", "sent/", "probabilities/")
        waiting += [f"{server.url}/runs/{run['id']}/{view}" for view in views]
    ids = ",".join(str(run["id"]) for run in runs[:2])
    waiting += [f"{server.url}/runs/{view}/?ids={ids}" for view in ("difference", "timeline")]
    return waiting


@pytest.mark.timeout(600)
def test_hostile_text_runs_nowhere_and_no_page_breaks_the_policy(
    server: Server, planted: Person, open_page: Callable[..., Page]
) -> None:
    page = open_page()
    foreign: list[str] = []
    troubles: list[str] = []
    page.on("request", lambda sent: (
        None if sent.url.startswith((server.url, server.url.replace("http", "ws")))
        else foreign.append(sent.url)
    ))  # fmt: skip
    page.on("dialog", lambda dialog: (troubles.append(dialog.message), dialog.dismiss())[1])
    page.on("popup", lambda popup: troubles.append(f"popup {popup.url}"))
    page.add_init_script(
        """document.addEventListener('securitypolicyviolation', found => console.error(
            'VIOLATION', found.violatedDirective, found.blockedURI, found.sourceFile))"""
    )
    waiting = doors(server)
    visited: Counter[str] = Counter()
    seen: set[str] = set()
    while waiting:
        url = waiting.pop(0)
        name = kind(url)
        views = name.startswith("run_") or name in ("run", "comparison")
        if not name or url in seen or visited[name] >= AT_MOST * (3 if views else 1):
            continue
        if name in ("login_link", "logout", "admin:logout") or "/static/" in url:
            continue
        seen.add(url)
        markup = planted.http.get(url)
        download = "attachment" in markup.headers.get("content-disposition", "")
        html = "html" in markup.headers.get("content-type", "")
        if markup.status_code == 405 or download or not html:
            continue  # a form goes there, or it is no page
        visited[name] += 1
        check_markup(markup, url)
        page.goto(url)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("window.pwned") is None, url
        assert page.url.startswith(server.url), url
        assert not troubles, (url, troubles)
        assert not foreign, (url, foreign)
        waiting += links_of(page, server.url)
    for needed in ("compose", "history", "run", "comparison", "run_markdown", "run_json",
                   "run_probabilities", "reference", "labels_page", "trash", "shares", "password",
                   "admin:index", "admin:playground_connection_changelist",
                   "admin:playground_connection_change", "admin:playground_connection_add",
                   "admin:playground_auditentry_changelist", "admin:playground_user_change",
                   "admin:playground_team_change", "admin:playground_limit_add"):  # fmt: skip
        assert visited[needed], (needed, sorted(visited))


@pytest.mark.parametrize("path", ["/login/", "/s/no-such-share/", "/login/no-such-link/", "/no/"])
def test_pages_without_a_login_keep_the_policy_too(server: Server, path: str) -> None:
    check_markup(httpx.get(server.url + path, trust_env=False), path)
