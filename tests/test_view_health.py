"""What answers without a login."""

from django.test import Client


def test_health_needs_no_login_and_no_database(client: Client) -> None:
    answer = client.get("/healthz")
    assert (answer.status_code, answer.content) == (200, b"ok\n")


def test_the_icon_is_found_where_browsers_look(client: Client) -> None:
    answer = client.get("/favicon.ico")
    assert answer.status_code == 301
    assert answer.headers["Location"].endswith(".svg")
