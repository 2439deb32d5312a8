"""The list of the history, as a browser asks for it."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from playground.models import Comparison, Label, Run, RunLabel, SavedView, SearchText, User
from playground.models.pairs import set_pair
from playground.views import listing
from tests.runs import make_run

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    cache.clear()


def browser(user: User, **cookies: str) -> Client:
    client = Client()
    client.force_login(user)
    for name, value in cookies.items():
        client.cookies[name] = value
    return client


def page(client: Client, **state: str) -> str:
    answer = client.get("/history/", state)
    assert answer.status_code == 200
    return answer.content.decode()


def rows(html: str) -> list[str]:
    return re.findall(r'id="row-([a-z]+-\d+)"', html)


def test_own_runs_come_first_and_the_team_is_beside(alice: User, bob: User, rita: User) -> None:
    own, other = make_run(alice), make_run(bob)
    client = browser(alice)
    assert rows(page(client)) == [f"comparison-{own.comparison_id}"]
    both = [f"comparison-{run.comparison_id}" for run in (other, own)]
    assert rows(page(client, whose="team")) == both
    # Who cannot run has none of their own.
    assert rows(page(browser(rita))) == both
    # A search for a person means the team.
    assert rows(page(client, q="user:bob")) == both[:1]


def test_a_comparison_is_one_row_or_a_row_a_run(alice: User) -> None:
    first = make_run(alice, model="a")
    second = make_run(alice, model="b", comparison=first.comparison, status="failed")
    html = page(browser(alice))
    assert rows(html) == [f"comparison-{first.comparison_id}"]
    assert 'data-status="failed"' in html
    html = page(browser(alice), show="runs")
    assert rows(html) == [f"run-{second.pk}", f"run-{first.pk}"]


def lines(html: str) -> list[str]:
    """The prompts and outputs of the rows, what was found in brackets."""
    shown = re.findall(r'class="run__link"[^>]*>(.*?)</a>|class="run__out">(.*?)</p>', html)
    return [re.sub("</?b>", "", re.sub(r"<mark>(.*?)</mark>", r"[\1]", a or b)) for a, b in shown]


def test_what_was_searched_for_is_marked_where_it_stands(alice: User) -> None:
    make_run(alice, "Tell of a Kingfisher", "It <b>dives</b>")
    client = browser(alice)
    found = page(client, q="king")
    assert "Tell of a <mark>Kingfisher</mark>" in found
    assert "It &lt;b&gt;dives&lt;/b&gt;" in found
    assert "<mark>&lt;b&gt;</mark>dives" in page(client, q='"<b>"')
    assert "<mark>" not in page(client)
    assert "<mark>" not in page(client, q="status:completed")


def test_a_row_shows_the_piece_in_which_the_words_stand(alice: User) -> None:
    long = "word " * 60
    run = make_run(alice, f"{long} the otter swims", "Yes")
    make_run(alice, f"{long} the otter swims", f"{long} of a BADGER", comparison=run.comparison)
    client = browser(alice)
    name = long[:80]
    assert lines(page(client, q="otter")) == [name, "Prompt: …word word word the [otter] swims"]
    assert lines(page(client, q="badg")) == [name, "Output B: …word word word of a [BADGER]"]
    alone = lines(page(client, q="badger", show="runs"))
    assert alone == [name, "…word word word of a [BADGER]"]


def test_a_row_that_is_drawn_anew_or_unfolds_is_marked_too(alice: User) -> None:
    run = make_run(alice, "An otter", "One")
    make_run(alice, "An otter", "Two", comparison=run.comparison)
    client = browser(alice)
    posted = {"do": "star", "row": f"comparison-{run.comparison_id}", "q": "otter"}
    assert (
        "An <mark>otter</mark>"
        in client.post("/triage/", posted).json()["rows"][f"row-comparison-{run.comparison_id}"]
    )
    unfolded = client.get(f"/history/comparisons/{run.comparison_id}/", {"q": "otter"})
    assert unfolded.content.decode().count("An <mark>otter</mark>") == 2


def test_where_words_find_nothing_the_filter_that_does_is_offered(
    alice: User, bob: User, charlie: User
) -> None:
    run = make_run(alice, "A bird", index=False)
    asked = replace(run.request_value(), extra={"metadata": {"project": "heron"}})
    Run.objects.filter(pk=run.pk).update(request=asked.to_json())
    SearchText.objects.write([run.pk])
    set_pair(run, "project", "blue otter")
    set_pair(make_run(bob, visibility="private"), "secret", "badger")
    client = browser(alice)
    offered = re.compile(r'<a class="chip chip--mono" href="\?q=[^"]*">((?:meta|param):.*?)</a>')
    found = page(client, q="blue otter")
    assert offered.findall(found) == ["meta:&quot;project=blue otter&quot;"]
    [address] = re.findall(r'href="(\?q=meta[^"]*)"', found)
    again = client.get(f"/history/{address.replace('&amp;', '&')}").content.decode()
    assert rows(again) == [f"comparison-{run.comparison_id}"]
    assert offered.findall(page(client, q="bird heron")) == ["param:metadata.project=heron"]
    assert not offered.findall(page(client, q="fish heron"))
    assert not offered.findall(page(client, q="badger", whose="team"))
    assert not offered.findall(page(browser(charlie), q="heron", whose="team"))
    assert not offered.findall(page(client, q="status:failed"))


def test_a_run_in_a_row_of_its_own_carries_the_letter_of_its_column(alice: User) -> None:
    run = make_run(alice)
    client = browser(alice)
    unfold = f"/history/comparisons/{run.comparison_id}/"
    letter = re.compile(r'<b class="letter letter--sm">(.)</b>')
    assert not letter.findall(page(client, show="runs"))
    make_run(alice, comparison=run.comparison)
    assert letter.findall(client.get(unfold).content.decode()) == ["A", "B"]
    assert letter.findall(page(client, show="runs")) == ["B", "A"]


def test_a_sweep_unfolds(alice: User, charlie: User) -> None:
    first = make_run(alice)
    runs = [first, *(make_run(alice, comparison=first.comparison) for _ in range(11))]
    html = page(browser(alice))
    assert "all 12 runs" in html
    assert html.count('class="run__model"') == 3
    unfold = f"/history/comparisons/{first.comparison_id}/"
    assert rows(browser(alice).get(unfold).content.decode()) == [f"run-{run.pk}" for run in runs]
    assert browser(charlie).get(unfold).status_code == 404


def test_pages_go_both_ways(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "PAGE", 2)
    runs = [make_run(alice) for _ in range(5)]
    client = browser(alice)

    def link(html: str, rel: str) -> str:
        found = re.search(rf'href="\?([^"]*)" rel="{rel}"', html)
        return found[1].replace("&amp;", "&") if found else ""

    def follow(query: str) -> str:
        return client.get(f"/history/?{query}").content.decode()

    names = [f"comparison-{run.comparison_id}" for run in reversed(runs)]
    first = page(client)
    assert rows(first) == names[:2]
    second = follow(link(first, "next"))
    third = follow(link(second, "next"))
    assert rows(second) + rows(third) == names[2:]
    assert link(third, "next") == ""
    assert rows(follow(link(third, "prev"))) == names[2:4]
    assert rows(follow(link(second, "prev"))) == names[:2]


@pytest.mark.parametrize(
    "state",
    [
        {"older": "x"},
        {"older": "2026-11-20T10:00:00+00:00"},
        {"older": "2026-11-20T10:00:00_1_1"},
        {"newer": "2026-13-20T10:00:00+00:00_1_1"},
        {"older": "2026-11-20T10:00:00+00:00_1_-1"},
        {"older": f"2026-11-20T10:00:00+00:00_1_{2**63}"},
    ],
)
def test_a_place_that_is_none_is_not_found(alice: User, state: dict[str, str]) -> None:
    assert browser(alice).get("/history/", state).status_code == 404


@pytest.mark.parametrize("typed", ["foo:bar", "rating:high", "status:odd", "param:x>y"])
def test_a_search_that_cannot_be_read_says_which_part(alice: User, typed: str) -> None:
    make_run(alice)
    html = page(browser(alice), q=f"hello {typed}")
    assert 'role="alert"' in html
    assert typed.split(":")[1].split(">")[-1] in html
    assert rows(html) == []
    assert f'value="hello {typed}"'.replace(">", "&gt;") in html


@pytest.mark.parametrize(
    "typed", ["%", "'", '"', "''", "\\", "a\0b", "\ud800", "label:\0", "x" * 5000]
)
def test_no_search_is_an_error(alice: User, typed: str) -> None:
    make_run(alice)
    client = browser(alice)
    for address in ("/history/", "/history/facets/", "/history/complete/"):
        answer = client.get(address, {"q": typed.encode("utf-8", "surrogatepass")})
        assert answer.status_code == 200, address


def test_markup_in_a_run_is_text(alice: User) -> None:
    run = make_run(alice, "<img src=x onerror=alert(1)>", "<b>x</b>", model='"><i>')
    RunLabel.objects.put([run.pk], Label.objects.named(run.team_id, ["<script>1</script>"]))
    client = browser(alice)
    preview = f"/history/runs/{run.pk}/"
    for html in (
        page(client), page(client, q='label:"<script>1</script>"'),
        *(client.get(a).content.decode() for a in ("/history/facets/", preview)),
    ):  # fmt: skip
        assert not re.search(r"<(img|b>x|i>|script>1)", html)


def test_lists_read_no_big_column_and_make_few_queries(alice: User) -> None:
    for number in range(3):
        first = make_run(alice, "word " * 1000)
        make_run(alice, comparison=first.comparison)
        RunLabel.objects.put([first.pk], Label.objects.named(first.team_id, [f"l{number}"]))
    client = browser(alice)
    client.get("/reference/")  # the first page of a session writes that it is in use
    counts = []
    for state in ({}, {"show": "runs"}, {"q": "word"}):
        with CaptureQueriesContext(
            connection,
        ) as captured:
            page(client, **state)
        counts.append(len(captured))
        for query in captured.captured_queries:
            for column in Run.BIG:
                assert f'"playground_run"."{column}"' not in query["sql"]
            assert '"document"' not in query["sql"]
    with CaptureQueriesContext(connection) as captured:
        make_run(alice)
    for _ in range(10):
        make_run(alice)
    with CaptureQueriesContext(connection) as captured:
        page(client)
    assert len(captured) == counts[0]
    # Who has seen new ones: one statement, once.
    assert sum("INSERT" in query["sql"] for query in captured.captured_queries) == 1
    with CaptureQueriesContext(connection) as captured:
        page(client)
    assert not any("INSERT" in query["sql"] for query in captured.captured_queries)


def test_a_time_stands_under_the_reader_s_day(alice: User) -> None:
    make_run(alice, created_at=datetime(2026, 11, 21, 4, 59, tzinfo=UTC))
    html = page(browser(alice, time_zone="America/New_York"))
    assert "Friday 20 November 2026" in html
    assert ">23:59" in html
    assert 'data-zone="America/New_York"' in html  # so that the page need not say it again
    html = page(browser(alice, time_zone="Europe/Berlin"))
    assert html.count("Saturday 21 November") == 1  # an older day needs no other name
    assert "Saturday 21 November 2026" in html
    for odd in ("Mars/Base", "../../etc/passwd", "x" * 500):
        assert ">04:59" in page(browser(alice, time_zone=odd))


# --- Facets and completion -------------------------------------------------------------------


def facets(user: User, **state: str) -> str:
    return browser(user).get("/history/facets/", state).content.decode()


def values(html: str, name: str) -> dict[str, int]:
    section = re.search(rf'id="facet-{name}".*?</section>', html, re.DOTALL)
    pairs = re.findall(
        r'facets__value">([^<]*)</span><span class="count">([\d,]+)<', section[0] if section else ""
    )
    return {value: int(count.replace(",", "")) for value, count in pairs}


def test_facets_count_what_the_list_shows(alice: User, bob: User) -> None:
    for model, status in (("a", "completed"), ("a", "failed"), ("b", "completed")):
        run = make_run(alice, "bird", model=model, status=status)
    RunLabel.objects.put([run.pk], Label.objects.named(run.team_id, ["L1"]))
    make_run(bob, "bird", visibility="private")
    trashed = make_run(alice, "bird")
    trashed.comparison.trash()
    html = facets(alice)
    assert values(html, "model") == {"a": 2, "b": 1}
    assert values(html, "status") == {"Done": 2, "Failed": 1}
    assert values(html, "label") == {"L1": 1}
    assert values(html, "user") == {"alice": 3}
    assert "3 comparisons, 3 runs" in html
    assert values(facets(alice, q="bird model:a"), "status") == {"Done": 1, "Failed": 1}


def test_a_facet_adds_its_filter_and_takes_it_away(alice: User) -> None:
    make_run(alice, model="two words")
    assert "?q=bird+model%3A%22two+words%22&amp;whose=mine" not in facets(alice, q="")
    assert "?q=model%3A%22two+words%22&amp;whose=mine" in facets(alice)
    html = facets(alice, q='model:"two words"')
    assert 'aria-current="true"' in html
    assert 'href="?whose=mine"' in html


def offers(user: User, typed: str) -> list[str]:
    html = browser(user).get("/history/complete/", {"q": typed}).content.decode()
    return [text.replace("&quot;", '"') for text in re.findall(r'data-text="([^"]*)"', html)]


def test_names_of_filters_are_offered(alice: User) -> None:
    assert offers(alice, "bird la") == ["label:"]
    assert offers(alice, "-s") == ["status:"]
    assert offers(alice, "zzz") == []
    assert offers(alice, "") == []


def test_values_are_offered_with_their_counts(alice: User, charlie: User) -> None:
    for label in ("task=qa", "task=story", "two words"):
        run = make_run(alice)
        RunLabel.objects.put([run.pk], Label.objects.named(run.team_id, [label]))
    # No run that one sees has it; it may have been on a private one.
    Label.objects.named(run.team_id, ["task=unseen"])
    assert offers(alice, "label:ta") == ["label:task=qa", "label:task=story"]
    assert offers(alice, "label:two") == ['label:"two words"']
    assert offers(charlie, "label:ta") == []
    assert offers(alice, "status:f") == ["status:failed"]
    assert offers(alice, "is:st") == ["is:starred"]
    html = browser(alice).get("/history/complete/", {"q": "model:"}).content.decode()
    assert '<span class="count">3</span>' in html


# --- Preview and saved views -----------------------------------------------------------------


def test_a_preview_has_settings_and_first_lines(alice: User, bob: User, charlie: User) -> None:
    run = make_run(alice, "First line\nsecond", "The answer", values={"temperature": 0})
    make_run(alice, output="Another", comparison=run.comparison)
    address = f"/history/runs/{run.pk}/"
    html = browser(bob).get(address).content.decode()
    assert "First line\nsecond" in html
    assert "The answer" in html
    assert "Another" in html
    assert "temperature 0" in html
    alone = browser(bob).get(address, {"single": "1"}).content.decode()
    assert "Another" not in alone
    assert browser(charlie).get(address).status_code == 404


def save(user: User, name: str, query: str, **more: str) -> Any:
    return browser(user).post("/history/views/", {"name": name, "query": query, **more})


def test_a_search_is_saved_for_oneself_or_the_team(alice: User, bob: User, charlie: User) -> None:
    answer = save(alice, " My  view ", "q=label%3Ax&whose=team&older=1&evil=2")
    assert answer.headers["Location"] == "/history/?q=label%3Ax&whose=team"
    save(alice, "Ours to see", "q=bird", shared="on")
    assert "My view" in page(browser(alice))
    assert "My view" not in page(browser(bob))
    assert "Ours to see" in page(browser(bob))
    assert "Ours to see" not in page(browser(charlie))


def test_the_same_name_replaces(alice: User, bob: User) -> None:
    save(alice, "One", "q=a")
    save(alice, "One", "q=b")
    save(bob, "One", "q=c")
    assert sorted(SavedView.objects.values_list("query", flat=True)) == ["q=b", "q=c"]


def test_only_its_author_deletes_a_view(alice: User, bob: User) -> None:
    save(alice, "One", "q=a", shared="on")
    view = SavedView.objects.get()
    assert browser(bob).post(f"/history/views/{view.pk}/delete/").status_code == 404
    assert browser(alice).post(f"/history/views/{view.pk}/delete/").status_code == 302
    assert not SavedView.objects.exists()


def test_a_run_of_years_ago_has_its_day(alice: User) -> None:
    make_run(alice, created_at=timezone.now() - timedelta(days=800))
    assert len(rows(page(browser(alice)))) == 1


@pytest.mark.parametrize(
    ("name", "query", "said"),
    [
        (" ", "q=bird", "Give the view a name."),
        ("n" * 81, "q=bird", "at most 80 characters; this one has 81"),
        ("Birds", "q=" + "bird+" * 500, "too long to be saved"),
    ],
)
def test_a_view_that_cannot_be_saved_says_so_and_keeps_what_was_typed(
    alice: User, name: str, query: str, said: str
) -> None:
    data = {"name": name, "query": query, "shared": "on"}
    answer = browser(alice).post("/history/views/", data, headers={"HX-Request": "true"})
    assert (answer.status_code, answer["HX-Retarget"]) == (422, "#save-view")
    assert said in answer.text
    assert f'value="{name.strip()}"' in answer.text
    assert "checked" in answer.text
    assert not SavedView.objects.exists()
    assert said in browser(alice).post("/history/views/", data).text
    good = browser(alice).post(
        "/history/views/", {"name": "Birds", "query": "q=bird"}, headers={"HX-Request": "true"}
    )
    assert good["HX-Redirect"] == "/history/?q=bird"


def test_a_full_page_stays_below_60_kb_without_compression(alice: User) -> None:
    prompt = (
        "The following is a short field guide entry for beginners. Keep to what can be checked. "
    )
    changes = [["changed", "temperature", "0.7", "0.9"], ["changed", "max_tokens", "80", "160"]]
    for number in range(listing.PAGE + 1):
        run = make_run(
            alice,
            prompt * 3,
            "The common kingfisher is a small, bright bird. " * 9,
            total_ms=1840.0,
        )
        for model in ("qwen2.5-7b-instruct", "mistral-small-24b")[: number % 3]:
            make_run(alice, prompt, comparison=run.comparison, model=model, index=False)
        RunLabel.objects.put(
            [run.pk], Label.objects.named(run.team_id, ["task=field-guide", "gold"])
        )
        Comparison.objects.filter(pk=run.comparison_id).update(changes=json.dumps(changes))
    html = page(browser(alice))
    assert len(rows(html)) == listing.PAGE
    assert len(html.encode()) < 60_000


def test_what_comes_below_is_rows_alone(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "PAGE", 2)
    made = [make_run(alice, f"Run {number}") for number in range(5)]
    client = browser(alice)
    html = page(client)
    seen: list[str] = []
    while older := re.search(r'href="(\?[^"]*older=[^"]*)"', html):
        seen += rows(html)
        address = "/history/" + older[1].replace("&amp;", "&")
        answer = client.get(address, headers={"HX-Request": "true", "HX-Target": "more"})
        html = answer.text
        assert "<title>" not in html
        assert 'id="found"' not in html
    assert [*seen, *rows(html)] == [f"comparison-{run.comparison_id}" for run in made[::-1]]


def test_a_row_of_the_trash_leads_to_the_trash(alice: User) -> None:
    run = make_run(alice)
    run.comparison.trash()
    html = page(browser(alice), q="is:trashed")
    assert f'href="/trash/#comparison-{run.comparison_id}"' in html
    assert f'href="/runs/{run.pk}/"' not in html
    assert 'data-act="restore"' in html
    assert 'data-act="trash"' not in html


def test_where_nothing_is_found_it_says_where_words_are_looked_for(
    client: Client, alice: User
) -> None:
    make_run(alice, "A prompt", "An output")
    client.force_login(alice)
    said = "Words are looked for in prompts, outputs and tool calls"
    for search, told in (("zebra", True), ("label:zebra", False), ("output", False)):
        page = client.get("/history/", {"q": search}).content.decode()
        assert (said in page) is told


def test_a_list_without_rows_offers_nothing_for_rows(alice: User) -> None:
    client = browser(alice)
    assert "Triage" not in page(client)
    make_run(alice)
    assert "Triage" in page(client)
    assert "Triage" not in page(client, q="nosuchword")
