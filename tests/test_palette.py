"""The command palette and the keyboard map."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.cache import cache
from django.test import Client

from playground import first_steps, forms, keymap
from playground.checkup import Report
from playground.listed import note
from playground.models import Connection, Preset, Run, User
from tests.runs import make_run

ROOT = Path(__file__).resolve().parent.parent


def asked(client: Client, user: User, query: str) -> str:
    client.force_login(user)
    return client.get("/palette/", {"q": query}).content.decode()


def test_it_finds_presets_models_and_runs_that_one_may_see(
    client: Client, alice: User, bob: User, charlie: User, connect: Callable[..., Connection]
) -> None:
    connection = connect("local", default_model="field-guide-7b")
    Preset.objects.keep(alice, "Field notes", {"values": {"temperature": "0.2"}}, shared=False)
    run = make_run(alice, "A field guide entry")
    found = asked(client, alice, "field")
    assert "Preset Field notes" in found
    assert f"#model-{connection.pk}-field-guide-7b" in found
    assert f"Run {run.comparison_id}: A field guide entry" in found
    assert "Preset Field notes" not in asked(client, bob, "field")
    assert f"Run {run.comparison_id}" not in asked(client, charlie, "field")


def test_listed_models_are_offered_and_those_that_only_failed_are_not(
    client: Client, alice: User, connect: Callable[..., Connection]
) -> None:
    cache.clear()
    connection = connect("local", default_model="", test_report=Report(listed=("p-1",)).to_json())
    for model, status in (("p-typo", "failed"), ("p-unlisted", "completed")):
        run = make_run(alice, "Hi")
        Run.objects.filter(pk=run.pk).update(connection=connection, model=model, status=status)
    assert re.findall(r"Model ([\w-]+)<", asked(client, alice, "p-")) == ["p-1", "p-unlisted"]
    note(connection, ["p-2-large", "p-1"])
    found = re.findall(r"Model ([\w-]+)<", asked(client, alice, "p-"))
    assert found == ["p-2-large", "p-1", "p-unlisted"]


def test_a_search_that_cannot_be_read_finds_no_runs(client: Client, alice: User) -> None:
    assert "Run " not in asked(client, alice, 'param:temperature>"')


def test_a_reviewer_is_offered_no_models(
    client: Client, rita: User, connect: Callable[..., Connection]
) -> None:
    connect("local", default_model="field-guide-7b")
    assert "Model" not in asked(client, rita, "field")


def test_every_command_has_its_control() -> None:
    templates = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "templates").rglob("*.html")
    )
    names = [command.name for command in keymap.commands()]
    assert len(set(names)) == len(names)
    assert set(names) == set(re.findall(r'data-command="([\w-]+)"', templates))


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        ("invite", "Members and invitations"), ("member", "Members and invitations"),
        ("team", "Members and invitations"), ("users", "Members and invitations"),
        ("api key", "Connections and keys"), ("key", "Connections and keys"),
        ("export", "Export runs"), ("backup", "Export runs"), ("download", "Export runs"),
        ("import", "Import runs"), ("upload", "Import runs"), ("logout", "Sign out"),
        ("log out", "Sign out"), ("dark", "Dark theme"), ("theme", "Light, dark or as the system"),
        ("shortcuts", "Keyboard shortcuts"), ("2fa", "Two-factor login"), ("curl", "View code"),
        ("help", "Reference of parameters"), ("cost", "Go to Stats"), ("undelete", "Trash"),
        ("delete run", "Trash"), ("delete a run", "Trash"), ("add a key", "Connections and keys"),
        ("invite a colleague", "Members and invitations"),
    ],
)  # fmt: skip
def test_what_a_person_may_do_is_found_by_the_words_they_use(typed: str, named: str) -> None:
    """As `static/js/palette.js` finds it: every word is part of the name or of a synonym."""
    [command] = [each for each in keymap.commands() if each.words == named]
    called = f"{command.words} {command.also}".lower()
    assert all(word in called for word in keymap.words(typed))
    assert command.also == command.also.lower()


def test_the_page_and_the_server_pass_over_the_same_small_words() -> None:
    script = (ROOT / "static/js/palette.js").read_text(encoding="utf-8")
    [listed] = re.findall(r"const SMALL = new Set\(\[(.*?)\]\)", script)
    assert set(re.findall(r'"(\w+)"', listed)) == keymap.SMALL
    assert keymap.words("Add a key to the team") == ["add", "key", "team"]
    assert keymap.words("the") == ["the"]


def test_a_word_that_finds_nothing_does_not_hide_what_the_others_find(
    client: Client, alice: User, connect: Callable[..., Connection]
) -> None:
    connection = connect("local", default_model="field-guide-7b")
    Preset.objects.keep(alice, "Field notes", {"values": {}}, shared=False)
    Preset.objects.keep(alice, "Field trips", {"values": {}}, shared=False)
    found = asked(client, alice, "the field notes of yesterday")
    assert "Preset Field notes" in found
    assert "Preset Field trips" not in found
    assert f"#model-{connection.pk}-field-guide-7b" in found
    nothing = asked(client, alice, "yesterday")
    assert "Preset" not in nothing
    assert "#model-" not in nothing


def test_every_icon_of_a_command_exists() -> None:
    icons = (ROOT / "templates/_icons.html").read_text(encoding="utf-8")
    for command in keymap.commands():
        assert f'id="i-{command.icon}"' in icons, command


def test_every_sample_is_accepted_by_the_form(alice: User, connection: Connection) -> None:
    for sample in first_steps.SAMPLES:
        column = {"connection": connection.pk, "operation": "completions", "model": "m"}
        document = {"prompt": sample.prompt, "values": sample.values, "columns": [column]}
        draft = forms.read(document, alice)
        assert draft.ok, sample


def test_a_newcomer_sees_the_hints_until_the_first_run(
    client: Client, alice: User, connection: Connection
) -> None:
    client.force_login(alice)
    assert "data-tour" in client.get("/").content.decode()
    make_run(alice)
    assert "data-tour" not in client.get("/").content.decode()
