"""“View code”: a request as a program that sends the same body and headers.

The key is always an environment variable; an admin's extra headers are not known here and never
shown. Every program prints the text as it arrives where the request streams.
"""

from collections.abc import Callable
from typing import NamedTuple

from playground.completion import CompletionRequest
from playground.parameters import for_api
from playground.snippets.call import PATHS, Call
from playground.snippets.clients import octoai, ogx, openai
from playground.snippets.plain import curl, fetch, httpx


class Snippet(NamedTuple):
    label: str
    language: str
    program: Callable[[Call], str]
    providers: tuple[str, ...] = ()  # () is all
    client: bool = False  # it knows the paths by itself, and wants a model
    bounded: bool = False  # it drops further fields beside a value outside of the bounds


def available(call: Call) -> dict[str, Snippet]:
    """{name: snippet} of those that can send this request to this address."""
    return {name: each for name, each in SNIPPETS.items() if _fits(each, call)}


def _fits(snippet: Snippet, call: Call) -> bool:
    usual = call.path in ("", PATHS[call.request.operation]) and call.request.model
    if snippet.client and not usual:
        return False
    if snippet.bounded and _is_outside(call.request):
        return False
    own = call.request.provider in snippet.providers and call.base_url.endswith("/v1")
    return own or not snippet.providers


def _is_outside(request: CompletionRequest) -> bool:
    rows = [(support.kind, row.path) for row, support in for_api(request.api)]
    values = request.values
    return any(path in values and kind.outside(values[path]) for kind, path in rows)


SNIPPETS: dict[str, Snippet] = {
    "curl": Snippet("curl", "shell", curl),
    "httpx": Snippet("Python · httpx", "python", httpx),
    "openai": Snippet("Python · openai", "python", openai, client=True),
    "fetch": Snippet("JavaScript · fetch", "javascript", fetch),
    "octoai": Snippet("Python · octoai", "python", octoai, ("octoai",), client=True),
    "ogx": Snippet("Python · ogx-client", "python", ogx, ("ogx",), client=True, bounded=True),
}

__all__ = ["SNIPPETS", "Call", "Snippet", "available"]
