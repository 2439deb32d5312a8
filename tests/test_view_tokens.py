"""The tokens of stored runs, with their probabilities and places."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.test import AsyncClient, Client

from playground import branch, database
from playground.completion import CompletionRequest, RunStatus
from playground.models import Choice, Comparison, Connection, Limit, Run, User
from playground.models.choices import packed
from playground.outcome import ChoiceResult
from playground.probabilities import probabilities
from playground.providers.logprobs import normal
from playground.reaper import this_process
from playground.runner import Runner
from tests.conftest import request_to
from tests.fake_provider import FakeProvider


def stored(
    user: User,
    connection: Connection,
    asked: CompletionRequest,
    *outputs: tuple[str, Any],
    **changes: Any,
) -> Run:
    """A run that has ended with these (text, logprobs as the provider sends them)."""
    membership = user.membership()
    assert membership
    comparison = Comparison.objects.begin(membership, [(connection, asked)], owner=this_process())
    [run] = comparison.runs.all()
    Run.objects.filter(pk=run.pk).update(status=RunStatus.COMPLETED, **changes)
    for index, (text, logprobs) in enumerate(outputs):
        tokens = packed(normal(logprobs))
        Choice.objects.create(run=run, index=index, text=text, sha256="", packed_logprobs=tokens)
    run.refresh_from_db()
    return run


def legacy(*tokens: tuple[str, float | None, dict[str, float] | None]) -> dict[str, Any]:
    return {
        "tokens": [each[0] for each in tokens],
        "token_logprobs": [each[1] for each in tokens],
        "top_logprobs": [each[2] for each in tokens],
    }


def got(client: Client, run: Run, **query: Any) -> Any:
    answer = client.get("/tokens/", {"runs": run.pk, **query})
    assert answer.status_code == 200
    return answer.json()["runs"][0]


SEA = legacy(
    (" the", -0.5, {" the": -0.5, " a": -1.2}),
    (" sea", -0.1, {" sea": -0.1, " lake": -3.0}),
)


def test_a_stranger_and_a_wrong_number_get_404(
    client: Client, alice: User, charlie: User, connection: Connection
) -> None:
    run = stored(alice, connection, request_to(connection), (" the sea", SEA))
    client.force_login(charlie)
    assert client.get("/tokens/", {"runs": run.pk}).status_code == 404
    client.force_login(alice)
    for query in ({}, {"runs": "x"}, {"runs": f"{run.pk}", "from": "-1"}, {"runs": "9" * 30}):
        assert client.get("/tokens/", query).status_code == 404


def test_a_reviewer_sees_them(
    client: Client, alice: User, rita: User, connection: Connection
) -> None:
    run = stored(alice, connection, request_to(connection), (" the sea", SEA))
    client.force_login(rita)
    [choice] = got(client, run)["choices"]
    assert [(t["text"], t["start"], t["end"]) for t in choice["tokens"]] == [
        (" the", 0, 4),
        (" sea", 4, 8),
    ]
    assert choice["tokens"][1]["top"][1] == {"text": " lake", "logprob": -3.0}
    assert choice["total"] == 2
    assert choice["next"] is None


def test_a_run_without_probabilities_has_none(
    client: Client, alice: User, connection: Connection
) -> None:
    run = stored(alice, connection, request_to(connection), ("Hi", None))
    client.force_login(alice)
    assert got(client, run)["choices"][0]["tokens"] == []
    Run.objects.filter(pk=run.pk).update(status=RunStatus.RUNNING)
    assert got(client, run)["status"] == "running"


def test_every_choice_has_its_own(client: Client, alice: User, connection: Connection) -> None:
    other = legacy((" no", None, None))
    run = stored(alice, connection, request_to(connection), (" the sea", SEA), (" no", other))
    client.force_login(alice)
    assert [c["total"] for c in got(client, run)["choices"]] == [2, 1]
    [choice] = got(client, run, choice=1)["choices"]
    assert choice["tokens"][0]["logprob"] is None
    assert choice["tokens"][0]["top"] == [{"text": " no", "logprob": None}]


def test_long_outputs_come_in_pages(client: Client, alice: User, connection: Connection) -> None:
    many = legacy(*((f" {i}", -0.5, None) for i in range(2500)))
    text = "".join(f" {i}" for i in range(2500)) + " …"
    run = stored(alice, connection, request_to(connection), (text, many))
    client.force_login(alice)
    seen, start = [], 0
    while start is not None:
        [choice] = got(client, run, **{"from": start, "count": 5000})["choices"]
        assert len(choice["tokens"]) <= 1000
        seen += choice["tokens"]
        start = choice["next"]
    assert "".join(t["text"] for t in seen) + choice["after"] == text


def test_the_taken_token_is_among_the_alternatives_also_where_it_was_not_sent(
    client: Client, alice: User, connection: Connection
) -> None:
    rare = legacy((" zebra", -9999.0, {" the": -0.5, " a": -1.2}))
    run = stored(alice, connection, request_to(connection), (" zebra", rare))
    client.force_login(alice)
    [token] = got(client, run)["choices"][0]["tokens"]
    assert token["taken"] == 2
    assert token["top"][2] == {"text": " zebra", "logprob": -9999.0}


def test_tokens_that_do_not_add_up_are_counted_and_the_text_is_whole(
    client: Client, alice: User, connection: Connection
) -> None:
    odd = legacy((" one", -1, None), ("<|x|>", -1, None), (" four", -1, None))
    run = stored(alice, connection, request_to(connection), (" one two three four!", odd))
    client.force_login(alice)
    [choice] = got(client, run)["choices"]
    assert choice["unplaced"] == 1
    assert [t.get("before", "") for t in choice["tokens"]] == ["", "", " two three"]
    assert choice["after"] == "!"


def test_an_echo_marks_the_tokens_of_the_prompt(
    client: Client, alice: User, connection: Connection
) -> None:
    echo = legacy(
        ("The", None, None),
        (" step", -8.8, {" step": -8.8, " is": -0.69}),
        (" is", -9999.0, {" was": -0.1}),
    )
    asked = request_to(connection, prompt="The step", echo=True)
    run = stored(alice, connection, asked, ("The step is", echo))
    client.force_login(alice)
    [choice] = got(client, run)["choices"]
    assert (choice["prompt"], choice["base"]) == (2, 8)
    assert [t.get("prompt", False) for t in choice["tokens"]] == [True, True, False]


def test_prompt_logprobs_of_vllm_are_the_prompts_own(
    client: Client, alice: User, connection: Connection
) -> None:
    prompt_logprobs = [
        None,
        {
            "1149": {"logprob": -8.8, "rank": 40, "decoded_token": " step"},
            "16": {"logprob": -0.69, "rank": 1, "decoded_token": " is"},
        },
    ]
    metadata = json.dumps({"choices_extra": {"0": {"prompt_logprobs": prompt_logprobs}}})
    run = stored(
        alice, connection, request_to(connection, prompt="The step"), (" the sea", SEA),
        metadata=metadata,
    )  # fmt: skip
    client.force_login(alice)
    [choice] = got(client, run)["choices"]
    first = choice["tokens"][0]
    assert (first["text"], first["before"], first["start"]) == (" step", "The", 3)
    assert [each["text"] for each in first["top"]] == [" is", " step"]
    assert first["taken"] == 1
    assert choice["prompt"] == 1
    assert choice["total"] == 3


def test_loglikelihood_puts_the_prompt_before_the_answer(
    client: Client, alice: User, connection: Connection
) -> None:
    content = [{"token": t, "logprob": -1.0, "top_logprobs": []} for t in (" step", " the", " sea")]
    run = stored(
        alice, connection, request_to(connection, prompt="The step"),
        (" the sea", {"content": content}),
    )  # fmt: skip
    client.force_login(alice)
    [choice] = got(client, run)["choices"]
    assert [t.get("prompt", False) for t in choice["tokens"]] == [True, False, False]
    assert choice["unplaced"] == 0


def test_the_order_of_samplers_is_that_of_the_backend(
    client: Client, alice: User, connection: Connection
) -> None:
    run = stored(
        alice, connection, request_to(connection, temperature=0, top_k=40), (" the sea", SEA)
    )
    client.force_login(alice)
    about = got(client, run)
    assert about["order"][-1] == "temperature"
    assert about["samplers"] == {"temperature": 0, "top_k": 40}
    assert about["order_of"] == "llama.cpp"


# --- Going on from an alternative ---


async def branched(client: AsyncClient, run: Run, token: int, alternative: int) -> Any:
    form = {"choice": "0", "token": str(token), "alternative": str(alternative)}
    return await client.post(f"/runs/{run.pk}/branch/", form)


@pytest.fixture
async def alices(async_client: AsyncClient, alice: User) -> AsyncClient:
    await async_client.aforce_login(alice)
    return async_client


@pytest.mark.django_db(transaction=True)
async def test_it_goes_on_from_the_alternative_with_the_same_settings(
    alices: AsyncClient,
    alice: User,
    connection: Connection,
    provider: FakeProvider,
    runner: Runner,
) -> None:
    asked = request_to(
        connection, prompt="Past", temperature=0, max_tokens=7, logprobs=2, stop=["\n"]
    )
    run = await database.in_thread(stored, alice, connection, asked, (" the sea", SEA))
    answer = await branched(alices, run, 1, 1)
    assert answer.status_code == 200, answer.content
    new = await Run.objects.exclude(pk=run.pk).select_related("comparison").aget()
    assert answer.json() == {"url": f"/comparisons/{new.comparison_id}/"}
    await runner.wait([new.pk])
    assert provider.posts[0].json == {**asked.body(), "prompt": "Past the lake"}
    page = (await alices.get(f"/comparisons/{new.comparison_id}/")).content.decode()
    assert "Past the lake" in page
    assert f'href="/runs/{run.pk}/"' in page
    assert "token 2" in page


@pytest.mark.django_db(transaction=True)
async def test_the_first_run_shares_nothing_with_the_second(
    alices: AsyncClient, alice: User, connection: Connection, runner: Runner
) -> None:
    asked = request_to(connection, prompt="Past", logit_bias={"5": 1})
    run = await database.in_thread(stored, alice, connection, asked, (" the sea", SEA))
    before = run.request
    await branched(alices, run, 0, 1)
    await run.arefresh_from_db()
    assert run.request == before
    new = await Run.objects.exclude(pk=run.pk).aget()
    assert new.request_value().prompt == "Past a"


@pytest.mark.django_db(transaction=True)
async def test_a_reviewer_and_a_stranger_cannot(
    async_client: AsyncClient,
    alice: User,
    rita: User,
    charlie: User,
    connection: Connection,
    provider: FakeProvider,
    runner: Runner,
) -> None:
    run = await database.in_thread(
        stored, alice, connection, request_to(connection), (" the sea", SEA)
    )
    for person, status in ((rita, 403), (charlie, 404)):
        await async_client.aforce_login(person)
        assert (await branched(async_client, run, 0, 1)).status_code == status
    assert not provider.posts
    await async_client.aforce_login(rita)
    about = (await async_client.get("/tokens/", {"runs": run.pk})).json()["runs"][0]
    assert about["may_continue"] is False


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("token", "alternative"), [(9, 0), (0, 9), (-1, 0)])
async def test_what_is_not_there_is_refused_with_a_sentence(
    alices: AsyncClient,
    alice: User,
    connection: Connection,
    provider: FakeProvider,
    runner: Runner,
    token: int,
    alternative: int,
) -> None:
    run = await database.in_thread(
        stored, alice, connection, request_to(connection), (" the sea", SEA)
    )
    answer = await branched(alices, run, token, alternative)
    assert answer.status_code == 422
    assert "no such alternative" in answer.json()["error"]
    assert not provider.posts


@pytest.mark.django_db(transaction=True)
async def test_a_limit_that_is_used_up_is_said(
    alices: AsyncClient,
    alice: User,
    connection: Connection,
    provider: FakeProvider,
    runner: Runner,
) -> None:
    run = await database.in_thread(
        stored, alice, connection, request_to(connection), (" the sea", SEA)
    )
    await Limit.objects.acreate(kind="tokens_day", amount=0, connection=connection)
    answer = await branched(alices, run, 1, 1)
    assert answer.status_code == 422
    assert "Nothing may be sent here" in answer.json()["error"]
    assert not provider.posts


@pytest.mark.django_db(transaction=True)
async def test_an_emoji_is_another_emoji_as_a_whole(
    alices: AsyncClient, alice: User, connection: Connection, runner: Runner
) -> None:
    duck = {
        "token": " 🦆",
        "id": 224,
        "bytes": list(" 🦆".encode()),
        "logprob": -0.1,
        "top_logprobs": [
            {"token": "�", "id": 224, "bytes": [134], "logprob": -0.1},
            {"token": "�", "id": 225, "bytes": [135], "logprob": -3},
            {"token": "", "id": 2, "bytes": [], "logprob": -4},
            {"token": "�", "id": 9, "bytes": [240], "logprob": -5},
        ],
    }
    run = await database.in_thread(
        stored, alice, connection, request_to(connection, prompt="I love"),
        (" 🦆", {"content": [duck]}),
    )  # fmt: skip
    assert "end of the answer" in (await branched(alices, run, 0, 2)).json()["error"]
    assert "part of a character" in (await branched(alices, run, 0, 3)).json()["error"]
    assert (await branched(alices, run, 0, 1)).status_code == 200
    new = await Run.objects.exclude(pk=run.pk).aget()
    assert new.request_value().prompt == "I love 🦇"


@pytest.mark.django_db(transaction=True)
async def test_a_chat_goes_on_where_the_backend_continues_an_answer(
    alices: AsyncClient,
    alice: User,
    connect: Callable[..., Connection],
    runner: Runner,
) -> None:
    for dialect, extra in branch.PREFILL.items():
        backend = await database.in_thread(connect, dialect, dialect=dialect)
        asked = request_to(backend, "chat", prompt="Where?")
        run = await database.in_thread(stored, alice, backend, asked, (" the sea", SEA))
        url = (await branched(alices, run, 1, 1)).json()["url"]
        new = await Run.objects.aget(comparison=int(url.strip("/").split("/")[1]))
        body = new.request_value().body()
        assert body["messages"] == [
            {"role": "user", "content": "Where?"},
            {"role": "assistant", "content": " the lake"},
        ]
        assert extra.items() <= body.items()


@pytest.mark.django_db(transaction=True)
async def test_elsewhere_a_chat_is_refused_with_the_reason(
    alices: AsyncClient,
    alice: User,
    connect: Callable[..., Connection],
    provider: FakeProvider,
    runner: Runner,
) -> None:
    backend = await database.in_thread(connect, "pulze", provider="pulze", dialect="")
    asked = request_to(backend, "chat", prompt="Where?")
    run = await database.in_thread(stored, alice, backend, asked, (" the sea", SEA))
    assert "begins a new answer" in (await branched(alices, run, 0, 1)).json()["error"]
    about = (await alices.get("/tokens/", {"runs": run.pk})).json()["runs"][0]
    assert "begins a new answer" in about["refusal"]
    assert not provider.posts


def test_a_prefill_is_continued_not_repeated(connection: Connection) -> None:
    asked = request_to(connection, "chat", prompt="Where?")
    asked = replace(asked, messages=(*asked.messages, {"role": "assistant", "content": "At"}))
    for text, echoed in ((" the", False), ("At the", True)):
        new = branch.branched(asked, 0, text, echoed)
        assert [m["content"] for m in new.messages] == ["Where?", "At the"]
    assert len(asked.messages) == 2


@pytest.mark.parametrize(
    ("dialect", "echo", "base"), [("vllm", False, 0), ("vllm", True, 1), ("llama.cpp", False, 1)]
)
def test_an_answer_that_happens_to_begin_as_the_prefill_is_no_repetition(
    connection: Connection, dialect: str, echo: bool, base: int
) -> None:
    asked = request_to(connection, "chat", prompt="Where?", echo=echo)
    begun = branch.branched(replace(asked, dialect=dialect), 0, "\n", False)
    choice = ChoiceResult(0, "\n- sea", logprobs=[{"token": "\n"}, {"token": "- sea"}])
    assert probabilities(begun, choice, {}).base == base
    assert branch.added(begun, 0, choice.text) == choice.text[base:]


def test_a_list_of_prompts_goes_on_with_its_own_and_token_ids_do_not(
    connection: Connection,
) -> None:
    asked = replace(request_to(connection, n=2), prompt=["A", "B"])
    assert branch.branched(asked, 2, " x", False).prompt == "B x"
    assert branch.refusal(replace(asked, prompt=[1, 2]), 0) == branch.NO_TEXT


# --- The panel ---


def test_the_panel_has_a_list_for_each_choice_that_has_tokens(
    client: Client, alice: User, charlie: User, connection: Connection
) -> None:
    run = stored(alice, connection, request_to(connection), (" the sea", SEA), (" no", None))
    client.force_login(alice)
    page = client.get(f"/runs/{run.pk}/probabilities/").content.decode()
    assert page.count('role="listbox"') == 1
    assert 'data-choice="0"' in page
    client.force_login(charlie)
    assert client.get(f"/runs/{run.pk}/probabilities/").status_code == 404


@pytest.mark.parametrize(
    ("status", "asked", "sentence"),
    [
        (RunStatus.COMPLETED, {"logprobs": 5}, "this backend sent none"),
        (RunStatus.COMPLETED, {"logprobs": 0}, "this backend sent none"),
        (RunStatus.COMPLETED, {}, "to 1 or more"),
        (RunStatus.COMPLETED, {"logprobs": None}, "were asked for"),
        (RunStatus.RUNNING, {"logprobs": 5}, "has ended"),
        (RunStatus.RUNNING, {}, "No token probabilities were asked for"),
    ],
)
def test_the_panel_says_why_it_is_empty(
    client: Client,
    alice: User,
    connection: Connection,
    status: RunStatus,
    asked: dict[str, Any],
    sentence: str,
) -> None:
    run = stored(alice, connection, request_to(connection, **asked), ("Hi", None))
    Run.objects.filter(pk=run.pk).update(status=status)
    client.force_login(alice)
    assert sentence in client.get(f"/runs/{run.pk}/probabilities/").content.decode()
