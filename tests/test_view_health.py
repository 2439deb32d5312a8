"""What answers without a login."""

import sys

import pytest
from django.db import OperationalError
from django.test import Client, RequestFactory

from playground.views import health


def test_the_icon_is_found_where_browsers_look(client: Client) -> None:
    answer = client.get("/favicon.ico")
    assert answer.status_code == 301
    assert answer.headers["Location"].endswith(".svg")


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (OperationalError("server closed the connection"), 503, "database cannot be reached"),
        (ValueError("odd"), 500, "Something broke"),
    ],
)
def test_an_error_page_says_what_it_is(error: Exception, status: int, said: str) -> None:
    try:
        raise error
    except Exception:
        assert sys.exc_info()[1] is error
        answer = health.server_error(RequestFactory().get("/"))
    assert answer.status_code == status
    assert said in answer.content.decode()
    assert (answer.headers.get("X-Reason") == "database") == (status == 503)
