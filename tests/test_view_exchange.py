"""The pages of export and import: what is chosen goes out, what is uploaded comes in."""

import asyncio
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import AsyncClient, Client
from django.utils import timezone

from playground.database import close_pool
from playground.exchange import exporting, importing
from playground.exchange.exporting import Export
from playground.models import Run, Transfer, User
from playground.upkeep import Upkeep
from tests.runs import make_run
from tests.test_exchange import dora, exported  # noqa: F401 (a fixture)


@pytest.fixture
def pool() -> Iterator[None]:
    yield
    close_pool()


async def download(client: AsyncClient, transfer: Transfer) -> bytes:
    answer: Any = await client.get(f"/transfers/{transfer.pk}/file/")
    assert answer.status_code == 200
    assert f'filename="{transfer.name}"' in answer["Content-Disposition"]
    return b"".join([part async for part in answer])


async def asked(client: AsyncClient, user: User, **data: Any) -> Transfer:
    await client.aforce_login(user)
    answer = await client.post("/export/", data)
    assert answer.status_code == 302
    return await Transfer.objects.aget(pk=int(answer["Location"].split("/")[2]))


@pytest.mark.django_db(transaction=True)
async def test_what_the_address_finds_goes_out(
    async_client: AsyncClient, alice: User, bob: User, pool: None
) -> None:
    make = sync_to_async(make_run)
    await make(alice, "one kingfisher", "x")
    await make(alice, "two", "y")
    await make(bob, "three kingfisher", "z")
    mine = await asked(async_client, alice, layout="jsonl", q="kingfisher", whose="mine")
    lines = [json.loads(line) for line in (await download(async_client, mine)).splitlines()]
    assert [line["request"]["prompt"] for line in lines if line["type"] == "run"] == [
        "one kingfisher"
    ]
    await mine.arefresh_from_db()
    assert (mine.state, mine.runs, mine.percent) == ("finished", 1, 100)
    team = await asked(async_client, alice, layout="csv", q="", whose="team")
    assert (await download(async_client, team)).count(b"\r\n") == 4
    chosen = await Run.objects.aget(prompt_preview="two")
    one = await asked(async_client, alice, layout="markdown", comparison=chosen.comparison_id)
    assert (await download(async_client, one)).endswith(b"\n\n1 runs.\n")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("layout", ["jsonl", "csv", "markdown", "html", "sqlite"])
async def test_what_breaks_off_says_so_inside_the_file(
    async_client: AsyncClient,
    alice: User,
    layout: str,
    pool: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await sync_to_async(make_run)(alice)

    def broken(*_: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(exporting, "load", broken)
    transfer = await asked(async_client, alice, layout=layout)
    content = await download(async_client, transfer)
    assert exporting.FAILED.encode() in content
    assert b"the disk" not in content
    await transfer.arefresh_from_db()
    assert (transfer.state, transfer.error) == ("failed", exporting.FAILED)


@pytest.mark.django_db(transaction=True)
async def test_a_reader_who_goes_away_is_noted(alice: User, pool: None) -> None:
    await sync_to_async(make_run)(alice)
    transfer = await Transfer.objects.acreate(
        kind="export",
        team_id=alice.current_team_id,
        author=alice,
        layout="jsonl",
        selection=exporting.Selection.now().to_json(),
    )
    stream = (await sync_to_async(Export)(alice, transfer)).stream()
    assert await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]
    await asyncio.gather(*exporting._ending)
    await transfer.arefresh_from_db()
    assert transfer.state == "stopped"


def test_the_page_says_what_goes_out(client: Client, alice: User) -> None:
    make_run(alice, "one")
    client.force_login(alice)
    page = client.get("/export/", {"q": "one"}).content.decode()
    assert "<strong>1 run</strong>" in page
    wrong = client.get("/export/", {"q": "rating:x"})
    assert wrong.status_code == 422
    assert 'role="alert"' in wrong.content.decode()
    assert client.post("/export/", {"layout": "exe"}).status_code == 404
    assert client.get("/export/", {"comparison": "x"}).status_code == 404


def upload(client: Client, content: bytes) -> Any:
    return client.post("/import/", {"file": SimpleUploadedFile("C:\\x\\runs.jsonl", content)})


def test_a_small_file_comes_in_at_once(
    client: Client,
    alice: User,
    dora: User,  # noqa: F811
) -> None:
    make_run(alice, "kingfisher")
    content = exported(alice)
    client.force_login(dora)
    page = client.get(upload(client, content)["Location"]).content.decode()
    assert "1 run imported" in page
    assert "runs.jsonl" in page
    history = client.get("/history/").content.decode()
    assert "imported: alice" in history
    again = client.get(upload(client, content)["Location"]).content.decode()
    assert "1 skipped that the team had already" in again


def test_what_is_wrong_with_the_file_is_said_in_place(
    client: Client, alice: User, settings: Any
) -> None:
    client.force_login(alice)
    answer = upload(client, b"a,b\n1,2\n")
    assert answer.status_code == 422
    assert importing.FOREIGN in answer.content.decode()
    assert "Choose a file first." in client.post("/import/").content.decode()
    settings.MAX_IMPORT = 10
    assert "larger than" in upload(client, b"x" * 100).content.decode()
    settings.MAX_IMPORT = 1024 * 1024
    longest = client.post("/import/", {"file": SimpleUploadedFile("x", b"x" * 2**21)})
    assert longest.status_code == 413


@pytest.mark.django_db(transaction=True)
async def test_a_large_file_goes_on_in_the_background(
    alice: User,
    dora: User,  # noqa: F811
    pool: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importing, "BATCH", 2)
    for number in range(9):
        await sync_to_async(make_run)(alice, f"number {number}", index=False)
    content = await sync_to_async(exported)(alice)
    client = Client()
    await sync_to_async(client.force_login)(dora)
    answer = await sync_to_async(upload)(client, content)
    transfer = await Transfer.objects.aget()
    assert (transfer.state, transfer.runs, transfer.lease) == ("running", 6, None)
    page = await sync_to_async(client.get)(answer["Location"])
    assert 'hx-trigger="every 1s"' in page.content.decode()
    await Upkeep().round()
    await transfer.arefresh_from_db()
    assert (transfer.state, transfer.runs) == ("finished", 9)
    assert await sync_to_async(exported)(dora) == content


def test_an_import_is_stopped_and_keeps_what_came(client: Client, alice: User) -> None:
    transfer = Transfer.objects.create(
        kind="import", team_id=alice.current_team_id, author=alice, layout="jsonl", total=9
    )
    client.force_login(alice)
    client.post(f"/transfers/{transfer.pk}/stop/")
    transfer.refresh_from_db()
    assert transfer.state == "stopped"
    assert Transfer.objects.imports().take() is None


def test_an_export_that_nobody_sends_any_more_is_not_waited_for(
    client: Client, alice: User
) -> None:
    transfer = Transfer.objects.create(
        kind="export",
        team_id=alice.current_team_id,
        author=alice,
        layout="csv",
        state="running",
        lease=timezone.now() - timedelta(minutes=1),
    )
    client.force_login(alice)
    page = client.get(f"/transfers/{transfer.pk}/").content.decode()
    assert "Broken off" in page
    assert "every 1s" not in page
