"""A local or self-hosted server that speaks OpenAI's API: llama.cpp, vLLM, Ollama, LM Studio."""

from collections.abc import Mapping, Sequence
from typing import Any

from playground.completion import ErrorKind
from playground.providers.base import NO_TOKENIZER, Provider, Token
from playground.providers.errors import ProviderError
from playground.providers.target import Target


class Local(Provider):
    slug = "local"
    label = "Local"
    help = (
        "A server of your own that speaks OpenAI's API: llama.cpp, vLLM, Ollama, LM Studio or like."
    )
    default_base_url = "http://127.0.0.1:8080/v1"
    needs_key = False

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
            return [Token(int(id_), str(text)) for id_, text in zip(ids, strings, strict=False)]
        raise ProviderError(NO_TOKENIZER, ErrorKind.NOT_FOUND)

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
            found.append(
                Token(id_, str(answer.get(name, "")) if isinstance(answer, Mapping) else "")
            )
        return found


def _rows(answer: Any, name: str) -> list[Any]:
    found = answer.get(name) if isinstance(answer, Mapping) else None
    return list(found) if isinstance(found, list) else []


def _llama_token(row: Any) -> Token:
    """A piece that is no whole character comes as a list of bytes."""
    piece = row.get("piece", "")
    if isinstance(piece, list):
        piece = bytes(piece).decode("utf-8", "replace")
    return Token(int(row.get("id", 0)), str(piece))
