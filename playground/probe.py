"""Asks a backend about each parameter with a small request, and remembers what it ignored or
refused. Only an admin starts it: every parameter is a request that may cost money."""

from typing import Any

from playground.completion import Batch, CompletionRequest
from playground.database import in_thread
from playground.lessons import Lesson, lessons_of, lessons_of_refusal
from playground.models import Connection, Memory
from playground.outcome import fold
from playground.parameters import (
    Api,
    Either,
    Flag,
    Float,
    Integer,
    Kind,
    Option,
    Parameter,
    Status,
    TextList,
    for_api,
)
from playground.providers import PROVIDERS, ProviderError, Target
from playground.targets import list_models, target_of

PROMPT = "One, two, three,"
ASKED = (Status.ACCEPTED, Status.EXTENSION, Status.FORWARDED, Status.UNESTABLISHED)
# What the request itself needs, or what would make it long or odd.
LEFT_OUT = (
    "stream", "ignore_eos", "n_predict", "min_tokens", "sse_ping_interval", "id_slot",
    "parallel_tool_calls",  # OpenAI refuses it without tools
)  # fmt: skip
WHOLE = ("prompt_logprobs", "use_beam_search", "best_of")  # refused in a stream


def sample(kind: Kind) -> Any:
    """A harmless value, or None for kinds that have none (JSON, text)."""
    if isinstance(kind, Either):
        return sample(kind.kinds[0])
    if isinstance(kind, Flag):
        return True
    if isinstance(kind, Option):
        return kind.choices[0] if kind.choices else None
    if isinstance(kind, TextList):
        return list(kind.choices[:1]) or ["\n\n"]
    if isinstance(kind, Integer):
        return min(max(kind.minimum or 0, 2), kind.maximum or 2)
    if isinstance(kind, Float):
        low, high = kind.slider or (kind.minimum or 0, kind.maximum or 1)
        return round(low + (high - low) / 2, 2)
    return None


def requests(connection: Connection, operation: str, model: str) -> list[CompletionRequest]:
    """One a parameter that this API is said to take."""
    api = Api(connection.provider, connection.dialect, operation)
    chat = operation == "chat"
    return [
        CompletionRequest(
            provider=connection.provider,
            dialect=connection.dialect,
            operation=operation,
            model=model,
            prompt="" if chat else PROMPT,
            messages=({"role": "user", "content": PROMPT},) if chat else (),
            values=_values(row.path, value, chat),
        )
        for row, support in for_api(api)
        if support.status in ASKED and _is_asked(row)
        if (value := sample(support.kind)) is not None
    ]


def _values(path: str, value: Any, chat: bool) -> dict[str, Any]:
    """With what servers want beside it, and without what they refuse beside it."""
    values = {"max_tokens": 2} if path in WHOLE else {"max_tokens": 2, "stream": True}
    if path == "top_logprobs":
        values["logprobs"] = True if chat else 1
    return {**values, path: value}


def _is_asked(row: Parameter) -> bool:
    return not row.header and row.path not in LEFT_OUT


async def probe(connection: Connection, operation: str, model: str = "") -> list[Lesson]:
    """Sends the requests one after the other; what was learned. Raises ProviderError."""
    model = model or connection.default_model
    model = model or next(iter(await list_models(connection)), "")
    target = await in_thread(target_of, connection)
    learned: list[Lesson] = []
    for request in requests(connection, operation, model):
        learned += await _ask(target, request)
    await in_thread(Memory.objects.learn, connection, model, _newest(learned))
    return learned


async def _ask(target: Target, request: CompletionRequest) -> list[Lesson]:
    batch = Batch()
    try:
        async for event in PROVIDERS[request.provider].stream(target, request):
            batch.add(event)
    except ProviderError as error:
        return lessons_of_refusal(request, error.kind, error.message)
    return lessons_of(request, fold(batch.to_list()))


def _newest(learned: list[Lesson]) -> list[Lesson]:
    """One a parameter and kind, as the memory keeps them."""
    return list({(lesson.path, lesson.kind): lesson for lesson in learned}.values())
