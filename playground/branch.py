"""Another way on from the middle of an answer: the request that asks for it.

Pure. What has been said up to there is sent as text: appended to the prompt, or in a chat as the
beginning of the answer, where the backend goes on with an assistant message that comes last.
"""

from dataclasses import replace

from playground.completion import CompletionRequest

# Chat: what a body needs besides, so that the last assistant message is continued.
# llama.cpp does so by itself; vLLM has two switches (its protocol of chat completions).
PREFILL: dict[str, dict[str, bool]] = {
    "llama.cpp": {},
    "vllm": {"add_generation_prompt": False, "continue_final_message": True},
}
PREFILLED = (
    "The answer so far is sent as the beginning of an assistant message, which is continued."
)
NO_PREFILL = (
    "In a chat this backend begins a new answer after an assistant message, so nothing can be"
    " continued here. It can be in a completion."
)
NO_TEXT = "The prompt is token ids, and text cannot be appended to them."
HALF = "This is only a part of a character, and half a character cannot be sent as text."
END = "This has no text of its own, such as the end of the answer."


def refusal(asked: CompletionRequest, choice: int) -> str:
    """Why nothing can be continued from this run's answer; "" where it can."""
    if asked.operation == "chat":
        return "" if asked.dialect in PREFILL else NO_PREFILL
    return "" if prompt_of(asked, choice) is not None else NO_TEXT


def prompt_of(asked: CompletionRequest, choice: int) -> str | None:
    """The prompt text that a choice answers; None where that is token ids."""
    if isinstance(asked.prompt, str):
        return asked.prompt
    if not asked.prompt or not all(isinstance(each, str) for each in asked.prompt):
        return None
    n = asked.values.get("n") or asked.values.get("n_cmpl") or 1
    position = choice // n if type(n) is int and n > 0 else choice
    prompt: str = asked.prompt[min(position, len(asked.prompt) - 1)]
    return prompt


def branched(asked: CompletionRequest, choice: int, text: str, echoed: bool) -> CompletionRequest:
    """The same settings with `text` of the answer said already.

    `echoed`: the text begins with the prompt, or with the prefill of a chat.
    """
    if asked.operation != "chat":
        prompt = "" if echoed else prompt_of(asked, choice) or ""
        return replace(asked, prompt=prompt + text)
    messages = [dict(message) for message in asked.messages]
    said = prefill(asked)
    if said is not None:
        messages.pop()
    start = "" if echoed else said or ""
    messages.append({"role": "assistant", "content": start + text})
    extra = {**asked.extra, **PREFILL.get(asked.dialect, {})}
    return replace(asked, messages=tuple(messages), extra=extra)


def added(asked: CompletionRequest, choice: int, text: str) -> str:
    """What an answer says beyond what it repeats."""
    return text.removeprefix(repeated(asked, choice))


def repeated(asked: CompletionRequest, choice: int) -> str:
    """What an answer may begin with: the prompt that is echoed, or the prefill of a chat."""
    echo = bool(asked.values.get("echo"))
    if asked.operation == "chat":
        # vLLM repeats it only when asked to; of others that is not known.
        return prefill(asked) or "" if echo or asked.dialect != "vllm" else ""
    return prompt_of(asked, choice) or "" if echo else ""


def in_one(asked: CompletionRequest, text: str) -> tuple[CompletionRequest, str]:
    """A chat without the prefill that its answer went on from, and the answer with it in front."""
    switches = PREFILL.get(asked.dialect)
    said = prefill(asked)
    if said is None or switches is None or not switches.items() <= asked.extra.items():
        return asked, text
    extra = {name: value for name, value in asked.extra.items() if name not in switches}
    return replace(asked, messages=asked.messages[:-1], extra=extra), said + added(asked, 0, text)


def prefill(asked: CompletionRequest) -> str | None:
    """The answer's beginning that was sent already: the text of a last assistant message."""
    last = asked.messages[-1] if asked.operation == "chat" and asked.messages else {}
    content = last.get("content")
    return content if last.get("role") == "assistant" and isinstance(content, str) else None
