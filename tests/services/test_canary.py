"""No key leaves: canaries are used in good and failing runs of every provider and looked for
everywhere, in every spelling. A control that is planted on purpose is found by the same search."""

import base64
import json
import socket
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, sync_playwright

from tests.browser.conftest import ARGUMENTS, chromium_path
from tests.canary import Search, forms, words_of
from tests.fake_provider import (
    DONE,
    FIN,
    FakeProvider,
    Received,
    Reply,
    chat_event,
    error_reply,
    json_reply,
    text_event,
    words,
)
from tests.server import Person, Server, document, started_before
from tests.services.conftest import missing

KEY = "sk-CANARY/4f9a+Zq7wK2m_x8=="
SECOND = "sk-CANARY-second/9d+1bTq0Vh7=="  # waits as a new key, is rejected
TYPED = "sk-CANARY-typed 7/c+wrong=="  # refused by the form: it has a blank in it
PASTED = "sk-CANARY-pasted/3e+8uRt5Lw=="
HEADER = "CANARYheader/1a+5sXy9Pz3Qn=="
CANARIES = (KEY, SECOND, TYPED, PASTED, HEADER)
LAYOUTS = ("csv", "html", "jsonl", "markdown", "sqlite")
CONTROL = "CONTROL-canary/6b+2jHd8Gf4=="

PROVIDERS = ("pulze", "octoai", "ogx", "local")
CASES = ("good", "401", "500", "echo", "split", "letters", "stream-error", "json", "logprobs",
         "base64", "escaped", "tools", "garbage", "html", "redirect", "cut")  # fmt: skip


def told(request: Received) -> str:
    """What a server may say of the secrets that it was given."""
    key = request.headers.get("authorization", "").removeprefix("Bearer ")
    return f"{key} and {request.headers.get('x-gate', '')}"


def answer(request: Received) -> Reply:
    """What the prompt asks for, with the secrets in it."""
    case = request.prompt.split()[0] if request.prompt else "good"
    said, chat = told(request), request.path.endswith("/chat/completions")
    piece = chat_event if chat else text_event
    headers = {"x-request-id": said, "set-cookie": f"k={said.split()[0]}"}
    error = {"error": {"message": f"wrong: {said}", "type": said, "code": said, "param": said}}
    if case in ("401", "500"):
        return error_reply(int(case), error, headers)
    if case == "json":
        message = {"content": said, "extra": said}
        choice = {"index": 0, "text": said, "finish_reason": "stop", "message": message}
        return json_reply({"id": said, "choices": [choice], "note": [said]})
    if case == "html":
        return Reply(502, "text/html", headers, [f"<html>{said}</html>".encode()])
    if case == "redirect":
        return Reply(307, "text/plain", {"location": f"http://127.0.0.1:9/{said.split()[0]}"})
    if case == "cut":
        return Reply(pieces=[piece(f"It is {said[:-9]}")], end="cut")
    pieces = streamed(case, said, error, chat=chat)
    return Reply(headers=headers, pieces=pieces) if pieces else words(5)


def streamed(case: str, said: str, error: Any, *, chat: bool) -> list[bytes]:
    """The pieces of an event stream with the secrets in it; none where the case is not known."""
    piece = chat_event if chat else text_event
    if case == "split":
        half = len(said) // 2
        return [piece("It is "), piece(said[:half]), piece(said[half:]), FIN, DONE]
    if case == "letters":
        return [*(piece(letter) for letter in f"It is {said}."), FIN, DONE]
    if case == "echo":
        more = {"id": said, "system_fingerprint": said, "metadata": {said: said}}
        return [piece(f"It is {said}.", **more), FIN, DONE]
    if case == "stream-error":
        return [piece("Par"), b"data: " + json.dumps(error).encode() + b"\n\n"]
    if case == "logprobs":
        tokens = [{"token": cut, "logprob": -1.0, "bytes": list(cut.encode()),
                   "top_logprobs": [{"token": said, "logprob": -1.0, "bytes": None}]}
                  for cut in (said[at : at + 3] for at in range(0, len(said), 3))]  # fmt: skip
        whole = piece(said) if chat else text_event(said, logprobs={"content": tokens})
        return [whole, FIN, DONE]
    if case == "base64":
        coded = "".join(base64.b64encode(b"-" * n + said.encode()).decode() for n in range(3))
        return [piece(coded[:50]), piece(coded[50:]), piece(said.encode().hex()), FIN, DONE]
    if case == "escaped":
        hidden = "".join(f"\\u{ord(letter):04x}" for letter in said)
        return [b'data: {"id":"%b","choices":[{"index":0,"text":"%b","delta":{"content":"%b"},'
                b'"finish_reason":"stop"}]}\n\n' % ((hidden.encode(),) * 3), DONE]  # fmt: skip
    if case == "tools":
        calls = [{"index": 0, "id": "c", "function": {"name": "f", "arguments": said[:9]}}]
        more = [{"index": 0, "function": {"arguments": said[9:]}}]
        return [chat_event(None, delta={"tool_calls": calls}),
                chat_event(None, delta={"tool_calls": more}), FIN, DONE]  # fmt: skip
    if case == "garbage":
        return [b"\x00\xff" + said.encode() + b"\n\ndata: {" + said.encode() + b"\n\n"]
    return []


def listed(request: Received) -> Reply:
    said = told(request)
    if SECOND in said:
        return error_reply(401, {"error": {"message": f"Incorrect API key provided: {said}"}})
    if not said.startswith(KEY):
        return error_reply(401, {"error": {"message": "no key"}})
    return json_reply({"data": [{"id": "m"}, {"id": said}]})


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    with FakeProvider() as provider:
        provider.reply_with(answer)
        provider.on_path("/v1/models", listed)
        yield provider


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(
        started_before(tmp_path / "data"), LOG_LEVEL="DEBUG", DEBUG="1", CONNECT_TIMEOUT="3"
    ) as running:
        yield running


# --- What is planted -----------------------------------------------------------------------


def connections(server: Server, fake: FakeProvider) -> dict[str, int]:
    """One of each provider that answers, and two that cannot be reached."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
    addresses = dict.fromkeys(PROVIDERS, fake.url)
    addresses |= {"refused": closed, "tls": fake.url.replace("http:", "https:")}
    by_hand = server.manage(
        "connection", "local", "--provider", "local", "--base-url", addresses.pop("local"),
        "--key-stdin", "--model", "m", stdin=KEY,
    )  # fmt: skip
    assert by_hand.returncode == 0, by_hand.stderr
    made = server.manage("shell", "-c", MAKE.format(addresses=addresses, key=KEY))
    assert made.returncode == 0, made.stderr
    rows = server.rows("SELECT id, name FROM playground_connection WHERE base_url <> ''")
    return {row["name"]: row["id"] for row in rows}


MAKE = """
from playground.models import Connection
for name, url in {addresses!r}.items():
    made = Connection.objects.create(
        name=name, provider="local" if name in ("refused", "tls") else name, base_url=url,
        reaches_local=True, default_model="m",
    )
    made.set_key({key!r})
"""


def with_headers(person: Person, pk: int) -> list[str]:
    """Set the extra headers and a second key by the admin's own form; the answers."""
    path = f"/admin/playground/connection/{pk}/change/"
    page = person.http.get(person.server.url + path).text
    form = {name: value for name, value in fields_of(page).items() if not name.startswith("_")}
    wrong = person.post(path, **form | {"api_key": TYPED, "new_headers": f"no colon {HEADER}"})
    assert "characters that a key cannot have" in wrong.text
    more = {"new_headers": f"X-Gate: {HEADER}", "api_key": SECOND}
    good = person.post(path, **form | more)
    assert "characters" not in good.text
    tested = person.post(f"/admin/playground/connection/{pk}/test/")
    return [page, wrong.text, good.text, tested.text]


def fields_of(page: str) -> dict[str, str]:
    """What the form of a page would send, as far as it is text, numbers or ticked boxes."""
    import html.parser

    class Reader(html.parser.HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.found: dict[str, str] = {}
            self.select = ""

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            known = dict(attrs)
            name = known.get("name") or ""
            if tag == "select":
                self.select = name
            elif tag == "option" and "selected" in known and self.select:
                self.found[self.select] = known.get("value") or ""
            elif tag == "input" and name and known.get("type") != "submit":
                box = known.get("type") in ("checkbox", "radio")
                if not box or "checked" in known:
                    self.found[name] = known.get("value") or ("on" if box else "")
            elif tag == "textarea" and name:
                self.found[name] = ""

    reader = Reader()
    reader.feed(page)
    return reader.found


def run_everything(person: Person, connections: dict[str, int], search: Search) -> list[int]:
    """Every case with every provider, on both routes; the comparisons."""
    made = []
    for name, connection in connections.items():
        for case in CASES if name in PROVIDERS else ("good",):
            columns: list[dict[str, Any]] = [{"connection": connection}]
            if name != "pulze" or case == "tools":
                columns.append({"connection": connection, "operation": "chat"})
            comparison, _ = person.run(document(*columns, prompt=f"{case} please", force=True))
            made.append(comparison)
    wait_for_runs(person.server)
    return made


def wait_for_runs(server: Server) -> None:
    query = "SELECT id FROM playground_run WHERE status IN ('queued', 'running')"
    deadline = time.monotonic() + 120
    while server.rows(query):
        assert time.monotonic() < deadline, server.rows(query)
        time.sleep(0.2)


# --- Where it is looked for ----------------------------------------------------------------


def look_at_pages(person: Person, paths: list[str], search: Search) -> None:
    for path in paths:
        page = person.http.get(person.server.url + path)
        search.add(f"page {path}", page.content)
        search.add(f"headers of {path}", str(page.headers.raw))
        search.add(f"words of {path}", words_of(page.text))


def paths_of(server: Server) -> list[str]:
    runs = [row["id"] for row in server.rows("SELECT id FROM playground_run")]
    comparisons = [row["id"] for row in server.rows("SELECT id FROM playground_comparison")]
    keys = [row["id"] for row in server.rows("SELECT id FROM playground_connection")]
    tables = ("", "table/", "table.csv")
    views = ("", "text/", "prompt/", "markdown/", "json/", "sent/", "probabilities/")
    admin = "/admin/playground/connection"
    return [
        "/", "/history/", "/history/?q=CANARY", "/history/facets/", "/labels/", "/trash/",
        "/shares/",
        "/reference/", "/backends/", "/presets/", "/drafts/", "/password/", "/limits/left/",
        "/admin/", f"{admin}/", f"{admin}/?q=CANARY", f"{admin}/add/",
        "/admin/playground/auditentry/", "/admin/playground/memory/", "/admin/playground/limit/",
        "/no-such-page/",
        *(f"{admin}/{pk}/{page}/" for pk in keys for page in ("change", "history", "delete")),
        *(f"/connections/{pk}/models/" for pk in keys),
        *(f"/comparisons/{pk}/{page}" for pk in comparisons for page in tables),
        *(f"/runs/{pk}/{view}" for pk in runs for view in views),
    ]  # fmt: skip


def code_and_paste(
    person: Person, connections: dict[str, int], fake: FakeProvider, search: Search
) -> None:
    for name, connection in connections.items():
        for operation in ("completions", "chat"):
            form = json.dumps(document({"connection": connection, "operation": operation}))
            shown = person.post("/code/", document=form, column="0")
            assert "curl" in shown.text
            search.add(f"code of {name} {operation}", shown.text)
    for given in (f"-H 'Authorization: Bearer {PASTED}'", f"-H 'X-Api-Key: {PASTED}'",
                  f"-u me:{PASTED}"):  # fmt: skip
        text = f"""curl {fake.url}/completions {given} -d '{{"model": "m", "prompt": "Hi"}}'"""
        search.add("paste", person.post("/paste/", text=text).text)


def break_pages(person: Person, search: Search, connection: int) -> None:
    """Pages of DEBUG: with a table gone, a form with a key in it is answered with 500."""
    server = person.server
    form = fields_of(
        person.http.get(f"{server.url}/admin/playground/connection/{connection}/change/").text
    )
    server.rows("ALTER TABLE playground_apikey RENAME TO gone")
    try:
        pages = [
            person.post(
                f"/admin/playground/connection/{connection}/change/",
                **form | {"api_key": KEY, "new_headers": f"X-Gate: {HEADER}"},
            ),
            person.http.get(f"{server.url}/admin/playground/connection/{connection}/change/"),
            person.post("/comparisons/", document=json.dumps(document({"connection": connection}))),
        ]
    finally:
        server.rows("ALTER TABLE gone RENAME TO playground_apikey")
    assert pages[0].status_code == 500
    assert "OperationalError" in pages[0].text
    for number, page in enumerate(pages):
        search.add(f"debug page {number}", page.text)


def exchange(server: Server, folder: Path, search: Search) -> None:
    """Exported in every layout; what came out goes in again."""
    for layout in LAYOUTS:
        done = server.manage("export", str(folder / f"export.{layout}"), "--layout", layout)
        assert done.returncode == 0, done.stderr
        content = (folder / f"export.{layout}").read_bytes()
        assert len(content) > 1000, layout
        search.add(f"export {layout}", content)
        search.add(f"said of export {layout}", done.stdout + done.stderr)
    done = server.manage("import", str(folder / "export.jsonl"))
    assert done.returncode == 0, done.stderr
    search.add("said of import", done.stdout + done.stderr)


REPRS = """
import asyncio, traceback
from playground.completion import CompletionRequest
from playground.models import ApiKey, AuditEntry, Connection
from playground.providers import PROVIDERS
from playground.targets import way_of
for connection in Connection.objects.exclude(base_url=""):
    way = way_of(connection)
    print(repr(connection), str(connection), vars(connection).keys(), repr(way), way, [way])
    print([repr(key) for key in connection.keys.all()], *map(str, connection.keys.all()))
    values = {"n": object()}
    asked = CompletionRequest(connection.provider, "completions", "m", "", "Hi", values=values)
    async def go():
        async for event in PROVIDERS[connection.provider].stream(way.target, asked):
            print(event)
    try:
        asyncio.run(go())
    except Exception as error:
        print("CRASHED", repr(error), getattr(error, "args", ""))
        traceback.print_exc()
for entry in AuditEntry.objects.all():
    print(repr(entry), vars(entry))
"""


def visit(page: Page, server: Server, search: Search, comparisons: list[int]) -> None:
    """In a browser: htmx, history back and forth, what is kept in the page and its stores."""
    places = ["/", *(f"/comparisons/{pk}/" for pk in comparisons[:12]), "/history/",
              "/admin/playground/connection/", "/admin/playground/auditentry/"]  # fmt: skip
    for path in places:
        page.goto(server.url + path)
        page.wait_for_load_state("networkidle")
        search.add(f"browser {path}", page.content())
        search.add(f"browser text {path}", page.evaluate("document.body.textContent"))
    for _ in range(4):
        page.go_back()
        search.add("browser, back", page.content())
    stores = page.evaluate(
        """async () => JSON.stringify([
            {...localStorage}, {...sessionStorage}, history.state,
            await indexedDB.databases(), await caches.keys(), document.cookie,
        ])"""
    )
    search.add("browser stores", stores)


def leave_a_control(page: Page, server: Server) -> None:
    """Where a canary would be seen if there were one: a store of the browser, a page, a header."""
    page.goto(server.url + "/")
    page.evaluate("text => localStorage.setItem('control', text)", CONTROL)
    page.evaluate(
        """text => new Promise(done => {
            const open = indexedDB.open('control', 1);
            open.onupgradeneeded = () => open.result.createObjectStore('s').put(text, 1);
            open.onsuccess = () => { open.result.close(); done(); };
        })""",
        CONTROL,
    )


def browse(
    server: Server, person: Person, profile: Path, search: Search, comparisons: list[int]
) -> None:
    """In a Chromium that keeps what it likes in `profile`."""
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=chromium_path(), args=ARGUMENTS
        )
        context.add_cookies(
            [{"name": cookie.name, "value": cookie.value or "", "url": server.url}
             for cookie in person.http.cookies.jar]  # type: ignore[misc]
        )  # fmt: skip
        page = context.new_page()
        visit(page, server, search, comparisons)
        leave_a_control(page, server)
        context.close()


@pytest.mark.timeout(900)
def test_no_canary_is_found_anywhere_but_the_control_is(
    server: Server, fake: FakeProvider, tmp_path: Path
) -> None:
    if chromium_path() is None:
        missing("Chromium is not installed.")
    search = Search()
    person = server.user()
    made = connections(server, fake)
    for name in PROVIDERS:
        for number, text in enumerate(with_headers(person, made[name])):
            search.add(f"admin form {number} of {name}", text)
    comparisons = run_everything(person, made, search)
    statuses = server.rows("SELECT DISTINCT status FROM playground_run")
    assert {row["status"] for row in statuses} == {"completed", "failed"}
    # It was really used: every provider saw the key, and the headers.
    given = [post.headers["authorization"] for post in fake.posts]
    assert given.count(f"Bearer {KEY}") > 60
    assert f"Bearer {SECOND}" in given
    assert sum(post.headers.get("x-gate") == HEADER for post in fake.posts) > 30

    coded = "".join(base64.b64encode(b"-" * n + CONTROL.encode()).decode() for n in range(3))
    person.run(document({"connection": made["local"]}, prompt=f"good {CONTROL} {coded}"))
    wait_for_runs(server)
    code_and_paste(person, made, fake, search)
    look_at_pages(person, paths_of(server), search)
    break_pages(person, search, made["local"])
    shown = server.manage("shell", "-c", textwrap.dedent(REPRS))
    assert "CRASHED" in shown.stdout
    assert "Traceback" in shown.stderr
    search.add("repr and tracebacks", shown.stdout + shown.stderr)
    exchange(server, tmp_path, search)
    dump = server.manage("dumpdata")
    assert dump.returncode == 0, dump.stderr[-500:]
    search.add("dumpdata", dump.stdout)

    browse(server, person, tmp_path / "profile", search, comparisons)
    search.add_folder(tmp_path / "profile")
    server.terminate()
    search.add("log", server.output)
    search.add_database(server.data_dir / "db.sqlite3")
    search.add_folder(server.data_dir)

    assert search.find(*CANARIES) == []
    control = "\n".join(search.find(CONTROL))
    for place in ("plain in table playground_", "base64, offset 1 in table", "in page /runs/",
                  "in dumpdata", "in export jsonl", "in file data/db.sqlite3",
                  "in file profile/"):  # fmt: skip
        assert place in control, place


@pytest.mark.parametrize("form", sorted(forms(CONTROL)))
def test_the_search_finds_every_form(form: str) -> None:
    search = Search()
    search.add("here", b"before " + forms(CONTROL)[form] + b" behind")
    search.add("elsewhere", b"nothing")
    assert any(found == f"{form} in here" for found in search.find(CONTROL))
    assert not search.find(KEY)
