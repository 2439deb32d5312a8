"""A local or self-hosted server that speaks OpenAI's API: llama.cpp, vLLM, Ollama, LM Studio."""

from playground.providers.base import Provider


class Local(Provider):
    slug = "local"
    label = "Local"
    help = (
        "A server of your own that speaks OpenAI's API: llama.cpp, vLLM, Ollama, LM Studio or like."
    )
    default_base_url = "http://127.0.0.1:8080/v1"
    needs_key = False
