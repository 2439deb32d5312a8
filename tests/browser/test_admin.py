"""The admin site in a real Chromium: a connection added, tested, its key changed; no violation."""

import re
from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.fake_provider import FakeProvider, Received, Reply, error_reply, json_reply
from tests.server import Server

pytestmark = pytest.mark.browser

OLD, NEW, BAD = "sk-old-00000001", "sk-new-00000002", "sk-bad-00000003"


@pytest.fixture
def guarded() -> Iterator[FakeProvider]:
    """A service that lists its models for two keys."""

    def listed(request: Received) -> Reply:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if given in (OLD, NEW):
            return json_reply({"data": [{"id": "one"}, {"id": "two"}]})
        return error_reply(401, {"error": {"message": f"Incorrect API key provided: {given}."}})

    with FakeProvider() as provider:
        provider.on_path("/v1/models", listed)
        yield provider


def test_a_connection_is_added_tested_and_its_key_changed(
    server: Server, open_page: Callable[..., Page], guarded: FakeProvider
) -> None:
    page = open_page()
    page.goto(f"{server.url}/admin/")
    main = page.get_by_role("navigation", name="Main")
    expect(main.get_by_role("link", name="Admin")).to_have_attribute("aria-current", "page")
    expect(page.locator(".topbar")).to_have_css("height", "44px")
    page.get_by_role("navigation", name="Administration").get_by_text("Connections").click()
    page.get_by_role("link", name=re.compile("Add connection")).click()

    # The address that the service documents, and what concerns a server of one's own only.
    address = page.get_by_label("Address:", exact=True)
    page.get_by_label("Service").select_option("pulze")
    expect(address).to_have_value("https://api.pulze.ai/v1")
    expect(page.get_by_label("Kind of server")).to_be_hidden()
    page.get_by_label("Service").select_option("local")
    expect(address).to_have_value("http://127.0.0.1:8080/v1")
    expect(page.get_by_label("Kind of server")).to_be_visible()
    expect(page.get_by_label("May reach private addresses")).to_be_checked()

    page.get_by_label("Name:", exact=True).fill("guarded")
    address.fill(guarded.url)
    page.get_by_label("Kind of server").select_option("vllm")
    page.get_by_label("API key").fill(OLD)
    page.get_by_role("button", name="Save and test").click()
    test = page.get_by_role("region", name="Test", exact=True)
    expect(test).to_contain_text("Passed")
    expect(test).to_contain_text("2 found: one, two")
    expect(test).to_contain_text("…0001accepted")

    # What the test found is offered and taken.
    expect(test).to_contain_text("It answers like other; this connection says vLLM.")
    test.get_by_role("button", name="Use other").click()
    expect(page.get_by_role("region", name="Messages")).to_contain_text("is treated as other")

    # A key that the service refuses waits, and the test says which one it was.
    page.get_by_label("API key").fill(BAD)
    page.get_by_role("button", name="Save and test").click()
    expect(test).to_contain_text("…0003rejected: “Incorrect API key provided: [key].”")
    keys = page.get_by_role("region", name="Keys")
    expect(keys.get_by_role("row", name=re.compile("0001"))).to_contain_text("in use")
    expect(keys.get_by_role("row", name=re.compile("0003"))).to_contain_text("waits for its test")

    # A good one replaces it; the former stands in.
    page.get_by_label("API key").fill(NEW)
    page.get_by_role("button", name="Save and test").click()
    expect(keys.get_by_role("row", name=re.compile("0002"))).to_contain_text("in use")
    expect(keys.get_by_role("row", name=re.compile("0001"))).to_contain_text("stands in until")
    expect(keys.get_by_role("row", name=re.compile("0003"))).to_contain_text("erased")
    keys.get_by_role("button", name=re.compile("Erase the key …0001")).click()
    expect(keys.get_by_role("row", name=re.compile("0001"))).to_contain_text("erased")

    content = page.content()
    assert not any(key in content for key in (OLD, NEW, BAD))
    page.get_by_role("navigation", name="Administration").get_by_text("Audit log").click()
    expect(page.get_by_role("row", name=re.compile("…0001 of guarded")).first).to_contain_text(
        "erased"
    )


PAGES = {
    "overview": "",
    "list": "playground/connection/",
    "add": "playground/connection/add/",
    "change": "playground/connection/{fake}/change/",
    "delete": "playground/connection/{fake}/delete/",
    "history": "playground/connection/{fake}/history/",
    "audit": "playground/auditentry/",
    "memories": "playground/memory/",
    "team": "playground/team/1/change/",
    "users": "playground/user/",
}


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("name", PAGES)
def test_the_pages_keep_to_the_policy_and_to_the_rules_of_access(
    server: Server, open_page: Callable[..., Page], fake: FakeProvider, name: str, width: int
) -> None:
    """A breach of the policy is an error on the console, which fails the test at its end."""
    [row] = server.rows("SELECT id FROM playground_connection WHERE name = 'fake'")
    page = open_page(width=width, bypass_csp=False)
    breaches: list[str] = []
    page.on("console", lambda said: breaches.append(said.text) if "Policy" in said.text else None)
    page.goto(f"{server.url}/admin/" + PAGES[name].format(fake=row["id"]))
    page.wait_for_load_state("networkidle")
    assert breaches == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": min(width, 1024), "height": 800})
    cells = "#result_list td:not(.action-checkbox)"
    narrow = f"[...document.querySelectorAll('{cells}')].filter((td) => td.clientWidth < 60).length"
    assert page.evaluate(narrow) == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # The checker brings styles of its own: with the policy off, in a page of its own.
    checked = open_page(width=width, bypass_csp=True)
    checked.goto(page.url)
    checked.wait_for_load_state("networkidle")
    found = Axe().run(checked).response["violations"]
    assert [(each["id"], [n["target"] for n in each["nodes"]]) for each in found] == []


def test_who_is_no_admin_is_told_so(server: Server, open_page: Callable[..., Page]) -> None:
    code = (
        "from playground.models import *; t = Team.objects.first(); "
        "u = User.objects.create_user('rosa', password='a-long-one-17', current_team=t); "
        "Membership.objects.create(user=u, team=t)"
    )
    done = server.manage("shell", "-c", code)
    assert done.returncode == 0, done.stderr
    page = open_page()
    page.context.clear_cookies()
    page.goto(f"{server.url}/login/")
    page.get_by_label("User name").fill("rosa")
    page.get_by_label("Password").fill("a-long-one-17")
    page.get_by_role("button", name="Log in").click()
    page.goto(f"{server.url}/admin/")
    expect(page.get_by_role("heading", name="Only for admins")).to_be_visible()
    page.get_by_role("link", name="Back to the playground").click()
    expect(page).to_have_url(f"{server.url}/")


def box(found: Locator) -> dict[str, float]:
    place = found.bounding_box()
    assert place
    return dict(place)


def middle_of(found: Locator) -> float:
    place = box(found)
    return place["y"] + place["height"] / 2


def test_fields_and_marks_stand_in_their_lines(
    server: Server, open_page: Callable[..., Page], fake: FakeProvider
) -> None:
    page = open_page()
    page.goto(f"{server.url}/admin/playground/connection/add/")
    edge = box(page.get_by_label("Name:", exact=True))["x"]
    for name in ("Every team may use it", "In use"):
        assert box(page.get_by_label(name, exact=True))["x"] == pytest.approx(edge, abs=0.5)
    assert box(page.locator("#id_teams input").first)["x"] == pytest.approx(edge, abs=0.5)
    mark = page.locator(".tabular thead img.help").first
    head = page.locator(".tabular thead th:has(img.help)").first
    assert abs(middle_of(mark) - middle_of(head)) < 4
    # Where the list of connections goes on to the side, it is in shade there.
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{server.url}/admin/playground/connection/")
    listed = page.locator(".results")
    assert listed.evaluate("each => each.scrollWidth > each.clientWidth")
    assert "local, local, scroll, scroll" in listed.evaluate(
        "each => getComputedStyle(each).backgroundAttachment"
    )
