"""A local or self-hosted server that speaks OpenAI's API: llama.cpp, vLLM, Ollama, LM Studio."""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from playground.completion import ErrorKind
from playground.providers.base import NO_TOKENIZER, Provider, Token, rows_of, size_of
from playground.providers.errors import ProviderError
from playground.providers.target import Target

# A path that one of them has, and a field of its answer or of a row of its list. LM Studio answers
# unknown paths with an error object and status 200, so the field decides.
SIGNS = (
    ("/props", "llama.cpp", "default_generation_settings"),
    ("/api/version", "ollama", "version"),
    ("/api/v0/models", "lmstudio", "compatibility_type"),
    ("/version", "vllm", "version"),
)
OWNERS = {
    "llamacpp": "llama.cpp",
    "vllm": "vllm",
    "library": "ollama",
    "organization_owner": "lmstudio",
}


class Local(Provider):
    slug = "local"
    label = "Local"
    help = (
        "A server of your own that speaks OpenAI's API: llama.cpp, vLLM, Ollama, LM Studio or like."
    )
    default_base_url = "http://127.0.0.1:8080/v1"
    needs_key = False

    async def dialect(self, target: Target) -> str:
        """By what only one of them answers; `other` for a server that answers like none."""
        root = target.base_url.removesuffix("/v1")
        for path, dialect, field in SIGNS:
            with contextlib.suppress(ProviderError):
                answer = await self.ask(target, root + path)
                if isinstance(answer, Mapping) and _has(answer, field):
                    return dialect
        return await self._dialect_by_owner(target)

    async def _dialect_by_owner(self, target: Target) -> str:
        """By whom the models belong to; "" where there is no list either."""
        try:
            answer = await self.ask(target, f"{target.base_url}/models")
        except ProviderError:
            return ""
        rows = _rows(answer, "data")
        owners = {row.get("owned_by") for row in rows if isinstance(row, Mapping)}
        return next((OWNERS[owner] for owner in owners if owner in OWNERS), "other")

    async def tokens(self, target: Target, model: str, text: str, dialect: str) -> list[Token]:
        root = target.base_url.removesuffix("/v1")
        if dialect == "llama.cpp":
            answer = await self.ask(
                target, f"{root}/tokenize", {"content": text, "with_pieces": True}
            )
            return [_llama_token(each) for each in _rows(answer, "tokens")]
        if dialect == "vllm":
            body = {"model": model, "prompt": text, "return_token_strs": True}
            answer = await self.ask(target, f"{root}/tokenize", body)
            ids, strings = _rows(answer, "tokens"), _rows(answer, "token_strs")
            strings += [""] * (len(ids) - len(strings))
            return [_token(id_, text) for id_, text in zip(ids, strings, strict=False)]
        raise ProviderError(NO_TOKENIZER, ErrorKind.NOT_FOUND)

    async def context(self, target: Target, model: str, dialect: str) -> int | None:
        root = target.base_url.removesuffix("/v1")
        if dialect == "llama.cpp":
            props = await self.ask(target, f"{root}/props")
            settings = props.get("default_generation_settings") if isinstance(props, dict) else None
            return size_of(settings.get("n_ctx")) if isinstance(settings, dict) else None
        if dialect == "vllm":
            rows = rows_of(await self.ask(target, f"{target.base_url}/models"))
            return _size(rows, "id", model, "max_model_len")
        if dialect == "ollama":  # of those that are loaded: the setting decides, not the model
            rows = rows_of(await self.ask(target, f"{root}/api/ps"), "models")
            return _size(rows, "name", model, "context_length")
        if dialect == "lmstudio":
            rows = rows_of(await self.ask(target, f"{root}/api/v0/models"))
            return _size(rows, "id", model, "loaded_context_length")
        return None

    async def pieces(
        self, target: Target, model: str, ids: Sequence[int], dialect: str
    ) -> list[Token]:
        if dialect not in ("llama.cpp", "vllm"):
            raise ProviderError(NO_TOKENIZER, ErrorKind.NOT_FOUND)
        name = "content" if dialect == "llama.cpp" else "prompt"
        url = f"{target.base_url.removesuffix('/v1')}/detokenize"
        found = []
        for id_ in ids:
            body = {"tokens": [id_]} | ({} if dialect == "llama.cpp" else {"model": model})
            answer = await self.ask(target, url, body)
            found.append(_token(id_, answer.get(name) if isinstance(answer, Mapping) else ""))
        return found


def _has(answer: Mapping[str, Any], field: str) -> bool:
    rows = _rows(answer, "data")
    return field in answer or any(isinstance(row, Mapping) and field in row for row in rows)


def _size(rows: Sequence[Mapping[str, Any]], key: str, model: str, name: str) -> int | None:
    """Of the row of this model; without a model, of the only one."""
    found = [row for row in rows if row.get(key) == model or (not model and len(rows) == 1)]
    return size_of(found[0].get(name)) if found else None


def _rows(answer: Any, name: str) -> list[Any]:
    found = answer.get(name) if isinstance(answer, Mapping) else None
    return list(found) if isinstance(found, list) else []


def _llama_token(row: Any) -> Token:
    """Older builds know no pieces, and list ids alone."""
    return _token(row.get("id"), row.get("piece")) if isinstance(row, Mapping) else _token(row, "")


def _token(id_: Any, piece: Any) -> Token:
    """A piece that is no whole character comes as a list of bytes."""
    if isinstance(piece, list):
        whole = all(type(each) is int and 0 <= each < 256 for each in piece)
        piece = bytes(piece).decode("utf-8", "replace") if whole else ""
    return Token(id_ if type(id_) is int else 0, "" if piece is None else str(piece))
