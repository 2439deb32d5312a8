"""Icons and addresses that are ready before a page is asked for."""

import pytest
from django.template import Context, Template
from django.test.utils import override_script_prefix
from django.urls import reverse

LOAD = "{% load playground_tags %}"


@pytest.mark.parametrize("name", ["run", "run_markdown", "stop", "labels", "comparison"])
def test_an_address_is_that_of_the_list(name: str) -> None:
    """Also under another prefix than the one under which it was asked for first."""
    template = Template(LOAD + f"{{% address '{name}' n %}} {{% url '{name}' n %}}")
    for prefix in ("/", "/tools/a&b/", "/"):
        with override_script_prefix(prefix):
            for number in (7, 10**17, "12"):
                first, second = template.render(Context({"n": number})).split()
                assert first == second
    assert reverse(name, args=[7]) == template.render(Context({"n": 7})).split()[0]


@pytest.mark.parametrize("number", ["", "x", None, "<b>"])
def test_what_is_no_number_has_no_address(number: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        Template(LOAD + "{% address 'run' n %}").render(Context({"n": number}))


def test_an_icon_may_be_named_in_the_template_or_by_the_page() -> None:
    named = Template(LOAD + '{% icon "stop" "sm" %}').render(Context())
    assert named == ('<svg class="icon icon--sm" aria-hidden="true"><use href="#i-stop"/></svg>')
    by_page = Template(LOAD + "{% icon name size %}{% icon name %}")
    text = by_page.render(Context({"name": "stop", "size": "sm"}))
    assert text == named + named.replace(" icon--sm", "")
    assert "&lt;" in by_page.render(Context({"name": "<", "size": ""}))
