"""Every stream of `data/sse_cases.jsonl`, served over real HTTP, as it ends in the stored run."""

import logging
from typing import Any

import pytest

from playground.completion import ErrorKind
from playground.models import Connection, Run
from playground.runner import Runner
from tests.conftest import request_to, run_all
from tests.fake_provider import FakeProvider, cases, from_case

CASES = cases()
HTTP_KINDS = ("auth", "rate_limit", "bad_request", "not_found", "unavailable", "redirected")


def kind_of(run: Run) -> str | None:
    """The stored kind in the words of the cases."""
    if not run.error_kind:
        return None
    return "http_error" if run.error_kind in HTTP_KINDS else run.error_kind


def outcome(run: Run) -> dict[str, Any]:
    choices = list(run.choices.all())
    usage = run.usage_value
    return {
        "texts": {str(choice.index): choice.text for choice in choices if choice.text},
        "finish": {str(choice.index): choice.finish_reason for choice in choices},
        "usage": usage,
        "error": kind_of(run),
    }


def expected(case: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    expect = {**case["expect"], **changes}
    texts = expect.get("texts") or {"0": expect["text"]}
    finish = expect["finish"] if isinstance(expect["finish"], dict) else {"0": expect["finish"]}
    return {
        "texts": {index: text.replace("\0", "\ufffd") for index, text in texts.items() if text},
        "finish": finish,
        "usage": expect["usage"],
        "error": expect["error"],
    }


def same(found: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """A choice without text and finish reason may be missing."""
    finishes = {index: reason for index, reason in wanted["finish"].items() if reason}
    found_finishes = {index: reason for index, reason in found["finish"].items() if reason}
    return {**found, "finish": found_finishes} == {**wanted, "finish": finishes}


@pytest.mark.parametrize("chunking", ["listed", "whole", "bytes"])
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
@pytest.mark.django_db(transaction=True)
async def test_it_ends_as_expected_in_the_stored_run(
    case: dict[str, Any],
    chunking: str,
    alice: Any,
    connection: Connection,
    provider: FakeProvider,
    runner: Runner,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    provider.reply_with(from_case(case, chunking=chunking))
    [run] = await run_all(runner, alice, [(connection, request_to(connection, case["api"]))])

    found = outcome(run)
    alternatives = [{}, *(case["expect"].get("also_ok") or [])]
    assert any(same(found, expected(case, changes)) for changes in alternatives), found
    assert run.status == ("failed" if found["error"] else "completed")
    if found["error"]:
        assert run.error_message
    stored = repr({name: getattr(run, name) for name in Run.__dict__ if name in vars(run)})
    for forbidden in case["expect"].get("forbid") or []:
        assert forbidden not in stored + caplog.text


def test_it_knows_every_kind_of_error() -> None:
    wanted = {case["expect"]["error"] for case in CASES} - {None}
    assert wanted - {"http_error"} <= {str(kind) for kind in ErrorKind}
    assert set(HTTP_KINDS) <= {str(kind) for kind in ErrorKind}
