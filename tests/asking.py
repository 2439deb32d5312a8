"""What a provider makes of an answer, without Django."""

from collections.abc import AsyncIterator

from playground.completion import Batch, CompletionRequest, StreamEvent
from playground.outcome import Outcome, fold
from playground.providers import Provider, Target


async def outcome(provider: Provider, target: Target, request: CompletionRequest) -> Outcome:
    batch = Batch()
    async for event in provider.stream(target, request):
        batch.add(event)
    return fold(batch.to_list())


async def collect(stream: AsyncIterator[StreamEvent], events: list[StreamEvent]) -> None:
    """What came, also before a failure."""
    async for event in stream:
        events.append(event)
