"""“View code”: a request as a program that sends the same body and headers.

The key is always an environment variable; an admin's extra headers are not known here and never
shown. Every program prints the text as it arrives where the request streams.
"""

import json
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from playground.completion import CompletionRequest
from playground.parameters import Api, Status, for_api

PATHS = {"completions": "/completions", "chat": "/chat/completions"}
KEYS = {"local": "API_KEY", "octoai": "OCTOAI_TOKEN"}  # others: PULZE_API_KEY, OGX_API_KEY, …
WIDTH = 88  # characters; longer lists and objects go over several lines
LONGEST_ARGUMENT = 100_000  # bytes; Linux takes 128 KiB in one argument of a program
SAFE_INTEGER = 2**53  # JavaScript's numbers are exact up to here
# No page or terminal shows these as they are; an unpaired surrogate is no text at all.
UNSEEN = re.compile(
    "[\x7f-\xa0\xad\u061c\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ud800-\udfff]"
)


@dataclass(frozen=True)
class Call:
    """A request and where it goes; `path` only where it is another one than OpenAI's."""

    request: CompletionRequest
    base_url: str
    needs_key: bool = True
    path: str = ""

    @property
    def url(self) -> str:
        return self.base_url + (self.path or PATHS[self.request.operation])

    @property
    def root(self) -> str:
        """The base URL for clients that add `/v1` themselves."""
        return self.base_url.removesuffix("/v1")

    @property
    def key(self) -> str:
        """The environment variable that holds the key."""
        provider = self.request.provider
        return KEYS.get(provider) or re.sub(r"\W", "_", provider).upper() + "_API_KEY"


class Snippet(NamedTuple):
    label: str
    language: str
    program: Callable[[Call], str]
    providers: tuple[str, ...] = ()  # () is all
    client: bool = False  # knows the paths by itself


def available(call: Call) -> dict[str, Snippet]:
    """{name: snippet} of those that can send this request to this address."""
    return {name: each for name, each in SNIPPETS.items() if _fits(each, call)}


def _fits(snippet: Snippet, call: Call) -> bool:
    usual = call.path in ("", PATHS[call.request.operation]) and call.request.model
    if snippet.client and not usual:
        return False
    own = call.request.provider in snippet.providers and call.base_url.endswith("/v1")
    return own or not snippet.providers


# --- Values as source text -----------------------------------------------------------------


def _json(value: Any, indent: int | None = None) -> str:
    """JSON in which everything that cannot be seen is an escape."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    return UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _literal(value: Any, scalar: Callable[[Any], str], depth: int) -> str:
    """Objects and lists in the notation that Python and JavaScript share."""
    if isinstance(value, Mapping):
        parts = [f"{scalar(name)}: {_literal(v, scalar, depth + 1)}" for name, v in value.items()]
        opening, closing = "{}"
    elif isinstance(value, list | tuple):
        parts = [_literal(each, scalar, depth + 1) for each in value]
        opening, closing = "[]"
    else:
        return scalar(value)
    line = f"{opening}{', '.join(parts)}{closing}"
    if len(line) + 4 * depth <= WIDTH and "\n" not in line:
        return line
    inner = "".join(f"{part},\n" for part in parts)
    return f"{opening}\n{textwrap.indent(inner, '    ')}{closing}"


def _python(value: Any, depth: int = 0) -> str:
    # JSON's escapes in strings mean the same in Python.
    return _literal(value, lambda each: _json(each) if isinstance(each, str) else repr(each), depth)


def _javascript(value: Any) -> str:
    return _literal(value, _json, 0)


def _shell(text: str) -> str:
    """In single quotes, where nothing but the quote itself is special."""
    return "'" + text.replace("'", "'\\''") + "'"


# --- curl ----------------------------------------------------------------------------------


def curl(call: Call) -> str:
    body = _json(call.request.body(), indent=2)
    lines = [f"curl --no-buffer {_shell(call.url)}", "-H 'Content-Type: application/json'"]
    if call.needs_key:
        lines.append(f'-H "Authorization: Bearer ${call.key}"')
    lines += [f"-H {_shell(f'{name}: {v}')}" for name, v in call.request.headers().items()]
    if len(body.encode()) < LONGEST_ARGUMENT:
        return " \\\n  ".join([*lines, f"--data-raw {_shell(body)}"]) + "\n"
    end = "END_OF_BODY"  # JSON has no such line
    return " \\\n  ".join([*lines, f"--data-binary @- <<'{end}'"]) + f"\n{body}\n{end}\n"


# --- Python and JavaScript without a client ------------------------------------------------

EVENTS = """\
    buffer = ""
    for piece in response.iter_text():
        *lines, buffer = (buffer + piece).split("\\n")
        for line in lines:
            data = line.removeprefix("data:").strip()
            if not line.startswith("data:") or data == "[DONE]":
                continue
            for choice in (json.loads(data) or {}).get("choices") or []:
"""


def httpx(call: Call) -> str:
    request = call.request
    body = request.body()
    names = ["json"] if request.streams or not _is_text(body) else []
    names += ["os"] if call.needs_key else []
    headers = "".join(f"    {_python(n)}: {_python(v)},\n" for n, v in request.headers().items())
    if call.needs_key:
        headers = f'    "Authorization": f"Bearer {{os.environ[\'{call.key}\']}}",\n' + headers
    sent = "json=body"
    if not _is_text(body):  # httpx would refuse to encode it
        headers = '    "Content-Type": "application/json",\n' + headers
        sent = "content=json.dumps(body)"
    text = _imports(names, "import httpx")
    text += f"headers = {{\n{headers}}}\n" if headers else "headers = {}\n"
    text += f"body = {_python(body)}\n\n"
    arguments = f"{_python(call.url)}, headers=headers, {sent}, timeout=300"
    if not request.streams:
        where = 'choice["message"]["content"]' if request.operation == "chat" else 'choice["text"]'
        return text + (
            f"response = httpx.post({arguments})\nif response.is_error:\n"
            f"    raise SystemExit(response.text)\n"
            f'for choice in response.json()["choices"]:\n    print({where})\n'
        )
    piece = 'choice.get("text")'
    if request.operation == "chat":
        piece = '(choice.get("delta") or {}).get("content")'
    return text + (
        f'with httpx.stream("POST", {arguments}) as response:\n    if response.is_error:\n'
        f"        raise SystemExit(response.read().decode())\n{EVENTS}"
        f'                print({piece} or "", end="", flush=True)\n'
    )


def _is_text(value: Any) -> bool:
    """Whether it has no unpaired surrogate in it."""
    return not re.search("[\ud800-\udfff]", json.dumps(value, ensure_ascii=False))


def _imports(standard: Iterable[str], others: str) -> str:
    lines = "".join(f"import {name}\n" for name in standard)
    return (f"{lines}\n" if lines else "") + f"{others}\n\n"


READ = """\
let buffer = "";
for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
  const lines = (buffer + piece).split("\\n");
  buffer = lines.pop();
  for (const line of lines) {
    const data = line.startsWith("data:") ? line.slice(5).trim() : "[DONE]";
    if (data === "[DONE]") continue;
    for (const choice of JSON.parse(data)?.choices ?? []) process.stdout.write(PIECE ?? "");
  }
}
"""


def fetch(call: Call) -> str:
    """A JavaScript module for Node 18 or newer."""
    request = call.request
    body = request.body()
    # Where JavaScript's own values would change something, the text is sent as it is.
    exact = _survives(body)
    sent = f"JSON.stringify({_javascript(body)})" if exact else _json(_json(body))
    key = f"    Authorization: `Bearer ${{process.env.{call.key}}}`,\n" if call.needs_key else ""
    headers = "".join(f"    {_json(n)}: {_json(v)},\n" for n, v in request.headers().items())
    text = (
        f"const response = await fetch({_json(call.url)}, {{\n"
        f'  method: "POST",\n  headers: {{\n    "Content-Type": "application/json",\n'
        f"{key}{headers}  }},\n  body: {textwrap.indent(sent, '  ').lstrip()},\n}});\n"
        f"if (!response.ok) throw new Error(await response.text());\n"
    )
    chat = request.operation == "chat"
    if request.streams:
        return text + READ.replace("PIECE", "choice.delta?.content" if chat else "choice.text")
    where = "choice.message.content" if chat else "choice.text"
    return f"{text}for (const choice of (await response.json()).choices) console.log({where});\n"


def _survives(value: Any) -> bool:
    if isinstance(value, Mapping):
        return "__proto__" not in value and all(map(_survives, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_survives, value))
    return isinstance(value, bool) or not isinstance(value, int) or abs(value) <= SAFE_INTEGER


# --- Clients: what they do not know by name goes through their door for further fields -----


def openai(call: Call) -> str:
    # OGX models OpenAI's API field by field.
    named, further = _split(call.request, Api("ogx", "", call.request.operation), Status.ACCEPTED)
    key = f'os.environ["{call.key}"]' if call.needs_key else '"none"'
    return (
        _imports(["os"] if call.needs_key else [], "from openai import OpenAI")
        + f"client = OpenAI(base_url={_python(call.base_url)}, api_key={key}, max_retries=0)\n"
        + _asked(
            call,
            f"client.{_resource(call)}.create",
            {**named, "extra_headers": call.request.headers(), "extra_body": further},
        )
    )


def octoai(call: Call) -> str:
    named, further = _split(call.request, call.request.api, Status.ACCEPTED, Status.EXTENSION)
    named.pop("stream", None)  # there is a method for each
    options = {
        "additional_headers": call.request.headers(),
        "additional_body_parameters": further,
    }
    options = {name: value for name, value in options.items() if value}
    operation = "chat_completion" if call.request.operation == "chat" else "completion"
    method = f"create_{operation}{'_stream' if call.request.streams else ''}"
    key = f"    api_key=os.environ[{_python(call.key)}],\n" if call.needs_key else ""
    imports = "from octoai.client import OctoAI\nfrom octoai.environment import OctoAIEnvironment"
    return (
        _imports(["os"] if call.needs_key else [], imports)
        + f"url = {_python(call.root)}\n"
        + f"client = OctoAI(\n{key}"
        + "    environment=OctoAIEnvironment(default=url, image_gen=url, text_gen=url),\n)\n"
        + _asked(call, f"client.text_gen.{method}", {**named, "request_options": options})
    )


def ogx(call: Call) -> str:
    """The client is for Python 3.12 and newer."""
    named, further = _split(call.request, call.request.api, Status.ACCEPTED)
    key = f', api_key=os.environ["{call.key}"]' if call.needs_key else ""
    return (
        _imports(["os"] if call.needs_key else [], "from ogx_client import OgxClient")
        + f"client = OgxClient(base_url={_python(call.root)}{key})\n"
        + _asked(call, f"client.{_resource(call)}.create", {**named, "extra_body": further})
    )


def _split(
    request: CompletionRequest, api: Api, *known: Status
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The body as what a client of this API knows by name, and the rest."""
    rows = [support for row, support in for_api(api) if not row.header]
    names = {support.name.split(".")[0] for support in rows if support.status in known}
    names |= {"model", "prompt" if request.operation == "completions" else "messages"}
    body = request.body()
    named = {name: value for name, value in body.items() if name in names}
    return named, {name: value for name, value in body.items() if name not in names}


def _resource(call: Call) -> str:
    return "chat.completions" if call.request.operation == "chat" else "completions"


def _asked(call: Call, method: str, arguments: Mapping[str, Any]) -> str:
    """The call with its arguments, without the empty doors, and the printing of what comes."""
    doors = ("extra_headers", "extra_body", "request_options")
    filled = {name: v for name, v in arguments.items() if v or name not in doors}
    lines = "".join(f"{name}={_python(value, 1)},\n" for name, value in filled.items())
    chat = call.request.operation == "chat"
    text = f"answer = {method}(\n{textwrap.indent(lines, '    ')})\n"
    if not call.request.streams:
        whole = "choice.message.content" if chat else "choice.text"
        return f"{text}for choice in answer.choices:\n    print({whole})\n"
    part = "choice.delta.content" if chat else "choice.text"
    return (
        f"{text}for chunk in answer:\n    for choice in chunk.choices:\n"
        f'        print({part} or "", end="", flush=True)\n'
    )


SNIPPETS: dict[str, Snippet] = {
    "curl": Snippet("curl", "shell", curl),
    "httpx": Snippet("Python · httpx", "python", httpx),
    "openai": Snippet("Python · openai", "python", openai, client=True),
    "fetch": Snippet("JavaScript · fetch", "javascript", fetch),
    "octoai": Snippet("Python · octoai", "python", octoai, ("octoai",), client=True),
    "ogx": Snippet("Python · ogx-client", "python", ogx, ("ogx",), client=True),
}
