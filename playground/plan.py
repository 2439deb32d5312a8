"""What a press of Run would send, said before it costs: requests, completions, and how much."""

from decimal import ROUND_UP, Decimal
from typing import Any

from playground.completion import CompletionRequest
from playground.costs import completion_limit, dollars, prompt_estimate
from playground.forms import Draft
from playground.models.prices import PriceBook
from playground.parameters import Status, parameter

COUNTED = (Status.ACCEPTED, Status.EXTENSION, Status.FORWARDED)


def completions_of(request: CompletionRequest) -> int:
    """How many outputs a request asks for: prompts times n, where the API takes n."""
    support = parameter("n").support(request.api)
    n = request.values.get("n", 1) if support and support.status in COUNTED else 1
    return prompts_of(request) * (n if isinstance(n, int) and n > 0 else 1)


def prompts_of(request: CompletionRequest) -> int:
    """A list of texts, or of lists of token ids, is as many prompts."""
    if isinstance(request.prompt, list) and not all(type(each) is int for each in request.prompt):
        return len(request.prompt)
    return 1


def plan_of(draft: Draft) -> dict[str, Any]:
    """For the page's script; `requests` is exactly what would go out, 0 where nothing can."""
    columns = [
        {
            "requests": column.plan.count,
            "completions": sum(completions_of(each) for each, _ in column.cells),
            "values": {path: list(texts) for path, texts in column.plan.values.items()},
            "repeats": len(column.plan.chunks),
        }
        for column in draft.columns
    ]
    requests = draft.requests() if draft.ok else []
    problems = draft.errors + [each for column in draft.columns for each in column.errors]
    return {
        "requests": len(requests),
        "completions": sum(completions_of(each) for _, each in requests),
        "columns": columns,
        "rows": len(draft.rows.rows),
        "undefined": draft.rows.undefined,
        "unused": draft.rows.unused,
        "problem": next((each.message for each in problems), ""),
        "cost": cost_of(draft) if requests else "",
    }


def cost_of(draft: Draft) -> str:
    """The most that the press may cost, as the page says it; "" where nothing has a price.

    "≤ $0.12" where every request is bounded, "from $0.12" where one has no limit of tokens or no
    price: it may cost more than that.
    """
    requests = draft.requests()
    book = PriceBook([connection for connection, _ in requests])
    total, priced, bounded = Decimal(0), False, True
    for connection, request in requests:
        rates = book.rates(connection, request.model)
        if rates is None:
            bounded = False
            continue
        tokens = completion_limit(request, 0)
        priced = True
        bounded = bounded and (bool(tokens) or not rates.output)
        total += rates.most(prompt_estimate(request), tokens)
    if not priced:
        return ""
    return f"≤ {dollars(_up(total))}" if bounded else f"from {dollars(total)}"


def _up(amount: Decimal) -> Decimal:
    """To the digits that `dollars` shows, so that the most is not said too small."""
    places = 2 if amount >= 1 or not amount else max(2, 1 - amount.adjusted())
    return amount.quantize(Decimal(1).scaleb(-places), ROUND_UP)
