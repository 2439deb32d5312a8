"""The reference says what the table says, on the page and in docs/parameters.md."""

import json
import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import Client, RequestFactory

from playground import parameters, reference
from playground.models import User
from playground.parameters import (
    ESTABLISHED,
    EXTENSION,
    LLAMA,
    PARAMETERS,
    SAMPLING,
    Api,
    Either,
    Flag,
    Float,
    Integer,
    Json,
    Kind,
    Option,
    Parameter,
    Text,
    TokenBias,
    on,
    row,
)
from playground.providers import PROVIDERS
from playground.reference import Entry, bounds, entries, markdown, title
from playground.views.reference import reference as view
from tests.samples import APIS, FIELDS

DOCS = settings.BASE_DIR / "docs" / "parameters.md"
FACTS = [
    fact
    for fact in FIELDS
    if fact["name"].split("[")[0] not in ("model", "prompt", "messages", "Authorization")
]


@pytest.fixture
def tea() -> Iterator[Parameter]:
    added = row("tea", Float(0, 1), SAMPLING, "Tea", "How much tea.", on(LLAMA, EXTENSION))
    parameters.register(added)
    yield added
    parameters.unregister("tea")


def by_path() -> dict[str, Entry]:
    return {entry.path: entry for entry in entries()}


# --- The rows ------------------------------------------------------------------------------


def test_every_parameter_has_every_api_or_says_that_it_is_not_sent() -> None:
    found = by_path()
    assert set(found) == {each.path for each in PARAMETERS}
    for each in PARAMETERS:
        entry = found[each.path]
        for api in APIS:
            name = title(api.provider, api.dialect)
            rows = [r for r in entry.rows if r.title == name and api.operation in r.operations]
            missing = {name, f"{name} {api.operation}"} & set(entry.missing)
            support = each.support(api)
            assert len(rows) == (support is not None), (each.path, api)
            assert bool(missing) == (support is None), (each.path, api)
            if support:
                [shown] = rows
                assert shown.name == support.name
                assert shown.status == support.status.replace("_", " ")
                assert shown.note.startswith(support.note)
                assert support.unset in shown.note
                assert support.source in shown.sources or not support.source


@pytest.mark.parametrize(
    "fact", FACTS, ids=lambda f: f"{f['provider']}-{f['dialect']}-{f['operation']}-{f['name']}"
)
def test_every_documented_field_is_there_with_its_type_and_bounds(fact: dict[str, Any]) -> None:
    """`data/fields.json`, not our own table, says what has to be there."""
    name = title(fact["provider"], fact["dialect"] or "")
    rows = [
        each
        for entry in entries()
        for each in entry.rows
        if each.title == name and fact["operation"] in each.operations
    ]
    renamed = {f["renamed_from"]: f["name"] for f in FIELDS if f["renamed_from"] and of(f, fact)}
    wire = renamed.get(fact["name"], fact["name"])
    own = [each for each in rows if each.name == wire]
    if not own:
        members = [m for each in rows for m in each.members if m.startswith(f"{wire}:")]
        below = [each for each in rows if each.name.startswith(f"{wire}.")]
        assert members or below, "neither a row nor a part of one"
        return
    [shown] = own
    if fact["name"] == wire:
        for bound in (fact["minimum"], fact["maximum"]):
            assert bound is None or re.search(rf"(?<![\d.]){re.escape(f'{bound:g}')}", shown.bounds)
        assert set(shown.types.split(" or ")) <= set(fact["type"]) | {"array<any>"}


def of(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(one[name] == other[name] for name in ("provider", "dialect", "operation"))


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Integer(), ""),
        (Integer(0, 5), "0 to 5"),
        (Integer(1), "at least 1"),
        (Float(maximum=2), "at most 2"),
        (Float(0, exclusive_minimum=True), "above 0"),
        (Float(0, 1, exclusive_minimum=True), "above 0, at most 1"),
        (Option(("a", "b")), "one of: a, b"),
        (Option(), ""),
        (TokenBias(), "each -100 to 100"),
        (Either(Integer(0, 5), Flag()), "0 to 5"),
        (Either(TokenBias(), TokenBias()), "each -100 to 100"),
        (Json("array", items="integer"), ""),
        (Text(), ""),
    ],
)
def test_it_says_bounds_in_words(kind: Kind, said: str) -> None:
    assert bounds(kind) == said


def test_both_operations_share_a_row_where_they_say_the_same() -> None:
    found = by_path()
    assert [r.where for r in found["temperature"].rows if r.title == "Pulze"] == [
        "completions, chat"
    ]
    assert [r.where for r in found["top_p"].rows if r.title == "Pulze"] == ["completions", "chat"]
    renamed = next(r for r in found["repetition_penalty"].rows if r.title == "llama.cpp")
    assert renamed.name == "repeat_penalty"


def test_a_row_added_at_run_time_is_in_it(tea: Parameter) -> None:
    assert by_path()["tea"].rows[0].bounds == "0 to 1"
    assert "### `tea`" in markdown()


def test_the_apis_are_those_of_the_table_and_the_unknown_ones() -> None:
    there = {
        Api(provider, dialect, operation)
        for provider, dialect in reference.backends()
        for operation in parameters.OPERATIONS
    }
    assert there == set(APIS)
    assert there >= ESTABLISHED


# --- docs/parameters.md --------------------------------------------------------------------


def test_the_file_in_docs_says_what_the_table_says() -> None:
    assert DOCS.read_text(encoding="utf-8") == markdown(), "manage.py parameters --write"


def test_the_command_prints_writes_and_checks(
    tmp_path: Path, settings: Any, tea: Parameter
) -> None:
    printed = StringIO()
    call_command("parameters", stdout=printed)
    assert printed.getvalue() == markdown()
    settings.BASE_DIR = tmp_path
    (tmp_path / "docs").mkdir()
    with pytest.raises(CommandError, match="out of date"):
        call_command("parameters", check=True)
    call_command("parameters", write=True)
    call_command("parameters", check=True)
    assert "`tea`" in (tmp_path / "docs" / "parameters.md").read_text()
    parameters.unregister("tea")
    try:
        with pytest.raises(CommandError, match="parameters --write"):
            call_command("parameters", check=True)
    finally:
        parameters.register(tea)


def test_every_line_of_a_table_has_the_same_cells() -> None:
    lines = [line for line in markdown().splitlines() if line.startswith("|")]
    assert {len(re.split(r"(?<!\\)\|", line)) for line in lines} == {12}


# --- The page ------------------------------------------------------------------------------


@pytest.fixture
def page(client: Client, bob: User) -> Any:
    client.force_login(bob)

    def get(query: str | None = None) -> str:
        response = client.get("/reference/", {} if query is None else {"q": query})
        assert response.status_code == 200
        return response.content.decode()

    return get


ENTRY = re.compile(r'<tbody id="([^"]+)" data-entry( hidden)?>(.*?)</tbody>', re.S)


def shown(html: str) -> set[str]:
    return {path for path, hidden, _ in ENTRY.findall(html) if not hidden}


def plain(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<wbr>|<[^>]+>", "", html))


def test_the_page_lists_every_parameter_with_every_provider(page: Any) -> None:
    html = page()
    sections = {path: plain(inner) for path, _, inner in ENTRY.findall(html)}
    assert set(sections) == shown(html) == {each.path for each in PARAMETERS}
    for text in sections.values():
        for slug, dialect in reference.backends():
            assert title(slug, dialect) in text
    assert len(PROVIDERS) >= 4
    assert f"{len(PARAMETERS)} of {len(PARAMETERS)}" in html


@pytest.mark.parametrize(
    ("query", "there", "not_there"),
    [
        ("temperature", "temperature", "top_k"),
        ("REPEAT_penalty llama", "repetition_penalty", "temperature"),
        ("ban token 50256", "logit_bias", "seed"),
        ("header weight", "Pulze-Weights.cost", "temperature"),
        ("  penalties  ", "frequency_penalty", "seed"),
        ("tools[].function.name", "tools", "top_p"),
    ],
)
def test_it_filters_without_a_script(page: Any, query: str, there: str, not_there: str) -> None:
    found = shown(page(query))
    assert there in found
    assert not_there not in found


def test_nothing_found_says_so(page: Any) -> None:
    html = page("no such <word>")
    assert shown(html) == set()
    assert 'value="no such &lt;word&gt;"' in html
    assert "data-none hidden" not in html
    assert "data-none hidden" in page()
    assert len(re.findall("data-group hidden", html)) == len(re.findall("data-group", html))


def test_it_has_no_inline_script_or_style(page: Any) -> None:
    html = page()
    assert not re.search(r"<script(?![^>]*\bsrc=)[^>]*>\s*\S", html)
    assert "style=" not in html


def test_it_is_for_members_only_and_read_only(client: Client, bob: User) -> None:
    assert client.get("/reference/").status_code == 302
    assert view(RequestFactory().post("/reference/")).status_code == 405  # type: ignore[arg-type]


def test_every_default_is_json() -> None:
    for entry in entries():
        for each in entry.rows:
            assert not each.default or json.loads(each.default) is not None
