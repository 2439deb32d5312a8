"""Presets and drafts: models and views."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.db.models.signals import pre_save
from django.test import Client

from playground.models import Membership, Preset, Team, User
from playground.models.presets import BIGGEST, MOST

SETTINGS = {"values": {"temperature": "0", "top_p": "1"}}


def keep(user: User, name: str = "Greedy", shared: bool = False, **values: Any) -> Preset:
    settings = {"values": {**SETTINGS["values"], **values}}
    return Preset.objects.keep(user, name, settings, shared)


@pytest.fixture
def login(client: Client) -> Callable[[User], Client]:
    def make(user: User) -> Client:
        client.force_login(user)
        return client

    return make


def names(user: User) -> list[str]:
    return [each.name for each in Preset.objects.visible_to(user).listed()]


def test_a_preset_is_ones_own_until_it_is_shared(alice: User, bob: User, charlie: User) -> None:
    preset = keep(alice)
    assert names(alice) == ["Greedy"]
    assert names(bob) == names(charlie) == []
    preset.share(alice, True)
    preset.save()
    assert names(bob) == ["Greedy"]
    assert names(charlie) == []


def test_an_own_preset_follows_its_author_to_another_team(alice: User) -> None:
    keep(alice)
    other = Team.objects.create(name="Other")
    Membership.objects.create(team=other, user=alice, role=Membership.Role.MEMBER)
    alice.current_team = other
    alice.save()
    assert names(alice) == ["Greedy"]


def test_two_tabs_that_save_a_name_at_once_both_save_it(alice: User) -> None:
    def other_tab(instance: Preset, **_: Any) -> None:
        pre_save.disconnect(other_tab, sender=Preset)
        Preset.objects.bulk_create([Preset(author=alice, name="greedy", settings="{}")])

    pre_save.connect(other_tab, sender=Preset)
    saved = keep(alice)
    assert Preset.objects.get() == saved
    assert saved.settings_value == SETTINGS


def test_saving_under_a_name_again_replaces_the_preset(alice: User, bob: User) -> None:
    first = keep(alice)
    keep(bob)
    again = keep(alice, " greedy ", temperature="0.1")
    assert again.pk == first.pk
    assert again.name == "greedy"
    assert again.settings_value["values"]["temperature"] == "0.1"
    assert Preset.objects.count() == 2


@pytest.mark.parametrize("name", ["", "  ", "a\x07b", "x" * 61])
def test_a_name_is_short_and_visible(alice: User, name: str) -> None:
    with pytest.raises(ValidationError):
        keep(alice, name)


def test_a_preset_is_bounded(alice: User) -> None:
    with pytest.raises(ValidationError, match="256 kB"):
        keep(alice, stop="x" * BIGGEST)
    Preset.objects.bulk_create(
        Preset(author=alice, name=f"p{i}", settings="{}") for i in range(MOST)
    )
    with pytest.raises(ValidationError, match="delete one"):
        keep(alice)


def test_two_presets_of_a_person_never_have_one_name(alice: User) -> None:
    keep(alice)
    with pytest.raises(IntegrityError):
        Preset.objects.create(author=alice, name="GREEDY", settings="{}")


def test_renaming_takes_no_name_that_is_taken(alice: User) -> None:
    keep(alice)
    other = keep(alice, "Wide")
    with pytest.raises(ValidationError, match="another preset"):
        other.rename("GREEDY")
    other.rename("wide")
    assert names(alice) == ["Greedy", "wide"]


# --- Pages ---------------------------------------------------------------------------------


def test_it_saves_lists_renames_shares_and_deletes(
    login: Callable[[User], Client], alice: User, bob: User
) -> None:
    client = login(alice)
    saved = client.post("/presets/", {"name": "Greedy", "settings": json.dumps(SETTINGS)})
    assert saved.status_code == 200
    preset = Preset.objects.get()
    assert "Greedy" in client.get("/presets/").content.decode()
    assert client.post(f"/presets/{preset.pk}/", {"name": "Cold"}).status_code == 200
    assert client.post(f"/presets/{preset.pk}/", {"share": "on"}).status_code == 200
    assert names(bob) == ["Cold"]
    assert client.post(f"/presets/{preset.pk}/", {"share": "off"}).status_code == 200
    assert names(bob) == []
    assert client.post(f"/presets/{preset.pk}/delete/").status_code == 200
    assert not Preset.objects.exists()


def test_another_person_can_apply_but_not_change_a_shared_preset(
    login: Callable[[User], Client], alice: User, bob: User
) -> None:
    preset = keep(alice, shared=True)
    client = login(bob)
    page = client.get("/presets/").content.decode()
    assert "Apply Greedy" in page
    assert "Delete Greedy" not in page
    assert client.post(f"/presets/{preset.pk}/", {"name": "Mine"}).status_code == 404
    assert client.post(f"/presets/{preset.pk}/delete/").status_code == 404


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("no json", "not understood"),
        ("[]", "not understood"),
        ('{"values": []}', "not understood"),
        ('{"values": {}}', "nothing to save"),
        ('{"values": {"temperature": null}}', "nothing to save"),
        ('{"values": {"no_such_thing": "1"}}', "no parameter no_such_thing"),
    ],
)
def test_what_is_no_set_of_parameters_is_refused_with_a_sentence(
    login: Callable[[User], Client], alice: User, settings: str, said: str
) -> None:
    answer = login(alice).post("/presets/", {"name": "X", "settings": settings})
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert not Preset.objects.exists()


def test_zero_and_false_are_values_of_a_preset(
    login: Callable[[User], Client], alice: User
) -> None:
    settings = {"values": {"temperature": 0, "stream": "false"}, "extra": "", "headers": "X-A: b"}
    login(alice).post("/presets/", {"name": "Zero", "settings": json.dumps(settings)})
    kept = {"values": {"temperature": 0, "stream": "false"}, "headers": "X-A: b"}
    assert Preset.objects.get().settings_value == kept


def test_what_the_form_would_set_by_itself_is_kept_as_not_sent(
    login: Callable[[User], Client], alice: User
) -> None:
    settings = {"values": {"stream": None, "seed": None}}
    login(alice).post("/presets/", {"name": "Whole", "settings": json.dumps(settings)})
    assert Preset.objects.get().settings_value == {"values": {"stream": None}}
