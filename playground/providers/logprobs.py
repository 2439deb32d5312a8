"""Token probabilities: the shapes that providers send, in one normal form.

Normal form: a list of `{"token", "logprob", "bytes", "top": [{"token", "logprob", "bytes"}…]}`;
`logprob` is None where it is not known (the first token of an echoed prompt), and −9999.0 where a
server writes so for minus infinity (vLLM). Where the server tells the token's `id`, it is there.
"""

from typing import Any

LARGEST = 2**53
TOKENS = frozenset(("content", "tokens", "token_logprobs", "top_logprobs"))


def normal(logprobs: Any) -> list[dict[str, Any]]:
    """Any shape of `choices[].logprobs` → tokens; [] for null, numbers and unknown shapes."""
    if not isinstance(logprobs, dict):
        return []
    content = logprobs.get("content")
    if isinstance(content, list):
        return [_token(entry) for entry in content if isinstance(entry, dict)]
    tokens = logprobs.get("tokens")
    return _legacy(logprobs, tokens) if isinstance(tokens, list) else []


def rest(logprobs: Any) -> Any:
    """What `normal` leaves: further members, such as the text offsets; a number as it is."""
    if isinstance(logprobs, dict):
        return {name: value for name, value in logprobs.items() if name not in TOKENS}
    return logprobs if isinstance(logprobs, int | float) and logprobs is not False else {}


def of_prompt(entries: Any) -> list[dict[str, Any]]:
    """vLLM's `prompt_logprobs`: null for the first token, then a map {id: candidate} each, whose
    first candidate is the prompt's own token."""
    found = []
    for entry in _list(entries):
        if isinstance(entry, dict) and entry:
            top = [_prompt_candidate(id_, one) for id_, one in entry.items()]
            ranked = sorted(top, key=lambda one: -1e9 if one["logprob"] is None else one["logprob"])
            found.append({**top[0], "top": ranked[::-1]})
    return found


def _prompt_candidate(id_: Any, entry: Any) -> dict[str, Any]:
    known = entry if isinstance(entry, dict) else {"logprob": entry}
    candidate = {
        "token": str(known.get("decoded_token") or ""),
        "logprob": _number(known.get("logprob")),
        "bytes": None,
    }
    return {**candidate, "id": int(id_)} if str(id_).isdecimal() else candidate


def _token(entry: dict[str, Any]) -> dict[str, Any]:
    candidates = [one for one in _list(entry.get("top_logprobs")) if isinstance(one, dict)]
    return {**_candidate(entry), "top": [_candidate(one) for one in candidates]}


def _candidate(entry: dict[str, Any]) -> dict[str, Any]:
    candidate = {
        "token": _word(entry.get("token")),
        "logprob": _number(entry.get("logprob")),
        "bytes": entry.get("bytes"),
    }
    return {**candidate, "id": entry["id"]} if type(entry.get("id")) is int else candidate


def _legacy(logprobs: dict[str, Any], tokens: list[Any]) -> list[dict[str, Any]]:
    """Parallel arrays: tokens, token_logprobs, top_logprobs (a map a token, or null)."""
    values = _list(logprobs.get("token_logprobs"))
    tops = _list(logprobs.get("top_logprobs"))
    return [
        {
            "token": _word(token),
            "logprob": _number(values[i]) if i < len(values) else None,
            "bytes": None,
            "top": _top_map(tops[i]) if i < len(tops) else [],
        }
        for i, token in enumerate(tokens)
    ]


def _top_map(top: Any) -> list[dict[str, Any]]:
    if not isinstance(top, dict):
        return []
    ranked = [(str(token), _number(value)) for token, value in top.items()]
    ranked.sort(key=lambda pair: -1e9 if pair[1] is None else pair[1], reverse=True)
    return [{"token": token, "logprob": value, "bytes": None} for token, value in ranked]


def _word(token: Any) -> str:
    """Null where a token is no whole character."""
    return "" if token is None else str(token)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: Any) -> float | None:
    """None for what is none, not finite, or an integer that no float holds exactly."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) < LARGEST else None
