"""Headers, error pages and redirects of every answer."""

import gzip
from typing import Any

import pytest
from django.http import HttpResponse, StreamingHttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse
from django.views.debug import ExceptionReporter, technical_500_response

from playground.models import User
from playground.providers import Target
from playground.security import HEADERS, Compression, NothingTyped

SECRET = "".join(("sk-", "typed", "/0123456789+abc=="))  # not whole in the source that is shown


def broken(request: Any) -> Any:
    """An error with secrets in the variables around it."""
    target = Target("http://h/v1", SECRET, headers={"X-Gate": SECRET})
    plain = [SECRET, {"key": SECRET}, target.key]
    raise ValueError(f"{len(plain)} values")


@pytest.mark.parametrize("debug", [True, False])
def test_an_error_page_shows_nothing_that_was_typed(settings: Any, debug: bool) -> None:
    settings.DEBUG = debug
    fields = {"api_key": SECRET, "new_headers": f"X-Gate: {SECRET}", "name": "a"}
    request = RequestFactory().post(
        "/admin/", fields, headers={"Authorization": f"Bearer {SECRET}", "X-Api-Key": SECRET}
    )
    request.COOKIES["playground_8000"] = SECRET
    try:
        broken(request)
    except ValueError as error:
        found = (type(error), error, error.__traceback__)
        page = technical_500_response(request, *found).content.decode()
        report = ExceptionReporter(request, *found)
        text = report.get_traceback_text() + report.get_traceback_html()
    assert "3 values" in page
    assert "in broken" in text
    assert "new_headers" in page
    assert SECRET not in page
    assert SECRET not in text


def test_pages_travel_compressed_and_streams_as_they_are() -> None:
    def answered(response: Any) -> Any:
        request = RequestFactory().get("/", headers={"Accept-Encoding": "gzip"})
        return Compression(lambda _: response)(request)

    page = answered(HttpResponse("word " * 1000))
    assert page["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in page["Vary"]
    assert len(page.content) < 500
    assert gzip.decompress(page.content) == b"word " * 1000
    export = answered(StreamingHttpResponse(iter([b"word " * 1000])))
    assert not export.has_header("Content-Encoding")
    assert b"".join(export) == b"word " * 1000


def test_the_filter_of_error_pages_is_always_on() -> None:
    assert NothingTyped().is_active(None)


def test_the_policy_allows_nothing_inline() -> None:
    policy = HEADERS["Content-Security-Policy"]
    assert policy.startswith("default-src 'self';")
    for word in ("unsafe", "*", "data:", "http", "nonce"):
        assert word not in policy
    assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize(
    "where", ["http://evil.example/", "//evil.example", "https:evil.example", "\\\\evil.example",
              "javascript:alert(1)", "/\t/evil.example", "http:///evil.example"]
)  # fmt: skip
def test_no_page_redirects_to_another_host(client: Client, alice: User, where: str) -> None:
    alice.set_password("a long enough word 1")
    alice.save()
    given = {"username": "alice", "password": "a long enough word 1", "next": where}
    answer = client.post(reverse("login"), given)
    assert answer.status_code == 302
    assert answer.headers["Location"] == reverse("compose")
    again = client.get(reverse("login"), {"next": where})
    assert "evil" not in again.headers.get("Location", "")
