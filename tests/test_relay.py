"""What the processes say to each other; with a real Redis in `services/test_team.py` and
`services/test_faults.py`."""

import asyncio
from typing import Any

import pytest

from playground import relay as module
from playground.relay import Relay, channel_name
from tests.server import free_port


def made() -> Relay:
    return Relay("0123456789abcdef", lambda message: None, lambda: None)


async def test_without_redis_it_does_nothing(settings: Any) -> None:
    settings.REDIS_URL = ""
    relay = made()
    relay.open()
    relay.say({"items": []})
    assert not relay.away
    assert relay.trouble == ""
    await relay.close()


async def test_where_redis_is_away_nothing_waits_for_it_and_the_page_is_told(
    settings: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    monkeypatch.setattr(module, "SAID_AFTER", 0.2)
    monkeypatch.setattr(module, "RETRY", 0.02)
    relay = made()
    relay.open()
    assert relay.away
    assert relay.trouble == ""  # not yet: a start is no outage
    for _ in range(10):
        relay.say({"items": []})
    assert relay._outbox == []
    async with asyncio.timeout(5):
        while not relay.trouble:
            await asyncio.sleep(0.01)
    assert "Nothing is lost" in relay.trouble
    await relay.close()
    said = [record for record in caplog.records if "Redis cannot be reached" in record.message]
    assert len(said) == 1  # once an absence, however often it was tried


def test_each_install_has_a_channel_of_its_own(settings: Any) -> None:
    settings.SECRET_KEY = "one"
    first = channel_name()
    settings.SECRET_KEY = "two"
    assert channel_name() != first
    assert "two" not in channel_name()
