"""A link that was refused is not in the log: it may open something later."""

import pytest
from django.test import Client

from playground.addresses import without_secrets

TOKEN = "Zx81-spectrum_48k-token-of-43-characters-xy"


@pytest.mark.parametrize("path", ["/login/{}/", "/join/{}/", "/s/{}/"])
def test_a_refused_link_is_not_written_into_the_log(
    db: None, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    assert Client().get(path.format(TOKEN)).status_code in (404, 410)
    careful = Client(enforce_csrf_checks=True)
    assert careful.post(path.format(TOKEN), {"a": "b"}).status_code in (403, 404, 405)
    assert caplog.records
    assert TOKEN not in caplog.text
    assert path.format("…") in caplog.text


def test_other_addresses_stay_as_they_are() -> None:
    for path in ("/login/code/", "/runs/1234567890123/", "/login/", "/stats/abcdefghijklm"):
        assert without_secrets(path) == path
    assert without_secrets(f"/a/sub/s/{TOKEN}/ and") == "/a/sub/s/…/ and"
