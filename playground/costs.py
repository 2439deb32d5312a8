"""Tokens and money of a request: the most it may take, and what its answer took.

Money is US dollars, as Decimal. Standard library only, besides the value types.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_UP, Decimal, InvalidOperation
from typing import Any

from playground.completion import CompletionRequest, RunStatus
from playground.outcome import Outcome

MILLION = Decimal(1_000_000)
SMALLEST = Decimal("0.0000000001")  # dollars; what a cost is rounded to
# Of one run; above it a figure is nonsense, and sums of many would not fit their columns.
MOST = Decimal(10**5)  # dollars
MOST_TOKENS = 10**12

BYTES_PER_TOKEN = 3  # English has four or five, Chinese about three
PER_MESSAGE = 8  # tokens around a message of a chat
LENGTHS = ("max_tokens", "max_completion_tokens", "n_predict", "max_new_tokens")
WAYS = ("n", "best_of", "n_cmpl")  # how many answers are written to each prompt


@dataclass(frozen=True)
class Rates:
    """Dollars for a million tokens. `cached` None: cached prompt tokens cost what others do."""

    input: Decimal
    output: Decimal
    cached: Decimal | None = None

    def cost(self, prompt: int, completion: int, cached: int = 0) -> Decimal:
        """Dollars; `cached` is the part of `prompt` that the backend had already read."""
        cached = min(cached, prompt)
        rate = self.input if self.cached is None else self.cached
        total = (prompt - cached) * self.input + cached * rate + completion * self.output
        return (total / MILLION).quantize(SMALLEST, ROUND_HALF_EVEN)

    def most(self, prompt: int, completion: int) -> Decimal:
        """The worst case, rounded up."""
        dearest = max(self.input, self.cached or self.input)
        total = prompt * dearest + completion * self.output
        return (total / MILLION).quantize(SMALLEST, ROUND_UP)

    @property
    def free(self) -> bool:
        return not (self.input or self.output or self.cached)


def prompt_estimate(request: CompletionRequest) -> int:
    """Tokens of the prompt: exact for token ids, else from the length in bytes, rather too many."""
    if request.operation == "chat":
        texts = [json.dumps(message, ensure_ascii=False) for message in request.messages]
        tools = [request.values[path] for path in ("tools", "functions") if path in request.values]
        texts += [json.dumps(tool, ensure_ascii=False) for tool in tools]
        return sum(_tokens(text) + PER_MESSAGE for text in texts)
    return sum(_prompt_tokens(prompt) for prompt in _prompts(request.prompt))


def completion_limit(request: CompletionRequest, assumed: int) -> int:
    """The most tokens of all answers together; `assumed` for each where nothing bounds them."""
    body = request.body()
    set_ones = [value for name in LENGTHS if (value := _positive(body.get(name)))]
    ways = max([value for name in WAYS if (value := _positive(body.get(name)))], default=1)
    return max(set_ones, default=assumed) * ways * prompt_count(request)


def prompt_count(request: CompletionRequest) -> int:
    return 1 if request.operation == "chat" else len(_prompts(request.prompt))


def _prompts(prompt: Any) -> list[Any]:
    """One prompt each: a text, or a list of token ids."""
    if isinstance(prompt, list) and not all(type(each) is int for each in prompt):
        return prompt
    return [prompt]


def _prompt_tokens(prompt: Any) -> int:
    return len(prompt) if isinstance(prompt, list) else _tokens(str(prompt))


def _tokens(text: str) -> int:
    return math.ceil(len(text.encode(errors="replace")) / BYTES_PER_TOKEN)


def _positive(value: Any) -> int:
    """0 for what bounds nothing: unset, 0 or less (llama.cpp: without end), nonsense."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 < value < 2**40 else 0


@dataclass(frozen=True)
class Used:
    """What a run took; `tokens` and `cost` are None where nobody has said it."""

    tokens: int | None = None
    cost: Decimal | None = None
    own: bool = False  # the cost is the provider's own word


def used(
    status: str, outcome: Outcome, rates: Rates | None, *, streams: bool, dialect: str
) -> Used:
    """From the usage where it is whole. Cached tokens are part of the prompt's, reasoning tokens
    of the completion's (contracts of all four APIs); the provider's own costs go before ours."""
    counts = _whole_counts(status, outcome, streams, dialect)
    tokens = counts[0] + counts[1] if counts else None
    if (own := own_cost(outcome.meta)) is not None:
        return Used(tokens, own, own=True)
    cost = rates.cost(*counts) if counts and rates else None
    return Used(tokens, cost if cost is None or cost < MOST else None)


def _whole_counts(
    status: str, outcome: Outcome, streams: bool, dialect: str
) -> tuple[int, int, int] | None:
    """(prompt, completion, cached) tokens of the whole answer, or None.

    Not whole: an answer that was cut off (some servers count in every chunk); llama.cpp's answer in
    one piece with several choices, which counts the first only; zeros beside a text.
    """
    choices, usage = outcome.choices, outcome.usage or {}
    prompt, completion = count(usage, "prompt_tokens"), count(usage, "completion_tokens")
    if prompt is None or completion is None:
        return None
    if status != RunStatus.COMPLETED and not (choices and all(c.finish_reason for c in choices)):
        return None
    if dialect == "llama.cpp" and not streams and len(choices) > 1:
        return None
    if not completion and any(choice.text or choice.reasoning for choice in choices):
        return None
    details = usage.get("prompt_tokens_details")
    cached = count(details, "cached_tokens") if isinstance(details, Mapping) else None
    return prompt, completion, cached or 0


def count(usage: Mapping[str, Any], name: str) -> int | None:
    """A token count; None for anything that is none."""
    value = usage.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value < MOST_TOKENS else None


def own_cost(meta: Mapping[str, Any]) -> Decimal | None:
    """Dollars that the provider itself names (Pulze: `metadata.costs`, under the names of token
    counts): its total, else the sum of its parts."""
    metadata = meta.get("metadata")
    costs = metadata.get("costs") if isinstance(metadata, Mapping) else None
    if not isinstance(costs, Mapping):
        return None
    total = _dollars(costs.get("total_tokens"))
    if total is not None:
        return total
    parts = [_dollars(costs.get(name)) for name in ("prompt_tokens", "completion_tokens")]
    known = [part for part in parts if part is not None]
    return sum(known, Decimal(0)) if known else None


def _dollars(value: Any) -> Decimal | None:
    """As it was written (0.1 is 0.1), rounded to the smallest cost that we keep."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        amount = Decimal(str(value))
        return amount.quantize(SMALLEST) if 0 <= amount < MOST else None
    except InvalidOperation:
        return None


def dollars(amount: Decimal) -> str:
    """To read: $3.20, $0.0031, $0.00002; two places, or two digits that say something."""
    if not amount:
        return "$0"
    if amount >= 1:
        return f"${amount:,.2f}"
    places = max(2, 1 - amount.adjusted())
    text = f"{amount:.{places}f}"
    head, _, tail = text.partition(".")
    return f"${head}.{tail[:2]}{tail[2:].rstrip('0')}"
